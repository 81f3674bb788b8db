"""Lists the models of a provider, and suggests the nearest ones where a provider does not know the requested model."""

from __future__ import annotations

import asyncio

import attrs

from helmdeck_core.calls.provider_pool import ProviderPool
from helmdeck_core.domain.models import ModelId
from helmdeck_core.domain.providers import ListingProvider, ModelInfo
from helmdeck_core.errors import CallFailed, InvalidRequest
from helmdeck_core.redaction import quoted
from helmdeck_core.suggestions import similar

NOT_FOUND = "not_found"
"""The sub-cause of a model that its provider does not know."""

TIMEOUT_S = 3.0
"""Seconds that a listing may take; it is only a hint for a failure that is known already."""

_MAX_NAMES = 5
_MIN_SIMILARITY = 0.4
_MAX_CHARS = 240


async def list_models(pool: ProviderPool, provider: str) -> tuple[ModelInfo, ...]:
    """Return the models that a provider lists; empty where it cannot list them.

    :raises CallFailed: the subclass of the cause.
    """
    opened = pool.open_provider(provider)
    return tuple(await opened.models()) if isinstance(opened, ListingProvider) else ()


async def suggest_models(pool: ProviderPool, failure: CallFailed, model: str, left_s: float | None) -> CallFailed:
    """Return a failure about an unknown model with the nearest existing ones; any other failure as it is.

    :param model: the model that the request was sent to.
    :param left_s: seconds left of the call; ``None`` for no limit.
    """
    if failure.sub_cause != NOT_FOUND or not isinstance(failure, InvalidRequest):
        return failure
    name = model.partition("/")[2]
    try:
        async with asyncio.timeout(TIMEOUT_S if left_s is None else min(left_s, TIMEOUT_S)):
            known = [each.id for each in await list_models(pool, ModelId.provider_of(model))]
    except Exception:  # a failed listing must not replace the failure of the call
        return failure
    if not known or name in known:
        return failure
    nearest = similar(name, known, most=_MAX_NAMES, cutoff=_MIN_SIMILARITY) or known[:_MAX_NAMES]
    which = (
        f"of the {len(known)} models that it lists, the nearest" if len(known) > 1 else "the only model that it lists"
    )
    text = quoted(f"{which}: {', '.join(nearest)}", limit=_MAX_CHARS)
    detail = f"{failure.detail}; {text}" if failure.detail else text
    return pool.registry.redact(attrs.evolve(failure, detail=detail), model)
