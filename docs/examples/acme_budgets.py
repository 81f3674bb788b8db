"""Budgets: a row for one model, and an output limit for all models."""

import attrs

from helmdeck_core import Budget, BudgetRow, Tier, hookimpl

MAX_OUTPUT_TOKENS = 2_000


@hookimpl
def helmdeck_budget_rows():
    """Contribute a row for all model ids with the prefix; the longest prefix wins."""
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
    """Limit the output of every model to 2,000 tokens, whichever plugin supplied the budget."""
    budget = yield
    return budget and attrs.evolve(budget, output_tokens=min(budget.output_tokens, MAX_OUTPUT_TOKENS))
