"""Makes the index of the vector ranker from its options."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from helmdeck_core import Catalog, RankContext, RankIndex
from helmdeck_selection.vectors.sources import EmbeddingSource, local_source, missing_extra


def make_index(catalog: Catalog, context: RankContext, options: Mapping[str, Any]) -> RankIndex:
    """Return the index of a catalog.

    :raises RuntimeError: the extra is not installed.
    :raises InvalidRequest: ``embeddings`` names no provider that can be used.
    """
    if find_spec("numpy") is None:
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
        return local_source()
    from helmdeck_selection.vectors.endpoint import EndpointSource

    return EndpointSource(
        str(options["embeddings"]),
        context.settings,
        batch=int(options["batch"]),
        timeout_s=float(options["timeout_s"]),
    )
