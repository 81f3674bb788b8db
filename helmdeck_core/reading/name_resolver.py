"""Finds which of several known names is meant by one that a model wrote."""

from __future__ import annotations

import re
from collections.abc import Iterable

from helmdeck_core.domain.suggestions import similar

PREFIXES = ("helmdeck", "functions", "tools", "tool", "pack", "packs", "pipeline", "pipelines", "mcp")
"""Words that models put before a name."""

MOST_SUGGESTIONS = 3
LONGEST_NAME = 200
"""Characters of a name that are compared; what is longer is no name, and likeness costs the square of the length."""


class NameResolver:
    """Finds the name that is meant: letter for letter, else by case, separators and prefix, if only one is meant."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)
        self._squashed: dict[str, list[str]] = {}
        self._spelt = {self.squash(name): name for name in sorted(self._names)}
        for name in sorted(self._names):
            for key in {self.squash(name), self.without_prefix(name)} - {""}:
                self._squashed.setdefault(key, []).append(name)

    @staticmethod
    def squash(name: str) -> str:
        """A name without letter case and separators."""
        return re.sub(r"[\W_]+", "", name.casefold())

    @staticmethod
    def without_prefix(name: str) -> str:
        """A name, squashed, without the one word before it that models add; empty when it has none."""
        head, _, tail = re.sub(r"[\s./:_-]+", ".", name.casefold()).partition(".")
        return NameResolver.squash(tail) if tail and head in PREFIXES else ""

    def find(self, name: str) -> str | None:
        """Return the one name that is meant, or ``None``."""
        for exact in (name, name.strip()):
            if exact in self._names:
                return exact
        for key in (self.squash(name), self.without_prefix(name)):
            found = self._squashed.get(key, ()) if key else ()
            if len(found) == 1:
                return found[0]
        return None

    def nearest(self, name: str) -> tuple[str, ...]:
        """Names that exist and look alike, best first."""
        wanted = self.squash(name[:LONGEST_NAME])
        return tuple(self._spelt[each] for each in similar(wanted, self._spelt, most=MOST_SUGGESTIONS))
