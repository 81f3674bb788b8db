"""Timeouts that cost nothing if the awaited result is available immediately."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


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
        self.has_expired = False

    def __await__(self) -> Generator[Any, Any, T]:
        try:
            waits_for = self._steps.send(None)
        except StopIteration as done:  # available immediately, as most chunks of a fast stream are
            return done.value  # type: ignore[no-any-return]
        return (yield from self._waiting(waits_for).__await__())

    async def _waiting(self, waits_for: object) -> T:
        scope = asyncio.timeout_at(self._limit)
        try:
            async with scope:
                return await _resumed(self._steps, waits_for)
        finally:
            self.has_expired = scope.expired()


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
