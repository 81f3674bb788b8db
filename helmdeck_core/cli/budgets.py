"""``helmdeck budgets``: what each model is asked to take and to give, and which source said so."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from helmdeck_core.cli import exits, options, printing

if TYPE_CHECKING:
    from helmdeck_core.domain.models import Budget, BudgetLookup

FLAGS = (
    ("hybrid", "is_hybrid_reasoning"),
    ("strict", "wants_strict_json"),
    ("cache", "supports_prefix_cache"),
    ("filter", "allows_llm_filter"),
)
HEADINGS = ("model id starts with", "tier", "in", "out", "catalog", "flags", "variant", "cached $")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "model", nargs="?", metavar="MODEL", help="show every field for one model, and where it comes from"
    )
    parser.add_argument(
        "--explain", action="store_true", help="say what a call to the model, or to the configured one, will do"
    )
    options.add_catalog(parser)


def run(arguments: argparse.Namespace) -> int:
    """Show one budget or all."""
    from helmdeck_core.cli.tables import hanging, table

    deck = options.make_deck(arguments)
    if arguments.explain:
        from helmdeck_core.cli.calls import show_calls

        show_calls(deck, arguments.model, as_json=arguments.json)
        return exits.OK
    policy = describe_policy(deck.budget(""))
    if arguments.model is not None:
        found = deck.budget(arguments.model)
        if arguments.json:
            printing.show_json({**to_data(found), "sources": dict(found.sources), "policy": policy})
        else:
            _show_one(found)
        return exits.OK
    rows = deck.budgets()
    if arguments.json:
        printing.show_json({"budgets": [to_data(row) for row in rows], "policy": policy})
        return exits.OK
    printing.show(table([_cells(row) for row in rows], HEADINGS, right={2, 3, 4, 7}))
    printing.show()
    printing.show(hanging("", policy))
    printing.show(hanging("", _legend()))
    return exits.OK


def to_data(found: BudgetLookup) -> dict[str, Any]:
    """A budget as plain data; ``max_catalog_bytes`` is null for no limit."""
    import attrs

    budget = attrs.asdict(found.budget)
    return {
        "model": budget.pop("model") or "fallback",
        "row": found.row or "fallback",
        "is_fallback": found.is_fallback,
        **budget,
        "tier": found.budget.tier.value,
        "prompt_variant": found.prompt_variant,
    }


def describe_policy(found: BudgetLookup) -> str:
    """How a model finds its budget, in sentences.

    :param found: the fallback.
    """
    fallback = found.budget
    cap = (
        "catalogs of any size"
        if fallback.max_catalog_bytes is None
        else f"catalogs of {fallback.max_catalog_bytes:,} bytes"
    )
    allowed = "allowed" if fallback.allows_llm_filter else "not allowed"
    return (
        "A model id is looked up exactly, then by the longest row that it starts with; letter case and outer blanks do not "
        f"matter. A model that no row knows gets the fallback: tier {fallback.tier.value}, {fallback.input_tokens:,} tokens "
        f"in, {fallback.output_tokens:,} out, {cap}, prompt variant {found.prompt_variant}, filter call {allowed}: "
        "unknown is untrusted. A catalog limit of none (0 in helmdeck.toml, null in JSON) means that the catalog is not "
        "compacted as long as the model's window holds it. "
        'Every field can be set under [budgets."START OF A MODEL ID"], and under [budgets.fallback] for the models that no '
        "row knows."
    )


def _legend() -> str:
    return (
        "In and out are tokens, catalog is bytes, cached $ is US dollars per million cached input tokens. Flags: hybrid "
        "thinks before it answers, strict is asked for JSON by the provider's own means, cache discounts a prefix that "
        "stays the same, filter may settle an unsure selection with a second call. `helmdeck budgets MODEL` shows the "
        "evidence for a row and where each field comes from."
    )


def _cells(found: BudgetLookup) -> tuple[str, ...]:
    budget = found.budget
    return (
        budget.model or "(fallback)",
        budget.tier.value,
        f"{budget.input_tokens:,}",
        f"{budget.output_tokens:,}",
        _cap(budget),
        " ".join(word for word, name in FLAGS if getattr(budget, name)),
        found.prompt_variant,
        "" if budget.cached_input_cost_usd_per_mtok is None else f"{budget.cached_input_cost_usd_per_mtok:g}",
    )


def _cap(budget: Budget) -> str:
    return "none" if budget.max_catalog_bytes is None else f"{budget.max_catalog_bytes:,}"


def _show_one(found: BudgetLookup) -> None:
    import attrs

    from helmdeck_core.cli.tables import hanging, table

    budget = found.budget
    known = "no row knows it: the fallback applies" if found.is_fallback else f"row {found.row!r}"
    printing.show(f"{budget.model or '(fallback)'}: tier {budget.tier.value}, {known}")
    printing.show()
    rows = []
    for field in attrs.fields(type(budget)):
        if field.name in ("model", "evidence"):
            continue
        value = getattr(budget, field.name)
        source = found.sources.get(field.name, "")
        if field.name == "prompt_variant" and value is None:
            value, source = found.prompt_variant, f"default of tier {budget.tier.value}"
        rows.append((field.name, _said(value), source))
    printing.show(table(rows, ("field", "value", "comes from")))
    printing.show()
    printing.show(hanging("evidence  ", budget.evidence or "none given"))


def _said(value: Any) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case _:
            return str(value)


ACTIONS: options.Actions = {"": (configure, run)}
