"""Reads the JSON of calls: where it ends, which calls it names, and what their arguments are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import msgspec

REFUSED = (ValueError, RecursionError, MemoryError)
"""What a decode raises: ``msgspec.DecodeError`` and ``UnicodeEncodeError`` are ``ValueError``."""

NAMES = ("name", "tool_name", "tool", "function")
ARGUMENTS = ("arguments", "parameters", "args", "input", "params", "tool_args", "tool_input")
IDS = ("id", "call_id", "tool_call_id", "tool_use_id")

_INSIDE = re.compile(r'(?:[\s,:]++|"(?:[^"\\]++|\\.)*+"|-?\d[\d.eE+-]*+|true|false|null)*+', re.DOTALL)
"""What may stand between two brackets of JSON, as far as it goes."""

_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)

_LITERALS = ("true", "false", "null")

_MOST_LAYERS = 3
"""How often arguments may be JSON within a JSON string."""

_objects = msgspec.json.Decoder(dict[str, msgspec.Raw])
_lists = msgspec.json.Decoder(list[msgspec.Raw])
_anything = msgspec.json.Decoder()


@attrs.frozen
class Extent:
    """How far a JSON value goes.

    :ivar end: behind the value, or where it stops to be JSON.
    :ivar is_cut: it is right as far as it goes, and the text ends inside it.
    """

    end: int
    is_whole: bool = False
    is_cut: bool = False


def extent_of(text: str, start: int, end: int) -> Extent:
    """Where the object, list or string that starts here ends; its inside is not checked further."""
    if text[start] == '"':
        string = _STRING.match(text, start, end)
        return Extent(string.end(), is_whole=True) if string else Extent(end, is_cut=True)
    depth, position = 0, start
    while position < end:
        char = text[position]
        if char in "{[":
            depth += 1
        elif char in "}]":
            depth -= 1
            if depth == 0:
                return Extent(position + 1, is_whole=True)
        else:
            return Extent(position, is_cut=char == '"' or _is_begun(text, position, end))
        inside = _INSIDE.match(text, position + 1, end)
        position = inside.end() if inside else position + 1
    return Extent(end, is_cut=True)


def _is_begun(text: str, start: int, end: int) -> bool:
    """Whether the text ends within a word or a number of JSON."""
    tail = text[start : min(end, start + len("false"))]
    return start + len(tail) == end and (tail == "-" or any(word.startswith(tail) for word in _LITERALS))


@attrs.frozen
class RawCall:
    """A call as it is written, before names and arguments are held against the tools.

    :ivar arguments: the JSON text of the arguments.
    :ivar elements: the arguments one by one: key, value and whether the value is JSON; ``None`` where they are JSON.
    :ivar problem: why it is no call, and ``error`` in a sentence.
    """

    name: str = ""
    id: str = ""
    arguments: str = ""
    elements: Sequence[tuple[str, str, bool]] | None = None
    repairs: tuple[str, ...] = ()
    problem: str = ""
    error: str = ""
    excerpt: str = ""


class Inert(Exception):
    """Data that is no call: the declaration of a tool, or business data."""


def calls_in(text: str) -> list[RawCall]:
    """The calls that a JSON text names: one object, a list of them, or an object around either.

    :raises Inert: the text declares a tool.
    :raises ValueError: the text is not JSON.
    """
    if text.lstrip()[:1] == "[":
        return [call for item in _lists.decode(text) for call in _calls_of_item(_text(item))]
    return _calls_of_item(text)


def _calls_of_item(text: str) -> list[RawCall]:
    if text.lstrip()[:1] != "{":
        return [RawCall(problem="malformed", error="a call is not a JSON object", excerpt=text)]
    return list(_calls_of_object(_objects.decode(text)))


def _calls_of_object(fields: Mapping[str, msgspec.Raw], depth: int = 0) -> Iterator[RawCall]:
    for key in ("tool_calls", "tool_call", "function_call", "function"):
        inner = _text(fields[key]) if key in fields else ""
        if inner[:1] == "[" and depth == 0:
            for item in _lists.decode(inner):
                yield from _calls_of_object(_objects.decode(_text(item)), depth + 1)
            return
        if inner[:1] == "{" and depth < 2:
            outer_ids = {name: fields[name] for name in IDS if name in fields}
            yield from _calls_of_object(outer_ids | _objects.decode(inner), depth + 1)
            return
    yield _call_of(fields)


def _call_of(fields: Mapping[str, msgspec.Raw]) -> RawCall:
    name_key = next((key for key in NAMES if key in fields and _text(fields[key])[:1] == '"'), None)
    call_id = next((_said(fields[key]) for key in IDS if key in fields), "")
    key = next((key for key in ARGUMENTS if key in fields), None)
    if key == "parameters" and is_schema(fields["parameters"]):
        raise Inert
    name = _said(fields[name_key]).strip() if name_key else ""
    if not name:
        return RawCall(id=call_id, problem="no_name", error="the call names no tool", excerpt=_shown(fields))
    others = [each for each in fields if each not in (name_key, *IDS, "type", "index")]
    if key is None and others:
        error = f"the call has no arguments but {others[0]!r}; they belong under 'arguments'"
        return RawCall(name, call_id, problem="malformed", error=error, excerpt=_shown(fields))
    return RawCall(name, call_id, _text(fields[key]) if key else "{}")


def is_protocol(text: str, words: Sequence[str]) -> bool:
    """Whether a JSON text says of itself that it is calls: an object, or a list of nothing but such objects.

    :param words: the names of which an outermost object must have one as a key, or as its ``type``.
    """
    items = [_text(item) for item in _lists.decode(text)] if text[:1] == "[" else [text]
    return bool(items) and all(item[:1] == "{" and _says(_objects.decode(item), words) for item in items)


def _says(fields: Mapping[str, msgspec.Raw], words: Sequence[str]) -> bool:
    kind = _said(fields["type"]) if "type" in fields else ""
    if not (kind in words or any(word in fields and _text(fields[word])[:1] in ("{", "[") for word in words)):
        return False
    try:
        found = list(_calls_of_object(fields))
    except (Inert, *REFUSED):
        return False
    return bool(found) and not any(call.problem for call in found)


def content_of(text: str) -> str:
    """The visible text that stands beside calls in one object."""
    fields = _objects.decode(text) if text[:1] == "{" else {}
    return _said(fields["content"]) if "content" in fields else ""


def is_schema(raw: msgspec.Raw) -> bool:
    """Whether a value is the schema of arguments, and not arguments."""
    try:
        fields = _objects.decode(raw)
        return _said(fields.get("type", msgspec.Raw(b"0"))) == "object" and _text(fields["properties"])[:1] == "{"
    except (KeyError, *REFUSED):
        return False


# -- arguments -------------------------------------------------------------------------------------------------


class BadArguments(ValueError):
    """Arguments that cannot be used: ``problem``, and why in a sentence."""

    def __init__(self, problem: str, error: str) -> None:
        super().__init__(error)
        self.problem = problem


def read_arguments(text: str) -> tuple[str, dict[str, Any], tuple[str, ...]]:
    """The JSON text of arguments, the same parsed, and repairs. Blank text and ``null`` mean none.

    :raises BadArguments: the text is not an object, or not JSON.
    """
    for layer in range(_MOST_LAYERS):
        if not text.strip():
            return "{}", {}, ()
        try:
            value = _anything.decode(text)
        except RecursionError:
            raise BadArguments("too_deep", "the arguments are nested too deeply") from None
        except REFUSED as error:
            raise BadArguments("malformed", f"the arguments are not JSON: {error}") from None
        if value is None:
            return "{}", {}, ()
        if isinstance(value, dict):
            return text, value, ("encoded_twice",) if layer > 1 else ()
        if not isinstance(value, str):
            break
        text = value
    raise BadArguments("not_an_object", "the arguments are not a JSON object")


def read_elements(
    elements: Sequence[tuple[str, str, bool]], properties: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """The JSON text of arguments that were written one by one, and the same parsed.

    Text stays text unless the tool's schema says that it is something else.

    :raises BadArguments: an argument is there twice.
    """
    args: dict[str, Any] = {}
    for key, value, is_json in elements:
        if key in args:
            raise BadArguments("ambiguous", f"the argument {key!r} is given twice")
        args[key] = _typed(value) if is_json or _is_no_text(properties.get(key)) else value
    try:
        return msgspec.json.encode(args).decode(), args
    except UnicodeError:
        raise BadArguments("malformed", "the arguments hold characters that no text can carry") from None


def _is_no_text(schema: Any) -> bool:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    kinds = [kind] if isinstance(kind, str) else kind if isinstance(kind, (list, tuple)) else []
    return bool(kinds) and "string" not in kinds


def _typed(value: str) -> Any:
    for spelt in (value.strip(), value.strip().lower()):
        try:
            return _anything.decode(spelt)
        except REFUSED:
            continue
    return value


# -- raw values --------------------------------------------------------------------------------------------------


def _text(raw: msgspec.Raw) -> str:
    return bytes(raw).decode()


def _said(raw: msgspec.Raw) -> str:
    """The text of a string; empty for any other value."""
    text = _text(raw)
    return str(_anything.decode(text)) if text[:1] == '"' else ""


def _shown(fields: Mapping[str, msgspec.Raw]) -> str:
    return msgspec.json.encode(fields).decode()
