"""``helmdeck eval selection``: measures the selection of catalog entries on your own labelled requests."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helmdeck_cli.inputs import add_catalog, pairs, plot_path, read_text, whole_number
from helmdeck_cli.printing.wording import counted
from helmdeck_cli.progress import tracked
from helmdeck_cli.shared_options import add_model
from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import ExitCode, UsageError, hanging, labelled, note, read_config, show, show_json, table

if TYPE_CHECKING:
    from helmdeck_cli.evaluation.measure import Evaluation
    from helmdeck_cli.evaluation.requests import LabelledRequest
    from helmdeck_core import Helmdeck

KS = (5, 12, 20)
PLOTTED = 25
"""Entries on the horizontal axis of the plot."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_catalog(parser)
    parser.add_argument(
        "--requests",
        metavar="FILE",
        required=True,
        help='labelled requests, one JSON object per line: {"request", "tools", optional "document"}; - is standard input',
    )
    parser.add_argument(
        "--ranker",
        metavar="NAME[:OPTION=VALUE,...]",
        action="append",
        help="a ranker, with settings such as vectors:weight=0.7; may be repeated; default: the configured one",
    )
    parser.add_argument(
        "--k",
        metavar="N,...",
        type=_counts,
        default=KS,
        help="the numbers of sent entries to measure; default: 5,12,20",
    )
    add_model(parser, "the model whose ranker is measured if none is named")
    parser.add_argument(
        "--misses", metavar="N", type=whole_number, default=10, help="missed tools to show; default: 10; 0: all"
    )
    parser.add_argument(
        "--plot",
        metavar="FILE",
        type=Path,
        help="write a plot of the complete selections by number of sent entries, as SVG",
    )


def _counts(text: str) -> tuple[int, ...]:
    found = sorted({whole_number(part) for part in text.split(",")})
    if 0 in found:
        raise argparse.ArgumentTypeError("a number of entries is at least 1")
    return tuple(found)


def run(arguments: argparse.Namespace) -> int:
    """Rank the catalog for every request, and print the figures and the misses."""
    from helmdeck_cli.evaluation.measure import evaluate
    from helmdeck_cli.evaluation.requests import read_requests

    plot = plot_path(arguments.plot)
    decks = {name: _deck(arguments, name) for name in dict.fromkeys(arguments.ranker or [""])}
    catalog = next(iter(decks.values())).catalog
    text = read_text(arguments.requests)
    requests = read_requests(text, [entry.id for entry in catalog.entries], arguments.requests)
    results = []
    for name, deck in decks.items():
        budget = deck.budget(arguments.model).budget.model
        label = name or deck.runtime.config.selection.ranker
        deck.rank(requests[0].whole, model=budget)  # so that the index is not part of the first time

        def rank(request: str, deck: Helmdeck = deck, budget: str = budget) -> Any:
            return deck.rank(request, model=budget)

        progress = tracked(requests, f"{label}: {{}} of {counted(len(requests), 'request')}")
        results.append(evaluate(label, catalog, rank, progress, _main_k(arguments.k)))
    if plot is not None:
        _write_plot(plot, results, arguments.k)
    if arguments.json:
        show_json({"k": _main_k(arguments.k), "results": [each.to_dict(arguments.k) for each in results]})
    else:
        show("\n".join(_report(results, requests, arguments)))
    return ExitCode.OK


def _main_k(ks: Sequence[int]) -> int:
    """The k beyond which an entry is missed: 12 where it is measured, as that is what weak models get."""
    return 12 if 12 in ks else ks[-1]


def _deck(arguments: argparse.Namespace, name: str) -> Helmdeck:
    """Return a deck with one ranker for all models.

    :raises ConfigError: there is no such ranker or option.
    """
    import attrs

    from helmdeck_core import Helmdeck

    loaded = read_config(arguments)
    if not name:
        return Helmdeck(loaded)
    ranker, _, settings = name.partition(":")
    selection = loaded.config.selection
    options = pairs([part for part in settings.split(",") if part], "--ranker NAME:OPTION=VALUE")
    rankers = {**selection.rankers, ranker: {**selection.rankers.get(ranker, {}), **options}}
    # The rules of tiers and models would replace it.
    tiers = {tier: attrs.evolve(rule, ranker=None) for tier, rule in selection.tiers.items()}
    models = {prefix: attrs.evolve(rule, ranker=None) for prefix, rule in selection.models.items()}
    selection = attrs.evolve(selection, ranker=ranker, rankers=rankers, tiers=tiers, models=models)
    return Helmdeck(attrs.evolve(loaded, config=attrs.evolve(loaded.config, selection=selection)))


def _write_plot(path: Path, results: Sequence[Evaluation], ks: Sequence[int]) -> None:
    from helmdeck_cli.config_file import replace_text
    from helmdeck_cli.evaluation.plot import curves

    rows = {each.name: each.curve(max(PLOTTED, *ks)) for each in results}
    try:
        replace_text(path, curves(rows, "the first k entries", "complete, percent", _main_k(ks)))
    except OSError as exc:
        raise UsageError(f"{path}: the plot cannot be written ({exc.strerror or exc})") from exc
    note(f"plot: {path}")


# -- report ------------------------------------------------------------------------------------------------


def _report(
    results: Sequence[Evaluation], requests: Sequence[LabelledRequest], arguments: argparse.Namespace
) -> Iterator[str]:
    from helmdeck_cli.evaluation.measure import REASONS

    k = _main_k(arguments.k)
    yield f"{counted(len(requests), 'request')} over {counted(results[0].entries, 'entry', 'entries')}"
    yield ""
    yield results_table(results, arguments.k)
    if len({request.group for request in requests}) > 1:
        yield ""
        yield _groups_table(results, k)
    for result in results:
        missed = sum(result.reasons().values())
        if not missed:
            continue
        yield ""
        what = "1 needed entry is" if missed == 1 else f"{missed:,} needed entries are"
        yield f"{result.name}: {what} not among the first {k}"
        for reason, count in result.reasons().most_common():
            yield hanging(f"{count:>6,} ", REASONS[reason])
        yield from _miss_lines(result, arguments.misses)


def results_table(results: Sequence[Evaluation], ks: Sequence[int]) -> str:
    """One row per ranker: complete@k, recall@k, what 90 % of the requests need, time."""
    # Headings wrap at their spaces, so that the table fits a terminal of 80 columns.
    headings = ["ranker", *(f"complete @{k}" for k in ks), *(f"recall @{k}" for k in ks)]
    headings += ["k for 90 %", "bytes for 90 %", "ms"]
    rows = [
        (
            each.name,
            *(f"{100 * each.complete(k):.1f}" for k in ks),
            *(f"{100 * each.recall(k):.1f}" for k in ks),
            f"{each.k_for(0.9):,}",
            f"{each.bytes_for(0.9):,}",
            f"{each.median_ms:.2f}",
        )
        for each in results
    ]
    return table(rows, headings, right=set(range(1, len(headings))))


def _groups_table(results: Sequence[Evaluation], k: int) -> str:
    groups = [each.groups() for each in results]
    rows = [
        (name or "-", str(len(group.outcomes)), *(f"{100 * each[name].complete(k):.1f}" for each in groups))
        for name, group in groups[0].items()
    ]
    headings = ("language", "requests", *(f"complete@{k}, {each.name}" for each in results))
    return table(rows, headings, right=set(range(1, len(headings))))


def _miss_lines(result: Evaluation, most: int) -> Iterator[str]:
    missed = [(outcome, miss) for outcome in result.outcomes for miss in outcome.misses]
    for outcome, miss in missed[: most or len(missed)]:
        yield ""
        yield hanging(f"line {outcome.request.line}: ", " ".join(outcome.request.text.split()))
        yield labelled("missed", f"{miss.tool}, place {miss.place:,}, {miss.reason}")
        yield labelled("matched", ", ".join(miss.matched) or "nothing")
        yield labelled("before it", ", ".join(miss.ahead))
    if most and len(missed) > most:
        yield ""
        yield f"{len(missed) - most:,} more; --misses 0 shows all"


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The command ``eval selection``."""
    return (
        Command(
            name="eval selection",
            summary="measure the selection of catalog entries on labelled requests",
            group_summary="measure a deployment on its own data",
            configure=configure,
            run=run,
            order=75,
        ),
    )
