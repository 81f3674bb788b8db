"""Parts of requests that wire formats share: JSON bodies, key headers, images, tools, stop sequences, cache keys."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import attrs
import msgspec

from helmdeck_core import (
    EMPTY,
    ChatRequest,
    FilePart,
    ImagePart,
    InvalidRequest,
    Message,
    ModelId,
    Part,
    Role,
    TextPart,
    ToolCall,
    ToolDefinition,
)

_DATA_URL = re.compile(r"data:(?P<kind>[^;,]*)(?:;[^;,]*)*;base64,(?P<data>.*)", re.DOTALL)

JSON_STRING_NOTE = "JSON, written as a text"
"""For ``SchemaDialect.json_string_note``: a schema description for strings that contain JSON."""

_MAX_CACHED_KEYS = 32
"""Maximum number of cached keys; a deployment needs one per catalog, variant and tier."""


@attrs.frozen
class Rendered:
    """A request body and its facts.

    :ivar downgrades: parts of the request that were left out.
    :ivar max_tokens: output limit in the body.
    :ivar constraint: value of ``ChatResponse.constraint``.
    :ivar headers: headers of this request, which override those of the wire format.
    """

    body: bytes
    downgrades: tuple[str, ...] = ()
    max_tokens: int | None = None
    constraint: str = ""
    headers: Mapping[str, str] = EMPTY


def encode_payload(payload: Mapping[str, Any], extra: Mapping[str, Any]) -> bytes:
    """Encode a payload as JSON, overridden by the caller's extra fields; nested objects are merged.

    :raises InvalidRequest: a value cannot be encoded as JSON.

    >>> from helmdeck_providers import encode_payload
    >>> encode_payload({"model": "m", "options": {"seed": 1}}, {"options": {"top_k": 5}})
    b'{"model":"m","options":{"seed":1,"top_k":5}}'
    """
    payload = _merged(payload, extra)
    try:
        return msgspec.json.encode(payload)
    except UnicodeEncodeError:
        # Lone surrogates, for example in text truncated by UTF-16 units, cannot be encoded.
        return json.dumps(payload, ensure_ascii=False, default=msgspec.json.decode).encode("utf-8", "replace")
    except TypeError as exc:
        raise InvalidRequest("the request contains a value that cannot be encoded as JSON", detail=str(exc)) from exc


def key_headers(key: str | None, name: str = "authorization") -> Mapping[str, str]:
    """Return the header with the key: as a bearer token in ``authorization``, as it is in any other header.

    >>> from helmdeck_providers import key_headers
    >>> key_headers("example-key"), key_headers("example-key", "x-api-key"), key_headers(None)
    ({'authorization': 'Bearer example-key'}, {'x-api-key': 'example-key'}, {})
    """
    if not key:
        return {}
    return {name: f"Bearer {key}" if name == "authorization" else key}


def text_of(parts: Iterable[TextPart]) -> str | msgspec.Raw:
    """Join text parts for a payload; return encoded JSON if a part has cached JSON.

    >>> from helmdeck_core import TextPart
    >>> from helmdeck_providers import text_of
    >>> text_of([TextPart("one "), TextPart("two")])
    'one two'
    """
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
    """Return a hash of the cached prefix, or ``None`` without cache markers.

    Providers route requests with the same key to the same cache. The hash does not reveal the prompt.
    """
    texts = [(part.text, part.ends_prefix) for each in messages for part in each.parts if isinstance(part, TextPart)]
    ends = [number for number, (_, ends_prefix) in enumerate(texts, 1) if ends_prefix]
    return _hash(tuple(text for text, _ in texts[: ends[-1]])) if ends else None


@functools.lru_cache(_MAX_CACHED_KEYS)
def _hash(texts: tuple[str, ...]) -> str:
    """Cached because prefixes repeat: a lookup takes half as long as hashing."""
    return hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()[:32]


def arguments_of(call: ToolCall) -> dict[str, Any]:
    """Return the arguments of a call as an object; anything else is wrapped, so that the model sees its own output.

    >>> from helmdeck_core import ToolCall
    >>> from helmdeck_providers import arguments_of
    >>> arguments_of(ToolCall("1", "add", '{"a": 1}'))
    {'a': 1}
    """
    if not call.arguments.strip():
        return {}
    try:
        decoded = msgspec.json.decode(call.arguments)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {"INVALID_JSON": call.arguments}
    return decoded if isinstance(decoded, dict) else {} if decoded is None else {"INVALID_JSON": call.arguments}


def function_tool(tool: ToolDefinition) -> dict[str, Any]:
    """Return a tool in the shape of chat completions, which other APIs share.

    >>> from helmdeck_core import ToolDefinition
    >>> from helmdeck_providers import function_tool
    >>> function_tool(ToolDefinition("add", "Add numbers", {"type": "object"}))
    {'type': 'function', 'function': {'name': 'add', 'description': 'Add numbers', 'parameters': {'type': 'object'}}}
    """
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.input_schema)}
    return {"type": "function", "function": function}


def function_call(call: ToolCall) -> dict[str, Any]:
    """Return a tool call in the shape of chat completions, which other APIs share.

    >>> from helmdeck_core import ToolCall
    >>> from helmdeck_providers import function_call
    >>> function_call(ToolCall(id="1", name="add", arguments='{"a": 1}'))
    {'id': '1', 'type': 'function', 'function': {'name': 'add', 'arguments': '{"a": 1}'}}
    """
    # Some clients write no arguments as an empty string, which servers that parse arguments reject.
    arguments = call.arguments if call.arguments.strip() else "{}"
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def returned_fields(message: Message, key: str) -> Mapping[str, Any]:
    """Return what ``ResponseReader.opaque`` kept of an assistant turn to send back; empty for a turn of another provider."""
    own = message.opaque.get(key)
    return own if isinstance(own, Mapping) else EMPTY


def image_data(part: ImagePart | FilePart) -> tuple[str, str] | None:
    """Return media type and base64 data of an embedded image or file; ``None`` for one with a URL.

    :raises InvalidRequest: it has neither data nor a URL.

    >>> from helmdeck_core import ImagePart
    >>> from helmdeck_providers import image_data
    >>> image_data(ImagePart("image/png", b"example"))
    ('image/png', 'ZXhhbXBsZQ==')
    >>> image_data(ImagePart("image/png", url="https://example.org/a.png")) is None
    True
    """
    if part.data is not None:
        return part.media_type, base64.b64encode(part.data).decode("ascii")
    if not part.url:
        kind = "an image" if isinstance(part, ImagePart) else "a file"
        raise InvalidRequest(f"{kind} has neither data nor a URL")
    match = _DATA_URL.fullmatch(part.url)
    return (match["kind"] or part.media_type, match["data"]) if match else None


def path_segment(request: ChatRequest) -> str:
    """Return the model name of a request for use as one segment of a path.

    :raises InvalidRequest: the name would change the path.

    >>> from helmdeck_core import ChatRequest
    >>> from helmdeck_providers import path_segment
    >>> path_segment(ChatRequest(model="acme/team/large", messages=()))
    'team%2Flarge'
    """
    name = ModelId.parse(request.model).name
    if name in (".", ".."):
        raise InvalidRequest(f"{name!r} is not a model name", model=request.model)
    return quote(name, safe="")


def names_of_calls(messages: Iterable[Message]) -> dict[int, str]:
    """Return the tool names of all tool results, by message index.

    Call ids may repeat, so the nearest preceding call counts.
    """
    names: dict[int, str] = {}
    names_by_id: dict[str, str] = {}
    for index, message in enumerate(messages):
        names_by_id |= {call.id: call.name for call in message.tool_calls}
        if message.role is Role.TOOL:
            names[index] = names_by_id.get(message.tool_call_id or "", message.tool_call_id or "")
    return names


def image_url(part: ImagePart) -> str:
    """Return an image as a URL; embedded images become data URLs.

    :raises InvalidRequest: the image has neither data nor a URL.

    >>> from helmdeck_core import ImagePart
    >>> from helmdeck_providers import image_url
    >>> image_url(ImagePart("image/png", b"example"))
    'data:image/png;base64,ZXhhbXBsZQ=='
    """
    if part.data is None and part.url:
        return part.url
    kind, data = image_data(part) or ("", "")
    return f"data:{kind};base64,{data}"


def unsupported_part(part: Part, api: str, *supported: str) -> InvalidRequest:
    """Return the failure for a part that an API does not take; the next model of a chain may.

    :param api: its name.
    :param supported: the kinds of files that it takes, besides text.

    >>> from helmdeck_core import ImagePart
    >>> from helmdeck_providers import unsupported_part
    >>> unsupported_part(ImagePart("image/tiff", b"example"), "acme's chat API", "PNG images").headline
    "acme's chat API does not accept image/tiff"
    """
    kind = part.media_type if isinstance(part, ImagePart | FilePart) else "text"
    return InvalidRequest(
        f"{api} does not accept {kind or 'files'}",
        sub_cause="unsupported_media",
        detail=f"supported: {', '.join(('text', *supported))}; a model of another provider may accept it",
    )


def file_url(part: FilePart) -> str:
    """Return a file as a URL; embedded files become data URLs.

    :raises InvalidRequest: the file has neither data nor a URL.
    """
    data = image_data(part)
    return part.url or "" if data is None else f"data:{data[0]};base64,{data[1]}"


def first_stops(sequences: Sequence[str], most: int | None, downgrades: list[str]) -> list[str]:
    """Return the first stop sequences, up to the API's maximum; the rest is reported as a downgrade.

    >>> from helmdeck_providers import first_stops
    >>> downgrades = []
    >>> first_stops(["END", "STOP", "###"], 2, downgrades), downgrades
    (['END', 'STOP'], ['1 of 3 stop sequences left out'])
    """
    accepted = list(sequences[:most])
    if not accepted and sequences:
        downgrades.append("stop left out")
    elif len(accepted) < len(sequences):
        downgrades.append(f"{len(sequences) - len(accepted)} of {len(sequences)} stop sequences left out")
    return accepted
