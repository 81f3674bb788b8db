"""Numbers that an input cannot take: "10 GB" for bytes, "70 °F" for degrees Celsius, dollars for euros, "five" of "four out of five", "1.5" as an integer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from helmdeck_language import Kind, Token, words
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.entries.properties import Property
from helmdeck_planner.embedded.entries.units import NUMBER_WORDS
from helmdeck_selection import input_properties

# Units that are not converted: whether "GB" has 1000 or 1024 MB is not stated.
_FAMILIES: Final = (
    "kb kilobyte kilobytes", "mb megabyte megabytes", "gb gigabyte gigabytes", "tb terabyte terabytes",
    "kib kibibyte kibibytes", "mib mebibyte mebibytes", "gib gibibyte gibibytes", "tib tebibyte tebibytes",
)  # fmt: skip
_SIZES: Final[Mapping[str, frozenset[str]]] = {
    word: frozenset(family.split()) for family in _FAMILIES for word in family.split()
}
_DEGREES: Final[Mapping[str, frozenset[str]]] = {"f": frozenset(("fahrenheit", "f")), "c": frozenset(("celsius", "c"))}
_CURRENCIES: Final = tuple(
    frozenset(family.split())
    for family in (
        "euro euros eur \u20ac",
        "dollar dollars usd $",
        "pound pounds gbp \u00a3",
        "franc francs chf",
        "yen jpy \u00a5",
    )
)
_REMINDING: Final = frozenset(("reminder", "remind", "before", "notify", "alert"))
_PAGES: Final = frozenset(("page", "per", "limit"))
_TO: Final = ("to", "through")
_REPLACING: Final = ("change", "update", "set", "correct", "raise", "lower", "increase", "decrease", "reduce", "bump")
_OLD: Final = frozenset(("old", "previous", "current", "min", "minimum", "start", "first", "low"))
_KELVIN: Final = frozenset(("kelvin", "k"))
_WHOLES: Final = frozenset(("total", "of", "scale", "max", "maximum", "most", "all"))


def cannot_take(tokens: Sequence[Token], place: int, each: Property) -> bool:
    """Whether the words beside a number say that it is not the one of an input."""
    is_share = _is_whole(tokens, place) and _WHOLES.isdisjoint(each.words)
    takes_pages = each.unit is None and not each.side and not _PAGES.isdisjoint(each.words)
    takes_pages = takes_pages and "new" not in words(each.text)  # "set the limit of card 1234 to 500"
    is_of_range = takes_pages and _is_of_range(tokens, place)
    is_former = is_old(tokens, place) and each.side != "source" and _OLD.isdisjoint(each.words)
    before = tokens[place - 1].value if place else ""
    if "-" in before and before.isupper() and before.replace("-", "").isalpha():
        return True  # the plate "B-AX 417"
    if before == "for" and not _REMINDING.isdisjoint(each.words):
        return True  # "a call for 15 minutes"
    starts_time = each.unit is not None and not each.side and _starts_time(tokens, place)
    return is_share or is_of_range or is_former or starts_time or _has_foreign_unit(tokens, place, each)


def _is_of_range(tokens: Sequence[Token], place: int) -> bool:
    """Whether a number is one of "21 to 40"."""
    return any(
        first >= 0 and len(run) == 3 and run[0].kind is run[2].kind is Kind.NUMBER and run[1].word in _TO
        for first in (place - 2, place)
        for run in (tokens[max(first, 0) : first + 3],)
    )


def is_old(tokens: Sequence[Token], place: int) -> bool:
    """Whether a number is the first one of "change the grade from 3 to 2"."""
    run = tokens[max(place - 1, 0) : place + 3]
    is_first = len(run) == 4 and run[0].word == "from" and run[2].word == "to" and run[3].kind is run[1].kind
    return is_first and any(token.word in _REPLACING for token in tokens[:place])


def _starts_time(tokens: Sequence[Token], place: int) -> bool:
    """Whether a number is the first hour of "from 10 to 11:30"."""
    run = tokens[place + 1 : place + 3]
    return len(run) == 2 and run[0].word in _TO and run[1].kind is Kind.TIME


def _has_foreign_unit(tokens: Sequence[Token], place: int, each: Property) -> bool:
    after = tokens[place + 1 : place + 3]
    known = frozenset((*each.words, *words(each.text)))
    if after and after[0].value == "\u00b0" and len(after) > 1:
        own = _DEGREES.get(after[1].word, frozenset())
        if own and each.unit is not None and each.unit.name not in ("celsius", "fahrenheit"):
            return True
        others = frozenset().union(*_DEGREES.values(), _KELVIN) - own
        return own.isdisjoint(known) and not others.isdisjoint(known)
    if _has_foreign_currency(tokens, place, known):
        return True
    return bool(after) and after[0].word in _SIZES and _SIZES[after[0].word].isdisjoint(known)


def _has_foreign_currency(tokens: Sequence[Token], place: int, known: frozenset[str]) -> bool:
    """Whether an amount is in another currency than the one of a description: "100 dollars" for "Amount in euros"."""
    near = {token.value.lower() for token in (*tokens[max(place - 1, 0) : place], *tokens[place + 1 : place + 2])}
    near.add(tokens[place].value[:1])
    stated = [family for family in _CURRENCIES if family & near]
    taken = [family for family in _CURRENCIES if family & known]
    return bool(stated and taken) and not any(family in taken for family in stated)


def _is_whole(tokens: Sequence[Token], place: int) -> bool:
    """Whether a number is the second one of "3 of 6" or "four out of five"."""
    before = place - 2 - (place > 2 and tokens[place - 2].word == "out")
    if before < 0 or tokens[place - 1].word != "of":
        return False
    return tokens[before].kind is Kind.NUMBER or tokens[before].word in NUMBER_WORDS


def takes_whole(profile: Profile, each: Property) -> bool:
    """Whether an input takes integers only."""
    schema: Any = input_properties(profile.entry).get(each.name, {})
    return isinstance(schema, Mapping) and schema.get("type") == "integer"
