"""Runs coroutines for blocking callers, with or without an event loop of their own."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import functools
import os
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from helmdeck_core.errors import Cancelled, HelmdeckError

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

    def run(self, coroutine: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop | None = None) -> T:
        """Run a coroutine and return its result; an interrupt cancels it.

        :param loop: the only event loop that the coroutine can run in.
        :raises RuntimeError: it is called inside a coroutine of this portal, which would deadlock.
        :raises Cancelled: the portal was closed in the meantime.
        """
        if self._is_inside():
            coroutine.close()
            raise RuntimeError(
                "this would wait for itself: inside a pack or a provider, await the method that starts with a"
            )
        if loop is not None and self._pid != os.getpid():
            coroutine.close()
            raise RuntimeError("a stream cannot be continued in a forked process; start a new one there")
        with self._lock:  # so that no call starts while the portal closes
            if loop is not None and self._loop is not loop:
                coroutine.close()
                raise _closed()
            future = asyncio.run_coroutine_threadsafe(_contained(coroutine), self._started())
        try:
            value, stop = future.result()
        except concurrent.futures.CancelledError:
            raise _closed() from None
        except HelmdeckError as error:
            raise error.with_traceback(None) from error.__cause__  # without the frames of the event loop
        except BaseException:
            future.cancel()
            raise
        if stop is not None:
            raise stop
        return value  # type: ignore[return-value]

    def iterate(self, batches: AsyncGenerator[T, None]) -> Generator[T, None, None]:
        """Yield the items of an async generator, which is closed at the end.

        :raises Cancelled: the portal was closed in the meantime.
        :raises RuntimeError: the process was forked in the meantime.
        """
        with self._lock:
            loop = self._started()
        try:
            while (batch := self.run(_next(batches), loop)) is not None:
                yield batch
                del batch  # so that no traceback with variables shows the text
        finally:
            # A closed portal has closed it; a forked child shares its connection with the parent, which still reads it.
            if self._loop is loop and self._pid == os.getpid():
                with contextlib.suppress(Cancelled):
                    self.run(batches.aclose(), loop)

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
            _end(loop, thread)

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


async def _next(batches: AsyncGenerator[T, None]) -> T | None:
    return await anext(batches, None)


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
        _end(loop, thread, _LAST_S)


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread, timeout_s: float | None = None) -> None:
    asyncio.run_coroutine_threadsafe(loop.shutdown_asyncgens(), loop).result(timeout_s)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(timeout_s)
    loop.close()


class RunningCalls:
    """The calls that a deck is making in event loops of its callers, so that closing it can stop them."""

    def __init__(self) -> None:
        self._running: set[RunningCall] = set()

    def add(self) -> RunningCall:
        """Return a new call; ``remove`` it at its end."""
        call = RunningCall(asyncio.get_running_loop())
        self._running.add(call)
        return call

    def remove(self, call: RunningCall) -> None:
        """Forget a call."""
        self._running.discard(call)

    async def stop(self) -> None:
        """Stop the calls of the running loop except those that this task is part of, and wait for them."""
        loop, here = asyncio.get_running_loop(), asyncio.current_task()
        calls = [call for call in list(self._running) if call.loop is loop and call.task is not here]
        steps = [step for call in calls if (step := call.stop()) is not None]
        if steps:
            await asyncio.wait(steps, timeout=_LAST_S)


class RunningCall:
    """A context manager around each step of one call: the whole call, or the next chunk of a stream.

    :ivar task: the task that makes a step; ``None`` between steps.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.task: asyncio.Task[Any] | None = None
        self._ended: asyncio.Future[None] | None = None
        self._is_stopped = False

    def stop(self) -> asyncio.Future[None] | None:
        """End the call with ``Cancelled``; return a future for the end of its step, ``None`` between steps."""
        self._is_stopped = True
        if self.task is None:
            return None
        self.task.cancel()
        self._ended = self._ended or self.loop.create_future()
        return self._ended

    def __enter__(self) -> None:
        if self._is_stopped:
            raise _closed()
        self.task = asyncio.current_task()
        self._cancelling = self.task.cancelling() if self.task is not None else 0

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        task, self.task = self.task, None
        if self._ended is not None:
            self._ended.set_result(None)
        is_first = self._is_stopped and task is not None and task.uncancel() <= self._cancelling
        if is_first and kind is asyncio.CancelledError:
            raise _closed() from None


def _closed() -> Cancelled:
    return Cancelled("the deck was closed while the call was under way")


async def stoppable(calls: RunningCalls, batches: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """Yield the items of a stream that ends with ``Cancelled`` when the deck is closed; closing it closes ``batches``."""
    call = calls.add()
    try:
        async with contextlib.aclosing(batches):
            while True:
                with call:
                    batch = await _next(batches)
                if batch is None:
                    return
                yield batch
                del batch  # so that no traceback with variables shows the text
    finally:
        calls.remove(call)


class HasPortal(Protocol):
    """An object with blocking methods."""

    _portal: Portal
    _calls: RunningCalls


D = TypeVar("D", bound=HasPortal)


def stops_at_close(
    method: Callable[Concatenate[D, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[D, P], Coroutine[Any, Any, T]]:
    """Return the coroutine method that raises ``Cancelled`` when the deck is closed meanwhile."""

    @functools.wraps(method)
    async def call(self: D, /, *args: P.args, **kwargs: P.kwargs) -> T:
        running = self._calls.add()
        try:
            with running:
                return await method(self, *args, **kwargs)
        except HelmdeckError as error:
            # It describes every attempt; the frames inside the deck would hide the line of the caller.
            raise error.with_traceback(None) from error.__cause__
        finally:
            self._calls.remove(running)

    return call


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
