"""The nearest known name to a misspelt one, for error messages."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to ``name``; ``None`` when none is similar enough."""
    import difflib  # only imported for an error message

    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``" (did you mean 'x'?)"``, to be appended to a message; the empty string when no name is similar enough."""
    match = nearest(name, known)
    return "" if match is None else f" (did you mean {match!r}?)"
