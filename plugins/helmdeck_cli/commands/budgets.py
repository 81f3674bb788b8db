"""``helmdeck budgets``: shows the budget of each model and the source of each field."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from helmdeck_cli.inputs import add_catalog
from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import ExitCode, hanging, labelled, make_deck, show, show_json, table, terminal_width

if TYPE_CHECKING:
    from helmdeck_core import BudgetLookup

FLAGS = (
    ("hybrid", "is_hybrid_reasoning"),
    ("strict", "wants_strict_json"),
    ("schema", "enforces_schema"),
    ("cache", "supports_prefix_cache"),
    ("filter", "allows_llm_filter"),
)
"""The flags of the table and their fields."""

PRICES = ("input_cost_usd_per_mtok", "cached_input_cost_usd_per_mtok", "output_cost_usd_per_mtok")

HEADINGS = ("model id prefix", "tier", "in", "out", "catalog", "flags", "variant", "$ in", "$ cached", "$ out")
"""The headings of the table."""

WIDE = 100
"""Columns of a terminal that all columns of the table need; a narrower one gets ``NARROW_COLUMNS``, without variant and $ cached."""

NARROW_COLUMNS = (0, 1, 2, 3, 4, 5, 7, 9)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("model", nargs="?", metavar="MODEL", help="show all fields for one model, with their sources")
    parser.add_argument(
        "--explain",
        action="store_true",
        help="show what every call to MODEL does: catalog, prompt, JSON, price; default: the configured model",
    )
    add_catalog(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print one budget or all."""
    deck = make_deck(arguments)
    if arguments.explain:
        from helmdeck_cli.printing.call_outline import show_outline

        show_outline(deck, arguments.model, is_json=arguments.json)
        return ExitCode.OK
    policy = describe_policy(deck.budget(""))
    if arguments.model is not None:
        lookup = deck.budget(arguments.model)
        if arguments.json:
            show_json({**budget_data(lookup), "sources": dict(lookup.sources), "policy": policy})
        else:
            _show_one(lookup)
        return ExitCode.OK
    rows = deck.budgets()
    if arguments.json:
        show_json({"budgets": [budget_data(row) for row in rows], "policy": policy})
        return ExitCode.OK
    kept = range(len(HEADINGS)) if terminal_width() >= WIDE else NARROW_COLUMNS
    table_rows = [[cells[i] for i in kept] for cells in map(_cells, rows)]
    numbers = {place for place, i in enumerate(kept) if i in {2, 3, 4, 7, 8, 9}}
    show(table(table_rows, [HEADINGS[i] for i in kept], right=numbers))
    show()
    show(hanging("", policy))
    show(hanging("", _LEGEND))
    return ExitCode.OK


def budget_data(lookup: BudgetLookup) -> dict[str, Any]:
    """A budget as plain data; ``max_catalog_bytes`` is null for no limit."""
    import attrs

    fields = attrs.asdict(lookup.budget)
    return {
        "model": fields.pop("model") or "fallback",
        "row": lookup.row or "fallback",
        "is_fallback": lookup.is_fallback,
        **fields,
        "tier": lookup.budget.tier.value,
        "prompt_variant": lookup.prompt_variant,
    }


def describe_policy(lookup: BudgetLookup) -> str:
    """How the budget of a model is found; ``lookup`` is the fallback."""
    fallback = lookup.budget
    cap = (
        "catalogs of any size"
        if fallback.max_catalog_bytes is None
        else f"catalogs of {fallback.max_catalog_bytes:,} bytes"
    )
    allowed = "allowed" if fallback.allows_llm_filter else "not allowed"
    return (
        "A model id is looked up exactly, then by its longest prefix in the table; case and surrounding whitespace are "
        "ignored. Without such a row, that of the model behind a router, cloud or server applies: ROUTER/VENDOR/MODEL, "
        f"REGION.VENDOR.MODEL, or a known family name. Unknown models get the fallback, which is deliberately strict: tier {fallback.tier.value}, "
        f"{fallback.input_tokens:,} tokens in, {fallback.output_tokens:,} out, {cap}, prompt variant "
        f"{lookup.prompt_variant}, filter call {allowed}. A catalog limit of none (0 in helmdeck.toml, null in JSON) "
        "means that the catalog is not trimmed as long as it fits the window of the model. "
        'Every field can be set under [budgets."MODEL ID PREFIX"], and under [budgets.fallback] for unknown models.'
    )


_LEGEND = (
    "in and out are tokens, catalog is bytes, and $ is US dollars per million tokens of input, of cached input and of output: "
    "those of the row, or list prices, for a prefix those of its most expensive model. Flags: hybrid models "
    "reason before they answer, strict requests JSON through the provider, cache discounts a stable prefix, filter may use "
    "a second call to settle an unsure selection. `helmdeck budgets MODEL` shows the evidence for a row and the source of "
    "each field."
)


def _cells(lookup: BudgetLookup) -> tuple[str, ...]:
    budget = lookup.budget
    return (
        budget.model or "(fallback)",
        budget.tier.value,
        f"{budget.input_tokens:,}",
        f"{budget.output_tokens:,}",
        "none" if budget.max_catalog_bytes is None else f"{budget.max_catalog_bytes:,}",
        " ".join(word for word, name in FLAGS if getattr(budget, name)),
        lookup.prompt_variant,
        *("" if (price := getattr(budget, name)) is None else f"{price:g}" for name in PRICES),
    )


def _show_one(lookup: BudgetLookup) -> None:
    import attrs

    budget = lookup.budget
    row = "unknown model, the fallback applies" if lookup.is_fallback else f"row {lookup.row!r}"
    show(f"{budget.model or '(fallback)'}: tier {budget.tier.value}, {row}")
    show()
    rows = []
    for field in attrs.fields(type(budget)):
        if field.name in ("model", "evidence"):
            continue
        value = getattr(budget, field.name)
        source = lookup.sources.get(field.name, "")
        if field.name == "prompt_variant" and value is None:
            value, source = lookup.prompt_variant, f"default of tier {budget.tier.value}"
        rows.append((field.name, _value_text(value), source))
    show(table(rows, ("field", "value", "source")))
    show()
    show(labelled("evidence", budget.evidence or "none"))
    if lookup.notice:
        show(labelled("notice", lookup.notice))


def _value_text(value: Any) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case _:
            return str(value)


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The command ``budgets``."""
    summary = "show the budget of each model and the source of each field"
    return (Command(name="budgets", summary=summary, configure=configure, run=run, order=50),)
