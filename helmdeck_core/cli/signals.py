"""SIGTERM ends a command as Ctrl-C does: work is cancelled, resources are closed, and records are kept.

Commands that serve (``serve``, ``mcp``, ``worker``) replace the handler with their own.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Terminated(KeyboardInterrupt):
    """The process received SIGTERM while a command was running."""


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Handle SIGTERM as Ctrl-C is handled at that moment.

    Nothing changes outside the main thread, and where the process has a handler of its own or ignores the signal.

    :raises Terminated: instead of the ``KeyboardInterrupt`` that ends a command.
    """
    is_received = False

    def interrupt(_: int, frame: FrameType | None) -> None:
        nonlocal is_received
        is_received = True
        # While asyncio runs, its handler cancels the main task. A shell lets background jobs ignore SIGINT, not SIGTERM.
        handler = signal.getsignal(signal.SIGINT)
        (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)

    try:
        is_installed = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        if is_installed:
            signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not the main thread
        is_installed = False
    try:
        yield
    except KeyboardInterrupt as exc:
        if not is_received:
            raise
        terminated = Terminated()
        for note in getattr(exc, "__notes__", ()):
            terminated.add_note(note)
        raise terminated from exc
    finally:
        if is_installed and signal.getsignal(signal.SIGTERM) is interrupt:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
