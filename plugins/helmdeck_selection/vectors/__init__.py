"""The ranker ``vectors``: sentence vectors beside another ranker's scores; ``pip install 'helmdeck[vectors]'``.

The vectors are multilingual, so a request in one language finds entries that are described in another. They come from a
model in this process (``sources``), or from any server with ``/v1/embeddings`` (``endpoint``). Here: the options with their
defaults, and how the index is made of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from helmdeck_core import Catalog, RankContext, Ranker, RankIndex, hookimpl

if TYPE_CHECKING:
    from helmdeck_selection.vectors.sources import EmbeddingSource

OPTIONS: Mapping[str, str | bool | int | float] = {
    # Chosen on developer sets, see docs/benchmarks/selection.md.
    "weight": 0.5,
    # The weight where the catalog contains no word of the request.
    "foreign_weight": 1.5,
    # A server's model as provider/model; empty: the model of the extra, in this process.
    "embeddings": "",
    # Texts per request to a server, and its time limit in seconds: a ranking waits for it.
    "batch": 96,
    "timeout_s": 10.0,
    # Directory of the cached vectors; empty: the user's cache directory. "off" caches nothing.
    "cache": "",
}


@hookimpl
def helmdeck_rankers() -> Sequence[Ranker]:
    """The vector ranker, over the lexical one."""
    return (
        Ranker(
            name="vectors",
            index=make_index,
            summary="multilingual sentence vectors beside the lexical score; needs helmdeck[vectors]",
            order=10,
            options=dict(OPTIONS),
            over="lexical",
            is_blocking=True,
        ),
    )


def make_index(catalog: Catalog, *, context: RankContext, **options: Any) -> RankIndex:
    """Return the index of a catalog.

    :raises RuntimeError: the extra is not installed.
    :raises InvalidRequest: ``embeddings`` names no provider that can be used.
    """
    if find_spec("numpy") is None:
        from helmdeck_selection.vectors.sources import missing_extra

        raise missing_extra("numpy")
    from helmdeck_selection.vectors.index import VectorIndex
    from helmdeck_selection.vectors.store import VectorStore, cache_folder

    assert context.base is not None
    store = None if options["cache"] == "off" else VectorStore(cache_folder(str(options["cache"])))
    return VectorIndex(
        catalog,
        base=context.base,
        source=_source(context, options),
        store=store,
        weight=float(options["weight"]),
        foreign_weight=float(options["foreign_weight"]),
    )


def _source(context: RankContext, options: Mapping[str, Any]) -> EmbeddingSource:
    if not options["embeddings"]:
        from helmdeck_selection.vectors.sources import local_source

        return local_source()
    from helmdeck_selection.vectors.endpoint import EndpointSource

    return EndpointSource(
        str(options["embeddings"]),
        context.settings,
        batch=int(options["batch"]),
        timeout_s=float(options["timeout_s"]),
    )
