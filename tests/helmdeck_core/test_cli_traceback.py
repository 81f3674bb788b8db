"""``--traceback``, and plugins whose import or hook raises anything."""

import pytest

from helmdeck_core.cli import ExitCode
from tests.cli_support import PLUGIN, Cli, leave_the_machine

RAISING = {
    "exit": "raise SystemExit(0)",
    "recursion": "def deeper():\n    return deeper()\ndeeper()",
    "memory": "raise MemoryError('full')",
    "odd": "class Odd(BaseException): pass\nraise Odd('odd')",
    "generator": "raise GeneratorExit()",
    "missing": "import no_such_module_anywhere",
}


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    leave_the_machine(monkeypatch, tmp_path, autoload=True)


@pytest.fixture
def cli(capsys):
    return Cli(capsys)


def in_hook(statements):
    lines = "".join(f"    {line}\n" for line in statements.splitlines())
    return f"from helmdeck_core import hookimpl\n@hookimpl\ndef helmdeck_commands():\n{lines}"


@pytest.mark.parametrize("place", ["import", "hook"])
@pytest.mark.parametrize("name", RAISING)
def test_commands_that_report_on_plugins_name_a_plugin_that_raises_anything(cli, installed_plugin, name, place):
    source = RAISING[name] if place == "import" else in_hook(RAISING[name])
    installed_plugin("bad", {"bad": "bad_plugin"}, {"bad_plugin": source})
    shown = cli("--help")
    assert shown.code == 0 and "plan " in shown.out
    assert "plugin 'bad' (distribution bad 1.0)" in shown.out
    for words, code in ((["plugins", "list"], ExitCode.PLUGIN), (["config", "check"], ExitCode.USAGE)):
        done = cli(*words)
        assert (done.code, "plugin 'bad' (distribution bad 1.0)" in done.err) == (code, True)
        assert "--traceback" in done.err
    assert "openai" in cli("plugins", "list").out
    assert cli("config", "sample").code == 0
    assert cli("budgets", "--help").code == 0


@pytest.mark.parametrize(
    "words", [["plugins", "list"], ["plugins", "show", "bad"], ["config", "check"], ["--help"], ["hooks"]]
)
def test_traceback_option_shows_where_a_plugin_failed(cli, installed_plugin, words):
    source = "def fail_here():\n    raise OSError('the disk')\nfail_here()"
    installed_plugin("bad", {"bad": "bad_plugin"}, {"bad_plugin": source})
    assert "fail_here" not in cli(*words).err
    done = cli(*words, "--traceback")
    assert "Traceback" in done.err and "fail_here" in done.err


def test_every_error_is_shown_with_its_traceback_on_request(cli, installed_plugin):
    installed_plugin("stub", {"stub": "stub_plugin"}, {"stub_plugin": PLUGIN})
    cases = [
        (["plan", "--model", "stub/rate_limited", "hello"], ""),
        (["run", "stub.fail"], "--traceback shows the traceback"),
        (["crash"], "--traceback shows the traceback"),
        (["plan", " "], ""),
    ]
    for words, hint in cases:
        plain = cli(*words)
        assert "Traceback" not in plain.err and hint in plain.err
        shown = cli("--traceback", *words)
        assert (shown.code, shown.out) == (plain.code, plain.out)
        assert shown.err.count("Traceback (most recent call last)") >= 1
        assert plain.err.splitlines()[0] in shown.err.splitlines()


def test_traceback_of_an_earlier_command_line_does_not_carry_over(cli):
    assert "Traceback" in cli("plan", " ", "--traceback").err
    assert "Traceback" not in cli("plan", " ").err


def test_ctrl_c_during_the_import_of_a_plugin_names_the_plugin(cli, installed_plugin):
    installed_plugin("slow", {"slow": "slow_plugin"}, {"slow_plugin": "raise KeyboardInterrupt"})
    done = cli("plan", "hello")
    assert done.code == ExitCode.INTERRUPTED
    assert done.err == "helmdeck: interrupted; plugin 'slow' was being imported; --disable-plugin slow blocks it\n"


def test_plugins_list_shows_a_command_that_replaces_a_built_in_one(cli, installed_plugin):
    source = (
        "from helmdeck_core import Command, hookimpl\n@hookimpl\ndef helmdeck_commands():\n"
        "    return [Command(name='plan', summary='s', configure=lambda parser: None, run=lambda arguments: 5)]\n"
    )
    installed_plugin("acme", {"acme": "acme_plugin"}, {"acme_plugin": source})
    assert cli("plan").code == 5
    for words in (["plugins", "list"], ["hooks"]):
        text = " ".join(cli(*words).out.split())
        assert "'plan' of helmdeck_commands: plugin acme replaces command_plan" in text
