"""What is known about a call while it runs: its id, and the model that is being called.

The events of a call are emitted in its own task, so a context variable relates them to the request of the gateway.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

import attrs

from helmdeck_core import CallStarted, CatalogSelected, Event, RequestSent, TrimRecord

SINK = "gateway"
"""The name of the sink in ``[events] sinks``; the command ``serve`` enables it."""


@attrs.define
class CallRecord:
    """The facts of one request of the gateway, filled in while its call runs.

    :ivar call_id: the id of the call; of the first one, where a plan makes several.
    :ivar model: the model that is called, or that answered.
    :ivar attempts: number of attempts so far.
    :ivar tools: how the tools of the request were trimmed; an event reports it, so that it is part of the call trace.
    """

    call_id: str = ""
    model: str = ""
    attempts: int = 0
    tools: TrimRecord | None = None
    emit: Callable[[Event], None] | None = None

    def handle(self, event: Event) -> None:
        """Take the facts from an event."""
        if isinstance(event, CallStarted):
            self.call_id = self.call_id or event.call_id
        elif isinstance(event, RequestSent) and event.call_id == self.call_id:
            self.model = event.model
            self.attempts = event.attempt
            if self.tools is not None and self.emit is not None:
                record, self.tools = self.tools, None
                self.emit(CatalogSelected(**event.place, model=event.model, tier=event.tier, record=record))


current: ContextVar[CallRecord | None] = ContextVar("helmdeck_gateway_call", default=None)
"""The request whose call runs in this context."""


class RecordSink:
    """The sink that fills in the records."""

    def handle(self, event: Event) -> None:
        """Pass an event to the record of its request."""
        if (record := current.get()) is not None:
            record.handle(event)
