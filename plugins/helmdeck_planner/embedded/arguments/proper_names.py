"""Fills inputs from names without a label: the only name, a person, a channel, a category, what is before a date."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Final

from helmdeck_language import Kind, stem
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.free_text import describes_entry
from helmdeck_planner.embedded.arguments.ids import EXAMPLE, shape, takes_names
from helmdeck_planner.embedded.arguments.labels import word_before_label
from helmdeck_planner.embedded.arguments.listed import is_joined, joined_names, set_names
from helmdeck_planner.embedded.arguments.names import set_person
from helmdeck_planner.embedded.arguments.unlabelled_names import (
    INSIDE_NAMES,
    after_verb,
    is_owner,
    is_person,
    is_plain,
    is_title,
    is_titled,
    names_in,
    starts_sentence,
)
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import (
    CONTAINERS,
    FIRST_NAME,
    LAST_NAME,
    PLAIN_WORDS,
)

# "e.g. B-AX 417"
_SPACED_EXAMPLE: Final = re.compile(
    r"(?:e\.g\.,?|such as|like|example:?)\s+['\"`]?([A-Z][\w-]{0,9} \d{1,9})\b", re.IGNORECASE
)
_NAMED: Final = re.compile(r"\bnames?\b|\bonly this\b|\bsuch as\b", re.IGNORECASE)
_SPENT: Final = ("on", "for")
_FIRST_AND_LAST: Final = 2
_TITLE: Final = frozenset((stem("title"),))
_APOSTROPHES: Final = ("'", "’")
_ASKING: Final = ("do", "does", "did")
_HAVING: Final = ("have", "need", "use")


def fill_proper_names(draft: Draft) -> None:
    """Set the only open required name, and the only person that an entry takes beside it."""
    needed = [each for each in draft.open_inputs() if each.is_required and _takes_name(each)]
    if not needed and not draft.profile.writes:
        # "list the ships in Bergen": a text without a description.
        needed = [each for each in draft.open_inputs() if each.is_required and each.role is Role.TEXT and not each.text]
    people = [each for each in draft.open_inputs() if is_person(each) and _takes_name(each)]
    _fill_alike(draft)
    _fill_channel(draft)
    _fill_whole_name(draft)
    _fill_subject(draft, needed)
    _fill_dated(draft)
    _fill_category(draft)
    needed = [each for each in needed if each.name not in draft.args]
    if len(needed) == 1:
        others = [] if is_person(needed[0]) else [each for each in people if each is not needed[0]]
        runs = names_in(draft, needed[0])
        runs = [run for run in runs if not (others and (is_owner(draft, run) or is_titled(draft, run)))]
        if len(runs) > 1 and others:
            runs = [run for run in runs if run[0] > 0]
        chosen = _chosen(draft, runs)
        if needed[0].is_list and runs and len(joined_names(draft, runs[0])) == len(runs):
            chosen = runs[0]
        if chosen:
            set_names(draft, needed[0], chosen)
    is_open = any(each.name not in draft.args for each in needed)
    people = [each for each in people if each.name not in draft.args and not each.is_required]
    if len(people) == 1:
        runs = [run for run in names_in(draft, people[0]) if _is_stated_as_person(draft, run)]
        runs = [run for run in runs if is_titled(draft, run) or not is_open]
        if len(runs) == 1:
            draft.set_text(people[0], runs[0])
    if is_open:
        return
    texts = [each for each in draft.open_inputs() if each.role in (Role.NAME, Role.TEXT)]
    if len(texts) == 1 and not draft.profile.required:
        runs = names_in(draft, texts[0])
        # "play something by Nina Simone" names no device.
        is_maker = len(runs) == 1 and draft.preposition_before(runs[0][0]) == "by"
        if len(runs) == 1 and not is_joined(draft, runs[0][0]) and not is_maker:
            draft.set_text(texts[0], runs[0])
    _fill_container(draft)


def _fill_whole_name(draft: Draft) -> None:
    """Set a first and a last name from the only name of two words: "met Paulo Brandt at the fair"."""
    names = [each for each in draft.open_inputs() if each.is_required and (FIRST_NAME | LAST_NAME) & set(each.words)]
    if len(names) == _FIRST_AND_LAST:
        found = (
            itertools.takewhile(lambda at: draft.tokens[at].word not in INSIDE_NAMES, run)
            for run in names_in(draft, names[0])
        )
        runs = [[place for place in run if not is_title(draft, place)] for run in found]
        runs = [run for run in runs if len(run) > 1]
        if len(runs) == 1:
            set_person(draft, runs[0])


def _fill_subject(draft: Draft, needed: Sequence[Property]) -> None:
    """Set the only required name from the subject of a question: "which id does Chart.js have"."""
    for place in range(1, len(draft.tokens) - 1) if draft.part.is_question and len(needed) == 1 else ():
        subject = draft.tokens[place]
        is_between = draft.tokens[place - 1].word in _ASKING and draft.tokens[place + 1].word in _HAVING
        is_name = subject.is_value or (
            subject.is_word and not draft.is_filler(place) and not describes_entry(draft, place)
        )
        if is_between and is_name and place not in draft.used_places:
            set_names(draft, needed[0], [place])


def _fill_category(draft: Draft) -> None:
    """Set a category from the noun before the word for a thing, or a required one from the only noun in lower case that an amount is for: "spent 8 on groceries", "40 a month for books"."""
    inputs = [each for each in draft.open_inputs() if "category" in each.words]
    if len(inputs) != 1 or inputs[0].role not in (Role.NAME, Role.TEXT) or inputs[0].is_list:
        return
    own = word_before_label(draft, draft.profile.nouns)
    if own and draft.tokens[own[0]].word not in PLAIN_WORDS and not draft.tokens[own[0]].word.endswith("ly"):
        draft.set_text(inputs[0], own)  # "the groceries budget"
        return
    if not inputs[0].is_required:
        return
    places = [
        place
        for place in range(2, len(draft.tokens))
        if draft.preposition(place - 1) in _SPENT and is_plain(draft, place) and not describes_entry(draft, place)
    ]
    if len(places) == 1:
        draft.set_text(inputs[0], places)


def _fill_dated(draft: Draft) -> None:
    """Set a title from the words before a date that start a sentence: "Parents' evening on 8 December, put it down"."""
    inputs = [each for each in draft.profile.required if not is_person(each)]
    inputs = [each for each in inputs if each.role is Role.NAME or (each.role is Role.CONTENT and _TITLE & each.hints)]
    if len(inputs) != 1 or inputs[0].name in draft.args or not draft.profile.writes:
        return
    start = next((place for place in range(len(draft.tokens)) if starts_sentence(draft, place)), -1)
    if start < 0 or start == draft.part.verb_place or not draft.tokens[start].is_capital:
        return
    end = start
    while end < len(draft.tokens) and end not in draft.used_places:
        if not (draft.tokens[end].is_word or draft.tokens[end].value in _APOSTROPHES):
            break
        if draft.is_filler(end) or draft.preposition(end) or end == draft.part.verb_place:
            break
        end += 1
    date = end + bool(draft.preposition(end))
    is_dated = date < len(draft.tokens) and draft.tokens[date].kind in (Kind.DATE, Kind.TIME)
    if end > start and is_dated and not describes_entry(draft, start):
        draft.set(inputs[0], draft.text(start, end - 1), list(range(start, end)))


def _fill_alike(draft: Draft) -> None:
    """Set a text from the only word that looks like the example of its description: "e7e5" for "such as e2e4".

    An optional one needs its own name before the word: "since 5m" for "such as 2h".
    """
    for each in draft.open_inputs():
        if _fill_spaced(draft, each):
            continue
        example = EXAMPLE.search(each.text) if each.role in (Role.NAME, Role.TEXT, Role.ID, Role.DATE) else None
        if example is None or not any(char.isdigit() for char in example[1]):
            continue
        places = draft.free(Kind.WORD, Kind.ID, Kind.PATH, Kind.SLUG)
        if not (each.is_required and _takes_name(each)):
            places = [place for place in places if place and draft.tokens[place - 1].word in each.words]
        places = [place for place in places if shape(draft.tokens[place].value) == shape(example[1])]
        if len(places) == 1:
            draft.set_text(each, places)


def _fill_spaced(draft: Draft, each: Property) -> bool:
    """Set a required text from the only two tokens that look like an example of two: "B-AX 417" for "e.g. M-KL 12"."""
    example = _SPACED_EXAMPLE.search(each.text) if each.is_required and not each.is_list else None
    if example is None or each.role not in (Role.NAME, Role.TEXT, Role.ID):
        return False
    pairs = [
        (place, place + 1)
        for place in range(len(draft.tokens) - 1)
        if draft.used_places.isdisjoint((place, place + 1))
        and draft.tokens[place + 1].start == draft.tokens[place].end + 1
        and shape(draft.text(place, place + 1)) == shape(example[1])
    ]
    return len(pairs) == 1 and draft.set(each, draft.text(*pairs[0]), pairs[0])


def _fill_channel(draft: Draft) -> None:
    """Set a channel from the only word with "#": "let #kitchen know"."""
    inputs = [each for each in draft.open_inputs() if "channel" in each.words and each.role is Role.NAME]
    draft.set_only(inputs, [place for place in draft.free(Kind.HASH) if not draft.tokens[place].value[1:].isdigit()])


def _fill_container(draft: Draft) -> None:
    """Set where a named thing is: "worker in batch" for a namespace, "Invoices under Inbox" for a parent folder."""
    inputs = [each for each in draft.open_inputs() if CONTAINERS & set(each.words) and _takes_container(each)]
    for place in range(2, len(draft.tokens)):
        is_inside = draft.is_one_of(place - 1, "inside") and place - 2 in draft.used_places
        token = draft.tokens[place]
        is_name = (token.is_word and not draft.is_filler(place)) or token.kind in (Kind.ID, Kind.QUOTE)
        ends = place + 1 >= len(draft.tokens) or not is_plain(draft, place + 1)
        is_of_name = draft.tokens[place - 2].value in draft.args.values()
        if len(inputs) == 1 and is_inside and is_name and ends and is_of_name:
            draft.set(inputs[0], token.value, [place])
            return


def _is_stated_as_person(draft: Draft, run: Sequence[int]) -> bool:
    """Whether a name has a title, owns something, does something, or is the one that a thing is for or by."""
    is_related = draft.preposition(run[0] - 1) in ("for", "by", "with")
    return is_owner(draft, run) or is_titled(draft, run) or starts_sentence(draft, run[0]) or is_related


def _takes_container(each: Property) -> bool:
    return _takes_name(each) or (each.role is Role.TEXT and each.words == ("parent",))


def _takes_name(each: Property) -> bool:
    """Whether an input takes a name: a text does if its description names it, or names a thing or a person only."""
    is_named_text = each.role is Role.TEXT and (bool(_NAMED.search(each.text)) or is_person(each))
    return each.role is Role.NAME or is_named_text or (each.role is Role.ID and takes_names(each))


def _chosen(draft: Draft, runs: Sequence[list[int]]) -> list[int]:
    """Return the object of the verb, else the only name."""
    direct = [run for run in runs if run[0] == after_verb(draft)]
    return direct[0] if direct else runs[0] if len(runs) == 1 else []
