"""Commands of third parties: packages with entry points that add, group and replace commands."""

import json

import pytest

from helmdeck_core.cli import ExitCode
from tests.cli_support import Cli, leave_the_machine

REPLACED_PLAN = """
from helmdeck_core import Command, hookimpl
from helmdeck_cli import add_request, request_text
from helmdeck_core.cli import ExitCode, labelled, show, show_json


def run(arguments):
    request = request_text(arguments)
    if arguments.json:
        show_json({"request": request})
    else:
        show(labelled("request", request))
    return ExitCode.OK


@hookimpl
def helmdeck_commands():
    return [Command(name="plan", summary="print the request", configure=add_request, run=run)]
"""

ACME_SYNC = """
from helmdeck_core import Command, hookimpl
from helmdeck_cli import whole_number
from helmdeck_core.cli import UsageError, make_deck, show, table


def configure(parser):
    parser.add_argument("--limit", type=whole_number, default=2)


def run(arguments):
    if not arguments.limit:
        raise UsageError("--limit must be at least 1")
    packs = make_deck(arguments).catalog.packs[: arguments.limit]
    show(table([(pack.id,) for pack in packs], ("synchronised",)))
    return 0


@hookimpl
def helmdeck_commands():
    summary = "synchronise the catalog with Acme"
    return [Command(name="acme sync", summary=summary, group_summary="commands of Acme", configure=configure, run=run)]
"""

NAMED = """
from helmdeck_core import Command, hookimpl

@hookimpl
def helmdeck_commands():
    return [
        Command(name=name, summary="s", configure=lambda parser: None, run=lambda arguments, name=name: print(name) or 0)
        for name in {names!r}
    ]
"""


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    leave_the_machine(monkeypatch, tmp_path, autoload=True)


@pytest.fixture
def cli(capsys):
    return Cli(capsys)


@pytest.fixture
def install(installed_plugin):
    """Install a plugin with commands of these names that print their names."""

    def install_named(plugin, *names):
        installed_plugin(plugin, {plugin: f"{plugin}_plugin"}, {f"{plugin}_plugin": NAMED.format(names=names)})

    return install_named


# -- packages that a third party writes --------------------------------------------------------------------


def test_package_of_under_30_lines_replaces_the_built_in_command_plan(cli, installed_plugin):
    assert len(REPLACED_PLAN.strip().splitlines()) < 30
    installed_plugin("helmdeck-acme", {"acme": "acme_plugin"}, {"acme_plugin": REPLACED_PLAN})
    assert cli("plan", "remember", "this") == (0, "request     remember this\n", "")
    assert cli("plan", "remember this", "--json").data == {"request": "remember this"}
    assert cli("plan", " ").code == ExitCode.USAGE
    listing = " ".join(cli("--help").out.split())
    assert "plan print the request (plugin acme, replaces the built-in command)" in listing
    assert "'plan' of helmdeck_commands by plugin 'acme'" in cli("plugins", "show", "command_plan").out
    winners = " ".join(cli("hooks").out.split())
    assert "'plan' of helmdeck_commands: plugin acme replaces command_plan" in winners
    (hook,) = cli("hooks", "helmdeck_commands", "--json").data["hooks"]
    assert {"name": "plan", "plugin": "acme", "replaces": "command_plan"} in hook["contributions"]
    assert "local/lexical" in cli("plan", "remember this", "--disable-plugin", "acme").out


def test_package_of_under_30_lines_adds_a_command_of_two_words(cli, installed_plugin, tmp_path):
    assert len(ACME_SYNC.strip().splitlines()) < 30
    installed_plugin("helmdeck-acme", {"acme": "acme_plugin"}, {"acme_plugin": ACME_SYNC})
    (tmp_path / "c.json").write_text(json.dumps({"packs": [{"name": "a.b"}, {"name": "c.d"}, {"name": "e.f"}]}))
    (tmp_path / "helmdeck.toml").write_text('[catalog]\nsources = ["c.json"]\n')
    done = cli("acme", "sync")
    assert (done.code, done.out.split()[2:]) == (0, ["a.b", "c.d"])
    assert cli("acme", "--json", "sync", "--limit", "0").data["error"]["kind"] == "UsageError"
    assert "--limit" in cli("acme", "sync", "--help").out
    group = cli("acme", "--help").out
    assert "commands of Acme" in group and "helmdeck acme sync" in group
    assert "acme sync  synchronise the catalog with Acme (plugin acme)" in cli("--help").out
    assert "did you mean `helmdeck acme sync`?" in cli("acme", "snyc").err


# -- groups, replacement, blocking -------------------------------------------------------------------------


def test_group_holds_commands_of_several_plugins(cli, install):
    install("one", "catalog stats", "acme db sync")
    install("two", "catalog lint", "acme db drop")
    assert cli("catalog", "stats").out == "catalog stats\n"
    assert cli("catalog", "lint").out == "catalog lint\n"
    assert cli("catalog", "show", "--ids").code == 0
    group = cli("catalog", "--help").out
    assert all(f"helmdeck catalog {name}" in group for name in ("show", "rank", "stats", "lint"))
    assert cli("acme", "db", "drop").out == "acme db drop\n"
    assert "helmdeck acme db sync" in cli("acme").err


def test_blocked_built_in_command_is_gone_and_another_plugin_can_contribute_it(cli, install):
    done = cli("route", "x", "--disable-plugin", "command_route")
    assert done.code == ExitCode.USAGE
    assert "there is no command 'route'" in done.err
    assert "  route " not in cli("--help", "--disable-plugin", "command_route").out
    install("mine", "route")
    assert cli("route", "--disable-plugin", "command_route").out == "route\n"


def test_two_plugins_that_claim_one_command_are_a_conflict(cli, install):
    install("one", "greet", "plan")
    install("two", "greet", "plan")
    for command in ("greet", "plan"):
        done = cli(command, "--json")
        assert (done.code, done.data["error"]["kind"]) == (ExitCode.PLUGIN, "PluginConflictError")
        assert f"plugins 'two' and 'one' both claim Command '{command}' in helmdeck_commands" in done.err
    assert "both claim Command 'greet'" in cli("--help").out
    assert cli("greet", "--disable-plugin", "one").out == "greet\n"


def test_plugin_whose_hook_raises_does_not_break_other_commands(cli, install, installed_plugin):
    source = "from helmdeck_core import hookimpl\n@hookimpl\ndef helmdeck_commands():\n    raise OSError('disk')\n"
    installed_plugin("bad", {"bad": "bad_plugin"}, {"bad_plugin": source})
    install("good", "greet")
    assert cli("greet").out == "greet\n"
    assert "plugin 'bad' (distribution bad 1.0) failed in helmdeck_commands: OSError: disk" in cli("--help").out
    assert cli("xyzzy").code == ExitCode.PLUGIN


# -- names -------------------------------------------------------------------------------------------------

INVALID = "a name is one or more words, separated by single spaces, none of which starts with a dash"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("two  spaces", INVALID),
        (" space", INVALID),
        ("tab\t", INVALID),
        ("", INVALID),
        ("-x", INVALID),
        ("acme --sync", INVALID),
        ("catalog", "the name is that of a group, to which plugin 'command_catalog' adds 'catalog show'"),
        ("plan fast", "'plan' is a command of plugin 'command_plan', so it cannot be a group"),
    ],
)
def test_command_that_cannot_be_called_is_an_error_that_names_the_plugin(cli, install, name, problem):
    install("named", name)
    error = f"plugin 'named' (distribution named 1.0) failed in helmdeck_commands: command {name!r}: {problem}"
    done = cli("xyzzy")
    assert (done.code, done.out) == (ExitCode.PLUGIN, "")
    assert error in done.err
    shown = cli("--help")
    assert shown.code == 0
    assert error in shown.out
    assert sum(line.startswith("  catalog show ") for line in shown.out.splitlines()) == 1
    assert cli("--disable-plugin", "named", "--help").code == 0
    assert cli("plan", "remember this").code == 0
    assert cli("catalog", "show").code == 0


def test_command_and_group_of_one_name_from_two_plugins_are_both_rejected(cli, install):
    install("one", "acme")
    install("two", "acme sync")
    for words in (["acme"], ["acme", "sync"]):
        done = cli(*words)
        assert done.code == ExitCode.PLUGIN
        assert "plugin 'one'" in done.err
    assert "plugin 'two'" in cli("--help").out
    assert cli("acme", "sync", "--disable-plugin", "one").out == "acme sync\n"


def test_plugin_may_add_a_command_and_others_to_the_group_of_its_name(cli, install):
    install("one", "acme", "acme sync", "acme fast sync")
    assert cli("acme").out == "acme\n"
    assert cli("--json", "acme", "sync").out == "acme sync\n"
    assert cli("acme", "fast", "sync").out == "acme fast sync\n"
    assert "usage: helmdeck acme [" in cli("acme", "--help").out
    assert cli("acme", "fast", "--help").code == 0
    unknown = cli("acme", "other")
    assert (unknown.code, unknown.out) == (ExitCode.USAGE, "") and "unrecognized arguments: other" in unknown.err


# -- parsers -----------------------------------------------------------------------------------------------

SUBPARSERS = """
from helmdeck_core import Command, hookimpl


def configure(parser):
    parser.add_subparsers(dest="action").add_parser("start", add_help=False)


@hookimpl
def helmdeck_commands():
    run = lambda arguments: print(arguments.action, arguments.json) or 0
    return [Command(name="daemon", summary="s", configure=configure, run=run)]
"""


def test_command_with_sub_parsers_of_argparse_runs(cli, installed_plugin):
    installed_plugin("daemon", {"daemon": "daemon_plugin"}, {"daemon_plugin": SUBPARSERS})
    assert cli("daemon", "--json", "start") == (0, "start True\n", "")
