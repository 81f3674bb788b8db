"""The budgets of models, and what is known of their cost."""

from __future__ import annotations

from helmdeck_core import MAX_MODEL_CHARS, BudgetLookup, Helmdeck, HelmdeckError
from helmdeck_telemetry import ModelFigures


def budget_of(deck: Helmdeck, model: str) -> BudgetLookup | None:
    """Return the budget of a model; ``None`` if the name is not a model id, as names of callers may be."""
    if "/" not in model or len(model) > MAX_MODEL_CHARS:
        return None
    try:
        return deck.budget(model)
    except HelmdeckError:
        return None


def cost_of(figures: ModelFigures, lookup: BudgetLookup | None) -> float | None:
    """Return the cost of a model in US dollars; ``None`` without a known price."""
    is_priced = lookup is not None and lookup.budget.input_cost_usd_per_mtok is not None
    return figures.cost_nusd / 1e9 if is_priced or figures.cost_nusd else None
