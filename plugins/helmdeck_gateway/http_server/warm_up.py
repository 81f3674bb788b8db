"""Loads what the first call needs before a gateway accepts requests, since it would delay all requests under way."""

from __future__ import annotations

import contextlib

from helmdeck_core import Budget, Helmdeck, Tier, TransportSettings, schema_mistake


async def warm_up(deck: Helmdeck) -> None:
    """Open and close the transports of the providers, look a price up, read an answer, and check a schema; nothing is sent or reported.

    This imports modules and compiles patterns. Whatever fails is reported by the first call.
    """
    runtime = deck.runtime
    model = runtime.config.model
    providers = (*runtime.config.providers, model.partition("/")[0])
    for name in {runtime.transports.name_of(each): each for each in providers}.values():
        with contextlib.suppress(Exception):
            await runtime.transports.open(name, TransportSettings(base_url="http://localhost")).aclose()
    with contextlib.suppress(Exception):
        runtime.pricer.is_free(Budget(model=model, tier=Tier.C), model)
    with contextlib.suppress(Exception):
        runtime.decoder.has_reasoning("<think>a</think>b")
    with contextlib.suppress(Exception):
        schema_mistake({"type": "object"})
