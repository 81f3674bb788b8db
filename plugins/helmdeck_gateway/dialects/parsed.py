"""A client's request in the terms of the deck, and the functions that read its fields."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import attrs

from helmdeck_core import EMPTY, ChatRequest, FilePart, ImagePart, Message, ToolDefinition
from helmdeck_gateway.problems import invalid

T = TypeVar("T")

MAX_TOKENS = 2**53
"""Larger output limits are rejected; every number up to here is exact as a float."""
MAX_MESSAGES = 20_000
"""More messages in one request are rejected."""
STORED = "file-id:"
"""Start of the URL of a stored file, before its id; clients cannot send such a URL."""


@attrs.frozen(kw_only=True)
class Parsed:
    """A request that a client sent.

    :ivar request: the request; its model is the name that the client sent.
    :ivar is_stream: the response is to be streamed.
    :ivar has_usage: a stream of chat completions ends with the token usage.
    :ivar native: fields that only providers of the same dialect take, as the client sent them.
    :ivar shared: fields that several dialects have under different names, by a common name.
    :ivar dropped: fields that no call can take.
    :ivar earlier_items: items of OpenAI's Responses API before the input of the request.
    :ivar names_files: an earlier turn names stored files.
    :ivar body: the payload as it was sent, for responses that repeat some of it.
    """

    request: ChatRequest
    is_stream: bool = False
    has_usage: bool = False
    native: Mapping[str, Any] = EMPTY
    shared: Mapping[str, Any] = EMPTY
    dropped: tuple[str, ...] = ()
    earlier_items: Sequence[Mapping[str, Any]] = ()
    names_files: bool = False
    body: Mapping[str, Any] = EMPTY


def field(body: Mapping[str, Any], name: str, kind: type[T] | tuple[type, ...], where: str = "") -> Any:
    """Return a field; ``None`` if it is missing or null.

    :raises Problem: it has another type.
    """
    value = body.get(name)
    if value is None:
        return None
    if not isinstance(value, kind) or (isinstance(value, bool) and kind in (int, (int, float))):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        expected = " or ".join(_NAMES.get(each, each.__name__) for each in kinds)
        found = _NAMES.get(type(value), type(value).__name__)
        raise invalid(f"expected {expected}, found {found}", f"{where}{name}")
    return value


_NAMES = {str: "a string", int: "an integer", float: "a number", bool: "a boolean", list: "a list", dict: "an object"}


def required(body: Mapping[str, Any], name: str, kind: type[Any] | tuple[type, ...], where: str = "") -> Any:
    """Return a field.

    :raises Problem: it is missing or has another type.
    """
    value = field(body, name, kind, where)
    if value is None:
        raise invalid("this field is required", f"{where}{name}")
    return value


def objects(value: Any, where: str, most: int = MAX_MESSAGES) -> list[dict[str, Any]]:
    """Return a list of objects.

    :raises Problem: it is something else, or has more than ``most`` of them.
    """
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise invalid("expected a list of objects", where)
    if len(value) > most:
        raise invalid(f"at most {most:,} items are allowed, found {len(value):,}", where)
    return value


def one_of(value: str, choices: Iterable[str], where: str) -> str:
    """Return the value.

    :raises Problem: it is not one of the choices.
    """
    choices = tuple(choices)
    if value not in choices:
        raise invalid(f"{value!r} is not supported; supported: {', '.join(choices)}", where)
    return value


def max_tokens(body: Mapping[str, Any], *names: str) -> int | None:
    """Return the output limit under the first of the names that is set.

    :raises Problem: it is not a positive integer, or one that no model could reach.
    """
    for name in names:
        value: int | None = field(body, name, int)
        if value is not None:
            if not 1 <= value <= MAX_TOKENS:
                raise invalid(f"must be from 1 to {MAX_TOKENS:,}, found {value}", name)
            return value
    return None


def temperature(body: Mapping[str, Any]) -> float | None:
    """Return the temperature.

    :raises Problem: it is not a number from 0 to 2.
    """
    value = field(body, "temperature", (int, float))
    if value is not None and not 0 <= value <= 2:
        raise invalid(f"must be from 0 to 2, found {value}", "temperature")
    return None if value is None else float(value)


def image(url: str, where: str) -> ImagePart:
    """Return the image behind a URL, which may contain its data.

    :raises Problem: the data is not valid base64, or the URL has another scheme.
    """
    if url.startswith(("http://", "https://")):
        return ImagePart("", url=url)
    head, comma, data = url.partition(",")
    if not head.startswith("data:") or not comma or not head.endswith(";base64"):
        raise invalid("expected an http(s) URL, or a data URL with base64", where)
    return image_data(head.removeprefix("data:").partition(";")[0], data, where)


def file(url: str, name: str, where: str, media_type: str = "") -> ImagePart | FilePart:
    """Return the file behind a URL, which may contain its data; an image is an ``ImagePart``.

    :raises Problem: the data is not valid base64, or the URL has another scheme.
    """
    if url.startswith("data:"):
        head, comma, data = url.partition(",")
        if not comma or not head.endswith(";base64"):
            raise invalid("expected a data URL with base64", where)
        return file_data(head.removeprefix("data:").partition(";")[0], data, name, where)
    if not url.startswith(("http://", "https://", "gs://")):
        raise invalid("expected an http(s) URL, or a data URL with base64", where)
    return (
        ImagePart(media_type, url=url) if media_type.startswith("image/") else FilePart(media_type, url=url, name=name)
    )


def file_data(media_type: str, data: str, name: str, where: str) -> ImagePart | FilePart:
    """Return a file; an image is an ``ImagePart``.

    :raises Problem: the data is not valid base64.
    """
    part = image_data(media_type, data, where)
    return part if media_type.startswith("image/") else FilePart(media_type, part.data, name=name)


def file_part(item: Mapping[str, Any], where: str) -> ImagePart | FilePart:
    """Return the file of an object with ``file_data``, ``file_url`` or ``file_id``, as OpenAI's APIs have it.

    :raises Problem: it has none of them.
    """
    name = field(item, "filename", str, where) or ""
    if (file_id := field(item, "file_id", str, where)) is not None:
        return stored_file(file_id)
    if (url := field(item, "file_url", str, where)) is not None:
        return file(url, name, f"{where}file_url")
    data = required(item, "file_data", str, where)
    if data.startswith("data:"):
        return file(data, name, f"{where}file_data")
    return file_data("application/pdf", data, name, f"{where}file_data")


def stored_file(file_id: str) -> FilePart:
    """Return a part for a file of ``/v1/files``, whose content is read before a call is made."""
    return FilePart("", url=f"{STORED}{file_id}")


def names_stored_file(message: Message) -> bool:
    """Whether a message has such a part."""
    return any(isinstance(part, FilePart) and (part.url or "").startswith(STORED) for part in message.parts)


def image_data(media_type: str, data: str, where: str) -> ImagePart:
    """Return an image.

    :raises Problem: the data is not valid base64.
    """
    try:
        return ImagePart(media_type, base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        raise invalid("the data is not valid base64", where) from None


def tool(name: str, description: Any, schema: Any, where: str) -> ToolDefinition:
    """Return a tool definition.

    :raises Problem: the schema is not an object.
    """
    if schema is not None and not isinstance(schema, Mapping):
        raise invalid("the schema of a tool is an object", where)
    if not name:
        raise invalid("a tool has a name", f"{where}.name")
    return ToolDefinition(name, str(description or ""), schema or {"type": "object", "properties": {}})


def prefix_end(block: Mapping[str, Any], where: str) -> bool | str:
    """Return whether a cached prefix ends with a block: the lifetime that its marker asks for, or whether it has a marker.

    :raises Problem: the marker is not an object, or its lifetime not a string.
    """
    marker = field(block, "cache_control", dict, where)
    return marker is not None and (field(marker, "ttl", str, f"{where}cache_control.") or True)


def unread(item: Mapping[str, Any], known: Iterable[str], name: str) -> Iterator[str]:
    """Yield the names of the fields of an object that are set, and that the gateway does not read."""
    known = frozenset(known)
    return (f"{name}.{each}" for each, value in item.items() if each not in known and value not in (None, [], {}, ""))


def unique(tools: Sequence[ToolDefinition]) -> tuple[ToolDefinition, ...]:
    """Return the tools; of several with the same name, the first one."""
    found: dict[str, ToolDefinition] = {}
    for each in tools:
        found.setdefault(each.name, each)
    return tuple(found.values())


def not_blank(messages: Sequence[Message], where: str) -> tuple[Message, ...]:
    """Return the messages.

    :raises Problem: there is none.
    """
    if not messages:
        raise invalid("at least one message is required", where)
    return tuple(messages)


OpaqueOf = Callable[[Iterable[str]], Mapping[str, Any]]
"""Returns what a provider wants back with a turn, by the ids of its tool calls and signatures."""
