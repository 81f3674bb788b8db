"""Compiles the patterns of each set of marks once per process; a deck compiles them at its first response."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from helmdeck_plugins.reading import marks
from helmdeck_plugins.reading.tool_calls import scanner

_compile = marks.compile_marks


def install() -> None:
    """Share compiled patterns from now on."""
    marks.compile_marks = scanner.compile_marks = _compile_once


@functools.lru_cache(maxsize=64)
def _shared(atoms: tuple[tuple[str, ...], ...], partial: bool) -> re.Pattern[str]:
    return _compile(atoms, partial=partial)


def _compile_once(atoms: Sequence[Sequence[str]], *, partial: bool = False) -> re.Pattern[str]:
    # While work is counted, the module has another re, whose patterns count.
    if vars(marks)["re"] is not re:
        return _compile(atoms, partial=partial)
    return _shared(tuple(map(tuple, atoms)), partial)
