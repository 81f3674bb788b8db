"""Postal addresses: "Main St 5, 80331 Munich", "12 Main St, Springfield, IL 62701", and postcodes on two sides."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from helmdeck_language import Kind
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.entries.properties import Property, Role

_REST: Final = r"[\w.'\u2019-]{0,30}"
_NAME: Final = rf"[^\W\d_]{_REST}"
_CAPITAL: Final = rf"[^\W\d_a-z]{_REST}"
_STREET: Final = rf"{_CAPITAL}(?: {_NAME}){{0,3}} \d{{1,5}}[A-Za-z]?|\d{{1,5}}[A-Za-z]? {_NAME}(?: {_NAME}){{0,3}}"
_CITY: Final = rf"{_CAPITAL}(?: {_CAPITAL}){{0,2}}"
_ADDRESS: Final = re.compile(
    rf"(?<!\w)(?P<street>{_STREET}), ?(?:(?P<zip>\d{{4,6}}) )?(?P<city>{_CITY})(?:, (?P<state>[A-Z]{{2}})(?: (?P<late>\d{{5}}))?)?(?!\w)"
)
_POSTCODE: Final = re.compile(r"\d{4,6}")
_PARTS: Final[Mapping[str, frozenset[str]]] = {
    "street": frozenset(("street", "address", "line1")),
    "zip": frozenset(("zip", "zipcode", "postcode", "postal", "plz")),
    "city": frozenset(("city", "town")),
    "state": frozenset(("state", "province")),
}
_SIDES: Final = {"from": "source", "to": "target"}


def fill_addresses(draft: Draft) -> None:
    """Set the inputs for a street, a postcode and a city, and those for two postcodes."""
    inputs = {part: [each for each in draft.open_inputs() if _takes(each, part)] for part in _PARTS}
    _fill_postcodes(draft, inputs["zip"])
    if not (inputs["street"] and inputs["city"]) or any(len(every) > 1 for every in inputs.values()):
        return
    found = _ADDRESS.search(draft.source, draft.tokens[0].start) if draft.tokens else None
    if found is None or found.end() > draft.tokens[-1].end:
        return
    start = draft.part.verb_place + 1
    values = {**found.groupdict(), "zip": found["zip"] or found["late"]}
    for part, every in inputs.items():
        if every and values[part]:
            first = found.start(part) if part != "zip" else found.start("zip" if found["zip"] else "late")
            places = [
                place
                for place, token in enumerate(draft.tokens[start:], start)
                if first <= token.start < first + len(values[part])
            ]
            draft.set(every[0], values[part], places)


def _takes(each: Property, part: str) -> bool:
    is_text = each.role in (Role.TEXT, Role.NAME, Role.PLACE, Role.ID, Role.CONTENT, Role.OTHER) and not each.is_list
    return is_text and not each.choices and not _PARTS[part].isdisjoint(each.words)


def _fill_postcodes(draft: Draft, inputs: list[Property]) -> None:
    """Set two postcodes from the numbers after "from" and "to"."""
    if sorted(each.side for each in inputs) != ["source", "target"]:
        return
    for place in draft.free(Kind.NUMBER, Kind.ID):
        side = _SIDES.get(draft.preposition_before(place))
        if side and _POSTCODE.fullmatch(draft.tokens[place].value):
            draft.set_text(next(each for each in inputs if each.side == side), [place])
