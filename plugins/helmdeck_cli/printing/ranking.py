"""The rows of a ranking, for ``helmdeck explain`` and ``helmdeck catalog rank``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from helmdeck_core import Ranking, Score

MAX_MATCHES = 3
"""Matched terms that are shown of an entry."""


def ranking_rows(
    ranking: Ranking, top: int, fact: Callable[[Score], str], matches: int | None = MAX_MATCHES
) -> Sequence[tuple[str, ...]]:
    """The ``top`` best entries as rows of a table: place, id, score, a fact, matched terms.

    :param fact: returns the text of the fourth column.
    :param matches: number of matched terms per entry; ``None`` is all.
    """
    rows = []
    for place, score in enumerate(ranking.scores[: top if top > 0 else None], 1):
        shown = score.matched[:matches]
        more = len(score.matched) - len(shown)
        matched = ", ".join(shown) + (f" (+{more})" if more else "")
        rows.append((str(place), score.id, f"{score.score:.3f}", fact(score), matched))
    return rows


def rest_text(ranking: Ranking, shown: int) -> str:
    """How many entries are not shown; empty if all are."""
    rest = len(ranking.scores) - shown
    return f"{rest} more; --top 0 shows all" if rest > 0 else ""
