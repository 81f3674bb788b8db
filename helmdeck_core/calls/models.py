"""Which models there are, and the nearest of them where a provider does not know the one that it was asked for."""

from __future__ import annotations

import asyncio
import difflib

import attrs

from helmdeck_core.calls.provider_pool import ProviderPool
from helmdeck_core.domain.chat import ListingProvider, ModelInfo
from helmdeck_core.errors import CallFailed, InvalidRequest
from helmdeck_core.redaction import quoted

NOT_FOUND = "not_found"
"""The finer cause of a model that its provider does not know."""

LONGEST_S = 3.0
"""Seconds that a list may take; it is a help, and the failure is known already."""

_MOST_NAMES = 5
_LIKENESS = 0.4
_MOST_CHARS = 240


async def models_of(gateway: ProviderPool, provider: str) -> tuple[ModelInfo, ...]:
    """The models that a provider lists; none where it cannot.

    :raises CallFailed: the subclass of the cause.
    """
    opened = gateway.open_provider(provider)
    return tuple(await opened.models()) if isinstance(opened, ListingProvider) else ()


async def with_names(gateway: ProviderPool, failure: CallFailed, model: str, left_s: float | None) -> CallFailed:
    """A failure that names what exists, if it is about a model that does not.

    :param model: the model that was asked.
    :param left_s: seconds that the call has left; ``None`` for no limit.
    """
    if failure.sub_cause != NOT_FOUND or not isinstance(failure, InvalidRequest):
        return failure
    provider, _, name = model.partition("/")
    try:
        async with asyncio.timeout(LONGEST_S if left_s is None else min(left_s, LONGEST_S)):
            known = [each.id for each in await models_of(gateway, provider.strip())]
    except Exception:  # whatever is wrong with the list, the failure is another one
        return failure
    if not known or name in known:
        return failure
    nearest = difflib.get_close_matches(name, known, n=_MOST_NAMES, cutoff=_LIKENESS) or known[:_MOST_NAMES]
    listed = f"of the {len(known)} models that it lists, the nearest: {', '.join(nearest)}"
    said = quoted(listed, limit=_MOST_CHARS)
    return gateway.hushed(attrs.evolve(failure, detail=f"{failure.detail}; {said}" if failure.detail else said), model)
