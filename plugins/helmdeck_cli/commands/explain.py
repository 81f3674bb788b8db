"""``helmdeck explain``: shows the prompt for a request as a dry run, the trace of a finished call, or a recorded run."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from helmdeck_cli.inputs import request_text
from helmdeck_cli.printing.ranking import ranking_rows, rest_text
from helmdeck_cli.printing.results import price_text, trim_text
from helmdeck_cli.printing.runs import show_run
from helmdeck_cli.shared_options import add_caller, add_ranking
from helmdeck_cli.sources import note_source_problems
from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import (
    ExitCode,
    UsageError,
    hanging,
    inline_json,
    labelled,
    make_deck,
    note,
    show,
    show_json,
    table,
)

if TYPE_CHECKING:
    from helmdeck_core import ChainOrder, Explanation


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_ranking(parser, "the model", top=12)
    parser.add_argument(
        "--task", metavar="TASK", default="plan", help="the task whose prompt is shown, such as route; default: plan"
    )
    add_caller(parser)
    parser.add_argument(
        "--prompt",
        action="store_true",
        help="print the messages of the prompt to standard output, and the rest to standard error",
    )
    parser.add_argument(
        "--run",
        "--call",
        metavar="ID",
        help="show the trace of a finished call, or a recorded run; `last` is the most recent call",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the explanation of a prompt, a call trace, or a run."""
    if arguments.run is not None:
        return _show_finished(arguments)
    from helmdeck_core import PromptVariant

    request = request_text(arguments)
    deck = make_deck(arguments)
    tasks = sorted({owned.value.task for owned in deck.runtime.contributed(PromptVariant).values()})
    if arguments.task not in tasks:
        raise UsageError(f"--task: there is no task {arguments.task!r}; tasks: {', '.join(tasks)}")
    explanation = deck.explain(request, model=arguments.model, task=arguments.task, caller=arguments.caller)
    note_source_problems(deck)
    if arguments.json:
        messages = [{"role": message.role.value, "text": message.text} for message in explanation.messages]
        show_json({**explanation.to_dict(), **({"messages": messages} if arguments.prompt else {})})
        return ExitCode.OK
    text = "\n".join(explanation_lines(explanation, arguments.top))
    if not arguments.prompt:
        show(text)
        return ExitCode.OK
    note(text)
    for message in explanation.messages:
        show(f"--- {message.role.value} ---\n{message.text}")
    return ExitCode.OK


def _show_finished(arguments: argparse.Namespace) -> int:
    from helmdeck_cli.printing.call_trace import trace_lines
    from helmdeck_cli.stored_calls import deck_with_traces, find_run, find_trace, missing_trace

    if arguments.request:
        raise UsageError("--run shows what is finished and takes no request")
    deck = deck_with_traces(arguments)
    trace = find_trace(deck, arguments.run)
    if trace is None:
        record = find_run(deck, arguments.run)
        if record is None:
            raise missing_trace(deck, arguments)
        show_run(record, as_json=arguments.json)
    elif arguments.json:
        show_json(trace.to_dict())
    else:
        show("\n".join(trace_lines(trace)))
    return ExitCode.OK


def explanation_lines(explanation: Explanation, top: int) -> Iterator[str]:
    """The explanation as text, with the ``top`` best-ranked entries."""
    budget, selection = explanation.lookup.budget, explanation.selection
    yield f"{budget.model}: tier {budget.tier.value}, {explanation.variant}; dry run, no model was called"
    yield ""
    cap = "catalogs of any size" if selection.cap is None else f"at most {selection.cap:,} bytes of catalog"
    if explanation.lookup.notice:
        yield labelled("notice", explanation.lookup.notice)
    yield labelled("budget", f"{cap}, {budget.input_tokens:,} tokens in, {budget.max_tokens:,} out")
    yield labelled("catalog", trim_text(selection.record))
    if selection.record.dropped:
        yield labelled("labels", ", ".join(selection.record.dropped))
    confidence = f"confidence {explanation.ranking.confidence:.2f}, {'sure' if explanation.is_confident else 'unsure'}"
    unused = "" if selection.ranking else "; not used, because the whole catalog is sent"
    yield labelled("ranking", f"{explanation.rules.ranker}, {confidence}{unused}")
    if learned := _learned(explanation):
        yield labelled("learned", learned)
    if explanation.chooser:
        yield labelled("choice", f"by {explanation.chooser}; the model is sent the chosen entry alone, if at all")
    if explanation.filter_model is None:
        yield labelled("filter", f"no filter call: {explanation.filter_reason}")
    else:
        yield labelled("filter", f"a filter call to {explanation.filter_model}: {explanation.filter_reason}")
    if explanation.chain is not None:
        yield labelled("chain", _chain(explanation.chain))
    yield labelled("response", _constraint(explanation))
    yield labelled("prices", price_text(explanation.lookup))
    if steps := selection.record.steps:
        sizes = (f"{each.step} {each.after_bytes:,} ({each.entries})" for each in steps)
        yield labelled("steps", "bytes (entries) after each: " + ", ".join(sizes))
    yield ""
    rows = [
        (p.name, p.message, f"{p.size:,}", f"{p.tokens:,}", "yes" if p.is_cached else "") for p in explanation.parts
    ]
    rows.append(("total", "", f"{sum(p.size for p in explanation.parts):,}", f"{explanation.tokens:,}", ""))
    yield table(rows, ("part", "message", "bytes", "tokens", "cached"), right={2, 3})
    yield ""
    if len(explanation.ranking.clauses) > 1:
        for number, clause in enumerate(explanation.ranking.clauses, 1):
            yield hanging(f"part {number}: ", clause)
        yield ""
    yield _entries(explanation, top)


def _chain(order: ChainOrder) -> str:
    """The order of the models, its figures, and what would change it."""
    facts = order.details()
    figures = [
        f"{each['model']} {_percent(each['usable'])} usable{_interval(each)}, {each['cost_usd']:.6f} USD, {each['seconds']:.1f} s "
        f"({each['attempts']:.0f} attempts)"
        for each in facts.get("models", ())
    ]
    advised = f"advised: {', '.join(facts['advised'])}" if "advised" in facts else ""
    parts = (f"{', '.join(order.models)}: {order.reason}", *figures, facts.get("would_change", ""), advised)
    return "; ".join(filter(None, parts))


def _interval(figures: Mapping[str, Any]) -> str:
    """The 90 % interval of a usable share, where the policy has one."""
    if not {"usable_low", "usable_high"} <= figures.keys():
        return ""
    return f" ({_percent(figures['usable_low'])} to {_percent(figures['usable_high'])})"


def _percent(share: float) -> str:
    """A share in percent, which is rounded neither to 0 % nor to 100 %."""
    return f"{min(max(share, 0.01), 0.99):.0%}" if 0 < share < 1 else f"{share:.0%}"


def _learned(explanation: Explanation) -> str:
    """What the caller's history contributes; empty for nothing."""
    planned, defaults = explanation.learned.planned, explanation.learned.defaults
    shown = (
        [f"planned before: {', '.join(f'{name} ({weight:.2f})' for name, weight in planned.items())}"]
        if planned
        else []
    )
    if defaults:
        shown.append(f"defaults: {inline_json(dict(defaults))}")
    return "; ".join(shown)


def _constraint(explanation: Explanation) -> str:
    constraint = explanation.constraint
    if not explanation.lookup.asks_for_json or (constraint is not None and not constraint.kind):
        text = "JSON, requested in the prompt"
    elif constraint is None:
        text = "JSON, requested through the provider"
    elif constraint.schema is None:
        text = f"JSON mode ({constraint.kind})"
    else:
        contents = {"arguments": f"{explanation.ids:,} ids and their arguments", "ids": f"{explanation.ids:,} ids"}
        what = contents.get(constraint.form, "a schema")
        text = f"constrained decoding: {what}, {constraint.size:,} bytes of schema"
    return "; ".join((text, *(f"no {each}" for each in (constraint.passed if constraint is not None else ()))))


def _entries(explanation: Explanation, top: int) -> str:
    rows = ranking_rows(explanation.ranking, top, lambda score: explanation.form_of(score.id))
    text = table(rows, ("#", "id", "score", "form", "matched"), right={0, 2})
    return "\n".join(filter(None, (text, rest_text(explanation.ranking, len(rows)))))


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The command ``explain``."""
    summary = "show the prompt for a request as a dry run, or a finished call or run"
    return (Command(name="explain", summary=summary, configure=configure, run=run, order=40),)
