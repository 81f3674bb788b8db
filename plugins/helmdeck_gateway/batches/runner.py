"""Runs the lines of batches: each is one request to the gateway itself, with the limits of the sender as they are now."""

from __future__ import annotations

import asyncio
import collections
import functools
import os
import time
from typing import Any, Final

from helmdeck_gateway.batches.batch import (
    CANCELLED,
    ERRORED,
    EXPIRED,
    QUEUE,
    SUCCEEDED,
    Batch,
    Batches,
    Result,
    read_line,
    result_data,
)
from helmdeck_gateway.batches.output import end
from helmdeck_gateway.batches.own_requests import SPEND_LIMIT, OwnAnswer, refused, send_own
from helmdeck_gateway.batches.queue_runner import Leases, QueueRunner
from helmdeck_gateway.dialects import chat as chat_dialect
from helmdeck_gateway.dialects import messages as messages_dialect
from helmdeck_gateway.dialects.reply import Dialect
from helmdeck_gateway.problems import Problem
from helmdeck_gateway.stores.rows import OPEN, Row
from helmdeck_gateway.stores.store import GatewayStore
from helmdeck_storage import DAY_S

MAX_CLAIM: Final = 64


class BatchRunner(QueueRunner):
    """Runs the batches of a store in one process."""

    queue = QUEUE

    def __init__(self, *place: Any) -> None:
        super().__init__(*place)
        self._busy: collections.Counter[str] = collections.Counter()
        self._is_starved = False
        self._pauses: dict[str, float] = {}  # until when batches whose spend limit is used up start no line

    @property
    def changed(self) -> asyncio.Event:
        """Is set when a batch is created or cancelled."""
        return self.state.batches_changed

    async def drive(self, store: GatewayStore, queued: Row, wake: asyncio.Event) -> None:
        """Run lines of a batch until no line is left that this process may run now."""
        settings = self.settings()
        batches = Batches(store, queued.data.decode("utf-8", "surrogatepass"), settings.stored_days * DAY_S)
        leases: Leases | None = None
        while not self.counters.is_draining:
            try:
                batch = await batches.find(queued.name)
            except Problem:  # it was deleted
                await store.delete_rows(QUEUE, queued.name)
                return
            if batch.has_ended:
                await store.delete_rows(QUEUE, batch.id)
                return
            leases = leases or Leases(self, store, batch.lines)
            if batch.status == "cancelling" or batch.expires_s <= time.time():
                await self._close(store, batch, CANCELLED if batch.status == "cancelling" else EXPIRED)
                free = rows = 0
            else:
                free = min(MAX_CLAIM, settings.batch_concurrency - self._busy[batches.caller])
                free = 0 if self._is_paused(batch) else free
                rows = await self._start(store, batch, free, leases)
            if not leases.running:
                self._is_starved |= free <= 0 and batch.status == "in_progress"
                if not rows and not (await store.count_rows(batch.lines)).get(OPEN):
                    await end(batches, batch)
                return  # others run the rest, or hold all places of the caller, or it waits for a limit
            await leases.wait(wake)

    async def _start(self, store: GatewayStore, batch: Batch, most: int, leases: Leases) -> int:
        """Start lines; return their number."""
        caller, places = batch.sender.caller, max(0, most)
        self._busy[caller] += places
        try:
            rows = await leases.claim(most)
        finally:
            self._busy[caller] -= places
        self._busy[caller] += len(rows)
        for row in rows:
            task = leases.run(row, functools.partial(self._line, store, batch, leases))
            task.add_done_callback(lambda _: self._ended(caller))
        return len(rows)

    def _ended(self, caller: str) -> None:
        self._busy[caller] -= 1
        if self._is_starved:  # another batch of the caller has a place
            self._is_starved = False
            self.changed.set()

    def _is_paused(self, batch: Batch) -> bool:
        if time.monotonic() < self._pauses.get(batch.id, 0.0):
            return True
        self._pauses.pop(batch.id, None)
        return False

    async def _close(self, store: GatewayStore, batch: Batch, state: int) -> None:
        """Finish the lines that no worker runs, without a response."""
        lease_s = self.settings().batch_lease_s
        while rows := await store.claim_rows(batch.lines, self.holder, 1_000, lease_s):
            for row in rows:
                result = Result(read_line(row).custom_id)
                await store.finish_row(batch.lines, row.name, state, result_data(result))

    async def _line(self, store: GatewayStore, batch: Batch, leases: Leases, row: Row) -> None:
        """Run a line, and store its result."""
        line = read_line(row)
        request_id = f"batch_req_{os.urandom(12).hex()}"
        dialect: Dialect = messages_dialect if batch.kind == "anthropic" else chat_dialect
        answer, wait_s = await self.answer_of(self._answer(store, batch, line.body, request_id, dialect), dialect)
        if wait_s is not None and time.time() + wait_s < batch.expires_s:
            if (
                answer.status == SPEND_LIMIT
            ):  # the other lines would be refused as well, until the reset or a higher limit
                self._pauses[batch.id] = time.monotonic() + min(wait_s, self.settings().batch_lease_s)
            await leases.let_wait(row.name, wait_s)
            return
        state = SUCCEEDED if answer.status == 200 else ERRORED
        result = result_data(Result(line.custom_id, answer.status, request_id, answer.body))
        await self.keep_result(lambda: store.finish_row(batch.lines, row.name, state, result))

    async def _answer(
        self, store: GatewayStore, batch: Batch, body: bytes, request_id: str, dialect: Dialect
    ) -> OwnAnswer:
        """Send a request to the gateway."""
        try:
            principal = await self.senders.principal(store, batch.sender)
        except Problem as exc:
            return refused(exc, dialect)
        return await send_own(self.app, batch.endpoint, body, principal, request_id, batch.sender.tags)
