"""Names that a list input takes, and those behind a verb that is named as an input: "label it bug and auth", "assign it to ana"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from helmdeck_language import Kind
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.ids import takes_names
from helmdeck_planner.embedded.arguments.name_words import is_noun_of_name, word_run
from helmdeck_planner.embedded.entries.properties import Property, Role

_NAMES: Final = (Kind.WORD, Kind.ID, Kind.SLUG, Kind.QUOTE, Kind.HASH)
BEING: Final = ("is", "are", "was", "were")
"""Words before a name that is their subject: "is Aspen free"."""
_GOING: Final = ("go", "goes")


def set_names(draft: Draft, each: Property, places: list[int]) -> bool:
    """Set an input from a name; a list from all names that commas and "and" join to it."""
    runs = joined_names(draft, places) if each.is_list else [places]
    values = [draft.text(run[0], run[-1]) for run in runs]
    return draft.set(each, values if each.is_list else values[0], [place for run in runs for place in run])


def joined_names(draft: Draft, first: list[int]) -> list[list[int]]:
    """Return a name, and the names that commas and "and" join to it: "Anna, Ben and Zoe"."""
    runs = [_with_noun(draft, first)]
    place = runs[0][-1] + 1
    while place + 1 < len(draft.tokens) and draft.joins_list(place):
        following = place + 1
        if draft.tokens[place].value == "," and _is_last(draft, runs):
            break  # "Rome and Lisbon, several answers allowed"
        if is_name_of_list(draft, following) and not _acts(draft, following):
            runs.append(_with_noun(draft, word_run(draft, following)))
            place = runs[-1][-1]
        place += 1
    return runs


def is_joined(draft: Draft, place: int) -> bool:
    """Whether a name is of one list with another value: "web-2" of "delete the pods web-1 and web-2" is no namespace."""
    return draft.joins_list(place - 1) and place - 2 in draft.used_places


def _is_last(draft: Draft, runs: Sequence[Sequence[int]]) -> bool:
    """Whether "and" is before the last name of a list of several."""
    return len(runs) > 1 and draft.is_joint(runs[-1][0] - 1)


def _acts(draft: Draft, place: int) -> bool:
    """Whether a word behind a comma says what else is done: "goes to" in "labels bug and ui, goes to ana"."""
    is_verb = draft.tokens[place].word.endswith("s") and draft.preposition(place + 1) == "to"
    return is_verb and not draft.is_joint(place - 1)


def _with_noun(draft: Draft, run: list[int]) -> list[int]:
    """Return a name in capitals with the noun behind it: "Fax machine"."""
    end = run[-1] + 1
    is_name = draft.tokens[run[-1]].is_word and draft.tokens[run[-1]].is_capital
    if draft.word(run[0] - 1) in BEING:
        return run  # "is Aspen free"
    return [*run, end] if is_name and end < len(draft.tokens) and is_noun_of_name(draft, end) else run


def is_name_of_list(draft: Draft, place: int) -> bool:
    """Whether a word or value continues a list of names; in "label bug, assignee ana", the label of another input does not."""
    labels = draft.profile.labels
    is_free = draft.tokens[place].kind in _NAMES and place not in draft.used_places and not draft.is_filler(place)
    return is_free and not draft.stems(place) & labels


def fill_by_verb(draft: Draft) -> None:
    """Set the only open input that the verb of a part names, from what is behind "to" or "with", or behind "it"."""
    verb = draft.part.verb_place
    inputs = [each for each in draft.open_inputs() if verb >= 0 and _is_named_by(draft, each, verb)]
    starts = [place + 1 for place in range(verb + 1, len(draft.tokens) - 1) if _leads(draft, place)]
    starts = [place for place in starts if is_name_of_list(draft, place)]
    if len(inputs) != 1 or not starts:
        return
    runs = joined_names(draft, word_run(draft, starts[-1]))
    end = runs[-1][-1] + 1
    if end >= len(draft.tokens) or not draft.tokens[end].is_word or draft.preposition(end):
        set_names(draft, inputs[0], runs[0])


def fill_receiver(draft: Draft) -> None:
    """Set the only open input that takes people, or a required name, from the name behind "goes to" or "should go to": "it goes to ana"."""
    open_names = [each for each in draft.open_inputs() if each.role in (Role.NAME, Role.TEXT)]
    people = [each for each in open_names if each.takes_people]
    inputs = people or [each for each in open_names if each.is_required]
    for place in range(2, len(draft.tokens)) if len(inputs) == 1 else ():
        is_name = bool(people) or draft.tokens[place].is_capital
        if is_receiver(draft, place) and is_name and is_name_of_list(draft, place):
            set_names(draft, inputs[0], word_run(draft, place))


def is_receiver(draft: Draft, place: int) -> bool:
    """Whether a thing goes to what is at a place: "it goes to ana", "it should go to ana"."""
    return place > 1 and draft.tokens[place - 2].word in _GOING and draft.tokens[place - 1].word == "to"


def _leads(draft: Draft, place: int) -> bool:
    """Whether the value of "assign #5 to ana", "tag #5 with bug" and "label it bug" starts behind a word."""
    is_object = place == draft.part.verb_place + 1 and draft.is_reference(place)
    return draft.preposition(place) in ("to", "with") or is_object


def _is_named_by(draft: Draft, each: Property, verb: int) -> bool:
    """Whether a verb is the name of an input: "label"."""
    takes_name = each.role in (Role.NAME, Role.TEXT) or (each.role is Role.ID and takes_names(each))
    return takes_name and bool(draft.stems(verb) & each.labels)
