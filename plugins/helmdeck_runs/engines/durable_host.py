"""The one DBOS of a process, in an event loop of its own thread: launch, heartbeat, and recovery of the runs of ended processes."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import threading
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import dbos

from helmdeck_core import HelmdeckError, RunsConfig
from helmdeck_runs.engines.database import RunsDatabase, sqlite_path
from helmdeck_runs.engines.records import executor_id, is_dead
from helmdeck_storage import Schema, Session

T = TypeVar("T")

QUEUE = "helmdeck.runs"
WORKFLOW = "helmdeck.run"
APPLICATION = "helmdeck"

VERSION = "helmdeck-1"
"""The version of the stored data; every process that can continue a run has the same."""

POLL_S = 0.2
"""Seconds between two looks for queued runs."""

BEAT_S = 1.0
"""Seconds between two heartbeats."""

DEAD_AFTER_S = 10.0
"""Seconds without a heartbeat after which a process of another host counts as ended."""

SILENT_AFTER_S = 3.0
"""The same for a process number of this host that does not exist; it may belong to another container."""

CLOSE_S = 5.0

PURGE_EVERY_S = 600.0
PURGE_AT_ONCE = 1_000
"""Records that a process deletes at once, and the seconds between two deletions."""

SCHEMA = Schema(
    name="helmdeck_executors",
    version=1,
    tables=("CREATE TABLE IF NOT EXISTS helmdeck_executors (id TEXT PRIMARY KEY, beat DOUBLE PRECISION NOT NULL)",),
    has_own_file=False,  # it is that of DBOS
)

_NOW = {"sqlite": "(julianday('now') - 2440587.5) * 86400.0", "postgresql": "EXTRACT(EPOCH FROM clock_timestamp())"}
"""The clock of the database, which all processes share."""


class HostInUseError(HelmdeckError):
    """Another deck of the process has its runs in another database, and DBOS allows one per process."""

    def __init__(self) -> None:
        super().__init__(
            "this process uses the run engine 'dbos' with another database already, and DBOS allows "
            "one per process; close the other deck first, or give both decks the same [runs]"
        )


def database_url(url: str | None) -> str:
    """Return the URL of ``[runs] url``, or of a file in the user's data directory, as SQLAlchemy writes it."""
    scheme, _, target = (url or "sqlite:").partition(":")
    if scheme == "sqlite":
        return f"sqlite:///{sqlite_path(f'sqlite:{target}').absolute()}"
    return f"{scheme}:{target}"


class Host:
    """Launches DBOS at its first use. Every coroutine runs in the loop of the host."""

    def __init__(self, url: str | None, config: RunsConfig) -> None:
        self.url: str = database_url(url)
        self._config = config
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="helmdeck dbos", daemon=True)
        self._thread.start()
        self._launching: concurrent.futures.Future[None] | None = None
        self._lock = threading.Lock()
        scheme = "sqlite" if self.url.startswith("sqlite") else "postgresql"
        self._now = _NOW[scheme]
        beats = f"sqlite:{self.url.removeprefix('sqlite:///')}" if scheme == "sqlite" else self.url
        self._database = RunsDatabase(beats, SCHEMA)
        self._tasks: list[asyncio.Task[None]] = []
        self.is_worker: bool = False

    def start(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Start a coroutine in the loop of the host."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def launch(self, *, is_worker: bool = False) -> None:
        """Launch DBOS, once; a worker also executes queued runs, which cannot be added later."""
        with self._lock:
            if self._launching is None:
                self._launching = self.start(self._launch(is_worker))
            elif is_worker and not self.is_worker:
                raise HostInUseError
        await asyncio.wrap_future(self._launching)

    async def _launch(self, is_worker: bool) -> None:
        self.is_worker = is_worker
        try:
            await self._launch_dbos()
        except BaseException:
            with contextlib.suppress(Exception):
                await asyncio.to_thread(dbos.DBOS.destroy, workflow_completion_timeout_sec=0)
            with self._lock:
                self._launching = None  # the database may be there at the next use
            raise
        if is_worker:
            self._tasks.append(asyncio.create_task(self._recover_ended()))
        self._tasks += (asyncio.create_task(self._beat()), asyncio.create_task(self._purge_old()))

    async def _launch_dbos(self) -> None:
        await self.beat()
        log = logging.getLogger("dbos")
        if not log.handlers and logging.lastResort is not None:
            # DBOS would add a handler that keeps the present sys.stderr, which may be closed later; this one looks it up.
            log.addHandler(logging.lastResort)
            log.propagate = False
        dbos.DBOS(
            config={
                "name": APPLICATION,
                "system_database_url": self.url,
                "application_version": VERSION,
                "executor_id": executor_id(),
                "serializer": dbos.DBOSPortableJSONSerializer(),
                "log_level": "ERROR",
                "enable_otlp": False,
            }
        )
        if not self.is_worker:
            dbos.DBOS.listen_queues([])
        log.addFilter(_is_about_dbos)
        dbos.DBOS.launch()  # it adopts this loop
        if self.is_worker:
            await dbos.DBOS.register_queue_async(
                QUEUE,
                worker_concurrency=self._config.worker_concurrency,
                global_concurrency=self._config.global_concurrency,
                polling_interval_sec=POLL_S,
                on_conflict="always_update",
            )

    async def _change(self, statement: str, *parameters: Any) -> int:
        return await self._database.execute(lambda session: session.change(statement, parameters))

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            with contextlib.suppress(Exception):  # the database is away for a while; the next beat tries again
                await self.beat()

    async def beat(self) -> None:
        """Record that this process works, also after a worker has taken it for ended, such as one that was suspended."""
        await self._change(
            f"INSERT INTO helmdeck_executors VALUES (?, {self._now}) "  # noqa: S608
            "ON CONFLICT (id) DO UPDATE SET beat = excluded.beat",
            executor_id(),
        )

    async def _recover_ended(self) -> None:
        """Queue the runs of processes that ended again."""
        while True:
            with contextlib.suppress(Exception):
                for name in await self.ended():
                    await self.recover(name)
                    await self._change("DELETE FROM helmdeck_executors WHERE id = ?", name)
            await asyncio.sleep(BEAT_S)

    async def _purge_old(self) -> None:
        while True:
            with contextlib.suppress(Exception):
                await self.purge()
            await asyncio.sleep(PURGE_EVERY_S)

    async def purge(self) -> None:
        """Delete the records of runs that ended longer ago than ``keep_days``."""
        end = datetime.now(UTC) - timedelta(days=self._config.keep_days)
        old = await dbos.DBOS.list_workflows_async(
            name=WORKFLOW, completed_before=end.isoformat(), limit=PURGE_AT_ONCE, load_input=False, load_output=False
        )
        await dbos.DBOS.delete_workflows_async([each.workflow_id for each in old])

    async def recover(self, name: str) -> None:
        """Queue the runs of a process that ended; of those that another process queued already, nothing happens."""
        await asyncio.to_thread(dbos.DBOS._recover_pending_workflows, [name])  # noqa: SLF001

    async def ended(self) -> list[str]:
        """Return the processes that ended and may have left runs."""

        def operation(session: Session) -> list[tuple[str, float]]:
            rows = session.rows(f"SELECT id, {self._now} - beat FROM helmdeck_executors")  # noqa: S608
            return [(str(name), float(silent_s)) for name, silent_s in rows]

        rows = await self._database.execute(operation)
        return [
            name
            for name, silent_s in rows
            if name != executor_id() and silent_s > (SILENT_AFTER_S if is_dead(name) else DEAD_AFTER_S)
        ]

    def close(self) -> None:
        """Stop this process's part; workers continue its runs."""
        with contextlib.suppress(Exception):  # a cancelled workflow is not recorded as ended
            self.start(_cancel_others()).result(CLOSE_S)
        with contextlib.suppress(Exception):
            dbos.DBOS.destroy(workflow_completion_timeout_sec=0)
        with contextlib.suppress(Exception):  # those that were started meanwhile
            self.start(_cancel_others()).result(CLOSE_S)
        if self._launching is not None:  # now another process may continue the rest
            over = "UPDATE helmdeck_executors SET beat = 0 WHERE id = ?"
            with contextlib.suppress(Exception):
                self._database.submit(lambda session: session.change(over, (executor_id(),))).result(CLOSE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_S)
        if not self._thread.is_alive():
            self._loop.close()
        self._database.close()


def _is_about_dbos(record: logging.LogRecord) -> bool:
    """Whether a log record is about DBOS itself: the failure of a run is recorded and returned to its caller."""
    return not record.getMessage().startswith("Exception encountered in asynchronous workflow")


async def _cancel_others() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


_HOSTS: dict[str, tuple[Host, set[object]]] = {}
_LOCK = threading.Lock()


def shared_host(user: object, url: str | None, config: RunsConfig) -> Host:
    """Return the host of this process, which several decks may use.

    :raises HostInUseError: the process uses another database.
    """
    wanted = database_url(url)
    with _LOCK:
        if wanted not in _HOSTS:
            if _HOSTS:
                raise HostInUseError
            _HOSTS[wanted] = (Host(url, config), set())
        host, users = _HOSTS[wanted]
        users.add(user)
        return host


def release_host(user: object) -> None:
    """Close the host after its last user."""
    closing: list[Callable[[], None]] = []
    with _LOCK:
        for url, (host, users) in list(_HOSTS.items()):
            users.discard(user)
            if not users:
                del _HOSTS[url]
                closing.append(host.close)
        for close in closing:
            close()
