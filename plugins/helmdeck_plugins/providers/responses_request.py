"""Writes a request in the form of OpenAI's Responses; what it does not take is left out and reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import msgspec

from helmdeck_core import (
    ChatRequest,
    ImagePart,
    InvalidRequest,
    Message,
    ModelId,
    ResponseFormat,
    Role,
    TextPart,
    ToolCall,
)
from helmdeck_plugins.providers.reading import rows
from helmdeck_plugins.providers.writing import Rendered, cache_key, encoded, image_url, is_closed, said

_ANY_OBJECT = {"type": "object"}


@attrs.frozen(kw_only=True)
class Options:
    """How one server differs; every field is also an option of ``[providers.NAME.options]``.

    :ivar reasoning_models: beginnings of model names that refuse a temperature.
    :ivar encrypting_models: beginnings of model names that can return their reasoning encrypted.
    :ivar is_stored: the server keeps what it answered, as it does unless it is told not to.
    :ivar poll_ms: milliseconds before an answer that is made in the background is first looked at; then ever longer.
    :ivar has_cache_key: a cached prefix is named in ``prompt_cache_key``, so that requests with it come together.
    :ivar key_header: the header with the key, where it is not ``authorization``.
    """

    reasoning_models: tuple[str, ...] = ()
    encrypting_models: tuple[str, ...] = ()
    is_stored: bool = False
    poll_ms: int = 500
    has_cache_key: bool = False
    key_header: str = "authorization"


def render(request: ChatRequest, options: Options) -> Rendered:
    """Write a request.

    :raises InvalidRequest: it holds something that cannot be sent.
    """
    if request.continues:
        raise InvalidRequest(
            "this provider cannot continue an answer of the model",
            sub_cause="prefill_unsupported",
            detail="ask for the rest in a message of the user",
        )
    model = ModelId.parse(request.model).name
    thinks = model.startswith(options.reasoning_models)
    downgrades: list[str] = []
    payload: dict[str, Any] = {
        "model": model,
        "input": [item for message in request.messages for item in _items(message)],
    }
    if not options.is_stored:
        if not request.extra.get("background"):  # what is not kept cannot be looked at later
            payload["store"] = False
        # Without it the next turn could not go on from the thoughts of this one.
        if model.startswith(options.encrypting_models):
            payload["include"] = ["reasoning.encrypted_content"]
    if request.max_tokens is not None:
        payload["max_output_tokens"] = request.max_tokens
    if request.temperature is not None:
        if thinks:
            downgrades.append(f"temperature {request.temperature:g} left out")
        else:
            payload["temperature"] = request.temperature
    if request.tools:
        # A tool is strict unless it says that it is not.
        payload["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.input_schema),
                "strict": False,
            }
            for tool in request.tools
        ]
        if request.tool_choice is not None:
            payload["tool_choice"] = _tool_choice(request.tool_choice)
    if request.response_format is not None and (form := _format(request.response_format, downgrades)):
        payload["text"] = {"format": form}
    if request.stop:
        downgrades.append("stop left out")
    if options.has_cache_key and (key := cache_key(request.messages)):
        payload["prompt_cache_key"] = key
    if request.stream:
        payload["stream"] = True
    return Rendered(encoded(payload, request.extra), tuple(downgrades), request.max_tokens)


# -- messages -------------------------------------------------------------------------------------------------


def _items(message: Message) -> Iterator[dict[str, Any]]:
    if message.role is Role.TOOL:
        yield {"type": "function_call_output", "call_id": message.tool_call_id or "", "output": message.text}
        return
    said = [{"role": message.role.value, "content": _content(message)}] if message.parts else []
    calls = {call.id: _call(call) for call in message.tool_calls}
    # What the provider wants back stands where it stood; what is not listed there comes after it.
    for item in rows(message.opaque.get("output")):
        if item.get("type") == "message":
            yield from said
            said = []
        elif item.get("type") == "function_call":
            yield from filter(None, [calls.pop(str(item.get("call_id")), None)])
        else:
            yield item
    yield from said
    yield from calls.values()


def _call(call: ToolCall) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}


def _content(message: Message) -> str | msgspec.Raw | list[dict[str, Any]]:
    parts: Sequence[TextPart | ImagePart] = message.parts
    if all(isinstance(part, TextPart) for part in parts):
        return said(message.texts)
    return [
        {"type": "input_text", "text": said((part,))}
        if isinstance(part, TextPart)
        else {"type": "input_image", "image_url": image_url(part)}
        for part in parts
    ]


# -- tools and formats ----------------------------------------------------------------------------------------


def _tool_choice(choice: str) -> str | dict[str, Any]:
    return choice if choice in ("auto", "none", "required") else {"type": "function", "name": choice}


def _format(wanted: ResponseFormat, downgrades: list[str]) -> Mapping[str, Any]:
    if wanted.kind == "json_object":
        return {"type": "json_object"}
    if wanted.kind == "json_schema" and wanted.schema is not None:
        schema = dict(wanted.schema or _ANY_OBJECT)
        return {"type": "json_schema", "name": wanted.name, "schema": schema, "strict": is_closed(schema)}
    if wanted.kind == "json_schema":
        downgrades.append("response_format json_schema -> json_object")
        return {"type": "json_object"}
    downgrades.append(f"response_format {wanted.kind} left out")
    return {}
