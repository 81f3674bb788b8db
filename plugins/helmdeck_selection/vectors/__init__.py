"""The ranker ``vectors``: sentence vectors beside another ranker's scores; ``pip install 'helmdeck[vectors]'``.

The vectors are multilingual, so a request in one language finds entries that are described in another. They come from a
model in this process, or from any server with ``/v1/embeddings``.
"""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import Catalog, RankContext, Ranker, RankIndex, hookimpl
from helmdeck_selection.vectors.weights import OPTIONS


def _index(catalog: Catalog, *, context: RankContext, **options: str | float | bool) -> RankIndex:
    from helmdeck_selection.vectors.setup import make_index

    return make_index(catalog, context, options)


@hookimpl
def helmdeck_rankers() -> Sequence[Ranker]:
    """The vector ranker, over the lexical one."""
    return (
        Ranker(
            name="vectors",
            index=_index,
            summary="multilingual sentence vectors beside the lexical score; needs helmdeck[vectors]",
            order=10,
            options=dict(OPTIONS),
            over="lexical",
            is_blocking=True,
        ),
    )
