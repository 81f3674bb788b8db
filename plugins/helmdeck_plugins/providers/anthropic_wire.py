"""Reads an answer in the form of Anthropic's messages, whole or event by event.

Text and tool calls are read; blocks of every other kind are kept as they came, because some of them have to go back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from helmdeck_core import ChatDelta, Disposition, StopReason, Usage
from helmdeck_plugins.providers.anthropic_request import OPAQUE
from helmdeck_provider_kit import (
    ErrorFacts,
    PartialToolCall,
    ReaderContext,
    ResponseReader,
    arguments,
    count,
    native_word,
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
    "refusal": StopReason.SAFETY_BLOCKED,
}
DISPOSITIONS: Mapping[str, Disposition] = {
    "pause_turn": Disposition.RESUME,  # a loop of tools on the server paused
    "compaction": Disposition.RESUME,  # the history was made shorter
}
"""Both words are ``Unknown``: the turn has neither ended nor failed."""

_NAME = "Anthropic's messages"
_READ = ("text", "thinking", "redacted_thinking", "tool_use", "fallback", "compaction")
_TEXTS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "compaction_delta": "content",
}
"""Kinds of pieces, and the field that each of them adds to, which has the same name in the block."""


class _Text(msgspec.Struct, tag_field="type", tag="text_delta", gc=False):
    text: str


class _Thought(msgspec.Struct, tag_field="type", tag="thinking_delta", gc=False):
    thinking: str


class _Piece(msgspec.Struct, gc=False):
    """A piece of text or reasoning."""

    type: Literal["content_block_delta"]
    index: int
    delta: _Text | _Thought
    error: None = None
    object: None = None


class _Block:
    """A block as it began, and what its pieces added to the fields of it."""

    def __init__(self, data: dict[str, Any], call: PartialToolCall | None) -> None:
        self.kind = string(data.get("type"))
        self.call = call
        self.input: list[str] = []
        self.given_input = data.get("input")
        self._data = data
        self._added: dict[str, list[str]] = {}
        self._citations: list[Any] = []

    def add(self, field: str, piece: str) -> None:
        self._added.setdefault(field, []).append(piece)

    def cite(self, citation: object) -> None:
        self._citations.append(citation)

    def whole(self) -> dict[str, Any] | None:
        """The block as it goes back; ``None`` for one that breaks off and would be refused."""
        data = dict(self._data)
        for field, pieces in self._added.items():
            data[field] = string(data.get(field)) + "".join(pieces)
        if self._citations:
            data["citations"] = [*rows(data.get("citations")), *self._citations]
        if not self.kind or (self.kind == "thinking" and not data.get("signature")):
            return None
        if self.input:
            try:
                data["input"] = msgspec.json.decode("".join(self.input))
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                return None
        return data


class MessageAnswer(ResponseReader):
    """An answer of the messages interface."""

    usual = msgspec.json.Decoder(_Piece)

    def __init__(self, terms: ReaderContext) -> None:
        super().__init__(terms)
        self._blocks: list[_Block] = []
        self._open: dict[object, _Block] = {}
        self._usage: dict[str, Any] = {}

    def take_usual(self, piece: _Piece) -> Sequence[ChatDelta] | None:
        """What a piece of text or reasoning adds."""
        block, delta = self._open.get(piece.index), piece.delta
        if block is None:
            return None
        if isinstance(delta, _Text):
            block.add("text", delta.text)
            return self._say(delta.text)
        block.add("thinking", delta.thinking)
        return self._think(delta.thinking)

    def feed(self, event: object) -> Iterator[ChatDelta]:
        """Take the next event, decoded; give what it adds."""
        self._raise_error(event)
        if not isinstance(event, dict):
            raise self._alien(event, _NAME)
        kind = event.get("type")
        if kind == "message" or (kind is None and isinstance(event.get("content"), list)):
            self._message(event)
            for number, block in enumerate(rows(event.get("content"))):
                yield from self._begin(number, block)
                yield from self._end(number)
        elif kind == "message_start":
            self._message(table(event.get("message")))
        elif kind == "content_block_start":
            yield from self._begin(event.get("index"), table(event.get("content_block")))
        elif kind == "content_block_delta":
            yield from self._piece(event.get("index"), table(event.get("delta")))
        elif kind == "content_block_stop":
            yield from self._end(event.get("index"))
        elif kind == "message_delta":
            self._told(table(event.get("delta")), event.get("usage"))
        elif kind == "error":
            raise self._failed(ErrorFacts())
        elif not isinstance(kind, str):  # new kinds of events may come at any time; what has no kind is no event
            raise self._alien(event, _NAME)

    def usage(self) -> Usage:
        """The tokens, as far as they are told."""
        read, written = (count(self._usage, f"cache_{way}_input_tokens") for way in ("read", "creation"))
        return Usage(
            input_tokens=count(self._usage, "input_tokens") + read + written,
            output_tokens=count(self._usage, "output_tokens"),
            cached_input_tokens=read,
            cache_write_tokens=written,
            reasoning_tokens=count(self._usage.get("output_tokens_details"), "thinking_tokens"),
        )

    def opaque(self) -> Mapping[str, Any]:
        """What has to go back unchanged with this turn."""
        is_paused = (self._raw or "").strip().casefold() in DISPOSITIONS
        if not is_paused and all(block.kind in ("text", "tool_use") for block in self._blocks):
            return {}
        blocks = [block for block in (each.whole() for each in self._blocks) if block is not None]
        return {OPAQUE: {"content": blocks, **({"is_paused": True} if is_paused else {})}}

    def _message(self, message: Mapping[str, Any]) -> None:
        self._model = string(message.get("model"))
        self._told(message, message.get("usage"))

    def _told(self, facts: Mapping[str, Any], usage: object) -> None:
        self._raw = native_word(facts.get("stop_reason")) or self._raw
        details = table(facts.get("stop_details"))
        if details.get("type") == "refusal":
            self._is_refused = True
            self._refusal = string(details.get("explanation")) or string(details.get("category"))
        # Totals of the whole message; what is not told again stays.
        self._usage |= {name: value for name, value in table(usage).items() if value is not None}

    def _begin(self, index: object, data: dict[str, Any]) -> Iterator[ChatDelta]:
        kind, call = data.get("type"), None
        if kind == "tool_use" and (name := string(data.get("name"))):
            call, delta = self._call(string(data.get("id")), name)
            yield delta
        elif kind not in _READ:
            self._pass_over(kind)
        block = _Block(data, call)
        self._blocks.append(block)
        self._open[index if isinstance(index, int) else f"block {len(self._blocks)}"] = block
        if kind == "text":
            yield from self._say(string(data.get("text")))
        elif kind == "thinking":
            yield from self._think(string(data.get("thinking")))
        elif kind == "fallback":  # from here on another model answers
            self._model = string(table(data.get("to")).get("model")) or self._model

    def _place(self, index: object) -> object:
        """Which block is meant; without a number it is the one that began last."""
        return index if isinstance(index, int) else next(reversed(self._open), None)

    def _piece(self, index: object, delta: Mapping[str, Any]) -> Iterator[ChatDelta]:
        place = self._place(index)
        block = self._open.get(place)
        if block is None:  # its beginning is lost; what it says is still said
            block = _Block(
                {"type": {"text_delta": "text", "thinking_delta": "thinking"}.get(str(delta.get("type")))}, None
            )
            self._blocks.append(block)
            self._open[place] = block
        kind = delta.get("type")
        if kind == "input_json_delta":
            piece = string(delta.get("partial_json"))
            block.input += [piece] * bool(piece)
            if block.call is not None:
                yield from self._write(block.call, piece)
        elif kind == "citations_delta":
            block.cite(delta.get("citation"))
        elif isinstance(kind, str) and kind in _TEXTS:
            piece = string(delta.get(_TEXTS[kind]))
            block.add(_TEXTS[kind], piece)
            if kind == "text_delta":
                yield from self._say(piece)
            elif kind == "thinking_delta":
                yield from self._think(piece)

    def _end(self, index: object) -> Iterator[ChatDelta]:
        block = self._open.pop(self._place(index), None)
        if block is not None and block.call is not None and not block.call.pieces:
            # No piece came: the input stood in the beginning, or there is none.
            yield from self._write(block.call, arguments(block.given_input))
