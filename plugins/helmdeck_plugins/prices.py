"""Prices of hosted models from the package ``genai-prices``, where it is installed: ``pip install 'helmdeck[prices]'``.

The package is maintained elsewhere and brings its table with it; nothing is fetched. Importing it takes most of a second,
so it is imported when the first call is to be priced, and not before.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from helmdeck_core import PriceSource, Usage, hookimpl

PACKAGE = "genai_prices"

PROVIDERS: Mapping[str, str] = {
    "azure-responses": "azure",
    "bedrock": "aws",
    "gemini": "google",
    "moonshot": "moonshotai",
    "openai-responses": "openai",
    "vertex": "google",
    "xai": "x-ai",
    "xai-responses": "x-ai",
}
"""Our names of providers where the package has others."""


@hookimpl
def helmdeck_prices() -> Sequence[PriceSource]:
    """The package's table, if it is there."""
    return (PriceSource(name="genai-prices", cost_usd=cost_usd),) if find_spec(PACKAGE) else ()


@functools.cache
def _known() -> frozenset[str]:
    """The package's providers. It guesses one by its likeness as well, and a server of somebody's own has no such price."""
    from genai_prices.data_snapshot import get_snapshot

    return frozenset(provider.id for provider in get_snapshot().providers)


def cost_usd(model: str, usage: Usage) -> float | None:
    """US dollars of a call at the package's prices; ``None`` for a provider or a model that it does not know."""
    import genai_prices

    provider, _, name = model.partition("/")
    provider = PROVIDERS.get(provider, provider)
    if provider not in _known():
        return None
    tokens = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cached_input_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    try:
        found = genai_prices.calc_price(tokens, model_ref=name, provider_id=provider)
    except (LookupError, ValueError):  # nobody's model; or counts that contradict one another
        return None
    return float(found.total_price)
