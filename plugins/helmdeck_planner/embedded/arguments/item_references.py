"""What "it" and "him" are as a value of an object: the name of the only object of the step before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.item_clauses import PERSONS
from helmdeck_planner.embedded.arguments.sources import Earlier
from helmdeck_planner.embedded.entries.properties import Property

SIDES: Final = {"from": "source", "to": "target"}
"""Which of two things follows a preposition."""


def name_before(draft: Draft, each: Property, earlier: Sequence[Earlier]) -> str:
    """Return the name of the only object of the step before, if a pronoun stands for a field; empty otherwise."""
    words = PERSONS | draft.wording.language.references
    places = [place for place, token in enumerate(draft.tokens) if token.word in words]
    # "link it to Bob"
    is_object = each.side == "source" and draft.part.verb_place + 1 in places
    last = next((row for row in reversed(earlier) if row.profile is not None), None)
    if last is None or not places or (each.side and not is_object):
        return ""
    items = [item for value in last.args.values() if isinstance(value, list) for item in value]
    names = {_name_of(item) for item in items if isinstance(item, dict)}
    return names.pop() if len(names) == 1 else ""


def _name_of(item: Mapping[str, Any]) -> str:
    """Return the name of an object; empty without one."""
    names = [value for key, value in item.items() if key.lower().endswith("name") and isinstance(value, str)]
    return names[0] if len(names) == 1 else ""
