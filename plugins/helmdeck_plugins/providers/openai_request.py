"""Writes a request in the form of OpenAI's chat completions; what a server does not take is left out and reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import attrs
import msgspec

from helmdeck_core import (
    ChatRequest,
    Constraint,
    ImagePart,
    InvalidRequest,
    Message,
    ModelId,
    ProviderSettings,
    TextPart,
    ToolDefinition,
    constrained,
)
from helmdeck_plugins.providers.dialects import BY_MODEL, check_dialects, dialect_of
from helmdeck_plugins.providers.options import one_of, read_options
from helmdeck_provider_kit import Rendered, cache_key, encoded, first_stops, image_url, text_of

PREFILLS = ("none", "trailing", "prefix", "partial", "continue_final_message")
TOOL_CHOICES = ("auto", "none", "required", "named")


@attrs.frozen(kw_only=True)
class Quirks:
    """How one server differs; every field is also an option of ``[providers.NAME.options]``.

    :ivar max_tokens_field: where the output limit goes.
    :ivar response_formats: the kinds that the server takes. A schema that is only offered is taken where ``json_schema``
        stands first.
    :ivar schema_dialects: beginnings of model names, and how a schema is written for those models: the name of a dialect,
        or ``none`` for models that take no schema. The longest beginning counts.
    :ivar has_json_mode_schemas: JSON mode takes a schema in its field ``schema``, and every schema goes there.
    :ivar has_lone_schemas: a schema is refused beside tools and in a request for a stream.
    :ivar has_stream_usage: a stream is asked to end with its usage.
    :ivar has_cache_key: a cached prefix is named in ``prompt_cache_key``, so that requests with it come together.
    :ivar cache_marker_models: beginnings of model names whose cached prefix needs a marker at its end.
    :ivar fixed_temperature_models: beginnings of model names that refuse a temperature.
    :ivar without_stop_models: beginnings of model names that refuse stop sequences.
    :ivar most_stops: how many stop sequences are taken; 0 for any number.
    :ivar tool_choices: the kinds that the server takes: ``auto``, ``none``, ``required``, and ``named`` for one tool.
    :ivar unforced_models: beginnings of model names that refuse to be held to a tool.
    :ivar prefill: how an answer is continued: ``trailing``, the last message is enough; ``prefix``, ``partial`` and
        ``continue_final_message``, a field says so; ``none``, not at all.
    :ivar prefill_path: where a continuation goes, if elsewhere.
    :ivar returned_fields: fields of an answer that go back with it: ``reasoning_details``, ``reasoning_content``.
    :ivar is_final_without_reason: the server gives no stop reason though it is done, if usage and an end mark came.
    :ivar key_header: the header with the key, where it is not ``authorization``.
    :ivar path: where a request goes, from the base URL on; ``{model}`` stands for the model.
    :ivar models_path: where the models are listed.
    :ivar api_version: goes with every request as the parameter ``api-version``.
    """

    max_tokens_field: str = "max_tokens"
    response_formats: tuple[str, ...] = ("json_schema", "json_object")
    schema_dialects: Mapping[str, str] = attrs.field(default=BY_MODEL, hash=False)
    has_json_mode_schemas: bool = False
    has_lone_schemas: bool = False
    has_stream_usage: bool = True
    has_cache_key: bool = False
    cache_marker_models: tuple[str, ...] = ()
    fixed_temperature_models: tuple[str, ...] = ()
    without_stop_models: tuple[str, ...] = ()
    most_stops: int = 0
    tool_choices: tuple[str, ...] = TOOL_CHOICES
    unforced_models: tuple[str, ...] = ()
    prefill: str = "none"
    prefill_path: str = ""
    returned_fields: tuple[str, ...] = ()
    is_final_without_reason: bool = False
    key_header: str = "authorization"
    path: str = "/chat/completions"
    models_path: str = "/models"
    api_version: str = ""

    @classmethod
    def read(cls, settings: ProviderSettings) -> Quirks:
        """Read the options of a deployment, which stand over those of its preset.

        :raises InvalidRequest: an option that does not exist, or a value of the wrong type.
        """
        quirks = read_options(cls, settings)
        one_of(settings, "prefill", quirks.prefill, PREFILLS)
        check_dialects(settings, "schema_dialects", quirks.schema_dialects)
        return quirks

    def address(self, request: ChatRequest) -> str:
        """Where a request goes, from the base URL on."""
        path = self.prefill_path if request.continues and self.prefill_path else self.path
        return self.versioned(path.replace("{model}", quote(ModelId.parse(request.model).name, safe="")))

    def versioned(self, path: str) -> str:
        """The path with what every request carries."""
        return f"{path}?api-version={quote(self.api_version, safe='')}" if self.api_version else path


def key_headers(key: str | None, name: str) -> Mapping[str, str]:
    """The header with the key: in the standard one as a bearer, in another one bare."""
    if not key:
        return {}
    return {name: f"Bearer {key}" if name == "authorization" else key}


def render(request: ChatRequest, quirks: Quirks) -> Rendered:
    """Write a request.

    :raises InvalidRequest: it holds something that cannot be sent.
    """
    model = ModelId.parse(request.model).name
    marks = model.startswith(quirks.cache_marker_models)
    downgrades: list[str] = []
    messages = [_message(message, quirks.returned_fields, marks=marks) for message in request.messages]
    payload: dict[str, Any] = {"model": model, "messages": messages}
    if request.continues:
        payload |= _prefill(messages, quirks.prefill)
    if request.max_tokens is not None:
        payload[quirks.max_tokens_field] = request.max_tokens
    if request.temperature is not None:
        if model.startswith(quirks.fixed_temperature_models):
            downgrades.append(f"temperature {request.temperature:g} left out")
        else:
            payload["temperature"] = request.temperature
    if request.tools:
        payload |= _tools(request.tools, request.tool_choice, _choices(model, quirks), downgrades)
    held = constraint(request, quirks)
    if held.kind:
        payload["response_format"] = _response_format(request, held, quirks)
    downgrades += held.downgrades
    if request.stop:
        most = 0 if model.startswith(quirks.without_stop_models) else quirks.most_stops or None
        payload |= {"stop": stops} if (stops := first_stops(request.stop, most, downgrades)) else {}
    if quirks.has_cache_key and (key := cache_key(request.messages)):
        payload["prompt_cache_key"] = key
    if request.stream:
        payload["stream"] = True
        if quirks.has_stream_usage:
            payload["stream_options"] = {"include_usage": True}
    return Rendered(encoded(payload, request.extra), tuple(downgrades), request.max_tokens, held.label)


def _prefill(messages: list[dict[str, Any]], way: str) -> dict[str, Any]:
    if way == "none":
        raise InvalidRequest(
            "this provider cannot continue an answer of the model",
            sub_cause="prefill_unsupported",
            detail="ask for the rest in a message of the user, or set the option prefill if the server can",
        )
    if way in ("prefix", "partial"):
        messages[-1][way] = True
    # Without the second field the template would begin a new answer.
    return {"continue_final_message": True, "add_generation_prompt": False} if way == "continue_final_message" else {}


# -- messages -------------------------------------------------------------------------------------------------


def _message(message: Message, returned_fields: Sequence[str], *, marks: bool) -> dict[str, Any]:
    rendered: dict[str, Any] = {"role": message.role.value, "content": _content(message.parts, marks=marks)}
    if message.tool_calls:
        rendered["content"] = rendered["content"] or None
        rendered["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        rendered["tool_call_id"] = message.tool_call_id
    rendered |= {name: message.opaque[name] for name in returned_fields if name in message.opaque}
    return rendered


def _content(parts: Sequence[TextPart | ImagePart], *, marks: bool) -> str | msgspec.Raw | list[dict[str, Any]]:
    # Every server takes a plain string; lists are for what a string cannot say.
    texts = [part for part in parts if isinstance(part, TextPart)]
    if len(texts) == len(parts) and not (marks and any(part.ends_prefix for part in texts)):
        return text_of(texts)
    return [_text(part, marks=marks) if isinstance(part, TextPart) else _image(part) for part in parts]


def _text(part: TextPart, *, marks: bool) -> dict[str, Any]:
    rendered: dict[str, Any] = {"type": "text", "text": text_of((part,))}
    if marks and part.ends_prefix:
        rendered["cache_control"] = {"type": "ephemeral"}
    return rendered


def _image(part: ImagePart) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": image_url(part)}}


# -- tools and formats ----------------------------------------------------------------------------------------


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.input_schema)}
    return {"type": "function", "function": function}


def _choices(model: str, quirks: Quirks) -> Sequence[str]:
    forcing = ("required", "named") if model.startswith(quirks.unforced_models) else ()
    return [kind for kind in quirks.tool_choices if kind not in forcing]


def _tools(
    tools: Sequence[ToolDefinition], choice: str | None, taken: Sequence[str], downgrades: list[str]
) -> dict[str, Any]:
    written = {"tools": [_tool(tool) for tool in tools]}
    if choice is None:
        return written
    kind = choice if choice in TOOL_CHOICES[:3] else "named"
    if kind in taken:
        named = {"type": "function", "function": {"name": choice}}
        return {**written, "tool_choice": named if kind == "named" else choice}
    if kind == "none":
        return {}  # a tool that is not offered is not called
    only = [_tool(tool) for tool in tools if tool.name == choice]
    if kind == "named" and only and "required" in taken:
        return {"tools": only, "tool_choice": "required"}
    downgrades.append(f"tool_choice {choice} -> auto")
    return written


def constraint(request: ChatRequest, quirks: Quirks) -> Constraint:
    """How the answer is held to what is wanted of it."""
    if request.response_format is None:
        return Constraint()
    dialect = dialect_of(ModelId.parse(request.model).name, quirks.schema_dialects)
    if quirks.has_lone_schemas and (request.tools or request.stream):
        dialect = None
    return constrained(request.response_format, quirks.response_formats, dialect)


def _response_format(request: ChatRequest, held: Constraint, quirks: Quirks) -> dict[str, Any]:
    if held.schema is None:
        return {"type": held.kind}
    if quirks.has_json_mode_schemas:
        return {"type": "json_object", "schema": held.schema}
    name = request.response_format.name if request.response_format is not None else ""
    schema: dict[str, Any] = {"name": name, "schema": held.schema}
    if held.is_strict:
        schema["strict"] = True
    return {"type": held.kind, "json_schema": schema}
