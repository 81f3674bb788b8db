"""A scripted answer without a wire format, and what a server's wire format consists of."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import attrs

from helmdeck_core import FailureClass, ToolCall
from helmdeck_testing.servers import Recorded

REQUEST_ID = "req-loopback-1"
"""What a server calls every request, where its format does not say otherwise."""

_PIECE_CHARS = 12


@attrs.frozen(kw_only=True)
class ScriptedAnswer:
    """An answer as a model gives it.

    :ivar stop: ``stop``, ``length``, ``content_filter``, ``tool_calls`` or ``error``, which each format has its own word
        for; ``None`` for an answer that does not say why it ends.
    :ivar tool_calls: with ids and the whole JSON text of their arguments.
    :ivar input_tokens: all of them, also where the format counts cached ones apart.
    :ivar model: the name that the answer carries.
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
        """The text in pieces of a stream."""
        return in_chunks(self.text)

    @property
    def thoughts(self) -> Sequence[str]:
        """The reasoning in pieces of a stream."""
        return in_chunks(self.reasoning)


def in_chunks(text: str) -> Sequence[str]:
    """A text as a stream brings it."""
    return [text[start : start + _PIECE_CHARS] for start in range(0, len(text), _PIECE_CHARS)]


def _asks_for_a_stream(request: Recorded) -> bool:
    return request.body.get("stream") is True


def _error(status: int, message: str) -> Mapping[str, Any]:
    return {"error": {"message": message, "type": "server_error", "code": status}}


@attrs.frozen(kw_only=True)
class ServerFormat:
    """How the servers of one family write.

    :ivar whole: the body of an answer in one piece.
    :ivar events: the events of a stream, each as bytes. Without a stop reason they end after the last piece of what is
        said, as if more followed.
    :ivar error: status and message to the body of an error.
    :ivar error_event: message to the event that breaks a stream off.
    :ivar failed: message to the body of an error that comes with HTTP 200; by default what ``error`` says of a status 500.
    :ivar limit: the body of a request to the output limit in it.
    :ivar models: names of models to the body of their list; ``None`` where the family has none.
    :ivar wants_stream: whether a request asks for a stream.
    :ivar content_type: of a stream.
    :ivar headers: of every answer; the name of the request, unless the family gives none.
    :ivar quota: headers that tell how much is left, as the family has them.
    :ivar lacks: names of the modes that the format cannot express.
    :ivar causes: what a mode comes to where the format says more than others, by the mode's name.
    """

    name: str
    whole: Callable[[ScriptedAnswer], Mapping[str, Any]]
    events: Callable[[ScriptedAnswer], Sequence[bytes]]
    limit: Callable[[Mapping[str, Any]], int | None]
    error: Callable[[int, str], Mapping[str, Any]] = _error
    error_event: Callable[[str], bytes]
    failed: Callable[[str], Mapping[str, Any]] | None = None
    models: Callable[[Sequence[str]], Mapping[str, Any] | list[Any]] | None = None
    wants_stream: Callable[[Recorded], bool] = _asks_for_a_stream
    content_type: str = "text/event-stream"
    headers: Mapping[str, str] = MappingProxyType({"x-request-id": REQUEST_ID})
    quota: Mapping[str, str] = MappingProxyType({})
    lacks: frozenset[str] = frozenset()
    causes: Mapping[str, FailureClass] = MappingProxyType({})


def sse(*events: Mapping[str, Any] | str, named: bool = False) -> list[bytes]:
    """Server-sent events, one piece each.

    :param named: the ``type`` of an event is its name, too.
    """
    found = []
    for event in events:
        name = f"event: {event['type']}\n" if named and isinstance(event, Mapping) else ""
        data = event if isinstance(event, str) else json.dumps(event)
        found.append(f"{name}data: {data}\n\n".encode())
    return found
