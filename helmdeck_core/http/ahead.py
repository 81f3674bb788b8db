"""Reads a body in a task of its own, so that all that one read of the network brings is taken at once.

An HTTP library gives a body chunk by chunk, through several layers each time. Who wants the chunks one after the other goes
through as many layers again; here they wait in a list, and what comes later is read while the earlier is looked at.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

_MOST_BYTES = 65_536
"""What may wait to be taken before reading pauses: as much as one read brings."""


class ReadAhead:
    """A body that is being read, from the moment of its making on; needs a running loop.

    :param source: the chunks as they come; nobody else may iterate over it.
    :param deadline: when reading ends, on the loop's clock.
    :param idle_s: for how many seconds somebody may wait in vain, once something was taken; ``None`` for no such limit.
    :ivar is_idle: whether the second limit ended it, not the first.
    """

    def __init__(self, source: AsyncIterator[bytes], deadline: float, idle_s: float | None) -> None:
        self.is_idle = False
        self._source = source
        self._deadline = self._limit = deadline
        self._idle_s = idle_s
        self._chunks: list[bytes] = []
        self._bytes = 0
        self._is_late = self._has_given = False
        self._something: asyncio.Future[None] | None = None
        self._room: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()
        # One timer for all waits: to set one for each costs more than a chunk.
        self._timer = self._loop.call_at(deadline, self._ring)
        self._task = self._loop.create_task(self._read())
        self._task.add_done_callback(self._ended)

    def __aiter__(self) -> ReadAhead:
        return self

    async def __anext__(self) -> bytes:
        """Everything that has come and was not taken; waits if there is nothing.

        :raises TimeoutError: nothing came within the limits, and nothing is left of what came before.
        """
        if not self._chunks and not self._task.done():
            await self._wait()
        if self._chunks:
            self._has_given = True
            taken = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
            self._chunks.clear()
            self._bytes = 0
            _wake(self._room)
            return taken
        if self._is_late:
            raise TimeoutError
        self._task.result()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Stop reading; nothing of it runs on afterwards."""
        self._timer.cancel()
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _read(self) -> None:
        async for chunk in self._source:
            self._chunks.append(chunk)
            self._bytes += len(chunk)
            _wake(self._something)
            if self._bytes >= _MOST_BYTES:
                self._room = self._loop.create_future()
                await self._room

    async def _wait(self) -> None:
        if self._idle_s is not None and self._has_given:
            self._limit = min(self._deadline, self._loop.time() + self._idle_s)
            if self._limit < self._timer.when():
                self._set_timer(self._limit)
        self._something = self._loop.create_future()
        try:
            await self._something
        finally:
            self._something = None

    def _ring(self) -> None:
        """Look whether time is over; the limit has mostly moved on meanwhile."""
        is_waited_for = self._something is not None and not self._something.done()
        limit = self._limit if is_waited_for else self._deadline
        if self._loop.time() < limit:
            self._set_timer(limit)
        else:
            self._is_late, self.is_idle = True, limit < self._deadline
            self._task.cancel()

    def _set_timer(self, when: float) -> None:
        self._timer.cancel()
        self._timer = self._loop.call_at(when, self._ring)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._timer.cancel()
        if not task.cancelled():
            task.exception()  # whoever takes hears of it; where nobody does, it is no news
        _wake(self._something)


def _wake(future: asyncio.Future[None] | None) -> None:
    """Let go on who waits, if anybody does."""
    if future is not None and not future.done():
        future.set_result(None)
