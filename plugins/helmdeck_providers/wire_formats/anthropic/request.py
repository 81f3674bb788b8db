"""Writes requests for Anthropic's Messages API; fields that a model does not support are left out and reported."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal

import attrs

from helmdeck_core import (
    EMPTY,
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
    above_zero,
    non_empty,
)
from helmdeck_providers.http.media_turns import media_in_user_turns
from helmdeck_providers.http.rendering import (
    Rendered,
    arguments_of,
    encode_payload,
    image_data,
    returned_fields,
    text_of,
    unsupported_part,
)
from helmdeck_providers.http.settings import provider_options
from helmdeck_providers.schemas.constraint import constrained
from helmdeck_providers.schemas.server_dialects import ANTHROPIC, NONE, check_dialects, dialect_of
from helmdeck_providers.schemas.tool_schema import tool_schema

OPAQUE = "anthropic"
"""Key of the response blocks in ``opaque``."""

_WITHOUT_SAMPLING = "2026-10-21"
"""First API version that rejects every temperature."""
_MAX_MARKS = 4
_NOT_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")


_SCHEMA_DIALECTS: Mapping[str, str] = MappingProxyType(
    {
        "": ANTHROPIC.name,
        **dict.fromkeys(
            (
                "claude-2", "claude-instant", "claude-3", "claude-opus-4-0", "claude-opus-4-1", "claude-opus-4-2025",
                "claude-sonnet-4-0", "claude-sonnet-4-2025",
            ),
            NONE,
        ),
    }
)  # fmt: skip
"""Structured outputs came with 4.5. Models from 5 on reject a forced tool call instead."""


@attrs.frozen(kw_only=True)
class Options:
    """The options of ``[providers.NAME.options]``, one per field.

    :ivar auth: ``x-api-key``, or ``bearer`` for a token in ``authorization``.
    :ivar version: API version, sent as ``anthropic-version``.
    :ivar betas: sent as ``anthropic-beta``.
    :ivar max_tokens: output limit for requests without one; the API requires it.
    :ivar cache_ttl: lifetime of a cached prefix: ``5m`` or ``1h``.
    :ivar response_formats: supported kinds of response format.
    :ivar schema_dialects: model name prefixes to names of schema dialects; ``none`` for models without structured outputs.
        The longest prefix wins.
    :ivar prefill_models: name prefixes of models that continue an unfinished answer; newer models reject it.
    :ivar temperature_models: name prefixes of models that accept a temperature; newer models reject it.
    """

    auth: Literal["x-api-key", "bearer"] = "x-api-key"
    version: str = attrs.field(default="2023-06-01", validator=non_empty)
    betas: tuple[str, ...] = ()
    max_tokens: int = attrs.field(default=8_192, validator=above_zero)
    cache_ttl: Literal["5m", "1h"] = "5m"
    response_formats: tuple[str, ...] = ("json_schema",)
    schema_dialects: Mapping[str, str] = attrs.field(default=_SCHEMA_DIALECTS, hash=False)
    prefill_models: tuple[str, ...] = (
        "claude-2", "claude-instant", "claude-3", "claude-opus-4-0", "claude-opus-4-1", "claude-opus-4-2025",
        "claude-opus-4-5", "claude-sonnet-4-0", "claude-sonnet-4-2025", "claude-sonnet-4-5", "claude-haiku-4-5",
    )  # fmt: skip
    temperature_models: tuple[str, ...] = (
        "claude-2", "claude-instant", "claude-3", "claude-opus-4-0", "claude-opus-4-1", "claude-opus-4-2025",
        "claude-opus-4-5", "claude-opus-4-6", "claude-sonnet-4", "claude-haiku-4",
    )  # fmt: skip

    @classmethod
    def read(cls, settings: ProviderSettings) -> Options:
        """Read the options of a deployment.

        :raises InvalidRequest: an unknown option, or an invalid value.
        """
        options = provider_options(settings, cls)
        check_dialects(settings, "schema_dialects", options.schema_dialects)
        return options


BETA: Final = "anthropic-beta"
"""A header, and the extra field of a request that adds names to it."""
_BETAS: Final = re.compile(r"[\w.,: -]{0,4000}", re.ASCII)


def render(request: ChatRequest, options: Options) -> Rendered:
    """Write a request body.

    :raises InvalidRequest: the request contains something that cannot be sent.
    """
    model = ModelId.parse(request.model).name
    downgrades: list[str] = []
    marks = _Marks(options.cache_ttl)
    tools = [_tool(tool, marks, downgrades) for tool in request.tools]  # the prefix begins with them
    system, messages = _conversation(request.messages, marks)
    if request.continues and not _is_paused(request.messages):
        _check_prefill(model, request, options)
        _strip_end(messages)
    held = constraint(request, options)
    downgrades += held.downgrades
    max_tokens = options.max_tokens if request.max_tokens is None else request.max_tokens
    payload: dict[str, Any] = {"model": model, "max_tokens": max_tokens, "messages": messages}
    if system:
        payload["system"] = system
    if request.temperature is not None:
        if options.version < _WITHOUT_SAMPLING and model.startswith(options.temperature_models):
            payload["temperature"] = request.temperature
        else:
            downgrades.append(f"temperature {request.temperature:g} left out")
    if request.tools:
        payload["tools"] = tools
        if request.tool_choice is not None:
            payload["tool_choice"] = _tool_choice(request.tool_choice)
    if held.schema is not None:
        payload["output_config"] = {"format": {"type": held.kind, "schema": held.schema}}
    if request.stop:
        # A sequence of whitespace only is rejected.
        sequences = [sequence for sequence in request.stop if sequence.strip()]
        downgrades += ["whitespace-only stop sequence left out"] * (len(sequences) < len(request.stop))
        if sequences:
            payload["stop_sequences"] = sequences
    if request.stream:
        payload["stream"] = True
    marks.drop_all_but_last()
    extra = {name: value for name, value in request.extra.items() if name != BETA}
    headers = _beta_headers(options.betas, request.extra.get(BETA))
    return Rendered(encode_payload(payload, extra), tuple(downgrades), max_tokens, held.label, headers)


def _beta_headers(configured: Sequence[str], requested: Any) -> Mapping[str, str]:
    """Return the header that names the betas of one request, beside those of the settings.

    :raises InvalidRequest: they are not names.
    """
    if requested is None:
        return EMPTY
    if not isinstance(requested, str) or not _BETAS.fullmatch(requested):
        raise InvalidRequest(f"{BETA} has to be names separated by commas", detail=repr(requested)[:200])
    names = dict.fromkeys((*configured, *(name.strip() for name in requested.split(","))))
    return {BETA: ",".join(filter(None, names))}


def constraint(request: ChatRequest, options: Options) -> Constraint:
    """Return how the answer is constrained; a continued answer cannot be."""
    is_prefilled = request.continues and not _is_paused(request.messages)
    dialect = dialect_of(ModelId.parse(request.model).name, options.schema_dialects)
    return constrained(request.response_format, options.response_formats, None if is_prefilled else dialect)


class _Marks:
    """The cache markers of a request: the API accepts at most four, and the last ones cover the longest prefix."""

    def __init__(self, ttl: str) -> None:
        self._ttl = ttl
        self._marked: list[dict[str, Any]] = []

    def add(self, block: dict[str, Any], end: bool | str) -> None:
        """Mark a block, if a prefix ends with it."""
        if end and "cache_control" not in block:
            ttl = end if isinstance(end, str) else self._ttl
            block["cache_control"] = {"type": "ephemeral", **({"ttl": ttl} if ttl != "5m" else {})}  # the default
            self._marked.append(block)

    def drop_all_but_last(self) -> None:
        for block in self._marked[:-_MAX_MARKS]:
            del block["cache_control"]


# -- messages -------------------------------------------------------------------------------------------------


def _conversation(messages: Sequence[Message], marks: _Marks) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the system blocks and the turns; tool results and the text after them form one user turn."""
    system: list[dict[str, Any]] = []
    turns: list[dict[str, Any]] = []
    for message in media_in_user_turns(messages, Role.TOOL):
        if message.role is Role.SYSTEM:
            system += _blocks(message.parts, marks)
            continue
        role = "assistant" if message.role is Role.ASSISTANT else "user"
        blocks = _turn(message, marks)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})
    return system, turns


def _turn(message: Message, marks: _Marks) -> list[dict[str, Any]]:
    if message.role is Role.TOOL:
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": _id(message.tool_call_id or "")}
        *parts, last = message.parts or (TextPart(""),)
        if content := _blocks([*parts, attrs.evolve(last, ends_prefix=False)], marks):
            result["content"] = content
        marks.add(result, last.ends_prefix)
        return [result]
    if message.role is Role.ASSISTANT:
        return _answer(message, marks)
    return _blocks(message.parts, marks)


def _answer(message: Message, marks: _Marks) -> list[dict[str, Any]]:
    """Write an assistant turn: its original blocks where they are known, since signatures cover whole blocks."""
    own = returned_fields(message, OPAQUE)
    blocks = [dict(block) for block in own.get("content", ()) if isinstance(block, Mapping)]
    text, calls = _text_and_call_ids(blocks)
    earlier, is_end = _split_suffix(message.text.rstrip(), text.rstrip())
    # A turn that was paused several times is one message; the blocks are known for its last part only.
    if (
        blocks
        and calls == [_id(call.id) for call in message.tool_calls]
        and is_end
        and (own.get("is_paused") or not earlier)
    ):
        _update(blocks, message, marks)
        earlier_blocks = [{"type": "text", "text": earlier}] if earlier else []
        return [*earlier_blocks, *(block for block in blocks if block.get("type") != "text" or _has_text(block))]
    kept = [block for block in blocks if block.get("type") in ("thinking", "redacted_thinking", "compaction")]
    return [*kept, *_blocks(message.parts, marks), *(_call(call, marks) for call in message.tool_calls)]


def _update(blocks: Iterable[dict[str, Any]], message: Message, marks: _Marks) -> None:
    """Update the original blocks of an assistant turn: marks on the last text and on calls, and the message's arguments.

    Signatures do not cover calls, and the arguments may have been edited or redacted since.
    """
    texts = [block for block in blocks if block.get("type") == "text" and _has_text(block)]
    for block in texts[-1:]:
        marks.add(block, next((part.ends_prefix for part in reversed(message.parts) if part.ends_prefix), False))
    calls = (block for block in blocks if block.get("type") == "tool_use")
    for block, call in zip(calls, message.tool_calls, strict=True):
        block["input"] = arguments_of(call)
        marks.add(block, call.ends_prefix)


def _has_text(block: Mapping[str, Any]) -> bool:
    """Whether a text block has more than whitespace; others are rejected."""
    return bool(str(block.get("text", "")).strip())


def _split_suffix(whole: str, end: str) -> tuple[str, bool]:
    """Return the string without the suffix, and whether it ends with the suffix."""
    return whole.removesuffix(end), whole.endswith(end)


def _text_and_call_ids(blocks: Iterable[Mapping[str, Any]]) -> tuple[str, list[str]]:
    blocks = list(blocks)
    text = "".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")
    return text, [_id(str(block.get("id", ""))) for block in blocks if block.get("type") == "tool_use"]


def _call(call: ToolCall, marks: _Marks) -> dict[str, Any]:
    block = {"type": "tool_use", "id": _id(call.id), "name": call.name, "input": arguments_of(call)}
    marks.add(block, call.ends_prefix)
    return block


def _id(value: str) -> str:
    """Replace the characters of an id that the API does not accept."""
    return _NOT_IN_IDS.sub("_", value)


def _blocks(parts: Iterable[Part], marks: _Marks) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, ImagePart | FilePart):
            blocks.append(_image(part) if isinstance(part, ImagePart) else _document(part))
        elif part.text.strip():  # whitespace only is rejected
            blocks.append({"type": "text", "text": text_of((part,))})
        if blocks:
            marks.add(blocks[-1], part.ends_prefix)
    return blocks


def _image(part: ImagePart) -> dict[str, Any]:
    data = image_data(part)
    if data is None:
        return {"type": "image", "source": {"type": "url", "url": part.url}}
    return {"type": "image", "source": {"type": "base64", "media_type": data[0], "data": data[1]}}


def _document(part: FilePart) -> dict[str, Any]:
    title = {"title": part.name} if part.name else {}
    data = image_data(part)
    if data is None and part.media_type in ("", "application/pdf"):
        return {"type": "document", "source": {"type": "url", "url": part.url}, **title}
    if data is None or data[0] not in ("application/pdf", "text/plain"):
        raise unsupported_part(part, "Anthropic's API", "images", "PDF", "plain text")
    if data[0] == "text/plain":
        text = base64.b64decode(data[1]).decode("utf-8", "replace")
        return {"type": "document", "source": {"type": "text", "media_type": data[0], "data": text}, **title}
    return {"type": "document", "source": {"type": "base64", "media_type": data[0], "data": data[1]}, **title}


# -- continuation ---------------------------------------------------------------------------------------------


def _is_paused(messages: Sequence[Message]) -> bool:
    """Whether the server paused the last answer; every model can resume it."""
    return bool(
        messages and messages[-1].role is Role.ASSISTANT and returned_fields(messages[-1], OPAQUE).get("is_paused")
    )


def _check_prefill(model: str, request: ChatRequest, options: Options) -> None:
    thinking = request.extra.get("thinking")
    problem = ""
    if "fallback_credit_token" in request.extra:  # the one retry that every model continues
        return
    if not model.startswith(options.prefill_models):
        problem = f"{model!r} does not continue an assistant message; ask for the rest in a user message"
    elif isinstance(thinking, Mapping) and thinking.get("type") != "disabled":
        problem = "a model does not continue an assistant message while thinking is on; turn thinking off"
    if problem:
        raise InvalidRequest("the answer cannot be continued", sub_cause="prefill_unsupported", detail=problem)


def _strip_end(messages: list[dict[str, Any]]) -> None:
    """Strip trailing whitespace from the answer to continue: a request with it is rejected."""
    if not messages or messages[-1]["role"] != "assistant":
        return
    content = messages[-1]["content"]
    while content and content[-1].get("type") == "text":
        content[-1]["text"] = content[-1]["text"].rstrip()
        if content[-1]["text"]:
            return
        content.pop()
    if not content:
        messages.pop()


# -- tools and formats ----------------------------------------------------------------------------------------


def _tool(tool: ToolDefinition, marks: _Marks, downgrades: list[str]) -> dict[str, Any]:
    block = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool_schema(tool, downgrades),
    }
    marks.add(block, tool.ends_prefix)
    return block


def _tool_choice(choice: str) -> dict[str, Any]:
    kind = {"auto": "auto", "none": "none", "required": "any"}.get(choice)
    return {"type": kind} if kind else {"type": "tool", "name": choice}
