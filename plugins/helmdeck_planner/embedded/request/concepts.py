"""What everyday words of requests are in catalogs: "popup" for "dialog". ``concepts.toml`` holds the words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Final

from helmdeck_language import Lexicon, WordFile, stem

_SYNONYM: Final = 0.7
_CONCEPT: Final = 0.6
_MIN_COMPOUND: Final = 5
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


def strength(stems: frozenset[str], known: frozenset[str], lexicon: Lexicon) -> float:
    """Return how well a word is among known stems."""
    if stems & known:
        return 1.0
    if any(lexicon.synonyms(term) & known for term in stems):
        return _SYNONYM
    if any(concepts(term) & known for term in stems):
        return _CONCEPT
    is_compound = any(len(term) >= _MIN_COMPOUND and other.endswith(term) for term in stems for other in known)
    return _CONCEPT if is_compound else 0.0
