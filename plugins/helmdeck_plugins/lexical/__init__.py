"""The lexical ranker and ``local/lexical``, a planner without a model or a network."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import (
    Catalog,
    Provider,
    ProviderContext,
    ProviderSettings,
    ProviderSpec,
    Ranker,
    RankIndex,
    hookimpl,
)
from helmdeck_plugins.lexical.weights import LEXICAL_WEIGHTS


def _index(catalog: Catalog, *, cache: bool = True, **weights: float) -> RankIndex:
    from helmdeck_plugins.lexical.catalog_index import CatalogIndex

    return CatalogIndex(catalog, cache=cache, **weights)


def _open(settings: ProviderSettings, _context: ProviderContext) -> Provider:
    from helmdeck_plugins.lexical.planner import LexicalPlanner

    return LexicalPlanner(settings.name)


@hookimpl
def helmdeck_rankers() -> Sequence[Ranker]:
    """The lexical ranker."""
    return (
        Ranker(
            name="lexical",
            index=_index,
            summary="BM25 on full metadata, clause by clause",
            options={**LEXICAL_WEIGHTS, "cache": True},
        ),
    )


@hookimpl
def helmdeck_providers() -> Sequence[ProviderSpec]:
    """The provider of ``local/lexical``."""
    return (
        ProviderSpec(
            name="local",
            open=_open,
            summary="local/lexical: plans and routes without a model",
            tasks=("plan", "route"),
        ),
    )
