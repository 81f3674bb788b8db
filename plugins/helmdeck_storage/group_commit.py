"""Transactions of many callers as one: what is submitted while the database writes is committed together."""

from __future__ import annotations

import concurrent.futures
import os
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from helmdeck_storage.database import Database
from helmdeck_storage.schema import Session

T = TypeVar("T")

MAX_BATCH = 256
"""Operations of one transaction."""

Operation = Callable[[Session], Any]
_Queue = queue.SimpleQueue["tuple[Operation, concurrent.futures.Future[Any]] | None"]


class GroupCommit:
    """Executes operations in order, in a thread of its own that starts with the first one. Thread-safe, and usable after a fork.

    :param name: of the thread.
    """

    _pid: int
    _lock: threading.Lock
    _thread: threading.Thread | None
    _queue: _Queue

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        self._name = name
        self._reset()

    def submit(self, operation: Callable[[Session], T]) -> concurrent.futures.Future[T]:
        """Return the future of an operation, which is done when its changes are committed.

        If an operation of a transaction fails, each of them is executed again in a transaction of its own, so an operation must
        have no effect but that on the database. The future has its exception, or the ``StorageError`` of the database.
        """
        future: concurrent.futures.Future[T] = concurrent.futures.Future()
        if self._pid != os.getpid():  # a forked process has no thread
            self._reset()
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, args=(self._queue,), name=self._name, daemon=True)
                self._thread.start()
            self._queue.put((operation, future))
        return future

    def close(self) -> None:
        """Finish what was submitted, and close the database; a later operation opens it again."""
        if self._pid != os.getpid():
            self._reset()
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is not None:
                self._queue.put(None)
                self._queue = queue.SimpleQueue()  # that of the next thread, which may start before this one ends
        if thread is not None:
            thread.join()
        self._database.close()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._thread = None
        self._queue = queue.SimpleQueue()

    def _work(self, waiting: _Queue) -> None:
        is_closing = False
        while not is_closing:
            batch = [waiting.get()]
            while batch[-1] is not None and len(batch) < MAX_BATCH:
                try:
                    batch.append(waiting.get_nowait())
                except queue.Empty:
                    break
            is_closing = batch[-1] is None
            self._execute([each for each in batch if each is not None and each[1].set_running_or_notify_cancel()])

    def _execute(self, batch: list[tuple[Operation, concurrent.futures.Future[Any]]]) -> None:
        """Execute operations in one transaction; if one fails, each in its own, so that the others are kept."""
        if not batch:
            return
        try:
            with self._database.session() as session:
                results = [operation(session) for operation, _ in batch]
        except Exception as exc:
            if len(batch) > 1:
                for each in batch:
                    self._execute([each])
            else:
                batch[0][1].set_exception(exc)
            return
        for (_, future), result in zip(batch, results, strict=True):
            future.set_result(result)
