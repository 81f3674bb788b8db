"""``helmdeck route``: the one pack or pipeline that serves a request."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from helmdeck_core.cli import exits, options, printing

if TYPE_CHECKING:
    from helmdeck_core.domain.plans import Route


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    options.add_request(parser)
    parser.add_argument("--model", metavar="PROVIDER/MODEL", help="who chooses; else the configured model")
    parser.add_argument("--context", metavar="TEXT", default="", help="what else the model should know")
    parser.add_argument(
        "--default",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a value to prefill inputs with, JSON if it parses; may be repeated",
    )
    options.add_catalog(parser)


def run(arguments: argparse.Namespace) -> int:
    """Ask for a route and show it."""
    request = options.request_text(arguments)
    defaults = options.pairs(arguments.default, "--default")
    from helmdeck_core.cli.progress import wait_for
    from helmdeck_core.domain.plans import RouteKind

    deck = options.make_deck(arguments)
    model = arguments.model or deck.runtime.config.model
    route = wait_for(
        deck,
        f"asking {model}",
        lambda progress: deck.aroute(
            request, model=arguments.model, context=arguments.context, defaults=defaults, progress=progress
        ),
    )
    if arguments.json:
        printing.show_json({**route.to_dict(), "latency_s": round(route.latency_s, 3)})
    else:
        printing.show("\n".join(view(route)))
    return exits.NO_STEP if route.recommendation.kind is RouteKind.NONE else exits.OK


def view(route: Route) -> Iterator[str]:
    """The route for people."""
    from helmdeck_core.cli.results import fact, footer
    from helmdeck_core.domain.plans import RouteKind

    best = route.recommendation
    is_none = best.kind is RouteKind.NONE
    yield f"{route.model}: {'nothing in the catalog serves this' if is_none else f'{best.kind.value} {best.id}'}"
    yield ""
    if best.why:
        yield fact("why", best.why)
    if best.suggested_inputs:
        yield fact("inputs", printing.inline_json(dict(best.suggested_inputs)))
    for number, other in enumerate(route.alternatives):
        why = f": {other.why}" if other.why else ""
        yield fact("else" if number == 0 else "", f"{other.kind.value} {other.id}{why}")
    if route.gap_warning:
        yield fact("gap", route.gap_warning)
    if route.reasoning:
        yield fact("reasoning", route.reasoning)
    yield from footer(route)


ACTIONS: options.Actions = {"": (configure, run)}
