"""A finished response with the facts that the dialects write beside it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol

import attrs

from helmdeck_core import ChatDelta, ChatResponse, ToolCall, ToolCallDelta
from helmdeck_gateway.dialects.parsed import OpaqueOf, Parsed
from helmdeck_gateway.problems import Problem

EVENT_STREAM: Final = b"text/event-stream; charset=utf-8"


@attrs.define(kw_only=True)
class Opening:
    """The facts that are known before the response.

    :ivar model: the model that the response names: the client's own name for it, or that of the fallback that answered.
    :ivar id: the random part of the ids in the response.
    """

    model: str
    id: str = attrs.field(factory=lambda: os.urandom(12).hex())
    created: int = attrs.field(factory=lambda: int(time.time()))


@attrs.frozen(kw_only=True)
class Reply:
    """A finished response.

    :ivar model: the model that the response names.
    """

    response: ChatResponse
    opening: Opening
    model: str
    parsed: Parsed


class StreamWriter(Protocol):
    """Writes the events of one streamed response as bytes.

    :ivar ping: an event that clients ignore.
    :ivar content_type: of the response.
    :ivar opening: the facts that the events repeat; its model may change until ``start``.
    """

    ping: bytes
    content_type: bytes
    opening: Opening

    def start(self) -> bytes:
        """Return the events before the first delta."""
        ...

    def feed(self, delta: ChatDelta) -> bytes:
        """Return the events for a delta."""
        ...

    def finish(self, reply: Reply) -> bytes:
        """Return the events that complete the stream."""
        ...

    def fail(self, problem: Problem) -> bytes:
        """Return the events that end the stream with an error; ``start`` may not have been called."""
        ...


class Dialect(Protocol):
    """One client API: a module with these names.

    :ivar FAMILY: the plugin whose providers speak it.
    """

    FAMILY: str

    def parse(self, body: Any, opaque_of: OpaqueOf) -> Parsed:
        """Read a request; raises ``Problem``."""
        ...

    def whole(self, reply: Reply) -> dict[str, Any]:
        """Return a whole response."""
        ...

    def error(self, problem: Problem) -> dict[str, Any]:
        """Return an error as a payload."""
        ...

    def Writer(self, opening: Opening, parsed: Parsed) -> StreamWriter:  # noqa: N802
        """Return the writer of a streamed response."""
        ...


class CountingDialect(Dialect, Protocol):
    """A client API that counts tokens."""

    def estimate_tokens(self, parsed: Parsed) -> int:
        """Return a conservative estimate of the input tokens of a request."""
        ...


class DamagedCallError(Exception):
    """The streamed part of a tool call differs from the complete one."""


class CallsOut:
    """Numbers the tool calls of a stream from 0, without gaps, and completes them at its end."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._calls: list[ToolCall] = []

    def feed(self, delta: ToolCallDelta) -> ToolCallDelta:
        """Return a delta with its own index; the first delta of a call has an id and a name."""
        number = self._numbers.get(delta.index)
        if number is None:
            number = self._numbers[delta.index] = len(self._calls)
            call = ToolCall(delta.id or f"call_{os.urandom(8).hex()}", delta.name, delta.arguments)
            self._calls.append(call)
            return ToolCallDelta(number, call.id, call.name, delta.arguments)
        call = self._calls[number]
        self._calls[number] = attrs.evolve(call, arguments=call.arguments + delta.arguments)
        return ToolCallDelta(number, "", "", delta.arguments)

    def rest(self, calls: Sequence[ToolCall]) -> Iterator[ToolCallDelta]:
        """Yield what is missing of the calls of the whole response.

        :raises DamagedCallError: a call was shown with other arguments, so the client cannot execute it.
        """
        for number, call in enumerate(calls):
            if number >= len(self._calls):
                self._calls.append(call)
                yield ToolCallDelta(number, call.id, call.name, call.arguments)
                continue
            shown = self._calls[number]
            if shown.name != call.name or not call.arguments.startswith(shown.arguments):
                if shown.name == call.name and shown.arguments.strip() == call.arguments.strip():
                    continue
                raise DamagedCallError(call.name)
            if more := call.arguments[len(shown.arguments) :]:
                self._calls[number] = attrs.evolve(shown, arguments=call.arguments)
                yield ToolCallDelta(number, "", "", more)
        if len(self._calls) > len(calls):
            raise DamagedCallError(self._calls[len(calls)].name)

    @property
    def calls(self) -> Sequence[ToolCall]:
        """The calls as they were sent."""
        return self._calls
