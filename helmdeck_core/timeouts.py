"""``Deadline`` and ``Limited``: timers for every request and every chunk, cheaper than ``asyncio.timeout``: most never expire.

How long each timeout is by default is in ``domain.providers`` (requests) and ``config.types`` (calls).
"""

from __future__ import annotations

import asyncio
import types
import weakref
from collections.abc import Generator
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

T = TypeVar("T")


def is_own_cancellation(exc: BaseException) -> bool:
    """Whether the running task is cancelled, and not only something that it awaits."""
    return isinstance(exc, asyncio.CancelledError) and (
        (task := asyncio.current_task()) is None or task.cancelling() > 0
    )


class Deadline:
    """A context manager like ``asyncio.timeout_at``; all deadlines of an event loop share one timer.

    :param when: on the event loop's clock; ``None`` for no deadline.
    :ivar has_expired: whether the deadline passed, which raises ``TimeoutError`` when the block is left.

    >>> import asyncio
    >>> from helmdeck_core import Deadline
    >>> async def limited():
    ...     with Deadline(asyncio.get_running_loop().time()):
    ...         await asyncio.Event().wait()
    >>> asyncio.run(limited())
    Traceback (most recent call last):
        ...
    TimeoutError
    """

    __slots__ = ("_cancelling", "_task", "_timer", "has_expired", "when")

    def __init__(self, when: float | None) -> None:
        self.when: float | None = when
        self.has_expired: bool = False

    def __enter__(self) -> Self:
        if self.when is None:
            return self
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a deadline needs a task")
        self._task, self._cancelling = task, task.cancelling()
        self._timer = _timer_of(task.get_loop())
        self._timer.add(self, self.when)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.when is None:
            return
        self._timer.remove(self)
        if self.has_expired and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def expire(self) -> None:
        """Cancel the block."""
        self.has_expired = True
        self._task.cancel()


class _Timer:
    """The deadlines of one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = weakref.ref(loop)
        self._pending: dict[Deadline, float] = {}
        self._handle: asyncio.TimerHandle | None = None

    def add(self, deadline: Deadline, when: float) -> None:
        self._pending[deadline] = when
        if self._handle is None or when < self._handle.when():
            self._start(when)

    def remove(self, deadline: Deadline) -> None:
        self._pending.pop(deadline, None)
        if not self._pending and self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _start(self, when: float) -> None:
        if self._handle is not None:
            self._handle.cancel()
        loop = self._loop()
        assert loop is not None  # it runs this
        self._handle = loop.call_at(when, self._expire, when)

    def _expire(self, armed_for: float) -> None:
        self._handle = None
        loop = self._loop()
        now = armed_for if loop is None else max(armed_for, loop.time())  # the loop may run a timer a little early
        for deadline in [each for each, when in self._pending.items() if when <= now]:
            del self._pending[deadline]
            deadline.expire()
        if self._pending:
            self._start(min(self._pending.values()))


_timers: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Timer] = weakref.WeakKeyDictionary()


def _timer_of(loop: asyncio.AbstractEventLoop) -> _Timer:
    timer = _timers.get(loop)
    if timer is None:
        timer = _timers[loop] = _Timer(loop)
    return timer


class Limited(Generic[T]):
    """Awaits one step of an operation with a deadline.

    Wrap a single step only, because the deadline cancels whatever code is running.

    :param steps: the result of the step's ``__await__``.
    :param limit: deadline on the event loop's clock; ``None`` for no deadline.
    :ivar has_expired: whether the deadline passed, which raises ``TimeoutError``.
    """

    __slots__ = ("_limit", "_steps", "has_expired")

    def __init__(self, steps: Generator[Any, Any, T], limit: float | None) -> None:
        self._steps = steps
        self._limit = limit
        self.has_expired: bool = False

    def __await__(self) -> Generator[Any, Any, T]:
        try:
            waits_for = self._steps.send(None)
        except StopIteration as done:  # available immediately, as most chunks of a fast stream are
            return done.value  # type: ignore[no-any-return]
        return (yield from self._waiting(waits_for).__await__())

    async def _waiting(self, waits_for: object) -> T:
        deadline = Deadline(self._limit)
        try:
            with deadline:
                return await _resumed(self._steps, waits_for)
        finally:
            self.has_expired = deadline.has_expired


@types.coroutine
def _resumed(steps: Generator[Any, Any, T], waits_for: object) -> Generator[Any, Any, T]:
    """Continue a started awaitable that is waiting for ``waits_for``."""
    while True:
        try:
            yield waits_for
        except BaseException as exc:
            try:
                waits_for = steps.throw(exc)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]
        else:
            return (yield from steps)
