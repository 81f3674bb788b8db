"""Values that an input may not have, wherever a rule finds them: a part of an image reference, "everything", a date without its time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final

from helmdeck_language import Kind, Token, iso_date, stem, words
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import COUNT_WORDS, EXCLUDING_WORDS, STATE_WORDS
from helmdeck_planner.embedded.request.word_lists import word_list
from helmdeck_selection import input_properties

_NEGATIONS: Final = word_list("negations") | {"without"}
NEGATED_NAMES: Final = EXCLUDING_WORDS | {"not", "without", "exclude", "excludes", "excluded", "except"}
_QUANTIFIERS: Final = word_list("quantifying_pronouns")
_NAMED: Final = (Role.TEXT, Role.NAME, Role.ID, Role.QUERY, Role.PLACE, Role.OWNER)
# Words between a negation and the value: "not containing abc1234".
_NEAR: Final = 4
# Words of names of inputs that take a lower bound.
_LOWER: Final = frozenset(("min", "minimum", "least", "above", "over", "more"))
# Verbs behind which "by" says how much, and words of inputs that take that.
_RAISING: Final = word_list("raising")
_CHANGES: Final = word_list("changes")
_ADDING: Final = word_list("adding_amounts")
_LOSING: Final = word_list("losing")
_DIFFERENCES: Final = frozenset(("delta", "difference", "increment", "decrement"))
# Inputs with the same choices, from which a word alone says nothing.
_MANY: Final = 3
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
_DAY_OF_MONTH: Final = re.compile(
    r"\d{1,2}(?:st|nd|rd|th)? [A-Za-z]{3,9},? \d{4}|[A-Za-z]{3,9} \d{1,2}(?:st|nd|rd|th)?,? \d{4}"
)
_TIME_OF_DAY: Final = re.compile(r"\d{1,2}:\d\d|\d ?[ap]m\b|T\d\d", re.IGNORECASE)
_MOMENT: Final = re.compile(r"yyyy-mm-ddthh|\d{4}-\d\d-\d\dt\d\d:\d\d", re.IGNORECASE)


DATE_AND_TIME: Final = re.compile(r"\bdate and (?:\w+ )?time\b", re.IGNORECASE)
"""What a description says of an input that takes a date with a time."""


def is_refused(tokens: Sequence[Token], profile: Profile, each: Property, value: Any, places: Sequence[int]) -> bool:
    """Whether an input does not take a value from some places."""
    if isinstance(value, str) and each.role is Role.DATE and not _is_possible(value, profile, each):
        return True
    if isinstance(value, str) and takes_referenced_object(profile, each):
        return True
    if not places:
        return False
    token = tokens[places[0]]
    is_alone = len(places) == 1 and value == token.value
    return (
        _is_negated(tokens, each, places[0])
        or (each.role is Role.ID and _has_its_own(tokens, each, places[0]))
        or (is_alone and image_at(tokens, places[0]) is not None)
        or ((is_alone or value == [token.value]) and _is_quantifier(token, each))
        or (is_alone and token.kind is Kind.ID and each.role is Role.TEXT and bool(STATE_WORDS & set(each.words)))
        or (each.role is Role.CHOICE and _is_one_of_many(tokens, profile, each))
        or (each.role is Role.NUMBER and _is_lower_bound(tokens, each, places[0]))
        or (each.role is Role.NUMBER and _is_change(tokens, profile, each, places[0]))
    )


def _is_possible(value: str, profile: Profile, each: Property) -> bool:
    """Whether a date exists, and has a time where the entry changes something at that time."""
    if DATE_AND_TIME.search(each.text) and profile.writes is not False and not _TIME_OF_DAY.search(value):
        return False
    if _DAY.fullmatch(value):
        schema = _schema(profile, each)
        is_moment = schema.get("format") == "date-time" or bool(_MOMENT.search(each.text))
        is_day = bool(each.wants_iso_date) and schema.get("format") != "date-time"
        return _exists(value) and not (is_moment and not is_day and profile.writes is not False)
    return not _DAY_OF_MONTH.fullmatch(value) or bool(iso_date(value))


def _exists(day: str) -> bool:
    try:
        date.fromisoformat(day)
    except ValueError:
        return False
    return True


def _has_its_own(tokens: Sequence[Token], each: Property, place: int) -> bool:
    """Whether a value is what the thing of an input is of: "the latest backup of web-1", "web-1's backups"."""
    is_of = place > 1 and tokens[place - 1].word == "of" and stem(tokens[place - 2].word) in each.labels
    after = tokens[place + 1 : place + 4]
    is_owner = len(after) == 3 and after[0].value in "'\u2019" and after[1].word == "s"
    return is_of or (is_owner and stem(after[2].word) in each.labels)


def _is_negated(tokens: Sequence[Token], each: Property, place: int) -> bool:
    """Whether "not" is before the label of a value: "not containing abc1234"."""
    if not NEGATED_NAMES.isdisjoint(each.words) or (tokens[place].kind is Kind.QUOTE and each.role is Role.CONTENT):
        return False
    labels = each.stems
    before = tokens[max(place - _NEAR, 0) : place]
    negated = [number for number, token in enumerate(before) if is_negation(token)]
    return bool(negated) and any(stem(token.word) in labels for token in before[negated[-1] + 1 :])


def is_negation(token: Token) -> bool:
    """Whether a word is "not", "don't" or "without"."""
    return token.is_word and (token.word in _NEGATIONS or token.word.replace("\u2019", "'").endswith("n't"))


def image_at(tokens: Sequence[Token], place: int) -> range | None:
    """Return the places of "ghcr.io/acme/api:2.1.0", of which a token is a part; a line is none: "src/a.py:12"."""
    for start in range(max(place - 2, 0), place + 1):
        run = tokens[start : start + 3]
        if len(run) < 3 or run[1].value != ":" or "/" not in run[0].value or run[0].kind not in (Kind.PATH, Kind.SLUG):
            continue
        is_joined = run[0].end == run[1].start and run[1].end == run[2].start
        if is_joined and run[2].kind is not Kind.QUOTE and not run[2].value.isdecimal():
            return range(start, start + 3)
    return None


def _is_lower_bound(tokens: Sequence[Token], each: Property, place: int) -> bool:
    """Whether a number says how many there are at least, which no input for a number of results takes: "with more than 100 stars"."""
    before = [token.word for token in tokens[:place]]
    size = 2 if before[-2:] in (["more", "than"], ["at", "least"]) else int(before[-1:] in (["over"], ["above"]))
    # "no more than 15" and "don't show more than 15" are upper bounds.
    is_negated = any(
        is_negation(token) or token.word in ("no", "nothing") for token in tokens[max(place - size - 2, 0) : place]
    )
    is_bound = size > 0 and not is_negated
    return is_bound and bool(COUNT_WORDS & set(each.words)) and _LOWER.isdisjoint(each.words)


def _is_change(tokens: Sequence[Token], profile: Profile, each: Property, place: int) -> bool:
    """Whether a number is a difference and an input takes the new value, or the reverse: "raise the price by 2", "set it to 40"."""
    before = tokens[place - 1].word if place else ""
    is_step = before == "by" and any(token.word in _RAISING for token in tokens[:place])
    # "add 5 of A-100", for "set the stock"
    is_step = is_step or (before in _ADDING and profile.verb == "set")
    if is_step and profile.verb not in _RAISING:
        return _CHANGES.isdisjoint({*each.words, *words(each.text)})
    takes_difference = not _DIFFERENCES.isdisjoint(each.words)
    # "we lost 2" is no difference of 2.
    return takes_difference and (before == "to" or any(token.word in _LOSING for token in tokens))


def _is_quantifier(token: Token, each: Property) -> bool:
    """Whether a pronoun names nothing: "everything"; a description may have it for a value."""
    is_pronoun = token.is_word and token.value in _QUANTIFIERS
    return is_pronoun and each.role in _NAMED and token.word not in words(each.text)


def _is_one_of_many(tokens: Sequence[Token], profile: Profile, each: Property) -> bool:
    """Whether several inputs have the same choices, and no word says which one is meant."""
    equal = [other for other in profile.properties if other.role is Role.CHOICE and other.choices == each.choices]
    if len(equal) < _MANY:
        return False
    own = each.labels | each.hints | each.stems
    others = [other.labels | other.hints | other.stems for other in equal if other is not each]
    telling = own - frozenset[str]().union(*others)
    return all(stem(token.word) not in telling and token.value != each.name for token in tokens)


def takes_referenced_object(profile: Profile, each: Property) -> bool:
    """Whether the schema of an input is a reference to that of an object."""
    reference = _schema(profile, each).get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return False
    found: Any = profile.entry.input_schema
    for key in reference[2:].split("/"):
        found = found.get(key) if isinstance(found, Mapping) else None
    return isinstance(found, Mapping) and found.get("type") == "object"


def _schema(profile: Profile, each: Property) -> Mapping[str, Any]:
    schema: Any = input_properties(profile.entry).get(each.name, {})
    return schema if isinstance(schema, Mapping) else {}
