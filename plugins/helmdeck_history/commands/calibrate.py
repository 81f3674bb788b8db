"""``helmdeck calibrate``: measures the largest catalog that a model handles, and writes its budget row."""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helmdeck_cli import SettingsTable, add_catalog, add_to_file, plot_path, replace_text, wait_for, whole_number
from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import ExitCode, UsageError, labelled, note, read_config, show, show_json, table

if TYPE_CHECKING:
    from helmdeck_core import Entry, Helmdeck
    from helmdeck_history.calibration.session import Calibration, Limits, Outcome

TYPICAL_CALLS = 50
"""Mean number of trials over simulated models; docs/benchmarks/calibration.md has the distribution."""

TYPICAL_BYTES = 65_000
"""Mean size of a trial's prompt."""

BYTES_PER_TOKEN = 3.5
"""Bytes of a JSON catalog per token, for the estimate only."""

OUTPUT_TOKENS = 150
"""Output tokens of a trial, for the estimate only."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("model", metavar="PROVIDER/MODEL", help="the model to calibrate")
    parser.add_argument(
        "--compare",
        metavar="PROVIDER/MODEL",
        help="calibrate a second model, or the same model on another route, and show both",
    )
    add_catalog(parser)
    parser.add_argument(
        "--max-calls",
        metavar="N",
        type=whole_number,
        default=150,
        help="maximum number of calls per model; default: 150",
    )
    parser.add_argument(
        "--max-cost", metavar="USD", type=float, help="maximum cost per model, in US dollars; default: no limit"
    )
    parser.add_argument(
        "--seconds",
        metavar="N",
        type=float,
        help="maximum time per model; the same command continues; default: no limit",
    )
    parser.add_argument("--yes", action="store_true", help="start without confirmation")
    parser.add_argument("--fresh", action="store_true", help="discard the results of an interrupted run")
    parser.add_argument(
        "--log",
        metavar="FILE",
        type=Path,
        help="the log of results, from which an interrupted run resumes; default: in the data folder",
    )
    parser.add_argument(
        "--plot", metavar="FILE", type=Path, help="write a plot of the success rate by catalog size, as SVG"
    )
    parser.add_argument("--write", metavar="FILE", type=Path, help="add the budget row to this helmdeck.toml")


def run(arguments: argparse.Namespace) -> int:
    """Show calls and cost, confirm, measure, and print the result."""
    from helmdeck_history.calibration.runs import calibration_deck
    from helmdeck_history.calibration.session import Limits

    models = list(dict.fromkeys(filter(None, (arguments.model, arguments.compare))))
    for model in models:
        if not all(model.partition("/")[::2]):
            raise UsageError(f"model id {model!r} is not of the form provider/model")
    if arguments.log is not None and len(models) > 1:
        raise UsageError("--log names the log of one model; leave it out with --compare")
    if arguments.max_cost is not None and not arguments.max_cost > 0:
        raise UsageError(f"--max-cost is a positive number of US dollars, found {arguments.max_cost:g}")
    if arguments.seconds is not None and not arguments.seconds > 0:
        raise UsageError(f"--seconds is a positive number, found {arguments.seconds:g}")
    plot_path(arguments.plot)
    loaded = read_config(arguments)
    limits = Limits(max_calls=arguments.max_calls, max_cost_usd=arguments.max_cost, max_seconds=arguments.seconds)
    if arguments.write is not None:
        _check_target(arguments.write, models)
    decks = {model: calibration_deck(loaded, model) for model in models}
    if not _confirmed(arguments, decks, limits):
        for deck in decks.values():
            deck.close()
        note("helmdeck: nothing was sent")
        return ExitCode.OK
    outcomes = [_calibrated(arguments, deck, model, limits) for model, deck in decks.items()]
    return _show(arguments, outcomes)


def _confirmed(arguments: argparse.Namespace, decks: dict[str, Helmdeck], limits: Limits) -> bool:
    """Show what it will take and ask; with ``--yes``, only show."""
    from helmdeck_history.calibration.probes import PROBE_CALLS

    rows = []
    for model, deck in decks.items():
        budget = deck.budget(model).budget
        prices = (budget.input_cost_usd_per_mtok, budget.output_cost_usd_per_mtok)
        cost = "price unknown"
        if prices[0] is not None and prices[1] is not None:
            tokens = TYPICAL_BYTES / BYTES_PER_TOKEN
            each = (tokens * prices[0] + OUTPUT_TOKENS * prices[1]) / 1e6
            cost = f"about {TYPICAL_CALLS * each:.2f} USD, at most {limits.max_calls * 4 * each:.2f} USD"
        if limits.max_cost_usd is not None:
            cost += f", limited to {limits.max_cost_usd:g} USD"
        calls = f"about {TYPICAL_CALLS + PROBE_CALLS}, at most {limits.max_calls}"
        rows.append((model, calls, cost))
    note(table(rows, ("model", "calls", "cost")))
    if arguments.yes:
        return True
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError("calibrate sends many calls; confirm them with --yes, or run it in a terminal")
    note("Start? [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _calibrated(arguments: argparse.Namespace, deck: Helmdeck, model: str, limits: Limits) -> Outcome:
    """One model's outcome; what was measured is in its log, also after a failure."""
    from helmdeck_history.calibration.log import LogMismatch, default_path
    from helmdeck_history.calibration.runs import open_log
    from helmdeck_history.calibration.session import Calibration

    entries: Sequence[Entry] = deck.catalog.entries if arguments.catalog_sources else ()
    path = arguments.log or default_path(model)
    try:
        log = open_log(model, entries, path, fresh=arguments.fresh)
    except LogMismatch as exc:
        raise UsageError(str(exc)) from exc
    except OSError as exc:
        raise UsageError(f"{path}: the log cannot be used ({exc.strerror or exc}); --log chooses another file") from exc
    with log:
        if log.lines:
            note(f"helmdeck: {model}: resumed after {len(log.lines)} finished trials and probes ({path})")

        async def work(update: Any) -> Outcome:
            def progress(state: Calibration) -> None:
                size = state.search.size
                what = (
                    f"{state.search.phase} {size / 1024:.0f} KB" if size else f"probe {state.probe.replace('_', ' ')}"
                )
                update(f"{model}: call {state.calls + 1} of at most {limits.max_calls}, {what}")

            return await Calibration(deck, model, log, entries=entries, limits=limits, on_progress=progress).run()

        try:
            return wait_for(deck, f"calibrating {model}", work)
        except LogMismatch as exc:
            raise UsageError(f"{path}: {exc}") from exc


def _show(arguments: argparse.Namespace, outcomes: Sequence[Outcome]) -> int:
    from helmdeck_history.calibration import report

    today = datetime.datetime.now(datetime.UTC).date()
    rows = {each.model: report.budget_row(each, each.model, today) for each in outcomes}
    if (plot := plot_path(arguments.plot)) is not None:
        try:
            replace_text(plot, report.curve(outcomes))
        except OSError as exc:
            raise UsageError(f"{plot}: the plot cannot be written ({exc.strerror or exc})") from exc
    if arguments.json:
        data = [report.to_dict(each, rows[each.model]) for each in outcomes]
        show_json(data[0] if len(data) == 1 else {"calibrations": data})
    else:
        for each in outcomes:
            show(each.model)
            show(
                table(report.size_rows(each), ("catalog bytes", "right", "rate", "at least", "failures", ""), right={0})
            )
            facts = f"{each.calls} calls, median {each.median_latency_s:.1f} s"
            facts += f", {each.cost_usd:.4f} USD" if each.cost_usd is not None else ", price unknown"
            show(labelled("total", facts))
            show()
        show(table(report.probe_rows(outcomes), ("probe", *(each.model for each in outcomes))))
        show()
        for each in outcomes:
            show(labelled("result", report.conclusion(each)))
            if each.claimed or not each.stopped:
                show()
                show(report.as_toml(each.model, rows[each.model]))
    for each in outcomes:
        if each.stopped:
            note(f"helmdeck: {each.model}: stopped by {each.stopped}; the same command resumes it")
    if arguments.write is not None:
        _write(arguments.write, {each.model: rows[each.model] for each in outcomes if not each.stopped})
    return ExitCode.CHECK_FAILED if any(each.stopped for each in outcomes) else ExitCode.OK


def _check_target(path: Path, models: Sequence[str]) -> None:
    """Check before any call that the rows can be added.

    :raises UsageError: the file is not TOML, or has a row of a model.
    """
    import tomllib

    try:
        present = tomllib.loads(path.read_text(encoding="utf-8")).get("budgets", {}) if path.exists() else {}
    except (OSError, ValueError) as exc:
        raise UsageError(f"--write: {path} cannot be read as TOML ({exc})") from exc
    if taken := [model for model in models if model in present]:
        raise UsageError(
            f"--write: {path} has a row for {', '.join(taken)} already; leave --write out and edit the row with the result"
        )


def _write(path: Path, rows: Mapping[str, Mapping[str, Any]]) -> None:
    if not rows:
        return
    add_to_file(path, [SettingsTable(("budgets", model), row) for model, row in rows.items()])
    note(f"helmdeck: added {len(rows)} budget {'row' if len(rows) == 1 else 'rows'} to {path}")


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The command ``calibrate``."""
    summary = "measure the largest catalog that a model handles, and write its budget row"
    return (Command(name="calibrate", summary=summary, configure=configure, run=run, order=48),)
