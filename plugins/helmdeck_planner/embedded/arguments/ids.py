"""Fills inputs that take ids: an id has the shape of one, and a person is none."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Final

from helmdeck_language import Kind, Token, stem
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.labels import labelled
from helmdeck_planner.embedded.choice.weighing import is_file
from helmdeck_planner.embedded.entries.properties import TEXT_ROLES, Property, Role
from helmdeck_planner.embedded.entries.property_words import FILE_EXTENSIONS, FORMAT_NAMES, ROLE_WORDS
from helmdeck_planner.embedded.entries.units import UNIT_OF
from helmdeck_planner.embedded.request.tokens import token_at

_NAMED_ID: Final = re.compile(
    r"\b(?:name|slug|symbol|ticker|handle|code|tag|branch|username|commit|revision)\b", re.IGNORECASE
)
# Ids that are words as well: the UID "prom-main".
_FREE_IDS: Final = frozenset(("uid", "slug", "handle"))
_ID_SHAPE: Final = re.compile(r"(?=.*[\d._-])[\w.:/-]+|[A-Z]{2,6}")
# "a 3-day forecast".
COUNTED: Final = re.compile(r"\d{1,4}-[a-z]{3,}")
_MAX_SYMBOL: Final = 6
_MIN_WORD: Final = 4
_MIN_STRANGE: Final = 7
# "tblLeads"; "iPhone" is a word.
_HUMPED: Final = re.compile(r"[a-z]{2,5}[A-Z][A-Za-z0-9]{1,40}")
_PREFIX: Final = re.compile(r"[a-z]{3,5}(?=[A-Z\d_-])|[A-Z](?=[A-Z0-9]{6,14}$)|[A-Z]{1,6}(?=\d)")
# "B14", "z77"; "v2", "Q3" and "A4" are none.
_CODE: Final = re.compile(r"(?!v\d|Q[1-4]$|A\d$)[A-Za-z]{1,6}\d[A-Za-z0-9]{0,10}|(?=.*[A-Z])\d+[A-Z]\w{2,10}")
# Letters that no language has in a row, or three pairs of letters that hardly a word has: "wqzkfjmtboyeolra".
_RANDOM: Final = re.compile(
    r"(?=[a-z]*[bcdfghjklmnpqrstvwxz]{6}|(?:[a-z]*?(?:q(?!u)[a-z]|[jvxz][bcdfgjmpqtvwx]|[bcdfghjmpqtvwxz][jqxv]"
    r"|[bcdfgjpvw][dfgpqvw](?<!dd|ff|gg|pp))){3})[a-z]{10,40}"
)
_CLUSTER: Final = re.compile(r"(?=[a-z]*[bcdfghjklmnpqrstvwxz]{5})[a-z]{7,40}|[bcdfghjklmnpqrstvwxz]{6}")
_CARD_NUMBER: Final = re.compile(r"\d{3,30}")
# A number of fewer digits may count something.
_MIN_DIGITS: Final = 5
_MOMENT: Final = re.compile(r"\d{8,}\.\d{3,}")
_LONG_NUMBER: Final = re.compile(r"\d{8,30}")
# Labels of ids that are never "acme/web".
_APART: Final = frozenset(map(stem, ("channel", "user", "message", "ticket")))
EXAMPLE: Final = re.compile(r"(?:e\.g\.,?|such as|like|example:?)\s+['\"`]?([\w.:-]+)", re.IGNORECASE)


def fill_ids(draft: Draft) -> None:
    """Set ids: the value after their label, else the only one."""
    if not any(each.role is Role.ID for each in draft.open_inputs()):
        return
    # "the card 'Login' in the list 61bc": the id is not that of the card.
    named_words = frozenset[str]().union(*(draft.stems(place - 1) for place in draft.named_ids))
    inputs = [each for each in draft.open_inputs() if each.role is Role.ID and not each.labels & named_words]
    for each in inputs:
        places = labelled(draft, each)
        if not (places and is_id(draft, each, places)):
            continue
        if each.is_list:
            places = _joined(draft, each, places)
            draft.set(each, [id_text(draft, [place]) for place in places], places)
        else:
            places = _with_joined_numbers(draft, places)
            draft.set(each, id_text(draft, places), places)
    _fill_byshape(draft, [each for each in inputs if each.is_required and each.name not in draft.args])
    left = [place for place in draft.free(Kind.ID, Kind.WORD, Kind.PATH) if _is_opaque(draft, place)]
    needed = [each for each in inputs if each.is_required and each.name not in draft.args]
    if not left and not any(each.is_required and each.role in TEXT_ROLES for each in draft.open_inputs()):
        left = draft.quoted(Kind.ID)
    if len(left) == 1 and (own := _only_likely(draft, needed, left[0])):
        draft.set_text(own, left)
    elif len(left) > 1 and len(needed) == 1 and needed[0].is_list:
        draft.set(needed[0], [draft.tokens[place].value for place in left], left)
    elif len(left) == len(needed) == 2 and (people := _person_first(draft, needed, left)):
        for each, place in zip(people, left, strict=True):
            draft.set_text(each, [place])
    elif len(left) == len(needed) == 2 and {each.side for each in needed} == {"source", "target"}:
        for each in needed:
            draft.set_text(each, [left[each.side == "target"]])
    elif needed and not left:
        _fill_card_numbers(draft, needed)
        _fill_id_word(draft, [each for each in needed if each.name not in draft.args])
    _fill_mailed(draft)
    if len(left) == 1 < len(needed):
        # "a new code for B14: 4471"
        _fill_card_numbers(draft, [each for each in needed if each.name not in draft.args])


def _with_joined_numbers(draft: Draft, places: list[int]) -> list[int]:
    """Return the places of an id with the numbers that hyphens join to its last one: "2026-041"."""
    last, tokens = places[-1], draft.tokens
    while last + 2 < len(tokens) and tokens[last].kind is tokens[last + 2].kind is Kind.NUMBER:
        mark = tokens[last + 1]
        if mark.value != "-" or not tokens[last].end == mark.start == tokens[last + 2].start - 1:
            break
        last += 2
    return [*places, *range(places[-1] + 1, last + 1)]


def _joined(draft: Draft, each: Property, places: list[int]) -> list[int]:
    """Return the place of an id, and those of the ids that commas and "and" join to it: "tracks 4fz and 9qk"."""
    found = places[:1]
    while (place := found[-1] + 2) < len(draft.tokens) and draft.joins_list(place - 1):
        if draft.is_joint(place) and place + 1 < len(draft.tokens):
            place += 1  # ", and"
        is_free = place not in draft.used_places and any(char.isdigit() for char in draft.tokens[place].value)
        if not is_free or draft.tokens[place].kind in (Kind.DATE, Kind.TIME) or not is_id(draft, each, [place]):
            break
        found.append(place)
    return found


def _fill_mailed(draft: Draft) -> None:
    """Set an optional person from the only mail address, where the schema takes one: "give PAY-81 to ana@example.org"."""
    people = [each for each in draft.open_inputs() if each.role is Role.ID and each.takes_people]
    mails = draft.free(Kind.EMAIL)
    if len(people) == len(mails) == 1 and "email" in people[0].hints and not draft.profile.takes(Role.EMAIL):
        draft.set_text(people[0], mails)


def _person_first(draft: Draft, needed: Sequence[Property], left: Sequence[int]) -> list[Property]:
    """Return two inputs in the order of their ids in "P7 takes the shift in S3": the person is the one that is in no place."""
    people = [each for each in needed if each.takes_people]
    inside = [place for place in left if draft.preposition(place - 1) in ("in", "on", "of", "from")]
    if len(people) != 1 or len(inside) != 1:
        return []
    other = next(each for each in needed if each is not people[0])
    return [other, people[0]] if inside[0] == left[0] else [people[0], other]


def fill_codes(draft: Draft) -> None:
    """Set a required id or code from the number that ends a part behind "to" or a colon: "the code of B14 to 4417"."""
    last = len(draft.tokens) - 1
    is_led = last > 1 and (draft.tokens[last - 1].value == ":" or draft.preposition(last - 1) == "to")
    if not is_led or last not in draft.free(Kind.NUMBER) or not _is_card_number(draft, last):
        return
    for each in draft.open_inputs():
        labels = each.labels or each.stems
        is_named = any(draft.stems(place) & labels for place in range(last - 1))
        if is_named and each.is_required and each.role in (Role.ID, Role.CODE) and not each.is_list:
            draft.set_text(each, [last])
            return


def _fill_card_numbers(draft: Draft, needed: Sequence[Property]) -> None:
    """Set ids that are numbers: "card 7719" for a description with "card number", and the only long number."""
    free = [place for place in draft.free(Kind.NUMBER) if _is_card_number(draft, place)]
    for each in needed:
        others = frozenset[str]().union(*(other.hints for other in draft.profile.properties if other is not each))
        own = [
            place
            for place in free
            if place - 1 > draft.part.verb_place
            and not draft.is_filler(place - 1)
            and draft.stems(place - 1) & (each.hints - others)
        ]
        if len(own) == 1 and not each.is_list:
            draft.set_text(each, own)
    needed = [each for each in needed if each.name not in draft.args]
    counted = [each for each in draft.open_inputs() if each.role is Role.NUMBER and each.is_required]
    long = [place for place in draft.free(Kind.NUMBER) if place in free and _is_long(draft, place)]
    if len(needed) == len(long) == 1 and len(draft.free(Kind.NUMBER)) > len(counted):
        draft.set_text(needed[0], long)


def _is_long(draft: Draft, place: int) -> bool:
    """Whether a number has too many digits to count something, and does not: "20955 owe us", but not "20000 users"."""
    following = draft.word(place + 1)
    return len(draft.tokens[place].value) >= _MIN_DIGITS and not following.endswith("s")


def _is_card_number(draft: Draft, place: int) -> bool:
    """Whether a number can be an id: it has no sign, no decimals and no unit."""
    following = draft.word(place + 1)
    return bool(_CARD_NUMBER.fullmatch(draft.tokens[place].value)) and following not in UNIT_OF


def is_opaque(token: Token) -> bool:
    """Whether a token is an id by its form alone."""
    return token.kind is Kind.ID or bool(token.is_word and _RANDOM.fullmatch(token.value))


def is_humped(token: Token) -> bool:
    """Whether a word has a capital behind a small letter: "tblLeads", but not "iPhone"."""
    return token.is_word and bool(_HUMPED.fullmatch(token.value))


def _is_opaque(draft: Draft, place: int) -> bool:
    """Whether a value looks like an id: it has digits, dots or humps, or no vowels: "tblLeads", but not "iPhone"."""
    token = draft.tokens[place]
    if token.kind is Kind.ID:
        return not COUNTED.fullmatch(token.value)
    has_humps = place != draft.part.verb_place and is_humped(token)
    is_random = token.is_word and (_RANDOM.fullmatch(token.value) or _is_cluster(draft, place))
    return _is_dotted(draft, place) or bool(has_humps or is_random or is_code(draft, place))


def _is_cluster(draft: Draft, place: int) -> bool:
    """Whether a word in lower case is no word, and hardly one that can be said: "kqzvtmwa"."""
    word = draft.tokens[place].value
    return place != draft.part.verb_place and bool(_CLUSTER.fullmatch(word)) and not draft.wording.is_word(word)


def is_code(draft: Draft, place: int) -> bool:
    """Whether a word is made of letters and a number, and means nothing else: "B14", but not "mp3" or "5m"."""
    token = draft.tokens[place]
    is_free = token.is_word and place != draft.part.verb_place
    return is_free and token.word not in FORMAT_NAMES | FILE_EXTENSIONS and bool(_CODE.fullmatch(token.value))


def _is_coined(draft: Draft, place: int) -> bool:
    """Whether a word is joined from parts of which the first is no word: "pg-main", but not "sign-ups"."""
    token = draft.tokens[place]
    parts = token.word.split("-")
    is_free = token.is_word and token.value.islower() and place != draft.part.verb_place
    return is_free and len(parts) > 1 and not draft.wording.is_known(parts[0])


def _leads(draft: Draft, place: int) -> bool:
    """Whether a word with a hyphen is what a part is about: "pg-main: last 50 lines"."""
    return not place and "-" in draft.tokens[0].word and len(draft.tokens) > 1 and draft.tokens[1].value == ":"


def _is_unknown(draft: Draft, place: int) -> bool:
    """Whether a word of no language is what a part is about: "mailrelay" in "the last lines of mailrelay", "what did mailrelay print"."""
    word, before = draft.tokens[place].word, token_at(draft.tokens, place - 1)
    if before is None or place == draft.part.verb_place or not draft.tokens[place].value.islower():
        return False
    wording = draft.wording
    is_object = place - 1 == draft.part.verb_place or draft.preposition(place - 1) in (
        "of",
        "from",
        "in",
        "on",
        "for",
        "to",
    )
    is_word = wording.is_known(word) or wording.corrected_verb(word) or wording.nouns(word)[0] != word
    return len(word) >= _MIN_WORD and not is_word and (is_object or before.word in wording.language.questions)


def _fill_byshape(draft: Draft, needed: Sequence[Property]) -> None:
    """Set several ids by what they are called: "recA1" is a record, "tblLeads" a table, "1712345678.000200" a timestamp.

    A mail address is an id where the schema allows it, and a long number is the only id.
    """
    every = [place for place in draft.free(Kind.ID, Kind.WORD) if _is_opaque(draft, place)]
    columns = zip(*(draft.tokens[place].value for place in every), strict=False)
    shared = sum(1 for _ in itertools.takewhile(lambda each: len(set(each)) == 1, columns)) if len(every) > 1 else 0
    for each in needed:
        left = [place for place in every if place not in draft.used_places]
        own = [place for place in left if _is_called_after(each, draft.tokens[place].value, shared)]
        others = [
            other
            for other in needed
            if other is not each and any(_is_called_after(other, draft.tokens[place].value, shared) for place in own)
        ]
        if own and not others and (len(own) == 1 or each.is_list):
            values = [draft.tokens[place].value for place in own]
            draft.set(each, values if each.is_list else values[0], own)
    needed = [each for each in needed if each.name not in draft.args]
    if len(needed) != 1 or any(_is_opaque(draft, place) for place in draft.free(Kind.ID, Kind.WORD)):
        return
    mails = draft.free(Kind.EMAIL) if "email" in needed[0].text.lower() and not draft.profile.takes(Role.EMAIL) else []
    numbers = [place for place in draft.free(Kind.NUMBER) if _LONG_NUMBER.fullmatch(draft.tokens[place].value)]
    for found in (mails, numbers):
        if len(found) == 1:
            draft.set_text(needed[0], found)
            return


def _is_called_after(each: Property, value: str, shared: int = 0) -> bool:
    """Whether an id starts with the first letters, or with the consonants, of what it identifies.

    :param shared: how many letters all ids of the part start with: "PUSER4" and "PSCHED2" differ after one.
    """
    if _MOMENT.fullmatch(value):
        return bool({"timestamp", "ts"} & set(each.words))
    prefix = _PREFIX.match(value[shared:])
    if prefix is None:
        return False
    start = prefix[0].lower()
    return any(word.startswith(start) or _without_vowels(word).startswith(start) for word in each.words)


def _without_vowels(word: str) -> str:
    return word[:1] + re.sub("[aeiou]", "", word[1:])


def is_id(draft: Draft, each: Property, places: Sequence[int]) -> bool:
    """Whether a labelled value can be an id: "the user Anna" names a person, unless the schema takes names."""
    token = draft.tokens[places[0]]
    if token.kind is Kind.QUOTE and token.value.rpartition(".")[2].lower() in FILE_EXTENSIONS:
        # "download the attachment 'plan.pdf'" names a file.
        return takes_names(each)
    if token.kind not in (Kind.WORD, Kind.QUOTE, Kind.HASH) or any(char.isdigit() for char in token.value):
        return token.kind is not Kind.QUOTE or takes_names(each) or bool(_ID_SHAPE.fullmatch(token.value.lstrip("#")))
    text = draft.text(places[0], places[-1])
    # "the playlist lo-fi" is a name, and "uid pay-eu" an id.
    is_name = not _FREE_IDS & set(each.words) and (
        "-" in text and text.replace("-", "").isalpha() and draft.tokens[places[0] - 1].word not in ROLE_WORDS["id"]
    )
    return takes_names(each) or _is_strange(draft, text) or bool(_ID_SHAPE.fullmatch(text) and not is_name)


def _is_strange(draft: Draft, text: str) -> bool:
    """Whether a word in lower case behind a label is in no word list: "the project nwpyfjco"."""
    return text.isalpha() and text.islower() and len(text) >= _MIN_STRANGE and not draft.wording.is_word(text)


def takes_names(each: Property) -> bool:
    """Whether the schema of an id takes names as well."""
    return bool(_NAMED_ID.search(f"{' '.join(each.words)} {each.text}"))


def _is_dotted(draft: Draft, place: int) -> bool:
    """Whether a word is an id such as ``light.kitchen``; ``switch.fan`` only looks like a file."""
    value = draft.tokens[place].value
    if draft.tokens[place].kind is Kind.PATH:
        return (
            "/" not in value
            and value.rpartition(".")[2].lower() not in FILE_EXTENSIONS
            and not draft.profile.takes(Role.PATH)
        )
    return place != draft.part.verb_place and ("." in value.strip(".") or "_" in value.strip("_"))


def _only_likely(draft: Draft, needed: Sequence[Property], place: int) -> Property | None:
    """Return the input of a single id: the only one, else the one whose example looks like it, or that the entry is about."""
    if len(needed) < 2:
        return needed[0] if needed else None
    found = likely_of(draft, needed, draft.tokens[place].value)
    rest = range(place + 2, len(draft.tokens))
    if found is not None and any(draft.stems(at) & found.labels and draft.preposition_before(at) for at in rest):
        # "add t1 to my playlist"
        others = [each for each in needed if each is not found]
        return others[0] if len(others) == 1 else None
    return found


def likely_of(draft: Draft, needed: Sequence[Property], value: str) -> Property | None:
    """Return the input of an id among several: the one whose example looks like it, or that the entry is about."""
    alike = [each for each in needed if any(shape(match[1]) == shape(value) for match in EXAMPLE.finditer(each.text))]
    named = [each for each in needed if each.labels & set(draft.profile.name)]
    return next((found[0] for found in (alike, named) if len(found) == 1), None)


def shape(text: str) -> str:
    """Return the shape of an id: "A-9" for "PROJ-123"."""
    letters = re.sub(r"[a-z]+", "a", re.sub(r"[A-Z]+", "A", text))
    return re.sub(r"\d+", "9", letters)


def _fill_id_word(draft: Draft, needed: Sequence[Property]) -> None:
    """Set an id from a path such as ``/org/project``, or from a symbol in capitals or a coined word."""
    if len(needed) != 1:
        return
    paths = [
        place
        for place in draft.free(Kind.PATH, Kind.HASH, Kind.SLUG)
        if (draft.tokens[place].value.startswith("/") or not is_file(draft.tokens[place]))
        and is_id(draft, needed[0], [place])
        and (draft.tokens[place].kind is not Kind.SLUG or _takes_slash(needed[0]))
    ]
    # "the PDF document" states no id; a ticker or a code is one.
    symbols = [
        place
        for place in draft.free(Kind.WORD)
        if (takes_names(needed[0]) or (_leads(draft, place) and _FREE_IDS & set(needed[0].words)))
        and not draft.is_filler(place)
        and (
            ((value := draft.tokens[place].value).isupper() and 1 < len(value) <= _MAX_SYMBOL)
            or _is_coined(draft, place)
            or _is_unknown(draft, place)
            or _leads(draft, place)
        )
    ]
    if len(paths) == 1:
        draft.set(needed[0], id_text(draft, paths), paths)
    elif len(symbols) == 1:
        draft.set_text(needed[0], symbols)


def _takes_slash(each: Property) -> bool:
    """Whether an id may be "acme/web": what no other input of the entry is for, and no example contradicts."""
    shown = EXAMPLE.search(each.text)
    return "/" in each.text or not ((shown and any(map(str.isdigit, shown[1]))) or each.labels & _APART)


def id_text(draft: Draft, places: Sequence[int]) -> str:
    """Return the text of an id, without "#"."""
    text = draft.text(places[0], places[-1])
    return text.lstrip("#") if draft.tokens[places[0]].kind is Kind.HASH else text
