"""Writes requests for Cohere's Chat API; unsupported fields are left out and reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import attrs
import msgspec

from helmdeck_core import (
    ChatRequest,
    Constraint,
    ImagePart,
    InvalidRequest,
    Message,
    ModelId,
    Part,
    ProviderSettings,
    Role,
    TextPart,
    ToolDefinition,
)
from helmdeck_providers import (
    JSON_STRING_NOTE,
    Rendered,
    SchemaDialect,
    constrained,
    encode_payload,
    first_stops,
    function_call,
    function_tool,
    image_url,
    provider_options,
    returned_fields,
    text_of,
    unsupported_part,
)

OPAQUE = "cohere"
"""Key of the plan and the reasoning of a turn with calls in ``opaque``."""

SCHEMAS = SchemaDialect(
    name="cohere",
    json_string_note=JSON_STRING_NOTE,
    keywords=frozenset(("title", "description", "const", "format", "additionalProperties")),
    formats=frozenset(("date-time", "uuid", "date", "time")),
    needs_required=True,
    takes_whole=True,
    is_slow=True,
)
"""As documented in October 2026: no bounds, and every object needs a required property. Patterns are supported only
without ``^`` and ``$``, and then have another meaning."""

_CHOICES = {"required": "REQUIRED", "none": "NONE"}
_MAX_STOPS = 5


@attrs.frozen(kw_only=True)
class Options:
    """The options of ``[providers.cohere.options]``.

    :ivar response_formats: supported response formats, the preferred one first.
    """

    response_formats: tuple[Literal["json_schema", "json_object"], ...] = ("json_schema", "json_object")

    @classmethod
    def read(cls, settings: ProviderSettings) -> Options:
        """Read the options of a deployment.

        :raises InvalidRequest: with every mistake in the options.
        """
        return provider_options(settings, cls)


_DEFAULTS = Options()


def constraint(request: ChatRequest, options: Options = _DEFAULTS) -> Constraint:
    """Return how the answer is constrained; the API rejects a response format together with tools."""
    return constrained(request.response_format, () if request.tools else options.response_formats, SCHEMAS)


def render(request: ChatRequest, options: Options = _DEFAULTS) -> Rendered:
    """Write a request body.

    :raises InvalidRequest: the request contains something that cannot be sent.
    """
    if request.continues:
        detail = "ask for the rest in a user message"
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
    downgrades: list[str] = []
    if stops := first_stops(request.stop, _MAX_STOPS, downgrades):
        payload["stop_sequences"] = stops
    if request.tools:
        payload |= _tools(request.tools, request.tool_choice)
    held = constraint(request, options)
    if held.kind:
        schema = {} if held.schema is None else {"json_schema": held.schema}
        payload["response_format"] = {"type": "json_object", **schema}
    body = encode_payload(payload, request.extra)
    return Rendered(body, (*downgrades, *held.downgrades), request.max_tokens, held.label)


def _message(message: Message) -> dict[str, Any]:
    rendered: dict[str, Any] = {"role": message.role.value}
    own = returned_fields(message, OPAQUE) if message.tool_calls else {}
    if content := _content(message, own):
        rendered["content"] = content
    elif not message.tool_calls:
        rendered["content"] = ""
    if message.tool_calls:
        if plan := own.get("tool_plan"):
            rendered["tool_plan"] = plan
        rendered["tool_calls"] = [function_call(call) for call in message.tool_calls]
    if message.tool_call_id is not None:
        rendered["tool_call_id"] = message.tool_call_id
    return rendered


def _content(message: Message, own: Mapping[str, Any]) -> str | msgspec.Raw | list[dict[str, Any]]:
    texts = [part for part in message.parts if isinstance(part, TextPart)]
    if len(texts) == len(message.parts):
        text = text_of(texts) if texts else ""
        if not (thinking := own.get("thinking")):
            return text
        return [{"type": "thinking", "thinking": thinking}, *([{"type": "text", "text": text}] if text else [])]
    if message.role is not Role.USER:
        raise InvalidRequest(
            f"Cohere accepts images in user messages only, found one with role {message.role.value!r}",
            sub_cause="unsupported_media",
        )
    return [_part(part) for part in message.parts]


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if isinstance(part, ImagePart):
        return {"type": "image_url", "image_url": {"url": image_url(part)}}
    raise unsupported_part(part, "Cohere", "images")


def _tools(tools: Sequence[ToolDefinition], choice: str | None) -> dict[str, Any]:
    named = [tool for tool in tools if tool.name == choice]
    if choice not in (None, "auto", *_CHOICES):
        if not named:
            known = ", ".join(tool.name for tool in tools)
            raise InvalidRequest(f"tool_choice names an unknown tool {choice!r}", detail=f"tools: {known}")
        # The API cannot name a tool: send only this one, and require a call.
        tools, choice = named, "required"
    rendered: dict[str, Any] = {"tools": [function_tool(tool) for tool in tools]}
    if choice in _CHOICES:
        rendered["tool_choice"] = _CHOICES[choice]
    return rendered
