"""Writes requests for OpenAI's chat completions; fields that a server does not support are left out and reported."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal
from urllib.parse import quote

import attrs
import msgspec

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
    ToolDefinition,
    non_empty,
)
from helmdeck_providers.http.media_turns import media_in_user_turns
from helmdeck_providers.http.rendering import (
    Rendered,
    cache_key,
    encode_payload,
    file_url,
    first_stops,
    function_call,
    function_tool,
    image_data,
    image_url,
    path_segment,
    text_of,
    unsupported_part,
)
from helmdeck_providers.http.settings import provider_options
from helmdeck_providers.schemas.constraint import constrained
from helmdeck_providers.schemas.server_dialects import BY_MODEL, check_dialects, dialect_of
from helmdeck_providers.schemas.tool_schema import tool_schema
from helmdeck_providers.wire_formats.openai_chat.likelihoods import PATH, render_likelihood

MISTRAL: Final = ("mistral", "ministral", "magistral", "devstral", "codestral", "pixtral")
"""Name prefixes of Mistral's models on servers of others."""
MISTRAL_ID_CHARS: Final = 9

TOOL_CHOICES = ("auto", "none", "required", "named")


@attrs.frozen(kw_only=True)
class Options:
    """The options of ``[providers.NAME.options]``, one per field: how a server differs from OpenAI's.

    :ivar max_tokens_field: field of the output limit.
    :ivar response_formats: supported kinds of response format. An optional schema is used if ``json_schema`` comes first.
    :ivar schema_dialects: model name prefixes to names of schema dialects; ``none`` for models without schemas. The
        longest prefix wins.
    :ivar has_json_mode_schemas: JSON mode takes a schema in its field ``schema``, and every schema is sent there.
    :ivar has_lone_schemas: the server rejects a schema together with tools or in a streaming request.
    :ivar has_stream_usage: request the token usage at the end of a stream.
    :ivar has_cache_key: send a hash of the cached prefix as ``prompt_cache_key``, so that requests that share it reach the
        same cache.
    :ivar cache_marker_models: name prefixes of models whose cached prefix needs a marker at its end.
    :ivar fixed_temperature_models: name prefixes of models that reject a temperature.
    :ivar without_stop_models: name prefixes of models that reject stop sequences.
    :ivar most_stops: maximum number of stop sequences; 0 for no limit.
    :ivar tool_choices: supported tool choices: ``auto``, ``none``, ``required``, and ``named`` for one tool.
    :ivar unforced_models: name prefixes of models that reject a forced tool call.
    :ivar prefill: how an answer is continued: ``trailing``, by the last message alone; ``prefix``, ``partial`` and
        ``continue_final_message``, by a field; ``none``, not supported.
    :ivar prefill_path: path of a continuation, if it has its own.
    :ivar prefill_server: start of the header ``server`` by which a server that continues answers is recognised; until a
        response has it, continuation is not supported. Empty if every server of the preset continues.
    :ivar has_tool_unions: the schema of a tool may have alternatives at its root (``anyOf``); otherwise they are merged.
    :ivar call_id_chars: the length of all ids of tool calls, which are letters and digits; 0 for any ids.
    :ivar has_tool_media: results of tools may contain images and files; otherwise these follow in a message of the user.
    :ivar takes_user_after_tool: a message of the user may follow results of tools; otherwise one of the assistant is put between.
    :ivar mistral_models: name prefixes of models whose templates reject ids of calls other than nine letters and digits, and a
        message of the user after results of tools, on any server.
    :ivar returned_fields: response fields to send back with the turn: ``reasoning_details``, ``reasoning_content``.
    :ivar is_final_without_reason: the server sends no stop reason; usage and the end mark of the stream make a response
        complete.
    :ivar has_logprobs: the server returns log-probabilities of tokens on request.
    :ivar likelihoods: how the server computes the likelihood of a text: ``grammar``, by a grammar that allows nothing else,
        as llama.cpp; ``echo``, by the log-probabilities of the prompt, as vLLM; ``none``, not supported.
    :ivar key_header: header of the key, if it is not ``authorization``.
    :ivar path: path of a request, relative to the base URL; ``{model}`` is replaced by the model.
    :ivar models_path: path of the model list.
    :ivar api_version: sent with every request as the parameter ``api-version``.
    """

    max_tokens_field: str = attrs.field(default="max_tokens", validator=non_empty)
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
    prefill: Literal["none", "trailing", "prefix", "partial", "continue_final_message"] = "none"
    prefill_path: str = ""
    prefill_server: str = ""
    has_tool_unions: bool = True
    call_id_chars: int = 0
    has_tool_media: bool = False
    takes_user_after_tool: bool = True
    mistral_models: tuple[str, ...] = MISTRAL
    returned_fields: tuple[str, ...] = ()
    is_final_without_reason: bool = False
    has_logprobs: bool = True
    likelihoods: Literal["none", "grammar", "echo"] = "none"
    key_header: str = attrs.field(default="authorization", validator=non_empty)
    path: str = attrs.field(default="/chat/completions", validator=non_empty)
    models_path: str = attrs.field(default="/models", validator=non_empty)
    api_version: str = ""

    @classmethod
    def read(cls, settings: ProviderSettings) -> Options:
        """Read the options of a deployment, which override those of its preset.

        :raises InvalidRequest: an unknown option, or a value of the wrong type.
        """
        options = provider_options(settings, cls)
        check_dialects(settings, "schema_dialects", options.schema_dialects)
        return options

    def request_path(self, request: ChatRequest) -> str:
        """Return the path of a request, relative to the base URL.

        :raises InvalidRequest: the model name would change the path.
        """
        path = self.prefill_path if request.continues and self.prefill_path else self.path
        if request.likelihood is not None and self.likelihoods != "none":
            path = PATH
        return self.versioned(path.replace("{model}", path_segment(request)) if "{model}" in path else path)

    def versioned(self, path: str) -> str:
        """Return the path with the API version."""
        return f"{path}?api-version={quote(self.api_version, safe='')}" if self.api_version else path


def render(request: ChatRequest, options: Options) -> Rendered:
    """Write a request body.

    :raises InvalidRequest: the request contains something that cannot be sent.
    """
    if request.likelihood is not None and options.likelihoods != "none":
        return render_likelihood(request, request.likelihood, options.likelihoods)
    model = ModelId.parse(request.model).name
    marks = model.startswith(options.cache_marker_models)
    downgrades: list[str] = []
    if options.mistral_models and model.lower().startswith(options.mistral_models):
        chars = options.call_id_chars or MISTRAL_ID_CHARS
        options = attrs.evolve(options, call_id_chars=chars, takes_user_after_tool=False)
    turns = media_in_user_turns(request.messages, *((Role.TOOL,) if options.has_tool_media else ()))
    if not options.takes_user_after_tool:
        turns = _with_turns_between(turns)
    messages = [_message(message, options, marks=marks) for message in turns]
    payload: dict[str, Any] = {"model": model, "messages": messages}
    if request.continues:
        payload |= _prefill(messages, options.prefill)
    if request.max_tokens is not None:
        payload[options.max_tokens_field] = request.max_tokens
    if request.temperature is not None:
        if model.startswith(options.fixed_temperature_models):
            downgrades.append(f"temperature {request.temperature:g} left out")
        else:
            payload["temperature"] = request.temperature
    if request.logprobs and options.has_logprobs:
        payload |= {"logprobs": True, "top_logprobs": request.logprobs}
    if request.tools:
        tools = request.tools
        if not options.has_tool_unions:
            tools = tuple(attrs.evolve(tool, input_schema=tool_schema(tool, downgrades)) for tool in tools)
        payload |= _tools(tools, request.tool_choice, _choices(model, options), downgrades)
    held = constraint(request, options)
    if held.kind:
        payload["response_format"] = _response_format(request, held, options)
    downgrades += held.downgrades
    if request.stop:
        most = 0 if model.startswith(options.without_stop_models) else options.most_stops or None
        payload |= {"stop": stops} if (stops := first_stops(request.stop, most, downgrades)) else {}
    if options.has_cache_key and (key := cache_key(request.messages)):
        payload["prompt_cache_key"] = key
    if request.stream:
        payload["stream"] = True
        if options.has_stream_usage:
            payload["stream_options"] = {"include_usage": True}
    return Rendered(encode_payload(payload, request.extra), tuple(downgrades), request.max_tokens, held.label)


def _prefill(messages: list[dict[str, Any]], mode: str) -> dict[str, Any]:
    if mode == "none":
        raise InvalidRequest(
            "this provider cannot continue an answer of the model",
            sub_cause="prefill_unsupported",
            detail="ask for the rest in a user message, or set the option prefill if the server supports it",
        )
    if mode in ("prefix", "partial"):
        messages[-1][mode] = True
    # Without the second field the template would start a new answer.
    return {"continue_final_message": True, "add_generation_prompt": False} if mode == "continue_final_message" else {}


# -- messages -------------------------------------------------------------------------------------------------


def _with_turns_between(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield the messages with one of the assistant between results of tools and a message of the user."""
    before: Role | None = None
    for message in messages:
        if before is Role.TOOL and message.role is Role.USER:
            yield Message(Role.ASSISTANT, (TextPart("(results received)"),))
        yield message
        before = message.role


def _message(message: Message, options: Options, *, marks: bool) -> dict[str, Any]:
    rendered: dict[str, Any] = {"role": message.role.value, "content": _content(message.parts, marks=marks)}
    chars = options.call_id_chars
    if message.tool_calls:
        rendered["content"] = rendered["content"] or None
        calls = [attrs.evolve(call, id=_id(call.id, chars)) for call in message.tool_calls]
        rendered["tool_calls"] = list(map(function_call, calls))
    if message.tool_call_id is not None:
        rendered["tool_call_id"] = _id(message.tool_call_id, chars)
    rendered |= {name: message.opaque[name] for name in options.returned_fields if name in message.opaque}
    return rendered


def _id(call_id: str, chars: int) -> str:
    """Return the id of a call, or a hash where the server does not accept it, so that different ids stay different."""
    if not chars or (len(call_id) == chars and call_id.isascii() and call_id.isalnum()):
        return call_id
    return hashlib.blake2s(call_id.encode("utf-8", "replace")).hexdigest()[:chars]


def _content(parts: Sequence[Part], *, marks: bool) -> str | msgspec.Raw | list[dict[str, Any]]:
    # Every server accepts a plain string; a list is needed for images and cache markers.
    texts = [part for part in parts if isinstance(part, TextPart)]
    if len(texts) == len(parts) and not (marks and any(part.ends_prefix for part in texts)):
        return text_of(texts)
    return [_text(part, marks=marks) if isinstance(part, TextPart) else _media(part) for part in parts]


def _text(part: TextPart, *, marks: bool) -> dict[str, Any]:
    rendered: dict[str, Any] = {"type": "text", "text": text_of((part,))}
    if marks and part.ends_prefix:
        rendered["cache_control"] = {"type": "ephemeral"}
    return rendered


_AUDIO = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav", "audio/mp3": "mp3", "audio/mpeg": "mp3"}


def _media(part: ImagePart | FilePart) -> dict[str, Any]:
    if isinstance(part, FilePart):
        data = image_data(part)
        if data is not None and (kind := _AUDIO.get(data[0])):
            return {"type": "input_audio", "input_audio": {"data": data[1], "format": kind}}
        if data is None or data[0] != "application/pdf":
            raise unsupported_part(
                part, "chat completions", "images", "WAV and MP3 audio", "PDF (all but images as data)"
            )
        return {"type": "file", "file": {"filename": part.name or "file.pdf", "file_data": file_url(part)}}
    return {"type": "image_url", "image_url": {"url": image_url(part)}}


# -- tools and formats ----------------------------------------------------------------------------------------


def _choices(model: str, options: Options) -> Sequence[str]:
    forcing = ("required", "named") if model.startswith(options.unforced_models) else ()
    return [kind for kind in options.tool_choices if kind not in forcing]


def _tools(
    tools: Sequence[ToolDefinition], choice: str | None, supported: Sequence[str], downgrades: list[str]
) -> dict[str, Any]:
    payload = {"tools": [function_tool(tool) for tool in tools]}
    if choice is None:
        return payload
    kind = choice if choice in TOOL_CHOICES[:3] else "named"
    if kind in supported:
        named = {"type": "function", "function": {"name": choice}}
        return {**payload, "tool_choice": named if kind == "named" else choice}
    if kind == "none":
        return {}  # a tool that is not sent is not called
    only = [function_tool(tool) for tool in tools if tool.name == choice]
    if kind == "named" and only and "required" in supported:
        return {"tools": only, "tool_choice": "required"}
    downgrades.append(f"tool_choice {choice} -> auto")
    return payload


def constraint(request: ChatRequest, options: Options) -> Constraint:
    """Return how the answer is constrained."""
    dialect = dialect_of(ModelId.parse(request.model).name, options.schema_dialects)
    if options.has_lone_schemas and (request.tools or request.stream):
        dialect = None
    return constrained(request.response_format, options.response_formats, dialect)


def _response_format(request: ChatRequest, held: Constraint, options: Options) -> dict[str, Any]:
    if held.schema is None:
        return {"type": held.kind}
    if options.has_json_mode_schemas:
        return {"type": "json_object", "schema": held.schema}
    name = request.response_format.name if request.response_format is not None else ""
    schema: dict[str, Any] = {"name": name, "schema": held.schema}
    if held.is_strict:
        schema["strict"] = True
    return {"type": held.kind, "json_schema": schema}
