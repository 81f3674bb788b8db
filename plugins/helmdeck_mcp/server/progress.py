"""Progress of long calls: a notification within five seconds, and whenever a pack reports something."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

T = TypeVar("T")

HEARTBEAT_S = 4.0
"""Seconds without a message of the pack after which a notification is sent; clients may cancel after 60."""

GAP_S = 0.2
"""Seconds between two notifications at least; of several messages in between, only the last one is sent."""

Send = Callable[[float, str], Awaitable[None]]
"""Sends one notification: a number that grows, and the message."""


async def with_progress(send: Send, label: str, work: Callable[[Callable[[str], None]], Awaitable[T]]) -> T:
    """Run a call, and send its progress until it ends.

    :param send: may block while the client does not read, and may raise when it is gone; neither affects the call.
    :param label: the message until the call reports one.
    :param work: takes the callback for messages; must raise nothing but cancellation.
    """
    reporter = _Reporter(send, label)
    results: list[T] = []
    async with anyio.create_task_group() as group:
        group.start_soon(reporter.run)
        results.append(await work(reporter.update))
        group.cancel_scope.cancel()
    return results[0]


class _Reporter:
    def __init__(self, send: Send, label: str) -> None:
        self._send = send
        self._message = label
        self._changed = asyncio.Event()

    def update(self, message: str) -> None:
        self._message = message
        self._changed.set()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        start_s = loop.time()
        count = 0
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(HEARTBEAT_S):
                    await self._changed.wait()
            self._changed.clear()
            count += 1
            try:
                await self._send(count, f"{self._message} ({loop.time() - start_s:.0f} s)")
            except Exception:  # the client is gone, or its stream is closed; the call ends by itself or is cancelled
                return
            await asyncio.sleep(GAP_S)
