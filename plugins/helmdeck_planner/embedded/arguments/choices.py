"""Fills inputs whose values are a closed list, codes and colours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from helmdeck_language import STOP_WORDS, Kind, fold, split_identifier, stem, words
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.examples import fill_name_beside
from helmdeck_planner.embedded.arguments.free_text import has_reference, is_in_topic, names_entry
from helmdeck_planner.embedded.arguments.labels import has_label
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import (
    ATTRIBUTES,
    CHOICE_PHRASES,
    CHOICE_WORDS,
    COLOUR_NAMES,
    COLOURS,
    KIND_WORDS,
    PLAIN_WORDS,
    SUPERLATIVES,
)
from helmdeck_planner.embedded.request.word_lists import word_list

# "1=Urgent"
_CODES: Final = re.compile(r"(?<![\w.])(-?\d{1,3})\s?=\s?([A-Za-z]{2,20})\b")
# Words of inputs whose choices are things with names: "deployment", but not the "type" of a record.
_THING_KINDS: Final = frozenset(("resource", "kind", "object", "entity"))
_COMPARING: Final = word_list("comparing")
RESTRICTING: Final = word_list("restricting")
"""Words that leave everything else out: "only", "nothing"."""
_SORTING: Final = frozenset(("sort", "order", "orderby", "sorting"))
_COLOUR_STEMS: Final = frozenset(map(stem, COLOUR_NAMES))


def fill_choices(draft: Draft) -> None:
    """Set the inputs of which a part names a choice."""
    for each in draft.open_inputs():
        if each.role is not Role.CHOICE:
            continue
        found = [(value, place) for value in each.choices if (place := _choice_place(draft, each, value)) is not None]
        if not each.is_required and not has_reference(draft):
            # "The stock count is done; show me who comes": the fact before says nothing about who comes.
            found = [row for row in found if draft.tokens[row[1]].start >= draft.tokens[0].start]
        if found and _has_other_side(draft, each):
            found = [row for row in found if _side_before(draft, row[1]) == each.side]
        if len(found) == 1 and any(draft.is_one_of(row, "including") for row in range(len(draft.tokens))):
            # "the branches, remote ones included"
            found = [(value, found[0][1]) for value in each.choices if str(value).lower() == "all"] or found
        if (verb := _choice_of_verb(draft, each)) is not None:
            found = [(verb, -1)]
        if len(found) > 1:
            found = [row for row in found if str(row[0]).lower() != "all"]
            literal = [row for row in found if _choice_places(draft, row[0])]
            if _is_action(each) or (_is_state(each) and draft.profile.writes):
                # "approve it with the comment ...", "close the open issue 5": the verb is the action, or the new state.
                literal = [row for row in found if row[1] == draft.part.verb_place] or literal
            found = _longest(literal or found)
        if len(found) > 1 and each.is_required and draft.profile.writes:
            # "it should be on strict, flexible was never meant": the new state is the one after a preposition.
            after = [row for row in found if row[1] > 0 and draft.preposition(row[1] - 1) in ("to", "on", "into", "as")]
            found = after if len(after) == 1 else found
        if len(found) == 1:
            value, place = found[0]
            draft.set(each, value, [place] if place >= 0 else [])
            draft.used_places.update(_choice_places(draft, value))
            if place >= 0 and not _THING_KINDS.isdisjoint(each.words):
                fill_name_beside(draft, place)


def _has_other_side(draft: Draft, each: Property) -> bool:
    """Whether another input takes the same choices for the other side: ``source`` and ``target``."""
    others = (other for other in draft.profile.properties if other.choices == each.choices)
    return bool(each.side) and any(other.side and other.side != each.side for other in others)


def _side_before(draft: Draft, place: int) -> str:
    """Return the side that the preposition before a place names: "from staging to production"."""
    return {"from": "source", "to": "target", "into": "target"}.get(draft.preposition_before(place), "")


def fill_coded(draft: Draft) -> None:
    """Set numbers that stand for words, as their description says: "urgent" for "0=None, 1=Urgent, 2=High"."""
    for each in draft.open_inputs():
        codes = _CODES.findall(each.text) if each.role is Role.NUMBER else []
        found = {
            (code, place)
            for code, word in codes
            for place in draft.free(Kind.WORD)
            if draft.tokens[place].word in (word.lower(), *CHOICE_WORDS.get(word.lower(), ()))
            and not draft.is_filler(place)
            and ends_clause(draft, each, place)
        }
        literal = {row for row in found if (row[0], draft.tokens[row[1]].word) in {(c, w.lower()) for c, w in codes}}
        if len(codes) > 1 and len(row := literal or found) == 1:
            [(code, place)] = row
            draft.set(each, int(code), [place])


def ends_clause(draft: Draft, each: Property, place: int) -> bool:
    """Whether a word describes no other word than the entry's object, or a label of its input: "urgent", "an urgent ticket"."""
    following = place + 1
    if following >= len(draft.tokens) or not draft.tokens[following].is_word or draft.is_filler(following):
        return True
    return bool(draft.stems(following) & (each.labels | draft.profile.nouns))


def fill_colours(draft: Draft) -> None:
    """Set the input of a colour from the only one that a part names: "in green"."""
    inputs = [
        each for each in draft.open_inputs() if each.role in (Role.TEXT, Role.NAME) and COLOUR_NAMES & set(each.words)
    ]
    places = [place for place in range(1, len(draft.tokens)) if _is_colour(draft, place)]
    if len(inputs) == len(places) == 1 and not inputs[0].is_list:
        draft.set_text(inputs[0], places)


def _is_colour(draft: Draft, place: int) -> bool:
    """Whether a word gives a thing a colour: "in green", "a green label"; a tag may be called "green"."""
    following = draft.stems(place + 1)
    is_meant = draft.preposition(place - 1) in ("in", "to") or following & (draft.profile.nouns | _COLOUR_STEMS)
    return draft.tokens[place].word in COLOURS and bool(is_meant) and not is_in_topic(draft, place)


def _choice_of_verb(draft: Draft, each: Property) -> Any:
    """Return the choice that the verb of a part is, if it is none of the entry: "squash PR 418", "rebase and merge it"."""
    place = draft.part.verb_place
    verb = draft.tokens[place].word if place >= 0 else ""
    if not verb or stem(verb) in draft.profile.verbs:
        return None
    if not draft.profile.writes and not (place + 1 < len(draft.tokens) and names_entry(draft, place + 1)):
        return None  # "Open issues of acme/web" requests open ones, "open the issues" does not
    return next((choice for choice in each.choices if str(choice).lower() == verb), None)


def _longest(found: list[tuple[Any, int]]) -> list[tuple[Any, int]]:
    """Return the choice that contains all others: "New York" and "York"."""
    best = max(found, key=lambda row: len(str(row[0])))
    return [best] if all(str(value).lower() in str(best[0]).lower() for value, _ in found) else found


def _choice_places(draft: Draft, value: Any) -> list[int]:
    """Return the places of a choice as it is written; "Slow 3G" is two words."""
    wanted = "".join(fold(word) for word in words(split_identifier(str(value))))
    # "edge-function" is one word, and a choice of two.
    every = [fold(token.value).replace("-", "") or token.value for token in draft.tokens]
    for first in range(len(every) if wanted else 0):
        found = ""
        if len(wanted) == 1 and draft.tokens[first].value != str(value):
            continue  # "a" is no choice "A"
        for last in range(first, len(every)):
            is_article = draft.is_determiner(last)
            if found and is_article and not wanted.startswith(found + every[last]):
                continue  # "resolved in the next release"
            found += every[last]
            if found == wanted:
                return list(range(first, last + 1))
            if not wanted.startswith(found):
                break
    return []


def _choice_place(draft: Draft, each: Property, value: Any) -> int | None:
    """Return the place of the word that requests a choice; ``None`` without one."""
    if isinstance(value, bool) or value is None:
        return None
    places = [place for place in _choice_places(draft, value) if place != draft.part.verb_place]
    if places and not is_request(draft, each, places[0]):
        return None
    if places and not _names_object(draft, each, places):
        if isinstance(value, (int, float)) and not has_label(draft, each, places[0]):
            return None
        return places[0]
    if not isinstance(value, str):
        return None
    if phrase := phrase_places(draft, CHOICE_PHRASES.get(value.lower(), ()), each):
        return phrase[0]
    related = CHOICE_WORDS.get(value.lower(), frozenset()) | _described(each, value)
    is_sorting = bool(_SORTING & set(each.words))
    if is_sorting:
        related |= SUPERLATIVES.get(value.lower(), frozenset())
    own = {stem(word) for word in words(split_identifier(value))}
    is_action = _is_action(each)
    for place, token in enumerate(draft.tokens):
        if not token.is_word:
            continue
        if place == draft.part.verb_place:
            if is_action and own == draft.stems(place) & own and own:
                return place
            continue
        half, _, label = token.word.partition("-")
        is_meant = (
            (token.word in related and (token.word not in _COMPARING or has_label(draft, each, place)))
            or (is_sorting and value.lower() in ATTRIBUTES.get(token.word, ()) and _ranks(draft, place))
            or (half == value.lower() and stem(label) in each.labels)
            or (
                len(own) == 1
                and own & draft.stems(place)
                and not _names_object(draft, each, [place])
                # "waiting for approval" is not approved.
                and draft.preposition(place - 1) != "for"
            )
        )
        if is_meant and is_request(draft, each, place):
            return place
    if draft.part.verb_place >= 0 and _verb_means(draft, each, value):
        return draft.part.verb_place
    return None


def _described(each: Property, value: str) -> frozenset[str]:
    """Return the words that a description has in brackets behind a choice: "backward (newest first)"."""
    found = {str(choice): _explained(each.text, str(choice)) for choice in each.choices}
    others = frozenset[str]().union(*(its for choice, its in found.items() if choice != value))
    return found[value] - others - STOP_WORDS


def _explained(text: str, choice: str) -> frozenset[str]:
    _, _, rest = text.partition(f"{choice} (")
    return frozenset(words(rest.partition(")")[0])) if rest else frozenset()


def is_request(draft: Draft, each: Property, place: int) -> bool:
    """Whether a word can request a choice: a word of the topic cannot, unless it says what kind of thing is searched for."""
    if draft.is_one_of(place + 1, "alone"):
        return True  # "a large one"
    if _SORTING & set(each.words) and _ranks(draft, place):
        return True
    is_dated = (
        place + 2 < len(draft.tokens) and draft.tokens[place + 2].kind is Kind.DATE and draft.preposition(place + 1)
    )
    if is_dated and not draft.is_one_of(place - 1, "articles"):
        return False  # "updated since 2025-03-01" names a date, and no order; "a filling on 2025-03-01" names a choice
    return bool(KIND_WORDS & set(each.words)) or has_label(draft, each, place) or not is_in_topic(draft, place)


def _ranks(draft: Draft, place: int) -> bool:
    """Whether "first" or "on top" follows a word: "cheapest first", "the cheap ones on top"."""
    following = range(place + 1, min(place + 5, len(draft.tokens)))
    first = next((other for other in following if not (draft.is_filler(other) or draft.is_one_of(other, "alone"))), -1)
    return first > 0 and draft.is_one_of(first, "first")


def _is_action(each: Property) -> bool:
    return "action" in each.words or "event" in each.words


def _is_state(each: Property) -> bool:
    return "state" in each.words or "status" in each.words


def _verb_means(draft: Draft, each: Property, value: str) -> bool:
    """Whether the verb requests a state: "close the issue" sets ``state`` to ``closed``."""
    is_state = _is_state(each)
    is_same = is_state and stem(draft.part.verb) == stem(value.lower())
    is_own = stem(draft.part.verb) in draft.profile.verbs and not is_state
    is_related = draft.part.verb in CHOICE_WORDS.get(value.lower(), ()) and not is_own
    return (is_same or is_related) and bool(draft.profile.writes)


def _names_object(draft: Draft, each: Property, places: Sequence[int]) -> bool:
    """Whether a word is part of the entry's name, and so no choice: "list the open tabs"."""
    names = draft.profile.nouns
    return all(draft.stems(place) & names for place in places) and not has_label(draft, each, places[0])


def phrase_places(draft: Draft, phrases: Sequence[Sequence[str]], each: Property) -> list[int]:
    """Return the places of one of several phrases; "private" alone must describe what the entry is about, unlike "private lessons"."""
    every = [token.word.lower() for token in draft.tokens]
    for phrase in phrases:
        for first in range(len(every) - len(phrase) + 1):
            own = list(range(first, first + len(phrase)))
            is_meant = phrase[0] not in PLAIN_WORDS or len(phrase) > 1 or ends_clause(draft, each, first)
            if is_meant and every[first : first + len(phrase)] == list(phrase) and draft.used_places.isdisjoint(own):
                return own
        if phrase[0] in RESTRICTING and (own := _behind_left_out(draft, phrase, every)):
            return own
    return []


def _behind_left_out(draft: Draft, phrase: Sequence[str], every: Sequence[str]) -> list[int]:
    """Return the places of a phrase whose first word is no token of the part, as of a part that begins with "only"."""
    rest = list(phrase[1:])
    for first in range(len(every) - len(rest) + 1 if rest else 0):
        own = list(range(first, first + len(rest)))
        if every[first : first + len(rest)] == rest and draft.used_places.isdisjoint(own):
            before = draft.source[: draft.tokens[first].start].lower().split()
            if before[-1:] == [phrase[0]]:
                return own
    return []
