"""Finds names without a label: words in capitals, words that are names by their form, and objects without an article."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from helmdeck_language import Kind, stem
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.free_text import describes_entry, is_gerund
from helmdeck_planner.embedded.arguments.lead_prepositions import lead_prepositions
from helmdeck_planner.embedded.arguments.listed import BEING
from helmdeck_planner.embedded.arguments.name_words import is_inside_name
from helmdeck_planner.embedded.entries.properties import Property
from helmdeck_planner.embedded.entries.property_words import (
    FILE_EXTENSIONS,
    FORMAT_NAMES,
    HONORIFICS,
    PERSON_IDS,
    PERSON_NAME,
)

_JOINED: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_.][A-Za-z0-9]+)+")
_NAME_OF: Final = re.compile(r"^(?:new |the )?name of\b", re.IGNORECASE)
INSIDE_NAMES: Final = ("of", "the", "and", "&")
_RELATING: Final = ("of", "for", "about", "by")
_MAX_ACRONYM: Final = 5
_MIN_UNKNOWN: Final = 5
_AUXILIARIES: Final = ("has", "is", "was", "must", "should", "can", "may", "will")
_ENDS: Final = ".?!:-–—\"'"


def is_person(each: Property) -> bool:
    """Whether an input takes a person."""
    return bool(
        (PERSON_IDS | PERSON_NAME - {"name", "full", "display"}) & {*each.words, *each.text.lower().split()[-1:]}
    )


def after_verb(draft: Draft) -> int:
    """Return the place behind the verb and its particles; -1 without a verb."""
    place = draft.part.verb_place + 1
    while draft.is_one_of(place, "particles"):
        place += 1
    return place if draft.part.verb_place >= 0 else -1


def names_in(draft: Draft, each: Property) -> list[list[int]]:
    """Return the places of the words of each free name."""
    runs: list[list[int]] = []
    place = 0
    while place < len(draft.tokens):
        run = _capitals(draft, each, place) or _word_name(draft, each, place)
        if run:
            runs.append(run)
        place = run[-1] + 1 if run else place + 1
    return runs


def _capitals(draft: Draft, each: Property, start: int) -> list[int]:
    """Return the words in capitals from a place: "Ruth Emmer", "Arsenic and Old Lace", "Lavender soap" of a thing."""
    tokens = draft.tokens
    before = start - 1 - (start > 1 and tokens[start - 1].value == "&")
    is_inside = start > 0 and _is_capital(draft, before) and not tokens[before].is_possessive
    if not _is_capital(draft, start) or is_inside:
        return []
    run = [start]
    while run[-1] + 1 < len(tokens) and not tokens[run[-1]].is_possessive:
        place = run[-1] + 1
        is_sentence = starts_sentence(draft, place) and tokens[run[-1]].value != "."
        if (
            (_is_capital(draft, place) and not is_sentence)
            or (tokens[place].value == "." and is_title(draft, run[-1]))
            or is_inside_name(draft, place)
        ):
            run.append(place)
        elif tokens[place].word in INSIDE_NAMES and not (is_person(each) or each.is_list) and _continues(draft, place):
            run += [place, place + 1]
        else:
            break
    if all(draft.is_filler(place) or is_title(draft, place) or not tokens[place].is_word for place in run):
        return []
    leads = lead_prepositions(draft.profile)
    before = start - 1 - (draft.is_determiner(start - 1))
    if any(draft.preposition(before) in own for name, own in leads.items() if name != each.name):
        return []
    first = tokens[start]
    is_acronym = len(run) == 1 and first.value.isupper() and len(first.value) <= _MAX_ACRONYM
    is_first = len(run) == 1 and starts_sentence(draft, start) and draft.wording.is_word(first.word)
    is_first = is_first and not (is_person(each) and _acts(draft, start))
    # "Support needs a picture" is about no element that is called so.
    acts = not is_person(each) and run == [0] and draft.part.verb_place < 0 and _acts(draft, start)
    is_located = (
        bool(draft.preposition(start - 1))
        and draft.tokens[start - 1].word != "under"
        and draft.preposition(start - 1) not in _RELATING
        and start != after_verb(draft)
    )
    is_located = is_located and not is_owner(draft, run)
    is_location = (is_person(each) or bool(draft.profile.writes)) and is_located
    if is_acronym or is_first or acts or is_location or describes_entry(draft, start):
        return []
    following = run[-1] + 1
    is_known = len(run) == 1 and draft.wording.is_word(first.word) and following < len(tokens)
    if is_known and (draft.is_determiner(following) or is_gerund(draft, start)):
        return []  # "Water the plants" and "Waiting for supplier" are longer names
    is_subject = start == 0 > draft.part.verb_place and following < len(tokens) and _is_third_person(draft, following)
    # "Ann's deals", "is Aspen free"
    is_whole = tokens[run[-1]].is_possessive or draft.word(start - 1) in BEING
    while not (is_person(each) or is_subject or is_whole) and following < len(tokens) and is_plain(draft, following):
        if draft.stems(following) & each.labels or starts_sentence(draft, following):
            break
        run.append(following)
        following += 1
    return run


def _acts(draft: Draft, place: int) -> bool:
    """Whether a word without an article is the subject of a verb in the singular: "Mia has"."""
    following = draft.word(place + 1)
    return following in _AUXILIARIES or (bool(following) and _is_third_person(draft, place + 1))


def _is_third_person(draft: Draft, place: int) -> bool:
    word = draft.tokens[place].word
    return word.endswith("s") and bool(draft.wording.verb(word[:-1]))


def starts_sentence(draft: Draft, place: int) -> bool:
    """Whether a token is the first one of its sentence."""
    before = draft.source[: draft.tokens[place].start].rstrip()
    return not before or before[-1] in _ENDS


def _is_capital(draft: Draft, place: int) -> bool:
    token = draft.tokens[place]
    if not token.is_word or place in draft.used_places or place == draft.part.verb_place:
        return False
    is_article = draft.is_filler(place) and place > 0 and token.word in draft.wording.language.determiners
    is_name = not draft.is_filler(place) or (is_article and place + 1 < len(draft.tokens))
    is_language = token.word in draft.wording.language.values["languages"]
    return token.is_capital and is_name and not is_language


def _continues(draft: Draft, place: int) -> bool:
    """Whether a name continues after a small word: at least two words in capitals follow "and"."""
    count = 2 if draft.tokens[place].word == "and" else 1
    return all(other < len(draft.tokens) and _is_capital(draft, other) for other in range(place + 1, place + 1 + count))


def is_plain(draft: Draft, place: int) -> bool:
    """Whether a word in lower case can belong to the name before it: "soap" in "Lavender soap"."""
    token = draft.tokens[place]
    is_free = token.is_word and place not in draft.used_places and token.value.islower()
    is_other = draft.is_filler(place) or draft.preposition(place) or draft.is_one_of(place, "particles")
    ends = place + 1 >= len(draft.tokens) or not draft.tokens[place + 1].is_word or bool(draft.preposition(place + 1))
    is_adverb = token.word.endswith(("ly", "ed")) or token.word in draft.wording.language.joints
    return is_free and not is_other and not is_adverb and ends and not draft.wording.verb(token.word)


def _word_name(draft: Draft, each: Property, place: int) -> list[int]:
    """Return a word that is a name by its form, such as "mail-gw", or that is an object without an article."""
    token = draft.tokens[place]
    is_free = (token.is_word or token.kind is Kind.ID) and place not in draft.used_places
    if is_person(each) and "user" not in each.words and "username" not in each.words:
        return []
    if not is_free or place == draft.part.verb_place:
        return []
    is_name = _is_joined(draft, place) or _is_bare(draft, each, place) or _is_unknown(draft, place)
    return [place] if is_name else []


def _is_joined(draft: Draft, place: int) -> bool:
    """Whether a word is joined from others and stands alone: "mail-gw", "crm.accounts"; "the short-notice list" has none."""
    token, language = draft.tokens[place], draft.wording.language
    if not _JOINED.fullmatch(token.value) or token.word.rpartition(".")[2] in FILE_EXTENSIONS:
        return False
    halves = re.split(r"[-_.]", token.word)
    if any(
        draft.wording.is_filler(half) or half in language.prepositions or (len(half) < 2 and not half.isdigit())
        for half in halves
    ):
        return False
    if "_" in token.value or "." in token.value:
        return True
    before = draft.word(place - 1)
    is_subject = starts_sentence(draft, place)
    has_noun = not is_subject and place + 1 < len(draft.tokens) and is_plain(draft, place + 1)
    return before not in language.determiners and not has_noun


def _is_bare(draft: Draft, each: Property, place: int) -> bool:
    """Whether a word is the object of a verb that writes, without an article, number or plural: "bump worker to 12"."""
    token = draft.tokens[place]
    follows_verb = place == after_verb(draft) and token.is_word and draft.profile.writes is True
    if not follows_verb or token.word.endswith("s") or token.word in FORMAT_NAMES or not _NAME_OF.search(each.text):
        return False
    ends = place + 1 >= len(draft.tokens) or bool(draft.preposition(place + 1))
    is_other = draft.is_filler(place) or describes_entry(draft, place) or is_gerund(draft, place)
    return ends and not is_other and token.word not in draft.wording.language.references


def _is_unknown(draft: Draft, place: int) -> bool:
    """Whether a word in lower case is in no word list, and no typing mistake: "oakbishop"."""
    token, wording = draft.tokens[place], draft.wording
    is_one = token.value.islower() and token.value.isalpha() and len(token.value) >= _MIN_UNKNOWN
    if not is_one or draft.preposition_before(place):
        return False
    is_known = wording.is_word(token.word) or wording.is_word(stem(token.word)) or token.word in FORMAT_NAMES
    return not (is_known or wording.corrected_verb(token.word) or wording.nouns(token.word)[0] != token.word)


def is_title(draft: Draft, place: int) -> bool:
    """Whether a word is the title of a person: "Dr."."""
    return draft.tokens[place].word.rstrip(".") in HONORIFICS


def is_titled(draft: Draft, run: Sequence[int]) -> bool:
    """Whether a name has the title of a person."""
    return any(is_title(draft, place) for place in run)


def is_owner(draft: Draft, run: Sequence[int]) -> bool:
    """Whether something belongs to a person: "Leo's list"."""
    return draft.tokens[run[-1]].is_possessive
