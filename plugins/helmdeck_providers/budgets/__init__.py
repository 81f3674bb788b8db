"""Finds the built-in budget of a model: the row with the longest prefix of its id, else of its other names, else the weakest tier.

The rows are data in ``rows``; defaults of the tiers are here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import attrs

from helmdeck_core import Budget, BudgetRow, BudgetTable, Tier, TierDefaults, hookimpl
from helmdeck_providers.budgets.names import names_of
from helmdeck_providers.budgets.rows import FREE_OF_CHARGE, INPUT_USD, OWN_SERVERS, PROVIDERS, ROWS, Row

FLAGS: Mapping[str, str] = {
    "hybrid": "is_hybrid_reasoning",
    "strict": "wants_strict_json",
    "cache": "supports_prefix_cache",
    "filter": "allows_llm_filter",
}

REASONING_HEADROOM = 4_000
"""Tokens for the reasoning before an answer: one model emitted 71 visible characters out of 423 tokens, and a limit for
the answer alone truncates such models inside their reasoning."""

FREE = ":free"

# Parts of the names of reasoning models; whole words, so that `gpt-4o3x` does not match.
THINKING = re.compile(
    r"(?:^|[/\-_.:])(?:o1|o3|o4|thinking|reasoner|r1|kimi-k2|deepseek-v4|qwq|magistral|gpt-oss|nemotron-3)(?:$|[/\-_.:])"
)

# Models whose chat templates end in an opening tag, on servers that separate reasoning only if configured to.
OPENS_REASONING = re.compile(
    r"(?:llamacpp|lmstudio|vllm|sglang)/(?:.*[/\-_.:])?(?:deepseek-r1|qwq|qwen3(?=[\w.:-]*thinking))(?:$|[/\-_.:])"
)


TIERS = (
    # Reliable on catalogs above 50 KB.
    TierDefaults(tier=Tier.A, prompt_variant="full_steps"),
    # Reliable to about 25 KB.
    TierDefaults(tier=Tier.B, max_catalog_bytes=22_000, prompt_variant="full_steps", max_entries=25),
    # Returns empty responses for 35 KB, works best with few entries, and stops early in JSON mode.
    TierDefaults(
        tier=Tier.C,
        max_catalog_bytes=10_000,
        prompt_variant="single_pick",
        max_entries=12,
        has_prefix_index=False,
        allows_json_mode=False,
        continues_typed=False,
    ),
)


FIRST_TOKEN_S, REASONING_FIRST_TOKEN_S = 12.0, 60.0
"""A silent model and its silent continuation leave time for a fallback within half a minute. Some models stream nothing while
they reason, for up to a minute."""


@hookimpl
def helmdeck_tier_defaults() -> Sequence[TierDefaults]:
    """Measured defaults of each tier."""
    return [
        attrs.evolve(each, first_token_timeout_s=FIRST_TOKEN_S, reasoning_first_token_timeout_s=REASONING_FIRST_TOKEN_S)
        for each in TIERS
    ]


@hookimpl
def helmdeck_budget_rows() -> Sequence[BudgetRow]:
    """The rows of the table."""
    return _rows()


@cache
def _rows() -> tuple[BudgetRow, ...]:
    return tuple(
        BudgetRow(
            prefix=row.prefix,
            budget=_budget(row),
            providers=PROVIDERS.get(row.prefix.partition("/")[0], ()),
            order=number,
        )
        for number, row in enumerate(ROWS)
    )


def _budget(row: Row) -> Budget:
    flags: dict[str, Any] = dict.fromkeys((FLAGS[word] for word in row.flags.split()), True)
    budget = Budget(
        model=row.prefix,
        tier=Tier(row.tier),
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        max_catalog_bytes=row.cap,
        input_cost_usd_per_mtok=0.0 if row.prefix in FREE_OF_CHARGE else INPUT_USD.get(row.prefix),
        output_cost_usd_per_mtok=0.0 if row.prefix in FREE_OF_CHARGE else None,
        cached_input_cost_usd_per_mtok=row.cached_usd,
        evidence=row.evidence,
    )
    budget = attrs.evolve(budget, **flags)
    return attrs.evolve(budget, reasoning_headroom_tokens=REASONING_HEADROOM) if budget.is_hybrid_reasoning else budget


@hookimpl
def helmdeck_model_budget(model_id: str, table: BudgetTable) -> Budget | None:
    """Return the budget of the matching row, ignoring surrounding whitespace and case.

    The row of the id itself comes first, then those of its other names (see ``names_of``). Free routes are tier C.
    """
    name = model_id.strip().casefold()
    own, *others = (_best_row(names, table) for names in names_of(name))
    routed = next((row for row in others if row is not None and not row.prefix.startswith(FREE_OF_CHARGE)), None)
    row = own or routed or table.find("")
    if row is None:
        return None
    budget = _as_routed(row.budget, name, table) if row is routed and row is not own else row.budget
    if name.endswith(FREE) and budget.tier is not Tier.C:
        budget = _as_free(budget, table)
    if THINKING.search(name) and not budget.is_hybrid_reasoning and row.prefix != "scripted/":
        budget = attrs.evolve(budget, is_hybrid_reasoning=True, reasoning_headroom_tokens=REASONING_HEADROOM)
    return attrs.evolve(budget, starts_in_reasoning=True) if OPENS_REASONING.match(name) else budget


def _best_row(names: Sequence[str], table: BudgetTable) -> BudgetRow | None:
    """The row with the longest prefix among those of the spellings of one name; ``None`` if there is only the fallback."""
    rows = [row for name in names if (row := table.find(name)) is not None and row.prefix]
    return max(rows, key=lambda row: len(row.prefix), default=None)


def _as_routed(budget: Budget, name: str, table: BudgetTable) -> Budget:
    """The budget of a model behind a route, whose prices are its own, as is the window of a server."""
    budget = attrs.evolve(
        budget, input_cost_usd_per_mtok=None, output_cost_usd_per_mtok=None, cached_input_cost_usd_per_mtok=None
    )
    if name.partition("/")[0] in OWN_SERVERS:
        return attrs.evolve(budget, input_tokens=min(budget.input_tokens, _floor(table).input_tokens))
    return budget


def _floor(table: BudgetTable) -> Budget:
    """The budget of the fallback row."""
    weakest = table.find("")
    return weakest.budget if weakest is not None else Budget(model="")


def _as_free(budget: Budget, table: BudgetTable) -> Budget:
    """Return the budget of the weakest tier for a free route, which runs quantised models under heavy load."""
    floor = _floor(table)
    return attrs.evolve(
        floor,
        model=budget.model,
        input_tokens=min(budget.input_tokens, floor.input_tokens),
        is_hybrid_reasoning=budget.is_hybrid_reasoning,
        reasoning_headroom_tokens=budget.reasoning_headroom_tokens,
        evidence=f"free routes are never above tier C; model family: {budget.evidence}",
    )
