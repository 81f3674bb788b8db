"""The price source ``genai-prices``: prices and windows of hosted models, of the package in ``pip install 'helmdeck[prices]'``.

The package contains its price table; nothing is downloaded. Importing it takes most of a second, so it is imported when
the first call is priced. Costs are computed in ``helmdeck_core.resolve.call_costs``.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import attrs

from helmdeck_core import ModelFigures, PriceSource, Usage, hookimpl

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo

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

VENDORS: Mapping[str, str] = {"mistralai": "mistral", "z-ai": "zai"}
"""Vendors of budget rows that are no providers, and the package's provider of the same models."""

ROUTER = "openrouter"
"""The package's provider that lists the models of every vendor, by ``vendor/model``."""


@hookimpl
def helmdeck_prices() -> Sequence[PriceSource]:
    """The package's price table, if the package is installed."""
    return (PriceSource(name="genai-prices", cost_usd=cost_usd, figures=figures),) if find_spec(PACKAGE) else ()


ROW_VENDORS = frozenset(
    {
        "amazon",
        "google",
        "meta-llama",
        "minimax",
        "mistralai",
        "moonshotai",
        "nvidia",
        "qwen",
        "tencent",
        "x-ai",
        "z-ai",
    }
)
"""Vendors in the prefixes of budget rows; as providers they would be servers of the deployment."""


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


def figures(model: str) -> ModelFigures | None:
    """Return prices and window of a model; of the most expensive one for a prefix that several models have."""
    provider, _, name = model.casefold().partition("/")
    wanted = [(PROVIDERS.get(provider, VENDORS.get(provider, provider)), name)]
    if provider in ROW_VENDORS:
        wanted.append((ROUTER, f"{provider}/{name}"))
    for provider_id, model_name in wanted:
        if provider_id in _provider_ids() and (found := _listed(provider_id, model_name)) is not None:
            return found
    return None


def _listed(provider_id: str, name: str) -> ModelFigures | None:
    from genai_prices.data_snapshot import get_snapshot

    snapshot = get_snapshot()
    try:
        _, model = snapshot.find_provider_model(name, None, provider_id, None)
        return _figures(model, f"{provider_id}/{model.id}")
    except LookupError:
        provider = snapshot.find_provider(None, provider_id, None)
    every = [_figures(each, f"{provider_id}/{each.id}") for each in provider.models if each.id.startswith(name)]
    priced = [each for each in every if each.input_cost_usd_per_mtok is not None]
    most = max(priced, key=lambda each: (each.input_cost_usd_per_mtok, each.listed_as), default=None)
    if most is None:
        return None
    listed_as = f"{most.listed_as}, the most expensive of {len(priced)}" if len(priced) > 1 else most.listed_as
    return attrs.evolve(most, listed_as=listed_as, input_tokens=None)


def _figures(model: ModelInfo, listed_as: str) -> ModelFigures:
    prices = model.get_prices(datetime.now(UTC))
    by_input, by_output = (_usd(getattr(prices, name, None)) for name in ("input_mtok", "output_mtok"))
    by_cached = _usd(getattr(prices, "cache_read_mtok", None))
    return ModelFigures(
        listed_as=listed_as,
        input_tokens=model.context_window,
        input_cost_usd_per_mtok=by_input,
        output_cost_usd_per_mtok=by_output,
        # Without a price of its own, cached input costs what other input costs.
        cached_input_cost_usd_per_mtok=by_input if by_cached is None else by_cached,
    )


def _usd(price: Any) -> float | None:
    """US dollars per million tokens; where the price depends on the size of the prompt, those of a small one."""
    return None if price is None else float(getattr(price, "base", price))
