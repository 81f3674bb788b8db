"""Reads an answer of Cohere's chat, in one piece or in events, by one reader.

A message that ends with an error is a failure, also after an HTTP 200; an unknown reason never is, and is never taken for
a clean end either. What the model plans to do with its tools (``tool_plan``) is neither text nor reasoning; it goes back
with the calls, as the reasoning before them does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import quote

import msgspec

from helmdeck_core import Cancelled, ChatDelta, ModelInfo, QuotaExhausted, SafetyFiltered, StopReason, Usage
from helmdeck_provider_cohere.request import OPAQUE
from helmdeck_provider_kit import (
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
"""Native stop reasons. ``ERROR`` and ``TIMEOUT`` are left out on purpose: the turn is not complete."""

WORDS = ErrorRules(
    marks=(("calls / month", Cause(QuotaExhausted)),),  # a trial key comes to its end as a 429
    context_marks=("too many tokens", "too_many_tokens", "maximum context length"),
    form_marks=("response_format", "json_schema", "json schema"),
    statuses={
        498: Cause(SafetyFiltered),  # a text that is on a list of refused ones
        499: Cause(Cancelled),
    },
)

QUOTA_HEADERS = ("x-trial-endpoint-call-", "x-ratelimit-", "x-endpoint-monthly-call-", "x-api-warning", "retry-after")

MODELS = "/v1/models?endpoint=chat&page_size=1000"
"""The list of the models that can chat, as many on a page as are given."""


class _Content(msgspec.Struct, gc=False):
    text: str = ""
    thinking: str = ""
    type: msgspec.UnsetType = msgspec.UNSET


class _Message(msgspec.Struct, gc=False):
    content: _Content


class _Delta(msgspec.Struct, gc=False):
    message: _Message


class _Piece(msgspec.Struct, gc=False):
    """A piece of text or reasoning, as nearly all events of a stream are."""

    type: Literal["content-delta"]
    delta: _Delta
    error: None = None
    object: None = None


class CohereAnswer(ResponseReader):
    """An answer of Cohere's chat, version 2."""

    usual = msgspec.json.Decoder(_Piece)

    def __init__(self, terms: ReaderContext) -> None:
        super().__init__(terms)
        self._open_calls: dict[str, PartialToolCall] = {}
        self._plan: list[str] = []
        self._usage = Usage()

    def take_usual(self, piece: _Piece) -> Sequence[ChatDelta]:
        """What a piece of text or reasoning adds."""
        content = piece.delta.message.content
        return (*self._think(content.thinking), *self._say(content.text))

    def feed(self, event: object) -> Iterator[ChatDelta]:
        """Take the next event, decoded; give what it adds."""
        self._raise_error(event)
        data = table(event)
        delta, place = table(data.get("delta")), repr(data.get("index"))
        message = table(delta.get("message"))
        match data.get("type"):
            case "message-start":
                self._seed = string(data.get("id"))
            case "content-start" | "content-delta":
                yield from self._content(message.get("content"))
            case "tool-plan-delta":
                self._plan.append(string(message.get("tool_plan")))
            case "tool-call-start":
                yield from self._start(place, table(message.get("tool_calls")))
            case "tool-call-delta":
                if call := self._open_calls.get(place):
                    function = table(table(message.get("tool_calls")).get("function"))
                    yield from self._write(call, string(function.get("arguments")))
            case "tool-call-end":
                if call := self._open_calls.pop(place, None):
                    call.is_open = False
            case "message-end":
                self._end(delta)

    def read(self, body: object) -> Iterator[ChatDelta]:
        """Take an answer in one piece."""
        data = table(body)
        message = data.get("message")
        if not isinstance(message, dict):
            self._raise_error(body)
            raise self._alien(body, "Cohere's chat")
        self._seed = string(data.get("id"))
        self._plan.append(string(message.get("tool_plan")))
        content = message.get("content")
        for block in content if isinstance(content, list) else [content]:
            yield from self._content(block)
        for call in rows(message.get("tool_calls")):
            function = table(call.get("function"))
            if name := string(function.get("name")):
                yield from self._call_at_once(string(call.get("id")), name, function.get("arguments"))
        self._end(data)

    def usage(self) -> Usage:
        """The tokens, as far as they are told."""
        return self._usage

    def opaque(self) -> Mapping[str, Any]:
        """The plan and the reasoning before calls, which a later turn of the same model goes on from."""
        kept = {"tool_plan": "".join(self._plan), "thinking": "".join(self._reasoning)}
        kept = {name: text for name, text in kept.items() if text}
        return {OPAQUE: kept} if kept and self._calls else {}

    def _content(self, given: object) -> Iterator[ChatDelta]:
        block = {"text": given} if isinstance(given, str) else table(given)
        thinking, text = string(block.get("thinking")), string(block.get("text"))
        yield from self._think(thinking)
        yield from self._say(text)
        if block.get("type") not in ("text", "thinking") and not (text or thinking):
            self._pass_over(block.get("type"))

    def _start(self, place: str, given: Mapping[str, Any]) -> Iterator[ChatDelta]:
        function = table(given.get("function"))
        if not (name := string(function.get("name"))):
            return
        call, delta = self._call(string(given.get("id")), name)
        call.is_open = True
        self._open_calls[place] = call
        yield delta
        if written := function.get("arguments"):
            yield from self._write(call, written if isinstance(written, str) else arguments(written))

    def _end(self, end: Mapping[str, Any]) -> None:
        self._raw = string(end.get("finish_reason")) or None
        self._usage = _usage(table(end.get("usage")))
        # A message is what an error has as well.
        self._raise_error({name: value for name, value in end.items() if name != "message"})


def read_models(page: Mapping[str, Any]) -> tuple[list[ModelInfo], str]:
    """The models of one page, and the path of the next one."""
    found = [
        ModelInfo(id=name, input_tokens=count(row, "context_length") or None)
        for row in rows(page.get("models"))
        if (name := string(row.get("name")))
    ]
    token = string(page.get("next_page_token"))
    return found, f"{MODELS}&page_token={quote(token, safe='')}" if token else ""


def _usage(usage: Mapping[str, Any]) -> Usage:
    # What is billed is another count, without the tokens of the template.
    tokens = table(usage.get("tokens"))
    return Usage(
        input_tokens=count(tokens, "input_tokens"),
        output_tokens=count(tokens, "output_tokens"),
        cached_input_tokens=count(usage, "cached_tokens"),
        reasoning_tokens=count(tokens, "reasoning_tokens"),
    )
