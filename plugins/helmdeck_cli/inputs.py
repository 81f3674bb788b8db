"""Reads requests, files and values from the command line."""

from __future__ import annotations

import argparse
import codecs
import contextlib
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from helmdeck_core import undecodable_byte
from helmdeck_core.cli import UsageError, note

MAX_INPUT_BYTES = 100_000_000
"""Input that is larger, such as ``/dev/zero``, would fill the memory."""


MAX_PORT = 65535


def add_request(parser: argparse.ArgumentParser) -> None:
    """Add the request and its documents; ``request_text`` reads them.

    >>> import argparse
    >>> from helmdeck_cli import add_request, request_text
    >>> parser = argparse.ArgumentParser()
    >>> add_request(parser)
    >>> request_text(parser.parse_args(["draft a post"]))
    'draft a post'
    """
    parser.add_argument(
        "request",
        nargs="*",
        metavar="REQUEST",
        type=text_argument,
        help="the request in plain words; - or no request reads standard input",
    )
    parser.add_argument(
        "--document",
        metavar="FILE",
        action="append",
        default=[],
        help="a text file that the request refers to; may be repeated",
    )


def add_catalog(parser: argparse.ArgumentParser) -> None:
    """Add ``--catalog``, which replaces the configured catalog sources."""
    parser.add_argument(
        "--catalog",
        dest="catalog_sources",
        metavar="FILE",
        action="append",
        help="use this catalog instead of the configured ones: a .json or .toml file, or the name of a source; may be repeated",
    )


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Add ``--input`` and ``--input-file``; ``input_values`` reads them.

    >>> import argparse
    >>> from helmdeck_cli import add_inputs, input_values
    >>> parser = argparse.ArgumentParser()
    >>> add_inputs(parser)
    >>> input_values(parser.parse_args(["--input", "count=3", "--input", "topic=tides"]))
    {'count': 3, 'topic': 'tides'}
    """
    parser.add_argument(
        "--input",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="one input, as JSON or a string; may be repeated; overrides --input-file",
    )
    parser.add_argument("--input-file", metavar="FILE", help="a JSON object with inputs; - is standard input")


def add_out(parser: argparse.ArgumentParser, what: str) -> None:
    """Add ``--out``, the folder of artifacts.

    :param what: what writes the files, such as ``the pack``.

    >>> import argparse
    >>> from helmdeck_cli import add_out
    >>> parser = argparse.ArgumentParser()
    >>> add_out(parser, "the slides")
    >>> parser.parse_args(["--out", "decks"]).artifacts.endswith("decks")
    True
    """
    parser.add_argument(
        "--out",
        dest="artifacts",
        metavar="DIR",
        type=_folder,
        help=f"the folder for the files that {what} writes; default: a new folder in the user's data directory",
    )


def _folder(text: str) -> str:
    path = Path(text).expanduser().absolute()
    if path.exists() and not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is a file; name a folder, which is created if it does not exist")
    return str(path)


def input_values(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the inputs of a command that uses ``add_inputs``.

    :raises UsageError: a file cannot be read or is not a JSON object, or an input has no key.

    >>> import argparse
    >>> from helmdeck_cli import add_inputs, input_values
    >>> parser = argparse.ArgumentParser()
    >>> add_inputs(parser)
    >>> input_values(parser.parse_args(["--input", "count=3"]))
    {'count': 3}
    """
    return {**read_object(arguments.input_file), **pairs(arguments.input, "--input")}


def request_text(arguments: argparse.Namespace) -> str:
    """Return the request of a command that uses ``add_request``, with its documents before it.

    :raises UsageError: the request is empty, or a document cannot be read or is not text.

    >>> import argparse
    >>> from helmdeck_cli import add_request, request_text
    >>> parser = argparse.ArgumentParser()
    >>> add_request(parser)
    >>> request_text(parser.parse_args(["draft a post"]))
    'draft a post'
    """
    request = request_words(arguments)
    return "\n\n".join([*(text for _, text in documents(arguments)), request])


def documents(arguments: argparse.Namespace) -> list[tuple[str, str]]:
    """Return the documents of a command that uses ``add_request``: path and text.

    :raises UsageError: one cannot be read or is not text.
    """
    found = [(path, read_text(path).strip()) for path in arguments.document]
    for path, text in found:
        if not text:
            note(f"helmdeck: warning: {path}: the document is empty")
    return found


def request_words(arguments: argparse.Namespace) -> str:
    """Return the request of a command that uses ``add_request``, without its documents.

    :raises UsageError: the request is empty.
    """
    words: Sequence[str] = arguments.request
    text = " ".join(words) if words and list(words) != ["-"] else read_text(None if not words else "-")
    if not text.strip():
        example = "draft a blog post about our launch"
        raise UsageError(f'the request is empty; put it in quotes, such as "{example}", or on standard input')
    return text.strip()


def plot_path(path: Path | None) -> Path | None:
    """Return the file of ``--plot``; its folder is checked before a long measurement.

    :raises UsageError: there is no such folder.

    >>> from helmdeck_cli import plot_path
    >>> plot_path(None)
    """
    if path is None:
        return None
    path = path.expanduser()
    if not path.absolute().parent.is_dir():
        raise UsageError(f"--plot: {path}: the plot cannot be written (there is no folder {path.parent})")
    return path


def read_text(path: str | None) -> str:
    """Read text in UTF-8, or in UTF-16 with a byte order mark; for the path, see ``read_input``.

    :raises UsageError: the file cannot be read, is binary, or is in another encoding.
    """
    raw = in_utf8(read_input(path))
    if problem := not_text(raw):
        name = "standard input" if path is None or path == "-" else path
        raise UsageError(f"{name}: {problem}")
    return raw.decode("utf-8-sig")


def in_utf8(raw: bytes) -> bytes:
    """Convert text in UTF-16 with a byte order mark to UTF-8; other input stays as it is."""
    if not raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return raw
    with contextlib.suppress(UnicodeDecodeError):
        return raw.decode("utf-16").encode()
    return raw


def not_text(raw: bytes) -> str:
    """Return why input is not text in UTF-8, and what to do; empty if it is."""
    if b"\0" in raw:
        return "a binary file; convert it to text first"
    try:
        raw.decode()
    except UnicodeDecodeError as exc:
        return f"{undecodable_byte(exc)}; convert the text first, such as with `iconv -f latin1 -t utf-8`"
    return ""


def read_input(path: str | None) -> bytes:
    """Read a file; ``-`` is standard input, and so is ``None`` unless standard input is a terminal.

    :raises UsageError: the file cannot be read.

    >>> from pathlib import Path
    >>> from helmdeck_cli import read_input
    >>> _ = Path("answer.txt").write_text("{}")
    >>> read_input("answer.txt")
    b'{}'
    """
    if path is not None and path != "-":
        try:
            with Path(path).expanduser().open("rb") as file:
                return _bounded(file.read(MAX_INPUT_BYTES + 1), path)
        except OSError as exc:
            raise UsageError(f"{path}: the file cannot be read ({exc.strerror or exc})") from exc
    if sys.stdin is None or (path is None and sys.stdin.isatty()):
        return b""
    buffer = getattr(sys.stdin, "buffer", None)
    if buffer is None:
        return sys.stdin.read().encode("utf-8", "surrogateescape")
    return _bounded(bytes(buffer.read(MAX_INPUT_BYTES + 1)), "standard input")


def _bounded(raw: bytes, name: str) -> bytes:
    if len(raw) > MAX_INPUT_BYTES:
        raise UsageError(f"{name}: more than {MAX_INPUT_BYTES:,} bytes, or without an end")
    return raw


def pairs(texts: Sequence[str], option: str) -> dict[str, Any]:
    """Parse ``KEY=VALUE`` strings; a value that is JSON is parsed, any other value is a string.

    :param option: the name of the option for the error.
    :raises UsageError: a string has no ``=`` or no key.

    >>> from helmdeck_cli import pairs
    >>> pairs(["count=3", "topic=tides"], "--input")
    {'count': 3, 'topic': 'tides'}
    """
    values: dict[str, Any] = {}
    for text in texts:
        try:
            key, sign, value = text_argument(text).partition("=")
        except argparse.ArgumentTypeError as exc:
            raise UsageError(f"{option}: {exc}") from exc
        if not sign or not key.strip():
            raise UsageError(f"{option} takes KEY=VALUE, found {text!r}")
        values[key.strip()] = _value(value)
    return values


def _value(text: str) -> Any:
    try:
        return read_json(text)
    except (ValueError, RecursionError):
        return text


def read_json(text: str | bytes) -> Any:
    """Parse strict JSON.

    :raises ValueError: it is not JSON. NaN, Infinity and numbers too large for a float are not JSON here.
    :raises RecursionError: it is nested too deeply.

    >>> from helmdeck_cli import read_json
    >>> read_json('{"n": 3}')
    {'n': 3}
    """
    return json.loads(text, parse_constant=_reject_constant, parse_float=_finite)


def _reject_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON value")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text} is too large")
    return number


def text_argument(text: str) -> str:
    """Read an argument as UTF-8 in every locale, as files are; for ``type=`` of one whose text becomes a part of a request.

    :raises argparse.ArgumentTypeError: with the first of these bytes.

    >>> from helmdeck_cli import text_argument
    >>> text_argument("café")
    'café'
    """
    raw = text.encode("utf-8", "surrogateescape")  # in the locale C, bytes that are not ASCII are surrogates
    if problem := not_text(raw):
        raise argparse.ArgumentTypeError(problem)
    return raw.decode()


def port_number(text: str) -> int:
    """Parse the number of a port; for ``type=`` of an argument.

    >>> from helmdeck_cli import port_number
    >>> port_number("8930")
    8930
    """
    number = whole_number(text)
    if number > MAX_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; ports end at {MAX_PORT}")
    return number


def whole_number(text: str) -> int:
    """Parse an integer of at least 0, with or without thousands separators; for ``type=`` of an argument."""
    try:
        number = int(text.replace(",", "").replace("_", ""))
    except ValueError:
        number = -1
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer of at least 0")
    return number


def positive_number(text: str) -> int:
    """Parse an integer of at least 1, like ``whole_number``; for ``type=`` of an argument.

    >>> from helmdeck_cli import positive_number
    >>> positive_number("25")
    25
    """
    number = whole_number(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def read_object(path: str | None) -> dict[str, Any]:
    """Return the JSON object in a file, ``-`` for standard input; an empty one without a path.

    :raises UsageError: it cannot be read, or is not a JSON object.

    >>> from helmdeck_cli import read_object
    >>> read_object(None)
    {}
    """
    if path is None:
        return {}
    try:
        raw = read_input(path)
        if not raw.strip():
            raise UsageError(f"{path}: the file is empty; it must be a JSON object")
        data = read_json(raw)
    except UnicodeDecodeError as exc:
        raise UsageError(f"{path}: not valid JSON ({undecodable_byte(exc)})") from exc
    except (ValueError, RecursionError) as exc:
        raise UsageError(f"{path}: not valid JSON ({exc})") from exc
    if not isinstance(data, dict):
        raise UsageError(f"{path}: not a JSON object, found {type(data).__name__}")
    return data
