"""The pack ``helmdeck.route``: the one entry of the catalog that serves a request, and what it leaves open."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from helmdeck_core import (
    Entry,
    EntryKind,
    Pack,
    PackContext,
    PlanRequest,
    Recommendation,
    RecordedStep,
    Route,
    RouteKind,
    args_sha,
    hookimpl,
)
from helmdeck_planner.packs.arguments import as_declared, check_nesting, parse_arguments
from helmdeck_planner.packs.constraints import route_forms
from helmdeck_planner.packs.input_names import unused_defaults
from helmdeck_planner.packs.questions import Inquiry, planning_pack
from helmdeck_planner.packs.validation import EntryResolver, resolver_of

NAME = "helmdeck.route"
MOST_ALTERNATIVES = 3
CONSTRAINT = functools.partial(route_forms, most_alternatives=MOST_ALTERNATIVES)


class Choice(msgspec.Struct):
    """One entry as a model names it; ``kind`` is ignored, because it follows from the entry."""

    id: str | None = None
    why: str | None = None
    suggested_inputs: dict[str, Any] | str | None = None

    def __post_init__(self) -> None:
        check_nesting(self.suggested_inputs)


class RouteAnswer(msgspec.Struct):
    """A route as a model writes it; only the recommendation is required."""

    recommendation: Choice
    alternatives: list[Choice] | None = None
    gap_warning: str | None = None
    reasoning: str | None = None


def _choice_schema(*more: str) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "kind": {"type": "string", "enum": [kind.value for kind in RouteKind]},
        "id": {"type": "string"},
        "why": {"type": "string"},
    }
    properties |= {name: {"type": "object"} for name in more}
    return {"type": "object", "properties": properties, "required": list(properties)}


ANSWER_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "recommendation": _choice_schema("suggested_inputs"),
        "alternatives": {"type": "array", "items": _choice_schema(), "maxItems": MOST_ALTERNATIVES},
        "gap_warning": {"type": ["string", "null"]},
        "reasoning": {"type": "string"},
    },
    "required": ["recommendation", "alternatives", "gap_warning", "reasoning"],
}


@hookimpl
def helmdeck_packs() -> Sequence[Pack]:
    """Contribute the pack."""
    description = "Finds the one pack or pipeline that serves a request, and says what nothing serves."
    return (planning_pack(NAME, description, route, CONSTRAINT),)


async def route(context: PackContext, request: PlanRequest) -> Route:
    """Ask a model for a route and check every id against the whole catalog.

    :raises PackError: ``invalid_input`` for a blank request.
    :raises CallFailed: the model gave nothing usable.
    """
    inquiry = await Inquiry.begin(
        context, request, caller=NAME, kind="route", type=RouteAnswer, schema=ANSWER_SCHEMA, constraint=CONSTRAINT
    )
    answer = await inquiry.ask()
    names = resolver_of(context.catalog)
    value: RouteAnswer = answer.value
    chosen = _recommended(names, value.recommendation)
    is_found = chosen.kind is not RouteKind.NONE
    inquiry.remember(
        [chosen.suggested_inputs] if is_found else [],
        model=answer.model,
        outcome=chosen.kind.value,
        steps=(RecordedStep(1, chosen.id, args_sha(chosen.suggested_inputs)),) if is_found else (),
    )
    others = _alternatives(names, value.alternatives or (), chosen)
    facts = dict(answer.facts)
    facts["notices"] = (*facts["notices"], *unused_defaults(request.defaults, context.catalog))
    return Route(
        recommendation=chosen,
        alternatives=others,
        gap_warning=_gap_warning(names, value, chosen),
        reasoning=value.reasoning or "",
        **facts,
    )


def _recommended(names: EntryResolver, choice: Choice) -> Recommendation:
    entry = names.find(choice.id or "")
    if entry is None:
        return Recommendation(kind=RouteKind.NONE, id="", why=choice.why or "")
    inputs, _ = parse_arguments(choice.suggested_inputs)
    return Recommendation(
        kind=_kind(entry), id=entry.id, why=choice.why or "", suggested_inputs=as_declared(entry, inputs)
    )


def _alternatives(
    names: EntryResolver, choices: Sequence[Choice], chosen: Recommendation
) -> tuple[Recommendation, ...]:
    found: dict[str, Recommendation] = {}
    for choice in choices:
        entry = names.find(choice.id or "")
        if entry is not None and entry.id != chosen.id:
            found.setdefault(entry.id, Recommendation(kind=_kind(entry), id=entry.id, why=choice.why or ""))
    return tuple(found.values())[:MOST_ALTERNATIVES]


def _gap_warning(names: EntryResolver, value: RouteAnswer, chosen: Recommendation) -> str | None:
    warning = (value.gap_warning or "").strip()
    name = (value.recommendation.id or "").strip()
    if chosen.kind is not RouteKind.NONE:
        return warning or None
    if not name:
        return warning or "nothing in the catalog serves this request"
    nearest = names.nearest(name)
    hint = f"; nearest: {', '.join(nearest)}" if nearest else ""
    why = warning or value.reasoning or ""
    return f"the model named {name!r}, which does not exist{hint}" + (f". {why}" if why else "")


def _kind(entry: Entry) -> RouteKind:
    return RouteKind.PIPELINE if entry.kind is EntryKind.PIPELINE else RouteKind.PACK
