"""Runs work whose time grows with the size of a request in a thread, so that the event loop answers other requests meanwhile."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

INLINE_BYTES: Final = 50_000
"""Bytes of a body that is read on the event loop, in about a millisecond; a thread would cost more."""
THREADS: Final = 2
"""Large requests that are read at a time; more threads would only compete for the interpreter."""

_threads = concurrent.futures.ThreadPoolExecutor(THREADS, thread_name_prefix="helmdeck-gateway")


async def aside(size: int, work: Callable[..., T], *arguments: object) -> T:
    """Call a function of a request.

    :param size: bytes of the request.
    """
    if size <= INLINE_BYTES:
        return work(*arguments)
    return await asyncio.get_running_loop().run_in_executor(_threads, work, *arguments)
