"""The known names that are most similar to a misspelt one, for error messages."""

from __future__ import annotations

from collections.abc import Iterable

ALMOST_EQUAL = 0.8
"""Minimum similarity of a misspelt word where unknown words are allowed too."""


def similar(name: str, known: Iterable[str], *, most: int, cutoff: float = 0.6) -> tuple[str, ...]:
    """Return the known names that are similar to ``name``, the most similar one first.

    :param cutoff: minimum similarity, 0 to 1.
    """
    import difflib  # only imported for an error message

    return tuple(difflib.get_close_matches(name, list(known), n=most, cutoff=cutoff))


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to ``name``; ``None`` when none is similar enough."""
    return next(iter(similar(name, known, most=1)), None)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``" (did you mean 'x'?)"``, to be appended to a message; the empty string when no name is similar enough."""
    match = nearest(name, known)
    return "" if match is None else f" (did you mean '{match}'?)"
