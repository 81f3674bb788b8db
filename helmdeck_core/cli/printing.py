"""Where output goes: results to standard output, everything else to standard error."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any, TextIO

from helmdeck_core.cli.exits import OutputError
from helmdeck_core.cli.tables import clean


def prepare_streams() -> None:
    """Make sure that no character can stop the output, whatever the terminal's encoding, nor a closed standard error."""
    if sys.stderr is None:
        # Whoever prints to it would else print to standard output, and the next file that is opened would be in its place.
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 (it stays open)
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")


def as_json(data: Any) -> str:
    """Data as JSON for people and machines; in pure ASCII where the output cannot carry more.

    JSON has no NaN and no infinity: they become null.
    """
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "").replace("_", "")
    return _dumps(data, indent=2, ensure_ascii=encoding != "utf8" or _has_surrogate(data))


def inline_json(data: Any) -> str:
    """Data as JSON on one line."""
    return _dumps(data, ensure_ascii=False)


def _dumps(data: Any, **options: Any) -> str:
    try:
        return json.dumps(data, allow_nan=False, default=_plain, **options)
    except ValueError:
        return json.dumps(_finite(data), allow_nan=False, default=_plain, **options)


def _finite(data: Any) -> Any:
    match data:
        case float():
            return data if math.isfinite(data) else None
        case Mapping():
            return {_finite(key): _finite(value) for key, value in data.items()}
        case list() | tuple() | frozenset():
            return [_finite(value) for value in data]
        case _:
            return data


def _plain(value: Any) -> Any:
    return (
        dict(value)
        if isinstance(value, Mapping)
        else list(value)
        if isinstance(value, (tuple, frozenset))
        else str(value)
    )


def _has_surrogate(data: Any) -> bool:
    try:
        json.dumps(data, ensure_ascii=False, default=_plain).encode()
    except UnicodeEncodeError:
        return True
    return False


def show(text: str = "") -> None:
    """Print a result.

    :raises OutputError: it cannot be written; but for a reader who went away, which is a ``BrokenPipeError``.
    """
    with _writing():
        print(text)


def show_json(data: Any) -> None:
    """Print a result as JSON; raises what ``show`` raises."""
    show(as_json(data))


def flush() -> None:
    """Write what is still held back, so that what stops it is noticed here; raises what ``show`` raises."""
    with _writing():
        if sys.stdout is not None:
            sys.stdout.flush()


@contextlib.contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as exc:  # of a stream that is closed, a ValueError
        forget(sys.stdout)
        raise OutputError((exc.strerror if isinstance(exc, OSError) else None) or str(exc)) from exc


def forget(stream: TextIO | None) -> None:
    """Let the interpreter flush into nothing at its end: the stream cannot be written, and that was said."""
    if stream is None:
        return
    with contextlib.suppress(OSError, ValueError):
        number = stream.fileno()
        nothing = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nothing, number)
        finally:
            os.close(nothing)


def note(text: str) -> None:
    """Tell people something that is not the result; where nothing can be told, the work goes on."""
    if sys.stderr is None:
        return
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        forget(sys.stderr)


def complain(text: str) -> None:
    """Report an error."""
    note(f"helmdeck: {clean(text)}")
