"""Reads truncated JSON, to find out whether a text can continue it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import attrs

_TOKEN = re.compile(
    r'[ \t\r\n]*(?:(?P<string>"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+")|(?P<scalar>[a-z0-9.+\-E]+)|(?P<mark>[][{},:]))'
)
_SPACE = re.compile(r"[ \t\r\n]*")
_BEGUN_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+(?:\\(?:u[0-9a-fA-F]{0,3})?)?\Z')
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_BEGUN_NUMBER = re.compile(r"-?(?:(?:0|[1-9]\d*)(?:\.\d*|(?:\.\d+)?[eE][+-]?\d*)?)?")
_LITERALS = ("true", "false", "null")
_BEGINNING = re.compile(r"^[ \t]*[\[{]", re.MULTILINE)
_MAX_BEGINNINGS = 3
"""Lines that start with a bracket, from which JSON is tried; each of them costs one pass over the answer."""


@attrs.define
class JsonPrefix:
    """The state after a truncated JSON document.

    :ivar open: the open objects with their keys, and ``None`` for every open array.
    :ivar expected: what may follow: ``value``, ``first value``, ``key``, ``first key``, ``colon``, ``comma`` or ``end``.
    :ivar begun: the incomplete token at the end, such as a string without its closing quote.
    """

    open: list[set[str] | None] = attrs.Factory(list)
    expected: str = "value"
    begun: str = ""

    def continued(self, text: str) -> JsonPrefix | None:
        """Return the state after more text; ``None`` if it cannot continue the document.

        After the end of the document, anything but JSON is accepted.
        """
        after = JsonPrefix([None if keys is None else set(keys) for keys in self.open], self.expected)
        text, start = self.begun + text, 0
        while after.expected != "end":
            token = _TOKEN.match(text, start)
            if token is None or (token["scalar"] and token.end() == len(text)):
                after.begun = text[_end_of_space(text, start) :]
                return after if after._may_begin(after.begun) else None
            if not after._take(token):
                return None
            start = token.end()
        rest = text[start:].lstrip()
        return None if rest[:1] in set('"[]{},:') - {""} else after

    def _take(self, token: re.Match[str]) -> bool:
        """Process a complete token; return whether it is allowed here."""
        mark, scalar = token["mark"], token["scalar"]
        if mark and mark in "]}":
            return self._close(mark)
        if mark and mark in ",:":
            if self.expected != ("comma" if mark == "," else "colon") or not self.open:
                return False
            self.expected = "value" if mark == ":" or self.open[-1] is None else "key"
            return True
        if self.expected.endswith("key"):
            keys = self.open[-1]
            if token["string"] is None or keys is None or token["string"] in keys:
                return False  # JSON allows a repeated key, but no model writes one
            keys.add(token["string"])
            self.expected = "colon"
            return True
        if not self.expected.endswith("value") or (scalar and not (scalar in _LITERALS or _NUMBER.fullmatch(scalar))):
            return False
        if mark:
            self.open.append(set() if mark == "{" else None)
            self.expected = "first key" if mark == "{" else "first value"
        else:
            self.expected = "comma" if self.open else "end"
        return True

    def _close(self, mark: str) -> bool:
        if not self.open or self.expected not in ("comma", "first key" if mark == "}" else "first value"):
            return False
        if (self.open.pop() is None) is (mark == "}"):
            return False
        self.expected = "comma" if self.open else "end"
        return True

    def _may_begin(self, begun: str) -> bool:
        """Whether an incomplete token is allowed here."""
        if not begun:
            return True
        if begun.startswith('"'):
            return self.expected.endswith(("key", "value")) and _BEGUN_STRING.match(begun) is not None
        is_scalar = _BEGUN_NUMBER.fullmatch(begun) or any(literal.startswith(begun) for literal in _LITERALS)
        return self.expected.endswith("value") and bool(is_scalar)


def read_prefix(answer: str) -> JsonPrefix | None:
    """Return the state of the JSON document that is truncated at the end of the answer; ``None`` without one.

    The document may follow text and the opening of a code block.
    """
    for start in _beginnings(answer):
        found = JsonPrefix().continued(answer[start:])
        if found is not None and found.expected != "end":
            return found
    return None


def _beginnings(answer: str) -> Iterator[int]:
    """Yield the starts of the document: after the last fence, and at the first lines that start with a bracket."""
    for number, match in enumerate(_BEGINNING.finditer(answer, max(0, answer.rfind("```")))):
        if number == _MAX_BEGINNINGS:
            return
        yield match.start()


def _end_of_space(text: str, start: int) -> int:
    match = _SPACE.match(text, start)
    return match.end() if match else start
