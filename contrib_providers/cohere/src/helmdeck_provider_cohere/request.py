"""Writes a request for Cohere's chat; what it does not take is left out and reported."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import msgspec

from helmdeck_core import (
    ChatRequest,
    Constraint,
    ImagePart,
    InvalidRequest,
    Message,
    ModelId,
    Role,
    SchemaDialect,
    TextPart,
    ToolDefinition,
    constrained,
)

KINDS = ("json_schema", "json_object")

SCHEMAS = SchemaDialect(
    name="cohere",
    keywords=frozenset(("title", "description", "const", "format", "additionalProperties")),
    formats=frozenset(("date-time", "uuid", "date", "time")),
    needs_required=True,
    takes_whole=True,
    is_slow=True,
)
"""What its pages say of schemas in October 2026: no bounds, and every object has to require something. Patterns are taken
without ``^`` and ``$`` only, and then mean something else."""

_CHOICES = {"required": "REQUIRED", "none": "NONE"}


@attrs.frozen
class Rendered:
    """A request as it is sent, and what had to be left out of it."""

    body: bytes
    downgrades: tuple[str, ...] = ()
    constraint: str = ""


def constraint(request: ChatRequest, kinds: Sequence[str] = KINDS) -> Constraint:
    """How the answer is held to what is wanted of it; together with tools, any format is refused.

    :param kinds: the formats that are taken, the preferred one first.
    """
    if request.response_format is None:
        return Constraint()
    return constrained(request.response_format, () if request.tools else kinds, SCHEMAS)


def render(request: ChatRequest, kinds: Sequence[str] = KINDS) -> Rendered:
    """Write a request.

    :param kinds: the formats that are taken, the preferred one first.
    :raises InvalidRequest: it holds something that cannot be sent.
    """
    if request.continues:
        detail = "ask for the rest in a message of the user"
        raise InvalidRequest("Cohere does not continue an answer", sub_cause="prefill_unsupported", detail=detail)
    payload: dict[str, Any] = {
        "model": ModelId.parse(request.model).name,
        "messages": [_message(message) for message in request.messages],
        "stream": request.stream,
    }
    if request.max_tokens is not None:
        payload["max_tokens"] = request.max_tokens
    if request.temperature is not None:
        payload["temperature"] = request.temperature
    if request.stop:
        payload["stop_sequences"] = list(request.stop)
    if request.tools:
        payload |= _tools(request.tools, request.tool_choice)
    held = constraint(request, kinds)
    if held.kind:
        schema = {} if held.schema is None else {"json_schema": held.schema}
        payload["response_format"] = {"type": "json_object", **schema}
    return Rendered(_encoded(payload | dict(request.extra)), held.downgrades, held.label)


def _message(message: Message) -> dict[str, Any]:
    rendered: dict[str, Any] = {"role": message.role.value}
    if content := _content(message):
        rendered["content"] = content
    elif not message.tool_calls:
        rendered["content"] = ""
    if message.tool_calls:
        rendered["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        rendered["tool_call_id"] = message.tool_call_id
    return rendered


def _content(message: Message) -> str | list[dict[str, Any]]:
    if all(isinstance(part, TextPart) for part in message.parts):
        return message.text
    if message.role is not Role.USER:
        raise InvalidRequest(f"Cohere takes images from users only, found one in a message of role {message.role!r}")
    return [
        _image(part) if isinstance(part, ImagePart) else {"type": "text", "text": part.text} for part in message.parts
    ]


def _image(part: ImagePart) -> dict[str, Any]:
    url = part.url
    if part.data is not None:
        url = f"data:{part.media_type};base64,{base64.b64encode(part.data).decode('ascii')}"
    if not url:
        raise InvalidRequest("an image has neither data nor a url")
    return {"type": "image_url", "image_url": {"url": url}}


def _tools(tools: Sequence[ToolDefinition], choice: str | None) -> dict[str, Any]:
    named = [tool for tool in tools if tool.name == choice]
    if choice not in (None, "auto", *_CHOICES):
        if not named:
            known = ", ".join(tool.name for tool in tools)
            raise InvalidRequest(f"there is no tool {choice!r} that could be called", detail=f"tools: {known}")
        # There is no word for one tool: it is the only one that is offered, and some tool has to be called.
        tools, choice = named, "required"
    rendered: dict[str, Any] = {"tools": [_tool(tool) for tool in tools]}
    if choice in _CHOICES:
        rendered["tool_choice"] = _CHOICES[choice]
    return rendered


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.input_schema)}
    return {"type": "function", "function": function}


def _encoded(payload: Mapping[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(payload)
    except UnicodeEncodeError:
        # Half a surrogate pair, as text that was cut by UTF-16 units has: nothing on the wire can carry it.
        return json.dumps(payload, ensure_ascii=False).encode("utf-8", "replace")
    except TypeError as exc:
        raise InvalidRequest("the request holds a value that JSON cannot say", detail=str(exc)) from exc
