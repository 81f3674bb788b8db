"""Tells a refusal in prose from other prose.

A refusal is a sentence near the start in which the writer says that it cannot, or will not, do what was requested. How
each language phrases that is contributed by plugins.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from helmdeck_core.domain.decode import RefusalPattern

_BEGINNING = 400  # characters that are searched

_SENTENCE = re.compile(r"[^.!?。\n]*+[.!?。\n]*+\s*+")

_MOST_SENTENCES = 3
"""A refusal is one of the first sentences; later sentences of a longer text are about something else."""


class RefusalMatcher:
    """Matches the contributed patterns against the first sentences of a text."""

    def __init__(self, patterns: Sequence[RefusalPattern]) -> None:
        self._patterns = tuple(patterns)

    @cached_property
    def _compiled(self) -> tuple[re.Pattern[str], ...]:
        """Compiled at the first prose answer: compiling costs more than start-up should."""
        return tuple(re.compile(each.pattern, re.IGNORECASE) for each in self._patterns)

    def matches(self, text: str) -> bool:
        """Whether the text refuses to do what was requested."""
        beginning = " ".join(text[:_BEGINNING].replace("*", "").split())
        start = 0
        for _ in range(_MOST_SENTENCES):
            if any(pattern.match(beginning, start) for pattern in self._compiled):
                return True
            sentence = _SENTENCE.match(beginning, start)
            if sentence is None or sentence.end() == start:
                return False
            start = sentence.end()
        return False
