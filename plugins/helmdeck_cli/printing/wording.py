"""Wording of numbers."""

from __future__ import annotations


def counted(number: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun, such as ``1 entry`` or ``1,000 entries``.

    :param plural: default: the singular with an ``s``.

    >>> from helmdeck_cli import counted
    >>> counted(1, "entry", "entries"), counted(1000, "entry", "entries")
    ('1 entry', '1,000 entries')
    """
    return f"{number:,} {singular if number == 1 else plural or f'{singular}s'}"
