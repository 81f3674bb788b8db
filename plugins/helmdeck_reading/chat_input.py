"""Chat input as callers write it: a string, messages as dicts in the form of the Chat Completions API, image files."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from helmdeck_core import (
    ChatInput,
    ChatInputReader,
    FilePart,
    ImageInput,
    ImagePart,
    Message,
    Part,
    Role,
    TextPart,
    ToolCall,
    hookimpl,
)

_SIGNATURES = ((b"\x89PNG\r\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))
_ROLES = {role.value: role for role in Role} | {"developer": Role.SYSTEM}


@hookimpl
def helmdeck_chat_inputs() -> Sequence[ChatInputReader]:
    """The built-in reader."""
    return (ChatInputReader(name="chat_completions", messages=messages_of, images=images_of),)


def messages_of(value: ChatInput) -> tuple[Message, ...]:
    """Return the messages of a conversation.

    :raises TypeError: a part is of an unsupported type.
    :raises ValueError: a part has an unsupported value, such as an unknown role.
    """
    if isinstance(value, str):
        return (Message(Role.USER, (TextPart(value),)),)
    if isinstance(value, (Mapping, bytes)) or not isinstance(value, Sequence):
        raise TypeError(f"the request must be a string, a ChatRequest or a list of messages, found {_name(value)}")
    if not value:
        raise ValueError("the list of messages is empty")
    return tuple(_message(each, f"messages[{index}]") for index, each in enumerate(value))


def _message(value: Any, place: str) -> Message:
    if isinstance(value, Message):
        return value
    if not isinstance(value, Mapping):
        raise TypeError(f"{place}: a message must be a Message or a dict, found {_name(value)}")
    role = value.get("role")
    if role not in _ROLES:
        raise ValueError(f"{place}.role: expected one of {', '.join(_ROLES)}, found {role!r}")
    return Message(
        _ROLES[role],
        _parts(value.get("content"), f"{place}.content"),
        tuple(
            _tool_call(each, f"{place}.tool_calls[{index}]") for index, each in enumerate(value.get("tool_calls") or ())
        ),
        value.get("tool_call_id"),
    )


def _parts(content: Any, place: str) -> tuple[Part, ...]:
    if content is None:
        return ()
    if isinstance(content, str):
        return (TextPart(content),)
    if not isinstance(content, (list, tuple)):
        raise TypeError(f"{place}: must be a string or a list of parts, found {_name(content)}")
    return tuple(_part(each, f"{place}[{index}]") for index, each in enumerate(content))


def _part(value: Any, place: str) -> Part:
    if isinstance(value, (TextPart, ImagePart, FilePart)):
        return value
    match value:
        case {"type": "text" | "input_text", "text": str(text)}:
            return TextPart(text)
        case {"type": "image_url" | "input_image", "image_url": {"url": str(url)} | str(url)}:
            # Messages may come from elsewhere, so they cannot name a file.
            if url.startswith(("https://", "http://", "data:")):
                return image_of(url)
            raise ValueError(f"{place}: the URL of an image starts with https:, http: or data:, found {url[:40]!r}")
    raise ValueError(f"{place}: expected a part of type text or image_url, found {_name(value)}")


def _tool_call(value: Any, place: str) -> ToolCall:
    match value:
        case ToolCall():
            return value
        case {"id": str(call_id), "function": {"name": str(name), "arguments": arguments}}:
            return ToolCall(call_id, name, arguments if isinstance(arguments, str) else json.dumps(arguments))
    raise ValueError(f"{place}: expected a dict with id and function (name, arguments), found {_name(value)}")


def images_of(values: ImageInput | Iterable[ImageInput]) -> tuple[ImagePart, ...]:
    """Return the parts of some images.

    :raises OSError: a file cannot be read.
    :raises ValueError: bytes or a file of an unknown format.
    """
    if isinstance(values, (str, bytes, Path, ImagePart)):
        values = (values,)
    return tuple(map(image_of, values))


def image_of(value: ImageInput) -> ImagePart:
    """Return the part of one image; see ``images_of``."""
    if isinstance(value, ImagePart):
        return value
    if isinstance(value, str) and value.startswith(("https://", "http://")):
        return ImagePart("", url=value)
    if isinstance(value, str) and value.startswith("data:"):
        head, _, encoded = value.partition(",")
        return ImagePart(head.removeprefix("data:").partition(";")[0], base64.b64decode(encoded))
    if isinstance(value, (str, Path)):
        return ImagePart(_media_type(data := Path(value).read_bytes(), str(value)), data)
    if isinstance(value, bytes):
        return ImagePart(_media_type(value, "the bytes"), value)
    raise TypeError(f"an image must be a path, bytes, a URL or an ImagePart, found {_name(value)}")


def _media_type(data: bytes, name: str) -> str:
    for signature, media_type in _SIGNATURES:
        if data.startswith(signature):
            return media_type
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    raise ValueError(f"{name}: not a PNG, JPEG, GIF or WebP image; use an ImagePart for another format")


def _name(value: object) -> str:
    return type(value).__name__
