"""``helmdeck models``: lists the models that the configured providers serve, with what is known about each."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from helmdeck_cli.execution import wait_for
from helmdeck_cli.printing.wording import counted
from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import (
    ExitCode,
    UsageError,
    exit_code_of,
    hanging,
    make_deck,
    note,
    show,
    show_json,
    show_traceback,
    table,
)

if TYPE_CHECKING:
    from helmdeck_cli.checks.configured_providers import ConfiguredProvider
    from helmdeck_core import Helmdeck, ModelInfo

TIMEOUT_S = 20.0
"""Seconds that the list of one provider may take."""

PRICES = ("input_cost_usd_per_mtok", "output_cost_usd_per_mtok", "cached_input_cost_usd_per_mtok")
HEADINGS = ("model", "tier", "context", "input $", "output $", "cached $", "source")
_LEGEND = (
    "context is the window in tokens that the provider reports, or else the input limit of the budget, marked *; prices are US "
    "dollars per million tokens. tier, limits and prices are from the named row of the budget table; the fallback is strict. "
    "`helmdeck budgets MODEL` shows each field with its source."
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the argument."""
    parser.add_argument("provider", nargs="?", metavar="PROVIDER", help="the provider; default: all configured ones")


def run(arguments: argparse.Namespace) -> int:
    """Print one row per model, and one per provider that cannot list its models."""
    from helmdeck_cli.checks.configured_providers import configured_providers, key_hint

    deck = make_deck(arguments)
    providers = _chosen(deck, arguments.provider) if arguments.provider else list(configured_providers(deck))
    results = wait_for(
        deck,
        f"asking {counted(len(providers), 'provider')} for models",
        lambda update: _list_all(deck, providers, update),
    )
    rows = [row for result in results for row in result]
    failures = [row["exception"] for row in rows if "exception" in row]
    for row in rows:
        row.pop("exception", None)
    for failure in failures:
        show_traceback(failure)
    models = [row for row in rows if "error" not in row]
    if arguments.json:
        show_json({"models": models, "failures": [row for row in rows if "error" in row]})
    else:
        show(table([_cells(row) for row in rows], HEADINGS, right={2, 3, 4, 5}))
        show()
        show(hanging("", _LEGEND))
        for provider in (each for each in providers if each.routes):
            kind = provider.routes[0].route.partition(" ")[0]
            note(f"{provider.name} has {len(provider.routes)} {kind}s; `helmdeck doctor` checks each of them.")
        if all(provider.settings.base_url is None for provider in providers) and not arguments.provider:
            note(hanging("", f"No hosted provider is configured: {key_hint(deck)}."))
    return exit_code_of(failures[0]) if failures and not models else ExitCode.OK


def _chosen(deck: Helmdeck, name: str) -> Sequence[ConfiguredProvider]:
    from helmdeck_cli.checks.configured_providers import all_providers
    from helmdeck_core import did_you_mean, nearest_names

    by_name = {provider.name: provider for provider in all_providers(deck)}
    if name not in by_name:
        raise UsageError(
            f"there is no provider {name!r}{did_you_mean(name, by_name)}; providers: {nearest_names(name, sorted(by_name))}"
        )
    return [by_name[name]]


async def _list_all(
    deck: Helmdeck, providers: Sequence[ConfiguredProvider], update: Callable[[str], None]
) -> Sequence[Sequence[dict[str, Any]]]:
    import asyncio

    waiting = {provider.name for provider in providers}

    async def rows(name: str) -> Sequence[dict[str, Any]]:
        found = await _list(deck, name)
        waiting.discard(name)
        update(f"waiting for the models of {', '.join(sorted(waiting))}")
        return found

    return await asyncio.gather(*(rows(provider.name) for provider in providers))


async def _list(deck: Helmdeck, name: str) -> Sequence[dict[str, Any]]:
    import asyncio

    from helmdeck_cli.checks.configured_providers import failure_text
    from helmdeck_core import HelmdeckError, LikelyTimeout

    failure: HelmdeckError
    try:
        async with asyncio.timeout(TIMEOUT_S):
            nearest_names = await deck.amodels(name)
    except TimeoutError:
        failure = LikelyTimeout("the provider did not answer in time", detail=f"no list within {TIMEOUT_S:g} s")
    except HelmdeckError as exc:
        failure = exc
    else:
        if nearest_names:
            return [_facts(deck, f"{name}/{info.id}", info) for info in sorted(nearest_names, key=lambda info: info.id)]
        known = [
            each.row for each in deck.budgets() if each.row.startswith(f"{name}/") and not each.row.endswith(("/", "-"))
        ]
        return [_facts(deck, model, None) for model in known] or [
            {"provider": name, "error": "this provider does not list its models"}
        ]
    return [{"provider": name, "error": failure_text(failure), "exception": failure}]


def _facts(deck: Helmdeck, model: str, info: ModelInfo | None) -> dict[str, Any]:
    lookup = deck.budget(model)
    budget = lookup.budget
    return {
        "model": model,
        "tier": budget.tier.value,
        "context_tokens": info.input_tokens if info else None,
        "max_output_tokens": info.output_tokens if info else None,
        "budget_input_tokens": budget.input_tokens,
        **{name: getattr(budget, name) for name in PRICES},
        "row": lookup.row or "fallback",
        "sources": {name: lookup.sources.get(name, "") for name in ("tier", "input_tokens", *PRICES)},
    }


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    if "error" in row:
        return (f"{row['provider']}/", "", "", "", "", "", row["error"])
    context = f"{row['context_tokens']:,}" if row["context_tokens"] else f"{row['budget_input_tokens']:,}*"
    prices = ["" if row[name] is None else f"{row[name]:g}" for name in PRICES]
    return (row["model"], row["tier"], context, *prices, row["row"])


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The command ``models``."""
    summary = "list the models that the configured providers serve"
    return (Command(name="models", summary=summary, configure=configure, run=run, order=45),)
