"""One request of a client on its way: the request to the deck, its limits, and the headers of its response."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from helmdeck_cache import CacheUse
from helmdeck_core import CallFailed, CallLimits, ChatRequest, ChatResponse, Role, StopReason
from helmdeck_gateway.accounts.ledger import Booking
from helmdeck_gateway.accounts.principals import Principal
from helmdeck_gateway.calls.call_record import CallRecord
from helmdeck_gateway.calls.targets import listed
from helmdeck_gateway.dialects.parsed import Parsed
from helmdeck_guards import GuardBlocked, GuardSession

NO_LIMITS = CallLimits()

INCOMPLETE: Final = "x-helmdeck-incomplete"
"""The header of a response whose text is truncated although the client set no limit, with the cause."""

PLAN_MODEL = "helmdeck/plan"
"""The model name that plans a request over the catalog instead of sending it."""


@attrs.define(kw_only=True)
class Work:
    """A request that is ready to be sent.

    :ivar name: the client's name for the model.
    :ivar dropped: names of fields that are left out.
    :ivar size: bytes of the client's request.
    :ivar headers: further headers of the response.
    :ivar cache: how it uses the response caches; ``None`` for not at all.
    :ivar booking: what its key holds for it; ``None`` for a sender without a key of its own.
    :ivar guards: the guards that apply to it; ``None`` for none.
    :ivar blocked: the block of a guard that is answered with a refusal.
    """

    parsed: Parsed
    request: ChatRequest
    name: str
    principal: Principal
    record: CallRecord
    size: int = 0
    dropped: tuple[str, ...] = ()
    headers: dict[str, str] = attrs.field(factory=dict)
    limits: CallLimits = NO_LIMITS
    cache: CacheUse | None = None
    booking: Booking | None = None
    guards: GuardSession | None = None
    blocked: GuardBlocked | None = None

    async def settle(self) -> None:
        """Count the cost, once all calls of the request have ended."""
        if self.booking is not None:
            await self.booking.settle()

    @property
    def is_plan(self) -> bool:
        """Whether the request is planned instead of sent."""
        return self.name == PLAN_MODEL

    @property
    def enforced_schema(self) -> Mapping[str, Any] | None:
        """The schema that the whole answer is decoded by; ``None`` where it is not enforced as a question."""
        request = self.request
        if request.response_format is None or request.tools or request.messages[-1].role is not Role.USER:
            return None
        return request.response_format.schema or {"type": "object"}

    def truncated(self, failure: CallFailed) -> ChatResponse:
        """Return the longest text of a call whose models all stopped at an output limit, with that stop reason.

        :raises CallFailed: there is none.
        """
        if failure.partial is None:
            raise failure
        self.record.model = failure.partial_model
        self.headers[INCOMPLETE] = failure.failure_class.value
        response: ChatResponse = attrs.evolve(failure.partial, stop_reason=StopReason.MAX_TOKENS)
        return response

    def shown_model(self) -> str:
        """The model that a response names: the client's own name, unless a fallback answers."""
        return self.name if self.record.model in ("", self.request.model) else self.record.model

    def response_headers(self) -> dict[str, str]:
        """The headers that report the call."""
        record, headers = self.record, dict(self.headers)
        if record.call_id:
            headers["x-helmdeck-call-id"] = record.call_id
        if record.model:
            headers["x-helmdeck-model"] = listed([record.model])
        if record.attempts > 1:
            headers["x-helmdeck-attempts"] = str(record.attempts)
        if self.guards is not None and self.guards.reports:
            headers["x-helmdeck-guards"] = listed([each.summary for each in self.guards.reports])
        if self.cache is not None and self.cache.outcome is not None:
            headers["x-helmdeck-cache"] = str(self.cache.outcome)
        if self.dropped:
            headers["x-helmdeck-dropped"] = listed(self.dropped)
        if self.principal.key is not None:
            headers |= account_headers(self.principal, self.booking)
        return headers


def account_headers(principal: Principal, booking: Booking | None) -> dict[str, str]:
    """Return the headers that report the key of a request, the teams above it, and what their spend limits leave."""
    if (key := principal.key) is None:
        return {}
    headers = {"x-helmdeck-key": listed([key.name])}
    if key.team:
        headers["x-helmdeck-team"] = listed([key.team])
    if booking is not None and (left_usd := booking.left_usd) is not None:
        headers["x-helmdeck-budget-left"] = f"{left_usd:.6f}"
    return headers
