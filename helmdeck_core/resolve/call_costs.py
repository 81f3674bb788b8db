"""Computes the cost of calls and the savings by prompt caches, from budgets and price sources; ``None`` if a price is unknown.

Prices come from budget rows (``helmdeck_providers.budgets.rows``) and from price sources such as ``helmdeck_providers.price_lists``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs

from helmdeck_core.domain.chat import ChatRequest, TextPart
from helmdeck_core.domain.models import Budget
from helmdeck_core.domain.price_sources import PriceSource
from helmdeck_core.errors import Usage
from helmdeck_core.hooks import calls as hook_calls
from helmdeck_core.hooks.calls import Contribution

MTOK = 1e6
_NONE = Usage()

CHARS_PER_TOKEN_AT_MOST = 5
"""Upper bound: English prose, the densest text, has 4 to 4.8 characters per token in current vocabularies."""

MOST_UNKNOWN = 4_096
"""Cached models without a price; ids come from callers, so the cache is bounded."""


class Pricer:
    """Prices from budgets first, then from the sources that plugins contribute, in their order."""

    def __init__(self, sources: Iterable[Contribution[PriceSource]]) -> None:
        self._unknown: set[str] = set()
        self._sources = [
            hook_calls.attributed(contribution, _priced(contribution.value), tuple) for contribution in sources
        ]

    def cost_usd(self, budget: Budget, model: str, usage: Usage) -> float | None:
        """US dollars of one call.

        :param model: the model that was called.
        """
        if usage == _NONE:
            return None
        by_input, by_output = budget.input_cost_usd_per_mtok, budget.output_cost_usd_per_mtok
        if by_input is None or by_output is None:
            return self._from_sources(model, usage)
        by_cached = budget.cached_input_cost_usd_per_mtok
        cached = usage.cached_input_tokens if by_cached is not None else 0
        paid = (usage.input_tokens - cached) * by_input + usage.output_tokens * by_output
        return (paid + cached * (by_cached or 0.0)) / MTOK

    def saved_usd(self, budget: Budget, model: str, usage: Usage) -> float | None:
        """US dollars that the input from the cache would have cost more without one; ``None`` if the price is unknown."""
        if budget.input_cost_usd_per_mtok is not None and budget.cached_input_cost_usd_per_mtok is None:
            return None  # the configured price of input is valid, but that of cached input is unknown
        costs = [self.cost_usd(budget, model, each) for each in (usage, attrs.evolve(usage, cached_input_tokens=0))]
        with_cache, without = costs
        return None if with_cache is None or without is None else without - with_cache

    def least_usd(self, budget: Budget, model: str, request: ChatRequest) -> float | None:
        """The minimum cost of the input of a request; ``None`` if the price is unknown.

        Tokens are a low estimate, images count as 0, and the marked prefix counts as cached if the provider has a prompt cache.
        """
        cached, other = _chars(request)
        usage = Usage(
            input_tokens=(cached + other) // CHARS_PER_TOKEN_AT_MOST,
            cached_input_tokens=cached // CHARS_PER_TOKEN_AT_MOST if budget.supports_prefix_cache else 0,
        )
        return self.cost_usd(budget, model, usage) if usage.input_tokens else 0.0

    def is_free(self, budget: Budget, model: str) -> bool:
        """Whether a model is known to be free."""
        return self.cost_usd(budget, model, Usage(input_tokens=1_000_000, output_tokens=1_000_000)) == 0.0

    def _from_sources(self, model: str, usage: Usage) -> float | None:
        """The cost by the first source that knows the model; a model without a price is not looked up again."""
        if model in self._unknown:
            return None
        found = next((cost for source in self._sources for cost in source(model, usage)), None)
        if found is None and len(self._unknown) < MOST_UNKNOWN:
            self._unknown.add(model)
        return found


def _chars(request: ChatRequest) -> tuple[int, int]:
    """Characters of the marked prefix, and of the rest."""
    parts = [part for message in request.messages for part in message.parts]
    sizes = [len(part.text) if isinstance(part, TextPart) else 0 for part in parts]
    ends = [number for number, part in enumerate(parts, 1) if part.ends_prefix]
    cached = sum(sizes[: ends[-1]]) if ends else 0
    calls = sum(len(call.arguments) for message in request.messages for call in message.tool_calls)
    tools = sum(len(tool.description) + len(str(tool.input_schema)) for tool in request.tools)
    return cached, sum(sizes) - cached + calls + tools


def _priced(source: PriceSource) -> Callable[[str, Usage], tuple[float, ...]]:
    """A source with a checked result: one cost or none."""

    def priced(model: str, usage: Usage) -> tuple[float, ...]:
        cost = source.cost_usd(model, usage)
        if cost is None:
            return ()
        if not isinstance(cost, (int, float)) or not cost >= 0:
            raise TypeError(f"a cost is a number of at least 0, found {cost!r:.40}")
        return (float(cost),)

    return priced
