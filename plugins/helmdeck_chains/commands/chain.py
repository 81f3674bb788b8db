"""``helmdeck chain advise``: what another order of a fallback chain would have saved."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import ExitCode, UsageError, clean, hanging, make_deck, note, show, show_json, table

if TYPE_CHECKING:
    from helmdeck_chains.savings import Advice

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
    from helmdeck_chains.recorded_savings import recorded_advice

    with make_deck(arguments) as deck:
        model = deck.budget(arguments.model).budget.model if arguments.model else deck.budget().budget.model
        models = deck.runtime.chain(model)
        if len(models) < 2:
            raise UsageError(f"{model} has no fallback models; set [fallback] {model!r} = [...]")
        advice = recorded_advice(deck, models, arguments.days)
    if advice is None:
        raise UsageError('no history store is configured; set [history] url, and [chains] policy = "advise"')
    if arguments.json:
        show_json(advice.to_dict())
    else:
        _show(advice)
    return ExitCode.OK


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
        f"the advised orders cost less with a probability of {_probability(advice.sure)}"
    )
    if unproven := sorted({model for each in advice.kinds for model in each.unproven}):
        show(f"hardly called so far, so part of the estimate is the price list: {clean(', '.join(unproven))}")


def _probability(value: float) -> str:
    """A probability in percent, which is rounded neither to 0 % nor to 100 %."""
    return "more than 99%" if value > 0.99 else "less than 1%" if value < 0.01 else f"{value:.0%}"


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
