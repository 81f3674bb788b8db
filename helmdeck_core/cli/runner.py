"""Runs a command line: finds the command, runs it, and turns exceptions into a message and an exit code."""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs

from helmdeck_core.cli import options, printing
from helmdeck_core.cli.exit_codes import (
    ExitCode,
    OutputError,
    UsageError,
    error_data,
    exit_code_of,
    missing_directory_error,
)
from helmdeck_core.cli.failures import failure_lines, show_exception, show_traceback, shows_tracebacks
from helmdeck_core.cli.signals import sigterm_as_interrupt
from helmdeck_core.errors import CallFailed, HelmdeckError
from helmdeck_core.suggestions import ALMOST_EQUAL, similar

if TYPE_CHECKING:
    from helmdeck_core.cli.registry import CommandRegistry
    from helmdeck_core.domain.commands import Command
    from helmdeck_core.hooks.calls import Contribution


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code; see ``entry``."""
    words = list(sys.argv[1:] if argv is None else argv)
    printing.prepare_streams()
    shows_tracebacks.set(_wants_traceback(words))
    try:
        try:
            with printing.warnings_as_notes(), sigterm_as_interrupt():
                code = _run(words)
        except options.ParserExit as exc:  # argparse, after it printed a help text
            code = exc.status
        printing.flush()
        return code
    except BrokenPipeError:
        printing.silence(sys.stdout)
        return int(ExitCode.BROKEN_PIPE)
    except BaseException as exc:  # SystemExit of a plugin and a stray CancelledError included
        return _report_failure(missing_directory_error(exc) or exc, words)


def _run(words: list[str]) -> int:
    if "--version" in _before_dashes(words):
        from helmdeck_core import __version__

        is_json = "--json" in _before_dashes(words)
        printing.show_json({"version": __version__}) if is_json else printing.show(f"helmdeck {__version__}")
        return int(ExitCode.OK)
    registry = load_commands(words)
    if words[:1] == ["help"] and not ({"help"} & {*registry.commands, *registry.groups}):
        words = [*words[1:], "--help"]
    name, rest = split(words, registry)
    if not name or (name not in registry.commands and name in registry.groups):
        from helmdeck_core.cli import help_text

        is_requested = bool({"-h", "--help"} & set(rest))
        text = help_text.group_help(name, registry) if name else help_text.top_help(registry)
        (printing.show if is_requested else printing.note)(text)
        for error in registry.errors if not name else ():
            show_traceback(error)
        if not is_requested and "--json" in _before_dashes(words):
            where = f"helmdeck {name}" if name else "helmdeck"
            printing.show_json({"error": error_data(UsageError(f"a command is missing; `{where} --help` lists them"))})
        return int(ExitCode.OK if is_requested else ExitCode.USAGE)
    contribution = registry.find(name)
    if registry.is_builtin(name):
        return _exit_status(contribution.value.run(_parse(contribution.value, rest)))
    return _run_installed(contribution, rest)


def load_commands(words: Sequence[str]) -> CommandRegistry:
    """Load the commands for a command line, whose global options may block plugins.

    If the configuration cannot be read, only the built-in commands are there, so that the help works.

    >>> from helmdeck_core.cli import load_commands
    >>> "plan" in load_commands(["plan"]).commands
    True
    """
    from helmdeck_core.cli.registry import CommandRegistry
    from helmdeck_core.config.types import PluginsConfig

    arguments = options.global_arguments(_before_dashes(words))
    try:
        config = options.read_config(arguments).config.plugins
    except UsageError as exc:
        registry = CommandRegistry.load(PluginsConfig(autoload=False))
        return attrs.evolve(registry, errors=(exc, *registry.errors))
    return CommandRegistry.load(config)


def split(words: Sequence[str], registry: CommandRegistry) -> tuple[str, list[str]]:
    """Return the name of the command, ``""`` for none, and all other words in their order.

    Global options may stand before the command; their values are not taken for its name.
    """
    before: list[str] = []
    name = ""
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if word.startswith("-"):
            option = word.partition("=")[0]
            if option not in (*options.WITH_VALUE, *options.SWITCHES):
                where = f"`helmdeck {name} COMMAND`" if name else "the command"
                near = similar(option, (*options.WITH_VALUE, *options.SWITCHES), most=1, cutoff=ALMOST_EQUAL)
                hint = f" (did you mean {near[0]!r}?)" if near else ""
                raise UsageError(f"{word} is not a global option{hint}; put the options of a command after {where}")
            before.append(word)
            if word in options.WITH_VALUE and position < len(words):
                before.append(words[position])
                position += 1
            continue
        name = f"{name} {word}".strip()
        if not registry.is_group(name, words[position:]):
            break
    return name, [*before, *words[position:]]


def _before_dashes(words: Sequence[str]) -> Sequence[str]:
    return words[: words.index("--")] if "--" in words else words


def _parse(command: Command, words: Sequence[str]) -> argparse.Namespace:
    parser = options.command_parser(command)
    # Options may stand between positional arguments. parse_args is needed where the words contain --, and for parsers with
    # sub-parsers or REMAINDER, which argparse refuses to intermix.
    if "--" in words:
        arguments = parser.parse_args(words)
    else:
        try:
            arguments = parser.parse_intermixed_args(words)
        except TypeError:
            arguments = parser.parse_args(words)
    arguments.make_deck = functools.partial(options.make_deck, arguments)
    return arguments


def _run_installed(contribution: Contribution[Command], words: Sequence[str]) -> int:
    """Run the command of an installed plugin. An unexpected exception names the plugin; ``sys.exit`` ends the command."""
    with _naming_the_plugin(contribution):
        arguments = _parse(contribution.value, words)
        try:
            return _exit_status(contribution.value.run(arguments))
        except options.ParserExit:
            raise
        except SystemExit as exc:
            if exc.code is None or isinstance(exc.code, int):
                return _exit_status(exc.code or 0)
            printing.note(str(exc.code))
            return int(ExitCode.UNEXPECTED)


def _exit_status(code: int) -> int:
    """The code as a process can end with it: systems keep the lowest byte, which must not turn a failure into 0."""
    code = int(code)
    return code if code & 0xFF or not code else int(ExitCode.UNEXPECTED)


@contextmanager
def _naming_the_plugin(contribution: Contribution[Command]) -> Iterator[None]:
    try:
        yield
    except (HelmdeckError, BrokenPipeError, options.ParserExit):
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as exc:
        raise contribution.fault(f"command {contribution.value.name!r}: {type(exc).__name__}: {exc}") from exc


def _report_failure(error: BaseException, words: Sequence[str]) -> int:
    code = exit_code_of(error)
    if isinstance(error, CallFailed):
        show_traceback(error)
        printing.show_error(error.headline)
        for line in failure_lines(error, code):
            printing.note(line)
    else:
        show_exception(error)
    try:
        if "--json" in _before_dashes(words) and not isinstance(error, OutputError):
            printing.show_json({"error": error_data(error)})
        printing.flush()
    except (BrokenPipeError, OutputError):
        printing.silence(sys.stdout)
    return int(code)


def _wants_traceback(words: Sequence[str]) -> bool:
    try:
        arguments = options.global_arguments(_before_dashes(words))
    except HelmdeckError:
        return False
    return arguments.traceback or str(arguments.log_level).upper() in ("DEBUG", "TRACE")
