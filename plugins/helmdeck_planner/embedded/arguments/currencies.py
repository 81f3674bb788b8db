"""Currencies by their codes or names: "how many yen are 350 euros"."""

from __future__ import annotations

from helmdeck_language import Kind
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.entries.properties import Role
from helmdeck_planner.embedded.entries.property_words import CURRENCIES, CURRENCY_NAMES


def fill_currencies(draft: Draft) -> None:
    """Set currencies by their codes or names: of "how many yen are 350 euros", the amount is in the source."""
    inputs = [each for each in draft.open_inputs() if each.role is Role.CURRENCY]
    found = [row for place in draft.free(Kind.WORD) if (row := _currency(draft, place))] if inputs else []
    sides = {each.side: each for each in inputs}
    paid = [row for row in found if _follows_amount(draft, row[1][0])]
    if len(found) == 2 and len(paid) == 1 and {"source", "target"} == sides.keys():
        other = next(row for row in found if row is not paid[0])
        draft.set(sides["source"], *paid[0])
        draft.set(sides["target"], *other)
    elif len(found) == len(inputs) and not any(draft.preposition_before(row[1][0]) for row in found):
        for each, row in zip(inputs, found, strict=True):
            draft.set(each, *row)
    for each in [each for each in inputs if each.name not in draft.args]:
        wanted = ("from",) if each.side == "source" else ("to", "until", "in")
        own = [row for row in found if draft.preposition_before(row[1][0]) in wanted or row in paid]
        own = [row for row in own if (row in paid) == (each.side == "source")] if paid else own
        if len(own) == 1:
            draft.set(each, *own[0])


def _currency(draft: Draft, place: int) -> tuple[str, list[int]] | None:
    """Return the code of a currency, and the places of "Swiss francs"."""
    token = draft.tokens[place]
    if token.value in CURRENCIES:
        return token.value, [place]
    pair = f"{draft.tokens[place - 1].word} {token.word}" if place else ""
    if pair in CURRENCY_NAMES:
        return CURRENCY_NAMES[pair], [place - 1, place]
    following = draft.word(place + 1)
    if f"{token.word} {following}" in CURRENCY_NAMES:
        return None
    if token.word in CURRENCY_NAMES:
        return CURRENCY_NAMES[token.word], [place]
    # "a Swiss firm wants 320 francs"
    apart = [pair for other in draft.tokens if (pair := f"{other.word} {token.word}") in CURRENCY_NAMES]
    return (CURRENCY_NAMES[apart[0]], [place]) if len(apart) == 1 else None


def _follows_amount(draft: Draft, place: int) -> bool:
    return place > 0 and draft.tokens[place - 1].kind is Kind.NUMBER
