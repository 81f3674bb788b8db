"""Writes a request in the form of OpenAI's chat completions; what a server does not take is left out and reported."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import msgspec

from helmdeck_core import (
    ChatRequest,
    ImagePart,
    InvalidRequest,
    Message,
    ModelId,
    ProviderSettings,
    ResponseFormat,
    TextPart,
    ToolDefinition,
)

_ANY_OBJECT = {"type": "object"}


@attrs.frozen(kw_only=True)
class Quirks:
    """How one server differs; every field is also an option of ``[providers.NAME.options]``.

    :ivar max_tokens_field: where the output limit goes.
    :ivar response_formats: the kinds that the server takes.
    :ivar cache_marker_models: beginnings of model names whose cached prefix needs a marker at its end.
    :ivar fixed_temperature_models: beginnings of model names that refuse a temperature.
    """

    max_tokens_field: str = "max_tokens"
    response_formats: tuple[str, ...] = ("json_object", "json_schema")
    cache_marker_models: tuple[str, ...] = ()
    fixed_temperature_models: tuple[str, ...] = ()

    @classmethod
    def read(cls, settings: ProviderSettings) -> Quirks:
        """Read the options of a deployment, which stand over those of its preset.

        :raises InvalidRequest: an option that does not exist, or a value of the wrong type.
        """
        read: dict[str, Any] = {}
        kinds = {field.name: type(field.default) for field in attrs.fields(cls)}
        for name, value in settings.options.items():
            if name not in kinds:
                raise _refused(settings, name, f"there is no such option; allowed: {', '.join(kinds)}")
            if kinds[name] is str:
                if not isinstance(value, str) or not value:
                    raise _refused(settings, name, "not a text")
                read[name] = value
            else:
                if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
                    raise _refused(settings, name, "not a list of texts")
                read[name] = tuple(value)
        return cls(**read)


def _refused(settings: ProviderSettings, name: str, problem: str) -> InvalidRequest:
    return InvalidRequest(
        f"providers.{settings.name}.options.{name} cannot be used", provider=settings.name, detail=problem
    )


@attrs.frozen
class Rendered:
    """A request as it is sent, and what had to be left out of it."""

    body: bytes
    downgrades: tuple[str, ...] = ()


def render(request: ChatRequest, quirks: Quirks) -> Rendered:
    """Write a request.

    :raises InvalidRequest: it holds something that cannot be sent.
    """
    model = ModelId.parse(request.model).name
    marks = model.startswith(quirks.cache_marker_models)
    downgrades: list[str] = []
    payload: dict[str, Any] = {
        "model": model,
        "messages": [_message(message, marks=marks) for message in request.messages],
    }
    if request.max_tokens is not None:
        payload[quirks.max_tokens_field] = request.max_tokens
    if request.temperature is not None:
        if model.startswith(quirks.fixed_temperature_models):
            downgrades.append(f"temperature {request.temperature:g} left out")
        else:
            payload["temperature"] = request.temperature
    if request.tools:
        payload["tools"] = [_tool(tool) for tool in request.tools]
        if request.tool_choice is not None:
            payload["tool_choice"] = _tool_choice(request.tool_choice)
    if request.response_format is not None:
        payload |= _response_format(request.response_format, quirks.response_formats, downgrades)
    if request.stop:
        payload["stop"] = list(request.stop)
    return Rendered(_encoded(payload | dict(request.extra)), tuple(downgrades))


# -- messages -------------------------------------------------------------------------------------------------


def _message(message: Message, *, marks: bool) -> dict[str, Any]:
    rendered: dict[str, Any] = {"role": message.role.value, "content": _content(message.parts, marks=marks)}
    if message.tool_calls:
        rendered["content"] = rendered["content"] or None
        rendered["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        rendered["tool_call_id"] = message.tool_call_id
    return rendered


def _content(parts: Sequence[TextPart | ImagePart], *, marks: bool) -> str | list[dict[str, Any]]:
    # Every server takes a plain string; lists are for what a string cannot say.
    texts = [part for part in parts if isinstance(part, TextPart)]
    if len(texts) == len(parts) and not (marks and any(part.ends_prefix for part in texts)):
        return "".join(part.text for part in texts)
    return [_text(part, marks=marks) if isinstance(part, TextPart) else _image(part) for part in parts]


def _text(part: TextPart, *, marks: bool) -> dict[str, Any]:
    rendered: dict[str, Any] = {"type": "text", "text": part.text}
    if marks and part.ends_prefix:
        rendered["cache_control"] = {"type": "ephemeral"}
    return rendered


def _image(part: ImagePart) -> dict[str, Any]:
    url = part.url
    if part.data is not None:
        url = f"data:{part.media_type};base64,{base64.b64encode(part.data).decode('ascii')}"
    if not url:
        raise InvalidRequest("an image has neither data nor a url")
    return {"type": "image_url", "image_url": {"url": url}}


# -- tools and formats ----------------------------------------------------------------------------------------


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.input_schema)}
    return {"type": "function", "function": function}


def _tool_choice(choice: str) -> str | dict[str, Any]:
    if choice in ("auto", "none", "required"):
        return choice
    return {"type": "function", "function": {"name": choice}}


def _response_format(wanted: ResponseFormat, taken: Sequence[str], downgrades: list[str]) -> dict[str, Any]:
    kind = _nearest(wanted, taken)
    if kind != wanted.kind:
        downgrades.append(f"response_format {wanted.kind} {f'-> {kind}' if kind else 'left out'}")
    if kind is None:
        return {}
    if kind == "json_object":
        return {"response_format": {"type": kind}}
    # Without a schema of its own, JSON mode is the schema of any object.
    schema = {"name": wanted.name, "schema": dict(wanted.schema or _ANY_OBJECT)}
    return {"response_format": {"type": kind, "json_schema": schema}}


def _nearest(wanted: ResponseFormat, taken: Sequence[str]) -> str | None:
    order: tuple[str, ...] = ()
    if wanted.kind == "json_object":
        order = ("json_object", "json_schema")
    elif wanted.kind == "json_schema":
        order = ("json_schema", "json_object") if wanted.schema is not None else ("json_object",)
    return next((kind for kind in order if kind in taken), None)


def _encoded(payload: Mapping[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(payload)
    except UnicodeEncodeError:
        # Half a surrogate pair, as text that was cut by UTF-16 units has: nothing on the wire can carry it.
        return json.dumps(payload, ensure_ascii=False).encode("utf-8", "replace")
    except TypeError as exc:
        raise InvalidRequest("the request holds a value that JSON cannot say", detail=str(exc)) from exc
