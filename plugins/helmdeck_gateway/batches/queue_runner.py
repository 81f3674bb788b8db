"""Works on a queue of the store: finds work, leases rows, and continues those of lost processes."""

from __future__ import annotations

import asyncio
import functools
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Final

from helmdeck_core.log import logger
from helmdeck_gateway.batches.own_requests import OwnAnswer, Senders, refused
from helmdeck_gateway.conversations.gateway_state import GatewayState
from helmdeck_gateway.dialects.reply import Dialect
from helmdeck_gateway.http_server.counters import Counters
from helmdeck_gateway.problems import Problem
from helmdeck_gateway.settings import GatewaySettings
from helmdeck_gateway.stores.rows import Row
from helmdeck_gateway.stores.store import GatewayStore
from helmdeck_storage import StorageError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

POLL_S: Final = 5.0
"""Seconds between two looks for the work of other processes."""
FINISH_S: Final = 3.0
"""Seconds that requests get when the gateway stops; what is left runs again, in another process or after the next start."""
STORE_WAITS_S: Final = (0.1, 1.0, 5.0, 15.0)
"""Seconds between the attempts to store a result."""


class QueueRunner(ABC):
    """Works on one queue in one process; several processes share the work.

    :param app: the gateway.
    :param state: has the store.
    :param settings: returns the settings as they are now.
    :ivar queue: the group of the rows that have open work: a name, and the caller.
    """

    queue: str

    def __init__(
        self, app: ASGIApp, state: GatewayState, settings: Callable[[], GatewaySettings], counters: Counters
    ) -> None:
        self.app = app
        self.state = state
        self.settings = settings
        self.counters = counters
        self.holder: str = os.urandom(8).hex()
        self.senders: Senders = Senders(state.find_store)
        self._drivers: dict[str, tuple[asyncio.Task[None], asyncio.Event]] = {}
        self._requests: set[asyncio.Task[None]] = set()
        self._lost = ""

    @property
    @abstractmethod
    def changed(self) -> asyncio.Event:
        """Is set when the queue may have changed."""

    @abstractmethod
    async def drive(self, store: GatewayStore, queued: Row, wake: asyncio.Event) -> None:
        """Work on a row of the queue until nothing is left that this process may run now.

        :param wake: is set when there may be more.
        :raises StorageError: the store does not answer.
        """

    async def run(self) -> None:
        """Work until it is cancelled."""
        try:
            while True:
                self.changed.clear()
                await self._look()
                try:
                    async with asyncio.timeout(min(POLL_S, self.settings().batch_lease_s)):
                        await self.changed.wait()
                except TimeoutError:
                    pass
        finally:
            await self._stop()

    async def _look(self) -> None:
        """Start to work on the rows of the queue."""
        store = self.state.find_store()
        if store is None or self.counters.is_draining:
            return
        try:
            after = ""
            while rows := await store.list_rows(self.queue, after=after):
                for row in rows:
                    if row.name in self._drivers:
                        self._drivers[row.name][1].set()
                        continue
                    wake = asyncio.Event()
                    task = self._begin(self.drive(store, row, wake))
                    self._drivers[row.name] = task, wake
                    task.add_done_callback(functools.partial(self._driven, row.name))
                after = rows[-1].name
            self._lost = ""
        except StorageError as exc:
            self.failed(exc)

    def _driven(self, name: str, _: asyncio.Task[None]) -> None:
        del self._drivers[name]

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        task.add_done_callback(self._report)
        return task

    def _report(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if isinstance(error, StorageError):
            self.failed(error)  # the leases end
        elif error is not None:
            logger().bind(queue=self.queue).opt(exception=error).error("work in the background failed")

    def request(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run one request; it gets time to end when the gateway stops."""
        task = self._begin(work)
        self._requests.add(task)
        task.add_done_callback(self._requests.discard)
        return task

    async def _stop(self) -> None:
        """Give requests a short time to end, and release what is left."""
        drivers = [task for task, _ in self._drivers.values()]
        for driver in drivers:
            driver.cancel()
        if self._requests:
            await asyncio.wait(self._requests, timeout=FINISH_S)
        left = list(self._requests)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, *drivers, return_exceptions=True)

    async def answer_of(self, sent: Coroutine[Any, Any, OwnAnswer], dialect: Dialect) -> tuple[OwnAnswer, float | None]:
        """Return the response to a request, and the seconds after which it is sent again; ``None`` if it is not.

        A request that raises would raise again, and gets an error.

        :raises StorageError: the store does not answer; another process, or the next lease, sends it again.
        """
        try:
            answer = await sent
            return answer, answer.wait_s
        except StorageError:
            raise
        except Exception as exc:
            logger().bind(queue=self.queue).opt(exception=exc).error("a request in the background failed")
            message = "the gateway failed to process the request; its log has the details"
            problem = Problem(message=message, status=500, kind="api_error", code="internal_error")
            return refused(problem, dialect), None

    async def keep_result(self, store: Callable[[], Awaitable[object]]) -> None:
        """Store a result; the attempts are repeated while the store does not answer."""
        for wait_s in (*STORE_WAITS_S, None):
            try:
                await store()
                return
            except (StorageError, Problem) as exc:
                self.failed(exc)
            if wait_s is not None:
                await asyncio.sleep(wait_s)

    def failed(self, error: Exception) -> None:
        """Log a failure of the store, once while it lasts."""
        self.counters.store_errors += 1
        if (text := str(error)) != self._lost:
            self._lost = text
            logger().bind(queue=self.queue, error=text).warning(
                "the store of the gateway failed; work in the background continues when it answers"
            )


class Leases:
    """The rows of a group that this process runs.

    :ivar running: their names by the tasks that run them.
    """

    def __init__(self, runner: QueueRunner, store: GatewayStore, group: str) -> None:
        self._runner = runner
        self._store = store
        self._group = group
        self._renewed_s = time.monotonic()
        self.running: dict[asyncio.Task[None], str] = {}

    async def claim(self, most: int) -> Sequence[Row]:
        """Lease open rows."""
        if most <= 0:
            return ()
        return await self._store.claim_rows(
            self._group, self._runner.holder, most, self._runner.settings().batch_lease_s
        )

    def run(self, row: Row, work: Callable[[Row], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
        """Run the request of a leased row; its lease is released if it is cancelled."""
        task = self._runner.request(self._run(row, work))
        self.running[task] = row.name
        return task

    async def _run(self, row: Row, work: Callable[[Row], Coroutine[Any, Any, None]]) -> None:
        try:
            await work(row)
        except asyncio.CancelledError:
            try:
                await self.let_wait(row.name, 0.0)
            except StorageError as exc:
                self._runner.failed(exc)
            raise

    async def let_wait(self, name: str, wait_s: float) -> None:
        """Let a row be leased again after some seconds, at most those of a lease: a row that waits cannot be cancelled."""
        seconds = min(wait_s, self._runner.settings().batch_lease_s)
        await self._store.lease_rows(self._group, [name], self._runner.holder, seconds)

    async def wait(self, wake: asyncio.Event) -> bool:
        """Wait until a request ends or there may be more; return whether leases were renewed."""
        lease_s = self._runner.settings().batch_lease_s
        woken = asyncio.create_task(wake.wait())
        await asyncio.wait([*self.running, woken], timeout=lease_s / 4, return_when=asyncio.FIRST_COMPLETED)
        woken.cancel()
        wake.clear()
        self.running = {task: name for task, name in self.running.items() if not task.done()}
        if time.monotonic() - self._renewed_s < lease_s / 4:
            return False
        self._renewed_s = time.monotonic()
        await self._store.lease_rows(self._group, list(self.running.values()), self._runner.holder, lease_s)
        return True
