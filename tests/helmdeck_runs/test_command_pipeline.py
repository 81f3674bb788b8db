"""``helmdeck pipeline`` and ``helmdeck worker``."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from helmdeck_core.cli import ExitCode, main
from tests.cli_support import Cli, leave_the_machine

ROOT = Path(__file__).parents[2]

PLUGIN = """
from pathlib import Path
from helmdeck_core import Pack, hookimpl

async def _flaky(context, arguments):
    if not Path(arguments["file"]).exists():
        raise ValueError("the file is missing")
    return {"text": Path(arguments["file"]).read_text()}

async def _shout(context, arguments):
    return {"text": arguments["text"].upper()}

@hookimpl
def helmdeck_packs():
    schema = {"type": "object", "properties": {"file": {"type": "string"}}, "required": ["file"]}
    text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    return [
        Pack(name="test.read", version="1", description="Read.", run=_flaky, input_schema=schema),
        Pack(name="test.shout", version="1", description="Shout.", run=_shout, input_schema=text),
    ]
"""

PIPELINES = """
[[pipelines]]
id = "read-aloud"
description = "Read a file aloud <b>."
outputs = { text = "{{steps.loud.text}}" }
[pipelines.inputs.file]
type = "string"
[[pipelines.steps]]
id = "greet"
pack = "test.shout"
with = { text = "hello" }
[[pipelines.steps]]
id = "read"
name = 'Read "it" & more'
pack = "test.read"
needs = ["greet"]
with = { file = "{{inputs.file}}" }
[[pipelines.steps]]
id = "loud"
pack = "test.shout"
with = { text = "{{steps.greet.text}}, {{steps.read.text}}" }

[[pipelines]]
id = "side-by-side"
[[pipelines.steps]]
id = "left"
pack = "test.shout"
with = { text = "l" }
[[pipelines.steps]]
id = "right"
pack = "test.shout"
with = { text = "r" }
[[pipelines.steps]]
id = "join"
pack = "test.shout"
with = { text = "{{steps.left.text}}{{steps.right.text}}" }

[[pipelines]]
id = "broken"
steps = [{ id = "a", pack = "test.shot", with = {} }]
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with a configuration, pipelines and a plugin."""
    folder = tmp_path / "site"
    (folder / "reading_packs-1.0.dist-info").mkdir(parents=True)
    (folder / "reading_packs.py").write_text(PLUGIN)
    info = folder / "reading_packs-1.0.dist-info"
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: reading-packs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[helmdeck]\nreading_packs = reading_packs\n")
    monkeypatch.syspath_prepend(str(folder))
    (tmp_path / "pipelines.toml").write_text(PIPELINES)
    (tmp_path / "helmdeck.toml").write_text(
        f'[catalog]\nsources = ["packs"]\n[pipelines]\nfiles = ["pipelines.toml"]\n[runs]\nurl = "sqlite:{tmp_path}/runs.db"\n'
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(project, capsys):
    def run(*arguments):
        code = main([*arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_list_shows_which_pipelines_can_run(run):
    code, out, _ = run("pipeline", "list", "--json")
    rows = {each["id"]: each for each in json.loads(out)["pipelines"]}
    assert code == 0
    assert (rows["read-aloud"]["runnable"], rows["read-aloud"]["steps"]) == (True, 3)
    assert not rows["broken"]["runnable"]
    assert "no: 1 mistake" in run("pipeline", "list")[1]


def test_example_has_pipelines_that_run_and_the_list_says_what_the_others_need(capsys, tmp_path, monkeypatch):
    leave_the_machine(monkeypatch, tmp_path, autoload=False)
    cli = Cli(capsys)
    rows = cli("pipeline", "list", "--json").data["pipelines"]
    assert [row["id"] for row in rows if row["runnable"]] == ["compare-versions", "two-charts"]
    assert {row["id"] for row in rows[:2]} == {"compare-versions", "two-charts"}, "those that run come first"
    text = " ".join(cli("pipeline", "list").out.split())
    assert "no: needs helmdeck-pack-web" in text and "mistake" not in text
    assert "install swe.solve: pip install helmdeck-pack-swe (in a checkout: pip install ./contrib_packs/swe)" in text
    assert "fs.read, fs.write: set root in [packs.options.fs]" in text and "add an MCP server" in text
    inputs = {"before": "The tide\nrises.", "after": "The tide\nfalls.", "rows": [["a", "b"], ["x", 1], ["y", 2]]}
    for row in rows[:2]:
        names = cli("pipeline", "show", row["id"], "--json").data["inputs"]
        given = [f"--input={name}={json.dumps(inputs[name])}" for name in names if name in inputs]
        output = cli("pipeline", "run", row["id"], *given, "--out", str(tmp_path / "out")).data["outputs"]
        assert output.get("patch", "-rises.\n+falls.").endswith("-rises.\n+falls.")
        assert output.get("line", ".svg").endswith(".svg")
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".md", ".svg"}, (
        "texts are written with --out, too"
    )
    assert (tmp_path / "out" / "patch.md").read_text().endswith("-rises.\n+falls.")


def test_steps_that_run_at_once_are_shown(run):
    out = run("pipeline", "show", "side-by-side")[1]
    assert "at once     left, right (at most 4 side by side)" in out
    lines = [line.split()[:4] for line in out.splitlines()]
    assert ["left", "test.shout", "the", "start"] in lines and ["join", "test.shout", "left,", "right"] in lines
    assert json.loads(run("pipeline", "show", "side-by-side", "--json")[1])["stages"] == [["left", "right"], ["join"]]
    assert "at once" not in run("pipeline", "show", "broken")[1]


def test_check_reports_every_mistake_and_fails(run):
    code, out, _ = run("pipeline", "check")
    assert code == 2
    assert "ok: read-aloud" in out
    assert "did you mean 'test.shout'?" in " ".join(out.split())
    assert run("pipeline", "check", "read-aloud")[0] == 0


def test_show_prints_text_and_diagrams(run):
    assert "{{steps.greet.text}}" in run("pipeline", "show", "read-aloud")[1]
    mermaid = run("pipeline", "show", "read-aloud", "--format", "mermaid")[1]
    assert mermaid.startswith("flowchart LR")
    assert "#34;it#34; #38; more<br/>test.read" in mermaid
    assert {line.strip() for line in mermaid.splitlines() if "-->" in line} == {
        "n0 --> n1", "n1 --> n2", "n1 --> n3", "n2 --> n3", "n3 --> n4",
    }  # fmt: skip
    image = ET.fromstring(run("pipeline", "show", "read-aloud", "--format", "svg")[1])
    texts = [each.text for each in image.iter("{http://www.w3.org/2000/svg}text")]
    assert 'Read "it" & more' in texts
    boxes = [(float(each.get("x")), float(each.get("y"))) for each in image.iter("{http://www.w3.org/2000/svg}rect")]
    assert len(set(boxes)) == 5


def test_a_failed_run_is_shown_resumed_and_listed(run, project):
    path = project / "text.txt"
    code, _, err = run("pipeline", "run", "read-aloud", "--input", f"file={path}")
    assert code == 4
    assert "step 'read'" in err
    run_id = err.split()[1]
    assert err.startswith(f"run {run_id} started; ") and err.count(f"helmdeck pipeline resume {run_id}") == 2
    code, out, _ = run("pipeline", "runs", run_id)
    assert code == 0
    assert "handler_failed" in out
    assert run("explain", "--run", run_id) == (0, out, "")
    path.write_text("world")
    code, out, err = run("pipeline", "resume", run_id)
    new_id = json.loads(out)["run_id"]
    assert err == f"resuming run {run_id} after 1 finished step, as run {new_id}\n"
    assert json.loads(out)["outputs"] == {"text": "HELLO, WORLD"}
    records = json.loads(run("pipeline", "runs", "--json")[1])["runs"]
    assert [(each["state"], each["resumes"]) for each in records] == [("succeeded", run_id), ("failed", "")]
    new = records[0]["id"]
    steps = json.loads(run("pipeline", "runs", new, "--json")[1])["steps"]
    assert [(each["id"], each["state"], each["pack"]) for each in steps] == [
        ("greet", "succeeded", "test.shout"), ("read", "succeeded", "test.read"), ("loud", "succeeded", "test.shout"),
    ]  # fmt: skip
    assert run("pipeline", "resume", new)[0] == 2
    assert "had ended already" in run("pipeline", "cancel", new)[1]
    assert run("run", "read-aloud", "--input", f"file={path}")[0] == 0


def test_a_resumed_run_writes_to_the_folder_of_the_first_one(run, project):
    path, folder = project / "text.txt", project / "my files"
    _, _, err = run("pipeline", "run", "read-aloud", "--input", f"file={path}", "--out", str(folder))
    assert f"--out '{folder}'" in err
    path.write_text("wide\nworld")
    assert run("pipeline", "resume", "last", "--out", str(folder))[0] == 0
    assert (folder / "text.md").read_text() == "HELLO, WIDE\nWORLD"


def test_a_run_of_a_lost_host_is_resumed_after_it_is_cancelled(run, project):
    assert run("pipeline", "run", "read-aloud", "--input", f"file={project / 'text.txt'}")[0] == 4
    connection = sqlite3.connect(project / "runs.db")
    with connection:
        connection.execute("UPDATE helmdeck_runs SET state = 'running', executor = 'elsewhere:1:ab', failure = NULL")
    connection.close()
    (project / "text.txt").write_text("world")
    code, _, err = run("pipeline", "resume", "last")
    assert code == 2
    run_id = err.split()[3]
    assert f"if its process elsewhere:1:ab has ended, cancel it first: helmdeck pipeline cancel {run_id}" in err
    assert json.loads(run("pipeline", "cancel", "last", "--json")[1]) == {"run_id": run_id, "cancelled": True}
    assert json.loads(run("pipeline", "resume", run_id)[1])["outputs"] == {"text": "HELLO, WORLD"}


def test_unknown_ids_are_refused_with_those_that_exist(run):
    code, _, err = run("pipeline", "runs", "nope")
    assert code == 2
    assert "no run 'nope' is recorded" in err
    assert run("pipeline", "runs", "last")[2] == "helmdeck: no runs of pipelines are recorded\n"
    code, _, err = run("pipeline", "runs", "--limit", "0")
    assert (code, "--limit: must be at least 1" in err) == (2, True)
    code, _, err = run("pipeline", "show", "read-alout")
    assert "did you mean 'read-aloud'?" in err


def test_queueing_and_workers_need_an_engine_with_a_queue(run, project):
    for command in (("pipeline", "run", "read-aloud", "--input", "file=x", "--detach"), ("worker",)):
        code, _, err = run(*command)
        assert code == 2
        assert '[runs] engine = "dbos"' in err


LAST_STEP = """
import asyncio, sys
import reading_packs
from helmdeck_core.cli import main
shout = reading_packs._shout
async def last_step(context, arguments):
    if arguments["text"] != "hello":
        print("last step", flush=True)
        await asyncio.sleep(DELAY_S)
    return await shout(context, arguments)
reading_packs._shout = last_step
sys.exit(main(sys.argv[1:]))
"""


def start(project, *words, delay_s=0, **variables):
    """Start a command in a process of its own; it prints a line when its last step begins."""
    paths = ":".join([str(project / "site"), str(ROOT), str(ROOT / "plugins")])
    return subprocess.Popen(
        [sys.executable, "-c", LAST_STEP.replace("DELAY_S", str(delay_s)), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": paths, **variables},
    )


def test_sigterm_cancels_a_run_and_keeps_its_record(run, project):
    (project / "text.txt").write_text("world")
    process = start(project, "pipeline", "run", "read-aloud", "--input", "file=text.txt", delay_s=3_600)
    assert process.stdout.readline() == "last step\n"
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert (out, err.splitlines()[-1]) == ("", "helmdeck: terminated")
    assert err.splitlines()[0].endswith("helmdeck pipeline resume " + err.split()[1])
    assert process.returncode == ExitCode.TERMINATED
    record = json.loads(run("pipeline", "runs", "last", "--json")[1])
    assert (record["state"], [each["id"] for each in record["steps"]]) == ("cancelled", ["greet", "read"])


def test_a_worker_executes_a_queued_run_and_stops_on_a_signal(run, project, monkeypatch):
    pytest.importorskip("dbos")
    pytest.importorskip("aiosqlite")
    monkeypatch.setenv("HELMDECK_RUNS__ENGINE", "dbos")
    path = project / "text.txt"
    path.write_text("world")
    code, out, err = run("pipeline", "run", "read-aloud", "--input", f"file={path}", "--detach")
    assert code == 0, err
    run_id = json.loads(out)["run_id"]
    worker = start(project, "worker", HELMDECK_RUNS__ENGINE="dbos")
    assert worker.stdout.readline() == "last step\n"
    worker.send_signal(signal.SIGTERM)
    _, errors = worker.communicate(timeout=60)
    assert worker.returncode == 0, errors
    assert "waiting for runs" in errors
    record = json.loads(run("pipeline", "runs", run_id, "--json")[1])
    assert record["state"] in ("succeeded", "interrupted")
    assert len(record["steps"]) >= 2
