"""What adapters have in common when they write a request."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
import msgspec

from helmdeck_core import ImagePart, InvalidRequest, Message, Role, TextPart, ToolCall

_DATA_URL = re.compile(r"data:(?P<kind>[^;,]*)(?:;[^;,]*)*;base64,(?P<data>.*)", re.DOTALL)

JSON_STRING_NOTE = "JSON, written as a text"
"""For ``SchemaDialect.json_string_note``: tells a model that a string holds JSON."""

_KEPT_NAMES = 32
"""Names of prefixes that are kept with their texts; a deployment has one for each catalog, variant and tier."""


@attrs.frozen
class Rendered:
    """A request as it is sent.

    :ivar downgrades: what had to be left out of it.
    :ivar max_tokens: the output limit that it names.
    :ivar constraint: what the answer is held to, for ``ChatResponse.constraint``.
    """

    body: bytes
    downgrades: tuple[str, ...] = ()
    max_tokens: int | None = None
    constraint: str = ""


def encoded(payload: Mapping[str, Any], extra: Mapping[str, Any]) -> bytes:
    """Write a payload as JSON, with the caller's own fields laid over it; tables are merged, not replaced.

    :raises InvalidRequest: it holds a value that JSON cannot say.
    """
    payload = _merged(payload, extra)
    try:
        return msgspec.json.encode(payload)
    except UnicodeEncodeError:
        # Half a surrogate pair, as text that was cut by UTF-16 units has: nothing on the wire can carry it.
        return json.dumps(payload, ensure_ascii=False, default=msgspec.json.decode).encode("utf-8", "replace")
    except TypeError as exc:
        raise InvalidRequest("the request holds a value that JSON cannot say", detail=str(exc)) from exc


def text_of(parts: Iterable[TextPart]) -> str | msgspec.Raw:
    """Texts as one, for a payload; as JSON already, where a part of it was written for another request."""
    parts = tuple(parts)
    if all(part.shared is None for part in parts):
        return "".join(part.text for part in parts)
    try:
        return msgspec.Raw(b'"%b"' % b"".join(part.json for part in parts))
    except UnicodeEncodeError:
        return "".join(part.text for part in parts)


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(under)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = _merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return merged


def cache_key(messages: Iterable[Message]) -> str | None:
    """A name for what stands up to the last mark of a cached prefix; ``None`` where nothing is marked.

    Providers route requests of one name to where the prefix was seen before. It is a hash and tells nothing of the prompt.
    """
    texts = [(part.text, part.ends_prefix) for each in messages for part in each.parts if isinstance(part, TextPart)]
    ends = [number for number, (_, ends_prefix) in enumerate(texts, 1) if ends_prefix]
    return _named(tuple(text for text, _ in texts[: ends[-1]])) if ends else None


@functools.lru_cache(_KEPT_NAMES)
def _named(texts: tuple[str, ...]) -> str:
    """A prefix comes again and again; a look-up takes half as long as the hash."""
    return hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()[:32]


def arguments_of(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call as an object; what is none is wrapped, so that the model sees what it wrote."""
    if not call.arguments.strip():
        return {}
    try:
        found = msgspec.json.decode(call.arguments)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {"INVALID_JSON": call.arguments}
    return found if isinstance(found, dict) else {} if found is None else {"INVALID_JSON": call.arguments}


def image_data(part: ImagePart) -> tuple[str, str] | None:
    """Media type and base64 of an image that travels with the request; ``None`` for one that a URL points to.

    :raises InvalidRequest: the image has neither.
    """
    if part.data is not None:
        return part.media_type, base64.b64encode(part.data).decode("ascii")
    if not part.url:
        raise InvalidRequest("an image has neither data nor a url")
    match = _DATA_URL.fullmatch(part.url)
    return (match["kind"] or part.media_type, match["data"]) if match else None


def names_of_calls(messages: Iterable[Message]) -> dict[int, str]:
    """For the place of every tool result in a conversation, the name of the tool that gave it.

    Looked up in the nearest answer before it, because ids may come again from turn to turn.
    """
    found: dict[int, str] = {}
    called: dict[str, str] = {}
    for place, message in enumerate(messages):
        called |= {call.id: call.name for call in message.tool_calls}
        if message.role is Role.TOOL:
            found[place] = called.get(message.tool_call_id or "", message.tool_call_id or "")
    return found


def image_url(part: ImagePart) -> str:
    """An image as a URL, which holds the data if the image travels with the request.

    :raises InvalidRequest: the image has neither data nor a URL.
    """
    if part.data is None and part.url:
        return part.url
    kind, data = image_data(part) or ("", "")
    return f"data:{kind};base64,{data}"


def first_stops(sequences: Sequence[str], most: int | None, downgrades: list[str]) -> list[str]:
    """As many stop sequences as an interface takes; what is left out is reported."""
    kept = list(sequences[:most])
    if not kept and sequences:
        downgrades.append("stop left out")
    elif len(kept) < len(sequences):
        downgrades.append(f"{len(sequences) - len(kept)} of {len(sequences)} stop sequences left out")
    return kept
