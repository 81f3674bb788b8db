"""Detects refusals in prose, by the patterns of plugins; the built-in ones are data in ``helmdeck_reading.refusals``.

A refusal is a sentence near the start that declines the request.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from helmdeck_core import RefusalPattern

_MAX_CHARS = 400  # characters that are searched

_SENTENCE = re.compile(r"[^.!?。\n]*+[.!?。\n]*+\s*+")

_MAX_SENTENCES = 3
"""Later sentences of a longer text do not refuse the request."""


class RefusalMatcher:
    """Matches the contributed patterns against the first sentences of a text."""

    def __init__(self, patterns: Sequence[RefusalPattern]) -> None:
        self._patterns = tuple(patterns)

    @cached_property
    def _compiled(self) -> tuple[re.Pattern[str], ...]:
        """Compiled lazily, at the first prose response: compiling would slow down start-up."""
        return tuple(re.compile(each.pattern, re.IGNORECASE) for each in self._patterns)

    def matches(self, text: str) -> bool:
        """Whether the text refuses the request."""
        head = " ".join(text[:_MAX_CHARS].replace("*", "").split())
        start = 0
        for _ in range(_MAX_SENTENCES):
            if any(pattern.match(head, start) for pattern in self._compiled):
                return True
            sentence = _SENTENCE.match(head, start)
            if sentence is None or sentence.end() == start:
                return False
            start = sentence.end()
        return False
