"""The commands that plugins bring: found when a word is no built-in command, and run with their owner's name on faults."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from helmdeck_core.cli import exits, options, printing
from helmdeck_core.errors import HelmdeckError

if TYPE_CHECKING:
    from helmdeck_core.domain.packs import Command
    from helmdeck_core.hooks.calls import Contribution


def find(rest: Sequence[str], builtins: Iterable[str]) -> Mapping[str, Contribution[Command]]:
    """The commands that plugins contribute; only plugins are loaded, nothing is resolved.

    :param rest: words among which the global options are.
    :param builtins: the commands that there are without plugins.
    :raises PluginError: a plugin cannot be loaded, or contributes something else, or a command that can never run.
    """
    from helmdeck_core.domain.packs import Command
    from helmdeck_core.hooks.calls import collect
    from helmdeck_core.hooks.manager import load_plugins

    wanted = options.load(options.global_arguments(rest)).config.plugins
    plugins = load_plugins(disable=wanted.disable, first=wanted.first, autoload=wanted.autoload)
    found = {owned.value.name: owned for owned in collect(plugins, "helmdeck_commands", Command)}
    taken = {name.partition(" ")[0] for name in builtins}
    for name, owned in found.items():
        if name in taken:
            problem = "a built-in command has that name"
        elif name.split() != [name] or name.startswith("-"):
            problem = "the name of a command is one word that starts with no dash"
        else:
            continue
        raise owned.fault(f"command {name!r}: {problem}")
    return found


def run(name: str, rest: Sequence[str], builtins: Sequence[str]) -> int:
    """Run a plugin's command. Where it calls ``sys.exit``, it ends as a program would.

    :raises UsageError: there is no such command; with the nearest name that exists.
    :raises PluginError: the command failed in a way of its own.
    """
    try:
        found = find(rest, builtins)
    except HelmdeckError:
        # The command may be the broken plugin's own; a word that is nearly a built-in command is just mistyped.
        if nearest(name, builtins):
            raise exits.UsageError(no_such_command(name, builtins)) from None
        raise
    if name not in found:
        raise exits.UsageError(no_such_command(name, [*builtins, *found]))
    command = found[name].value
    parser = options.Parser(f"helmdeck {name}", command.summary)
    with _blaming(found[name]):
        command.configure(parser)
        options.add_global_options(parser)
        arguments = parser.parse_args(list(rest))
        arguments.make_deck = functools.partial(options.make_deck, arguments)
        try:
            return _exit_code(command.run(arguments))
        except options.ParserExit:
            raise
        except SystemExit as exc:
            if exc.code is None or isinstance(exc.code, int):
                return _exit_code(exc.code or exits.OK)
            printing.note(str(exc.code))
            return exits.UNEXPECTED


def _exit_code(code: int) -> int:
    """A system keeps the lowest byte, and no failure may look like a success for that."""
    code = int(code)
    return code if code & 0xFF or not code else exits.UNEXPECTED


@contextmanager
def _blaming(owned: Contribution[Command]) -> Iterator[None]:
    try:
        yield
    except (HelmdeckError, BrokenPipeError, options.ParserExit):
        raise
    except (Exception, SystemExit) as exc:
        raise owned.fault(f"command {owned.value.name!r}: {type(exc).__name__}: {exc}") from exc


def nearest(name: str, known: Sequence[str]) -> str | None:
    """The known name that a mistyped one may mean."""
    import difflib

    words = {word: each for each in known for word in (each.partition(" ")[0], each)}
    close = difflib.get_close_matches(name, list(words), n=1)
    return close[0] if close else None


def no_such_command(name: str, known: Sequence[str]) -> str:
    """What is said to a command that does not exist."""
    meant = nearest(name, known)
    hint = f"; did you mean `helmdeck {meant}`?" if meant else ";"
    return f"there is no command {name!r}{hint} commands: {', '.join(known)}"
