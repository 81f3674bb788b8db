"""``local/lexical``: a planner without a model or a network."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import Provider, ProviderContext, ProviderSettings, ProviderSpec, hookimpl


def _open(settings: ProviderSettings, _context: ProviderContext) -> Provider:
    from helmdeck_planner.embedded.planner import LexicalPlanner

    return LexicalPlanner(settings.name)


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
