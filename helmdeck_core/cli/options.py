"""Parsers of commands, the global options, and the configuration and deck that follow them."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import attrs

from helmdeck_core.cli import printing
from helmdeck_core.cli.exit_codes import UsageError, missing_directory_error
from helmdeck_core.cli.terminal import MIN_WIDTH, wrap
from helmdeck_core.suggestions import nearest

if TYPE_CHECKING:
    from helmdeck_core.config.load import LoadedConfig
    from helmdeck_core.config.structure import KeyPath
    from helmdeck_core.deck.helmdeck import Helmdeck
    from helmdeck_core.domain.commands import Command

WITH_VALUE = ("--config", "--disable-plugin", "--plugin", "--log-level")
SWITCHES = ("--no-plugins", "--json", "--traceback", "--version", "-h", "--help")
"""The global options; they may stand before and after the command."""

DEFAULT_HISTORY: str | None = "sqlite:"
"""The history of the command line, a file in the user's data directory. Python code has none until it is configured."""


class ParserExit(SystemExit):
    """A parser is done, for instance because it printed its help. Any other ``SystemExit`` comes from a plugin."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Parser(argparse.ArgumentParser):
    """A parser that raises ``UsageError`` and ``ParserExit`` instead of ending the process."""

    def __init__(self, prog: str, description: str | None = None, *, add_help: bool = True) -> None:
        super().__init__(
            prog,
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            add_help=add_help,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        """Raise the message that argparse would print, with the option that a misspelt one is similar to."""
        label, _, words = message.partition("unrecognized arguments: ")
        word = words.partition(" ")[0].partition("=")[0]
        hint = ""
        if not label and word.startswith("--"):
            known = {option.lstrip("-"): option for option in self._option_string_actions}
            near = nearest(word.lstrip("-"), known)
            hint = f" (did you mean '{known[near]}'?)" if near else ""
        elif not label and word.endswith(".toml"):
            hint = f" (did you mean '--config {word}'?)"
        raise UsageError(f"{message}{hint}; see `{self.prog} --help`")

    def format_help(self) -> str:
        """The help, with the text below the options wrapped; its indented lines, such as commands, stay whole."""
        epilog = self.epilog
        if epilog:
            width = max(shutil.get_terminal_size().columns - 2, MIN_WIDTH)  # that of argparse
            self.epilog = "\n".join(
                line if line.startswith(" ") else "\n".join(wrap(line, width)) for line in epilog.split("\n")
            )
        try:
            return super().format_help()
        finally:
            self.epilog = epilog

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Raise ``ParserExit``."""
        if message:
            printing.note(message.rstrip("\n"))
        raise ParserExit(status)

    def print_help(self, file: Any = None) -> None:
        """Print the help as a result, so that a full disk is an error; argparse would ignore it."""
        if file is None:
            printing.show(self.format_help().rstrip("\n"))
        else:
            super().print_help(file)


def command_parser(command: Command) -> Parser:
    """The parser of a command, with its own arguments and the global options.

    >>> from helmdeck_core.cli import command_parser, load_commands
    >>> command = load_commands(["route"]).commands["route"].value
    >>> command_parser(command).parse_args(["--model", "acme/large", "draft a post"]).model
    'acme/large'
    """
    parser = Parser(f"helmdeck {command.name}", command.summary)
    command.configure(parser)
    add_global_options(parser)
    return parser


def add_global_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that every command takes."""
    group = parser.add_argument_group("global options")
    group.add_argument(
        "--config", metavar="FILE", type=Path, help="the configuration file; default: the nearest helmdeck.toml"
    )
    group.add_argument(
        "--disable-plugin", metavar="PLUGIN", action="append", default=[], help="block a plugin; may be repeated"
    )
    group.add_argument(
        "--plugin",
        metavar="FILE",
        action="append",
        default=[],
        help="load a plugin from a Python file; may be repeated",
    )
    group.add_argument(
        "--no-plugins", action="store_true", help="load the built-in plugins, and those of --plugin, only"
    )
    group.add_argument("--log-level", metavar="LEVEL", help="write log lines of this level and above to standard error")
    group.add_argument("--json", action="store_true", help="print JSON instead of text")
    group.add_argument("--traceback", action="store_true", help="show the tracebacks of errors")


def global_arguments(words: Sequence[str]) -> argparse.Namespace:
    """Parse the global options among the words of any command line; all other words are ignored."""
    parser = Parser("helmdeck", add_help=False)
    add_global_options(parser)
    return parser.parse_known_args(list(words))[0]


def _overrides(arguments: argparse.Namespace) -> dict[KeyPath, tuple[Any, str]]:
    """The configuration values that the options set: value and option by key path."""
    values: dict[KeyPath, tuple[Any, str]] = {}
    if arguments.log_level:
        values["log_level",] = (arguments.log_level, "--log-level")
    if arguments.no_plugins:
        values["plugins", "autoload"] = (False, "--no-plugins")
    if arguments.disable_plugin:
        # The option adds to the list of the file and the environment; an override would replace that list.
        blocked = _read(arguments, {}).config.plugins.disable
        names = list(dict.fromkeys([*blocked, *arguments.disable_plugin]))
        values["plugins", "disable"] = (names, "--disable-plugin")
    if arguments.plugin or arguments.no_plugins:
        configured = () if arguments.no_plugins else _read(arguments, {}).config.plugins.files
        own = [str(Path(file).expanduser().absolute()) for file in arguments.plugin]
        if missing := [file for file, path in zip(arguments.plugin, own, strict=True) if not Path(path).is_file()]:
            raise UsageError(f"argument --plugin: there is no file {missing[0]!r}")
        option = "--plugin" if arguments.plugin else "--no-plugins"
        values["plugins", "files"] = (list(dict.fromkeys([*configured, *own])), option)
    if sources := getattr(arguments, "catalog_sources", None):
        values["catalog", "sources"] = (list(sources), "--catalog")
    if project := getattr(arguments, "project", None):
        values["history", "project"] = (project, "--project")
    if folder := getattr(arguments, "artifacts", None):
        values["packs", "artifacts"] = (folder, "--out")
    return values


def read_config(arguments: argparse.Namespace) -> LoadedConfig:
    """Read the configuration that the options of a command line select. Its mistakes are in ``mistakes``, not raised.

    >>> from helmdeck_core.cli import command_parser, load_commands, read_config
    >>> parser = command_parser(load_commands(["route"]).commands["route"].value)
    >>> read_config(parser.parse_args(["draft a post"])).mistakes
    ()
    """
    return _read(arguments, _overrides(arguments))


def _read(arguments: argparse.Namespace, overrides: Mapping[KeyPath, tuple[Any, str]]) -> LoadedConfig:
    from helmdeck_core.config.load import load_config

    try:
        return load_config(file=arguments.config, environ=os.environ, arguments=overrides)
    except FileNotFoundError as exc:
        raise missing_directory_error(exc) or exc from None


def make_deck(arguments: argparse.Namespace) -> Helmdeck:
    """Return a deck that follows the global options.

    :raises ConfigError: with every mistake.
    :raises PluginError: a plugin cannot be loaded.
    """
    from helmdeck_core.deck.helmdeck import Helmdeck

    return Helmdeck(with_default_history(read_config(arguments)))


def with_default_history(loaded: LoadedConfig) -> LoadedConfig:
    """Return the configuration with the history of the command line where it sets none: that of the project.

    >>> from helmdeck_core import load_config
    >>> from helmdeck_core.cli import with_default_history
    >>> with_default_history(load_config(environ={})).mistakes
    ()
    """
    if loaded.config.history.url is not None or "history" in loaded.config.plugins.disable:
        return loaded
    from helmdeck_core.config.project import project_name, project_root

    own = loaded.config.history.project or project_name(project_root(loaded.file, Path.cwd()))
    history = attrs.evolve(loaded.config.history, url=DEFAULT_HISTORY, project=own)
    return attrs.evolve(loaded, config=attrs.evolve(loaded.config, history=history))
