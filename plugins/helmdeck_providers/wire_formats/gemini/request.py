"""Writes requests for Gemini's generateContent; fields that a model does not support are left out and reported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import quote

import attrs

from helmdeck_core import (
    ChatRequest,
    Constraint,
    FilePart,
    ImagePart,
    InvalidRequest,
    Message,
    ModelId,
    Part,
    ProviderSettings,
    Role,
    TextPart,
    ToolCall,
    ToolDefinition,
    non_empty,
)
from helmdeck_providers.http.rendering import (
    Rendered,
    arguments_of,
    encode_payload,
    first_stops,
    image_data,
    names_of_calls,
    returned_fields,
    text_of,
)
from helmdeck_providers.http.settings import provider_options, refused_setting
from helmdeck_providers.schemas.adapt import adapt_schema
from helmdeck_providers.schemas.constraint import constrained
from helmdeck_providers.schemas.server_dialects import GEMINI, OPENAPI
from helmdeck_providers.schemas.tool_schema import tool_schema

OPAQUE = "gemini"
"""Key of the response parts in ``opaque``."""

_MOST_STOPS = 5
_NO_SIGNATURE = "skip_thought_signature_validator"
"""Signature of calls that another model made (ai.google.dev, Thought signatures)."""


@attrs.frozen(kw_only=True)
class Options:
    """The options of ``[providers.NAME.options]``, one per field.

    :ivar auth: ``key`` for an API key, or ``bearer`` for an access token of Google Cloud.
    :ivar models_path: path of the models, such as ``publishers/google/models``.
    :ivar project: Google Cloud project; model paths start with it.
    :ivar location: Google Cloud location, such as ``europe-west1``.
    :ivar response_formats: supported kinds of response format. An optional schema is used if ``json_schema`` comes first.
    :ivar schemas: ``json_schema``, or ``openapi`` for servers that support only the older fields.
    :ivar json_with_tools_models: name prefixes of models that accept a response format together with tools.
    :ivar signed_models: name prefixes of models that reject an earlier call without a signature.
    """

    auth: Literal["key", "bearer"] = "key"
    models_path: str = attrs.field(default="models", validator=non_empty)
    project: str = ""
    location: str = attrs.field(default="global", validator=non_empty)
    response_formats: tuple[str, ...] = ("json_schema", "json_object")
    schemas: Literal["json_schema", "openapi"] = "json_schema"
    json_with_tools_models: tuple[str, ...] = ("gemini-3",)
    signed_models: tuple[str, ...] = ("gemini-3",)

    @classmethod
    def read(cls, settings: ProviderSettings) -> Options:
        """Read the options of a deployment.

        :raises InvalidRequest: an unknown option, or an invalid value.
        """
        options = provider_options(settings, cls)
        for name, safe in (("models_path", "-/"), ("project", "-.:"), ("location", "-")):
            value = getattr(options, name)
            if value != quote(value, safe=safe):
                raise refused_setting(settings, f"options.{name}", f"found {value!r}, which is not valid in a URL")
        return options


def request_path(request: ChatRequest, options: Options) -> str:
    """Return the path of a request, relative to the base URL.

    :raises InvalidRequest: the model name is invalid.
    """
    name = ModelId.parse(request.model).name
    if not {".", ".."}.isdisjoint(name.split("/")):
        raise InvalidRequest(f"{name!r} is not a model name", model=request.model)
    method = ":streamGenerateContent?alt=sse" if request.stream else ":generateContent"
    # A tuned model, or a model of another publisher, is named by its full path.
    prefix = (
        "" if name.startswith(("models/", "tunedModels/", "publishers/", "projects/")) else f"{options.models_path}/"
    )
    if options.project and not name.startswith("projects/"):
        prefix = f"projects/{options.project}/locations/{options.location}/{prefix}"
    return f"/{prefix}" + quote(name, safe="/-._~@") + method


def render(request: ChatRequest, options: Options) -> Rendered:
    """Write a request body.

    :raises InvalidRequest: the request contains something that cannot be sent.
    """
    downgrades: list[str] = []
    # The token represents the answer so far, which is not sent again.
    token = _continuation(request.messages) if request.continues else {}
    is_signed = ModelId.parse(request.model).name.startswith(options.signed_models)
    system, contents = _conversation(request.messages[:-1] if token else request.messages, is_signed=is_signed)
    payload: dict[str, Any] = {"contents": contents, **token}
    if system:
        payload["systemInstruction"] = {"parts": system}
    config: dict[str, Any] = {}
    if request.max_tokens is not None:
        config["maxOutputTokens"] = request.max_tokens
    if request.temperature is not None:
        config["temperature"] = request.temperature
    if request.stop:
        config["stopSequences"] = first_stops(request.stop, _MOST_STOPS, downgrades)
    held = constraint(request, options)
    downgrades += held.downgrades
    if held.kind:
        config["responseMimeType"] = "application/json"
    if held.schema is not None:
        config["responseSchema" if options.schemas == "openapi" else "responseJsonSchema"] = held.schema
    if config:
        payload["generationConfig"] = config
    if request.tools:
        payload["tools"] = [{"functionDeclarations": [_tool(tool, options, downgrades) for tool in request.tools]}]
        if request.tool_choice is not None:
            payload["toolConfig"] = {"functionCallingConfig": _tool_choice(request.tool_choice)}
    return Rendered(encode_payload(payload, request.extra), tuple(downgrades), request.max_tokens, held.label)


def constraint(request: ChatRequest, options: Options) -> Constraint:
    """Return how the answer is constrained; only newer models support a response format together with tools."""
    wanted = request.response_format
    if wanted is None:
        return Constraint()
    if request.tools and not ModelId.parse(request.model).name.startswith(options.json_with_tools_models):
        downgrades = () if wanted.is_optional else (f"response_format {wanted.kind} left out: there are tools",)
        return Constraint(downgrades=downgrades)
    return constrained(wanted, options.response_formats, OPENAPI if options.schemas == "openapi" else GEMINI)


# -- messages -------------------------------------------------------------------------------------------------


def _conversation(messages: Sequence[Message], *, is_signed: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the system parts and the turns; the API requires all results of one turn's calls in one turn."""
    system: list[dict[str, Any]] = []
    turns: list[dict[str, Any]] = []
    tools = names_of_calls(messages)
    own_ids: set[str] = set()
    for place, message in enumerate(messages):
        if message.role is Role.SYSTEM:
            system += _parts(message.parts)
            continue
        if message.role is Role.ASSISTANT:
            role, parts = "model", _answer(message)
            first = next((part for part in parts if "functionCall" in part), None)
            if is_signed and first is not None:
                first.setdefault("thoughtSignature", _NO_SIGNATURE)
            own_ids |= {str(table["id"]) for part in parts if "id" in (table := part.get("functionCall") or {})}
        elif message.role is Role.TOOL:
            role, parts = "user", _result(message, tools[place], own_ids)
        else:
            role, parts = "user", _parts(message.parts)
        if turns and turns[-1]["role"] == role:
            turns[-1]["parts"] += parts
        elif parts:
            turns.append({"role": role, "parts": parts})
    return system, turns


def _answer(message: Message) -> list[dict[str, Any]]:
    """Write a model turn: its original parts where they are known, since signatures belong to parts."""
    parts = [dict(part) for part in returned_fields(message, OPAQUE).get("parts", ()) if isinstance(part, Mapping)]
    if parts and _text_and_call_names(parts) == (message.text, [call.name for call in message.tool_calls]):
        calls = iter(message.tool_calls)
        return [
            _updated(part, next(calls)) if isinstance(part.get("functionCall"), Mapping) else part for part in parts
        ]
    return [*_parts(message.parts), *map(_call, message.tool_calls)]


def _text_and_call_names(parts: Iterable[Mapping[str, Any]]) -> tuple[str, list[str]]:
    parts = list(parts)
    text = "".join(str(part["text"]) for part in parts if "text" in part and part.get("thought") is not True)
    calls = [part["functionCall"] for part in parts if isinstance(part.get("functionCall"), Mapping)]
    return text, [str(call.get("name")) for call in calls]


def _updated(part: dict[str, Any], call: ToolCall) -> dict[str, Any]:
    """Return the original part of a call with the message's arguments, which may have been edited or redacted since."""
    original, args = part["functionCall"], arguments_of(call)
    return part if args == (original.get("args") or {}) else {**part, "functionCall": {**original, "args": args}}


def _call(call: ToolCall) -> dict[str, Any]:
    return {"functionCall": {"name": call.name, "args": arguments_of(call)}}


def _result(message: Message, tool: str, own_ids: set[str]) -> list[dict[str, Any]]:
    response: dict[str, Any] = {"name": tool, "response": {"result": message.text}}
    if message.tool_call_id in own_ids:  # the API does not know generated ids
        response["id"] = message.tool_call_id
    images = [_media(part) for part in message.parts if not isinstance(part, TextPart)]
    return [{"functionResponse": response}, *images]


def _parts(parts: Iterable[Part]) -> list[dict[str, Any]]:
    return [
        {"text": text_of((part,))} if isinstance(part, TextPart) else _media(part)
        for part in parts
        if not isinstance(part, TextPart) or part.text
    ]


def _media(part: ImagePart | FilePart) -> dict[str, Any]:
    data = image_data(part)
    if data is None:
        return {"fileData": {"mimeType": part.media_type, "fileUri": part.url}}
    return {"inlineData": {"mimeType": data[0], "data": data[1]}}


def _continuation(messages: Sequence[Message]) -> dict[str, Any]:
    token = returned_fields(messages[-1], OPAQUE).get("continuationToken") if messages else None
    if not token:
        detail = (
            "the API continues only answers that came with a continuation token; ask for the rest in a user message"
        )
        raise InvalidRequest("the answer cannot be continued", sub_cause="prefill_unsupported", detail=detail)
    return {"continuationToken": token}


# -- tools and formats ----------------------------------------------------------------------------------------


def _tool(tool: ToolDefinition, options: Options, downgrades: list[str]) -> dict[str, Any]:
    declaration: dict[str, Any] = {"name": tool.name, "description": tool.description}
    # A schema without properties is rejected; leaving it out is equivalent.
    schema = tool_schema(tool, downgrades)
    if schema.get("properties"):
        narrow = options.schemas == "openapi"
        if narrow:
            adapted = adapt_schema(schema, OPENAPI)
            schema = dict(adapted.schema)
            if adapted.lost:
                downgrades.append(f"schema of tool {tool.name!r} loosened: {', '.join(adapted.lost)}")
        declaration["parameters" if narrow else "parametersJsonSchema"] = schema
    return declaration


def _tool_choice(choice: str) -> dict[str, Any]:
    mode = {"auto": "AUTO", "none": "NONE", "required": "ANY"}.get(choice)
    return {"mode": mode} if mode else {"mode": "ANY", "allowedFunctionNames": [choice]}
