"""The models that a gateway offers."""

from __future__ import annotations

import asyncio

from helmdeck_core import Helmdeck, HelmdeckError
from helmdeck_gateway.calls.targets import Targets
from helmdeck_gateway.calls.work import PLAN_MODEL

LISTING_S = 5.0
"""Seconds that a provider gets to list its models."""


async def list_models(deck: Helmdeck, targets: Targets) -> list[tuple[str, str]]:
    """Return the models as names and owners: aliases, then what the configured providers list.

    A provider that cannot list its models in time is left out.
    """
    runtime = deck.runtime
    rows = {name: "helmdeck" for name in targets.aliases if name != "*"}
    rows[PLAN_MODEL] = "helmdeck"
    providers = dict.fromkeys((*runtime.config.providers, runtime.config.model.partition("/")[0]))
    lists = await asyncio.gather(*(_listed(deck, name) for name in providers))
    for provider, names in zip(providers, lists, strict=True):
        rows |= {f"{provider}/{name}": provider for name in names}
    rows.setdefault(runtime.config.model, runtime.config.model.partition("/")[0])
    return list(rows.items())


async def _listed(deck: Helmdeck, provider: str) -> list[str]:
    try:
        async with asyncio.timeout(LISTING_S):
            return [model.id for model in await deck.amodels(provider)]
    except (HelmdeckError, TimeoutError):
        return []
