"""Text from outside on terminals: control characters are escaped, tables and paragraphs are aligned by display width."""

from __future__ import annotations

import json
import math
import shutil
import sys
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

GAP = "  "
MIN_WIDTH = 8
"""The minimum width of a column; a narrower terminal wraps by itself."""

PIPED_WIDTH = 140
"""Width for a pipe or a file, where wrapped rows could not be searched."""

LABEL_WIDTH = 12
"""Columns of the labels of ``labelled``."""

KEPT = "\n\t\u200c\u200d"
"""Control characters that are printed: line breaks, tabs, and the two joiners that some scripts and emoji need."""

CONTROLS = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories that are escaped."""


def terminal_width() -> int:
    """Columns of the terminal; the environment variable ``COLUMNS`` takes precedence.

    >>> from helmdeck_core.cli import terminal_width
    >>> terminal_width() > 0
    True
    """
    return shutil.get_terminal_size(fallback=(PIPED_WIDTH, 24)).columns


def can_ask() -> bool:
    """Whether questions can be asked: standard input and error are terminals.

    >>> from helmdeck_core.cli import can_ask
    >>> can_ask() in (True, False)
    True
    """
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def _escaped(char: str) -> str:
    return ascii(char)[1:-1]


def clean(text: str, escape: Callable[[str], str] = _escaped) -> str:
    r"""Return the text with control characters escaped, so that output of a model cannot control the terminal.

    Controls of text direction, line separators of Unicode and lone surrogates count as control characters.

    >>> from helmdeck_core.cli import clean
    >>> clean("red " + chr(27) + "[31m text")
    'red \\x1b[31m text'
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in KEPT or unicodedata.category(char) not in CONTROLS else escape(char)
        for char in text
    )


def json_text(data: Any, **options: Any) -> str:
    """Return data as JSON with control characters escaped. NaN and infinity become null, other values strings.

    :param options: options of ``json.dumps``.
    """
    try:
        text = json.dumps(data, allow_nan=False, default=_plain, **options)
    except ValueError:
        text = json.dumps(_finite(data), allow_nan=False, default=_plain, **options)
    return clean(text, lambda char: json.dumps(char)[1:-1])


def inline_json(data: Any) -> str:
    """Data as JSON on one line; NaN and infinity become null.

    >>> from helmdeck_core.cli import inline_json
    >>> inline_json({"share": float("nan"), "n": 3})
    '{"share": null, "n": 3}'
    """
    return json_text(data, ensure_ascii=False)


def _finite(data: Any) -> Any:
    match data:
        case float():
            return data if math.isfinite(data) else None
        case Mapping():
            return {_finite(key): _finite(value) for key, value in data.items()}
        case list() | tuple() | frozenset():
            return [_finite(value) for value in data]
        case _:
            return data


def _plain(value: Any) -> Any:
    """Return a value of another type as what encoders of JSON make of it, such as an object for a dataclass; else its string."""
    import msgspec

    def other(each: Any) -> Any:
        return dict(each) if isinstance(each, Mapping) else str(each)

    return _finite(msgspec.to_builtins(value, str_keys=True, enc_hook=other))


def width_of(text: str) -> int:
    """Columns that a text takes: two for wide characters, none for combining marks.

    >>> from helmdeck_core.cli import width_of
    >>> width_of("tide"), width_of("天气")
    (4, 4)
    """
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.category(char) in ("Mn", "Me", "Cf")
        else 2
        if unicodedata.east_asian_width(char) in "WF"
        else 1
        for char in text
    )


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most ``width`` columns, broken at spaces where possible."""
    return [line for paragraph in clean(text).expandtabs(4).split("\n") for line in _wrapped(paragraph, width)]


def _wrapped(text: str, width: int) -> list[str]:
    lines, line, used = [], "", 0
    for word in text.split(" "):
        while word:
            needed = width_of(word) + (1 if line else 0)
            if used + needed <= width:
                line, used, word = (f"{line} {word}" if line else word), used + needed, ""
            elif line:
                lines.append(line)
                line, used = "", 0
            else:
                head = _head(word, width)
                lines.append(head)
                word = word[len(head) :]
    return [*lines, line] if line or not lines else lines


def _head(word: str, width: int) -> str:
    """The part of a word that fits, preferably up to a separator such as ``/`` or ``-``."""
    end, used = 0, 0
    while end < len(word) and (used := used + width_of(word[end])) <= width:
        end += 1
    sign = max(word.rfind(each, 0, end) for each in "/-_.,") + 1
    return word[: sign if sign > end // 2 else max(end, 1)]


def clip(text: str, width: int) -> str:
    """The text on one line, truncated to ``width`` columns."""
    line = " ".join(text.split())
    if width_of(line) <= width:
        return line
    while line and width_of(line) > width - 1:
        line = line[:-1]
    return line.rstrip() + "…"


def hanging(label: str, text: str, *, indent: int = 0, width: int | None = None) -> str:
    """A paragraph with a label and a hanging indent.

    >>> from helmdeck_core.cli import hanging
    >>> print(hanging("note  ", "the catalog was reduced to fit the budget", width=32))
    note  the catalog was reduced to
          fit the budget
    """
    left = indent + width_of(label)
    lines = wrap(text, max((width or terminal_width()) - left, MIN_WIDTH * 2))
    return "\n".join([" " * indent + label + lines[0], *(" " * left + line for line in lines[1:])]).rstrip()


def labelled(label: str, text: str) -> str:
    """A paragraph whose label is padded to ``LABEL_WIDTH`` columns, so that several of them align.

    >>> from helmdeck_core.cli import labelled
    >>> print(labelled("model", "acme/large"))
    model       acme/large
    """
    return hanging(f"{label:<{LABEL_WIDTH}}", text)


def table(
    rows: Sequence[Sequence[str]],
    headings: Sequence[str] = (),
    *,
    right: Collection[int] = (),
    clipped: Collection[int] = (),
    width: int | None = None,
) -> str:
    """Rows in aligned columns; in a narrow terminal the widest columns are wrapped first.

    :param right: indexes of the columns that are aligned to the right.
    :param clipped: indexes of the columns that are truncated instead of wrapped.
    :param width: total width in columns; that of the terminal by default.
    """
    every = [[clean(cell) for cell in row] for row in ([headings, *rows] if headings else rows)]
    if not every:
        return ""
    columns = list(zip(*every, strict=True))
    widths = [max(width_of(line) for cell in column for line in cell.split("\n")) for column in columns]
    words = [
        MIN_WIDTH if i in clipped else max(width_of(word) for cell in column for word in (*cell.split(), ""))
        for i, column in enumerate(columns)
    ]
    room = (width or terminal_width()) - len(GAP) * (len(widths) - 1)
    # Break at spaces as long as that is enough; only then break words, such as ids.
    for least in (words, [MIN_WIDTH] * len(widths)):
        while sum(widths) > room and (wide := [i for i, size in enumerate(widths) if size > least[i]]):
            widths[max(wide, key=lambda i: (widths[i], -i))] -= 1
    lines = []
    for number, row in enumerate(every):
        cells = [
            [clip(cell, size)] if i in clipped else wrap(cell, size)
            for i, (cell, size) in enumerate(zip(row, widths, strict=True))
        ]
        for height in range(max(map(len, cells))):
            parts = [
                _padded(cell, height, size, i in right)
                for i, (cell, size) in enumerate(zip(cells, widths, strict=True))
            ]
            lines.append(GAP.join(parts).rstrip())
        if headings and number == 0:
            lines.append(GAP.join("-" * size for size in widths).rstrip())
    return "\n".join(lines)


def _padded(lines: Sequence[str], height: int, size: int, to_right: bool) -> str:
    text = lines[height] if height < len(lines) else ""
    padding = " " * (size - width_of(text))
    return padding + text if to_right else text + padding
