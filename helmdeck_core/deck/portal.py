"""Runs coroutines for blocking callers, with or without an event loop of their own."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import functools
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from helmdeck_core.errors import Cancelled

T = TypeVar("T")
P = ParamSpec("P")

_LAST_S = 1.0
"""Seconds that the end of a process waits for a portal that was not closed."""


class Portal:
    """One event loop in its own thread, started at the first call. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and return its result; an interrupt cancels it.

        :raises RuntimeError: it is called inside a coroutine of this portal, which would deadlock.
        :raises Cancelled: the portal was closed in the meantime.
        """
        if self._is_inside():
            coroutine.close()
            raise RuntimeError(
                "this would wait for itself: inside a pack or a provider, await the method that starts with a"
            )
        with self._lock:  # so that no call starts while the portal closes
            future = asyncio.run_coroutine_threadsafe(_contained(coroutine), self._started())
        try:
            value, stop = future.result()
        except concurrent.futures.CancelledError:
            raise Cancelled("the deck was closed while the call was under way") from None
        except BaseException:
            future.cancel()
            raise
        if stop is not None:
            raise stop
        return value  # type: ignore[return-value]

    @property
    def is_started(self) -> bool:
        """Whether there is a loop, which may hold resources."""
        return self._loop is not None and self._pid == os.getpid()

    def cancel(self) -> None:
        """Cancel all running calls; their callers get ``Cancelled``.

        :raises RuntimeError: it is called inside a coroutine of this portal.
        """
        if self._is_inside():
            raise RuntimeError("a deck cannot be closed by what it runs")
        with self._lock:  # so that the loop is not stopped in the meantime
            if self._loop is not None and self.is_started:
                asyncio.run_coroutine_threadsafe(_cancel_others(), self._loop).result()

    def close(self) -> None:
        """Cancel all running calls, then stop the loop and its thread; a later ``run`` starts new ones.

        :raises RuntimeError: it is called inside a coroutine of this portal.
        """
        if self._is_inside():
            raise RuntimeError("a deck cannot be closed by what it runs")
        with self._lock:
            loop, thread = (self._loop, self._thread) if self.is_started else (None, None)
            self._loop = self._thread = None
        if loop is not None and thread is not None:
            asyncio.run_coroutine_threadsafe(_cancel_others(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _is_inside(self) -> bool:
        return self._thread is not None and self._thread is threading.current_thread()

    def _started(self) -> asyncio.AbstractEventLoop:
        # A forked child has the parent's loop, but not its thread.
        if self._loop is None or self._pid != os.getpid():
            self._pid = os.getpid()
            self._loop = asyncio.new_event_loop()
            # A daemon, so that a deck that is not closed does not keep the process alive.
            self._thread = threading.Thread(target=self._loop.run_forever, name="helmdeck", daemon=True)
            self._thread.start()
            weakref.finalize(self, _stop, self._loop, self._thread, self._pid)
        return self._loop


async def _contained(coroutine: Coroutine[Any, Any, T]) -> tuple[T | None, BaseException | None]:
    """Return an exit or interrupt to the caller; raised in the loop's thread, it would silently end the loop."""
    try:
        return await coroutine, None
    except (SystemExit, KeyboardInterrupt) as exc:
        return None, exc


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread, pid: int) -> None:
    """Stop the loop of a portal that was not closed, and close what depends on it, such as connections."""
    if loop.is_closed() or pid != os.getpid():  # a forked child does not have the thread
        return
    with contextlib.suppress(RuntimeError, TimeoutError):  # it may be closed in the meantime, or busy
        if thread is threading.current_thread():
            loop.call_soon(loop.stop)
            return
        asyncio.run_coroutine_threadsafe(loop.shutdown_asyncgens(), loop).result(_LAST_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_LAST_S)
        loop.close()


class HasPortal(Protocol):
    """An object with blocking methods."""

    _portal: Portal


D = TypeVar("D", bound=HasPortal)


def blocking(method: Callable[Concatenate[D, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[D, P], T]:
    """Return the blocking method for a coroutine method, with the same signature and the name without its ``a``."""
    name = method.__name__

    def call(self: D, /, *args: P.args, **kwargs: P.kwargs) -> T:
        coroutine: Coroutine[Any, Any, T] = getattr(self, name)(*args, **kwargs)  # a subclass may override it
        return self._portal.run(coroutine)

    functools.update_wrapper(call, method)
    call.__doc__ = f"``{name}`` as a blocking call."
    call.__qualname__ = method.__qualname__.replace(name, name.removeprefix("a"))
    call.__name__ = name.removeprefix("a")
    return call
