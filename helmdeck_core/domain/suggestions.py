"""Suggestions for misspelled names."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to a misspelled one; ``None`` if none is similar enough."""
    import difflib

    matches = difflib.get_close_matches(name, list(known), n=1)
    return matches[0] if matches else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``" (did you mean 'x'?)"`` for the most similar known name; empty if none is similar enough."""
    match = nearest(name, known)
    return f" (did you mean {match!r}?)" if match else ""
