"""Runs code of plugins that are not built in: within a time limit, and without access to standard output."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

LIMIT_S: Final = 15.0
"""Seconds for the import of a plugin, and for each of its hooks."""


MAX_MESSAGE_CHARS: Final = 4_000
"""Characters of the message of an exception; some contain a whole response or file."""


class PluginWarning(UserWarning):
    """An installed plugin or a plugin file cannot be used; everything else works without it."""


def describe_error(exc: BaseException) -> str:
    """Return type and message of an exception, also of one whose ``str`` fails; a long message is shortened."""
    try:
        message = str(exc)
    except Exception:
        message = "its message cannot be read"
    if len(message) > MAX_MESSAGE_CHARS:
        message = f"{message[:MAX_MESSAGE_CHARS]}… ({len(message):,} characters)"
    return f"{type(exc).__name__}: {message}" if message else type(exc).__name__


def run_foreign(function: Callable[[], T], limit_s: float = LIMIT_S) -> T:
    """Return the result of a function, or raise its exception. What it prints goes to standard error.

    It runs in a thread of its own: one that hangs is left behind, and a process that it forks ends with this thread.

    :raises TimeoutError: it has not ended within the limit.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(function())
        except BaseException as exc:  # SystemExit included
            errors.append(exc)

    thread = threading.Thread(target=work, name="helmdeck-plugin", daemon=True)
    with contextlib.redirect_stdout(sys.stderr):
        thread.start()
        thread.join(limit_s)
    if errors:
        raise errors[0]
    if not results:
        raise TimeoutError(f"it has not ended after {limit_s:g} s")
    return results[0]
