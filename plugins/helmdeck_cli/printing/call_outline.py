"""What every call to a model will do, independent of the request; for ``helmdeck budgets MODEL --explain``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from helmdeck_core.cli import CURRENCY, hanging, show, show_json, table

if TYPE_CHECKING:
    from helmdeck_core import Explanation, Helmdeck

Row = tuple[str, str, str]
"""A decision, its result, and the setting or table that it comes from."""


def show_outline(deck: Helmdeck, model: str | None, *, is_json: bool) -> None:
    """Print the decisions that apply to every call to a model."""
    # With an empty request, only what does not depend on the request is left.
    explanation = deck.explain("", model=model)
    budget = explanation.lookup.budget
    rows = list(_rows(deck, explanation))
    if is_json:
        steps = [{"what": what, "how": how, "comes_from": source} for what, how, source in rows]
        show_json({"model": budget.model, "row": explanation.lookup.row or "fallback", "steps": steps})
        return
    show(f"{budget.model}: every call with this catalog and configuration")
    show()
    show(table(rows, ("what", "how", "source")))
    show()
    show(hanging("", f"`helmdeck explain --model {budget.model} REQUEST` shows the same for one request."))


def _rows(deck: Helmdeck, explanation: Explanation) -> Iterator[Row]:
    """The decisions in the order in which they are made."""
    budget, rules = explanation.lookup.budget, explanation.rules
    sources = explanation.lookup.sources
    tier_default = f"default of tier {budget.tier.value}"
    cap = explanation.selection.cap
    yield "tier", budget.tier.value, sources["tier"]
    yield "window", f"{budget.input_tokens:,} tokens in", sources["input_tokens"]
    if cap is None:
        yield "catalog limit", "none: the window holds the catalog", sources["max_catalog_bytes"]
    elif budget.max_catalog_bytes is None or cap < budget.max_catalog_bytes:
        yield "catalog limit", f"{cap:,} bytes: the rest of the window", sources["input_tokens"]
    else:
        yield "catalog limit", f"{cap:,} bytes", sources["max_catalog_bytes"]
    steps = f"{len(explanation.ladder)} trim steps" if explanation.ladder else "no trim step"
    yield "ladder", steps, deck.runtime.ladder_source(budget.tier, budget.model) or "the order of the plugins"
    yield "catalog", _catalog(deck, explanation), "catalog.sources"
    if explanation.selection.ranking is not None:
        options = ", ".join(f"{name} = {value}" for name, value in sorted(rules.options.items()))
        yield "ranker", rules.ranker + (f" ({options})" if options else ""), rules.sources.get("ranker", "default")
        most = f"at most {rules.max_entries}" if rules.max_entries else "as many as fit"
        yield "entries", most, rules.sources.get("max_entries", tier_default)
    yield "chooser", budget.chooser, sources["chooser"]
    yield "filter call", *_filter(explanation)
    yield "prompt variant", explanation.variant, sources["prompt_variant"] if budget.prompt_variant else tier_default
    yield "prefix", *_prefix(explanation)
    json_mode = "requested through the provider" if explanation.lookup.asks_for_json else "requested in the prompt"
    is_capped_by_tier = budget.wants_strict_json and not explanation.lookup.asks_for_json
    yield "JSON", json_mode, sources["tier" if is_capped_by_tier else "wants_strict_json"]
    headroom = budget.max_tokens - budget.output_tokens
    reserved = f", {headroom:,} of them for reasoning" if headroom else ""
    source = sources["reasoning_headroom_tokens" if headroom else "output_tokens"]
    yield "output", f"{budget.max_tokens:,} tokens{reserved}", source
    price = budget.input_cost_usd_per_mtok
    per_mtok = "unknown" if price is None else f"{price:g} {CURRENCY} per million input tokens"
    yield "price", per_mtok, sources["input_cost_usd_per_mtok"]


def _catalog(deck: Helmdeck, explanation: Explanation) -> str:
    prepared = deck.prepared(explanation.lookup.budget.model)
    rung, record = prepared.compact(explanation.selection.cap)
    sizes = f"{record.before_bytes:,} -> {record.after_bytes:,} bytes"
    if explanation.selection.ranking is not None:
        return f"{sizes}, still too large: ranked for each request"
    if not rung:
        return f"{record.before_bytes:,} bytes, sent whole"
    return f"{sizes}; fits after step {rung}, {prepared.rung(rung).step}"


def _filter(explanation: Explanation) -> tuple[str, str]:
    budget, rules, sources = explanation.lookup.budget, explanation.rules, explanation.lookup.sources
    source = rules.sources.get("filter", sources["allows_llm_filter"])
    if explanation.filter_model is None:
        return f"never: {explanation.filter_reason}", source
    return f"by {explanation.filter_model} if the confidence is below {rules.confidence:g}", (
        sources["filter_model"] if budget.filter_model else source
    )


def _prefix(explanation: Explanation) -> tuple[str, str]:
    sources = explanation.lookup.sources
    if not explanation.lookup.budget.supports_prefix_cache:
        return "none: one system and one user message", sources["supports_prefix_cache"]
    cached = [part for part in explanation.parts if part.is_cached]
    size = sum(part.size for part in cached)
    names = " and ".join(part.name for part in cached)
    index = explanation.selection.index
    contents = f" ({index.form} entries, details of the likely ones after it)" if index is not None else ""
    source = explanation.rules.sources.get("prefix_index") if index is not None else None
    return f"{names}{contents}, {size:,} bytes, marked at the end", source or sources["supports_prefix_cache"]
