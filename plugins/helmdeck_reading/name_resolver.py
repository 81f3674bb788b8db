"""Resolves a name that a model wrote to one of the known names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

PREFIXES = ("helmdeck", "functions", "tools", "tool", "pack", "packs", "pipeline", "pipelines", "mcp")
"""Prefixes that models add to names."""

MOST_SUGGESTIONS = 3
LONGEST_NAME = 200
"""Maximum characters of a name that are compared: comparison is quadratic in the length."""


class NameResolver:
    """Matches names exactly, else without case, separators and prefix if the match is unique.

    >>> from helmdeck_reading import NameResolver
    >>> resolver = NameResolver(["blog.draft", "blog.publish"])
    >>> resolver.find("Blog_Draft")
    'blog.draft'
    >>> resolver.find("blog") is None
    True
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)
        self._by_key: dict[str, list[str]] = {}
        self._by_squashed = {self.squash(name): name for name in sorted(self._names)}
        for name in sorted(self._names):
            for key in {self.squash(name), self.without_prefix(name)} - {""}:
                self._by_key.setdefault(key, []).append(name)

    @staticmethod
    def squash(name: str) -> str:
        """The name in lower case, without separators."""
        return re.sub(r"[\W_]+", "", name.casefold())

    @staticmethod
    def without_prefix(name: str) -> str:
        """The squashed name without its prefix; empty if it has none."""
        head, _, tail = re.sub(r"[\s./:_-]+", ".", name.casefold()).partition(".")
        return NameResolver.squash(tail) if tail and head in PREFIXES else ""

    def find(self, name: str) -> str | None:
        """Return the matching name, or ``None`` if there is none or several."""
        for exact in (name, name.strip()):
            if exact in self._names:
                return exact
        for key in (self.squash(name), self.without_prefix(name)):
            matches = self._by_key.get(key, ()) if key else ()
            if len(matches) == 1:
                return matches[0]
        return None

    def nearest(self, name: str) -> tuple[str, ...]:
        """Similar known names, best first."""
        squashed = self.squash(name[:LONGEST_NAME])
        matches = difflib.get_close_matches(squashed, list(self._by_squashed), n=MOST_SUGGESTIONS)
        return tuple(self._by_squashed[each] for each in matches)
