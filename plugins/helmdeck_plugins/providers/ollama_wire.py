"""Reads an answer in the form of Ollama's own chat, whole or line by line: both have the same shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import msgspec

from helmdeck_core import ChatDelta, ChatResponse, Disposition, StopReason, Usage
from helmdeck_plugins.providers.ollama_request import OPAQUE
from helmdeck_provider_kit import ReaderContext, ResponseReader, count, native_word, rows, string, table

REASONS: Mapping[str, StopReason] = {
    "stop": StopReason.END_TURN,
    "length": StopReason.MAX_TOKENS,
}
DISPOSITIONS: Mapping[str, Disposition] = {
    "load": Disposition.STOP,  # there was no message to answer
    "unload": Disposition.STOP,
}

_FIELDS = ("message", "response", "done", "done_reason")
_NEAR_WINDOW = 16
"""The server keeps this much of a window free, or less."""
_TINY_OUTPUT = 16
_CERTAIN_BYTES_PER_TOKEN = 12
"""No text of a conversation has that many UTF-8 bytes to a token; a server that counts fewer tokens read less."""
_MIN_PROMPT_BYTES = 4_096


class _Message(msgspec.Struct, gc=False):
    content: str
    thinking: str = ""
    tool_calls: None = None


class _Piece(msgspec.Struct, gc=False):
    """A piece of text or reasoning."""

    message: _Message
    done: bool
    model: str = ""
    created_at: str = ""
    done_reason: None = None
    error: None = None
    object: None = None
    eval_count: msgspec.UnsetType = msgspec.UNSET


class OllamaAnswer(ResponseReader):
    """An answer of Ollama's chat, or of its older generate.

    :param prompt_bytes: UTF-8 bytes of text that were sent.
    :param window: tokens that the model was loaded with, where it is known.
    """

    usual = msgspec.json.Decoder(_Piece)

    def __init__(self, terms: ReaderContext, *, prompt_bytes: int = 0, window: int | None = None) -> None:
        super().__init__(terms)
        self._prompt_bytes = prompt_bytes
        self._window = window
        self._last: Mapping[str, Any] = {}

    def take_usual(self, piece: _Piece) -> Sequence[ChatDelta] | None:
        """What a piece of text or reasoning adds."""
        if piece.done:
            return None
        self._model = piece.model or self._model
        self._seed = self._seed or piece.created_at
        message = piece.message
        return (*self._think(message.thinking), *self._say(message.content))

    def feed(self, event: object) -> Iterator[ChatDelta]:
        """Take the next event, decoded; give what it adds."""
        self._raise_error(event)
        if not isinstance(event, dict) or not any(name in event for name in _FIELDS):
            raise self._alien(event, "Ollama's")
        self._model = string(event.get("model")) or self._model
        self._seed = self._seed or string(event.get("created_at"))
        message = table(event.get("message")) or {"content": event.get("response"), "thinking": event.get("thinking")}
        yield from self._think(string(message.get("thinking")))
        yield from self._say(string(message.get("content")))
        for call in rows(message.get("tool_calls")):
            function = table(call.get("function"))
            if name := string(function.get("name")):
                yield from self._call_at_once(string(call.get("id")), name, function.get("arguments"))
        self._raw = native_word(event.get("done_reason")) or self._raw
        if event.get("done") is True or "eval_count" in event:
            self._last = event

    def usage(self) -> Usage:
        """The tokens, as far as they are told."""
        return Usage(input_tokens=count(self._last, "prompt_eval_count"), output_tokens=count(self._last, "eval_count"))

    def opaque(self) -> Mapping[str, Any]:
        """What has to go back unchanged with this turn."""
        return {OPAQUE: {"thinking": "".join(self._reasoning)}} if self._reasoning else {}

    def finish(self) -> ChatResponse:
        """The response that everything comes to."""
        response = super().finish()
        read, written = response.usage.input_tokens, response.usage.output_tokens
        is_full = self._window is not None and read >= self._window - _NEAR_WINDOW
        if response.stop_reason is StopReason.MAX_TOKENS and is_full and written <= _TINY_OUTPUT:
            # The window ran out, and asking for more output would not help.
            response = attrs.evolve(response, disposition=Disposition.SHRINK)
        is_short = self._prompt_bytes >= _MIN_PROMPT_BYTES and 0 < read < self._prompt_bytes // _CERTAIN_BYTES_PER_TOKEN
        if is_full or is_short:
            # The server drops the beginning of a prompt that is too long, and says nothing.
            left_out = f"the beginning of the prompt may be left out: {read:,} tokens were read; see num_ctx"
            response = attrs.evolve(response, downgrades=(*response.downgrades, left_out))
        return response
