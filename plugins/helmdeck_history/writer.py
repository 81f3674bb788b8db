"""Writes records in the background, so that no plan waits for the store, and keeps them while the store is down."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")

MAX_WAITING = 10_000
"""Records that wait for the store; beyond that, the oldest are dropped."""

MAX_BATCH = 200
RETRY_S = 30.0
"""Seconds after which a store that failed is used again."""

IDLE_S = 5.0
"""Seconds without a record after which the thread ends."""

CLOSE_S = 5.0
"""Seconds that closing a deck, or the end of the process, waits for the store."""


class Writer(Generic[T]):
    """A bounded queue and the thread that empties it. The thread starts with the first record.

    :param write: writes records; returns whether they are done with. It raises nothing.
    :param dropped: called with the number of records that were dropped because the queue was full.
    """

    def __init__(self, write: Callable[[Sequence[T]], bool], dropped: Callable[[int], None]) -> None:
        self._queue: _Queue[T] = _Queue(write, dropped)
        weakref.finalize(self, _end, self._queue)  # also at the end of the process

    def put(self, item: T) -> None:
        """Add a record; returns at once."""
        if self._queue.pid != os.getpid():  # a forked process has neither the thread nor the records of its parent
            self._queue = _Queue(self._queue.write, self._queue.dropped)
            weakref.finalize(self, _end, self._queue)
        self._queue.put(item)

    def retry(self) -> None:
        """Write waiting records now, although the store failed a short time ago."""
        self._queue.retry()

    def flush(self, timeout_s: float) -> bool:
        """Wait until all records are written; return whether they are. It does not wait for a store that is down."""
        return self._queue.pid != os.getpid() or self._queue.flush(timeout_s)

    def close(self) -> None:
        """Write what waits; a record that is added later starts the thread again."""
        _end(self._queue)


class _Queue(Generic[T]):
    def __init__(self, write: Callable[[Sequence[T]], bool], dropped: Callable[[int], None]) -> None:
        self.write, self.dropped = write, dropped
        self.pid = os.getpid()
        self._changed = threading.Condition()
        self._items: deque[T] = deque()
        self._thread: threading.Thread | None = None
        self._retry_at_s = 0.0
        self._is_ending = False

    def put(self, item: T) -> None:
        lost = 0
        with self._changed:
            self._items.append(item)
            while len(self._items) > MAX_WAITING:
                self._items.popleft()
                lost += 1
            self._is_ending = False
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="helmdeck-history", daemon=True)
                self._thread.start()
            elif len(self._items) == 1:
                self._changed.notify_all()
        if lost:
            self.dropped(lost)

    def retry(self) -> None:
        with self._changed:
            self._retry_at_s = 0.0
            self._changed.notify_all()

    def flush(self, timeout_s: float) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: not self._items or self._is_waiting(), timeout_s)
            return not self._items

    def end(self) -> None:
        """Write what waits with one more attempt, then end the thread."""
        with self._changed:
            self._is_ending = True
            self._retry_at_s = 0.0
            self._changed.notify_all()
            if self._thread is not threading.current_thread():
                self._changed.wait_for(lambda: self._thread is None, CLOSE_S)

    def _is_waiting(self) -> bool:
        return self._retry_at_s > time.monotonic()

    def _run(self) -> None:
        while batch := self._next_batch():
            is_done = self.write(batch)
            with self._changed:
                if is_done:
                    for item in batch:
                        if self._items and self._items[0] is item:  # else it was dropped meanwhile
                            self._items.popleft()
                elif self._is_ending:
                    self.dropped(len(self._items))
                    self._items.clear()
                else:
                    self._retry_at_s = time.monotonic() + RETRY_S
                self._changed.notify_all()

    def _next_batch(self) -> Sequence[T]:
        """The next records, at the latest when the store may be used again; empty when the thread is to end."""
        with self._changed:
            while not self._is_ending and (not self._items or self._is_waiting()):
                left_s = self._retry_at_s - time.monotonic() if self._items else IDLE_S
                if not self._changed.wait(max(0.0, left_s)) and not self._items:
                    break
            if not self._items:
                self._thread = None
                self._changed.notify_all()
            return [self._items[place] for place in range(min(len(self._items), MAX_BATCH))]


def _end(queue: _Queue[T]) -> None:
    if queue.pid == os.getpid():
        queue.end()
