"""Converts calls in notations other than JSON to JSON; truncated and ambiguous text is never converted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

_TOKEN = re.compile(
    r"""
    \s*+ (?:
      (?P<quoted> " (?: [^"\\]++ | \\. )*+ " | ' (?: [^'\\]++ | \\. )*+ ' )
    | <escape> (?P<escaped> .*? ) <escape>
    | <\|"\|> (?P<delimited> .*? ) <\|"\|>
    | (?P<mark> [{}\[\]():=,] )
    | (?P<word> [\w.+-]++ )
    )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U000[0-9a-fA-F]{5}|U0010[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v", "0": "\0", "\n": ""}
_LITERALS: Final = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_MAX_DEPTH = 50


def python_to_json(text: str) -> str:
    """Convert ``f(x="y")``, a list of such calls, or several after each other, to a JSON list of calls."""
    return _converted(text, lambda tokens: tokens.calls())


def braces_to_json(text: str) -> str:
    """Convert ``call:f{x:<escape>y<escape>}``, with either delimiter of Gemma's strings, to a JSON call."""
    return _converted(text, lambda tokens: tokens.prefixed_call())


def python_value(text: str) -> Any:
    """The value of a Python literal.

    :raises ValueError: the text is not a literal of strings, numbers, constants, lists and dicts.
    """
    tokens = _Tokens(text)
    value = tokens.value()
    if tokens.next != ("", ""):
        raise ValueError(text[:20])
    return value


def _converted(text: str, parse: Callable[[_Tokens], Any]) -> str:
    try:
        tokens = _Tokens(text)
        value = parse(tokens)
        return "" if tokens.next != ("", "") else json.dumps(value)
    except ValueError:
        return ""


class _Tokens:
    """The tokens of a call.

    :ivar next: kind and text of the next token; both empty at the end.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._end = len(text.rstrip())
        self._position = 0
        self.next = ("", "")
        self._take()

    def _take(self) -> tuple[str, str]:
        """Move on; return the token passed.

        :raises ValueError: the text is not of this notation.
        """
        taken = self.next
        match = _TOKEN.match(self._text, self._position, self._end)
        if match is None and self._position < self._end:
            raise ValueError(self._text[self._position : self._position + 20])
        self._position = match.end() if match else self._end
        kind = (match.lastgroup or "") if match else ""
        self.next = (kind, match[kind]) if match else ("", "")
        return taken

    def _accept(self, mark: str) -> bool:
        if self.next != ("mark", mark):
            return False
        self._take()
        return True

    def _expect(self, mark: str) -> None:
        if not self._accept(mark):
            raise ValueError(self.next[1])

    def _word(self) -> str:
        if self.next[0] != "word":
            raise ValueError(self.next[1])
        return self._take()[1]

    def calls(self) -> list[dict[str, Any]]:
        is_list = self._accept("[")
        calls = [self._call()]
        while (self._accept(",") if is_list else self.next[0] == "word") and self.next != ("mark", "]"):
            calls.append(self._call())
        if is_list:
            self._expect("]")
        return calls

    def _call(self, *, is_printed: bool = False) -> dict[str, Any]:
        name = self._word().removesuffix(".call").removeprefix("default_api.")  # Llama 3's built-in tools; Gemini
        self._expect("(")
        if name == "print" and not is_printed and self.next[0] == "word" and self._text.startswith("(", self._position):
            call = self._call(is_printed=True)  # Gemini prints the result
            self._expect(")")
            return call
        return {"name": name, "arguments": self._fields("=", ")", depth=0)}

    def prefixed_call(self) -> dict[str, Any]:
        if self._word() != "call":
            raise ValueError(self._text[:20])
        self._expect(":")
        name = self._word()
        self._expect("{")
        return {"name": name, "arguments": self._fields(":", "}", depth=0)}

    def _fields(self, separator: str, end: str, depth: int) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        while not self._accept(end):
            key = self._word() if self.next[0] == "word" else self.value(depth)
            if not isinstance(key, str) or key in fields:
                raise ValueError(key)
            self._expect(separator)
            fields[key] = self.value(depth + 1)
            if not self._accept(","):
                self._expect(end)
                break
        return fields

    def value(self, depth: int = 0) -> Any:
        """The value at the next token."""
        kind, text = self._take()
        if kind == "quoted":
            return _ESCAPE.sub(_unescaped, text[1:-1])
        if kind in ("escaped", "delimited"):
            return text
        if kind == "word":
            return _LITERALS[text] if text in _LITERALS else msgspec.json.decode(text)
        if text == "{" and depth < _MAX_DEPTH:
            return self._fields(":", "}", depth)
        if text != "[" or depth >= _MAX_DEPTH:
            raise ValueError(text)
        items: list[Any] = []
        while not self._accept("]"):
            items.append(self.value(depth + 1))
            if not self._accept(","):
                self._expect("]")
                break
        return items


def _unescaped(match: re.Match[str]) -> str:
    """The character of an escape sequence of Python; an unknown one stays as it is."""
    escape = match[0][1:]
    if len(escape) > 1:
        return chr(int(escape[1:], 16))
    return _ESCAPES.get(escape, escape if escape in "\\'\"" else match[0])
