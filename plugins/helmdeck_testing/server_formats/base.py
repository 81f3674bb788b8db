"""The content of an answer, and the format in which a server sends it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import attrs

from helmdeck_core import EMPTY, FailureClass, ToolCall
from helmdeck_testing.servers import Recorded

REQUEST_ID = "req-loopback-1"
"""Default request id of all responses."""

_PIECE_CHARS = 12


@attrs.frozen(kw_only=True)
class ScriptedAnswer:
    """The content of an answer, independent of the format.

    :ivar stop: ``stop``, ``length``, ``content_filter``, ``tool_calls`` or ``error``, which each format translates;
        ``None`` for an answer without a stop reason.
    :ivar tool_calls: with ids and arguments as JSON text.
    :ivar input_tokens: all input tokens, even if the format counts cached ones separately.
    :ivar model: served model.
    """

    text: str = ""
    reasoning: str = ""
    stop: str | None = "stop"
    tool_calls: tuple[ToolCall, ...] = ()
    input_tokens: int = 5
    cached_input_tokens: int = 0
    output_tokens: int = 2
    model: str = "loopback"

    @property
    def pieces(self) -> Sequence[str]:
        """The text in stream chunks."""
        return in_chunks(self.text)

    @property
    def reasoning_pieces(self) -> Sequence[str]:
        """The reasoning in stream chunks."""
        return in_chunks(self.reasoning)


def in_chunks(text: str) -> Sequence[str]:
    """Split a text into stream chunks.

    >>> from helmdeck_testing import in_chunks
    >>> in_chunks("The tide turns at nine.")
    ['The tide tur', 'ns at nine.']
    """
    return [text[start : start + _PIECE_CHARS] for start in range(0, len(text), _PIECE_CHARS)]


def _requests_stream(request: Recorded) -> bool:
    return request.body.get("stream") is True


def _error(status: int, message: str) -> Mapping[str, Any]:
    return {"error": {"message": message, "type": "server_error", "code": status}}


@attrs.frozen(kw_only=True)
class ServerFormat:
    """The response format of one vendor's servers.

    :ivar whole: returns the body of a whole response.
    :ivar events: returns the events of a stream as bytes. Without a stop reason the stream ends after the last content.
    :ivar error: returns the body of an error for status and message.
    :ivar error_event: returns the event of an error within a stream.
    :ivar failed: returns the body of an error with HTTP 200; by default that of ``error`` for status 500.
    :ivar limit: returns the output limit in a request body.
    :ivar models: returns the model list for some names; ``None`` if the vendor has none.
    :ivar wants_stream: whether a request asks for a stream.
    :ivar content_type: content type of a stream.
    :ivar headers: headers of every response; by default a request id.
    :ivar quota: quota headers of the vendor.
    :ivar lacks: names of the modes that the format cannot express.
    :ivar causes: failure classes by mode where they differ from the default.
    """

    name: str
    whole: Callable[[ScriptedAnswer], Mapping[str, Any]]
    events: Callable[[ScriptedAnswer], Sequence[bytes]]
    limit: Callable[[Mapping[str, Any]], int | None]
    error: Callable[[int, str], Mapping[str, Any]] = _error
    error_event: Callable[[str], bytes]
    failed: Callable[[str], Mapping[str, Any]] | None = None
    models: Callable[[Sequence[str]], Mapping[str, Any] | list[Any]] | None = None
    wants_stream: Callable[[Recorded], bool] = _requests_stream
    content_type: str = "text/event-stream"
    headers: Mapping[str, str] = MappingProxyType({"x-request-id": REQUEST_ID})
    quota: Mapping[str, str] = EMPTY
    lacks: frozenset[str] = frozenset()
    causes: Mapping[str, FailureClass] = EMPTY


def sse(*events: Mapping[str, Any] | str, named: bool = False) -> list[bytes]:
    """Encode server-sent events.

    :param named: send the ``type`` of an event as its event name.
    """
    encoded = []
    for event in events:
        name = f"event: {event['type']}\n" if named and isinstance(event, Mapping) else ""
        data = event if isinstance(event, str) else json.dumps(event)
        encoded.append(f"{name}data: {data}\n\n".encode())
    return encoded
