"""The known names that are most similar to a misspelt one, for error messages."""

from __future__ import annotations

from collections.abc import Iterable

MAX_CHARS = 200
"""Names of more characters have no suggestion: the comparison takes the square of their length."""

MAX_LISTED = 12
"""More names than these are not listed in a message, only the nearest ones."""

NEAREST = 3
"""The number of the nearest names."""

ALMOST_EQUAL = 0.8
"""Minimum similarity of a misspelt word where unknown words are allowed too."""


def similar(name: str, known: Iterable[str], *, most: int, cutoff: float = 0.6) -> tuple[str, ...]:
    """Return the known names that are similar to ``name``, the most similar one first.

    :param cutoff: minimum similarity, 0 to 1.

    >>> from helmdeck_core import similar
    >>> similar("plna", ["plan", "run", "route"], most=1)
    ('plan',)
    """
    if len(name) > MAX_CHARS:
        return ()
    import difflib  # only imported for an error message

    return tuple(difflib.get_close_matches(name, list(known), n=most, cutoff=cutoff))


def nearest_names(name: str, known: Iterable[str], *, more: str = "") -> str:
    """Return the known names for a message: all of them if they are few, else the nearest ones and how many there are.

    :param known: the most useful names first; they stand for the nearest ones where none is similar.
    :param more: where all names are listed, such as "`helmdeck models`".

    >>> from helmdeck_core import nearest_names
    >>> nearest_names("pln", ["plan", "run", "route"])
    'plan, run, route'
    """
    names = list(known)
    if len(names) <= MAX_LISTED:
        return ", ".join(names)
    near = list(dict.fromkeys((*similar(name, names, most=NEAREST, cutoff=0.3), *names)))[:NEAREST]
    shown = f"{', '.join(near)} and {len(names) - len(near)} more"
    return f"{shown} ({more} lists all)" if more else shown


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to ``name``; ``None`` when none is similar enough."""
    return next(iter(similar(name, known, most=1)), None)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``" (did you mean 'x'?)"``, to be appended to a message; the empty string when no name is similar enough.

    >>> from helmdeck_core import did_you_mean
    >>> "unknown command: pln" + did_you_mean("pln", ["plan", "run", "route"])
    "unknown command: pln (did you mean 'plan'?)"
    """
    match = nearest(name, known)
    return "" if match is None else f" (did you mean '{match}'?)"
