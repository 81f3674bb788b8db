"""Records finished calls in the request log. ``[events] sinks = ["requests"]`` enables it; ``helmdeck console`` shows the log."""

from __future__ import annotations

import collections
import os
import threading
from collections.abc import Sequence
from typing import Final

from helmdeck_core import CallTrace, CooldownStarted, Event, EventSink, SecretRef, hookimpl
from helmdeck_core.log import logger
from helmdeck_telemetry.request_log.store import RequestLog, default_log_path
from helmdeck_telemetry.traces import TraceRecorder

NAME: Final = "requests"
"""The name of the sink in ``[events] sinks``; the gateway enables it for its console."""

FLUSH_S: Final = 0.25
"""Seconds that finished calls are collected for one transaction."""

MAX_WAITING: Final = 20_000
"""Finished calls that wait for the database; later ones are dropped, so that a database that is down costs no memory."""

MAX_BATCH: Final = 1_000
PURGE_EVERY: Final = 2_000
"""Recorded calls of a process between two deletions of what has expired, each of which removes up to 5,000 rows of a table."""

RETRY_AFTER_S: Final = 5.0


@hookimpl
def helmdeck_event_sinks() -> Sequence[EventSink]:
    """The sink for the request log."""
    return (
        EventSink(
            name=NAME,
            open=RequestSink,
            options={"url": "", "days": 30.0, "keep_traces": 50_000},
            summary="finished calls with their attempts, for helmdeck console",
        ),
    )


class RequestSink:
    """The request log of one deck, or of all decks that use the same database.

    Calls are written by a thread of their own, so that a call never waits for the database; a killed process loses those of the
    last quarter of a second.

    :param url: ``sqlite:PATH`` or ``postgresql://...``, or a reference to such a URL: ``env:NAME`` or ``file:PATH``; empty:
        ``requests.db`` in the data directory.
    :param days: days that requests and their sums are kept.
    :param keep_traces: number of requests whose attempts are kept in detail.
    :param log: an open log instead of ``url``.
    :ivar dropped: finished calls that could not be recorded.
    """

    def __init__(
        self, url: str = "", days: float = 30.0, keep_traces: int = 50_000, *, log: RequestLog | None = None
    ) -> None:
        kind, _, target = url.partition(":")
        resolved = (SecretRef(kind, target).read() or "") if kind in ("env", "file") else url
        self.log: RequestLog = log or RequestLog.open(resolved)
        self._is_default = log is None and not resolved
        self._days, self._keep_traces = days, keep_traces
        self._recorder = TraceRecorder(self._add)
        self._waiting: collections.deque[CallTrace | CooldownStarted] = collections.deque()
        self._lock = threading.Lock()
        self._has_work, self._is_urgent, self._has_written = (threading.Condition(self._lock) for _ in range(3))
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()
        self._is_closing = False
        self._is_writing = False
        self._flushes = 0
        self._until_purge = 0
        self.dropped: int = 0

    def handle(self, event: Event) -> None:
        """Add an event to the trace of its call; record the trace when the call ends."""
        if isinstance(event, CooldownStarted):
            self._add(event)
        else:
            self._recorder.handle(event)

    def traces(self, limit: int = 20) -> tuple[CallTrace, ...]:
        """Return the most recent traces, newest first, without those of helper calls."""
        self.flush()
        return () if self._is_new else self.log.newest_traces(limit)

    def call_trace(self, call_id: str) -> CallTrace | None:
        """Return the trace of one call, or ``None``."""
        self.flush()
        return None if self._is_new else self.log.trace(call_id)

    @property
    def _is_new(self) -> bool:
        """Whether nothing was stored yet in the default file, which reading does not create."""
        return self._is_default and not default_log_path().exists()

    def flush(self, timeout_s: float = 5.0) -> None:
        """Wait until what is finished is recorded."""
        with self._lock:
            self._own()
            self._flushes += 1
            self._is_urgent.notify_all()
            self._has_written.wait_for(lambda: not self._waiting and not self._is_writing, timeout_s)
            self._flushes -= 1

    def close(self) -> None:
        """Record what is finished, and close the database; a later call opens it again."""
        with self._lock:
            self._own()
            thread, self._thread, self._is_closing = self._thread, None, True
            self._has_work.notify_all()
            self._is_urgent.notify_all()
        if thread is not None:
            thread.join()
        self._is_closing = False
        self.log.close()

    # -- the thread --------------------------------------------------------------------------------------------

    def _own(self) -> None:
        if self._pid != os.getpid():  # a forked process has no thread, and what waits is written by its parent
            self._pid, self._thread, self._is_writing, self._flushes = os.getpid(), None, False, 0
            self._waiting.clear()

    def _add(self, item: CallTrace | CooldownStarted) -> None:
        with self._lock:
            self._own()
            if len(self._waiting) >= MAX_WAITING:
                self.dropped += 1
                return
            self._waiting.append(item)
            self._has_work.notify()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="helmdeck-request-log", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        is_closing = False
        while not is_closing or self._waiting:
            with self._lock:
                self._has_work.wait_for(lambda: bool(self._waiting) or self._is_closing)
                # Other calls may end meanwhile, and are written with these.
                self._is_urgent.wait_for(lambda: self._flushes > 0 or self._is_closing, FLUSH_S)
                is_closing = self._is_closing
                batch = [self._waiting.popleft() for _ in range(min(MAX_BATCH, len(self._waiting)))]
                self._is_writing = bool(batch)
            is_written = self._write(batch)
            with self._lock:
                self._is_writing = False
                self._has_written.notify_all()
                if not is_written:
                    self._is_urgent.wait_for(lambda: self._is_closing, RETRY_AFTER_S)

    def _write(self, batch: Sequence[CallTrace | CooldownStarted]) -> bool:
        """Write a batch. If the database cannot be used, the batch is dropped; no call is affected."""
        try:
            if traces := [each for each in batch if isinstance(each, CallTrace)]:
                self.log.add(traces)
            for each in batch:
                if isinstance(each, CooldownStarted):
                    self.log.add_cooldown(each)
            if self._until_purge <= 0:
                self.log.purge(self._days, self._keep_traces)
                self._until_purge = PURGE_EVERY
            self._until_purge -= len(batch)
        except Exception as exc:
            self.dropped += len(batch)
            logger().bind(error=f"{type(exc).__name__}: {exc}", calls=len(batch)).warning(
                "finished calls could not be recorded in the request log"
            )
            return False
        return True
