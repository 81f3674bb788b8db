"""Waits with a limit in time that costs something only where there is something to wait for."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Limited(Generic[T]):
    """One step of something, with a limit.

    Never more than one step, because the limit cancels whichever code is running then.

    :param steps: what ``__await__`` of the step gave.
    :param limit: when it ends, on the loop's clock; ``None`` for no limit.
    :ivar has_expired: whether the limit ended it, with a ``TimeoutError``.
    """

    __slots__ = ("_limit", "_steps", "has_expired")

    def __init__(self, steps: Generator[Any, Any, T], limit: float | None) -> None:
        self._steps = steps
        self._limit = limit
        self.has_expired = False

    def __await__(self) -> Generator[Any, Any, T]:
        try:
            waits_for = self._steps.send(None)
        except StopIteration as done:  # it was there already, as most pieces of a quick stream are
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
    """Go on with steps that have begun and wait for something."""
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
