"""Plans for the holder of a key outside of a request, such as in a console: with the checks, the limits and the bill of one."""

from __future__ import annotations

import time
from collections.abc import Callable

from helmdeck_core import CallLimits, Plan
from helmdeck_gateway.accounts.keys import answered, check_active, principal_of, unavailable
from helmdeck_gateway.accounts.ledger import Ledger
from helmdeck_gateway.accounts.request_costs import text_tokens
from helmdeck_gateway.calls import call_record
from helmdeck_gateway.calls.call_record import CallRecord
from helmdeck_gateway.calls.service import Service
from helmdeck_gateway.calls.work import PLAN_MODEL
from helmdeck_gateway.stores.records import KeyRecord
from helmdeck_gateway.stores.store import GatewayStore
from helmdeck_storage import StorageError

ENDPOINT = "chat"
"""The endpoint whose permission a plan needs; it serves ``helmdeck/plan``."""


class KeyPlans:
    """Plans requests of keys.

    :param find_store: returns the store of keys and teams.
    """

    def __init__(self, service: Service, ledger: Ledger, find_store: Callable[[], GatewayStore | None]) -> None:
        self._service = service
        self._ledger = ledger
        self._find_store = find_store

    async def plan(
        self, key: KeyRecord, request: str, *, model: str = "", context: str = "", limits: CallLimits | None = None
    ) -> Plan:
        """Plan a request; the call counts against the key and the teams above it.

        :param key: as it is stored now.
        :param model: the model id; empty for the configured one, which needs the permission for ``helmdeck/plan``.
        :raises Problem: the key may not make the call, or a limit is reached.
        :raises GuardBlocked: a guard blocks the request.
        :raises CallFailed: no model made a plan.
        """
        store, deck = self._find_store(), self._service.deck
        if store is None:
            raise unavailable(StorageError("no store is configured"))
        teams = tuple(await answered(store.find_teams(key.team))) if key.team else ()
        principal, name = principal_of(key, teams), model or PLAN_MODEL
        check_active(principal, time.time())
        principal.check_endpoint(ENDPOINT)
        principal.check_model(name)
        called = model or deck.runtime.config.model
        texts = await self._service.check_texts([request, context], principal, name, called, ENDPOINT)
        tokens = sum(map(text_tokens, texts)) + self._ledger.pricing.plan_tokens(called)
        booking = await self._ledger.admit(key, called, tokens, teams=teams)
        record = CallRecord(emit=deck.runtime.emit, spend=booking.spend)
        record.sent_by(key)
        token = call_record.current.set(record)
        try:
            return await deck.aplan(
                texts[0], model=model or None, context=texts[1], caller=principal.caller, limits=limits or CallLimits()
            )
        finally:
            call_record.current.reset(token)
            await booking.settle()
            booking.close()
