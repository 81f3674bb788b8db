"""Reads responses of Ollama's own chat API; whole responses and stream lines have the same shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import attrs
import msgspec

from helmdeck_core import ChatDelta, ChatResponse, Disposition, StopReason, Usage
from helmdeck_providers.http.bodies import count, native_word, rows, string, table
from helmdeck_providers.http.response_reader import ReaderContext, ResponseReader
from helmdeck_providers.wire_formats.ollama.request import OPAQUE

_FIELDS = ("message", "response", "done", "done_reason")
_WINDOW_MARGIN_TOKENS = 16
"""The server keeps at most this many tokens of a window free."""
_TINY_OUTPUT_TOKENS = 16
_MAX_BYTES_PER_TOKEN = 12
"""No conversation has this many UTF-8 bytes per token; a server that counts fewer tokens has truncated the prompt."""
_MIN_PROMPT_BYTES = 4_096


class _Message(msgspec.Struct, gc=False):
    content: str
    thinking: str = ""
    tool_calls: None = None


class _Chunk(msgspec.Struct, gc=False):
    """A line with text or reasoning only."""

    message: _Message
    done: bool
    model: str = ""
    created_at: str = ""
    done_reason: None = None
    error: None = None
    object: None = None
    eval_count: msgspec.UnsetType = msgspec.UNSET


class OllamaAnswer(ResponseReader):
    """A response of Ollama's chat API, or of the older generate API.

    :param prompt_bytes: UTF-8 bytes of text in the request.
    :param window: context window of the loaded model in tokens, if known.
    """

    fast_decoder: ClassVar[msgspec.json.Decoder[Any] | None] = msgspec.json.Decoder(_Chunk)

    def __init__(self, context: ReaderContext, *, prompt_bytes: int = 0, window: int | None = None) -> None:
        super().__init__(context)
        self._prompt_bytes = prompt_bytes
        self._window = window
        self._last: Mapping[str, Any] = {}

    def feed_fast(self, chunk: _Chunk) -> Sequence[ChatDelta] | None:
        """Read a line with text or reasoning only."""
        if chunk.done:
            return None
        self._model = chunk.model or self._model
        self._seed = self._seed or chunk.created_at
        message = chunk.message
        return (*self._add_reasoning(message.thinking), *self._add_text(message.content))

    def feed(self, event: object) -> Iterator[ChatDelta]:
        """Read one decoded event and yield the deltas it adds."""
        self._raise_error(event)
        if not isinstance(event, dict) or not any(name in event for name in _FIELDS):
            raise self._wrong_format(event, "Ollama's")
        self._model = string(event.get("model")) or self._model
        self._seed = self._seed or string(event.get("created_at"))
        message = table(event.get("message")) or {"content": event.get("response"), "thinking": event.get("thinking")}
        yield from self._add_reasoning(string(message.get("thinking")))
        yield from self._add_text(string(message.get("content")))
        for call in rows(message.get("tool_calls")):
            function = table(call.get("function"))
            if name := string(function.get("name")):
                yield from self._add_call(string(call.get("id")), name, function.get("arguments"))
            else:
                self._note_lost_arguments(function.get("arguments"))
        self._raw = native_word(event.get("done_reason")) or self._raw
        if event.get("done") is True or "eval_count" in event:
            self._last = event
        if event.get("done") is True:
            self.done()

    def usage(self) -> Usage:
        """Token usage reported so far."""
        return Usage(input_tokens=count(self._last, "prompt_eval_count"), output_tokens=count(self._last, "eval_count"))

    def opaque(self) -> Mapping[str, Any]:
        """Reasoning to send back with this turn."""
        return {OPAQUE: {"thinking": "".join(self._reasoning)}} if self._reasoning else {}

    def finish(self) -> ChatResponse:
        """Return the complete response."""
        response = super().finish()
        read, written = response.usage.input_tokens, response.usage.output_tokens
        is_full = self._window is not None and read >= self._window - _WINDOW_MARGIN_TOKENS
        if response.stop_reason is StopReason.MAX_TOKENS and is_full and written <= _TINY_OUTPUT_TOKENS:
            # The window is full: a higher output limit would not help.
            response = attrs.evolve(response, disposition=Disposition.SHRINK)
        is_short = self._prompt_bytes >= _MIN_PROMPT_BYTES and 0 < read < self._prompt_bytes // _MAX_BYTES_PER_TOKEN
        if is_full or is_short:
            # The server silently truncates the start of a prompt that is too long.
            downgrade = f"the start of the prompt may be left out: {read:,} tokens were read; see num_ctx"
            response = attrs.evolve(response, downgrades=(*response.downgrades, downgrade))
        return response
