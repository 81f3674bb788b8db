"""Failed model calls as text: the lines below the headline."""

from __future__ import annotations

import itertools
import traceback
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING

from helmdeck_core.cli import printing
from helmdeck_core.cli.exit_codes import error_message
from helmdeck_core.cli.money import cost_text
from helmdeck_core.cli.terminal import labelled

if TYPE_CHECKING:
    from helmdeck_core.errors import Attempt, CallFailed

shows_tracebacks: ContextVar[bool] = ContextVar("shows_tracebacks", default=False)
"""Whether errors of the command line are shown with their tracebacks."""


def show_traceback(error: BaseException) -> None:
    """Print the traceback of an exception to standard error if ``--traceback`` was given.

    >>> from helmdeck_core.cli import show_traceback
    >>> show_traceback(ValueError("shown with --traceback only"))
    """
    if shows_tracebacks.get():
        printing.note("".join(traceback.format_exception(error)).rstrip())


def show_exception(error: BaseException, prefix: str = "") -> None:
    """Print the message of an exception to standard error, with its traceback if ``--traceback`` was given.

    >>> from helmdeck_core.cli import show_exception
    >>> show_exception(FileNotFoundError(2, "No such file or directory", "tools.json"), "acme sync: ")
    """
    show_traceback(error)
    printing.show_error(f"{prefix}{error_message(error)}")


def failure_lines(error: CallFailed, code: int) -> Iterable[str]:
    """The facts of a failed call, one labelled paragraph each.

    >>> from helmdeck_core import LengthTruncated
    >>> from helmdeck_core.cli import failure_lines
    >>> print(next(iter(failure_lines(LengthTruncated("plan", model="acme/large"), 11))))
    cause       length_truncated (exit code 11)
    """
    sub_cause = f" / {error.sub_cause}" if error.sub_cause else ""
    yield labelled("cause", f"{error.failure_class.value}{sub_cause} (exit code {int(code)})")
    if facts := error.facts():
        yield labelled("call", ", ".join(facts))
    if error.call_id:
        yield labelled("call id", error.call_id)
    if error.detail:
        yield labelled("detail", error.detail)
    if error.excerpt:
        length = f"{error.raw_length:,} bytes, " if error.raw_length and not error.stop_reason else ""
        yield labelled("response", f"{length}starts with: {error.excerpt}")
    if any(attempt.is_sent for attempt in error.attempts):
        yield from attempt_lines(error.attempts)
    if error.cost_usd:
        yield labelled("cost", cost_text(error.cost_usd, error.attempts))
    hint, next_action = error.advice()
    yield labelled("hint", hint)
    yield labelled("next", next_action)


def attempt_lines(attempts: Iterable[Attempt]) -> Iterator[str]:
    """One line for each attempt of a call; the first one has the label.

    >>> from helmdeck_core.cli import attempt_lines
    >>> list(attempt_lines(()))
    []
    """
    for label, attempt in zip(itertools.chain(["attempts"], itertools.repeat("")), attempts, strict=False):
        yield labelled(label, str(attempt))
