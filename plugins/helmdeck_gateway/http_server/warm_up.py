"""Loads what the first call needs, which would delay it and all requests under way; nothing is sent or reported.

Whatever fails is reported by the first call.
"""

from __future__ import annotations

import contextlib

from helmdeck_core import Budget, Helmdeck, Tier, TransportSettings, schema_mistake


async def open_transports(deck: Helmdeck) -> None:
    """Open and close the transports of the providers, which imports their libraries."""
    runtime = deck.runtime
    providers = (*runtime.config.providers, runtime.config.model.partition("/")[0])
    for name in {runtime.transports.name_of(each): each for each in providers}.values():
        with contextlib.suppress(Exception):
            await runtime.transports.open(name, TransportSettings(base_url="http://localhost")).aclose()


def warm_up(deck: Helmdeck) -> None:
    """Look a price up, read an answer, and check a schema, which imports modules and compiles patterns. Thread-safe."""
    runtime = deck.runtime
    model = runtime.config.model
    with contextlib.suppress(Exception):
        runtime.pricer.is_free(Budget(model=model, tier=Tier.C), model)
    with contextlib.suppress(Exception):
        runtime.decoder.has_reasoning("<think>a</think>b")
    with contextlib.suppress(Exception):
        schema_mistake({"type": "object"})
