"""Runs the lines of batches: each is one request to the gateway itself, with the limits of the sender as they are now."""

from __future__ import annotations

import asyncio
import collections
import functools
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from helmdeck_core.log import logger
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
from helmdeck_gateway.batches.own_requests import STORE_WAITS_S, OwnAnswer, Senders, refused, send_own
from helmdeck_gateway.conversations.gateway_state import GatewayState
from helmdeck_gateway.dialects import chat as chat_dialect
from helmdeck_gateway.dialects import messages as messages_dialect
from helmdeck_gateway.http_server.counters import Counters
from helmdeck_gateway.problems import Problem
from helmdeck_gateway.settings import GatewaySettings
from helmdeck_gateway.stores.rows import OPEN, Row
from helmdeck_gateway.stores.store import GatewayStore
from helmdeck_storage import DAY_S, StorageError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

POLL_S: Final = 5.0
"""Seconds between two looks for batches of other processes."""
MAX_CLAIM: Final = 64
FINISH_S: Final = 3.0
"""Seconds that lines get when the gateway stops; what is left is run again, by another process or after the next start."""


class BatchRunner:
    """Runs the batches of a store in one process; several processes share the work.

    :param app: the gateway.
    :param state: has the store.
    :param settings: returns the settings as they are now.
    """

    def __init__(
        self,
        app: ASGIApp,
        state: GatewayState,
        settings: Callable[[], GatewaySettings],
        counters: Counters,
    ) -> None:
        self._app = app
        self._find_store = state.find_store
        self._changed = state.batches_changed
        self._settings = settings
        self._counters = counters
        self._holder = os.urandom(8).hex()
        self._drivers: dict[str, asyncio.Task[None]] = {}
        self._lines: set[asyncio.Task[None]] = set()
        self._busy: collections.Counter[str] = collections.Counter()
        self._senders = Senders(state.find_store)
        self._lost = ""
        self._is_starved = False

    async def run(self) -> None:
        """Run batches until it is cancelled."""
        try:
            while True:
                self._changed.clear()
                await self._look()
                try:
                    async with asyncio.timeout(min(POLL_S, self._settings().batch_lease_s)):
                        await self._changed.wait()
                except TimeoutError:
                    pass
        finally:
            await self._stop()

    async def _look(self) -> None:
        """Start to work on the batches that have not ended."""
        store = self._find_store()
        if store is None or self._counters.is_draining:
            return
        try:
            after = ""
            while rows := await store.list_rows(QUEUE, after=after):
                for row in rows:
                    if row.name not in self._drivers:
                        task = asyncio.create_task(self._drive(store, row))
                        self._drivers[row.name] = task
                        task.add_done_callback(functools.partial(self._driven, row.name))
                after = rows[-1].name
            self._lost = ""
        except StorageError as exc:
            self._failed(exc)

    async def _drive(self, store: GatewayStore, queued: Row) -> None:
        """Run lines of a batch until no line is left that this process may run now."""
        settings = self._settings()
        batches = Batches(store, queued.data.decode("utf-8", "surrogatepass"), settings.stored_days * DAY_S)
        running: dict[asyncio.Task[None], str] = {}
        renewed_s = time.monotonic()
        try:
            while not self._counters.is_draining:
                batch = await batches.find(queued.name)
                if batch.has_ended:
                    await store.delete_rows(QUEUE, batch.id)
                    return
                if batch.status == "cancelling" or batch.expires_s <= time.time():
                    await self._close(store, batch, CANCELLED if batch.status == "cancelling" else EXPIRED)
                    free = rows = 0
                else:
                    free = min(MAX_CLAIM, settings.batch_concurrency - self._busy[batches.caller])
                    rows = await self._start(store, batch, free, running) if free > 0 else 0
                if not running:
                    self._is_starved |= free <= 0 and batch.status == "in_progress"
                    if not rows and not (await store.count_rows(batch.lines)).get(OPEN):
                        await end(batches, batch)
                    return  # others run the rest, or hold all places of the caller, or it waits for a limit
                lease_s = settings.batch_lease_s
                await asyncio.wait(running, timeout=lease_s / 3, return_when=asyncio.FIRST_COMPLETED)
                running = {task: name for task, name in running.items() if not task.done()}
                if time.monotonic() - renewed_s >= lease_s / 4:
                    renewed_s = time.monotonic()
                    await store.lease_rows(batch.lines, list(running.values()), self._holder, lease_s)
        except StorageError as exc:
            self._failed(exc)
        except Problem:  # it was deleted
            await store.delete_rows(QUEUE, queued.name)

    async def _start(self, store: GatewayStore, batch: Batch, most: int, running: dict[Any, str]) -> int:
        """Start lines; return their number."""
        caller = batch.sender.caller
        self._busy[caller] += most
        try:
            rows = await store.claim_rows(batch.lines, self._holder, most, self._settings().batch_lease_s)
        finally:
            self._busy[caller] -= most
        self._busy[caller] += len(rows)
        for row in rows:
            task = asyncio.create_task(self._line(store, batch, row))
            running[task] = row.name
            self._lines.add(task)
            task.add_done_callback(lambda task: self._ended(task, caller))
        return len(rows)

    def _driven(self, batch_id: str, task: asyncio.Task[None]) -> None:
        self._drivers.pop(batch_id, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger().opt(exception=error).error("a batch failed")

    def _ended(self, task: asyncio.Task[None], caller: str) -> None:
        self._lines.discard(task)
        self._busy[caller] -= 1
        if self._is_starved:  # another batch of the caller has a place
            self._is_starved = False
            self._changed.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            logger().opt(exception=error).error("a line of a batch failed")

    async def _close(self, store: GatewayStore, batch: Batch, state: int) -> None:
        """Finish the lines that no worker runs, without a response."""
        lease_s = self._settings().batch_lease_s
        while rows := await store.claim_rows(batch.lines, self._holder, 1_000, lease_s):
            for row in rows:
                result = Result(read_line(row).custom_id)
                await store.finish_row(batch.lines, row.name, state, result_data(result))

    async def _line(self, store: GatewayStore, batch: Batch, row: Row) -> None:
        """Run a line, and store its result."""
        line = read_line(row)
        request_id = f"batch_req_{os.urandom(12).hex()}"
        try:
            answer = await self._answer(store, batch, line.body, request_id)
        except StorageError as exc:
            self._failed(exc)
            return  # the lease ends
        except asyncio.CancelledError:
            await self._release(store, batch, row, 0.0)
            raise
        if (wait_s := answer.wait_s) is not None and time.time() + wait_s < batch.expires_s:
            # Not longer, since a line that waits cannot be cancelled.
            await self._release(store, batch, row, min(wait_s, self._settings().batch_lease_s))
            return
        state = SUCCEEDED if answer.status == 200 else ERRORED
        result = result_data(Result(line.custom_id, answer.status, request_id, answer.body))
        for wait_s in (*STORE_WAITS_S, None):
            try:
                await store.finish_row(batch.lines, row.name, state, result)
                return
            except StorageError as exc:
                self._failed(exc)
                if wait_s is None:
                    return
                await asyncio.sleep(wait_s)

    async def _release(self, store: GatewayStore, batch: Batch, row: Row, wait_s: float) -> None:
        try:
            await store.lease_rows(batch.lines, [row.name], self._holder, wait_s)
        except StorageError as exc:
            self._failed(exc)

    async def _answer(self, store: GatewayStore, batch: Batch, body: bytes, request_id: str) -> OwnAnswer:
        """Send a request to the gateway."""
        try:
            principal = await self._senders.principal(store, batch.sender)
        except Problem as exc:
            return refused(exc, messages_dialect if batch.kind == "anthropic" else chat_dialect)
        return await send_own(self._app, batch.endpoint, body, principal, request_id, batch.sender.tags)

    async def _stop(self) -> None:
        """Give lines a short time to end, and release what is left."""
        for driver in self._drivers.values():
            driver.cancel()
        if self._lines:
            await asyncio.wait(self._lines, timeout=FINISH_S)
        left = list(self._lines)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, *self._drivers.values(), return_exceptions=True)

    def _failed(self, error: StorageError) -> None:
        """Log a failure of the store, once while it lasts."""
        self._counters.store_errors += 1
        if (text := str(error)) != self._lost:
            self._lost = text
            logger().bind(error=text).warning("the store of the gateway failed; batches continue when it answers")
