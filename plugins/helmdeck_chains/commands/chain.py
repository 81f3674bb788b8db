"""``helmdeck chain advise``: what another order of a fallback chain would have saved."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import ExitCode, UsageError, clean, hanging, make_deck, note, show, show_json, table

if TYPE_CHECKING:
    from helmdeck_chains.savings import Advice
    from helmdeck_core import Helmdeck
    from helmdeck_history import EvidenceRow

DAYS = 7.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "model", metavar="MODEL", nargs="?", help="the first model of the chain; default: the default model"
    )
    parser.add_argument("--days", metavar="N", type=float, default=DAYS, help="age of the oldest calls; default: 7")


def run(arguments: argparse.Namespace) -> int:
    """Estimate from the recorded attempts and show it."""
    if not arguments.days > 0:
        raise UsageError(f"--days is a number above 0, found {arguments.days:g}")
    with make_deck(arguments) as deck:
        model = deck.budget(arguments.model).budget.model if arguments.model else deck.budget().budget.model
        models = deck.runtime.chain(model)
        if len(models) < 2:
            raise UsageError(f"{model} has no fallback models; set [fallback] {model!r} = [...]")
        advice = _advice(deck, models, arguments.days)
    if arguments.json:
        show_json(advice.to_dict())
    else:
        _show(advice)
    return ExitCode.OK


def _advice(deck: Helmdeck, models: Sequence[str], days: float) -> Advice:
    from helmdeck_chains.adaptive import AdaptivePolicy
    from helmdeck_chains.learning import Learning
    from helmdeck_chains.posterior import EXPECTED_USABLE
    from helmdeck_chains.savings import estimate_savings
    from helmdeck_chains.settings import ChainOptions
    from helmdeck_chains.sharing import replay
    from helmdeck_core import Usage, read_options

    runtime = deck.runtime
    options = read_options(runtime.config.chains.options, ChainOptions, "chains", "options")

    def price(model: str, usage: Usage) -> float | None:
        budget = runtime.budgets.find(model, lists_prices=True).budget
        return runtime.pricer.cost_usd(budget, model, usage)

    rows = _rows(deck, time.time() - days * 86_400)
    policy = AdaptivePolicy(options, Learning(options, price, EXPECTED_USABLE))
    replay(policy.learning, rows)
    return estimate_savings(policy, models, rows)


def _rows(deck: Helmdeck, since: float) -> Sequence[EvidenceRow]:
    from helmdeck_core import HistoryStoreSpec
    from helmdeck_history import ClosingStore, EvidenceStore

    config = deck.runtime.config.history
    if config.is_off or not config.url:
        raise UsageError('no history store is configured; set [history] url, and [chains] policy = "advise"')
    scheme, _, target = config.url.partition(":")
    contribution = deck.runtime.contributed(HistoryStoreSpec)[scheme]
    with contribution.faults(f"{scheme}: "):
        store = contribution.value.open(target, config.keep_days)
        try:
            return store.evidence(since) if isinstance(store, EvidenceStore) else ()
        finally:
            if isinstance(store, ClosingStore):
                store.close()


def _show(advice: Advice) -> None:
    if not advice.calls:
        note("no attempts of this chain are recorded; set [chains] policy to advise or adaptive, and make calls")
        return
    rows = []
    for each in advice.kinds:
        expected, low, high = each.saving_usd
        rows.append(
            (
                clean(" ".join(each.kind)),
                str(each.calls),
                f"{each.configured_usd:.6f}",
                f"{each.advised_usd:.6f}",
                f"{expected:.4f} ({low:.4f} to {high:.4f})",
                f"{each.configured_usable:.1%} -> {each.advised_usable:.1%}",
            )
        )
    show(table(rows, ("kind of work", "calls", "USD/call", "advised", "saving in USD", "usable"), right={1, 2, 3}))
    show()
    for order in dict.fromkeys(each.order for each in advice.kinds):
        show(hanging("advised: ", clean(", ".join(order))))
        for each in advice.kinds:
            if each.order == order:
                show(f"  for {clean(' '.join(each.kind))}")
    expected, low, high = advice.saving_share
    show(
        f"\nconfigured: {clean(', '.join(advice.models))}\n"
        f"saving: {expected:.0%} of the cost of {advice.calls} calls (90 % interval {low:.0%} to {high:.0%}); "
        f"the advised orders cost less with a probability of {advice.sure:.0%}"
    )
    if unproven := sorted({model for each in advice.kinds for model in each.unproven}):
        show(f"hardly called so far, so part of the estimate is the price list: {clean(', '.join(unproven))}")


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The commands of the group ``chain``."""
    return (
        Command(
            name="chain advise",
            summary="show what another order of a fallback chain would have saved",
            group_summary="inspect the order of fallback chains",
            configure=configure,
            run=run,
            order=78,
        ),
    )
