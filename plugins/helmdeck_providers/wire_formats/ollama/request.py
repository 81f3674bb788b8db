"""Writes requests for Ollama's own chat API; unsupported fields are left out and reported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from helmdeck_core import (
    ChatRequest,
    Constraint,
    FilePart,
    ImagePart,
    InvalidRequest,
    Message,
    ModelId,
    ProviderSettings,
    Role,
    TextPart,
    above_zero,
)
from helmdeck_providers.http.rendering import (
    Rendered,
    arguments_of,
    encode_payload,
    function_tool,
    image_data,
    names_of_calls,
    returned_fields,
    text_of,
    unsupported_part,
)
from helmdeck_providers.http.settings import provider_options
from helmdeck_providers.schemas.constraint import constrained
from helmdeck_providers.schemas.server_dialects import LLAMA_CPP

OPAQUE = "ollama"
"""Key of the reasoning in ``opaque``."""


@attrs.frozen(kw_only=True)
class Options:
    """The options of ``[providers.NAME.options]``, one per field.

    :ivar num_ctx: context window in tokens that models are loaded with; ``None`` for the server's default, which is
        small.
    """

    num_ctx: int | None = attrs.field(default=None, validator=above_zero)

    @classmethod
    def read(cls, settings: ProviderSettings) -> Options:
        """Read the options of a deployment.

        :raises InvalidRequest: an unknown option, or an invalid value.
        """
        return provider_options(settings, cls)


def context_window(request: ChatRequest, options: Options) -> int | None:
    """Return the context window that the request sets, in tokens, if any."""
    extra = request.extra.get("options")
    num_ctx = extra.get("num_ctx") if isinstance(extra, Mapping) else None
    return num_ctx if isinstance(num_ctx, int) else options.num_ctx


def render(request: ChatRequest, options: Options) -> Rendered:
    """Write a request body.

    :raises InvalidRequest: the request contains something that cannot be sent.
    """
    downgrades: list[str] = []
    tools = names_of_calls(request.messages)
    messages = [_message(message, tools.get(place)) for place, message in enumerate(request.messages)]
    payload: dict[str, Any] = {
        "model": ModelId.parse(request.model).name,
        "messages": messages,
        "stream": request.stream,  # the server's default is true
    }
    settings: dict[str, Any] = {
        "num_ctx": options.num_ctx,
        "num_predict": request.max_tokens,
        "temperature": request.temperature,
        "stop": list(request.stop) or None,
    }
    settings = {name: value for name, value in settings.items() if value is not None}
    if settings:
        payload["options"] = settings
    if request.tools:
        # The API has no tool_choice; a tool that is not sent is not called.
        if request.tool_choice not in (None, "auto", "none"):
            downgrades.append(f"tool_choice {request.tool_choice} -> auto")
        if request.tool_choice != "none":
            payload["tools"] = [function_tool(tool) for tool in request.tools]
    held = constraint(request)
    downgrades += held.downgrades
    if held.kind:
        payload["format"] = "json" if held.schema is None else held.schema
    return Rendered(encode_payload(payload, request.extra), tuple(downgrades), request.max_tokens, held.label)


def constraint(request: ChatRequest) -> Constraint:
    """Return how the answer is constrained: Ollama decodes with llama.cpp's grammars, whatever the model."""
    return constrained(request.response_format, ("json_schema", "json_object"), LLAMA_CPP)


def _message(message: Message, tool: str | None) -> dict[str, Any]:
    rendered: dict[str, Any] = {"role": message.role.value, "content": text_of(message.texts)}
    images = [_image(part) for part in message.parts if not isinstance(part, TextPart)]
    if images:
        rendered["images"] = images
    if message.role is Role.ASSISTANT:
        rendered |= returned_fields(message, OPAQUE)
    if message.tool_calls:
        rendered["tool_calls"] = [
            {"id": call.id, "function": {"name": call.name, "arguments": arguments_of(call)}}
            for call in message.tool_calls
        ]
    if message.role is Role.TOOL:
        rendered |= {"tool_name": tool, "tool_call_id": message.tool_call_id}
    return rendered


def _image(part: ImagePart | FilePart) -> str:
    if isinstance(part, FilePart):
        raise unsupported_part(part, "Ollama", "images")
    data = image_data(part)
    if data is None:
        raise InvalidRequest(
            "Ollama does not fetch images",
            sub_cause="unsupported_media",
            detail="send the data of the image instead of its URL",
        )
    return data[1]
