"""What the endpoints without a chat model have in common: the check of the key, its limits, and the headers of the call."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from typing import TYPE_CHECKING

import attrs

from helmdeck_core import TRACE_CONTEXT, CallFailed
from helmdeck_gateway.accounts.principals import Principal, tags_of
from helmdeck_gateway.calls import call_record
from helmdeck_gateway.calls.call_record import CallRecord
from helmdeck_gateway.calls.client_deadlines import client_deadline_s, lowest
from helmdeck_gateway.calls.direct_calls import DirectAnswer, DirectCalls, DirectRequest
from helmdeck_gateway.calls.request_ids import request_id_of, trace_context_of
from helmdeck_gateway.calls.stream_out import ClientWatch
from helmdeck_gateway.calls.targets import listed
from helmdeck_gateway.calls.work import account_headers
from helmdeck_gateway.dialects import chat as chat_dialect
from helmdeck_gateway.endpoints.bodies import Disconnected, JsonBody, headers_of, send_whole
from helmdeck_gateway.endpoints.calls import CallEndpoint, Door

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


@attrs.define(kw_only=True)
class Direct:
    """One request on its way.

    :ivar deadline_s: seconds until it ends; ``None`` for no limit.
    :ivar headers: further headers of the response.
    """

    body: JsonBody
    principal: Principal
    record: CallRecord
    deadline_s: float | None
    headers: dict[str, str] = attrs.field(factory=dict)


class DirectEndpoint(CallEndpoint):
    """An endpoint whose requests go to providers directly."""

    def __init__(self, door: Door, calls: DirectCalls, name: str) -> None:
        super().__init__(door, chat_dialect, name)
        self._direct_calls = calls

    @abstractmethod
    async def answer(self, work: Direct) -> bytes:
        """Return the body of the response.

        :raises CallFailed: no model answered.
        :raises Problem: the request is invalid, or a limit is reached.
        """

    async def call(self, work: Direct, request: DirectRequest) -> DirectAnswer:
        """Send a request within the limits of its key.

        :raises CallFailed: no model answered.
        :raises Problem: a limit is reached.
        """
        if (key := work.principal.key) is None:
            return await self._direct_calls.send(request, work.record, work.principal.caller)
        first, *others = request.models
        others = [each for each in others if each not in request.local]
        booking = await self.door.ledger.admit(
            key, first, request.tokens, 0, fallbacks=tuple(others), teams=work.principal.teams
        )
        booking.spend.is_unpriced = not self.door.ledger.pricing.has_prices(first, tuple(others))
        try:
            return await self._direct_calls.send(request, work.record, work.principal.caller)
        finally:
            await booking.settle(cost_usd=work.record.direct_cost_usd, tokens=work.record.direct_tokens)
            work.headers |= account_headers(work.principal, booking)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> int:
        headers = headers_of(scope)
        record = CallRecord(request_id=request_id_of(headers))
        watch, task = ClientWatch(scope, receive), asyncio.current_task()
        assert task is not None
        try:
            principal = await self.door.open(scope)
            principal.check_endpoint(self.name, tags := tags_of(headers))
            body = await self.read(scope, receive)
            context = trace_context_of(headers)
            TRACE_CONTEXT.set(context)
            record.trace_parent, record.emit = context.get("traceparent", ""), self.door.service.deck.runtime.emit
            record.sent_by(principal.key, tags)
            call_record.current.set(record)
            work = Direct(body=body, principal=principal, record=record, deadline_s=self._deadline_s(scope))
            with watch:
                response = await self.answer(work)
            self.check_size(len(response))
        except Disconnected:
            raise
        except asyncio.CancelledError:
            if watch.has_left and task.uncancel() == 0:
                raise Disconnected from None
            return await self._refuse(send, headers, self.stopped(), None)
        except CallFailed as exc:
            return await self._refuse(send, headers, attrs.evolve(exc, model=exc.model or record.model), None)
        except Exception as exc:
            return await self._refuse(send, headers, exc, None)
        await send_whole(send, 200, response, {**account_headers(principal, None), **_facts(record), **work.headers})
        return 200

    def _deadline_s(self, scope: Scope) -> float | None:
        service = self.door.service
        own_s = service.settings.deadline_s or service.deck.runtime.config.recovery.deadline_s
        return lowest(own_s, client_deadline_s(headers_of(scope)))


def _facts(record: CallRecord) -> dict[str, str]:
    facts = {"x-helmdeck-call-id": record.call_id, "x-helmdeck-model": listed([record.model])}
    if record.attempts > 1:
        facts["x-helmdeck-attempts"] = str(record.attempts)
    return {name: value for name, value in facts.items() if value}
