"""Estimates the size of text without a font file, so that it fits on a slide with whatever font a viewer has.

The widths are those of DejaVu Sans, which is wider than Arial and Liberation Sans by 10 to 17 %: text that fits here fits with
all three.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

LINE_HEIGHT: Final = 1.2
"""Height of a line as a multiple of the font size."""

BOLD: Final = 1.12
"""Width of bold text as a multiple of regular text; measured with DejaVu Sans Bold."""

_ASCII: Final = (
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337,
    636, 636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531,
    1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787,
    603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500,
    500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612,
    635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
)  # fmt: skip
"""Advance widths from U+0020 in thousandths of the font size."""

_WIDE: Final = 1.0
_EMOJI: Final = 1.4
_OTHER: Final = 0.75
"""The width of letters of other scripts; the median in DejaVu Sans is 0.57 (Hebrew) to 0.68 (Cyrillic)."""

_NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BREAKS = re.compile(r"\S+")


def clean(text: str) -> str:
    """Return a text on one line, without the characters that XML does not allow."""
    return " ".join(_NOT_IN_XML.sub("", text).split())


def is_right_to_left(text: str) -> bool:
    """Return whether the first letter with a direction is written from right to left."""
    return next((kind != "L" for kind in map(unicodedata.bidirectional, text) if kind in ("L", "R", "AL")), False)


def char_width(char: str) -> float:
    """Return the width of a character as a multiple of the font size."""
    code = ord(char)
    if 0x20 <= code < 0x7F:
        return _ASCII[code - 0x20] / 1000
    if code >= 0x1F000:
        return _WIDE if 0x20000 <= code < 0x40000 else _EMOJI
    if unicodedata.east_asian_width(char) in "WF":
        return _WIDE
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0.0
    base = unicodedata.normalize("NFD", char)[0]
    return char_width(base) if base != char else _OTHER


def text_width(text: str, size: float) -> float:
    """Return the width of a line in points."""
    return sum(map(char_width, text)) * size


def wrap(text: str, width: float, size: float) -> list[str]:
    """Return the lines of a paragraph. Words that are wider than a line, and scripts without spaces, break anywhere.

    :param width: of a line in points.
    :param size: of the font in points.
    """
    lines: list[str] = []
    line, used = "", 0.0
    width += 0.01  # a column as wide as its text holds it, whatever the sum of floats
    space = text_width(" ", size)
    for word in _BREAKS.findall(text):
        needed = text_width(word, size)
        if line and used + space + needed <= width:
            line, used = f"{line} {word}", used + space + needed
            continue
        if needed <= width:
            if line:
                lines.append(line)
            line, used = word, needed
            continue
        # A long word starts on a line of its own, unless its script has no spaces.
        if line and unicodedata.east_asian_width(word[0]) not in "WF":
            lines.append(line)
            line = ""
        line, used = (f"{line} ", used + space) if line else ("", 0.0)
        for char in word:
            wide = char_width(char) * size
            if line.strip() and used + wide > width:
                lines.append(line.rstrip())
                line, used = "", 0.0
            line, used = line + char, used + wide
    return [*lines, line] if line else lines or [""]


def text_height(paragraphs: Sequence[str], width: float, size: float, gap: float = 0.0) -> float:
    """Return the height of paragraphs in points.

    :param gap: between paragraphs, as a multiple of the font size.
    """
    lines = sum(len(wrap(paragraph, width, size)) for paragraph in paragraphs)
    return size * (lines * LINE_HEIGHT + max(0, len(paragraphs) - 1) * gap)
