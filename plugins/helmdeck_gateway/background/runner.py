"""Runs responses in the background: each is one request to the gateway itself."""

from __future__ import annotations

import asyncio
import functools
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import attrs
import msgspec

from helmdeck_core.log import logger
from helmdeck_gateway.background.event_log import EventLog, has_events
from helmdeck_gateway.background.responses import QUEUE, WINDOW_S, BackgroundResponses, Queued, read
from helmdeck_gateway.batches.batch import CANCELLED, SUCCEEDED
from helmdeck_gateway.batches.own_requests import STORE_WAITS_S, OwnAnswer, Senders, refused, send_own
from helmdeck_gateway.conversations.gateway_state import DAY_S, GatewayState
from helmdeck_gateway.conversations.response_store import ResponseStore
from helmdeck_gateway.dialects import responses as responses_dialect
from helmdeck_gateway.http_server.counters import Counters
from helmdeck_gateway.problems import DRAINING, Problem
from helmdeck_gateway.settings import GatewaySettings
from helmdeck_gateway.stores.rows import Row
from helmdeck_gateway.stores.store import GatewayStore
from helmdeck_storage import StorageError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

PATH: Final = "/v1/responses"
RUN: Final = "helmdeck.run"
"""The key of a scope under which a run has the ``Queued`` of its response."""
POLL_S: Final = 5.0
"""Seconds between two looks for responses of other processes, and for cancelled ones."""
FINISH_S: Final = 3.0
"""Seconds that runs get when the gateway stops; what is left runs again, in another process or after the next start."""


class BackgroundRunner:
    """Runs the responses of a store in one process; several processes share the work.

    :param app: the gateway.
    :param state: has the store.
    :param settings: returns the settings as they are now.
    """

    def __init__(
        self, app: ASGIApp, state: GatewayState, settings: Callable[[], GatewaySettings], counters: Counters
    ) -> None:
        self._app = app
        self._state = state
        self._documents = ResponseStore(state.documents)
        self._settings = settings
        self._counters = counters
        self._holder = os.urandom(8).hex()
        self._drivers: dict[str, asyncio.Task[None]] = {}
        self._wakes: dict[str, asyncio.Event] = {}
        self._senders = Senders(state.find_store)
        self._lost = ""

    async def run(self) -> None:
        """Run responses until it is cancelled."""
        changed = self._state.background_changed
        try:
            while True:
                changed.clear()
                await self._look()
                try:
                    async with asyncio.timeout(min(POLL_S, self._settings().batch_lease_s)):
                        await changed.wait()
                except TimeoutError:
                    pass
        finally:
            for driver in self._drivers.values():
                driver.cancel()
            runs = list(self._state.runs.values())
            if runs:
                await asyncio.wait(runs, timeout=FINISH_S)
            for run in runs:
                run.cancel()
            await asyncio.gather(*runs, *self._drivers.values(), return_exceptions=True)

    async def _look(self) -> None:
        """Start to work for the callers with open responses."""
        store = self._state.find_store()
        if store is None or self._counters.is_draining:
            return
        try:
            after = ""
            while rows := await store.list_rows(QUEUE, after=after):
                for row in rows:
                    if row.name in self._drivers:
                        self._wakes[row.name].set()  # a response may have been added
                        continue
                    wake = self._wakes[row.name] = asyncio.Event()
                    task = asyncio.create_task(self._drive(store, row.data.decode("utf-8", "surrogatepass"), wake))
                    self._drivers[row.name] = task
                    task.add_done_callback(functools.partial(self._driven, row.name))
                after = rows[-1].name
            self._lost = ""
        except StorageError as exc:
            self._failed(exc)

    async def _drive(self, store: GatewayStore, caller: str, wake: asyncio.Event) -> None:
        """Run responses of a caller until none is left that this process may run now.

        :param wake: is set when there may be another one.
        """
        responses = BackgroundResponses(store, caller, self._settings().stored_days * DAY_S)
        running: dict[asyncio.Task[None], str] = {}
        renewed_s = time.monotonic()
        try:
            while not self._counters.is_draining:
                wake.clear()
                lease_s = self._settings().batch_lease_s
                free = self._settings().batch_concurrency - len(running)
                rows = await store.claim_rows(responses.group, self._holder, free, lease_s) if free > 0 else ()
                for row in rows:
                    task = asyncio.create_task(self._respond(store, responses, row))
                    running[task] = row.name
                    self._state.runs[row.name] = task
                    task.add_done_callback(functools.partial(self._ended, row.name))
                if not running:
                    await responses.dequeue()
                    return  # other processes run the rest, or it waits for a limit
                woken = asyncio.create_task(wake.wait())
                await asyncio.wait([*running, woken], timeout=lease_s / 4, return_when=asyncio.FIRST_COMPLETED)
                woken.cancel()
                running = {task: name for task, name in running.items() if not task.done()}
                if time.monotonic() - renewed_s >= lease_s / 4:
                    renewed_s = time.monotonic()
                    await store.lease_rows(responses.group, list(running.values()), self._holder, lease_s)
                    await self._stop_finished(responses, running)
        except StorageError as exc:
            self._failed(exc)

    async def _stop_finished(self, responses: BackgroundResponses, running: dict[asyncio.Task[None], str]) -> None:
        """Stop the runs of responses that another process has cancelled or deleted."""
        for task, name in running.items():
            response = await responses.find(name)
            if response is None or not response.is_open:
                task.cancel()

    def _driven(self, group: str, task: asyncio.Task[None]) -> None:
        del self._drivers[group], self._wakes[group]
        _report(task)

    def _ended(self, response_id: str, task: asyncio.Task[None]) -> None:
        self._state.runs.pop(response_id, None)
        _report(task)

    async def _respond(self, store: GatewayStore, responses: BackgroundResponses, row: Row) -> None:
        """Run a response, and store its result."""
        try:
            if (expired := read(row)).created_s + WINDOW_S <= time.time():
                await responses.expire(expired)
                return
            if (queued := await responses.start(row)) is None:
                return
            answer = await self._answer(store, responses, queued)
            if answer.wait_s is not None:
                seconds = min(answer.wait_s, self._settings().batch_lease_s)
                await store.lease_rows(responses.group, [row.name], self._holder, seconds)
                return
        except asyncio.CancelledError:
            await self._release(responses, row.name)
            raise
        except StorageError as exc:
            self._failed(exc)
            return  # the lease ends
        for wait_s in (*STORE_WAITS_S, None):
            try:
                if not await self._finished(responses, queued, answer):
                    found = await responses.find(queued.id)
                    if found is None or found.state == CANCELLED:  # no other response may continue it
                        await self._documents.forget(queued.id, responses.caller)
                return
            except (StorageError, Problem) as exc:
                self._failed(exc)
                if wait_s is not None:
                    await asyncio.sleep(wait_s)

    async def _finished(self, responses: BackgroundResponses, queued: Queued, answer: OwnAnswer) -> bool:
        if answer.status == 200:
            return await responses.finish(queued, SUCCEEDED, answer.body)
        error: Any = msgspec.json.decode(answer.body).get("error") or {}
        return await responses.fail(queued, str(error.get("code")), str(error.get("message")))

    async def _release(self, responses: BackgroundResponses, name: str) -> None:
        try:
            await responses.store.lease_rows(responses.group, [name], self._holder, 0.0)
        except StorageError as exc:
            self._failed(exc)

    async def _answer(self, store: GatewayStore, responses: BackgroundResponses, queued: Queued) -> OwnAnswer:
        """Send a request to the gateway."""
        try:
            principal = await self._senders.principal(store, queued.sender)
        except Problem as exc:
            return refused(exc, responses_dialect)
        tags, facts = queued.sender.tags, {RUN: queued}
        send = functools.partial(send_own, self._app, PATH, principal=principal, request_id=queued.id, tags=tags)
        if not queued.is_stream or await has_events(store, queued.id):  # what a lost process streamed is not sent again
            return await send(body=_without_stream(queued.body), facts=facts)
        log = EventLog(store, queued.id, responses.kept_s)
        async with log:
            answer = await send(body=queued.body, facts=facts, on_events=log.feed)
        await log.flush()
        answer = attrs.evolve(answer, body=answer.body or log.final)
        if not answer.body or log.error_code == DRAINING:  # as for a whole response
            return OwnAnswer(503, {b"x-should-retry": b"true"}, b"")
        return answer

    def _failed(self, error: Exception) -> None:
        """Log a failure of the store, once while it lasts."""
        self._counters.store_errors += 1
        if (text := str(error)) != self._lost:
            self._lost = text
            logger().bind(error=text).warning("the store of the gateway failed; responses continue when it answers")


def _report(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger().opt(exception=error).error("a response in the background failed")


def _without_stream(body: bytes) -> bytes:
    return msgspec.json.encode({**msgspec.json.decode(body), "stream": False})
