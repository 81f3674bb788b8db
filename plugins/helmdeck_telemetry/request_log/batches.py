"""Finished calls on their way to where they are recorded: a thread writes them in batches, and no call waits for it."""

from __future__ import annotations

import collections
import os
import threading
from collections.abc import Callable, Sequence
from typing import Final

from helmdeck_core import AttemptTexts, CooldownStarted
from helmdeck_core.log import logger
from helmdeck_telemetry.traces import RecordedCall

FLUSH_S: Final = 0.25
"""Seconds that finished calls are collected for one batch."""

MAX_WAITING: Final = 20_000
"""Finished calls that wait to be written; later ones are dropped, so that a database that is down costs no memory."""

MAX_BATCH: Final = 1_000
RETRY_AFTER_S: Final = 5.0

Item = RecordedCall | CooldownStarted | AttemptTexts


class Batches:
    """Items that a thread of their own writes; a killed process loses those of the last quarter of a second.

    :param write: writes a batch; what it raises is logged, and the batch is dropped.
    :param place: where it writes to, for the message.
    :ivar dropped: items that could not be written.
    """

    def __init__(self, write: Callable[[Sequence[Item]], None], place: str) -> None:
        self._write_batch = write
        self._place = place
        self._waiting: collections.deque[Item] = collections.deque()
        self._lock = threading.Lock()
        self._has_work, self._is_urgent, self._has_written = (threading.Condition(self._lock) for _ in range(3))
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()
        self._is_closing = False
        self._is_writing = False
        self._flushes = 0
        self.dropped: int = 0

    def flush(self, timeout_s: float = 5.0) -> None:
        """Wait until everything is written."""
        with self._lock:
            self._own()
            self._flushes += 1
            self._is_urgent.notify_all()
            self._has_written.wait_for(lambda: not self._waiting and not self._is_writing, timeout_s)
            self._flushes -= 1

    def close(self) -> None:
        """Write everything, and end the thread; a later item starts another one."""
        with self._lock:
            self._own()
            thread, self._thread, self._is_closing = self._thread, None, True
            self._has_work.notify_all()
            self._is_urgent.notify_all()
        if thread is not None:
            thread.join()
        self._is_closing = False

    def add(self, item: Item) -> None:
        """Add an item."""
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

    def _own(self) -> None:
        if self._pid != os.getpid():  # a forked process has no thread, and what waits is written by its parent
            self._pid, self._thread, self._is_writing, self._flushes = os.getpid(), None, False, 0
            self._waiting.clear()

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

    def _write(self, batch: Sequence[Item]) -> bool:
        try:
            self._write_batch(batch)
        except Exception as exc:
            self.dropped += len(batch)
            logger().bind(error=f"{type(exc).__name__}: {exc}", calls=len(batch)).warning(
                f"finished calls could not be recorded in {self._place}"
            )
            return False
        return True
