"""Writes requests for OpenAI's Responses API; unsupported fields are left out and reported."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
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
    Part,
    ProviderSettings,
    Role,
    TextPart,
    ToolCall,
    above_zero,
    non_empty,
)
from helmdeck_providers.http.bodies import count, rows
from helmdeck_providers.http.media_turns import media_in_user_turns
from helmdeck_providers.http.rendering import (
    Rendered,
    cache_key,
    encode_payload,
    file_url,
    image_data,
    image_url,
    text_of,
    unsupported_part,
)
from helmdeck_providers.http.settings import provider_options
from helmdeck_providers.schemas.constraint import constrained
from helmdeck_providers.schemas.server_dialects import BY_MODEL, check_dialects, dialect_of
from helmdeck_providers.schemas.tool_schema import tool_schema


@attrs.frozen(kw_only=True)
class Options:
    """The options of ``[providers.NAME.options]``, one per field: how a server differs from OpenAI's.

    :ivar reasoning_models: name prefixes of models that reject a temperature.
    :ivar encrypting_models: name prefixes of models that can return encrypted reasoning.
    :ivar response_formats: supported kinds of response format. An optional schema is used if ``json_schema`` comes first.
    :ivar schema_dialects: model name prefixes to names of schema dialects; ``none`` for models without schemas. The
        longest prefix wins.
    :ivar is_stored: let the server store the response, which is the API's default.
    :ivar poll_ms: first polling interval for a background response, in milliseconds; later intervals grow.
    :ivar has_cache_key: send a hash of the cached prefix as ``prompt_cache_key``, so that requests that share it reach the
        same cache.
    :ivar key_header: header of the key, if it is not ``authorization``.
    """

    reasoning_models: tuple[str, ...] = ()
    encrypting_models: tuple[str, ...] = ()
    response_formats: tuple[str, ...] = ("json_schema", "json_object")
    schema_dialects: Mapping[str, str] = attrs.field(default=BY_MODEL, hash=False)
    is_stored: bool = False
    poll_ms: int = attrs.field(default=500, validator=above_zero)
    has_cache_key: bool = False
    key_header: str = attrs.field(default="authorization", validator=non_empty)

    @classmethod
    def read(cls, settings: ProviderSettings) -> Options:
        """Read the options of a deployment, which override those of its preset.

        :raises InvalidRequest: an unknown option, or a value of the wrong type.
        """
        options = provider_options(settings, cls)
        check_dialects(settings, "schema_dialects", options.schema_dialects)
        return options


def render(request: ChatRequest, options: Options) -> Rendered:
    """Write a request body.

    :raises InvalidRequest: the request contains something that cannot be sent.
    """
    if request.continues:
        raise InvalidRequest(
            "this provider cannot continue an answer of the model",
            sub_cause="prefill_unsupported",
            detail="ask for the rest in a user message",
        )
    model = ModelId.parse(request.model).name
    is_reasoning = model.startswith(options.reasoning_models)
    downgrades: list[str] = []
    payload: dict[str, Any] = {
        "model": model,
        "input": [item for message in media_in_user_turns(request.messages, Role.TOOL) for item in _items(message)],
    }
    if not options.is_stored:
        if not request.extra.get("background"):  # a background response has to be stored
            payload["store"] = False
        # Without it the next turn would lose the reasoning of this one.
        if model.startswith(options.encrypting_models):
            payload["include"] = ["reasoning.encrypted_content"]
    if request.max_tokens is not None:
        payload["max_output_tokens"] = request.max_tokens
    if request.temperature is not None:
        if is_reasoning:
            downgrades.append(f"temperature {request.temperature:g} left out")
        else:
            payload["temperature"] = request.temperature
    if request.tools:
        # The API's default is strict.
        payload["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool_schema(tool, downgrades),
                "strict": False,
            }
            for tool in request.tools
        ]
        if request.tool_choice is not None:
            payload["tool_choice"] = _tool_choice(request.tool_choice)
    held = constraint(request, options)
    downgrades += held.downgrades
    if held.kind:
        payload["text"] = {"format": _format(request, held)}
    if request.stop:
        downgrades.append("stop left out")
    if options.has_cache_key and (key := cache_key(request.messages)):
        payload["prompt_cache_key"] = key
    if request.stream:
        payload["stream"] = True
    return Rendered(encode_payload(payload, request.extra), tuple(downgrades), request.max_tokens, held.label)


def constraint(request: ChatRequest, options: Options) -> Constraint:
    """Return how the answer is constrained."""
    dialect = dialect_of(ModelId.parse(request.model).name, options.schema_dialects)
    return constrained(request.response_format, options.response_formats, dialect)


# -- messages -------------------------------------------------------------------------------------------------


def _items(message: Message) -> Iterator[dict[str, Any]]:
    if message.role is Role.TOOL:
        yield {"type": "function_call_output", "call_id": message.tool_call_id or "", "output": _result(message)}
        return
    returned = rows(message.opaque.get("output"))
    texts = _texts(message, [item for item in returned if item.get("type") == "message"])
    calls = {call.id: _call(call) for call in message.tool_calls}
    # Returned items keep their original order; text and calls that are not listed among them follow.
    for item in returned:
        if item.get("type") == "message":
            yield from texts[:1]
            texts = texts[1:]
        elif item.get("type") == "function_call":
            yield from filter(None, [calls.pop(str(item.get("call_id")), None)])
        else:
            yield item
    yield from texts
    yield from calls.values()


def _texts(message: Message, returned: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the texts of a turn, with the phases that the model gave them; one text where it was edited since."""
    if not message.parts:
        return []
    phases = [str(item["phase"]) for item in returned if item.get("phase")]
    sizes = [count(item, "chars") for item in returned]
    is_unchanged = all(sizes) and sum(sizes) == len(message.text) and len(message.texts) == len(message.parts)
    if len(set(phases)) > 1 and is_unchanged:
        ends = itertools.accumulate(sizes)
        texts = [message.text[end - size : end] for size, end in zip(sizes, ends, strict=True)]
        return [
            {"role": message.role.value, "content": text, **({"phase": item["phase"]} if item.get("phase") else {})}
            for text, item in zip(texts, returned, strict=True)
        ]
    return [{"role": message.role.value, "content": _content(message), **({"phase": phases[-1]} if phases else {})}]


def _call(call: ToolCall) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}


def _content(message: Message) -> str | msgspec.Raw | list[dict[str, Any]]:
    if len(message.texts) == len(message.parts):
        return text_of(message.texts)
    return [_part(part) for part in message.parts]


def _result(message: Message) -> str | list[dict[str, Any]]:
    return message.text if len(message.texts) == len(message.parts) else [_part(part) for part in message.parts]


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "input_text", "text": text_of((part,))}
    if isinstance(part, ImagePart):
        return {"type": "input_image", "image_url": image_url(part)}
    if image_data(part) is None:
        return {"type": "input_file", "file_url": part.url}
    if part.media_type.startswith(("audio/", "video/")):
        raise unsupported_part(part, "the Responses API", "images", "documents")
    return {"type": "input_file", "filename": part.name or "file.pdf", "file_data": file_url(part)}


# -- tools and formats ----------------------------------------------------------------------------------------


def _tool_choice(choice: str) -> str | dict[str, Any]:
    return choice if choice in ("auto", "none", "required") else {"type": "function", "name": choice}


def _format(request: ChatRequest, held: Constraint) -> Mapping[str, Any]:
    if held.schema is None or request.response_format is None:
        return {"type": held.kind}
    return {"type": held.kind, "name": request.response_format.name, "schema": held.schema, "strict": held.is_strict}
