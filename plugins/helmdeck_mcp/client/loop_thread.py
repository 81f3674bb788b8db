"""An event loop in a thread of its own: connections to servers outlive the event loops of callers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """Starts at once; ``stop`` cancels what was started. The thread does not keep the process alive."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._roots: set[asyncio.Task[Any]] = set()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def start(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine; cancelling the future cancels it."""
        return asyncio.run_coroutine_threadsafe(self._rooted(coroutine), self._loop)

    async def _rooted(self, coroutine: Coroutine[Any, Any, T]) -> T:
        task = asyncio.current_task()
        assert task is not None
        self.own(task)
        return await coroutine

    def own(self, task: asyncio.Task[Any]) -> None:
        """Cancel a task at the end; called in the loop."""
        self._roots.add(task)
        task.add_done_callback(self._roots.discard)

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
            self._loop.run_until_complete(asyncio.sleep(0))  # the first step of a task that was started makes it a root
            # Others belong to these, and end with them. Libraries wait forever for a task of theirs that is cancelled before its
            # first step: anyio for one of a group, asyncio for the one that connects the pipes of a process.
            while tasks := set(self._roots) or asyncio.all_tasks(self._loop):
                for task in tasks:
                    task.cancel()
                self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()
