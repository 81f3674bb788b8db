"""Call traces: the recorded events of one finished call, and the trace context that it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, Protocol, runtime_checkable

import attrs

from helmdeck_core.domain import EMPTY

TRACE_CONTEXT: ContextVar[Mapping[str, str]] = ContextVar("helmdeck_trace_context", default=EMPTY)
"""The W3C trace context of the running call: the headers ``traceparent`` and ``tracestate``, which providers send with their
requests. A server sets it for the task of a request; empty for none."""


@attrs.frozen(kw_only=True)
class CallTrace:
    """The recorded events of one finished call. Like the events, it holds no prompt, response or secret.

    :ivar call_id: the id that the results, failures and log lines of the call carry.
    :ivar time: start time in seconds since 1970 UTC.
    :ivar pack: the pack that made the call; empty for a request written by the caller.
    :ivar caller: the caller of the pack.
    :ivar model: the requested model.
    :ivar outcome: ``answered``, ``aborted``, or the cause of the failure.
    :ivar parent: the id of the call that this call was a helper of; empty otherwise.
    :ivar events: the events as plain data in order; ``at_s`` is seconds since the start of the call.

    >>> from helmdeck_core import CallTrace
    >>> CallTrace(call_id="1", time=0.0, pack="ask", caller="ann", model="acme/large", outcome="answered", events=()).outcome
    'answered'
    """

    call_id: str
    time: float
    pack: str
    caller: str
    model: str
    outcome: str
    events: tuple[Mapping[str, Any], ...]
    parent: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The trace as plain data."""
        return attrs.asdict(self)


@runtime_checkable
class TraceStore(Protocol):
    """An open event sink that stores call traces. Its methods may be called from any thread."""

    def traces(self, limit: int = 20) -> tuple[CallTrace, ...]:
        """Return the most recent traces, newest first, without those of helper calls."""
        ...

    def call_trace(self, call_id: str) -> CallTrace | None:
        """Return the trace of one call; ``None`` if it is unknown or was deleted."""
        ...
