"""Lines of standard input, read by a thread that does not keep the process alive."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading

MAX_WAITING = 64
"""Lines that are read ahead."""

MAX_LINE_BYTES = 16_000_000
"""A longer line is read as ``TOO_LONG``, which is no message."""

TOO_LONG = b"(a line that is too long)\n"

_BLOCK = 65_536


class InputLines:
    """An asynchronous iterator over the lines of a file descriptor; the end of the input ends it.

    The SDK reads in a thread that cannot be interrupted, so that Ctrl-C would wait for the next line.
    """

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        self._room = threading.Semaphore(MAX_WAITING)
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, name="helmdeck-stdin", daemon=True).start()

    def __aiter__(self) -> InputLines:
        """Return the iterator itself."""
        return self

    async def __anext__(self) -> str:
        """Return the next line, with its line break."""
        line = await self._lines.get()
        self._room.release()
        if not line:
            raise StopAsyncIteration
        return line.decode("utf-8", "replace")

    def _read(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            with contextlib.suppress(OSError):  # a closed descriptor is the end
                parts: list[bytes] = []
                size = 0
                while block := os.read(self._descriptor, _BLOCK):
                    first, *others = block.split(b"\n")
                    # The parts of a line are joined once: a long line takes linear time.
                    size += len(first)
                    if size <= MAX_LINE_BYTES:
                        parts.append(first)
                    else:
                        parts.clear()
                    for following in others:
                        self._put(b"".join(parts) + b"\n" if size <= MAX_LINE_BYTES else TOO_LONG)
                        parts, size = [following], len(following)
                if rest := b"".join(parts):
                    self._put(rest)
            self._put(b"")

    def _put(self, line: bytes) -> None:
        self._room.acquire()
        self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
