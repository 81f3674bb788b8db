"""Changes one member of a JSON text; all other characters stay as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


@attrs.frozen
class _Member:
    key: str
    start: int
    value_start: int
    end: int


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _members(text: str, start: int) -> Iterator[_Member]:
    """The members of the object whose brace is at ``start``."""
    position = _skip(text, start + 1)
    while text[position] != "}":
        key, end = _DECODER.raw_decode(text, position)
        value_start = _skip(text, _skip(text, end) + 1)
        _, value_end = _DECODER.raw_decode(text, value_start)
        yield _Member(key, position, value_start, value_end)
        position = _skip(text, value_end)
        if text[position] == ",":
            position = _skip(text, position + 1)


def with_member(text: str, keys: Sequence[str], name: str, value: Mapping[str, Any]) -> str:
    """Return valid JSON text with a member of the object that ``keys`` lead to, which is created if it is missing."""
    start, indent = _skip(text, 0), _indent(text)
    for depth, key in enumerate(keys):
        found = {each.key: each for each in _members(text, start)}.get(key)
        if found is None:
            nested: Mapping[str, Any] = {name: value}
            for inner in reversed(keys[depth + 1 :]):
                nested = {inner: nested}
            return _insert(text, start, key, nested, depth, indent)
        start = found.value_start
    present = {each.key: each for each in _members(text, start)}.get(name)
    if present is None:
        return _insert(text, start, name, value, len(keys), indent)
    return (
        text[: present.value_start]
        + _dumped(value, indent, _pad(text, present, indent, len(keys)))
        + text[present.end :]
    )


def without_member(text: str, keys: Sequence[str], name: str) -> str:
    """Return valid JSON text without a member that exists."""
    start = _skip(text, 0)
    for key in keys:
        start = next(each.value_start for each in _members(text, start) if each.key == key)
    members = list(_members(text, start))
    place = next(number for number, each in enumerate(members) if each.key == name)
    if place:
        return text[: members[place - 1].end] + text[members[place].end :]
    if len(members) > 1:
        return text[: members[0].start] + text[members[1].start :]
    return text[: start + 1] + text[_skip(text, members[0].end) :]


def _insert(text: str, start: int, name: str, value: Mapping[str, Any], depth: int, indent: str) -> str:
    members = list(_members(text, start))
    if members:
        pad = _pad(text, members[-1], indent, depth)
        return f"{text[: members[-1].end]},\n{pad}{_member(name, value, indent, pad)}{text[members[-1].end :]}"
    pad = indent * (depth + 1)
    rest = text[_skip(text, start + 1) :]
    return f"{text[: start + 1]}\n{pad}{_member(name, value, indent, pad)}\n{indent * depth}{rest}"


def _member(name: str, value: Mapping[str, Any], indent: str, pad: str) -> str:
    return f"{json.dumps(name)}: {_dumped(value, indent, pad)}"


def _dumped(value: Mapping[str, Any], indent: str, pad: str) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False).replace("\n", f"\n{pad}")


def _pad(text: str, member: _Member, indent: str, depth: int) -> str:
    """The indentation of a member that starts its line; else the one that its depth usually has."""
    before = text[text.rfind("\n", 0, member.start) + 1 : member.start]
    return before if not before.strip() else indent * (depth + 1)


def _indent(text: str) -> str:
    match = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return match[1] if match else "  "
