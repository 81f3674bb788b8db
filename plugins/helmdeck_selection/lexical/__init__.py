"""The default ranker: BM25 on the full metadata of a catalog, clause by clause.

``index`` has what is computed once per catalog (fields of entries, postings, the file on disk), ``scores`` what is computed
per request (``word_scores``, then what values stand for, what is close in meaning, opposites, entries of the same server and look-ups of ids), ``weights`` the
numbers that a deployment can set. ``ranker`` puts them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from helmdeck_core import Catalog, Ranker, RankIndex, hookimpl
from helmdeck_selection.lexical.weights import LEXICAL_WEIGHTS, MEANING

# Decks of one catalog share its index, as those before and after a reload do: the first request takes 5 ms less of 20. The index of a
# larger catalog has tens of megabytes, which must not outlive its deck.
_SHARED: Final = 4
_MAX_SHARED_ENTRIES: Final = 500


def _index(
    catalog: Catalog, *, cache: bool = True, words: str = "", meaning: float = MEANING, **weights: float
) -> RankIndex:
    options = {"cache": cache, "words": words, "meaning": meaning, **weights}
    # Files with word lists may change.
    is_shared = not words and len(catalog) <= _MAX_SHARED_ENTRIES
    return (_shared if is_shared else _made)(catalog, tuple(options.items()))


def _made(catalog: Catalog, options: tuple[tuple[str, Any], ...]) -> RankIndex:
    from helmdeck_selection.lexical.ranker import CatalogIndex

    return CatalogIndex(catalog, **dict(options))


_shared = lru_cache(_SHARED)(_made)


@hookimpl
def helmdeck_rankers() -> Sequence[Ranker]:
    """The lexical ranker."""
    return (
        Ranker(
            name="lexical",
            index=_index,
            summary="BM25 on full metadata and similarity of meaning, clause by clause",
            options={**LEXICAL_WEIGHTS, "meaning": MEANING, "cache": True, "words": ""},
        ),
    )
