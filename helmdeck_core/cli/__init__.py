"""The command line: finds the command, runs it, and turns what is raised into a message and an exit code.

Commands import what they need when they run, so that asking for help costs next to nothing.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from helmdeck_core.cli import exits, options, printing
from helmdeck_core.errors import HelmdeckError

if TYPE_CHECKING:
    import argparse

    from helmdeck_core.cli.options import Run
    from helmdeck_core.domain.packs import Command

COMMANDS: Mapping[str, str] = {
    "plan": "turn a request into a validated plan over the catalog",
    "route": "find the one pack or pipeline that serves a request",
    "run": "run an installed pack",
    "budgets": "show what each model is asked to take and to give, and why",
    "catalog show": "list everything that can be planned",
    "catalog compact": "show how the catalog is trimmed for a model",
    "catalog rank": "show how the catalog is ranked for a request",
    "decode": "read a model's answer, or say why it cannot be read",
    "plugins list": "list the plugins that are loaded, and those that are blocked",
    "plugins show": "show what one plugin contributes",
    "hooks": "print the hooks that a plugin can implement",
    "config show": "show every setting and where it came from",
    "config check": "check the configuration and report every mistake",
    "config sample": "print a helmdeck.toml to start from",
}
"""The built-in commands; the first word is the module."""

GROUPS = tuple(dict.fromkeys(name.split()[0] for name in COMMANDS if " " in name))


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code; nothing is raised."""
    words = list(sys.argv[1:] if argv is None else argv)
    printing.prepare_streams()
    try:
        code = _run(words)
        sys.stdout.flush()
        return code
    except SystemExit as exc:  # argparse, after it printed a help text
        return exc.code if isinstance(exc.code, int) else exits.OK
    except BrokenPipeError:
        _forget_stdout()
        return exits.BROKEN_PIPE
    except (Exception, KeyboardInterrupt) as exc:
        return _failed(exc, words)


def _run(words: list[str]) -> int:
    command, rest = split(words)
    if "--version" in _before_dashes(rest):
        from helmdeck_core import __version__

        printing.show(f"helmdeck {__version__}")
        return exits.OK
    if command in COMMANDS:
        word, _, action = command.partition(" ")
        configure, run = import_module(f"{__name__}.{word}").ACTIONS[action]
        parser = options.Parser(f"helmdeck {command}", COMMANDS[command])
        configure(parser)
        return _started(parser, rest, run)
    if not command or command in GROUPS:
        from helmdeck_core.cli import overview

        is_asked = bool({"-h", "--help"} & set(rest))
        text = overview.group_help(command, COMMANDS) if command else overview.top_help(rest, COMMANDS)
        (printing.show if is_asked else printing.note)(text)
        return exits.OK if is_asked else exits.USAGE
    found = _plugin_command(command, rest)
    parser = options.Parser(f"helmdeck {command}", found.summary)
    found.configure(parser)
    return _started(parser, rest, found.run)


def _started(parser: argparse.ArgumentParser, rest: list[str], run: Run) -> int:
    options.add_global_options(parser)
    arguments = parser.parse_args(rest)
    arguments.make_deck = functools.partial(options.make_deck, arguments)
    return run(arguments)


def split(words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the command, ``""`` for none, and all other words in their order.

    Global options may stand before the command; their values are not taken for it.
    """
    before: list[str] = []
    command = ""
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if word.startswith("-"):
            name = word.partition("=")[0]
            if name not in (*options.WITH_VALUE, *options.SWITCHES):
                where = f"`helmdeck {command}` and its action" if command else "the command"
                raise exits.UsageError(f"{word} is not a global option; the options of a command stand behind {where}")
            before.append(word)
            if word in options.WITH_VALUE and position < len(words):
                before.append(words[position])
                position += 1
            continue
        command = f"{command} {word}".strip()
        if command not in GROUPS:
            break
    return command, [*before, *words[position:]]


def _before_dashes(words: Sequence[str]) -> Sequence[str]:
    return words[: words.index("--")] if "--" in words else words


def _plugin_command(name: str, rest: list[str]) -> Command:
    """Find the command among those of plugins.

    :raises UsageError: with the nearest names that exist.
    """
    from helmdeck_core.cli import overview

    group = name.partition(" ")[0]
    if group in GROUPS:
        raise exits.UsageError(
            overview.no_such_command(name, [each for each in COMMANDS if each.startswith(f"{group} ")])
        )
    try:
        found = overview.plugin_commands(overview.global_arguments(rest))
    except HelmdeckError:
        # The command may be the broken plugin's own; a word that is nearly a built-in command is just mistyped.
        if overview.nearest(name, COMMANDS):
            raise exits.UsageError(overview.no_such_command(name, COMMANDS)) from None
        raise
    if name in found:
        return found[name]
    raise exits.UsageError(overview.no_such_command(name, [*COMMANDS, *found]))


def _failed(error: BaseException, words: Sequence[str]) -> int:
    code = exits.code_of(error)
    if code == exits.UNEXPECTED and _wants_traceback(words):
        import traceback

        printing.note("".join(traceback.format_exception(error)).rstrip())
    with contextlib.suppress(BrokenPipeError):
        printing.complain(exits.sentence(error))
    if "--json" in _before_dashes(words):
        try:
            printing.show_json({"error": exits.to_data(error)})
            sys.stdout.flush()
        except BrokenPipeError:
            _forget_stdout()
    return code


def _wants_traceback(words: Sequence[str]) -> bool:
    from helmdeck_core.cli import overview

    try:
        level = overview.global_arguments(_before_dashes(words)).log_level
    except HelmdeckError:
        return False
    return str(level).upper() in ("DEBUG", "TRACE")


def _forget_stdout() -> None:
    """Let the interpreter flush into nothing at its end: the reader is gone, and that is no error of ours."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
