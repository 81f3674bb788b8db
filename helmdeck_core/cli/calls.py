"""What every call to a model will do, whatever is asked: the second half of ``helmdeck budgets MODEL --explain``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from helmdeck_core.cli import printing

if TYPE_CHECKING:
    from helmdeck_core.deck.explain import Explanation
    from helmdeck_core.deck.helmdeck import Helmdeck

Row = tuple[str, str, str]
"""What is decided, how, and who said so."""


def show_calls(deck: Helmdeck, model: str | None, *, as_json: bool) -> None:
    """Print what a call will do."""
    from helmdeck_core.cli.tables import hanging, table

    # An empty request is what is left of a call when the request is taken away.
    found = deck.explain("", model=model)
    budget = found.lookup.budget
    rows = list(outline(deck, found))
    if as_json:
        steps = [{"what": what, "how": how, "comes_from": source} for what, how, source in rows]
        printing.show_json({"model": budget.model, "row": found.lookup.row or "fallback", "steps": steps})
        return
    printing.show(f"{budget.model}: what a call will do with this catalog and configuration")
    printing.show()
    printing.show(table(rows, ("what", "how", "comes from")))
    printing.show()
    printing.show(hanging("", f"`helmdeck explain --model {budget.model} REQUEST` shows it for one request."))


def outline(deck: Helmdeck, found: Explanation) -> Iterator[Row]:
    """What is decided for every call, in the order in which it is decided."""
    budget, rules = found.lookup.budget, found.rules
    said = found.lookup.sources
    cap = found.selection.cap
    yield "tier", budget.tier.value, said["tier"]
    yield "window", f"{budget.input_tokens:,} tokens in", said["input_tokens"]
    if cap is None:
        yield "catalog limit", "none: the window holds the catalog", said["max_catalog_bytes"]
    elif budget.max_catalog_bytes is None or cap < budget.max_catalog_bytes:
        yield "catalog limit", f"{cap:,} bytes: what the window leaves", said["input_tokens"]
    else:
        yield "catalog limit", f"{cap:,} bytes", said["max_catalog_bytes"]
    steps = f"{len(found.ladder)} trim steps" if found.ladder else "no trim step"
    yield "ladder", steps, deck.runtime.ladder_source(budget.tier, budget.model) or "the plugins' order"
    yield "catalog", _fitted(deck, found), "catalog.sources"
    if found.selection.ranking is not None:
        options = ", ".join(f"{name} = {value}" for name, value in sorted(rules.options.items()))
        yield "ranker", rules.ranker + (f" ({options})" if options else ""), rules.sources.get("ranker", "default")
        most = f"at most {rules.max_entries}" if rules.max_entries else "as many as fit"
        yield "entries", most, rules.sources.get("max_entries", f"default of tier {budget.tier.value}")
    yield "filter call", *_filter(found)
    variant_source = said["prompt_variant"] if budget.prompt_variant else f"default of tier {budget.tier.value}"
    yield "prompt variant", found.variant, variant_source
    yield "prefix", *_prefix(found)
    asks_for_json = found.lookup.asks_for_json
    json_way = "by the provider's own means" if asks_for_json else "in words only"
    yield (
        "JSON",
        json_way,
        said["tier" if budget.wants_strict_json and not asks_for_json else "wants_strict_json"],
    )
    headroom = budget.max_tokens - budget.output_tokens
    yield (
        "output",
        f"{budget.max_tokens:,} tokens" + (f", {headroom:,} of them to think" if headroom else ""),
        said["reasoning_headroom_tokens" if headroom else "output_tokens"],
    )


def _fitted(deck: Helmdeck, found: Explanation) -> str:
    prepared = deck.prepared(found.lookup.budget.model)
    rung, record = prepared.compact(found.selection.cap)
    if found.selection.ranking is None:
        if not rung:
            return f"{record.before_bytes:,} bytes, sent as it is"
        return f"{record.before_bytes:,} -> {record.after_bytes:,} bytes; fits after step {rung}, {prepared.rung(rung).step}"
    return f"{record.before_bytes:,} -> {record.after_bytes:,} bytes and still too large: ranked for each request"


def _filter(found: Explanation) -> tuple[str, str]:
    budget, rules = found.lookup.budget, found.rules
    source = rules.sources.get("filter", found.lookup.sources["allows_llm_filter"])
    if found.filter_model is None:
        return f"never: {found.filter_reason}", source
    return f"asks {found.filter_model} where the confidence is below {rules.confidence:g}", (
        found.lookup.sources["filter_model"] if budget.filter_model else source
    )


def _prefix(found: Explanation) -> tuple[str, str]:
    if not found.lookup.budget.supports_prefix_cache:
        return "none: one system and one user message", found.lookup.sources["supports_prefix_cache"]
    cached = [part for part in found.parts if part.is_cached]
    size = sum(part.size for part in cached)
    held = " and ".join(part.name for part in cached)
    index = found.selection.index
    what = f" ({index.form} entries, details of the likely ones behind it)" if index is not None else ""
    source = found.rules.sources.get("prefix_index") if index is not None else None
    return f"{held}{what}, {size:,} bytes, marked at the end", source or found.lookup.sources["supports_prefix_cache"]
