"""The command line as a whole: finding commands, help, errors and exit codes."""

import atexit
import gc
import json
import os
import subprocess
import sys
import tomllib

import pytest

from helmdeck_core import __version__
from helmdeck_core.cli import ExitCode, exit_code_of, main
from helmdeck_core.cli.exit_codes import BY_CAUSE, MEANINGS
from helmdeck_core.cli.registry import CommandRegistry
from helmdeck_core.cli.runner import split
from helmdeck_core.config.types import PluginsConfig
from helmdeck_core.errors import FAILURES, FailureClass, PackError, PackErrorCode
from tests.case_support import each_case
from tests.cli_support import PLUGIN, ROOT, Cli, environment, leave_the_machine, start

REGISTRY = CommandRegistry.load(PluginsConfig(autoload=False))
COMMANDS = {name: owned.value.summary for name, owned in REGISTRY.commands.items()}


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    leave_the_machine(monkeypatch, tmp_path)


@pytest.fixture
def cli(capsys):
    return Cli(capsys)


@pytest.fixture
def with_stub(installed_plugin, monkeypatch):
    monkeypatch.delenv("HELMDECK_PLUGIN_AUTOLOAD")
    return installed_plugin("stub", {"stub": "stub_plugin"}, {"stub_plugin": PLUGIN})


# -- finding the command -----------------------------------------------------------------------------------


@each_case(
    ("words", "command", "rest"),
    [
        ([], "", []),
        (["plan", "x"], "plan", ["x"]),
        (["--config", "plan", "route", "x"], "route", ["--config", "plan", "x"]),
        (["--config=plan", "--json", "route"], "route", ["--config=plan", "--json"]),
        (["catalog", "--json", "show", "--ids"], "catalog show", ["--json", "--ids"]),
        (["catalog", "--help"], "catalog", ["--help"]),
        (["plan", "--", "--json"], "plan", ["--", "--json"]),
        (["frob", "catalog"], "frob", ["catalog"]),
    ],
)
def test_global_options_may_stand_before_the_command(words, command, rest):
    assert split(words, REGISTRY) == (command, rest)


def test_command_option_before_the_command_is_a_usage_error(cli):
    done = cli("--model", "x/y", "plan", "hello")
    assert (done.code, done.out) == (2, "")
    assert done.err == "helmdeck: --model is not a global option; put the options of a command after the command\n"


def test_version_option_prints_the_version(cli):
    assert cli("--version") == (0, f"helmdeck {__version__}\n", "")
    assert cli("plan", "--version").out == f"helmdeck {__version__}\n"


@pytest.mark.parametrize(("words", "same"), [(["help"], ["--help"]), (["help", "plan"], ["plan", "--help"])])
def test_help_as_a_word_shows_the_same_as_the_option(cli, words, same):
    assert cli(*words) == cli(*same)


@pytest.mark.parametrize("words", [[], ["catalog"], ["plna"]])
def test_json_option_without_a_command_prints_the_error_as_json(cli, words):
    done = cli(*words, "--json")
    assert (done.code, json.loads(done.out)["error"]["exit_code"]) == (2, 2)
    assert "helmdeck" in done.err


def test_json_option_prints_the_version_as_json(cli):
    assert json.loads(cli("--version", "--json").out) == {"version": __version__}


def test_unknown_words_and_options_have_the_nearest_one_and_no_list_of_all_commands(cli):
    assert (
        cli("version").err
        == "helmdeck: there is no command 'version'; did you mean `helmdeck --version`? `helmdeck --help` lists all\n"
    )
    assert cli("xyzzy").err == "helmdeck: there is no command 'xyzzy'; `helmdeck --help` lists all\n"
    assert "--verison is not a global option (did you mean '--version'?); put" in cli("--verison").err


def test_help_lists_every_command_and_every_exit_code(cli):
    done = cli("--help")
    assert done.code == 0
    assert all(f"  {name} " in done.out and summary in done.out for name, summary in COMMANDS.items())
    words = " ".join(done.out.split())
    assert all(f"{int(code)} {meaning}" in words for code, meaning in MEANINGS.items())


def test_without_a_command_the_help_is_printed_to_standard_error(cli):
    done = cli()
    assert (done.code, done.out) == (2, "")
    assert "commands:" in done.err


def test_group_without_a_command_lists_its_commands(cli):
    done = cli("catalog")
    assert (done.code, done.out) == (2, "")
    assert "helmdeck catalog compact" in done.err
    assert "helmdeck plugins show" in cli("plugins", "--help").out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_the_global_options(cli, command):
    done = cli(*command.split(), "--help")
    assert done.code == 0
    assert done.out.startswith(f"usage: helmdeck {command}")
    assert "--disable-plugin PLUGIN" in done.out


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_a_terminal_of_80_columns(cli, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    assert [line for line in cli(*command.split(), "--help").out.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize(
    ("words", "suggestion"),
    [
        (["plna"], "plan"),
        (["catlog", "show"], "catalog"),
        (["catalog", "shwo"], "catalog show"),
        (["budget"], "budgets"),
    ],
)
def test_unknown_command_is_an_error_with_a_suggestion(cli, words, suggestion):
    done = cli(*words)
    assert done.code == 2
    assert f"did you mean `helmdeck {suggestion}`?" in done.err


def test_unknown_option_error_refers_to_the_help(cli):
    done = cli("plan", "--frob", "x")
    assert done == (2, "", "helmdeck: unrecognized arguments: --frob; see `helmdeck plan --help`\n")
    assert "--modle (did you mean '--model'?)" in cli("plan", "--modle", "x").err
    assert "did you mean" not in cli("budgets", "--model", "x").err, "--help is only similar by its hyphens"
    done = cli("config", "check", "deck.toml")
    assert (done.code, done.out) == (2, "")
    assert "unrecognized arguments: deck.toml (did you mean '--config deck.toml'?)" in done.err
    assert "--modle=x (did you mean '--model'?); see" in cli("plan", "--modle=x", "y").err


# -- commands of plugins -----------------------------------------------------------------------------------


def test_plugin_command_has_its_own_options(cli, with_stub):
    assert cli("greet", "--name", "Ada", "--json") == (7, "hello Ada, local/lexical, json=True\n", "")
    assert "--name NAME" in cli("greet", "--help").out
    assert "greet  greet a person" in cli("--help").out


def test_blocked_plugin_contributes_no_command(cli, with_stub):
    assert "there is no command 'greet'" in cli("--disable-plugin", "stub", "greet").err
    assert "there is no command 'greet'" in cli("--no-plugins", "greet").err
    assert "greet" not in cli("--help", "--no-plugins").out


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        ("crash", "ZeroDivisionError: a fault of the command"),
        ("clash", "ArgumentError: argument --json: conflicting option"),
    ],
)
def test_exception_in_a_plugin_command_names_the_plugin(cli, with_stub, command, fault):
    done = cli(command)
    assert (done.code, done.out) == (ExitCode.PLUGIN, "")
    assert done.err.startswith(
        f"helmdeck: plugin 'stub' (distribution stub 1.0) failed in helmdeck_commands: command '{command}': {fault}"
    )
    assert "Traceback" not in done.err


def test_unexpected_error_is_one_line_with_traceback_at_debug_level(cli, monkeypatch):
    from helmdeck_cli.printing import hook_reference as hookdocs

    monkeypatch.setattr(hookdocs, "hooks", lambda: 1 / 0)
    done = cli("hooks")
    assert (done.code, done.out) == (1, "")
    assert done.err == "helmdeck: unexpected ZeroDivisionError: division by zero; --traceback shows the traceback\n"
    assert "Traceback" in cli("hooks", "--log-level", "debug").err
    assert "Traceback" not in cli("hooks", "--log-level", "info").err


def test_plugin_that_cannot_be_loaded_is_reported_by_help_and_listing_commands(cli, installed_plugin, monkeypatch):
    monkeypatch.delenv("HELMDECK_PLUGIN_AUTOLOAD")
    installed_plugin("broken", {"broken": "broken_plugin"}, {"broken_plugin": "import no_such_module_anywhere"})
    done = cli("plugins", "list")
    assert done.code == 3
    assert "plugin 'broken' (distribution broken 1.0) cannot be loaded" in done.err
    assert "--disable-plugin broken" in done.err
    assert "broken 1.0" in done.out and "cannot be loaded" in done.out and "tool_calls" in done.out
    data = cli("plugins", "list", "--json").data
    assert "ModuleNotFoundError" in {row["name"]: row["error"] for row in data["plugins"]}["broken"]
    assert cli("plugins", "show", "broken").code == 3
    check = cli("config", "check", "--json")
    assert check.code == 2
    (mistake,) = check.data["error"]["mistakes"]
    assert "'broken'" in mistake["problem"] and "--disable-plugin broken" in mistake["problem"]
    hooks = cli("hooks")
    assert hooks.code == 3 and "helmdeck_packs" in hooks.out and "--disable-plugin broken" in hooks.err
    planned = cli("plan", "remember this")
    assert planned.code == 0 and "--disable-plugin broken" in planned.err, "the command works without it and names it"
    assert cli("config", "sample").code == 0
    shown = cli("--help")
    assert shown.code == 0
    assert "plugin 'broken'" in shown.out and "--disable-plugin broken" in shown.out
    assert cli("plna").err.startswith("helmdeck: there is no command 'plna'; did you mean `helmdeck plan`?")
    assert cli("xyzzy").code == 3
    assert cli("--disable-plugin", "broken", "plugins", "list").code == 0


# -- errors ------------------------------------------------------------------------------------------------


def test_each_failure_class_has_its_own_exit_code_from_10():
    codes = [BY_CAUSE[cause] for cause in FailureClass]
    assert codes == list(range(10, 10 + len(codes)))
    assert len(MEANINGS) == len(set(codes)) + 11
    assert ExitCode.NO_STEP not in codes


@pytest.mark.parametrize("cause", FailureClass)
def test_exit_code_and_json_carry_the_cause(cli, with_stub, cause):
    done = cli("plan", "--model", f"stub/{cause.value}", "hello", "--json")
    assert done.code == BY_CAUSE[cause]
    error = done.data["error"]
    assert (error["cause"], error["exit_code"]) == (cause.value, done.code)
    assert {"hint", "next_action", "message", "model"} <= error.keys()
    assert done.err.startswith("helmdeck: helmdeck.plan: the stub fails as configured")
    assert error["hint"] == FAILURES[cause]("x", stop_reason=error.get("stop_reason", "")).hint


def test_exception_in_a_provider_names_its_plugin(cli, with_stub):
    done = cli("plan", "--model", "stub/bug", "hello", "--json")
    assert done.code == 3
    assert done.data["error"]["plugin"] == "stub"
    assert done.data["error"]["distribution"] == "stub 1.0"


def test_failed_pack_and_invalid_pack_input_have_different_exit_codes():
    assert exit_code_of(PackError("p", PackErrorCode.INVALID_INPUT, "d")) == ExitCode.USAGE
    assert exit_code_of(PackError("p", PackErrorCode.HANDLER_FAILED, "d")) == ExitCode.PACK


def test_json_option_may_stand_anywhere_and_covers_errors(cli):
    for words in (("--json", "plan", ""), ("plan", "", "--json")):
        done = cli(*words)
        assert done.code == 2
        assert done.data["error"]["kind"] == "UsageError"


def test_json_after_two_dashes_is_part_of_the_request(cli):
    done = cli("plan", "--model", "x", "--", "--json")
    assert done.out == ""


# -- real processes ----------------------------------------------------------------------------------------

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NOT_AT_START_UP = {line.partition(">")[0] for line in PROJECT["dependencies"]} - {"attrs", "msgspec", "pluggy"}
"""The libraries that are imported where they are used, which takes longer than all of the start-up."""


def test_start_up_imports_only_the_libraries_that_it_needs(tmp_path):
    code = (
        "import sys\nfrom helmdeck_core.cli import main\n"
        "for words in ('--help', '--version', 'hooks', 'hooks --help', 'config sample'):\n"
        "    assert main(words.split()) == 0\n"
        f"    if libraries := {NOT_AT_START_UP} & sys.modules.keys():\n"
        "        sys.exit(f'{words}: {libraries}')"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, timeout=60)
    assert done.stderr.strip() == b""


@pytest.mark.parametrize("words", [["catalog", "show", "--json"], ["hooks"]])
def test_broken_pipe_prints_no_error(tmp_path, words):
    reading, writing = os.pipe()
    os.close(reading)
    process = start(*words, folder=tmp_path, env=environment(HELMDECK_PLUGIN_AUTOLOAD="0"), stdout=writing)
    os.close(writing)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (ExitCode.BROKEN_PIPE, b"")


def test_package_runs_with_python_m_and_an_ascii_terminal_does_not_break_output(tmp_path):
    (tmp_path / "c.json").write_text(json.dumps({"packs": [{"name": "漢字", "description": "é \ud83d\ude00"}]}))
    env = environment(HELMDECK_PLUGIN_AUTOLOAD="0", PYTHONIOENCODING="ascii")
    for more in ([], ["--json"]):
        process = start("catalog", "show", "--catalog", "c.json", *more, folder=tmp_path, env=env)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, b"")
        if more:
            assert json.loads(out)["packs"][0]["name"] == "漢字"


COLLECTIONS = """
import gc, sys
from helmdeck_core.cli import main

def report(phase, info):
    if phase == "start" and (count := len(gc.get_objects())) > 30_000:
        print(f"a collection of {count} objects", file=sys.stderr)

gc.callbacks.append(report)
sys.exit(main())
"""


def test_the_process_of_a_command_spends_no_time_on_collections_of_its_modules(tmp_path):
    command = [sys.executable, "-c", COLLECTIONS, "catalog", "show"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


def test_main_reads_sys_argv_by_default(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["helmdeck", "--version"])
    thresholds = gc.get_threshold()
    try:
        assert main() == 0
    finally:  # the process is that of the tests
        gc.set_threshold(*thresholds)
        atexit.unregister(gc.freeze)
    assert capsys.readouterr().out.startswith("helmdeck ")
