"""``helmdeck pipeline`` and ``helmdeck worker``."""

import json
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from helmdeck_core.cli import main

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
    assert "no: 1 problem" in run("pipeline", "list")[1]


def test_check_reports_every_mistake_and_fails(run):
    code, out, _ = run("pipeline", "check")
    assert code == 2
    assert "ok: read-aloud" in out
    assert "did you mean 'test.shout'?" in out
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
    run_id = err.split("helmdeck pipeline resume ")[1].split()[0].rstrip(";")
    code, out, _ = run("pipeline", "runs", run_id)
    assert code == 0
    assert "handler_failed" in out
    assert run("explain", "--run", run_id) == (0, out, "")
    path.write_text("world")
    code, out, _ = run("pipeline", "resume", run_id)
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


def test_unknown_ids_are_refused_with_those_that_exist(run):
    code, _, err = run("pipeline", "runs", "nope")
    assert code == 2
    assert "no run 'nope' is recorded" in err
    assert run("pipeline", "runs", "last")[2] == "helmdeck: no runs of pipelines are recorded\n"
    code, _, err = run("pipeline", "show", "read-alout")
    assert "did you mean 'read-aloud'?" in err


def test_queueing_and_workers_need_an_engine_with_a_queue(run, project):
    for command in (("pipeline", "run", "read-aloud", "--input", "file=x", "--detach"), ("worker",)):
        code, _, err = run(*command)
        assert code != 0
        assert '[runs] engine = "dbos"' in err


def test_a_worker_executes_a_queued_run_and_stops_on_a_signal(run, project, monkeypatch):
    pytest.importorskip("dbos")
    pytest.importorskip("aiosqlite")
    monkeypatch.setenv("HELMDECK_RUNS__ENGINE", "dbos")
    path = project / "text.txt"
    path.write_text("world")
    code, out, err = run("pipeline", "run", "read-aloud", "--input", f"file={path}", "--detach")
    assert code == 0, err
    run_id = json.loads(out)["run_id"]
    script = (
        "import sys, threading, os, signal\n"
        "from reading_packs import _shout\nimport reading_packs\n"
        "async def shout(context, arguments):\n"
        "    if arguments['text'] != 'hello':\n"
        "        print('last step', flush=True)\n"
        "    return await _shout(context, arguments)\n"
        "reading_packs._shout = shout\n"
        "from helmdeck_core.cli import main\nsys.exit(main(['worker']))\n"
    )
    environ = {
        "PYTHONPATH": ":".join([str(project / "site"), str(ROOT), str(ROOT / "plugins")]),
        "HELMDECK_RUNS__ENGINE": "dbos",
    }
    worker = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**__import__("os").environ, **environ})  # fmt: skip
    assert worker.stdout.readline() == "last step\n"
    worker.send_signal(signal.SIGTERM)
    _, errors = worker.communicate(timeout=30)
    assert worker.returncode == 0, errors
    assert "waiting for runs" in errors
    record = json.loads(run("pipeline", "runs", run_id, "--json")[1])
    assert record["state"] in ("succeeded", "interrupted")
    assert len(record["steps"]) >= 2
