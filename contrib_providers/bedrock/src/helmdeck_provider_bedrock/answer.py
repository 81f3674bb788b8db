"""Reads responses of Converse, whole or streamed; a whole response is converted to events.

Stop reasons are looked up, never guessed. The trace of a guardrail contains the text before it was masked, so only its
verdict is used.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import msgspec

from helmdeck_core import ChatDelta, ChatResponse, Disposition, StopReason, Usage
from helmdeck_provider_bedrock.faults import exception_frame
from helmdeck_provider_bedrock.frames import DamagedFrame, Frame
from helmdeck_provider_bedrock.request import OPAQUE
from helmdeck_providers import (
    NOT_JSON,
    PartialToolCall,
    ReaderContext,
    ResponseReader,
    arguments,
    count,
    decode_json,
    plain_text,
    rows,
    string,
    table,
)

REASONS: Mapping[str, StopReason] = {
    "end_turn": StopReason.END_TURN,
    "stop_sequence": StopReason.END_TURN,
    "tool_use": StopReason.TOOL_CALL,
    "max_tokens": StopReason.MAX_TOKENS,
    "model_context_window_exceeded": StopReason.CONTEXT_WINDOW_EXCEEDED,
    "guardrail_intervened": StopReason.SAFETY_BLOCKED,
    "content_filtered": StopReason.SAFETY_BLOCKED,
}
"""``malformed_model_output`` and ``malformed_tool_use`` are left out on purpose: the response is not complete."""

_GUARDRAIL = "guardrail_intervened"
_PIECE = "contentBlockDelta"


@attrs.define
class _Reasoning:
    """A reasoning block, as far as it was received."""

    text: list[str] = attrs.Factory(list)
    signature: str = ""
    redacted: list[str] = attrs.Factory(list)

    def signed(self) -> dict[str, Any] | None:
        """Return the block to send back; ``None`` for unsigned reasoning."""
        if self.redacted:
            return {"reasoningContent": {"redactedContent": _joined(self.redacted)}}
        if not self.signature:
            return None
        text = {"text": "".join(self.text), "signature": self.signature}
        return {"reasoningContent": {"reasoningText": text}}


class _ReasoningText(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    text: str


class _Delta(msgspec.Struct, rename="camel", forbid_unknown_fields=True, gc=False):
    text: str = ""
    reasoning_content: _ReasoningText | None = None


class _Chunk(msgspec.Struct, rename="camel", gc=False):
    """A text or reasoning delta."""

    delta: _Delta
    content_block_index: int | msgspec.UnsetType = msgspec.UNSET


_KNOWN_FIELDS = frozenset(("text", "reasoningContent", "toolUse", "citation", "citationsContent"))
"""Fields of a block that are parsed; citations are sources of the text."""

_SERVER_TOOL = "server_tool_use"


class ConverseAnswer(ResponseReader):
    """A response of Converse; an event is an object with its name as the only key."""

    fast_decoder = msgspec.json.Decoder(_Chunk)

    def __init__(self, context: ReaderContext) -> None:
        super().__init__(context)
        self._index = 0
        self._open_calls: dict[int, PartialToolCall | None] = {}
        """The call of a tool that the provider executed is ``None``."""
        self._reasoning_blocks: dict[int, _Reasoning] = {}
        self._usage = Usage()
        self._is_masked = False

    def feed_fast(self, chunk: _Chunk) -> tuple[ChatDelta, ...]:
        """Read a text or reasoning delta."""
        if isinstance(chunk.content_block_index, int):
            self._index = chunk.content_block_index
        if chunk.delta.text or chunk.delta.reasoning_content is None:
            return self._add_text(chunk.delta.text)
        return self._add_reasoning_to(self._index, chunk.delta.reasoning_content.text)

    def feed_fast_all(self, chunks: Sequence[_Chunk]) -> Sequence[ChatDelta] | None:
        """Read deltas of one block that all have a text, or all have reasoning."""
        texts = [text for chunk in chunks if (text := chunk.delta.text)]
        thoughts = [each.text for chunk in chunks if (each := chunk.delta.reasoning_content) is not None and each.text]
        index = chunks[0].content_block_index
        if len(texts) + len(thoughts) != len(chunks) or (texts and thoughts):
            return None
        if any(chunk.content_block_index != index for chunk in chunks):
            return None
        deltas = self._add_texts(thoughts or texts, is_reasoning=bool(thoughts))
        if deltas is not None:
            self._index = index if isinstance(index, int) else self._index
            if thoughts:
                self._reasoning_blocks.setdefault(self._index, _Reasoning()).text.extend(thoughts)
        return deltas

    @staticmethod
    def is_delta(headers: Mapping[str, str]) -> bool:
        """Whether the payload of a frame is a delta, which ``take`` and ``take_all`` read."""
        return headers.get(":event-type") == _PIECE and headers.get(":message-type") == "event"

    def take(self, data: bytes) -> Iterable[ChatDelta]:
        """Read the payload of a delta."""
        assert self.fast_decoder is not None
        try:
            return self.feed_fast(self.fast_decoder.decode(data))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self._take_other("event", {":event-type": _PIECE}, data)

    def take_frame(self, frame: Frame) -> Iterable[ChatDelta]:
        """Read one frame and return the deltas it adds.

        :raises CallFailed: the frame is an error.
        :raises DamagedFrame: the payload cannot be read.
        """
        if self.is_delta(frame.headers):
            return self.take(frame.payload)
        return self._take_other(frame.headers.get(":message-type"), frame.headers, frame.payload)

    def _take_other(self, kind: str | None, headers: Mapping[str, str], payload: bytes) -> Iterable[ChatDelta]:
        name = headers.get(":event-type", "")
        data = decode_json(payload) if payload else {}
        if kind in ("exception", "error"):
            name = headers.get(":exception-type") or headers.get(":error-code") or kind
            message = headers.get(":error-message") or (plain_text(payload) if data is NOT_JSON else "")
            fields = data if isinstance(data, dict) and data else {"message": message}
            raise self.with_partial_response(
                exception_frame(name, fields, self._context.secrets, self._context.error_rules)
            )
        if not isinstance(data, dict):
            raise DamagedFrame("the payload of a frame is not a JSON object")
        return self.feed({name: data})

    def feed(self, event: object) -> Iterator[ChatDelta]:
        """Read one event and yield the deltas it adds."""
        for name, fields in table(event).items():
            data = table(fields)
            if name == "contentBlockStart":
                yield from self._start(self._index_of(data), table(data.get("start")))
            elif name == _PIECE:
                yield from self._delta(self._index_of(data), table(data.get("delta")))
            elif name == "contentBlockStop":
                if call := self._open_calls.pop(self._index_of(data), None):
                    call.is_open = False
            elif name == "messageStop":
                self._raw = string(data.get("stopReason")) or None
            elif name == "metadata":
                self._metadata(data)

    def read(self, body: object) -> Iterator[ChatDelta]:
        """Read a whole response and yield its deltas."""
        data = table(body)
        if not isinstance(table(data.get("output")).get("message"), dict) and "stopReason" not in data:
            raise self._wrong_format(body, "Converse")
        for event in _unary_events(data):
            yield from self.feed(event)

    @property
    def may_be_done(self) -> bool:
        """Whether the stop reason and the usage arrived; only an exception may follow."""
        return self._raw is not None and self._usage != Usage()

    def usage(self) -> Usage:
        """Token usage reported so far."""
        return self._usage

    def opaque(self) -> Mapping[str, Any]:
        """Signed reasoning to send back with this turn."""
        signed = [block for _, each in sorted(self._reasoning_blocks.items()) if (block := each.signed())]
        return {OPAQUE: signed} if signed else {}

    def finish(self) -> ChatResponse:
        """Return the complete response."""
        response = super().finish()
        if self._raw == _GUARDRAIL and self._is_masked:
            # After masking only, the response is complete and usable.
            response = attrs.evolve(response, disposition=Disposition.FINAL)
        return response

    def _index_of(self, data: Mapping[str, Any]) -> int:
        """Return the block index of an event; without one, that of the previous event."""
        index = data.get("contentBlockIndex")
        self._index = index if isinstance(index, int) else self._index
        return self._index

    def _start(self, index: int, start: Mapping[str, Any]) -> Iterator[ChatDelta]:
        tool = table(start.get("toolUse"))
        self._note_unknown(start)
        name = string(tool.get("name"))
        if tool.get("type") == _SERVER_TOOL:  # the provider executed it
            self._open_calls[index] = None
            self._note_unread(_SERVER_TOOL)
        elif name:
            call, delta = self._start_call(string(tool.get("toolUseId")), name)
            call.is_open = True
            self._open_calls[index] = call
            yield delta

    def _delta(self, index: int, delta: Mapping[str, Any]) -> Iterator[ChatDelta]:
        self._note_unknown(delta)
        yield from self._add_text(string(delta.get("text")))
        written = string(table(delta.get("toolUse")).get("input"))
        if call := self._open_calls.get(index):
            yield from self._add_arguments(call, written)
        elif index not in self._open_calls:
            self._note_lost_arguments(written)
        if reasoning := table(delta.get("reasoningContent")):
            block = self._reasoning_blocks.setdefault(index, _Reasoning())
            block.signature += string(reasoning.get("signature"))
            block.redacted += filter(None, [string(reasoning.get("redactedContent"))])
            yield from self._add_reasoning_to(index, string(reasoning.get("text")))

    def _add_reasoning_to(self, index: int, text: str) -> tuple[ChatDelta, ...]:
        if text:
            self._reasoning_blocks.setdefault(index, _Reasoning()).text.append(text)
        return self._add_reasoning(text)

    def _note_unknown(self, block: Mapping[str, Any]) -> None:
        for kind in sorted(block.keys() - _KNOWN_FIELDS):
            if block[kind] is not None:
                self._note_unread(kind)

    def _metadata(self, data: Mapping[str, Any]) -> None:
        if usage := table(data.get("usage")):
            self._usage = _usage(usage)
        trace = table(data.get("trace"))
        self._model = string(table(trace.get("promptRouter")).get("invokedModelId"))
        self._is_masked = _is_masked(table(trace.get("guardrail")))


def _unary_events(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the events of a whole response."""
    for index, block in enumerate(rows(table(table(body.get("output")).get("message")).get("content"))):
        for name, fields in _block_events(block):
            yield {name: {"contentBlockIndex": index, **fields}}
    yield {"messageStop": {"stopReason": body.get("stopReason")}}
    yield {"metadata": body}


def _block_events(block: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    plain = {name: value for name, value in block.items() if name not in ("reasoningContent", "toolUse")}
    deltas = [plain, *rows(table(block.get("citationsContent")).get("content"))]
    if reasoning := table(block.get("reasoningContent")):
        deltas.append({"reasoningContent": {**table(reasoning.get("reasoningText")), **reasoning}})
    if tool := table(block.get("toolUse")):
        yield "contentBlockStart", {"start": {"toolUse": tool}}
        deltas.append({"toolUse": {"input": arguments(tool.get("input"))}})
    for delta in deltas:
        yield _PIECE, {"delta": delta}
    yield "contentBlockStop", {}


# -- untyped values -------------------------------------------------------------------------------------------


def _joined(blobs: list[str]) -> str:
    """Join base64 strings; a single one stays unchanged."""
    if len(blobs) == 1:
        return blobs[0]
    try:
        return base64.b64encode(b"".join(map(base64.b64decode, blobs))).decode("ascii")
    except ValueError:
        return "".join(blobs)


def _is_masked(guardrail: Mapping[str, Any]) -> bool:
    """Whether the assessments, or the action reason of newer responses, report masking and no blocking."""
    actions = {*_actions(guardrail), *string(guardrail.get("actionReason")).upper().replace(".", " ").split()}
    return bool(actions & {"ANONYMIZED", "MASKED"}) and "BLOCKED" not in actions


def _actions(value: object) -> Iterator[str]:
    """Yield every ``action`` in a guardrail's assessments."""
    pending = [value]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            if isinstance(action := value.get("action"), str):
                yield action
            pending += value.values()
        elif isinstance(value, list):
            pending += value


def _usage(usage: Mapping[str, Any]) -> Usage:
    # Bedrock does not include cache reads and writes in the input tokens.
    cached = count(usage, "cacheReadInputTokens", "cacheReadInputTokenCount")
    written = count(usage, "cacheWriteInputTokens", "cacheWriteInputTokenCount")
    return Usage(
        input_tokens=count(usage, "inputTokens") + cached + written,
        output_tokens=count(usage, "outputTokens"),
        cached_input_tokens=cached,
        cache_write_tokens=written,
    )
