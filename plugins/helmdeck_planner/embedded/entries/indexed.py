"""The words and the profiles of a catalog: what the planner needs of it before it reads a request."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from helmdeck_core import Catalog
from helmdeck_planner.embedded.entries.profiles import Profiles
from helmdeck_selection import LexicalIndex

# Decks of one catalog share what is computed of it: the first plan takes half the time. What is kept of a larger catalog has tens of
# megabytes, which must not outlive its deck.
_SHARED: Final = 4
_MAX_SHARED_ENTRIES: Final = 500


def index_of(catalog: Catalog, words: str = "") -> tuple[LexicalIndex, Profiles]:
    """Return the index and the profiles of a catalog; thread-safe.

    :param words: a file or folder of word lists beside those of the package, which may change.
    """
    return _made(catalog, words) if words or len(catalog) > _MAX_SHARED_ENTRIES else _shared(catalog)


def _made(catalog: Catalog, words: str = "") -> tuple[LexicalIndex, Profiles]:
    lexical = LexicalIndex(catalog, words=words)
    return lexical, Profiles(catalog.entries, lexical.lexicon)


_shared = lru_cache(_SHARED)(_made)
