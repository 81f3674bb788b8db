"""The contract test suite for commands: subclass ``CommandContract`` in a test file, and pytest runs it.

::

    class TestSync(CommandContract):
        plugin = acme_commands
        command = "acme sync"
        arguments = ("--limit", "2")
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pytest

from helmdeck_core import Command
from helmdeck_core.cli import ExitCode, main
from helmdeck_testing.deck_factory import write_distribution


class Result(NamedTuple):
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str


class CommandContract:
    """The contract test suite for commands. The plugin is a module, which is installed for the test if it is not yet.

    :cvar plugin: the module that contributes the command.
    :cvar command: the name of the command.
    :cvar arguments: valid arguments.
    """

    plugin: ClassVar[Any]
    command: ClassVar[str]
    arguments: ClassVar[Sequence[str]] = ()

    @pytest.fixture(autouse=True)
    def _isolated(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path / "data"))
        monkeypatch.setenv("COLUMNS", "100")
        self._capsys = capsys
        module = self.plugin.__name__
        installed = importlib.metadata.entry_points(group="helmdeck")
        if module not in {point.value.partition(":")[0] for point in installed}:
            name = module.replace("_", "-")
            site = write_distribution(tmp_path / "site", name, {name: module}, {})
            monkeypatch.syspath_prepend(str(site))
            importlib.invalidate_caches()

    def test_valid_arguments_succeed_and_the_result_is_on_standard_output(self) -> None:
        result = self.run(*self.arguments)
        assert result.code == ExitCode.OK, result.err
        assert result.out.strip(), "a command prints its result"

    def test_json_option_prints_one_json_value(self) -> None:
        result = self.run("--json", *self.arguments)
        assert result.code == ExitCode.OK, result.err
        json.loads(result.out)

    def test_help_describes_the_command(self) -> None:
        result = self.run("--help")
        assert (result.code, result.err) == (ExitCode.OK, "")
        assert f"helmdeck {self.command}" in result.out

    def test_command_and_its_group_are_listed(self) -> None:
        *group, word = self.command.split(" ")
        assert word in self.run("--help", command=" ".join(group)).out
        if group:
            assert group[0] in self.run("--help", command="").out

    def test_unknown_option_is_a_usage_error_on_standard_error(self) -> None:
        result = self.run("--no-such-option", *self.arguments)
        assert (result.code, result.out) == (ExitCode.USAGE, "")
        assert "--no-such-option" in result.err
        assert "Traceback" not in result.err

    def test_second_run_succeeds_too(self) -> None:
        assert self.run(*self.arguments).code == self.run(*self.arguments).code == ExitCode.OK

    def test_summary_is_one_short_line(self) -> None:
        names = {each.name: each for each in self.plugin.helmdeck_commands()}
        assert self.command in names, f"the plugin contributes no command {self.command!r}"
        contributed: Command = names[self.command]
        assert 0 < len(contributed.summary) <= 80
        assert "\n" not in contributed.summary
        assert not contributed.name_problem()

    def run(self, *arguments: str, command: str | None = None) -> Result:
        """Run the command, or another one, in this process."""
        words = (self.command if command is None else command).split()
        self._capsys.readouterr()
        code = main([*words, *arguments])
        out, err = self._capsys.readouterr()
        return Result(code, str(out), str(err))
