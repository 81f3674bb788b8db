"""The built-in budget table and its lookup: exact id, then longest prefix, then the fallback of the weakest tier.

Figures are from field reports of 2026 and from public boards as they stood in June 2026: BFCL (function calling) and
Aider polyglot (edit-format adherence). Prices are US dollars per million cached input tokens of the same month. A tier
rates how reliably a model follows a structure under load; a deployment with other measurements overrides the row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import attrs

from helmdeck_core import Budget, BudgetRow, BudgetTable, Tier, TierDefaults, hookimpl


class Row(NamedTuple):
    """One row of the table; flags are keys of ``FLAGS``, sizes are tokens and bytes."""

    prefix: str
    tier: str
    input_tokens: int
    output_tokens: int
    cap: int | None
    flags: str
    cached_usd: float | None
    evidence: str


FLAGS: Mapping[str, str] = {
    "hybrid": "is_hybrid_reasoning",
    "strict": "wants_strict_json",
    "cache": "supports_prefix_cache",
    "filter": "allows_llm_filter",
}

REASONING_HEADROOM = 4_000
"""Tokens for the reasoning before an answer: one model emitted 71 visible characters out of 423 tokens, and a limit for
the answer alone truncates such models inside their reasoning."""

ROWS = (
    Row("local/lexical", "A", 1_000_000, 4_000, None, "", None, "the embedded planner: no model, no network, reads any catalog"),
    Row("scripted/", "A", 1_000_000, 4_000, None, "", None, "scripted replies for tests"),
    Row("anthropic/claude-opus-", "A", 200_000, 8_000, None, "strict cache", 7.5, "flagship; holds structured output under load"),
    Row("anthropic/claude-sonnet-", "A", 200_000, 8_000, None, "strict cache", 1.5, "main working class; holds structured output under load"),
    Row("anthropic/claude-3.7-sonnet", "A", 200_000, 8_000, None, "hybrid strict cache", 1.5, "BFCL 73.24 %, Aider polyglot 84.2 %; its thinking mode emits reasoning blocks"),
    Row("anthropic/claude-haiku-", "A", 200_000, 4_000, None, "strict cache", 0.3, "fastest of its family; fit for the filter pass"),
    Row("openai/gpt-4o", "A", 100_000, 4_000, None, "strict cache", 1.25, "BFCL 83.88 %; answers with HTTP errors where others drop silently"),
    Row("openai/gpt-5", "A", 1_050_000, 4_000, None, "strict cache", 0.46, "BFCL 72.92 %, Aider 88.0 %, 91.6 % diff-format adherence"),
    Row("openai/o3-mini", "A", 200_000, 4_400, None, "hybrid strict cache", 0.55, "BFCL 84.00 %; reasoning model"),
    Row("google/gemini-2.5-pro", "A", 1_050_000, 4_000, None, "strict cache", 0.125, "BFCL 85.04 %, Aider 99.6 % edit format"),
    Row("google/gemini-2.5-flash", "A", 1_050_000, 2_500, None, "strict cache", 0.075, "BFCL 75.58 %; silent safety drops seen on prompts about running code"),
    Row("openrouter/anthropic/claude-", "A", 200_000, 8_000, None, "strict cache", 1.5, "relay of the family"),
    Row("openrouter/openai/gpt-4o", "A", 100_000, 4_000, None, "strict cache", 1.25, "relay of openai/gpt-4o"),
    Row("openrouter/openai/gpt-5", "A", 1_050_000, 4_000, None, "strict cache", 0.46, "relay of openai/gpt-5"),
    Row("openrouter/openai/o3-mini", "A", 200_000, 4_400, None, "hybrid strict cache", 0.55, "relay of openai/o3-mini"),
    Row("openrouter/google/gemini-2.5-", "A", 1_050_000, 4_000, None, "strict cache", 0.125, "relay of pro and flash"),
    Row("openrouter/meta-llama/llama-3.1-70b", "B", 32_000, 2_000, 22_000, "", None, "mid-tier baseline"),
    Row("openrouter/meta-llama/llama-3.3-70b", "B", 32_000, 2_000, 22_000, "", None, "mid-tier"),
    Row("openrouter/google/gemma-2-", "B", 16_000, 1_500, 12_000, "", None, "mid-tier with a small window"),
    Row("openrouter/mistralai/", "B", 32_000, 2_000, 22_000, "strict", None, "trailing commas at high temperature; the native API has a JSON mode"),
    Row("openrouter/deepseek/deepseek-v4-pro", "B", 1_000_000, 2_000, 22_000, "hybrid cache filter", 0.0145, "BFCL proxy 71.4 %, Aider proxy 74.2 %; cache discount 30 times; serverless time-outs up to 30 minutes seen, so the filter stays on"),
    Row("openrouter/deepseek/deepseek-v3.2", "B", 128_000, 2_000, 22_000, "cache", 0.0145, "Aider 74.2 %; smaller window than v4"),
    Row("openrouter/deepseek/deepseek-chat", "B", 128_000, 2_000, 22_000, "cache", 0.0145, "the wider chat family"),
    Row("openrouter/x-ai/grok-", "B", 256_000, 2_000, 22_000, "strict", None, "BFCL proxy 61.38 %, Aider 97.3 % edit format; price step above 128,000 tokens"),
    Row("openrouter/auto", "C", 16_000, 1_500, 10_000, "filter", None, "policy: a router may pick any model, so it gets what the weakest takes; raise it where the route is known"),
    Row("openrouter/openrouter/auto", "C", 16_000, 1_500, 10_000, "filter", None, "policy: the same router under its full name"),
    Row("openrouter/openrouter/free", "C", 16_000, 1_500, 10_000, "filter", None, "empty completions on a 35 KB catalog (29.5 s)"),
    Row("openrouter/nvidia/nemotron-", "C", 16_000, 1_500, 10_000, "filter", None, "2026-06-05, nemotron-3-super-120b-a12b:free: 3 of 6 multi-step plans clean; 2 cut at 600 tokens, 1 reasoning leak (423 tokens, 71 characters visible)"),
    Row("openrouter/z-ai/glm-", "C", 16_000, 1_500, 10_000, "filter", None, "BFCL 70.85 %; chronic empty completions on the free route (58.0 s)"),
    Row("openrouter/qwen/qwen-2.5-", "C", 16_000, 1_500, 10_000, "filter", None, "Aider 71.4 %; wraps JSON in fences even in strict mode"),
    Row("openrouter/moonshotai/kimi-k2", "C", 256_000, 1_500, 10_000, "hybrid filter", None, "296 s of streaming inside a reasoning block before a 5-minute cut"),
    Row("openrouter/moonshotai/kimi-", "C", 256_000, 1_500, 10_000, "hybrid filter", None, "later releases until measured"),
    Row("openrouter/tencent/", "C", 250_000, 1_500, 10_000, "filter", None, "conservative until measured"),
    Row("", "C", 16_000, 1_500, 10_000, "filter", None, "unknown is untrusted"),
)  # fmt: skip

INPUT_USD: Mapping[str, float] = {
    "anthropic/claude-sonnet-": 3.0,
    "google/gemini-2.5-pro": 1.25,
    "openrouter/deepseek/deepseek-v4-pro": 0.435,
}
"""US dollars per million uncached input tokens, where a source of the same month has them; used for cache savings."""

FREE_OF_CHARGE = ("local/lexical", "scripted/")
"""Prefixes of models that run in this process."""

ALIASES: Mapping[str, str] = {"gemini": "google", "vertex": "google"}
"""Providers whose name differs from the rows of the same models."""

FREE = ":free"

# Parts of the names of reasoning models; whole words, so that `gpt-4o3x` does not match.
THINKING = re.compile(
    r"(?:^|[/\-_.:])(?:o1|o3|o4|thinking|reasoner|r1|kimi-k2|deepseek-v4|qwq|magistral|gpt-oss|nemotron-3)(?:$|[/\-_.:])"
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
    ),
)


@hookimpl
def helmdeck_tier_defaults() -> Sequence[TierDefaults]:
    """Measured defaults of each tier."""
    return TIERS


@hookimpl
def helmdeck_budget_rows() -> Sequence[BudgetRow]:
    """The rows above."""
    return tuple(BudgetRow(prefix=row.prefix, budget=_budget(row), order=number) for number, row in enumerate(ROWS))


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
    """Return the budget of the matching row, ignoring surrounding whitespace, case and aliases; free routes are tier C."""
    name = model_id.strip().casefold()
    row = table.find(name)
    if row is None or not row.prefix:
        row = table.find(_unaliased(name)) or row
    if row is None:
        return None
    budget = row.budget
    if name.endswith(FREE) and budget.tier is not Tier.C:
        budget = _as_free(budget, table)
    if THINKING.search(name) and not budget.is_hybrid_reasoning and row.prefix != "scripted/":
        budget = attrs.evolve(budget, is_hybrid_reasoning=True, reasoning_headroom_tokens=REASONING_HEADROOM)
    return budget


def _unaliased(name: str) -> str:
    parts = name.split("/")
    return "/".join(ALIASES.get(part, part) for part in parts)


def _as_free(budget: Budget, table: BudgetTable) -> Budget:
    """Return the budget of the weakest tier for a free route, which runs quantised models under heavy load."""
    weakest = table.find("")
    floor = weakest.budget if weakest is not None else Budget(model="")
    return attrs.evolve(
        floor,
        model=budget.model,
        input_tokens=min(budget.input_tokens, floor.input_tokens),
        is_hybrid_reasoning=budget.is_hybrid_reasoning,
        reasoning_headroom_tokens=budget.reasoning_headroom_tokens,
        evidence=f"free routes are never above tier C; model family: {budget.evidence}",
    )
