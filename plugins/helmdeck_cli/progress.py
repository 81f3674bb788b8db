"""A progress line on a terminal for calls that take longer than a second."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Self, TextIO, TypeVar

from helmdeck_core.cli import clean, terminal_width, width_of

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

INTERVAL_S = 1.0
"""Seconds until the line is shown, and between two updates."""

CLEAR = "\r\x1b[K"


class Progress:
    """A line on standard error that counts the seconds. Nothing is written if standard error is closed or not a terminal."""

    def __init__(
        self,
        text: str,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        interval_s: float = INTERVAL_S,
    ) -> None:
        self._stream: TextIO | None = sys.stderr if stream is None else stream
        self._clock = clock
        self._interval_s = interval_s
        self._start = clock()
        self._text = text
        self._is_shown = False
        self._task: asyncio.Task[None] | None = None

    def update(self, text: str) -> None:
        """Replace the text of the line. An empty text removes the line until the next one, such as for a question to the user."""
        self._text = text
        if not text:
            self.clear()

    def draw(self) -> None:
        """Overwrite the line."""
        if self._stream is None or not self._text:
            return
        seconds = f" ({self._clock() - self._start:.0f} s)"
        text = clean(self._text).replace("\n", " ")
        room = terminal_width() - len(seconds) - 1
        while width_of(text) > room and text:
            text = text[:-1]
        self._stream.write(CLEAR + text + seconds)
        self._stream.flush()
        self._is_shown = True

    async def __aenter__(self) -> Self:
        if self._stream is not None and self._stream.isatty():
            import asyncio  # here, because it is a tenth of the start-up time

            self._task = asyncio.create_task(self._tick())
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._task is not None:
            import asyncio

            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError, OSError):  # the terminal may be closed; the result matters
                await self._task
        self.clear()

    def clear(self) -> None:
        """Remove the line if it was shown."""
        if self._is_shown and self._stream is not None:
            with contextlib.suppress(OSError):
                self._stream.write(CLEAR)
                self._stream.flush()
            self._is_shown = False

    async def _tick(self) -> None:
        import asyncio

        while True:
            await asyncio.sleep(self._interval_s)
            self.draw()


def tracked(items: Sequence[T], text: str) -> Iterator[T]:
    """Yield items with a progress line on standard error, drawn at most every second and cleared at the end.

    :param text: the text of the line; ``{}`` stands for the number of items so far.

    >>> from helmdeck_cli import tracked
    >>> sum(tracked([1, 2, 3], "adding"))
    6
    """
    progress = Progress(text.format(0))
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    drawn = time.monotonic()
    try:
        for number, item in enumerate(items, 1):
            yield item
            if is_terminal and time.monotonic() - drawn >= INTERVAL_S:
                drawn = time.monotonic()
                progress.update(text.format(number))
                progress.draw()
    finally:
        progress.clear()
