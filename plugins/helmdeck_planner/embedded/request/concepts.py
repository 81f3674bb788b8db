"""What everyday words of requests are in catalogs: "popup" for "dialog". ``concepts.toml`` holds the words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Final

from helmdeck_language import WordFile, stem

_NONE: Final[frozenset[str]] = frozenset()


@cache
def _concepts() -> Mapping[str, frozenset[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for catalog, words in WordFile.beside(__file__, "concepts.toml").rows("concepts").items():
        for word in words.split():
            found[stem(word)].update(stem(other) for other in catalog.split())
    return {word: frozenset(others) for word, others in found.items()}


def concepts(term: str) -> frozenset[str]:
    """Return the stems of catalogs that the stem of a request may stand for."""
    return _concepts().get(term, _NONE)
