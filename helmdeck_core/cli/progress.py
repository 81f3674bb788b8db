"""Says what is waited for, on a terminal, when it takes longer than a second."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Self, TextIO, TypeVar

from helmdeck_core.cli import exits, printing
from helmdeck_core.cli.tables import clean, terminal_width, width_of

if TYPE_CHECKING:
    from helmdeck_core.deck.helmdeck import Helmdeck

T = TypeVar("T")

PATIENCE_S = 1.0
CLEAR = "\r\x1b[K"


class Progress:
    """One line on standard error that counts the seconds; nothing at all where that is no terminal, or closed."""

    def __init__(
        self,
        text: str,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        interval_s: float = PATIENCE_S,
    ) -> None:
        self._stream: TextIO | None = sys.stderr if stream is None else stream
        self._clock = clock
        self._interval_s = interval_s
        self._start = clock()
        self._text = text
        self._is_shown = False
        self._task: asyncio.Task[None] | None = None

    def say(self, text: str) -> None:
        """Change what is said."""
        self._text = text

    def draw(self) -> None:
        """Write the line over the last one."""
        if self._stream is None:
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
            self._task = asyncio.create_task(self._tick())
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError, OSError):  # a terminal may be gone; the result counts
                await self._task
        if self._is_shown and self._stream is not None:
            with contextlib.suppress(OSError):
                self._stream.write(CLEAR)
                self._stream.flush()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(self._interval_s)
            self.draw()


def wait_for(deck: Helmdeck, text: str, work: Callable[[Callable[[str], None]], Awaitable[T]]) -> T:
    """Run one asynchronous call of a deck to its end and close the deck; Ctrl-C cancels the call first.

    A deck that cannot be closed is worth a warning, and never the result, or the error, that the call ended with.

    :param work: gets a function to report progress with.
    """

    async def whole() -> T:
        try:
            async with Progress(text) as progress:
                return await work(progress.say)
        finally:
            try:
                await deck.aclose()
            except (Exception, SystemExit) as exc:
                printing.complain(f"warning: {exits.sentence(exc)}")

    return asyncio.run(whole())
