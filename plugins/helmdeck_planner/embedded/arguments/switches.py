"""Fills switches: "with subtasks", "as unread", "nothing saved", "dead ones too"."""

from __future__ import annotations

import re
from typing import Final

from helmdeck_language import Kind, stem, words
from helmdeck_planner.embedded.arguments.choices import RESTRICTING, ends_clause, phrase_places
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.free_text import is_in_topic
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import ACTIVE_WORDS, INACTIVE_WORDS, SWITCHES_OFF, SWITCHES_ON
from helmdeck_planner.embedded.request.opposites import OPPOSITES
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.word_lists import stemmed

# "dead ones as well"
_TOO: Final = re.compile(r"(?: [a-z]{2,12}){0,2} (?:too|also|as well)\b", re.IGNORECASE)
_KEEPING: Final = stemmed("keeping")
_WHOLE: Final = ("whole", "entire", "complete", "full")


def fill_switches(draft: Draft) -> None:
    """Set an optional switch to true where the request contains all words of its name, or says the same in other words."""
    for each in draft.open_inputs():
        if each.role is Role.BOOLEAN:
            _fill_by_phrase(draft, each)
            if not each.is_required and each.name not in draft.args:
                _fill_by_name(draft, each)


def _fill_by_phrase(draft: Draft, each: Property) -> None:
    """Set a switch from a phrase of its lists, or from a word for its opposite."""
    name = " ".join(each.words)
    on, off = (phrase_places(draft, phrases.get(name, ()), each) for phrases in (SWITCHES_ON, SWITCHES_OFF))
    if set(on) <= set(off):
        on = []  # "no more thoughts" contains "more thoughts"
    if bool(on) != bool(off):
        draft.set(each, bool(on), [place for place in on or off if place != draft.part.verb_place])
    elif undone := [place for place in draft.free(Kind.WORD) if _is_undone(draft, each, place)]:
        draft.set(each, False, undone)


def _fill_by_name(draft: Draft, each: Property) -> None:
    """Set a switch from the words of its name."""
    if each.words == ("all",):
        places = [place for place in range(len(draft.tokens)) if draft.is_one_of(place, "including")]
        following = draft.part.verb_place + 1
        if draft.word(following) == "all" and draft.preposition(following + 1):
            places = [following]  # "reply all to m7"
        if places := places or _left_out_too(draft, each):
            draft.set(each, True, places[:1])
        return
    if "everything" in each.words and (places := _whole(draft, each)):
        draft.set(each, True, places)
        return
    wanted = {stem(word) for word in each.words if not draft.wording.is_filler(word)}
    if each.words[0] == "include" and len(wanted) > 1:
        wanted.discard(stem("include"))  # "with an image"
    if any(wanted <= other.labels for other in draft.profile.required if other is not each):
        return  # of "thought 1 of 5", none is "needs more thoughts"
    if not wanted or wanted & (draft.profile.nouns | draft.profile.verbs):
        return
    if wanted == {stem(draft.part.verb)} and draft.profile.writes:
        draft.set(each, True, [])  # "complete task 7": an update with ``completed``
        return
    places = [
        place
        for place in range(len(draft.tokens))
        if place != draft.part.verb_place
        and _parts_of(draft, place) & wanted
        and place not in draft.used_places
        and not is_in_topic(draft, place)
    ]
    if wanted <= {term for place in places for term in _parts_of(draft, place)}:
        draft.set(each, not any(_is_left_out(draft, place) for place in places), places)


def _is_left_out(draft: Draft, place: int) -> bool:
    """Whether a word is what "without" or "no" leaves out: "cancel it without a refund"."""
    before = place - 1
    while draft.is_determiner(before):
        before -= 1
    # "remove it but keep the volumes"
    is_kept = draft.profile.deletes and stem(draft.word(before)) in _KEEPING
    return is_kept or draft.leaves_out(before)


def _is_undone(draft: Draft, each: Property, place: int) -> bool:
    """Whether a word says the opposite of a switch: "as unread" for ``is_read``."""
    word = draft.tokens[place].word
    opposite = stem(OPPOSITES.get(word, ""))
    is_opposite = word.startswith("un") and opposite in each.labels and stem(word) not in each.labels
    return is_opposite and place != draft.part.verb_place and ends_clause(draft, each, place)


def fill_switches_beside(draft: Draft, part: Part) -> None:
    """Set open switches from the phrases of another part that leave everything else out: "nothing saved", "only a preview", not "no preview"."""
    own = draft.beside(part)
    for each in [each for each in draft.open_inputs() if each.role is Role.BOOLEAN]:
        for value, every in ((True, SWITCHES_ON), (False, SWITCHES_OFF)):
            phrases = [phrase for phrase in every.get(" ".join(each.words), ()) if phrase[0] in RESTRICTING]
            if phrase_places(own, phrases, each) and draft.set(each, value, []):
                draft.stated_by.append(part)


def _left_out_too(draft: Draft, each: Property) -> list[int]:
    """Return the place of "dead" in "dead ones too", for a switch that says that the running ones are not all."""
    if not ACTIVE_WORDS & set(words(each.text)):
        return []
    found = []
    for place, token in enumerate(draft.tokens):
        # A part ends before "as well" and "too".
        rest = _TOO.match(draft.source, token.end)
        if token.word in INACTIVE_WORDS and rest:
            found.append(place)
    return found


def _whole(draft: Draft, each: Property) -> list[int]:
    """Return the place of "everything" or "whole" in "wipe everything that's cached" and "flush its whole cache", for ``purge_everything``."""
    names = draft.profile.nouns
    if not {stem(word) for word in each.words if word != "everything"} <= names | draft.profile.verbs:
        return []
    start = draft.part.verb_place + 1
    is_object = 0 < start < len(draft.tokens) and draft.tokens[start].word == "everything"
    wholes = [place for place in range(len(draft.tokens) - 1) if draft.tokens[place].word in _WHOLE]
    wholes = [place for place in wholes if draft.stems(place + 1) & (names - draft.profile.verbs)]
    return [start] if is_object else wholes[:1]


def _parts_of(draft: Draft, place: int) -> frozenset[str]:
    """Return the stems of a word, and of both halves of "full-page"."""
    halves = draft.tokens[place].word.split("-")
    return draft.stems(place) | (frozenset(map(stem, halves)) if len(halves) > 1 else frozenset())
