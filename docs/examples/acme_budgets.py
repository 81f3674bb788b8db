"""Budgets: a row for a model that we measured, and a house rule for all models."""

import attrs

from helmdeck_core import Budget, BudgetRow, Tier, hookimpl

MOST_OUTPUT = 2_000


@hookimpl
def helmdeck_budget_rows():
    """Every model id that starts with the prefix; the longest prefix wins."""
    measured = Budget(
        model="",
        tier=Tier.B,
        input_tokens=32_000,
        output_tokens=1_200,
        max_catalog_bytes=18_000,
        evidence="18 of 20 plans were clean at 18 KB, 12 of 20 at 25 KB; measured by us",
    )
    return [BudgetRow(prefix="acme/small-", budget=measured)]


@hookimpl(wrapper=True)
def helmdeck_model_budget():
    """Nobody in this house writes more than 2,000 tokens, whoever answered."""
    budget = yield
    return budget and attrs.evolve(budget, output_tokens=min(budget.output_tokens, MOST_OUTPUT))
