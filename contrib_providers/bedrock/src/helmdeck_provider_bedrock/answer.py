"""Reads an answer of Converse, in one piece or in events, by one reader: what comes in one piece is read as its events.

A reason is looked up and never guessed. A guardrail's trace holds what the model said before it was masked: of the trace
only the verdict is kept.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

import attrs
import msgspec

from helmdeck_core import ChatDelta, ChatResponse, Disposition, StopReason, Usage
from helmdeck_provider_bedrock.faults import exception_frame
from helmdeck_provider_bedrock.frames import DamagedFrame, Frame
from helmdeck_provider_bedrock.request import OPAQUE
from helmdeck_provider_kit import (
    NOT_JSON,
    PartialToolCall,
    ReaderContext,
    ResponseReader,
    arguments,
    count,
    decoded,
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
"""Native stop reasons. ``malformed_model_output`` and ``malformed_tool_use`` are left out on purpose: nothing complete was said."""

_GUARDRAIL = "guardrail_intervened"
_PIECE = "contentBlockDelta"


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
    content_block_index: int | msgspec.UnsetType = msgspec.UNSET


_KINDS = frozenset(("text", "reasoningContent", "toolUse", "citation", "citationsContent"))
"""What is read of a block; a citation says where its text comes from."""

_SERVER_RUN = "server_tool_use"


class ConverseAnswer(ResponseReader):
    """An answer of Converse; an event is a table with its name and its fields."""

    pieces: ClassVar = msgspec.json.Decoder(_Piece)

    def __init__(self, terms: ReaderContext) -> None:
        super().__init__(terms)
        self._place = 0
        self._open_calls: dict[int, PartialToolCall] = {}
        self._thoughts: dict[int, _Thought] = {}
        self._usage = Usage()
        self._is_masked = False

    def _take_piece(self, piece: _Piece) -> tuple[ChatDelta, ...]:
        """What a piece of text or reasoning adds."""
        if isinstance(piece.content_block_index, int):
            self._place = piece.content_block_index
        if piece.delta.text or piece.delta.reasoning_content is None:
            return self._say(piece.delta.text)
        return self._think_at(self._place, piece.delta.reasoning_content.text)

    def take_frame(self, frame: Frame) -> Iterable[ChatDelta]:
        """Take the next frame of a stream; give what it adds.

        :raises CallFailed: it says that something failed.
        :raises DamagedFrame: it says nothing that could be read.
        """
        kind, name = frame.headers.get(":message-type"), frame.headers.get(":event-type", "")
        if kind == "event" and name == _PIECE:
            try:
                return self._take_piece(self.pieces.decode(frame.payload))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                pass  # it says more
        data = decoded(frame.payload) if frame.payload else {}
        if kind in ("exception", "error"):
            name = frame.headers.get(":exception-type") or frame.headers.get(":error-code") or kind
            said = frame.headers.get(":error-message") or (plain_text(frame.payload) if data is NOT_JSON else "")
            fields = data if isinstance(data, dict) and data else {"message": said}
            raise self.broken(exception_frame(name, fields, self._terms.secrets))
        if not isinstance(data, dict):
            raise DamagedFrame("the payload of a frame is not a JSON object")
        return self.feed({name: data})

    def feed(self, event: object) -> Iterator[ChatDelta]:
        """Take the next event; give what it adds."""
        for name, given in table(event).items():
            data = table(given)
            if name == "contentBlockStart":
                yield from self._start(self._at(data), table(data.get("start")))
            elif name == _PIECE:
                yield from self._delta(self._at(data), table(data.get("delta")))
            elif name == "contentBlockStop":
                if call := self._open_calls.pop(self._at(data), None):
                    call.is_open = False
            elif name == "messageStop":
                self._raw = string(data.get("stopReason")) or None
            elif name == "metadata":
                self._metadata(data)

    def read(self, body: object) -> Iterator[ChatDelta]:
        """Take an answer in one piece; give what it would have been in several."""
        data = table(body)
        if not isinstance(table(data.get("output")).get("message"), dict) and "stopReason" not in data:
            raise self._alien(body, "Converse")
        for event in _unary_events(data):
            yield from self.feed(event)

    def usage(self) -> Usage:
        """The tokens, as far as they are told."""
        return self._usage

    def opaque(self) -> Mapping[str, Any]:
        """The signed reasoning, which goes back with this turn."""
        signed = [block for _, each in sorted(self._thoughts.items()) if (block := each.signed())]
        return {OPAQUE: signed} if signed else {}

    def finish(self) -> ChatResponse:
        """The response that everything comes to."""
        response = super().finish()
        if self._raw == _GUARDRAIL and self._is_masked:
            # A guardrail that only masked names leaves an answer that is complete and can be used.
            response = attrs.evolve(response, disposition=Disposition.FINAL)
        return response

    def _at(self, data: Mapping[str, Any]) -> int:
        """The place of the block that an event is about: without one, that of the event before it."""
        index = data.get("contentBlockIndex")
        self._place = index if isinstance(index, int) else self._place
        return self._place

    def _start(self, place: int, start: Mapping[str, Any]) -> Iterator[ChatDelta]:
        tool = table(start.get("toolUse"))
        self._tell(start)
        name = string(tool.get("name"))
        if tool.get("type") == _SERVER_RUN:  # the provider ran it itself
            self._pass_over(_SERVER_RUN)
        elif name:
            call, delta = self._call(string(tool.get("toolUseId")), name)
            call.is_open = True
            self._open_calls[place] = call
            yield delta

    def _delta(self, place: int, delta: Mapping[str, Any]) -> Iterator[ChatDelta]:
        self._tell(delta)
        yield from self._say(string(delta.get("text")))
        if call := self._open_calls.get(place):
            given = table(delta.get("toolUse")).get("input")
            yield from self._write(call, given if isinstance(given, str) else "")
        if reasoning := table(delta.get("reasoningContent")):
            thought = self._thoughts.setdefault(place, _Thought())
            thought.signature += string(reasoning.get("signature"))
            thought.redacted += filter(None, [string(reasoning.get("redactedContent"))])
            yield from self._think_at(place, string(reasoning.get("text")))

    def _think_at(self, place: int, text: str) -> tuple[ChatDelta, ...]:
        if text:
            self._thoughts.setdefault(place, _Thought()).text.append(text)
        return self._think(text)

    def _tell(self, block: Mapping[str, Any]) -> None:
        for kind in sorted(block.keys() - _KINDS):
            if block[kind] is not None:
                self._pass_over(kind)

    def _metadata(self, data: Mapping[str, Any]) -> None:
        if usage := table(data.get("usage")):
            self._usage = _usage(usage)
        trace = table(data.get("trace"))
        self._model = string(table(trace.get("promptRouter")).get("invokedModelId"))
        self._is_masked = _is_masked(table(trace.get("guardrail")))


def _unary_events(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The events that an answer in one piece would have been."""
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


# -- values that may be anything ------------------------------------------------------------------------------


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
