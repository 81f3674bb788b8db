"""How far a name reaches: "Press HP-20", "Casa do Mar", "Fax machine"."""

from __future__ import annotations

import re
from typing import Final

from helmdeck_language import NOUNS_TOO, Kind
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import AFTER_NAMES, NAME_PARTICLES

WORTH: Final = ("worth", "including")
"""Words behind a name and before a value: "a parcel worth 40"."""
_MODEL: Final = re.compile(r"[A-Z]{1,4}-?\d{1,5}[A-Za-z]?")


def is_plain_word(draft: Draft, place: int) -> bool:
    """Whether a word can be a value: it has a meaning of its own and is not a word of the entry's name."""
    token = draft.tokens[place]
    if not token.is_word or place in draft.used_places or draft.is_filler(place):
        return False
    if draft.wording.verb(token.word) and not token.is_capital and place + 1 < len(draft.tokens):
        return False
    others = draft.profile.labels
    return not draft.stems(place) & (draft.profile.nouns | draft.profile.verbs | others)


def word_run(draft: Draft, place: int) -> list[int]:
    """Return a word, or all words of a name in capitals, with the number behind it: "Press HP-20"."""
    run = [place]
    if not draft.tokens[place].is_capital:
        return run
    while (end := run[-1] + 1) < len(draft.tokens):
        # "Tarn & Reed", "Casa do Mar"
        is_joined = draft.tokens[end].value == "&" and end + 1 < len(draft.tokens)
        last = end + is_joined
        while is_inside_name(draft, last):
            last += 1
        if not draft.tokens[last].is_word or not draft.tokens[last].is_capital:
            break
        run += range(end, last + 1)
    if end < len(draft.tokens) and _is_model(draft, end):
        run.append(end)
    return run


def whole_name(draft: Draft, each: Property, place: int) -> list[int]:
    """Return a word or a name, with the noun in lower case that ends a name in capitals: "Movie night"."""
    run = word_run(draft, place)
    end = run[-1] + 1
    is_open = each.role in (Role.NAME, Role.TEXT) and draft.tokens[place].is_capital
    is_open = is_open and len(draft.tokens[run[-1]].value) > 1 and not draft.tokens[run[-1]].is_possessive
    is_longer = is_open and end < len(draft.tokens) and draft.tokens[end].word not in WORTH
    return [*run, end] if is_longer and is_noun_of_name(draft, end) else run


def is_inside_name(draft: Draft, place: int) -> bool:
    """Whether a word in lower case joins two in capitals: "do" of "Casa do Mar", "van" of "Jan van den Berg"."""
    first = last = place
    while first >= 0 and draft.tokens[first].value in NAME_PARTICLES:
        first -= 1
    while last < len(draft.tokens) and draft.tokens[last].value in NAME_PARTICLES:
        last += 1
    is_inside = 0 <= first < place < last < len(draft.tokens)
    return is_inside and all(draft.tokens[end].is_word and draft.tokens[end].is_capital for end in (first, last))


def _is_model(draft: Draft, place: int) -> bool:
    """Whether a number, or one with letters in capitals, ends a name: "HP-20", "Van 7"; an id of its own is longer."""
    token = draft.tokens[place]
    is_last = place + 1 == len(draft.tokens) or draft.tokens[place + 1].kind in (Kind.MARK, Kind.BREAK)
    is_number = token.kind is Kind.NUMBER and is_last and token.value.isdigit()
    is_model = token.kind is Kind.ID and bool(_MODEL.fullmatch(token.value))
    return place not in draft.used_places and (is_model or is_number)


def is_noun_of_name(draft: Draft, place: int) -> bool:
    """Whether a word in lower case ends a name: "machine" in "Fax machine and ...", but not "Fax please"."""
    token, language = draft.tokens[place], draft.wording.language
    is_own = token.is_word and token.value.islower() and token.value.isalpha() and is_plain_word(draft, place)
    ends = place + 1 >= len(draft.tokens) or not draft.tokens[place + 1].is_word or draft.is_filler(place + 1)
    ends = ends or draft.tokens[place + 1].word in language.joints or _follows_name(draft, place + 1)
    is_verb = bool(draft.wording.verb(token.word)) and token.word not in NOUNS_TOO
    is_other = is_verb or token.word in language.joints | language.trailing
    is_other = is_other or bool(draft.stems(place) & draft.profile.text)
    return is_own and ends and not is_other and not _follows_name(draft, place)


def _follows_name(draft: Draft, place: int) -> bool:
    word = draft.tokens[place].word
    return word in AFTER_NAMES | draft.wording.language.trailing or word.endswith(("ly", "ed"))
