"""Plain tables and paragraphs for terminals, in columns as wide as they look."""

from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Collection, Sequence

GAP = "  "
NARROWEST = 8
"""No column is squeezed below this; a terminal that is narrower than that wraps by itself."""

PIPED_WIDTH = 140
"""Lines for a pipe or a file, where a row that is wrapped cannot be searched for."""

PASSED = "\n\t\u200c\u200d"
"""Line breaks, tabs, and the two joiners that some scripts and emoji are written with."""


def terminal_width() -> int:
    """Columns of the terminal; ``COLUMNS`` outranks it."""
    return shutil.get_terminal_size(fallback=(PIPED_WIDTH, 24)).columns


def clean(text: str) -> str:
    """Control characters as escapes: what a model wrote must not steer a terminal."""
    if text.isprintable():
        return text
    return "".join(
        char if char in PASSED or unicodedata.category(char) not in ("Cc", "Cf", "Cs") else ascii(char)[1:-1]
        for char in text
    )


def width_of(text: str) -> int:
    """Columns that a text takes: two for wide characters, none for marks that sit on another."""
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
    """Lines of at most ``width`` columns; at blanks where there are any, else anywhere."""
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
    """As much of a word as fits: up to a sign between its parts, if one is not too far back."""
    end, used = 0, 0
    while end < len(word) and (used := used + width_of(word[end])) <= width:
        end += 1
    sign = max(word.rfind(each, 0, end) for each in "/-_.,") + 1
    return word[: sign if sign > end // 2 else max(end, 1)]


def clip(text: str, width: int) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    if width_of(line) <= width:
        return line
    while line and width_of(line) > width - 1:
        line = line[:-1]
    return line.rstrip() + "…"


def hanging(label: str, text: str, *, indent: int = 0, width: int | None = None) -> str:
    """A paragraph whose lines after the first stand under its text, not under its label."""
    left = indent + width_of(label)
    lines = wrap(text, max((width or terminal_width()) - left, NARROWEST * 2))
    return "\n".join([" " * indent + label + lines[0], *(" " * left + line for line in lines[1:])]).rstrip()


def table(
    rows: Sequence[Sequence[str]],
    headings: Sequence[str] = (),
    *,
    right: Collection[int] = (),
    clipped: Collection[int] = (),
    width: int | None = None,
) -> str:
    """Rows in aligned columns; the widest columns give way when the terminal is narrow.

    :param right: numbers of the columns that are aligned to the right.
    :param clipped: numbers of the columns that are cut off instead of wrapped.
    """
    every = [[clean(cell) for cell in row] for row in ([headings, *rows] if headings else rows)]
    if not every:
        return ""
    columns = list(zip(*every, strict=True))
    widths = [max(width_of(line) for cell in column for line in cell.split("\n")) for column in columns]
    words = [
        NARROWEST if i in clipped else max(width_of(word) for cell in column for word in (*cell.split(), ""))
        for i, column in enumerate(columns)
    ]
    room = (width or terminal_width()) - len(GAP) * (len(widths) - 1)
    # Texts are wrapped at blanks while that is enough; only then words, such as ids, are broken.
    for least in (words, [NARROWEST] * len(widths)):
        while sum(widths) > room and (wide := [i for i, size in enumerate(widths) if size > max(least[i], NARROWEST)]):
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
    blanks = " " * (size - width_of(text))
    return blanks + text if to_right else text + blanks
