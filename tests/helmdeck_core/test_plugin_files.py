"""Plugins that are single files: ``[plugins] files`` and ``--plugin``."""

import pytest

from helmdeck_core import Helmdeck
from helmdeck_core.cli import ExitCode
from helmdeck_core.hooks.foreign_code import PluginWarning
from helmdeck_core.hooks.plugin_files import load_file
from helmdeck_testing import make_deck
from tests.cli_support import Cli, leave_the_machine

STEP = """\
from helmdeck_core import TrimStep, hookimpl


@hookimpl
def helmdeck_trim_steps():
    return [TrimStep(name="{name}", trim=lambda _, data: data, order=5)]
"""
BROKEN = {
    "syntax.py": ("def x(:\n", "SyntaxError: invalid syntax (syntax.py, line 1)"),
    "raises.py": ("\n\nx = 1 / 0\n", "ZeroDivisionError: division by zero (line 3)"),
    "exits.py": ("raise SystemExit(3)\n", "SystemExit: 3 (line 1)"),
    "hook.py": (
        "from helmdeck_core import hookimpl\n\n\n@hookimpl\ndef helmdeck_trim_stepz(): ...\n",
        "there is no hook",
    ),
    "fails.py": (
        "from helmdeck_core import hookimpl\n\n\n@hookimpl\ndef helmdeck_trim_steps():\n    return 1 / 0\n",
        "failed in helmdeck_trim_steps: ZeroDivisionError",
    ),
    "values.py": (
        "from helmdeck_core import hookimpl\n\n\n@hookimpl\ndef helmdeck_trim_steps():\n    return [7]\n",
        "helmdeck_trim_steps",
    ),
    "notes.txt": ("", "not a file that ends in .py"),
}


@pytest.fixture
def cli(capsys, monkeypatch, tmp_path):
    leave_the_machine(monkeypatch, tmp_path)
    return Cli(capsys)


def contributed(cli, *words):
    """The names of the plugins that are files."""
    return [row["name"] for row in cli("plugins", "list", "--json", *words).data["plugins"] if row["source"] == "file"]


def write(path, name):
    path.parent.mkdir(exist_ok=True)
    path.write_text(STEP.format(name=name))


def test_file_of_the_configuration_is_relative_to_its_folder(cli, tmp_path, monkeypatch):
    write(tmp_path / "trim.py", "mine.step")
    (tmp_path / "helmdeck.toml").write_text('[plugins]\nfiles = ["trim.py"]\n')
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert contributed(cli) == ["trim.py"]
    shown = cli("plugins", "show", "trim.py")
    assert shown.code == ExitCode.OK and "mine.step" in shown.out and "a file of your own" in shown.out
    with make_deck(file=tmp_path / "helmdeck.toml") as deck:
        assert deck.runtime.plugins.is_optional("trim.py") and not deck.runtime.plugins.is_builtin("trim.py")


def test_option_adds_a_file_to_the_configured_ones(cli, tmp_path):
    write(tmp_path / "one.py", "one")
    write(tmp_path / "more" / "two.py", "two")
    (tmp_path / "helmdeck.toml").write_text('[plugins]\nfiles = ["one.py"]\n')
    assert contributed(cli, "--plugin", "more/two.py") == ["one.py", "two.py"]
    assert contributed(cli, "--plugin", "more/two.py", "--no-plugins") == ["two.py"]
    assert contributed(cli, "--no-plugins") == []
    assert cli("--plugin", "more/two.py", "plugins", "show", "two.py").code == ExitCode.OK


def test_file_may_contribute_a_command(cli, tmp_path):
    (tmp_path / "hello.py").write_text(
        "from helmdeck_core import Command, hookimpl\nfrom helmdeck_core.cli import show\n\n\n@hookimpl\n"
        "def helmdeck_commands():\n"
        '    return [Command(name="hello", summary="greet", configure=lambda _: None, run=lambda _: show("hi") or 0)]\n'
    )
    assert cli("--plugin", "hello.py", "hello").out == "hi\n"


@pytest.mark.parametrize("name", BROKEN)
def test_broken_file_names_itself_and_everything_else_works(cli, tmp_path, name):
    text, problem = BROKEN[name]
    (tmp_path / name).write_text(text)
    write(tmp_path / "good.py", "mine.step")
    (tmp_path / "helmdeck.toml").write_text(f'[plugins]\nfiles = ["{name}", "good.py"]\n')
    done = cli("plan", "draft a blog post")
    assert done.code == ExitCode.OK and "blog.draft" in done.out
    (warning,) = done.err.splitlines()
    assert warning.startswith("helmdeck: warning: ") and problem in warning and name in warning
    check = cli("config", "check")
    assert check.code == ExitCode.USAGE and problem in check.err
    assert cli("plan", "draft a blog post", "--disable-plugin", name).err == ""


def test_file_without_hooks_is_a_warning(cli, tmp_path):
    (tmp_path / "mine.py").write_text("def helmdeck():\n    pass\n")
    done = cli("plan", "draft a blog post", "--plugin", "mine.py")
    (warning,) = done.err.splitlines()
    assert done.code == 0
    assert warning.startswith(
        "helmdeck: warning: plugin 'mine.py' implements no hook and changes nothing; add a function"
    )


def test_missing_file_is_named(cli):
    done = cli("plan", "draft a blog post", "--plugin", "gone.py")
    assert done.code == ExitCode.USAGE and "there is no file 'gone.py'" in done.err


def test_broken_file_is_a_warning_in_python(tmp_path):
    (tmp_path / "syntax.py").write_text("def x(:\n")
    with pytest.warns(PluginWarning, match=r"syntax\.py"):
        Helmdeck(overrides={"plugins.files": [str(tmp_path / "syntax.py")]}, environ={}, autoload=False).close()


def test_file_is_executed_once_until_it_changes(tmp_path):
    path = tmp_path / "counted.py"
    path.write_text("calls = []\n")
    first = load_file(path)
    assert load_file(path) is first
    path.write_text("calls = [1]\n")
    assert load_file(path) is not first and load_file(path).calls == [1]
