"""Prices of hosted models from the package ``genai-prices``, if it is installed: ``pip install 'helmdeck[prices]'``.

The package contains its price table; nothing is downloaded. Importing it takes most of a second, so it is imported when
the first call is priced.
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
"""Helmdeck's provider names to those of the package, where they differ."""


@hookimpl
def helmdeck_prices() -> Sequence[PriceSource]:
    """The package's price table, if the package is installed."""
    return (PriceSource(name="genai-prices", cost_usd=cost_usd),) if find_spec(PACKAGE) else ()


@functools.cache
def _provider_ids() -> frozenset[str]:
    """Return the package's provider ids. Its fuzzy matching would assign prices to self-hosted servers."""
    from genai_prices.data_snapshot import get_snapshot

    return frozenset(provider.id for provider in get_snapshot().providers)


def cost_usd(model: str, usage: Usage) -> float | None:
    """Return the cost of a call in US dollars; ``None`` for an unknown provider or model."""
    import genai_prices

    provider, _, name = model.partition("/")
    provider = PROVIDERS.get(provider, provider)
    if provider not in _provider_ids():
        return None
    tokens = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cached_input_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    try:
        price = genai_prices.calc_price(tokens, model_ref=name, provider_id=provider)
    except (LookupError, ValueError):  # an unknown model, or contradictory token counts
        return None
    return float(price.total_price)
