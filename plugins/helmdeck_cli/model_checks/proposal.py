"""The configuration rows that follow from an examination. What was not measured has no row."""

from __future__ import annotations

import datetime
import math
from typing import Any

from helmdeck_cli.config_file import SettingsTable
from helmdeck_cli.model_checks.chooser import RANKER
from helmdeck_cli.model_checks.results import Examination
from helmdeck_core import BYTES_PER_TOKEN, BudgetLookup, ModelId, ProviderSettings

ANSWER_S = 60.0
"""Seconds that a whole answer may take to be written."""

CATALOG_S = 30.0
"""Seconds that a catalog may take to be read."""

LEAST_OUTPUT, LEAST_CATALOG = 256, 2_048

USUAL_WINDOW = 16_384
"""Tokens with which Ollama should load a model that allows them; its default truncates long prompts."""

RESERVED_TOKENS = 64
"""Tokens of the context window that are left to the chat template."""

BUSY = 3
"""How much other work on the machine may slow a server down: sizes suit a server that is so many times as fast as measured, and
timeouts one that is so many times as slow. So the next examination proposes the same rows."""

STEPS = (1, 3)
"""First digits of the sizes that follow from a speed."""

TIMEOUTS_S = (900, 7_200)
"""Timeouts that are proposed."""


def proposed(
    examination: Examination, found: BudgetLookup, settings: ProviderSettings, day: datetime.date
) -> list[SettingsTable]:
    """Return the settings to add; empty if the model returned nothing that can be used.

    :param found: the budget that applies now.
    :param settings: those of the model's provider.
    """
    if not examination.is_usable:
        return []
    num_ctx = _num_ctx(examination, found)
    budget = _budget(examination, found, num_ctx or examination.fact("context"), day)
    tables = [SettingsTable(("budgets", examination.model), budget)]
    provider = ModelId.provider_of(examination.model)
    needed = _whole_call_s(examination, budget, found)
    if needed > settings.timeout_s:
        # The time between two chunks includes that of reading the prompt.
        timeout = next((each for each in TIMEOUTS_S if each >= needed), TIMEOUTS_S[-1])
        tables.append(SettingsTable(("providers", provider), {"timeout_s": timeout, "idle_timeout_s": timeout}))
    if num_ctx:
        tables.append(SettingsTable(("providers", provider, "options"), {"num_ctx": num_ctx}))
    return tables


def _num_ctx(examination: Examination, found: BudgetLookup) -> int:
    """The context window to load a model of Ollama with; 0 if it is large enough, or of another server."""
    window: int = examination.fact("context") or 0
    most: int = examination.fact("largest_context") or 0
    required: int = min(most, max(found.budget.input_tokens, USUAL_WINDOW))
    return required if window < min(most, USUAL_WINDOW) else 0


def _budget(examination: Examination, found: BudgetLookup, window: int | None, day: datetime.date) -> dict[str, Any]:
    budget, fact = found.budget, examination.fact
    row: dict[str, Any] = {"tier": budget.tier.value} if found.is_fallback else {}
    output = budget.output_tokens
    if (writes := fact("writes_per_s")) and (written := BUSY * writes * ANSWER_S) < output:
        output = min(output, max(LEAST_OUTPUT, _rounded(written)))
    if window:
        output = min(output, max(LEAST_OUTPUT, window // 4))
        row["input_tokens"] = max(1, window - output - RESERVED_TOKENS)
    if output != budget.output_tokens:
        row["output_tokens"] = output
    if reads := fact("reads_per_s"):
        readable = BUSY * reads * CATALOG_S * BYTES_PER_TOKEN
        limit = budget.max_catalog_bytes or (window or found.budget.input_tokens) * BYTES_PER_TOKEN
        if readable < limit:
            row["max_catalog_bytes"] = min(limit, max(LEAST_CATALOG, _rounded(readable)))
    if fact("schema") is not None:
        row["enforces_schema"] = fact("schema") == "kept"
        row |= {} if row["enforces_schema"] else {"wants_strict_json": False}
    if fact("logprobs") is not None:
        row["supports_logprobs"] = fact("logprobs")
    # A model on a server too slow to be examined has not shown that it can choose.
    if chooser := fact("chooser") or (RANKER if fact("is_own_server") else None):
        row["chooser"] = chooser
    if fact("is_own_server"):
        row |= {"input_cost_usd_per_mtok": 0.0, "output_cost_usd_per_mtok": 0.0}
    return {**row, "evidence": _evidence(examination, day)}


def _whole_call_s(examination: Examination, row: dict[str, Any], found: BudgetLookup) -> float:
    """Seconds of the largest request that the budget allows on a busy server; 0 if no speed was measured."""
    reads, writes = examination.fact("reads_per_s"), examination.fact("writes_per_s")
    if not reads or not writes:
        return 0
    read_s: float = row.get("input_tokens", found.budget.input_tokens) / reads
    written_s: float = row.get("output_tokens", found.budget.max_tokens) / writes
    return BUSY * (read_s + written_s)


def _rounded(value: float) -> int:
    """The next lower of few figures: no speed is known better."""
    scale = 10 ** math.floor(math.log10(max(value, 1)))
    return int(max(each for each in STEPS if each <= max(value, 1) / scale) * scale)


def _evidence(examination: Examination, day: datetime.date) -> str:
    fact = examination.fact
    parts = [f"doctor {day.isoformat()}"]
    if fact("tool_requests"):
        parts.append(
            f"{fact('right_tools')} of {fact('tool_requests')} tools right, the ranker {fact('right_by_ranker')}"
        )
    if fact("reads_per_s"):
        parts.append(f"reads {fact('reads_per_s'):.0f}, writes {fact('writes_per_s'):.0f} tokens a second")
    return f"{parts[0]}: {'; '.join(parts[1:])}" if parts[1:] else parts[0]
