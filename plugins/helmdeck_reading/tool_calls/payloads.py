"""Parses the JSON of tool calls: its extent, the calls in it and their arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import msgspec

from helmdeck_reading.strict_json import DECODE_ERRORS
from helmdeck_reading.tool_calls.argument_types import parsed_argument, typed_argument

NAMES = ("name", "tool_name", "tool", "function")
ARGUMENTS = ("arguments", "parameters", "args", "input", "params", "tool_args", "tool_input")
IDS = ("id", "call_id", "tool_call_id", "tool_use_id")

_INSIDE = re.compile(r'(?:[\s,:]++|"(?:[^"\\]++|\\.)*+"|-?\d[\d.eE+-]*+|true|false|null)*+', re.DOTALL)
"""Valid JSON between two brackets."""

_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)

_LITERALS = ("true", "false", "null")

_MAX_LAYERS = 3
"""Maximum nesting of arguments encoded as JSON in a JSON string."""

_objects = msgspec.json.Decoder(dict[str, msgspec.Raw])
_lists = msgspec.json.Decoder(list[msgspec.Raw])
_anything = msgspec.json.Decoder()


@attrs.frozen
class Extent:
    """The extent of a JSON value.

    :ivar end: the end of the value, or the position of the syntax error.
    :ivar is_truncated: the text is a valid prefix and ends inside the value.
    """

    end: int
    is_whole: bool = False
    is_truncated: bool = False


def extent_of(text: str, start: int, end: int) -> Extent:
    """The extent of the object, list or string at ``start``; its contents are not fully validated."""
    if text[start] == '"':
        string = _STRING.match(text, start, end)
        return Extent(string.end(), is_whole=True) if string else Extent(end, is_truncated=True)
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
            return Extent(position, is_truncated=char == '"' or _is_partial_literal(text, position, end))
        inside = _INSIDE.match(text, position + 1, end)
        position = inside.end() if inside else position + 1
    return Extent(end, is_truncated=True)


def _is_partial_literal(text: str, start: int, end: int) -> bool:
    """Whether the text ends inside a JSON literal or number."""
    tail = text[start : min(end, start + len("false"))]
    return start + len(tail) == end and (tail == "-" or any(word.startswith(tail) for word in _LITERALS))


@attrs.frozen
class RawCall:
    """A parsed call, before its name and arguments are validated against the tools.

    :ivar arguments: the arguments as JSON.
    :ivar elements: separate arguments as key, value and whether the value is JSON; ``None`` if the arguments are JSON.
    :ivar problem: code of the reason why the call is invalid; ``error`` is the message.
    """

    name: str = ""
    id: str = ""
    arguments: str = ""
    elements: Sequence[tuple[str, str, bool]] | None = None
    repairs: tuple[str, ...] = ()
    problem: str = ""
    error: str = ""
    excerpt: str = ""


class NotACall(Exception):
    """The JSON is not a call but a tool declaration or other data."""


def calls_in(text: str) -> list[RawCall]:
    """The calls in a JSON text: one object, a list of objects, or an object that wraps either.

    :raises NotACall: the text declares a tool.
    :raises ValueError: the text is not JSON.
    """
    if text.lstrip()[:1] == "[":
        return [call for item in _lists.decode(text) for call in _calls_of_item(_json_of(item))]
    return _calls_of_item(text)


def _calls_of_item(text: str) -> list[RawCall]:
    if text.lstrip()[:1] != "{":
        return [RawCall(problem="malformed", error="a call is not a JSON object", excerpt=text)]
    return list(_calls_of_object(_objects.decode(text)))


def _calls_of_object(fields: Mapping[str, msgspec.Raw], depth: int = 0) -> Iterator[RawCall]:
    for key in ("tool_calls", "tool_call", "function_call", "function"):
        inner = _json_of(fields[key]) if key in fields else ""
        if inner[:1] == "[" and depth == 0:
            for item in _lists.decode(inner):
                yield from _calls_of_object(_objects.decode(_json_of(item)), depth + 1)
            return
        if inner[:1] == "{" and depth < 2:
            outer_ids = {name: fields[name] for name in IDS if name in fields}
            yield from _calls_of_object(outer_ids | _objects.decode(inner), depth + 1)
            return
    yield _call_of(fields)


def _call_of(fields: Mapping[str, msgspec.Raw]) -> RawCall:
    name_key = next((key for key in NAMES if key in fields and _json_of(fields[key])[:1] == '"'), None)
    call_id = next((_string_of(fields[key]) for key in IDS if key in fields), "")
    key = next((key for key in ARGUMENTS if key in fields), None)
    if key == "parameters" and is_schema(fields["parameters"]):
        raise NotACall
    name = _string_of(fields[name_key]).strip() if name_key else ""
    if not name:
        return RawCall(id=call_id, problem="no_name", error="the call names no tool", excerpt=_to_json(fields))
    others = [each for each in fields if each not in (name_key, *IDS, "type", "index")]
    if key is None and others:
        error = f"the call has no arguments but {others[0]!r}; they belong under 'arguments'"
        return RawCall(name, call_id, problem="malformed", error=error, excerpt=_to_json(fields))
    return RawCall(name, call_id, _json_of(fields[key]) if key else "{}")


def is_protocol(text: str, words: Sequence[str]) -> bool:
    """Whether a JSON text declares itself as calls: one such object, or a list of only such objects.

    :param words: names of which each top-level object must have one as a key or as its ``type``.
    """
    items = [_json_of(item) for item in _lists.decode(text)] if text[:1] == "[" else [text]
    return bool(items) and all(item[:1] == "{" and _matches_protocol(_objects.decode(item), words) for item in items)


def _matches_protocol(fields: Mapping[str, msgspec.Raw], words: Sequence[str]) -> bool:
    kind = _string_of(fields["type"]) if "type" in fields else ""
    if not (kind in words or any(word in fields and _json_of(fields[word])[:1] in ("{", "[") for word in words)):
        return False
    try:
        calls = list(_calls_of_object(fields))
    except (NotACall, *DECODE_ERRORS):
        return False
    return bool(calls) and not any(call.problem for call in calls)


def content_of(text: str) -> str:
    """The visible text next to the calls in one object."""
    fields = _objects.decode(text) if text[:1] == "{" else {}
    return _string_of(fields["content"]) if "content" in fields else ""


def is_schema(raw: msgspec.Raw) -> bool:
    """Whether a value is a JSON Schema of arguments instead of arguments."""
    try:
        fields = _objects.decode(raw)
        return (
            _string_of(fields.get("type", msgspec.Raw(b"0"))) == "object" and _json_of(fields["properties"])[:1] == "{"
        )
    except (KeyError, *DECODE_ERRORS):
        return False


# -- arguments -------------------------------------------------------------------------------------------------


class BadArguments(ValueError):
    """Invalid arguments; ``problem`` is the code and the exception text the message."""

    def __init__(self, problem: str, error: str) -> None:
        super().__init__(error)
        self.problem = problem


def read_arguments(text: str) -> tuple[str, dict[str, Any], tuple[str, ...]]:
    """The arguments as JSON, the parsed arguments and the repairs. An empty text and ``null`` mean no arguments.

    :raises BadArguments: the text is not a JSON object.
    """
    for layer in range(_MAX_LAYERS):
        if not text.strip():
            return "{}", {}, ()
        try:
            value = _anything.decode(text)
        except RecursionError:
            raise BadArguments("too_deep", "the arguments are nested too deeply") from None
        except DECODE_ERRORS as error:
            raise BadArguments("malformed", f"the arguments are not JSON: {error}") from None
        if value is None:
            return "{}", {}, ()
        if isinstance(value, dict):
            return text, value, ("encoded_twice",) if layer > 1 else ()
        if not isinstance(value, str):
            break
        text = value
    raise BadArguments("not_an_object", "the arguments are not a JSON object")


def read_elements(elements: Sequence[tuple[str, str, bool]], schema: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Separately written arguments as JSON, and the parsed arguments.

    :param schema: the input schema of the tool; a value stays a string unless the schema does not allow that string.
    :raises BadArguments: an argument is repeated, or contains lone surrogates.
    """
    args: dict[str, Any] = {}
    for key, value, is_json in elements:
        if key in args:
            raise BadArguments("ambiguous", f"the argument {key!r} is repeated")
        args[key] = parsed_argument(value) if is_json else typed_argument(value, key, schema)
    try:
        return msgspec.json.encode(args).decode(), args
    except UnicodeError:
        raise BadArguments("malformed", "the arguments contain characters that UTF-8 cannot encode") from None


# -- raw values --------------------------------------------------------------------------------------------------


def _json_of(raw: msgspec.Raw) -> str:
    return bytes(raw).decode()


def _string_of(raw: msgspec.Raw) -> str:
    """The value of a JSON string; empty for any other type."""
    text = _json_of(raw)
    return str(_anything.decode(text)) if text[:1] == '"' else ""


def _to_json(fields: Mapping[str, msgspec.Raw]) -> str:
    return msgspec.json.encode(fields).decode()
