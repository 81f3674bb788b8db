"""``helmdeck completion``: prints the completion script of a shell, and completes command lines for these scripts.

The words come from the registered commands and their parsers, so commands of plugins are completed too. The placeholder of an
argument (``metavar``) decides how its value is completed: see ``VALUES``.
"""

from __future__ import annotations

import argparse
import shlex
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import attrs

from helmdeck_cli.printing.completion_scripts import SCRIPTS
from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import ExitCode, UsageError, command_parser, load_commands, make_deck, show, show_json

if TYPE_CHECKING:
    from helmdeck_core import Helmdeck

FILES = "files"
"""The first line of the output where the shell completes file names; otherwise it is ``words``."""

Candidate = tuple[str, str]
"""A word and its description, which may be empty."""


@attrs.frozen
class Completion:
    """What a command line can continue with."""

    candidates: Sequence[Candidate] = ()
    takes_files: bool = False


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("shell", metavar="SHELL", choices=list(SCRIPTS), help=f"one of {', '.join(SCRIPTS)}")
    parser.add_argument(
        "words",
        nargs="*",
        default=[],
        metavar="WORD",
        help="with --complete, and after --: the words of the command line to complete",
    )
    parser.add_argument(
        "--complete",
        action="store_true",
        help="print the completions of the last word, as the scripts need them; put it in front of the shell",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the script, or completions. A command line that cannot be completed has none; nothing is an error."""
    shell: str = arguments.shell
    if not arguments.complete:
        script = SCRIPTS[shell].rstrip()
        if arguments.json:
            show_json({"script": script})
        else:
            show(script)
        return ExitCode.OK
    words: list[str] = arguments.words
    words = split_line("".join(words)) if shell == "bash" else words or [""]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a message would appear within the line that is typed
            found = complete(words)
    except (Exception, SystemExit):  # an invalid configuration, or a plugin that fails
        found = Completion()
    show("\n".join([FILES if found.takes_files else "words", *_lines(found, shell, words[-1])]))
    return ExitCode.OK


def _lines(found: Completion, shell: str, current: str) -> Iterator[str]:
    # bash replaces only what follows the last of these characters in the current word.
    start = max(current.rfind(":"), current.rfind("=")) + 1 if shell == "bash" else 0
    for value, description in found.candidates:
        text = " ".join(description.split())
        yield value[start:] if shell == "bash" or not text else f"{value}\t{text}"


def split_line(line: str) -> list[str]:
    """Split the line of a shell up to the cursor into words without the program; the last one is the word to complete."""
    for closing in ("", '"', "'"):  # the last word may start with a quotation mark that is still open
        try:
            words = shlex.split(line + closing)
        except ValueError:
            continue
        return [*words[1:], ""] if line[-1:].isspace() and not closing else words[1:] or [""]
    return line.split()[1:] or [""]


def complete(words: Sequence[str]) -> Completion:
    """Return the completions of the last of the words that follow ``helmdeck``."""
    *before, current = words
    try:
        registry = load_commands(before)
    except UsageError:  # the last word is a global option that waits for its value
        registry = load_commands(before[:-1])
    line = _Line(command_parser(Command(name="", summary="", configure=lambda _: None, run=lambda _: 0)))
    name, rest = "", list(before)
    while rest and (not name or registry.is_group(name, rest)):
        word = rest.pop(0)
        if line.add(word):
            name = f"{name} {word}".strip()
    # A group that is a command too continues with a command of the group, or with its own options.
    is_command = name not in registry.groups or (name in registry.commands and (rest or current.startswith("-")))
    if name and is_command:
        if name not in registry.commands:
            return Completion()
        line = _Line(command_parser(registry.commands[name].value))
        for word in rest:
            line.add(word)
        return _of_argument(line, current, before)
    if line.pending is not None or current.startswith("-"):
        return _of_argument(line, current, before)
    start = f"{name} " if name else ""
    following: dict[str, str] = {}
    for each, owned in registry.commands.items():
        if each.startswith(start):
            word, _, more = each.removeprefix(start).partition(" ")
            following.setdefault(word, registry.groups[start + word] if more else owned.value.summary)
    return _matching(following.items(), current)


class _Line:
    """The arguments before the word to complete: which option waits for a value, and how many positional ones there are."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        actions = parser._actions  # noqa: SLF001 (argparse has no public way to list the arguments)
        self.options: Mapping[str, argparse.Action] = {
            each: action
            for action in actions
            if action.help != argparse.SUPPRESS  # for internal use
            for each in action.option_strings
        }
        self._positional = [action for action in actions if not action.option_strings]
        self._count = 0
        self._is_verbatim = False
        self.pending: argparse.Action | None = None

    def add(self, word: str) -> bool:
        """Read a word, and return whether it is a positional argument."""
        if self.pending is not None:
            self.pending = None
        elif word == "--" and not self._is_verbatim:
            self._is_verbatim = True
        elif word.startswith("-") and not self._is_verbatim:
            action = self.options.get(word)
            self.pending = action if action is not None and action.nargs != 0 else None
        else:
            self._count += 1
            return True
        return False

    @property
    def takes_options(self) -> bool:
        return not self._is_verbatim

    @property
    def positional(self) -> argparse.Action | None:
        """The positional argument that the next word belongs to."""
        if self._count < len(self._positional):
            return self._positional[self._count]
        last = self._positional[-1] if self._positional else None
        return last if last is not None and last.nargs in ("*", "+") else None


def _of_argument(line: _Line, current: str, words: Sequence[str]) -> Completion:
    if line.pending is not None:
        return _of_value(line.pending, current, words[:-1])
    if current.startswith("-") and line.takes_options:
        option, sign, value = current.partition("=")
        if sign and (action := line.options.get(option)) is not None:
            found = _of_value(action, value, words)
            return attrs.evolve(found, candidates=[(f"{option}={each}", text) for each, text in found.candidates])
        longs = [(each, action.help or "") for each, action in line.options.items() if each.startswith("--")]
        return _matching(longs, current)
    return Completion() if line.positional is None else _of_value(line.positional, current, words)


def _of_value(action: argparse.Action, current: str, words: Sequence[str]) -> Completion:
    if action.choices is not None:
        return _matching([(str(choice), "") for choice in action.choices], current)
    placeholder = action.metavar if isinstance(action.metavar, str) else ""
    if placeholder == "FILE":
        return Completion(takes_files=True)
    values = VALUES.get(placeholder)
    return Completion() if values is None else _matching([(each, "") for each in values(words)], current)


def _matching(candidates: Iterable[Candidate], current: str) -> Completion:
    return Completion([(value, text) for value, text in candidates if value.startswith(current)])


# -- values ------------------------------------------------------------------------------------------------


def _deck(words: Sequence[str]) -> Helmdeck:
    """A deck that follows the global options of the line; no model is called."""
    parser = command_parser(Command(name="", summary="", configure=lambda _: None, run=lambda _: 0))
    return make_deck(parser.parse_known_args(list(words))[0])


def _models(words: Sequence[str]) -> Sequence[str]:
    deck = _deck(words)
    config = deck.runtime.config
    rows = [each.row for each in deck.budgets() if each.row and not each.row.endswith(("/", "-"))]
    return sorted({config.model, *rows, *(model for chain in config.fallback.values() for model in chain)})


def _providers(words: Sequence[str]) -> Sequence[str]:
    from helmdeck_core import ProviderPool

    return ProviderPool(_deck(words).runtime).registry.names


def _packs(words: Sequence[str]) -> Sequence[str]:
    from helmdeck_core import Pack

    return list(_deck(words).runtime.contributed(Pack))


def _plugins(words: Sequence[str]) -> Sequence[str]:
    return _deck(words).runtime.plugins.names()


def _hooks(words: Sequence[str]) -> Sequence[str]:  # noqa: ARG001
    from helmdeck_core import hook_specifications

    return list(hook_specifications())


VALUES: Mapping[str, Callable[[Sequence[str]], Sequence[str]]] = {
    "HOOK": _hooks,
    "LEVEL": lambda _: ("TRACE", "DEBUG", "INFO", "WARNING", "ERROR"),
    "MODEL": _models,
    "PACK": _packs,
    "PLUGIN": _plugins,
    "PROVIDER": _providers,
    "PROVIDER/MODEL": _models,
}
"""Functions of the words before, by placeholder, that return the values to complete; ``FILE`` is completed by the shell."""


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The command ``completion``."""
    summary = "print the completion script of bash, zsh or fish"
    return (Command(name="completion", summary=summary, configure=configure, run=run, order=110),)
