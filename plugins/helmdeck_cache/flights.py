"""Calls under way: equal calls at the same time wait for the first one and share its answer."""

from __future__ import annotations

import asyncio
import enum
from typing import Any, Self

from helmdeck_core import CachedAnswer

Name = tuple[Any, ...]


class Ending(enum.Enum):
    """How a call ended without an answer for the others."""

    ABANDONED = "abandoned"
    """It was cancelled: one of the waiting calls makes the request, and the others wait for that one."""
    UNUSABLE = "unusable"
    """It failed, or its answer is not to be shared: those that wait make calls of their own."""


class Flight:
    """The call that others wait for; a context manager, so that every wait ends."""

    def __init__(self, flights: Flights, name: Name) -> None:
        self._flights = flights
        self._name = name
        self.result: asyncio.Future[CachedAnswer | Ending] = asyncio.get_running_loop().create_future()

    def end(self, result: CachedAnswer | Ending) -> None:
        """Pass the result on, once."""
        self._flights.remove(self._name, self)
        if not self.result.done():
            self.result.set_result(result)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, traceback: object) -> None:
        # A cancelled task and a closed generator raise no Exception.
        is_abandoned = kind is not None and not issubclass(kind, Exception)
        self.end(Ending.ABANDONED if is_abandoned else Ending.UNUSABLE)


class Flights:
    """The calls under way, by event loop, tenant and key."""

    def __init__(self) -> None:
        self._open: dict[Name, Flight] = {}

    def __len__(self) -> int:
        return len(self._open)

    def remove(self, name: Name, flight: Flight) -> None:
        """Forget a call."""
        if self._open.get(name) is flight:
            del self._open[name]

    async def join(self, tenant: str, key: str, wait_s: float) -> CachedAnswer | Flight | None:
        """Return the answer of an equal call, or a flight for a call that is the first one.

        :param wait_s: the longest wait, in seconds.
        :returns: ``None`` for a call that others do not wait for: the first one gave no answer, or not in time.
        """
        loop = asyncio.get_running_loop()
        name, until_s = (loop, tenant, key), loop.time() + wait_s
        while (flight := self._open.get(name)) is not None:
            left_s = until_s - loop.time()
            try:
                async with asyncio.timeout(max(0.0, left_s)):
                    result = await asyncio.shield(flight.result)
            except TimeoutError:
                return None
            if isinstance(result, CachedAnswer):
                return result
            if result is Ending.UNUSABLE:
                return None
        flight = self._open[name] = Flight(self, name)
        return flight
