"""Reads an answer of Converse, in one piece or in events, by one reader: what comes in one piece is read as its events.

A reason is looked up and never guessed. A guardrail's trace holds what the model said before it was masked: of the trace
only the verdict is kept.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import attrs
import msgspec

from helmdeck_core import (
    CallFailed,
    ChatDelta,
    ChatResponse,
    Disposition,
    StopReason,
    ToolCall,
    ToolCallDelta,
    TransientUnknown,
    Usage,
)
from helmdeck_core.http import MAX_EXCERPT_CHARS, Secrets, arguments, count, echoed, in_context, quoted, string
from helmdeck_provider_bedrock.request import OPAQUE

DIALECT = "bedrock-converse"

REASONS: Mapping[str, StopReason] = {
    "end_turn": StopReason.END_TURN,
    "stop_sequence": StopReason.END_TURN,
    "tool_use": StopReason.TOOL_CALL,
    "max_tokens": StopReason.MAX_TOKENS,
    "model_context_window_exceeded": StopReason.CONTEXT_WINDOW_EXCEEDED,
    "guardrail_intervened": StopReason.SAFETY_BLOCKED,
    "content_filtered": StopReason.SAFETY_BLOCKED,
}
"""The dialect. ``malformed_model_output`` and ``malformed_tool_use`` are left out on purpose: nothing complete was said."""

_GUARDRAIL = "guardrail_intervened"

Normalise = Callable[[str | None], StopReason]
Event = tuple[str, Mapping[str, Any]]


def look_up(raw: str | None) -> StopReason:
    """Look a native word up in the dialect."""
    return REASONS.get((raw or "").casefold(), StopReason.UNKNOWN)


@attrs.define
class _Call:
    """A tool call as it comes together."""

    index: int
    id: str
    name: str
    arguments: list[str] = attrs.Factory(list)
    is_closed: bool = False

    def finished(self) -> ToolCall:
        text = "".join(self.arguments)
        # A tool without arguments is called with nothing at all; a call that broke off is not.
        return ToolCall(self.id, self.name, "{}" if self.is_closed and text.strip() in ("", "null") else text)


@attrs.define
class _Thought:
    """A block of reasoning as it comes together."""

    text: list[str] = attrs.Factory(list)
    signature: str = ""
    redacted: list[str] = attrs.Factory(list)

    def signed(self) -> dict[str, Any] | None:
        """The block as it has to go back; ``None`` where nobody asks for it."""
        if self.redacted:
            return {"reasoningContent": {"redactedContent": _joined(self.redacted)}}
        if not self.signature:
            return None
        text = {"text": "".join(self.text), "signature": self.signature}
        return {"reasoningContent": {"reasoningText": text}}


class _ThoughtPiece(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    text: str


class _Said(msgspec.Struct, rename="camel", forbid_unknown_fields=True, gc=False):
    text: str = ""
    reasoning_content: _ThoughtPiece | None = None


class _Piece(msgspec.Struct, rename="camel", gc=False):
    """A piece of text or reasoning, as nearly all events of a stream are."""

    delta: _Said
    content_block_index: int = 0


_read_piece = msgspec.json.Decoder(_Piece).decode


class AnswerReader:
    """Adds events up to a response.

    :param normalise: native stop reason to ours.
    :param max_tokens: the output limit that was asked for; with it, a truncation that calls itself an end is seen.
    :param secrets: what must not be quoted.
    """

    def __init__(
        self, normalise: Normalise = look_up, *, max_tokens: int | None = None, secrets: Iterable[str] = ()
    ) -> None:
        self._normalise = normalise
        self._max_tokens = max_tokens
        self._secrets = Secrets.of(secrets)
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[_Call] = []
        self._open_calls: dict[int, _Call] = {}
        self._thoughts: dict[int, _Thought] = {}
        self._raw: str | None = None
        self._usage = Usage()
        self._is_masked = False
        self._served_model = ""

    def feed_piece(self, payload: bytes) -> ChatDelta | None:
        """Take a piece of text or reasoning as it came, at a third of what any event costs; ``None`` if it is none."""
        try:
            piece = _read_piece(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        if text := piece.delta.text:
            return self._say(text)
        reasoning = piece.delta.reasoning_content
        return self._think(piece.content_block_index, reasoning.text) if reasoning and reasoning.text else None

    def feed(self, event: str, data: Mapping[str, Any]) -> ChatDelta | None:
        """Take the next event; return what it adds to the answer, if anything."""
        if event == "contentBlockDelta":
            return self._delta(_index(data), _table(data.get("delta")))
        if event == "contentBlockStart":
            return self._start(_index(data), _table(_table(data.get("start")).get("toolUse")))
        if event == "contentBlockStop":
            if call := self._open_calls.pop(_index(data), None):
                call.is_closed = True
        elif event == "messageStop":
            self._raw = string(data.get("stopReason")) or None
        elif event == "metadata":
            self._metadata(data)
        return None

    def read(self, data: object) -> Iterator[ChatDelta]:
        """Take an answer in one piece; give what it would have been in several.

        :raises TransientUnknown: it is no answer of Converse.
        """
        body = _table(data)
        if not isinstance(_table(body.get("output")).get("message"), dict) and "stopReason" not in body:
            raise TransientUnknown("the provider's answer is not one of Converse", status=200, sub_cause="wrong_shape")
        for event, fields in _unary_events(body):
            if (delta := self.feed(event, fields)) is not None:
                yield delta

    def response(self) -> ChatResponse:
        """What the events so far come to; without a stop reason among them the turn is not known to be complete."""
        text, calls = "".join(self._text), tuple(call.finished() for call in self._calls)
        strict = self._strict()
        is_at_limit = self._max_tokens is not None and self._usage.output_tokens >= self._max_tokens
        reason = in_context(strict, text=text, tool_calls=calls, is_at_limit=is_at_limit)
        signed = [block for _, each in sorted(self._thoughts.items()) if (block := each.signed())]
        return ChatResponse(
            text=text,
            reasoning="".join(self._reasoning),
            tool_calls=calls,
            stop_reason=reason,
            strict_stop_reason=strict,
            raw_stop_reason=self._raw and echoed(self._raw, self._secrets),
            # A guardrail that only masked names leaves an answer that is complete and can be used.
            disposition=Disposition.FINAL if self._raw == _GUARDRAIL and self._is_masked else None,
            usage=self._usage,
            opaque={OPAQUE: signed} if signed else {},
            served_model=echoed(self._served_model, self._secrets),
        )

    def broken(self, failure: CallFailed) -> CallFailed:
        """Add to a failure what had come before it."""
        text = "".join(self._text)
        return attrs.evolve(
            failure,
            stop_reason=self._strict().value,
            raw_stop_reason=self._raw and echoed(self._raw, self._secrets),
            raw_length=len(text.encode("utf-8", "replace")),
            excerpt=quoted(text, self._secrets, MAX_EXCERPT_CHARS),
        )

    def _strict(self) -> StopReason:
        return self._normalise(self._raw) if self._raw else StopReason.UNKNOWN

    def _start(self, index: int, tool: Mapping[str, Any]) -> ChatDelta | None:
        name = string(tool.get("name"))
        if not name or tool.get("type") == "server_tool_use":  # the latter was run by the provider
            return None
        call = _Call(len(self._calls), string(tool.get("toolUseId")), name)
        self._calls.append(call)
        self._open_calls[index] = call
        return ChatDelta(tool_call=ToolCallDelta(call.index, call.id, call.name))

    def _delta(self, index: int, delta: Mapping[str, Any]) -> ChatDelta | None:
        if text := string(delta.get("text")):
            return self._say(text)
        if (call := self._open_calls.get(index)) and (piece := string(_table(delta.get("toolUse")).get("input"))):
            call.arguments.append(piece)
            return ChatDelta(tool_call=ToolCallDelta(call.index, arguments=piece))
        if reasoning := _table(delta.get("reasoningContent")):
            thought = self._thoughts.setdefault(index, _Thought())
            thought.signature += string(reasoning.get("signature"))
            thought.redacted += filter(None, [string(reasoning.get("redactedContent"))])
            if text := string(reasoning.get("text")):
                return self._think(index, text)
        return None

    def _say(self, text: str) -> ChatDelta:
        self._text.append(text)
        return ChatDelta(text)

    def _think(self, index: int, text: str) -> ChatDelta:
        self._thoughts.setdefault(index, _Thought()).text.append(text)
        self._reasoning.append(text)
        return ChatDelta(reasoning=text)

    def _metadata(self, data: Mapping[str, Any]) -> None:
        if usage := _table(data.get("usage")):
            self._usage = _usage(usage)
        trace = _table(data.get("trace"))
        self._served_model = string(_table(trace.get("promptRouter")).get("invokedModelId"))
        self._is_masked = _is_masked(_table(trace.get("guardrail")))


def _unary_events(body: Mapping[str, Any]) -> Iterator[Event]:
    """The events that an answer in one piece would have been."""
    content = _table(_table(body.get("output")).get("message")).get("content")
    for index, block in enumerate(content if isinstance(content, list) else ()):
        yield from _block_events(index, _table(block))
    yield "messageStop", {"stopReason": body.get("stopReason")}
    yield "metadata", body


def _block_events(index: int, block: Mapping[str, Any]) -> Iterator[Event]:
    cited = _table(block.get("citationsContent")).get("content")
    deltas: list[Mapping[str, Any]] = [{"text": block.get("text")}]
    deltas += [_table(piece) for piece in cited] if isinstance(cited, list) else []
    if reasoning := _table(block.get("reasoningContent")):
        deltas.append({"reasoningContent": {**_table(reasoning.get("reasoningText")), **reasoning}})
    if tool := _table(block.get("toolUse")):
        yield "contentBlockStart", {"contentBlockIndex": index, "start": {"toolUse": tool}}
        deltas.append({"toolUse": {"input": arguments(tool.get("input"))}})
    for delta in deltas:
        yield "contentBlockDelta", {"contentBlockIndex": index, "delta": delta}
    yield "contentBlockStop", {"contentBlockIndex": index}


# -- values that may be anything ------------------------------------------------------------------------------


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _index(data: Mapping[str, Any]) -> int:
    index = data.get("contentBlockIndex")
    return index if isinstance(index, int) else 0


def _joined(blobs: list[str]) -> str:
    """Pieces of base64 as one; a single piece stays as it came."""
    if len(blobs) == 1:
        return blobs[0]
    try:
        return base64.b64encode(b"".join(map(base64.b64decode, blobs))).decode("ascii")
    except ValueError:
        return "".join(blobs)


def _is_masked(guardrail: Mapping[str, Any]) -> bool:
    """Whether the assessments, or in newer answers a sentence beside them, speak of masking and never of blocking."""
    said = {*_actions(guardrail), *string(guardrail.get("actionReason")).upper().replace(".", " ").split()}
    return bool(said & {"ANONYMIZED", "MASKED"}) and "BLOCKED" not in said


def _actions(value: object) -> Iterator[str]:
    """Every ``action`` of a guardrail's assessments."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(action := value.get("action"), str):
                yield action
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _usage(usage: Mapping[str, Any]) -> Usage:
    # The input is counted without what was read from a cache or written to one.
    cached = count(usage, "cacheReadInputTokens", "cacheReadInputTokenCount")
    written = count(usage, "cacheWriteInputTokens", "cacheWriteInputTokenCount")
    return Usage(
        input_tokens=count(usage, "inputTokens") + cached + written,
        output_tokens=count(usage, "outputTokens"),
        cached_input_tokens=cached,
        cache_write_tokens=written,
    )
