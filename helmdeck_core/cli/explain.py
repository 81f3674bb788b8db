"""``helmdeck explain``: what would be sent for a request, and why, without asking anyone; or what a call came to."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from helmdeck_core.cli import exits, options, printing

if TYPE_CHECKING:
    from helmdeck_core.deck.explain import Explanation

FEW_MATCHES = 3
"""Matched terms that are shown of an entry."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    options.add_request(parser)
    parser.add_argument("--model", metavar="PROVIDER/MODEL", help="who would be asked; else the configured model")
    parser.add_argument("--task", metavar="TASK", default="plan", help="plan, or another task such as route")
    parser.add_argument(
        "--top", metavar="N", type=options.whole_number, default=12, help="entries to show, 12; 0 is all"
    )
    parser.add_argument(
        "--prompt", action="store_true", help="print the messages, and everything else to standard error"
    )
    parser.add_argument(
        "--run", metavar="ID", help="tell what happened in a call that is over, by its id; `last` is the last one"
    )
    options.add_catalog(parser)


def run(arguments: argparse.Namespace) -> int:
    """Tell the story of a prompt, or of a call."""
    if arguments.run is not None:
        return _run(arguments)
    request = options.request_text(arguments)
    deck = options.make_deck(arguments)
    found = deck.explain(request, model=arguments.model, task=arguments.task)
    if arguments.json:
        messages = [{"role": message.role.value, "text": message.text} for message in found.messages]
        printing.show_json({**found.to_dict(), **({"messages": messages} if arguments.prompt else {})})
        return exits.OK
    story = "\n".join(view(found, arguments.top))
    if not arguments.prompt:
        printing.show(story)
        return exits.OK
    printing.note(story)
    for message in found.messages:
        printing.show(f"--- {message.role.value} ---\n{message.text}")
    return exits.OK


def _run(arguments: argparse.Namespace) -> int:
    from helmdeck_core.cli import stories

    if arguments.request:
        raise exits.UsageError("--run tells of a call that is over, so that there is no request beside it")
    story = stories.find(options.make_deck(arguments), arguments.run)
    if arguments.json:
        printing.show_json(story.to_dict())
    else:
        printing.show("\n".join(stories.view(story)))
    return exits.OK


def view(found: Explanation, top: int) -> Iterator[str]:
    """The story for people."""
    from helmdeck_core.cli.results import fact, trimming
    from helmdeck_core.cli.tables import hanging, table

    budget, selection = found.lookup.budget, found.selection
    yield f"{budget.model}: tier {budget.tier.value}, {found.variant}; nobody was asked"
    yield ""
    cap = "catalogs of any size" if selection.cap is None else f"at most {selection.cap:,} bytes of catalog"
    yield fact("budget", f"{cap}, {budget.input_tokens:,} tokens in, {budget.max_tokens:,} out")
    yield fact("catalog", trimming(selection.record))
    if selection.record.dropped:
        yield fact("labels", ", ".join(selection.record.dropped))
    word = "sure" if found.is_confident else "unsure"
    asked = "" if selection.ranking else "; the whole catalog is sent, so that the order does not matter"
    yield fact("ranking", f"{found.rules.ranker}, confidence {found.ranking.confidence:.2f}, {word}{asked}")
    if found.filter_model is None:
        yield fact("filter", f"nobody would be asked first which entries are needed: {found.filter_reason}")
    else:
        yield fact(
            "filter", f"{found.filter_model} would be asked first which entries are needed: {found.filter_reason}"
        )
    yield fact("answer", _held_to(found))
    yield ""
    rows = [(p.name, p.message, f"{p.size:,}", f"{p.tokens:,}", "yes" if p.is_cached else "") for p in found.parts]
    rows.append(("in all", "", f"{sum(p.size for p in found.parts):,}", f"{found.tokens:,}", ""))
    yield table(rows, ("part", "message", "bytes", "tokens", "cached"), right={2, 3})
    yield ""
    if len(found.ranking.clauses) > 1:
        for number, clause in enumerate(found.ranking.clauses, 1):
            yield hanging(f"part {number}: ", clause)
        yield ""
    yield _entries(found, top)


def _held_to(found: Explanation) -> str:
    constraint = found.constraint
    if not found.lookup.asks_for_json or (constraint is not None and not constraint.kind):
        told = "JSON, asked for in words"
    elif constraint is None:
        told = "JSON, by the provider's own means"
    elif constraint.schema is None:
        told = f"any JSON ({constraint.kind})"
    else:
        what = {"arguments": f"{found.ids:,} ids and their arguments", "ids": f"{found.ids:,} ids"}
        told = f"held to {what.get(constraint.form, 'a schema')}, {constraint.size:,} bytes of schema"
    passed = constraint.passed if constraint is not None else ()
    return "; ".join((told, *(f"no {each}" for each in passed)))


def _entries(found: Explanation, top: int) -> str:
    from helmdeck_core.cli.tables import table
    from helmdeck_core.domain.ranking import top_k

    shown = top_k(found.ranking.scores, top)
    rows = []
    for place, score in enumerate(shown, 1):
        more = len(score.matched) - FEW_MATCHES
        matched = ", ".join(score.matched[:FEW_MATCHES]) + (f" (+{more})" if more > 0 else "")
        rows.append((str(place), score.id, f"{score.score:.3f}", found.form_of(score.id), matched))
    text = table(rows, ("#", "id", "score", "form", "matched"), right={0, 2})
    left = len(found.ranking.scores) - len(shown)
    return text + (f"\n{left} more; --top 0 shows all" if left else "")


ACTIONS: options.Actions = {"": (configure, run)}
