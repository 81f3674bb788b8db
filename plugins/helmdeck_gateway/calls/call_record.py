"""What is known about a call while it runs: its id, and the model that is being called.

The events of a call are emitted in its own task, so a context variable relates them to the request of the gateway.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import attrs

from helmdeck_core import (
    AnswerReused,
    AttemptEnded,
    CallRef,
    CallStarted,
    CatalogSelected,
    Event,
    GuardReported,
    RequestSent,
    TrimRecord,
)

if TYPE_CHECKING:
    from helmdeck_gateway.accounts.request_costs import Spend
    from helmdeck_gateway.stores.records import KeyRecord

SINK = "gateway"
"""The name of the sink in ``[events] sinks``; the command ``serve`` enables it."""


@attrs.frozen(kw_only=True)
class RequestReceived(CallRef):
    """Where a call comes from, for its trace.

    :ivar request_id: the header ``x-request-id`` of the client's request.
    :ivar trace_parent: its header ``traceparent``.
    :ivar key: the name of the client's key, never the key; empty for none.
    :ivar team: the team of the key; empty for none.
    :ivar tags: the tags of the request.
    :ivar key_id: the public id of the key, which no other key has, also after its name is used again; empty for none.
    """

    request_id: str
    trace_parent: str
    key: str
    team: str = ""
    tags: tuple[str, ...] = ()
    key_id: str = ""


@attrs.frozen(kw_only=True)
class StreamStarted(CallRef):
    """The first part of a streamed response goes to the client.

    :ivar first_chunk_s: seconds since the call started.
    """

    first_chunk_s: float


@attrs.define
class CallRecord:
    """The facts of one request of the gateway, filled in while its call runs.

    :ivar call_id: the id of the call; of the first one, where a plan makes several.
    :ivar model: the model that is called, or that answered; of two that are called at the same time, the last one until one
        of them ends.
    :ivar attempts: number of attempts so far.
    :ivar request_id: the id that the client gave the request; an event of each call reports it, with the next two.
    :ivar trace_parent: the ``traceparent`` of the client.
    :ivar key: the name of the client's key.
    :ivar team: the team of the key.
    :ivar tags: the tags of the request.
    :ivar key_id: the id of the key.
    :ivar spend: counts the cost of the request, where its sender has a key.
    :ivar direct_cost_usd: US dollars of a request for vectors or a ranking, which has no ``spend``.
    :ivar direct_tokens: its tokens.
    :ivar tools: how the tools of the request were trimmed; an event reports it, so that it is part of the call trace.
    """

    call_id: str = ""
    model: str = ""
    attempts: int = 0
    request_id: str = ""
    trace_parent: str = ""
    key: str = ""
    team: str = ""
    tags: tuple[str, ...] = ()
    key_id: str = ""
    tools: TrimRecord | None = None
    emit: Callable[[Event], None] | None = None
    spend: Spend | None = None
    direct_cost_usd: float = 0.0
    direct_tokens: int = 0
    _reported: set[str] = attrs.field(factory=set, init=False)
    _started_s: float = attrs.field(default=0.0, init=False)
    _place: dict[str, Any] | None = attrs.field(default=None, init=False)
    _ref: dict[str, Any] | None = attrs.field(default=None, init=False)
    _under_way: dict[int, str] = attrs.field(factory=dict, init=False)  # models by attempt
    _guard_reports: list[GuardReported] = attrs.field(factory=list, init=False)

    def sent_by(self, key: KeyRecord | None, tags: tuple[str, ...] = ()) -> None:
        """Take note of the key of the request."""
        if key is not None:
            self.key, self.key_id, self.team, self.tags = key.name, key.id, key.team, tags

    def handle(self, event: Event) -> None:
        """Take the facts from an event."""
        if self.spend is not None:
            self.spend.handle(event)
        if isinstance(event, CallStarted):
            self.call_id = self.call_id or event.call_id
            self._started_s = time.monotonic()
            return
        if isinstance(event, CallRef) and event.call_id not in self._reported:
            self._reported.add(event.call_id)
            if self._ref is None:
                self._ref = event.place
                self.report_blocked()
            if self.emit is not None and (self.request_id or self.trace_parent or self.key):
                origin: Any = {"request_id": self.request_id, "trace_parent": self.trace_parent, "key": self.key}
                origin["team"], origin["tags"], origin["key_id"] = self.team, self.tags, self.key_id
                self._emit(RequestReceived(**event.place, **origin))
        if isinstance(event, AnswerReused):
            self.model = event.model
        if isinstance(event, AttemptEnded) and event.call_id == self.call_id:
            self._end_attempt(event)
        if isinstance(event, RequestSent) and event.call_id == self.call_id:
            self._under_way[event.attempt] = event.model
            self._place = event.place if self._place is None else self._place
            self.model = event.model
            self.attempts = event.attempt
            if self.tools is not None and self.emit is not None:
                record, self.tools = self.tools, None
                self._emit(CatalogSelected(**event.place, model=event.model, tier=event.tier, record=record))

    def _end_attempt(self, event: AttemptEnded) -> None:
        """Take the model of the attempt that answered, or of one that is still under way."""
        self._under_way.pop(event.attempt, None)
        if event.outcome.cause is None:
            self.model = event.outcome.model
        elif self._under_way:
            self.model = list(self._under_way.values())[-1]

    def report_stream(self) -> None:
        """Report that the first part of a streamed response goes to the client; once."""
        place, self._place = self._place, {}
        if place and self.emit is not None:
            self._emit(StreamStarted(**place, first_chunk_s=time.monotonic() - self._started_s))

    def report_guard(self, event: GuardReported) -> None:
        """Report what a guard did, as a part of the call; before it starts, the event waits for it."""
        self._guard_reports.append(event)
        if self._ref is not None:
            self.report_blocked()

    def report_blocked(self) -> None:
        """Report what guards did before; without a call, if the request was blocked."""
        reports, self._guard_reports = self._guard_reports, []
        for each in reports if self.emit is not None else ():
            self._emit(each if self._ref is None else attrs.evolve(each, **self._ref))

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
