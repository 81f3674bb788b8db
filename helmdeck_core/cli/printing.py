"""Output: results to standard output, everything else to standard error."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any, TextIO

from helmdeck_core.cli.exit_codes import OutputError
from helmdeck_core.cli.terminal import clean, json_text


def prepare_streams() -> None:
    """Escape characters that the encoding of a stream lacks, and replace a closed standard error."""
    if sys.stderr is None:
        # print(file=None) would write to standard output, and the next file that is opened would get descriptor 2.
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 (it stays open)
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")


def as_json(data: Any) -> str:
    """Data as indented JSON; in ASCII if the encoding of standard output is not UTF-8. NaN and infinity become null.

    >>> from helmdeck_core.cli import as_json
    >>> print(as_json({"share": float("nan"), "n": 3}))
    {
      "share": null,
      "n": 3
    }
    """
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "").replace("_", "")
    return json_text(data, indent=2, ensure_ascii=encoding != "utf8")


def show(text: str = "") -> None:
    """Print a result, with control characters escaped if standard output is a terminal.

    :raises OutputError: it cannot be written.
    :raises BrokenPipeError: the other end of the pipe is closed.
    """
    with _writing():
        is_terminal = getattr(sys.stdout, "isatty", bool)
        print(clean(text) if is_terminal() else text)


def show_chunk(text: str) -> None:
    """Print a part of a result at once, without a line break; raises the same errors as ``show``.

    >>> from helmdeck_core.cli import show_chunk
    >>> for chunk in ("one ", "two", chr(10)):
    ...     show_chunk(chunk)
    one two
    """
    with _writing():
        print(text, end="", flush=True)


def show_json(data: Any) -> None:
    """Print a result as JSON; raises the same errors as ``show``."""
    show(as_json(data))


def flush() -> None:
    """Flush standard output, so that its errors are raised here; raises the same errors as ``show``."""
    if sys.stdout is not None:
        with _writing():
            sys.stdout.flush()


@contextlib.contextmanager
def _writing() -> Iterator[None]:
    if sys.stdout is None:  # print() would write nothing, and report no error
        raise OutputError("standard output is closed")
    try:
        yield
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as exc:  # a closed stream raises ValueError
        silence(sys.stdout)
        raise OutputError((exc.strerror if isinstance(exc, OSError) else None) or str(exc)) from exc


def silence(stream: TextIO | None) -> None:
    """Redirect an unusable stream to the null device, so that the interpreter does not fail to flush it at exit."""
    if stream is None:
        return
    with contextlib.suppress(OSError, ValueError):
        number = stream.fileno()
        null = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(null, number)
        finally:
            os.close(null)


def note(text: str) -> None:
    """Print a message that is not part of the result to standard error, with control characters escaped.

    Errors of that stream are ignored.
    """
    if sys.stderr is None:
        return
    try:
        print(clean(text), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        silence(sys.stderr)


@contextlib.contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print warnings for users as messages, each text once."""
    shown: set[str] = set()

    def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
        if (text := str(message)) not in shown:
            shown.add(text)
            show_error(f"warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show_warning
        yield


def show_error(text: str) -> None:
    """Print an error message to standard error; see ``note``.

    >>> from helmdeck_core.cli import show_error
    >>> show_error("acme sync: no server answers")
    """
    note(f"helmdeck: {text}")
