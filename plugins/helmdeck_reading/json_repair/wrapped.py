"""Undoes what was done to a whole payload: comment and quote marks, a template's braces, entities, full-width punctuation.

Strings are content, and stay as they are; so do comments, whose quotes start no string.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping

import msgspec

from helmdeck_reading.json_comments import COMMENT

MAX_LENGTH = 1_000_000  # characters; a longer text is not repaired


def drop_quote_marks(text: str) -> Iterator[str]:
    """Yield an object from a block quote whose lines all start with ``>``; no JSON string contains a line break."""
    first, *rest = text.split("\n")
    if rest and all(line.lstrip().startswith(">") for line in rest):
        yield "\n".join([first, *(line.lstrip()[1:] for line in rest)])


def uncomment(text: str) -> Iterator[str]:
    """Yield the value of a text whose every line is a comment, apart from fences."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("```")]
    for mark in ("//", "#"):
        if lines and all(line.lstrip().startswith(mark) for line in lines):
            content = "\n".join(line.lstrip().removeprefix(mark) for line in lines)
            start = min((at for bracket in "{[" if (at := content.find(bracket)) >= 0), default=0)
            yield content[start : max(map(content.rfind, "}]")) + 1]


_KEPT = rf""" " (?: [^"\\]++ | \\. )*+ " | ' (?: [^'\\\n]++ | \\. )*+ ' | “ [^“”]*+ ” | {COMMENT} """

_WIDE = tuple(zip("｛｝［］：，", "{}[]:,", strict=True))
_WIDE_QUOTE = "＂"
_PARTS = rf"( {_KEPT} | {_WIDE_QUOTE} [^{_WIDE_QUOTE}]*+ {_WIDE_QUOTE} )"

_INVISIBLE = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff"
_INVISIBLE_CHARS = rf"{_KEPT} | (?P<mark> [{_INVISIBLE}]++ )"

_DOUBLE, _SINGLE = r"&(?: quot | \#34 | \#x22 );", r"&(?: apos | \#39 | \#x27 );"
_ENTITIES = rf""" {_KEPT}
    | {_DOUBLE} (?P<double> (?: [^&\\]++ | \\. | & (?! (?: quot | \#34 | \#x22 ); ) )*+ ) {_DOUBLE}
    | {_SINGLE} (?P<single> (?: [^&\\]++ | \\. | & (?! (?: apos | \#39 | \#x27 ); ) )*+ ) {_SINGLE} """
_TWICE_ESCAPED = re.compile(r"&amp;\#?\w{1,32};")
_ESCAPED_ENTITY = re.compile(r"(\\+)(&(?:quot|#34|#x22);)|(\\.)|\"", re.DOTALL)

_BRACES = rf"{_KEPT} | (?P<run> \{{++ | \}}++ )"


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compiled lazily: most responses need no repair, and compiling would slow down start-up."""
    return re.compile(pattern, re.VERBOSE | re.DOTALL)


def _rewritten(text: str, pattern: str, rewrite: Callable[[re.Match[str]], str]) -> Iterator[str]:
    """Yield the text with the matches of named groups rewritten, if that changes anything."""
    if len(text) > MAX_LENGTH:
        return
    changed = _compiled(pattern).sub(lambda match: rewrite(match) if match.lastgroup else match[0], text)
    if changed != text:
        yield changed


def narrow_marks(text: str) -> Iterator[str]:
    """Yield the text with ASCII in place of full-width punctuation outside of strings."""
    if len(text) > MAX_LENGTH or (_narrow(text) == text and _WIDE_QUOTE not in text):
        return
    parts = _compiled(_PARTS).split(text)
    parts[::2] = map(_narrow, parts[::2])
    parts[1::2] = [
        json.dumps(part[1:-1], ensure_ascii=False) if part[0] == _WIDE_QUOTE else part for part in parts[1::2]
    ]
    if (changed := "".join(parts)) != text:
        yield changed


def _narrow(text: str) -> str:
    for wide, narrow in _WIDE:
        text = text.replace(wide, narrow)
    return text


def drop_invisible(text: str) -> Iterator[str]:
    """Yield the text without invisible characters outside of strings."""
    if not text.isascii() and any(map(text.count, _INVISIBLE)):
        yield from _rewritten(text, _INVISIBLE_CHARS, lambda _: "")


def quote_by_entities(text: str) -> Iterator[str]:
    """Yield the text with quotes in place of entities that stand for them; other entities are content.

    An entity that is escaped itself shows that strings are escaped too, or not; the text is ambiguous then.
    """
    if "&" in text and not _TWICE_ESCAPED.search(text):
        yield from _rewritten(text, _ENTITIES, _from_entities)


def _from_entities(match: re.Match[str]) -> str:
    if match["double"] is None:
        return f"'{match['single']}'"
    return '"' + _ESCAPED_ENTITY.sub(_escaped_quote, match["double"]) + '"'


def _escaped_quote(match: re.Match[str]) -> str:
    if match[2]:
        return f'{match[1]}"'
    return match[3] or '\\"'


def halve_braces(text: str) -> Iterator[str]:
    """Yield the text with single braces, where those of a template are doubled: all of them, or the outer ones."""
    if not text.startswith("{{") or not text.endswith("}}") or len(text) > MAX_LENGTH:
        return
    runs = [match["run"] for match in _compiled(_BRACES).finditer(text) if match["run"]]
    if any(len(run) % 2 for run in runs):
        yield text[1:-1]
    else:
        yield from _rewritten(text, _BRACES, lambda match: match["run"][::2])


_WRAPPERS = frozenset(
    "result results response answer answers output data value values json object items list final final_answer".split()
)
"""Names under which models put an answer; any other name may say something about the value, such as ``error``."""

_CALL_NAMES = frozenset(("name", "function", "tool"))
_CALL_ARGUMENTS = frozenset(("arguments", "parameters", "args", "input"))
_CALL_OTHERS = frozenset(("id", "type"))

_members = msgspec.json.Decoder(dict[str, msgspec.Raw])


def unwrap_answer(text: str) -> Iterator[str]:
    """Yield the object or list that is the only member of an object, under a common name, or the arguments of a call."""
    if len(text) > MAX_LENGTH or text[:1] != "{":
        return
    try:
        yield from _unwrapped(_members.decode(text))
    except ValueError:
        return


def _unwrapped(members: Mapping[str, msgspec.Raw]) -> Iterator[str]:
    names = {name.casefold(): name for name in members}
    is_call = len(names.keys() & _CALL_NAMES) == 1 and not names.keys() - _CALL_NAMES - _CALL_ARGUMENTS - _CALL_OTHERS
    wrapping = names.keys() & (_CALL_ARGUMENTS if is_call else _WRAPPERS)
    if len(wrapping) != 1 or not (is_call or len(members) == 1):
        return
    inner = bytes(members[names[wrapping.pop()]]).decode()
    if inner.startswith('"'):
        inner = msgspec.json.decode(inner, type=str).strip()  # JSON in a string
    if inner.startswith(("{", "[")):
        yield inner
