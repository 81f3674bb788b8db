"""An event loop in a thread of its own: connections to servers outlive the event loops of callers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """Starts at once; ``stop`` cancels everything that still runs. The thread does not keep the process alive."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def start(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine; cancelling the future cancels it."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def stop(self) -> None:
        """Cancel all tasks, wait for their end, and stop the thread."""
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            while tasks := asyncio.all_tasks(self._loop):  # a task may start others while it ends
                for task in tasks:
                    if not _is_starting_a_process(task):
                        task.cancel()
                self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()


def _is_starting_a_process(task: asyncio.Task[Any]) -> bool:
    """Whether a task is the one of asyncio that connects the pipes of a new process.

    It ends by itself. If it is cancelled, ``create_subprocess_exec``, which ends the process when it is cancelled, waits
    forever.
    """
    return getattr(task.get_coro(), "__qualname__", "").endswith("._connect_pipes")
