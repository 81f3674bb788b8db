"""The command agent."""

import io
import json
import sys

import pytest

from helmdeck_core.cli import ExitCode
from tests.cli_support import Cli, leave_the_machine
from tests.helmdeck_runs.agent_support import READ_ONLY, entry, plan, step

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
