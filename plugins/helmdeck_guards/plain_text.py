"""Text as detectors read it: without invisible characters, look-alikes and JSON escapes, with the way back to the original."""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_right
from typing import Final

import msgspec

_INVISIBLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
)
_COMPATIBLE: Final = (
    "\u00a0\u00b2\u00b3\u00b9\u2000-\u200a\u2010-\u2015\u2024\u202f\u205f\u2070-\u209c\u2212\u2460-\u249b\u24b6-\u24ea\u3000\ufe52\ufe6b\uff01-\uff5e"
    "\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\U0001d400-\U0001d7ff\U000e0000-\U000e007f"
)
# Letters of other scripts that look like Latin ones. Only detectors read them so: the text itself is not changed.
_LOOKALIKES: Final = dict(
    zip("асеорхуіјѕһԁԛԝАВСЕНІЈКМОРЅТХΑΒΕΖΗΙΚΜΝΟΡΤΥΧαοрν", "aceopxyijshdqwABCEHIJKMOPSTXABEZHIKMNOPTYXaopv", strict=True)
)
_ODD = re.compile(f"[{_INVISIBLE}{_COMPATIBLE}{''.join(_LOOKALIKES)}]")
_ESCAPE_OR_ODD = re.compile(rf"\\(?:u[0-9a-fA-F]{{4}}|.)|{_ODD.pattern}", re.DOTALL)
_INVISIBLE_CHAR = re.compile(f"[{_INVISIBLE}]")
_DASHES: Final = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_HALF_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*(\\(?:u[0-9a-fA-F]{0,3})?)$")
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class PlainText:
    """A text as detectors read it.

    :param is_json: the text is JSON, such as the arguments of a tool call.
    :ivar plain: the text to search.
    """

    __slots__ = ("_copied", "_length", "_origins", "_starts", "plain")

    def __init__(self, text: str, *, is_json: bool = False) -> None:
        self._length = len(text)
        # Parts of the plain text: where each starts, in it and in the original, and whether it is copied from the original.
        self._starts: list[int] = []
        self._origins: list[int] = []
        self._copied: list[bool] = []
        self.plain: str = text
        has_escapes = is_json and "\\" in text
        if not has_escapes and (text.isascii() or _ODD.search(text) is None):
            return
        plain, size, end = list[str](), 0, 0
        for match in (_ESCAPE_OR_ODD if has_escapes else _ODD).finditer(text):
            begin, unit = match.start(), match[0]
            if begin > end:
                self._starts.append(size)
                self._origins.append(end)
                self._copied.append(True)
                plain.append(text[end:begin])
                size += begin - end
            if char := _plain(_read(unit)):
                self._starts.append(size)
                self._origins.append(begin)
                self._copied.append(False)
                plain.append(char)
                size += len(char)
            end = begin + len(unit)
        self._starts.append(size)
        self._origins.append(end)
        self._copied.append(True)
        self.plain = "".join([*plain, text[end:]])

    def place(self, at: int) -> int:
        """Return the place in the original of a character of the plain text, or of its end."""
        if not self._starts:
            return at
        if at >= len(self.plain):
            return self._length
        part = bisect_right(self._starts, at) - 1
        return self._origins[part] + (at - self._starts[part] if self._copied[part] else 0)

    def span(self, start: int, stop: int) -> tuple[int, int]:
        """Return start and end in the original; the end is the start of the next character that detectors read."""
        return self.place(start), self.place(stop)


def half_escape(text: str) -> int:
    """Return where an escape of JSON begins that the end of a text interrupts; the length of the text without one."""
    match = _HALF_ESCAPE.search(text[-64:])
    return len(text) - len(match[1]) if match else len(text)


def is_json_document(text: str) -> bool:
    """Whether a text is a JSON object or array with escapes, such as the result of a tool."""
    if "\\" not in text or text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False
    return True


def json_value(text: str) -> str:
    r"""Return what a part of a JSON string stands for, such as ``ü`` for ``\u00fc``; the part itself where it is not one."""
    try:
        value: str = json.loads(f'"{text}"', strict=False)
        value.encode()  # half of a surrogate pair is not a character
    except ValueError:
        return text
    return value


def _read(unit: str) -> str:
    """Return the character of a JSON escape, or the character itself."""
    if unit[0] != "\\":
        return unit
    return chr(int(unit[2:], 16)) if len(unit) > 2 else _ESCAPED.get(unit[1], unit[1])


def _plain(char: str) -> str:
    if char.isascii():
        return char
    if _INVISIBLE_CHAR.match(char):
        return ""
    if char in _DASHES:
        return "-"
    if (tag := ord(char) - 0xE0000) in range(0x80):
        return chr(tag) if tag >= 0x20 else ""
    if char.isdecimal():
        return str(unicodedata.decimal(char))
    if (alike := _LOOKALIKES.get(char)) is not None:
        return alike
    return unicodedata.normalize("NFKC", char) if _ODD.match(char) else char
