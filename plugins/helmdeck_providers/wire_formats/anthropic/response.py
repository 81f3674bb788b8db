"""Reads responses of Anthropic's Messages API, whole or streamed.

Text, reasoning and tool calls are parsed; blocks of every other kind are kept verbatim, because some must be sent back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

import msgspec

from helmdeck_core import ChatDelta, Usage
from helmdeck_providers.http.bodies import arguments, count, native_word, rows, string, table
from helmdeck_providers.http.failures import ErrorFacts
from helmdeck_providers.http.partial_tool_call import PartialToolCall
from helmdeck_providers.http.response_reader import ReaderContext, ResponseReader
from helmdeck_providers.wire_formats.anthropic.request import OPAQUE
from helmdeck_providers.wire_formats.anthropic.stop_reasons import DISPOSITIONS

_NAME = "Anthropic's messages"
_KNOWN_BLOCKS = ("text", "thinking", "redacted_thinking", "tool_use", "fallback", "compaction")
_DELTA_FIELDS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "compaction_delta": "content",
}
"""Type of a delta to the field that it extends; the field has the same name in the block."""


class _Text(msgspec.Struct, tag_field="type", tag="text_delta", gc=False):
    text: str


class _Reasoning(msgspec.Struct, tag_field="type", tag="thinking_delta", gc=False):
    thinking: str


class _Chunk(msgspec.Struct, gc=False):
    """A text or reasoning delta."""

    type: Literal["content_block_delta"]
    index: int
    delta: _Text | _Reasoning
    error: None = None
    object: None = None


class _Block:
    """A content block: its first event and the deltas that extend its fields."""

    def __init__(self, data: dict[str, Any], call: PartialToolCall | None) -> None:
        self.kind = string(data.get("type"))
        self.call = call
        self.input: list[str] = []
        self.start_input = data.get("input")
        self._data = data
        self._added: dict[str, list[str]] = {}
        self._citations: list[Any] = []

    @property
    def takes_input(self) -> bool:
        """Whether the block is a call, also of a tool that the provider executes."""
        return self.kind.endswith("tool_use")

    def add(self, field: str, chunk: str) -> None:
        self._added.setdefault(field, []).append(chunk)

    def cite(self, citation: object) -> None:
        self._citations.append(citation)

    def joined(self) -> dict[str, Any] | None:
        """Return the block to send back; ``None`` for a truncated one, which the API would reject."""
        data = dict(self._data)
        for field, chunks in self._added.items():
            data[field] = string(data.get(field)) + "".join(chunks)
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
    """A response of the Messages API."""

    fast_decoder: ClassVar[msgspec.json.Decoder[Any] | None] = msgspec.json.Decoder(_Chunk)

    def __init__(self, context: ReaderContext) -> None:
        super().__init__(context)
        self._blocks: list[_Block] = []
        self._open: dict[object, _Block] = {}
        self._usage: dict[str, Any] = {}

    def feed_fast(self, chunk: _Chunk) -> Sequence[ChatDelta] | None:
        """Read a text or reasoning delta."""
        block, delta = self._open.get(chunk.index), chunk.delta
        if block is None:
            return None
        if isinstance(delta, _Text):
            block.add("text", delta.text)
            return self._add_text(delta.text)
        block.add("thinking", delta.thinking)
        return self._add_reasoning(delta.thinking)

    def feed(self, event: object) -> Iterator[ChatDelta]:
        """Read one decoded event and yield the deltas it adds."""
        self._raise_error(event)
        if not isinstance(event, dict):
            raise self._wrong_format(event, _NAME)
        kind = event.get("type")
        if kind == "message" or (kind is None and isinstance(event.get("content"), list)):
            self._message(event)
            for number, block in enumerate(rows(event.get("content"))):
                yield from self._start_block(number, block)
                yield from self._finish_block(number)
        elif kind == "message_start":
            self._message(table(event.get("message")))
        elif kind == "content_block_start":
            yield from self._start_block(event.get("index"), table(event.get("content_block")))
        elif kind == "content_block_delta":
            yield from self._extend_block(event.get("index"), table(event.get("delta")))
        elif kind == "content_block_stop":
            yield from self._finish_block(event.get("index"))
        elif kind == "message_delta":
            self._read_metadata(table(event.get("delta")), event.get("usage"))
            if self._raw is not None:  # some proxies send no events for the ends of blocks
                for unfinished in self._open.values():
                    yield from self._add_start_input(unfinished)
        elif kind == "message_stop":
            self.done()
        elif kind == "error":
            raise self._make_failure(ErrorFacts())
        elif not isinstance(
            kind, str
        ):  # new types of events may appear at any time; an object without type is no event
            raise self._wrong_format(event, _NAME)

    def usage(self) -> Usage:
        """Token usage reported so far."""
        read, written = (count(self._usage, f"cache_{way}_input_tokens") for way in ("read", "creation"))
        return Usage(
            input_tokens=count(self._usage, "input_tokens") + read + written,
            output_tokens=count(self._usage, "output_tokens"),
            cached_input_tokens=read,
            cache_write_tokens=written,
            reasoning_tokens=count(self._usage.get("output_tokens_details"), "thinking_tokens"),
        )

    def opaque(self) -> Mapping[str, Any]:
        """Blocks to send back unchanged with this turn."""
        is_paused = (self._raw or "").strip().casefold() in DISPOSITIONS
        if not is_paused and all(block.kind in ("text", "tool_use") for block in self._blocks):
            return {}
        blocks = [block for block in (each.joined() for each in self._blocks) if block is not None]
        return {OPAQUE: {"content": blocks, **({"is_paused": True} if is_paused else {})}}

    def _message(self, message: Mapping[str, Any]) -> None:
        self._model = string(message.get("model"))
        self._read_metadata(message, message.get("usage"))

    def _read_metadata(self, data: Mapping[str, Any], usage: object) -> None:
        self._raw = native_word(data.get("stop_reason")) or self._raw
        details = table(data.get("stop_details"))
        if details.get("type") == "refusal":
            self._is_refused = True
            self._refusal = string(details.get("explanation")) or string(details.get("category"))
        # Totals of the whole message; counters that are not repeated keep their value. Some proxies repeat them as 0.
        self._usage |= {name: value for name, value in table(usage).items() if value or name not in self._usage}

    def _start_block(self, index: object, data: dict[str, Any]) -> Iterator[ChatDelta]:
        kind, call = data.get("type"), None
        if kind == "tool_use" and (name := string(data.get("name"))):
            call, delta = self._start_call(string(data.get("id")), name)
            yield delta
        elif kind == "tool_use":
            self._note_lost_arguments(data.get("input"))
        elif kind not in _KNOWN_BLOCKS:
            self._note_unread(kind)
        block = _Block(data, call)
        self._blocks.append(block)
        self._open[index if isinstance(index, int) else f"block {len(self._blocks)}"] = block
        if kind == "text":
            yield from self._add_text(string(data.get("text")))
        elif kind == "thinking":
            yield from self._add_reasoning(string(data.get("thinking")))
        elif kind == "fallback":  # another model answers from here on
            self._model = string(table(data.get("to")).get("model")) or self._model

    def _block_key(self, index: object) -> object:
        """Return the key of an open block; without an index it is the one started last."""
        return index if isinstance(index, int) else next(reversed(self._open), None)

    def _extend_block(self, index: object, delta: Mapping[str, Any]) -> Iterator[ChatDelta]:
        key = self._block_key(index)
        block = self._open.get(key)
        if delta.get("type") == "input_json_delta" and (block is None or not block.takes_input):
            takers = [each for each in self._open.values() if each.takes_input]
            if len(takers) != 1:
                self._note_lost_arguments(delta.get("partial_json"))
                return
            block = takers[0]  # some proxies number chunks differently
        if block is None:  # its start event is missing; the content still counts
            block = _Block(
                {"type": {"text_delta": "text", "thinking_delta": "thinking"}.get(str(delta.get("type")))}, None
            )
            self._blocks.append(block)
            self._open[key] = block
        kind = delta.get("type")
        if kind == "input_json_delta":
            chunk = string(delta.get("partial_json"))
            block.input += [chunk] * bool(chunk)
            if block.call is not None:
                yield from self._add_arguments(block.call, chunk)
            elif block.kind == "tool_use":
                self._note_lost_arguments(chunk)
        elif kind == "citations_delta":
            block.cite(delta.get("citation"))
        elif isinstance(kind, str) and kind in _DELTA_FIELDS:
            chunk = string(delta.get(_DELTA_FIELDS[kind]))
            block.add(_DELTA_FIELDS[kind], chunk)
            if kind == "text_delta":
                yield from self._add_text(chunk)
            elif kind == "thinking_delta":
                yield from self._add_reasoning(chunk)

    def _finish_block(self, index: object) -> Iterator[ChatDelta]:
        if block := self._open.pop(self._block_key(index), None):
            yield from self._add_start_input(block)

    def _add_start_input(self, block: _Block) -> Iterator[ChatDelta]:
        """Add the input of a start event, or an empty one, where no delta has it."""
        if block.call is not None and not block.call.chunks:
            yield from self._add_arguments(block.call, arguments(block.start_input))
