"""The command agent."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from helmdeck_core.cli import ExitCode
from tests.cli_support import Cli, leave_the_machine
from tests.helmdeck_runs.agent_support import READ_ONLY, entry, plan, step

ROOT = Path(__file__).parents[2]

PACKS = """
from helmdeck_core import Pack, hookimpl

CALLS = []


def pack(name):
    async def run(context, arguments):
        CALLS.append(name)
        return {"text": "the page \\x1b[31m says"}

    return Pack(name=name, version="1", description="Does it.", run=run)


@hookimpl
def helmdeck_packs():
    return [pack("web.read"), pack("web.post")]
"""


@pytest.fixture
def cli(capsys, monkeypatch, tmp_path, installed_plugin):
    leave_the_machine(monkeypatch, tmp_path, autoload=True)
    installed_plugin("packs", {"packs": "agent_packs"}, {"agent_packs": PACKS})
    catalog = {"packs": [entry("web.read", READ_ONLY), entry("web.post")]}
    (tmp_path / "catalog.json").write_text(json.dumps(catalog), encoding="utf-8")
    settings = 'model = "scripted/any"\n[catalog]\nsources = ["catalog.json"]\n[budgets.scripted]\ntier = "A"\n'
    options = f'[providers.scripted.options]\nfile = "{tmp_path}/replies.jsonl"\n'
    (tmp_path / "helmdeck.toml").write_text(settings + options, encoding="utf-8")
    monkeypatch.setenv("HELMDECK_CONFIG", str(tmp_path / "helmdeck.toml"))
    return Cli(capsys)


@pytest.fixture
def scripted(tmp_path):
    def write(*replies):
        (tmp_path / "replies.jsonl").write_text("\n".join(map(json.dumps, replies)), encoding="utf-8")

    return write


READ, POST = step("web.read", text="x"), step("web.post", text="y")


def test_read_only_request_runs_and_is_explained(cli, scripted):
    scripted(plan(READ))
    done = cli("agent", "read the page")
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert done.code == 0
    assert lines[0].startswith("run ")
    assert lines[1].startswith("plan scripted/any (")
    assert "step 1 web.read: needed for web.read; annotated as read-only" in lines
    assert "outcome done: 1 step executed" in lines


def test_change_without_terminal_and_yes_is_refused_with_what_to_do(cli, scripted):
    scripted(plan(READ, POST))
    done = cli("agent", "read and post", "--json")
    assert done.code == ExitCode.NOT_FINISHED
    assert done.data["outcome"] == "needs_confirmation"
    assert "steps" in done.data
    assert "pass --yes" in done.data["reason"]
    assert '"web.post" = "allow"' in done.data["reason"]


def test_yes_confirms(cli, scripted):
    scripted(plan(READ, POST))
    done = cli("agent", "read and post", "--yes", "--json")
    assert done.code == 0
    assert [each["entry_id"] for each in done.data["steps"]] == ["web.read", "web.post"]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("line", "code", "outcome"), [("y\n", 0, "done"), ("n\n", 25, "declined"), ("", 25, "declined")]
)
def test_terminal_confirms_each_step_and_shows_its_arguments(cli, scripted, monkeypatch, line, code, outcome):
    scripted(plan(READ, step("web.post", text="y\x1b[2J")))
    monkeypatch.setattr(sys, "stdin", Terminal(line))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    done = cli("agent", "read and post", "--json")
    assert (done.code, done.data["outcome"]) == (code, outcome)
    assert "step 2: web.post (not annotated as read-only)" in done.err
    assert "\x1b[2J" not in done.err


def test_terminal_asks_for_a_missing_argument(cli, scripted, monkeypatch):
    scripted(plan(step("web.read")))
    monkeypatch.setattr(sys, "stdin", Terminal(" 42 \n"))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    done = cli("agent", "read the page", "--json")
    assert (done.code, done.data["steps"][0]["arguments"]) == (0, {"text": "42"})
    assert "step 1: web.read needs text" in done.err


def test_missing_argument_without_a_terminal_ends_the_run_with_what_to_do(cli, scripted):
    scripted(plan(step("web.read")), plan(more=False))
    done = cli("agent", "read the page", "--json")
    assert (done.code, done.data["outcome"]) == (ExitCode.NOT_FINISHED, "needs_input")
    assert "pass --default text=VALUE" in done.data["reason"]
    scripted(plan(step("web.read")))
    dry = cli("agent", "--dry-run", "read the page", "--json")
    assert (dry.code, dry.data["outcome"]) == (ExitCode.NOT_FINISHED, "needs_input")


def test_runs_are_listed_shown_and_resumed_by_last(cli, scripted, tmp_path, monkeypatch):
    monkeypatch.setenv("HELMDECK_RUNS__URL", f"sqlite:{tmp_path}/runs.db")
    assert cli("agent", "runs").err == "no runs of agents are recorded\n"
    assert cli("agent", "--resume", "last").code == ExitCode.USAGE
    scripted(plan(READ, POST))
    (tmp_path / "tides.txt").write_text("High tide is at noon.\n\nLow tide is at six.")
    first = cli("agent", "read\nand post", "--document", str(tmp_path / "tides.txt"), "--json")
    run_id = first.data["run"]
    assert f"run {run_id} started; to continue it after an interruption: helmdeck agent --resume {run_id}" in first.err
    listed = cli("agent", "runs").out
    assert run_id in listed and "read and post" in listed and "needs_confirmation" in listed
    assert "tide is at" not in listed
    second = cli("agent", "--resume", "last", "--yes", "--json")
    assert second.code == 0 and second.data["outcome"] == "done"
    assert f"resuming run {run_id} as run {second.data['run']}" in second.err
    shown = cli("agent", "runs", "last", "--json").data
    assert (shown["id"], shown["resumes"]) == (second.data["run"], run_id)
    unknown = cli("agent", "runs", "nope")
    assert unknown.code == ExitCode.USAGE and f"most recent: {second.data['run']}, {run_id}" in unknown.err


KILLED = """
import os, signal, sys
import agent_packs
from helmdeck_core import Pack
from helmdeck_core.cli import main
async def kill(context, arguments):
    os.kill(os.getpid(), signal.SIGKILL)
agent_packs.helmdeck_packs = agent_packs.hookimpl(
    lambda: [Pack(name="web.read", version="1", description="Does it.", run=kill)])
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_run_that_is_killed_in_its_first_step_is_found_and_resumed(cli, scripted, tmp_path, monkeypatch):
    monkeypatch.setenv("HELMDECK_RUNS__URL", f"sqlite:{tmp_path}/runs.db")
    scripted(plan(READ))
    paths = os.pathsep.join([str(ROOT), str(ROOT / "plugins"), *map(str, tmp_path.glob("site-*"))])
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, "agent", "read the page"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
        check=False,
    )
    assert killed.returncode == -9, killed.stderr
    run_id = killed.stderr.split()[1]
    assert "started; to continue it" in killed.stderr
    (row,) = cli("agent", "runs", "--json").data["runs"]
    assert (row["id"], row["state"]) == (run_id, "interrupted")
    done = cli("agent", "--resume", "last", "--json")
    assert (done.code, done.data["outcome"]) == (0, "done")


def test_dry_run_and_limits(cli, scripted):
    scripted(plan(READ, POST))
    assert cli("agent", "read and post", "--dry-run", "--json").data["outcome"] == "dry_run"
    scripted(plan(READ, POST))
    limited = cli("agent", "read and post", "--yes", "--max-steps", "1", "--json")
    assert (limited.code, limited.data["outcome"]) == (ExitCode.NOT_FINISHED, "step_limit")


def test_request_that_nothing_serves_has_the_exit_code_of_a_plan_without_steps(cli, scripted):
    scripted(plan(step("unknown")))
    assert cli("agent", "fly to the moon").code == ExitCode.NO_STEP


@pytest.mark.parametrize("amount", ["-1", "much", "nan", "1e10"])
def test_invalid_amount_is_a_usage_error(cli, amount):
    assert cli("agent", "x", f"--max-cost={amount}").code == ExitCode.USAGE


def test_policy_with_another_word_is_a_mistake_of_the_configuration(cli, monkeypatch):
    monkeypatch.setenv("HELMDECK_AGENT__POLICY__WEB", "perhaps")
    done = cli("agent", "x")
    assert done.code == ExitCode.USAGE
    assert "perhaps" in done.err
