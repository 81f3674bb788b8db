"""The global options, and what the commands' own options have in common."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from helmdeck_core.cli import printing
from helmdeck_core.cli.exits import UsageError, folder_gone

if TYPE_CHECKING:
    from helmdeck_core.config.load import KeyPath, LoadedConfig
    from helmdeck_core.deck.helmdeck import Helmdeck

Configure = Callable[[argparse.ArgumentParser], None]
Run = Callable[[argparse.Namespace], int]
Actions = Mapping[str, tuple[Configure, Run]]
"""What a command's module holds as ``ACTIONS``: by action, the empty text for a command without actions."""

WITH_VALUE = ("--config", "--disable-plugin", "--log-level")
SWITCHES = ("--no-plugins", "--json", "--version", "-h", "--help")
"""The global options; they may stand anywhere, before the command and behind it."""


class ParserExit(SystemExit):
    """A parser is done, for instance because it showed its help; every other ``SystemExit`` is somebody else's."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of leaving, so that every error goes one way."""

    def __init__(self, prog: str, description: str | None = None, *, add_help: bool = True) -> None:
        super().__init__(
            prog,
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            add_help=add_help,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print."""
        raise UsageError(f"{message}; `{self.prog} --help` shows what there is")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Raise what tells this end from a call of ``sys.exit`` by a plugin."""
        if message:
            printing.note(message.rstrip("\n"))
        raise ParserExit(status)

    def print_help(self, file: Any = None) -> None:
        """Print the help like every result: argparse would pass over a disk that is full."""
        if file is None:
            printing.show(self.format_help().rstrip("\n"))
        else:
            super().print_help(file)


def add_global_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that every command takes."""
    group = parser.add_argument_group("global options")
    group.add_argument("--config", metavar="FILE", type=Path, help="the configuration; else the nearest helmdeck.toml")
    group.add_argument(
        "--disable-plugin", metavar="NAME", action="append", default=[], help="go without a plugin; may be repeated"
    )
    group.add_argument("--no-plugins", action="store_true", help="use the built-in plugins only")
    group.add_argument("--log-level", metavar="LEVEL", help="write log lines of this level and above to standard error")
    group.add_argument("--json", action="store_true", help="print data instead of tables")


def global_arguments(words: Sequence[str]) -> argparse.Namespace:
    """The global options among the words of any command line."""
    parser = Parser("helmdeck", add_help=False)
    add_global_options(parser)
    return parser.parse_known_args(list(words))[0]


def settings(arguments: argparse.Namespace) -> dict[KeyPath, tuple[Any, str]]:
    """What the options say of the configuration: key path to value and option."""
    found: dict[KeyPath, tuple[Any, str]] = {}
    if arguments.log_level:
        found["log_level",] = (arguments.log_level, "--log-level")
    if arguments.no_plugins:
        found["plugins", "autoload"] = (False, "--no-plugins")
    if arguments.disable_plugin:
        # The option adds to what file and environment say; the layer of arguments alone would replace it.
        before = _load(arguments, {}).config.plugins.disable
        names = list(dict.fromkeys([*before, *arguments.disable_plugin]))
        found["plugins", "disable"] = (names, "--disable-plugin")
    if sources := getattr(arguments, "catalog_sources", None):
        found["catalog", "sources"] = (list(sources), "--catalog")
    return found


def load(arguments: argparse.Namespace) -> LoadedConfig:
    """Read the configuration that the options ask for, mistakes included."""
    return _load(arguments, settings(arguments))


def _load(arguments: argparse.Namespace, given: Mapping[KeyPath, tuple[Any, str]]) -> LoadedConfig:
    from helmdeck_core.config.load import load_config

    try:
        return load_config(file=arguments.config, environ=os.environ, arguments=given)
    except FileNotFoundError as exc:
        raise folder_gone(exc) or exc from None


def make_deck(arguments: argparse.Namespace) -> Helmdeck:
    """Return a deck that follows the global options.

    :raises ConfigError: with every mistake.
    :raises PluginError: a plugin cannot be loaded.
    """
    from helmdeck_core.deck.helmdeck import Helmdeck

    return Helmdeck(load(arguments))


# -- requests and values ---------------------------------------------------------------------------------


def add_request(parser: argparse.ArgumentParser) -> None:
    """Add the request and the documents that come with it."""
    parser.add_argument(
        "request", nargs="*", metavar="REQUEST", help="what to do, in plain words; - or nothing reads standard input"
    )
    parser.add_argument(
        "--document",
        metavar="FILE",
        action="append",
        default=[],
        help="a text that the request is about; may be repeated",
    )


def add_catalog(parser: argparse.ArgumentParser) -> None:
    """Add the option that says where the catalog comes from."""
    parser.add_argument(
        "--catalog",
        dest="catalog_sources",
        metavar="FILE",
        action="append",
        help="a catalog (.json, .toml, or a source's name) instead of the configured ones; may be repeated",
    )


def request_text(arguments: argparse.Namespace) -> str:
    """The request, with its documents pasted before it.

    :raises UsageError: there is no request, or a document cannot be read.
    """
    words: Sequence[str] = arguments.request
    text = (
        " ".join(words)
        if words and list(words) != ["-"]
        else read_input(None if not words else "-").decode("utf-8", "replace")
    )
    if not text.strip():
        raise UsageError("the request is empty; say what to do, as in: helmdeck plan remember this and draft a post")
    documents = [read_input(path).decode("utf-8", "replace").strip() for path in arguments.document]
    return "\n\n".join([*documents, text.strip()])


def read_input(path: str | None) -> bytes:
    """Read a file; ``-`` is standard input, and so is ``None`` unless that is a terminal.

    :raises UsageError: it cannot be read.
    """
    if path is not None and path != "-":
        try:
            return Path(path).expanduser().read_bytes()
        except OSError as exc:
            raise UsageError(f"{path}: the file cannot be read ({exc.strerror or exc})") from exc
    if sys.stdin is None or (path is None and sys.stdin.isatty()):
        return b""
    buffer = getattr(sys.stdin, "buffer", None)
    return bytes(buffer.read()) if buffer is not None else sys.stdin.read().encode("utf-8", "surrogateescape")


def pairs(texts: Sequence[str], option: str) -> dict[str, Any]:
    """Read ``KEY=VALUE`` texts; a value that is JSON is that value, every other one is a text.

    :raises UsageError: a text has no ``=`` or no key.
    """
    found: dict[str, Any] = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or not key.strip():
            raise UsageError(f"{option} takes KEY=VALUE, found {text!r}")
        found[key.strip()] = _value(value)
    return found


def _value(text: str) -> Any:
    try:
        return read_json(text)
    except (ValueError, RecursionError):
        return text


def read_json(text: str | bytes) -> Any:
    """Read JSON, and nothing that Python merely takes for it.

    :raises ValueError: it is not JSON; NaN and Infinity are words, and a number beyond all floats would become one.
    :raises RecursionError: it is nested too deeply.
    """
    return json.loads(text, parse_constant=_refuse, parse_float=_finite)


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no value of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text} is too large")
    return number


def whole_number(text: str) -> int:
    """A number of at least 0, with or without separators, for ``type=``."""
    try:
        number = int(text.replace(",", "").replace("_", ""))
    except ValueError:
        number = -1
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return number
