"""``helmdeck route``: finds the one pack or pipeline that serves a request."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from helmdeck_cli.execution import wait_for
from helmdeck_cli.inputs import pairs, request_text
from helmdeck_cli.printing.results import footer
from helmdeck_cli.shared_options import add_model_call
from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import ExitCode, inline_json, labelled, make_deck, show, show_json

if TYPE_CHECKING:
    from helmdeck_core import Route


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_model_call(parser, "the routing model", "inputs")


def run(arguments: argparse.Namespace) -> int:
    """Find a route and print it."""
    from helmdeck_core import RouteKind

    request = request_text(arguments)
    defaults = pairs(arguments.default, "--default")
    deck = make_deck(arguments)
    model = arguments.model or deck.runtime.config.model
    route = wait_for(
        deck,
        f"calling {model}",
        lambda progress: deck.aroute(
            request,
            model=arguments.model,
            context=arguments.context,
            defaults=defaults,
            caller=arguments.caller,
            progress=progress,
        ),
    )
    if arguments.json:
        show_json({**route.to_dict(), "latency_s": round(route.latency_s, 3)})
    else:
        show("\n".join(route_lines(route)))
    return ExitCode.NO_STEP if route.recommendation.kind is RouteKind.NONE else ExitCode.OK


def route_lines(route: Route) -> Iterator[str]:
    """The route as text."""
    from helmdeck_core import RouteKind

    best = route.recommendation
    is_none = best.kind is RouteKind.NONE
    yield f"{route.model}: {'nothing in the catalog serves this request' if is_none else f'{best.kind.value} {best.id}'}"
    yield ""
    if best.why:
        yield labelled("why", best.why)
    if best.suggested_inputs:
        yield labelled("inputs", inline_json(dict(best.suggested_inputs)))
    for number, other in enumerate(route.alternatives):
        why = f": {other.why}" if other.why else ""
        yield labelled("" if number else "alternative", f"{other.kind.value} {other.id}{why}")
    if route.gap_warning:
        yield labelled("gap", route.gap_warning)
    if route.reasoning:
        yield labelled("reasoning", route.reasoning)
    yield from footer(route)


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The command ``route``."""
    summary = "find the one pack or pipeline that serves a request"
    return (Command(name="route", summary=summary, configure=configure, run=run, order=20),)
