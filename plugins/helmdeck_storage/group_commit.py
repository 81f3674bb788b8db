"""Transactions of many callers as one: what is submitted while the database writes is committed together."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import itertools
import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from helmdeck_storage.database import Database
from helmdeck_storage.schema import Session

T = TypeVar("T")

MAX_BATCH = 256
"""Operations of one transaction."""

Operation = Callable[[Session], Any]
_Queue = queue.SimpleQueue["_Single | _Turn | None"]


class GroupCommit:
    """Executes operations in order, in a thread of its own that starts with the first one. Thread-safe, and usable after a fork.

    :param name: of the thread.
    """

    _pid: int
    _lock: threading.Lock
    _thread: threading.Thread | None
    _queue: _Queue
    _turns: dict[asyncio.AbstractEventLoop, list[tuple[Operation, asyncio.Future[Any]]]]

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
        self._enqueue(_Single(operation, future))
        return future

    def _enqueue(self, item: _Single | _Turn) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, args=(self._queue,), name=self._name, daemon=True)
                self._thread.start()
            self._queue.put(item)

    async def run(self, operation: Callable[[Session], T]) -> T:
        """Return the result of an operation when its changes are committed; see ``submit``.

        What tasks of a loop submit in one turn is handed over together, and so are the results: to wake a thread and a loop for
        each operation takes longer than most operations.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        if self._pid != os.getpid():
            self._reset()
        turn = self._turns.get(loop)
        if turn is None:
            turn = self._turns[loop] = []
            loop.call_soon(self._hand_over, loop)
        turn.append((operation, future))
        return await future

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        turn = _Turn(loop, [each for each in self._turns.pop(loop, ()) if not each[1].done()])
        if turn.operations:
            self._enqueue(turn)

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
        self._turns = {}

    def _work(self, waiting: _Queue) -> None:
        is_closing = False
        while not is_closing:
            items, size = [waiting.get()], 1
            while items[-1] is not None and size < MAX_BATCH:
                try:
                    items.append(waiting.get_nowait())
                except queue.Empty:
                    break
                size += len(items[-1].operations) if isinstance(items[-1], _Turn) else 1
            is_closing = items[-1] is None
            batch = [each for item in items if item is not None for each in item.begin()]
            results = iter(self._execute(batch))
            for item in items:
                if item is not None:
                    item.end(results)

    def _execute(self, batch: Sequence[Operation]) -> list[_Result]:
        """Execute operations in one transaction; if one fails, each in its own, so that the others are kept."""
        if not batch:
            return []
        try:
            with self._database.session() as session:
                return [(operation(session), None) for operation in batch]
        except Exception as exc:
            if len(batch) == 1:
                return [(None, exc)]
        return [result for operation in batch for result in self._execute([operation])]


_Result = tuple[Any, Exception | None]
"""What an operation returned or raised."""


class _Single:
    """An operation that a thread has submitted."""

    def __init__(self, operation: Operation, future: concurrent.futures.Future[Any]) -> None:
        self._operation = operation
        self._future = future
        self._has_begun = False

    def begin(self) -> Sequence[Operation]:
        """Return what is to be executed; nothing if it was cancelled."""
        self._has_begun = self._future.set_running_or_notify_cancel()
        return (self._operation,) if self._has_begun else ()

    def end(self, results: Iterator[_Result]) -> None:
        """Take the result from those of all operations."""
        if not self._has_begun:
            return
        result, error = next(results)
        if error is not None:
            self._future.set_exception(error)
        else:
            self._future.set_result(result)


class _Turn:
    """The operations of one turn of a loop."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, operations: Sequence[tuple[Operation, asyncio.Future[Any]]]
    ) -> None:
        self._loop = loop
        self.operations = operations
        self._begun: Sequence[asyncio.Future[Any]] = ()

    def begin(self) -> Sequence[Operation]:
        """Return what is to be executed, without what was cancelled."""
        begun = [each for each in self.operations if not each[1].cancelled()]
        self._begun = [future for _, future in begun]
        return [operation for operation, _ in begun]

    def end(self, results: Iterator[_Result]) -> None:
        """Take the results from those of all operations, and pass them to the loop at once."""
        found = list(itertools.islice(results, len(self._begun)))
        with contextlib.suppress(RuntimeError):  # the loop is closed, and with it those that waited
            self._loop.call_soon_threadsafe(self._pass_on, found)

    def _pass_on(self, results: Sequence[_Result]) -> None:
        for future, (result, error) in zip(self._begun, results, strict=True):
            if future.done():  # cancelled meanwhile
                continue
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)
