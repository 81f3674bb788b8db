"""What is known about a call while it runs: its id, and the model that is being called.

The events of a call are emitted in its own task, so a context variable relates them to the request of the gateway.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import attrs

from helmdeck_core import CallRef, CallStarted, CatalogSelected, Event, RequestSent, TrimRecord

if TYPE_CHECKING:
    from helmdeck_gateway.accounts.request_costs import Spend

SINK = "gateway"
"""The name of the sink in ``[events] sinks``; the command ``serve`` enables it."""


@attrs.frozen(kw_only=True)
class RequestReceived(CallRef):
    """The ids that a client gave the request of a call, for its trace.

    :ivar request_id: its header ``x-request-id``.
    :ivar trace_parent: its header ``traceparent``.
    """

    request_id: str
    trace_parent: str


@attrs.define
class CallRecord:
    """The facts of one request of the gateway, filled in while its call runs.

    :ivar call_id: the id of the call; of the first one, where a plan makes several.
    :ivar model: the model that is called, or that answered.
    :ivar attempts: number of attempts so far.
    :ivar request_id: the id that the client gave the request; an event reports it as well.
    :ivar trace_parent: the ``traceparent`` of the client.
    :ivar spend: counts the cost of the request, where its sender has a key.
    :ivar tools: how the tools of the request were trimmed; an event reports it, so that it is part of the call trace.
    """

    call_id: str = ""
    model: str = ""
    attempts: int = 0
    request_id: str = ""
    trace_parent: str = ""
    tools: TrimRecord | None = None
    emit: Callable[[Event], None] | None = None
    spend: Spend | None = None

    def handle(self, event: Event) -> None:
        """Take the facts from an event."""
        if self.spend is not None:
            self.spend.handle(event)
        if isinstance(event, CallStarted):
            self.call_id = self.call_id or event.call_id
            return
        if (self.request_id or self.trace_parent) and self.emit is not None and isinstance(event, CallRef):
            ids, self.request_id, self.trace_parent = (self.request_id, self.trace_parent), "", ""
            self._emit(RequestReceived(**event.place, request_id=ids[0], trace_parent=ids[1]))
        if isinstance(event, RequestSent) and event.call_id == self.call_id:
            self.model = event.model
            self.attempts = event.attempt
            if self.tools is not None and self.emit is not None:
                record, self.tools = self.tools, None
                self._emit(CatalogSelected(**event.place, model=event.model, tier=event.tier, record=record))

    def _emit(self, event: Any) -> None:
        assert self.emit is not None
        self.emit(event)


current: ContextVar[CallRecord | None] = ContextVar("helmdeck_gateway_call", default=None)
"""The request whose call runs in this context."""


class RecordSink:
    """The sink that fills in the records."""

    def handle(self, event: Event) -> None:
        """Pass an event to the record of its request."""
        if (record := current.get()) is not None:
            record.handle(event)
