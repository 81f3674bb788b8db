"""The command line with faulty plugins: errors on closing, sys.exit, NaN in JSON."""

import asyncio
import json
import math
from dataclasses import dataclass
from datetime import date
from enum import Enum

import pytest

from helmdeck_cli.execution import wait_for
from helmdeck_core.cli import ExitCode, error_message, inline_json, printing
from helmdeck_core.cli.exit_codes import BY_CAUSE
from helmdeck_core.errors import PluginError
from tests.cli_support import Cli, leave_the_machine


class Kind(Enum):
    """A choice in the output of a pack."""

    TEA = "tea"


@dataclass
class Size:
    """A value in the output of a pack."""

    a: int
    b: float


PLUGIN = r"""
import sys

from helmdeck_core import ChatResponse, Command, Pack, ProviderSpec, StopReason, hookimpl

STEP = '{"steps": [{"tool": "helmdeck.memory_store", "args": {"text": "hello"}, "rationale": "r"}]}'


class Provider:
    async def complete(self, request):
        text = "no" if request.model.endswith("prose") else STEP
        return ChatResponse(text=text, stop_reason=StopReason.END_TURN, raw_stop_reason="stop")

    async def aclose(self):
        raise OSError("the pool is stuck")


@hookimpl
def helmdeck_providers():
    return [ProviderSpec(name="stuck", open=lambda settings, context: Provider())]


async def _numbers(context, value):
    return {"nan": float("nan"), "deep": [{"inf": (1.5, float("-inf"))}]}


@hookimpl
def helmdeck_packs():
    return [Pack(name="t.numbers", version="1", description="Numbers.", run=_numbers)]


def _nothing(parser):
    pass


def _leave(arguments):
    sys.exit(eval(arguments.how))


def _report(arguments):
    return 256


def _command(name, run, configure=_nothing):
    return Command(name=name, summary=name, configure=configure, run=run)


@hookimpl
def helmdeck_commands():
    return [
        _command("leave", _leave, lambda parser: parser.add_argument("how")),
        _command("tell", _report),
        _command("quit-early", _report, lambda parser: sys.exit(0)),
        _command("quit-parsing", _report, lambda parser: parser.add_argument("--n", type=sys.exit)),
    ]
"""


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    leave_the_machine(monkeypatch, tmp_path, autoload=True)


@pytest.fixture
def cli(capsys):
    return Cli(capsys)


@pytest.fixture
def plugin(installed_plugin):
    return installed_plugin("trouble", {"trouble": "trouble_plugin"}, {"trouble_plugin": PLUGIN})


# -- providers that cannot be closed -----------------------------------------------------------------------


def test_error_on_closing_a_provider_is_a_warning_and_the_plan_is_printed(cli, plugin):
    done = cli("plan", "--model", "stuck/step", "hello", "--json")
    assert done.code == 0
    assert done.data["steps"][0]["tool"] == "helmdeck.memory_store"
    assert done.err.startswith("helmdeck: warning: ")
    assert "the pool is stuck" in done.err
    assert len(done.err.splitlines()) == 1


def test_error_on_closing_a_provider_does_not_hide_the_error_of_the_call(cli, plugin):
    done = cli("plan", "--model", "stuck/prose", "hello", "--json")
    assert done.code == BY_CAUSE["constrained_deadlock"]
    assert done.data["error"]["sub_cause"] == "no_json"
    assert "the pool is stuck" in done.err


@pytest.mark.parametrize(
    "fault", [PluginError("p", "helmdeck_providers", "stuck"), ZeroDivisionError("z"), SystemExit(0)]
)
def test_error_on_closing_the_deck_keeps_the_result(capsys, fault):
    class Deck:
        def __init__(self):
            self.open_sources = {}

        async def aclose(self):
            raise fault

    async def work(progress):
        return 42

    assert wait_for(Deck(), "asking", work) == 42
    assert capsys.readouterr().err == f"helmdeck: warning: {error_message(fault)}\n"


# -- sys.exit in plugins -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "code", "err"),
    [
        ("None", 0, ""),
        ("0", 0, ""),
        ("9", 9, ""),
        ("256", 1, ""),
        ("'it broke'", 1, "it broke\n"),
        ("2.5", 1, "2.5\n"),
    ],
)
def test_plugin_command_may_end_with_sys_exit(cli, plugin, how, code, err):
    assert cli("leave", how) == (code, "", err)


def test_exit_code_above_one_byte_is_not_a_success(cli, plugin):
    assert cli("tell").code == 1


@pytest.mark.parametrize("words", [["quit-early"], ["quit-early", "--help"], ["quit-parsing", "--n", "0"]])
def test_sys_exit_before_a_plugin_command_runs_is_an_error_that_names_the_plugin(cli, plugin, words):
    done = cli(*words)
    assert (done.code, done.out) == (ExitCode.PLUGIN, "")
    assert f"plugin 'trouble' (distribution trouble 1.0) failed in helmdeck_commands: command '{words[0]}'" in done.err
    assert "SystemExit: 0" in done.err


def test_help_of_a_plugin_command_is_a_success(cli, plugin):
    done = cli("leave", "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("usage: helmdeck leave")


@pytest.mark.parametrize("fault", [SystemExit(0), SystemExit(None), SystemExit("bye"), asyncio.CancelledError()])
def test_sys_exit_during_a_built_in_command_is_an_error(cli, monkeypatch, fault):
    from helmdeck_cli.printing import hook_reference as hookdocs

    def leave():
        raise fault

    monkeypatch.setattr(hookdocs, "hooks", leave)
    done = cli("hooks", "--json")
    assert done.code == ExitCode.UNEXPECTED
    assert done.data["error"]["exit_code"] == ExitCode.UNEXPECTED
    if isinstance(fault, SystemExit):
        assert done.err.startswith(f"helmdeck: sys.exit({fault.code!r}) was called during the command; ")


# -- numbers that JSON does not have -----------------------------------------------------------------------


def test_nan_and_infinity_become_null_in_json():
    data = {"a": math.nan, "b": [math.inf, {"c": (-math.inf, 1.5)}], "d": frozenset([math.nan]), math.inf: 1}
    wanted = {"a": None, "b": [None, {"c": [None, 1.5]}], "d": [None], "null": 1}
    for text in (printing.as_json(data), inline_json(data)):
        assert json.loads(text, parse_constant=pytest.fail) == wanted


def test_values_of_other_types_are_printed_as_encoders_of_json_write_them():
    values = {
        "at": date(2026, 1, 2),
        "kind": Kind.TEA,
        "size": Size(1, math.nan),
        "some": {2},
        "raw": b"ab",
        "x": OSError("no"),
    }
    wanted = {"at": "2026-01-02", "kind": "tea", "size": {"a": 1, "b": None}, "some": [2], "raw": "YWI=", "x": "no"}
    for text in (printing.as_json(values), inline_json(values)):
        assert json.loads(text) == wanted


def test_pack_output_with_nan_is_an_error_that_names_its_place(cli, plugin):
    done = cli("run", "t.numbers")
    assert (done.code != 0, done.out) == (True, "")
    assert "$.nan: nan is not a number of JSON" in done.err


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("NaN", "NaN is not a JSON value"),
        ("[-Infinity]", "-Infinity is not a JSON value"),
        ("1e999", "the number 1e999 is too large"),
    ],
)
def test_input_file_with_nan_or_infinity_is_rejected(cli, tmp_path, text, reason):
    (tmp_path / "in.json").write_text(f'{{"text": {text}}}')
    done = cli("run", "helmdeck.memory_store", "--input-file", "in.json")
    assert done == (ExitCode.USAGE, "", f"helmdeck: in.json: not valid JSON ({reason})\n")
