"""Writes a request in the form of Ollama's own chat; what it does not take is left out and reported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from helmdeck_core import (
    ChatRequest,
    Constraint,
    ImagePart,
    InvalidRequest,
    Message,
    ModelId,
    ProviderSettings,
    Role,
    ToolDefinition,
    constrained,
)
from helmdeck_plugins.providers.dialects import LLAMA_CPP
from helmdeck_provider_kit import Rendered, arguments_of, encoded, image_data, names_of_calls, refused_setting, text_of

OPAQUE = "ollama"
"""Where in ``opaque`` the thoughts of an answer stand."""


@attrs.frozen(kw_only=True)
class Options:
    """How one deployment asks; every field is an option of ``[providers.NAME.options]``.

    :ivar num_ctx: the window in tokens that models are loaded with; ``None`` leaves it to the server, whose default is
        small.
    """

    num_ctx: int | None = None

    @classmethod
    def read(cls, settings: ProviderSettings) -> Options:
        """Read the options of a deployment.

        :raises InvalidRequest: an option that does not exist, or a value that it does not take.
        """
        for name, value in settings.options.items():
            if name != "num_ctx":
                raise refused_setting(settings, f"options.{name}", "there is no such option; allowed: num_ctx")
            if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
                raise refused_setting(settings, "options.num_ctx", "not a whole number above 0")
        return cls(**settings.options)


def window(request: ChatRequest, options: Options) -> int | None:
    """The window that the request asks for, where it is known."""
    given = request.extra.get("options")
    found = given.get("num_ctx") if isinstance(given, Mapping) else None
    return found if isinstance(found, int) else options.num_ctx


def render(request: ChatRequest, options: Options) -> Rendered:
    """Write a request.

    :raises InvalidRequest: it holds something that cannot be sent.
    """
    downgrades: list[str] = []
    tools = names_of_calls(request.messages)
    messages = [_message(message, tools.get(place)) for place, message in enumerate(request.messages)]
    payload: dict[str, Any] = {
        "model": ModelId.parse(request.model).name,
        "messages": messages,
        "stream": request.stream,  # left out, it would stream
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
        # There is no field to choose with; a tool that is not sent is not called.
        if request.tool_choice not in (None, "auto", "none"):
            downgrades.append(f"tool_choice {request.tool_choice} -> auto")
        if request.tool_choice != "none":
            payload["tools"] = [_tool(tool) for tool in request.tools]
    held = constraint(request)
    downgrades += held.downgrades
    if held.kind:
        payload["format"] = "json" if held.schema is None else held.schema
    return Rendered(encoded(payload, request.extra), tuple(downgrades), request.max_tokens, held.label)


def constraint(request: ChatRequest) -> Constraint:
    """How the answer is held to what is wanted of it: Ollama decodes under the grammars of llama.cpp, whatever the model."""
    if request.response_format is None:
        return Constraint()
    return constrained(request.response_format, ("json_schema", "json_object"), LLAMA_CPP)


def _message(message: Message, tool: str | None) -> dict[str, Any]:
    rendered: dict[str, Any] = {"role": message.role.value, "content": text_of(message.texts)}
    images = [_image(part) for part in message.parts if isinstance(part, ImagePart)]
    if images:
        rendered["images"] = images
    own = message.opaque.get(OPAQUE)
    if message.role is Role.ASSISTANT and isinstance(own, Mapping):
        rendered |= own
    if message.tool_calls:
        rendered["tool_calls"] = [
            {"id": call.id, "function": {"name": call.name, "arguments": arguments_of(call)}}
            for call in message.tool_calls
        ]
    if message.role is Role.TOOL:
        rendered |= {"tool_name": tool, "tool_call_id": message.tool_call_id}
    return rendered


def _image(part: ImagePart) -> str:
    data = image_data(part)
    if data is None:
        raise InvalidRequest("Ollama fetches no images", detail="give the data of an image instead of its url")
    return data[1]


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.input_schema)}
    return {"type": "function", "function": function}
