"""Names without a label: words in capitals, words that are names by their form, and objects without an article."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Final

from helmdeck_language import Kind, stem
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.free_text import describes_entry, is_gerund
from helmdeck_planner.embedded.arguments.ids import EXAMPLE, shape, takes_names
from helmdeck_planner.embedded.arguments.labels import is_inside_name, word_before_label
from helmdeck_planner.embedded.arguments.lead_prepositions import lead_prepositions
from helmdeck_planner.embedded.arguments.listed import is_joined, joined_names, set_names
from helmdeck_planner.embedded.arguments.names import set_person
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import (
    CONTAINERS,
    FILE_EXTENSIONS,
    FIRST_NAME,
    FORMAT_NAMES,
    HONORIFICS,
    LAST_NAME,
    PERSON_IDS,
    PERSON_NAME,
    PLAIN_WORDS,
)

_JOINED: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_.][A-Za-z0-9]+)+")
_NAME_OF: Final = re.compile(r"^(?:new |the )?name of\b", re.IGNORECASE)
# "e.g. B-AX 417"
_SPACED_EXAMPLE: Final = re.compile(
    r"(?:e\.g\.,?|such as|like|example:?)\s+['\"`]?([A-Z][\w-]{0,9} \d{1,9})\b", re.IGNORECASE
)
_NAMED: Final = re.compile(r"\bnames?\b|\bonly this\b|\bsuch as\b", re.IGNORECASE)
_INSIDE_NAMES: Final = ("of", "the", "and", "&")
_SPENT: Final = ("on", "for")
_RELATING: Final = ("of", "for", "about", "by")
_FIRST_AND_LAST: Final = 2
_MAX_ACRONYM: Final = 5
_MIN_UNKNOWN: Final = 5
_TITLE: Final = frozenset((stem("title"),))
_APOSTROPHES: Final = ("'", "’")
_AUXILIARIES: Final = ("has", "is", "was", "must", "should", "can", "may", "will")
_ASKING: Final = ("do", "does", "did")
_BEING: Final = ("is", "are", "was", "were")
_HAVING: Final = ("have", "need", "use")
_ENDS: Final = ".?!:-–—\"'"
_POSSESSIVES: Final = ("'s", "\u2019s")


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
        runs = _names(draft, needed[0])
        runs = [run for run in runs if not (others and (_is_owner(draft, run) or _is_titled(draft, run)))]
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
        runs = [run for run in _names(draft, people[0]) if _is_stated_as_person(draft, run)]
        runs = [run for run in runs if _is_titled(draft, run) or not is_open]
        if len(runs) == 1:
            draft.set(people[0], draft.text(runs[0][0], runs[0][-1]), runs[0])
    if is_open:
        return
    texts = [each for each in draft.open_inputs() if each.role in (Role.NAME, Role.TEXT)]
    if len(texts) == 1 and not draft.profile.required:
        runs = _names(draft, texts[0])
        # "play something by Nina Simone" names no device.
        is_maker = len(runs) == 1 and draft.preposition_before(runs[0][0]) == "by"
        if len(runs) == 1 and not is_joined(draft, runs[0][0]) and not is_maker:
            draft.set(texts[0], draft.text(runs[0][0], runs[0][-1]), runs[0])
    _fill_container(draft)


def _fill_whole_name(draft: Draft) -> None:
    """Set a first and a last name from the only name of two words: "met Paulo Brandt at the fair"."""
    names = [each for each in draft.open_inputs() if each.is_required and (FIRST_NAME | LAST_NAME) & set(each.words)]
    if len(names) == _FIRST_AND_LAST:
        found = (
            itertools.takewhile(lambda at: draft.tokens[at].word not in _INSIDE_NAMES, run)
            for run in _names(draft, names[0])
        )
        runs = [[place for place in run if not _is_title(draft, place)] for run in found]
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
    own = word_before_label(draft, frozenset(draft.profile.name))
    if own and draft.tokens[own[0]].word not in PLAIN_WORDS and not draft.tokens[own[0]].word.endswith("ly"):
        draft.set(inputs[0], draft.tokens[own[0]].value, own)  # "the groceries budget"
        return
    if not inputs[0].is_required:
        return
    places = [
        place
        for place in range(2, len(draft.tokens))
        if draft.preposition(place - 1) in _SPENT and _is_plain(draft, place) and not describes_entry(draft, place)
    ]
    if len(places) == 1:
        draft.set(inputs[0], draft.tokens[places[0]].value, places)


def _fill_dated(draft: Draft) -> None:
    """Set a title from the words before a date that start a sentence: "Parents' evening on 8 December, put it down"."""
    inputs = [each for each in draft.profile.required if not is_person(each)]
    inputs = [each for each in inputs if each.role is Role.NAME or (each.role is Role.CONTENT and _TITLE & each.hints)]
    if len(inputs) != 1 or inputs[0].name in draft.args or not draft.profile.writes:
        return
    start = next((place for place in range(len(draft.tokens)) if _starts_sentence(draft, place)), -1)
    if start < 0 or start == draft.part.verb_place or not draft.tokens[start].value[:1].isupper():
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
            draft.set(each, draft.tokens[places[0]].value, places)


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
    places = [place for place in draft.free(Kind.HASH) if not draft.tokens[place].value[1:].isdigit()]
    if len(inputs) == len(places) == 1:
        draft.set(inputs[0], draft.tokens[places[0]].value, places)


def _fill_container(draft: Draft) -> None:
    """Set where a named thing is: "worker in batch" for a namespace, "Invoices under Inbox" for a parent folder."""
    inputs = [each for each in draft.open_inputs() if CONTAINERS & set(each.words) and _takes_container(each)]
    for place in range(2, len(draft.tokens)):
        is_inside = draft.is_one_of(place - 1, "inside") and place - 2 in draft.used_places
        token = draft.tokens[place]
        is_name = (token.is_word and not draft.is_filler(place)) or token.kind in (Kind.ID, Kind.QUOTE)
        ends = place + 1 >= len(draft.tokens) or not _is_plain(draft, place + 1)
        is_of_name = draft.tokens[place - 2].value in draft.args.values()
        if len(inputs) == 1 and is_inside and is_name and ends and is_of_name:
            draft.set(inputs[0], token.value, [place])
            return


def _is_stated_as_person(draft: Draft, run: Sequence[int]) -> bool:
    """Whether a name has a title, owns something, does something, or is the one that a thing is for or by."""
    is_related = draft.preposition(run[0] - 1) in ("for", "by", "with")
    return _is_owner(draft, run) or _is_titled(draft, run) or _starts_sentence(draft, run[0]) or is_related


def is_person(each: Property) -> bool:
    """Whether an input takes a person."""
    return bool(
        (PERSON_IDS | PERSON_NAME - {"name", "full", "display"}) & {*each.words, *each.text.lower().split()[-1:]}
    )


def _takes_container(each: Property) -> bool:
    return _takes_name(each) or (each.role is Role.TEXT and each.words == ("parent",))


def _takes_name(each: Property) -> bool:
    """Whether an input takes a name: a text does if its description names it, or names a thing or a person only."""
    is_named_text = each.role is Role.TEXT and (bool(_NAMED.search(each.text)) or is_person(each))
    return each.role is Role.NAME or is_named_text or (each.role is Role.ID and takes_names(each))


def _chosen(draft: Draft, runs: Sequence[list[int]]) -> list[int]:
    """Return the object of the verb, else the only name."""
    direct = [run for run in runs if run[0] == _after_verb(draft)]
    return direct[0] if direct else runs[0] if len(runs) == 1 else []


def _after_verb(draft: Draft) -> int:
    place = draft.part.verb_place + 1
    while 0 < place < len(draft.tokens) and draft.is_one_of(place, "particles"):
        place += 1
    return place if draft.part.verb_place >= 0 else -1


def _names(draft: Draft, each: Property) -> list[list[int]]:
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
    is_inside = start > 0 and _is_capital(draft, before) and not tokens[before].value.endswith(_POSSESSIVES)
    if not _is_capital(draft, start) or is_inside:
        return []
    run = [start]
    while run[-1] + 1 < len(tokens) and not tokens[run[-1]].value.endswith(_POSSESSIVES):
        place = run[-1] + 1
        is_sentence = _starts_sentence(draft, place) and tokens[run[-1]].value != "."
        if (
            (_is_capital(draft, place) and not is_sentence)
            or (tokens[place].value == "." and _is_title(draft, run[-1]))
            or is_inside_name(draft, place)
        ):
            run.append(place)
        elif tokens[place].word in _INSIDE_NAMES and not (is_person(each) or each.is_list) and _continues(draft, place):
            run += [place, place + 1]
        else:
            break
    if all(draft.is_filler(place) or _is_title(draft, place) or not tokens[place].is_word for place in run):
        return []
    leads = lead_prepositions(draft.profile)
    before = start - 1 - (start > 0 and tokens[start - 1].word in draft.wording.language.determiners)
    if any(draft.preposition(before) in own for name, own in leads.items() if name != each.name):
        return []
    first = tokens[start]
    is_acronym = len(run) == 1 and first.value.isupper() and len(first.value) <= _MAX_ACRONYM
    starts_sentence = len(run) == 1 and _starts_sentence(draft, start) and draft.wording.is_word(first.word)
    starts_sentence = starts_sentence and not (is_person(each) and _acts(draft, start))
    # "Support needs a picture" is about no element that is called so.
    acts = not is_person(each) and run == [0] and draft.part.verb_place < 0 and _acts(draft, start)
    is_located = (
        bool(draft.preposition(start - 1))
        and draft.tokens[start - 1].word != "under"
        and draft.preposition(start - 1) not in _RELATING
        and start != _after_verb(draft)
    )
    is_located = is_located and not _is_owner(draft, run)
    is_location = (is_person(each) or bool(draft.profile.writes)) and is_located
    if is_acronym or starts_sentence or acts or is_location or describes_entry(draft, start):
        return []
    following = run[-1] + 1
    is_known = len(run) == 1 and draft.wording.is_word(first.word) and following < len(tokens)
    if is_known and (tokens[following].word in draft.wording.language.determiners or is_gerund(draft, start)):
        return []  # "Water the plants" and "Waiting for supplier" are longer names
    is_subject = start == 0 > draft.part.verb_place and following < len(tokens) and _is_third_person(draft, following)
    # "Ann's deals", "is Aspen free"
    is_whole = tokens[run[-1]].value.endswith(_POSSESSIVES) or tokens[start - 1 if start else 0].word in _BEING
    while not (is_person(each) or is_subject or is_whole) and following < len(tokens) and _is_plain(draft, following):
        if draft.stems(following) & each.labels or _starts_sentence(draft, following):
            break
        run.append(following)
        following += 1
    return run


def _acts(draft: Draft, place: int) -> bool:
    """Whether a word without an article is the subject of a verb in the singular: "Mia has"."""
    following = draft.tokens[place + 1].word if place + 1 < len(draft.tokens) else ""
    return following in _AUXILIARIES or (bool(following) and _is_third_person(draft, place + 1))


def _is_third_person(draft: Draft, place: int) -> bool:
    word = draft.tokens[place].word
    return word.endswith("s") and bool(draft.wording.verb(word[:-1]))


def _starts_sentence(draft: Draft, place: int) -> bool:
    before = draft.source[: draft.tokens[place].start].rstrip()
    return not before or before[-1] in _ENDS


def _is_capital(draft: Draft, place: int) -> bool:
    token = draft.tokens[place]
    if not token.is_word or place in draft.used_places or place == draft.part.verb_place:
        return False
    is_article = draft.is_filler(place) and place > 0 and token.word in draft.wording.language.determiners
    is_name = not draft.is_filler(place) or (is_article and place + 1 < len(draft.tokens))
    is_language = token.word in draft.wording.language.values["languages"]
    return token.value[:1].isupper() and is_name and not is_language


def _continues(draft: Draft, place: int) -> bool:
    """Whether a name continues after a small word: at least two words in capitals follow "and"."""
    count = 2 if draft.tokens[place].word == "and" else 1
    return all(other < len(draft.tokens) and _is_capital(draft, other) for other in range(place + 1, place + 1 + count))


def _is_plain(draft: Draft, place: int) -> bool:
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
    before = draft.tokens[place - 1].word if place else ""
    is_subject = _starts_sentence(draft, place)
    has_noun = not is_subject and place + 1 < len(draft.tokens) and _is_plain(draft, place + 1)
    return before not in language.determiners and not has_noun


def _is_bare(draft: Draft, each: Property, place: int) -> bool:
    """Whether a word is the object of a verb that writes, without an article, number or plural: "bump worker to 12"."""
    token = draft.tokens[place]
    follows_verb = place == _after_verb(draft) and token.is_word and draft.profile.writes is True
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


def _is_title(draft: Draft, place: int) -> bool:
    return draft.tokens[place].word.rstrip(".") in HONORIFICS


def _is_titled(draft: Draft, run: Sequence[int]) -> bool:
    return any(_is_title(draft, place) for place in run)


def _is_owner(draft: Draft, run: Sequence[int]) -> bool:
    """Whether something belongs to a person: "Leo's list"."""
    return draft.tokens[run[-1]].value.endswith(_POSSESSIVES)
