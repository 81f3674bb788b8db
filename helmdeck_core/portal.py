"""Runs coroutines for callers that have no event loop, or that are inside one and want to wait all the same."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Portal:
    """One event loop in a thread of its own, started at the first call; any number of threads may call at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end and return what it returns; an interrupt cancels it and waits for its clean-up."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._started())
        try:
            return future.result()
        except BaseException:
            if not future.done():
                future.cancel()
            raise

    @property
    def is_started(self) -> bool:
        """Whether there is a loop that may hold resources."""
        return self._loop is not None

    def close(self) -> None:
        """Stop the loop and its thread; a later ``run`` starts new ones."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                # A daemon, so that a deck that nobody closed does not keep the process alive.
                self._thread = threading.Thread(target=self._loop.run_forever, name="helmdeck", daemon=True)
                self._thread.start()
            return self._loop
