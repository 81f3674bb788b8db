"""Reads responses of Cohere's Chat API, whole or streamed.

A message that ends with an error is a failure, also with HTTP 200. An unknown stop reason is neither a failure nor a
clean end. The model's plan for its tool calls (``tool_plan``) is neither text nor reasoning; it is sent back with the calls, as
is the reasoning before them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import quote

import msgspec

from helmdeck_core import Cancelled, ChatDelta, ModelInfo, QuotaExhausted, SafetyFiltered, StopReason, Usage
from helmdeck_provider_cohere.request import OPAQUE
from helmdeck_providers import (
    Cause,
    ErrorRules,
    PartialToolCall,
    ReaderContext,
    ResponseReader,
    arguments,
    count,
    rows,
    string,
    table,
)

REASONS: Mapping[str, StopReason] = {
    "complete": StopReason.END_TURN,
    "stop_sequence": StopReason.END_TURN,
    "tool_call": StopReason.TOOL_CALL,
    "max_tokens": StopReason.MAX_TOKENS,
}
"""``ERROR`` and ``TIMEOUT`` are left out on purpose: the turn is not complete."""

ERROR_RULES = ErrorRules(
    marks=(("calls / month", Cause(QuotaExhausted)),),  # an exhausted trial key, with 429
    context_marks=("too many tokens", "too_many_tokens", "maximum context length"),
    form_marks=("response_format", "json_schema", "json schema"),
    statuses={
        498: Cause(SafetyFiltered),  # the prompt is on a block list
        499: Cause(Cancelled),
    },
)

QUOTA_HEADERS = ("x-trial-endpoint-call-", "x-ratelimit-", "x-endpoint-monthly-call-", "x-api-warning", "retry-after")

MODELS = "/v1/models?endpoint=chat&page_size=1000"
"""Path of the list of chat models, with the largest page size."""


class _Content(msgspec.Struct, gc=False):
    text: str = ""
    thinking: str = ""
    type: msgspec.UnsetType = msgspec.UNSET


class _Message(msgspec.Struct, gc=False):
    content: _Content


class _Delta(msgspec.Struct, gc=False):
    message: _Message


class _Chunk(msgspec.Struct, gc=False):
    """A text or reasoning delta."""

    type: Literal["content-delta"]
    delta: _Delta
    error: None = None
    object: None = None


class CohereAnswer(ResponseReader):
    """A response of Cohere's Chat API, version 2."""

    fast_decoder = msgspec.json.Decoder(_Chunk)

    def __init__(self, context: ReaderContext) -> None:
        super().__init__(context)
        self._open_calls: dict[str, PartialToolCall] = {}
        self._plan: list[str] = []
        self._usage = Usage()

    def feed_fast(self, chunk: _Chunk) -> Sequence[ChatDelta]:
        """Read a text or reasoning delta."""
        content = chunk.delta.message.content
        return (*self._add_reasoning(content.thinking), *self._add_text(content.text))

    def feed(self, event: object) -> Iterator[ChatDelta]:
        """Read one decoded event and yield the deltas it adds."""
        self._raise_error(event)
        data = table(event)
        delta, index = table(data.get("delta")), repr(data.get("index"))
        message = table(delta.get("message"))
        match data.get("type"):
            case "message-start":
                self._seed = string(data.get("id"))
            case "content-start" | "content-delta":
                yield from self._content(message.get("content"))
            case "tool-plan-delta":
                self._plan.append(string(message.get("tool_plan")))
            case "tool-call-start":
                yield from self._start(index, table(message.get("tool_calls")))
            case "tool-call-delta":
                written = string(table(table(message.get("tool_calls")).get("function")).get("arguments"))
                if call := self._open_calls.get(index):
                    yield from self._add_arguments(call, written)
                else:
                    self._note_lost_arguments(written)
            case "tool-call-end":
                if call := self._open_calls.pop(index, None):
                    call.is_open = False
            case "message-end":
                self._end(delta)

    def read(self, body: object) -> Iterator[ChatDelta]:
        """Read a whole response."""
        data = table(body)
        message = data.get("message")
        if not isinstance(message, dict):
            self._raise_error(body)
            raise self._wrong_format(body, "Cohere's chat")
        self._seed = string(data.get("id"))
        self._plan.append(string(message.get("tool_plan")))
        content = message.get("content")
        for block in content if isinstance(content, list) else [content]:
            yield from self._content(block)
        for call in rows(message.get("tool_calls")):
            function = table(call.get("function"))
            if name := string(function.get("name")):
                yield from self._add_call(string(call.get("id")), name, function.get("arguments"))
            else:
                self._note_lost_arguments(function.get("arguments"))
        self._end(data)

    def usage(self) -> Usage:
        """Token usage reported so far."""
        return self._usage

    def opaque(self) -> Mapping[str, Any]:
        """Plan and reasoning before tool calls, to send back with this turn."""
        fields = {"tool_plan": "".join(self._plan), "thinking": "".join(self._reasoning)}
        fields = {name: text for name, text in fields.items() if text}
        return {OPAQUE: fields} if fields and self._calls else {}

    def _content(self, content: object) -> Iterator[ChatDelta]:
        block = {"text": content} if isinstance(content, str) else table(content)
        thinking, text = string(block.get("thinking")), string(block.get("text"))
        yield from self._add_reasoning(thinking)
        yield from self._add_text(text)
        if block.get("type") not in ("text", "thinking") and not (text or thinking):
            self._note_unread(block.get("type"))

    def _start(self, index: str, data: Mapping[str, Any]) -> Iterator[ChatDelta]:
        function = table(data.get("function"))
        if not (name := string(function.get("name"))):
            return
        call, delta = self._start_call(string(data.get("id")), name)
        call.is_open = True
        self._open_calls[index] = call
        yield delta
        if written := function.get("arguments"):
            yield from self._add_arguments(call, written if isinstance(written, str) else arguments(written))

    def _end(self, end: Mapping[str, Any]) -> None:
        self._raw = string(end.get("finish_reason")) or None
        self._usage = _usage(table(end.get("usage")))
        # Errors have a field ``message`` as well.
        self._raise_error({name: value for name, value in end.items() if name != "message"})
        self.done()


def read_models(page: Mapping[str, Any]) -> tuple[list[ModelInfo], str]:
    """Read a page of the model list; return the models and the path of the next page."""
    models = [
        ModelInfo(id=name, input_tokens=count(row, "context_length") or None)
        for row in rows(page.get("models"))
        if (name := string(row.get("name")))
    ]
    token = string(page.get("next_page_token"))
    return models, f"{MODELS}&page_token={quote(token, safe='')}" if token else ""


def _usage(usage: Mapping[str, Any]) -> Usage:
    # ``billed_units`` does not include the tokens of the prompt template.
    tokens = table(usage.get("tokens"))
    return Usage(
        input_tokens=count(tokens, "input_tokens"),
        output_tokens=count(tokens, "output_tokens"),
        cached_input_tokens=count(usage, "cached_tokens"),
        reasoning_tokens=count(tokens, "reasoning_tokens"),
    )
