"""Where output goes: results to standard output, everything else to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from helmdeck_core.cli.tables import clean


def prepare_streams() -> None:
    """Make sure that no character can stop the output, whatever the terminal's encoding."""
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")


def as_json(data: Any) -> str:
    """Data as JSON for people and machines; in pure ASCII where the output cannot carry more."""
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "").replace("_", "")
    return json.dumps(data, indent=2, ensure_ascii=encoding != "utf8" or _has_surrogate(data), default=_plain)


def inline_json(data: Any) -> str:
    """Data as JSON on one line."""
    return json.dumps(data, ensure_ascii=False, default=_plain)


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
    """Print a result."""
    print(text)


def show_json(data: Any) -> None:
    """Print a result as JSON."""
    print(as_json(data))


def flush() -> None:
    """Write what is still held back, so that a reader who went away is noticed here."""
    if sys.stdout is not None:
        sys.stdout.flush()


def note(text: str) -> None:
    """Tell people something that is not the result."""
    if sys.stderr is not None:
        print(text, file=sys.stderr)


def complain(text: str) -> None:
    """Report an error."""
    note(f"helmdeck: {clean(text)}")
