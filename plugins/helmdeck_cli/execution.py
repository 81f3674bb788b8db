"""Runs the asynchronous work of a command, which Ctrl-C and SIGTERM cancel, and closes the deck."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from helmdeck_cli.progress import Progress
from helmdeck_cli.sources import note_source_problems
from helmdeck_core.cli import show_exception

if TYPE_CHECKING:
    from helmdeck_core import Helmdeck

T = TypeVar("T")


def wait_for(
    deck: Helmdeck, text: str, work: Callable[[Callable[[str], None]], Awaitable[T]], *, notes_problems: bool = True
) -> T:
    """Run one asynchronous call of a deck with a progress line, then close the deck. Ctrl-C and SIGTERM cancel the call.

    An error on closing is printed as a warning and hides neither the result nor the error of the call.

    :param text: the text of the progress line.
    :param work: starts the call; its argument is a callback that replaces the text of the progress line.
    :param notes_problems: print warnings for servers of the catalog that have a problem.
    """
    import asyncio

    async def call_and_close() -> T:
        try:
            async with Progress(text) as progress:
                return await work(progress.update)
        finally:
            try:
                try:
                    if notes_problems:
                        note_source_problems(deck)
                finally:
                    await deck.aclose()
            except (Exception, SystemExit) as exc:
                show_exception(exc, "warning: ")

    return asyncio.run(call_and_close())
