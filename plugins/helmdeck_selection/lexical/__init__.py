"""The default ranker: BM25 on the full metadata of a catalog, clause by clause.

``index`` has what is computed once per catalog (fields of entries, postings, the file on disk), ``scores`` what is computed
per request (``word_scores``, then what values stand for, what is close in meaning, opposites, entries of the same server and look-ups of ids), ``weights`` the
numbers that a deployment can set. ``ranker`` puts them together.
"""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import Catalog, Ranker, RankIndex, hookimpl
from helmdeck_selection.lexical.weights import LEXICAL_WEIGHTS, MEANING


def _index(
    catalog: Catalog, *, cache: bool = True, words: str = "", meaning: float = MEANING, **weights: float
) -> RankIndex:
    from helmdeck_selection.lexical.ranker import CatalogIndex

    return CatalogIndex(catalog, cache=cache, words=words, meaning=meaning, **weights)


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
