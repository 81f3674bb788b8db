"""Fills inputs that take ids and names: an id has the shape of one, and a person is none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from helmdeck_language import Kind, stem
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.labels import labelled, named, word_run
from helmdeck_planner.embedded.choice.weighing import is_file
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import FILE_TYPES

_NAMED_ID: Final = re.compile(
    r"\b(?:name|slug|symbol|ticker|handle|code|tag|branch|username|commit|revision)\b", re.IGNORECASE
)
_ID_SHAPE: Final = re.compile(r"(?=.*[\d._-])[\w.:/-]+|[A-Z]{2,6}")
_TEXT_ROLES: Final = (Role.CONTENT, Role.QUERY, Role.NAME, Role.TEXT)
# "a 3-day forecast".
_COUNTED: Final = re.compile(r"\d{1,4}-[a-z]{3,}")
_EXTENSIONS: Final = frozenset(FILE_TYPES.values())
_EXAMPLE: Final = re.compile(r"(?:e\.g\.,?|such as|like|example:?)\s+['\"`]?([\w.:-]+)", re.IGNORECASE)


def fill_ids(draft: Draft) -> None:
    """Set ids: the value after their label, else the only one."""
    if not any(each.role is Role.ID for each in draft.open_inputs()):
        return
    # "the card 'Login' in the list 61bc": the id is not that of the card.
    named_words = frozenset[str]().union(*(draft.stems(place - 1) for place in draft.named_ids))
    inputs = [each for each in draft.open_inputs() if each.role is Role.ID and not each.labels & named_words]
    for each in inputs:
        places = labelled(draft, each)
        if places and is_id(draft, each, places):
            draft.set(each, _id_text(draft, places), places)
    left = [
        place
        for place in draft.free(Kind.ID, Kind.WORD, Kind.PATH)
        if (draft.tokens[place].kind is Kind.ID and not _COUNTED.fullmatch(draft.tokens[place].value))
        or _is_dotted(draft, place)
    ]
    needed = [each for each in inputs if each.is_required and each.name not in draft.args]
    if not left and not any(each.is_required and each.role in _TEXT_ROLES for each in draft.open_inputs()):
        left = draft.quoted(Kind.ID)
    if len(left) == 1 and (own := _only_likely(draft, needed, left[0])):
        draft.set(own, draft.tokens[left[0]].value, left)
    elif len(left) > 1 and len(needed) == 1 and needed[0].is_list:
        draft.set(needed[0], [draft.tokens[place].value for place in left], left)
    elif len(left) == len(needed) == 2 and {each.side for each in needed} == {"source", "target"}:
        for each in needed:
            draft.set(each, draft.tokens[left[each.side == "target"]].value, [left[each.side == "target"]])
    elif needed and not left:
        _fill_id_word(draft, needed)


def is_id(draft: Draft, each: Property, places: Sequence[int]) -> bool:
    """Whether a labelled value can be an id: "the user Anna" names a person, unless the schema takes names."""
    token = draft.tokens[places[0]]
    if token.kind is Kind.QUOTE and token.value.rpartition(".")[2].lower() in _EXTENSIONS:
        # "download the attachment 'plan.pdf'" names a file.
        return _takes_names(each)
    if token.kind not in (Kind.WORD, Kind.QUOTE, Kind.HASH) or any(char.isdigit() for char in token.value):
        return token.kind is not Kind.QUOTE or _takes_names(each) or bool(_ID_SHAPE.fullmatch(token.value.lstrip("#")))
    return _takes_names(each) or bool(_ID_SHAPE.fullmatch(draft.text(places[0], places[-1])))


def _takes_names(each: Property) -> bool:
    return bool(_NAMED_ID.search(f"{' '.join(each.words)} {each.text}"))


def _is_dotted(draft: Draft, place: int) -> bool:
    """Whether a word is an id such as ``light.kitchen``; ``switch.fan`` only looks like a file."""
    value = draft.tokens[place].value
    if draft.tokens[place].kind is Kind.PATH:
        return (
            "/" not in value
            and value.rpartition(".")[2].lower() not in _EXTENSIONS
            and not draft.profile.takes(Role.PATH)
        )
    return place != draft.part.verb_place and ("." in value.strip(".") or "_" in value.strip("_"))


def _only_likely(draft: Draft, needed: Sequence[Property], place: int) -> Property | None:
    """Return the input of a single id: the only one, else the one whose example looks like it, or that the entry is about."""
    if len(needed) < 2:
        return needed[0] if needed else None
    value = draft.tokens[place].value
    alike = [
        each for each in needed if any(_shape(match[1]) == _shape(value) for match in _EXAMPLE.finditer(each.text))
    ]
    named = [each for each in needed if each.labels & set(draft.profile.name)]
    return next((found[0] for found in (alike, named) if len(found) == 1), None)


def _shape(text: str) -> str:
    """Return the shape of an id: "A-9" for "PROJ-123"."""
    letters = re.sub(r"[a-z]+", "a", re.sub(r"[A-Z]+", "A", text))
    return re.sub(r"\d+", "9", letters)


def _fill_id_word(draft: Draft, needed: Sequence[Property]) -> None:
    """Set an id from a path such as ``/org/project``, or from a symbol in capitals."""
    if len(needed) != 1:
        return
    paths = [
        place
        for place in draft.free(Kind.PATH, Kind.HASH, Kind.SLUG)
        if (draft.tokens[place].value.startswith("/") or not is_file(draft.tokens[place]))
        and is_id(draft, needed[0], [place])
    ]
    # "the PDF document" states no id; a ticker or a code is one.
    symbols = [
        place
        for place in draft.free(Kind.WORD)
        if _takes_names(needed[0])
        and (value := draft.tokens[place].value).isupper()
        and 1 < len(value) <= 6
        and not draft.is_filler(place)
    ]
    if len(paths) == 1:
        draft.set(needed[0], _id_text(draft, paths), paths)
    elif len(symbols) == 1:
        draft.set(needed[0], draft.tokens[symbols[0]].value, symbols)


def _id_text(draft: Draft, places: Sequence[int]) -> str:
    text = draft.text(places[0], places[-1])
    return text.lstrip("#") if draft.tokens[places[0]].kind is Kind.HASH else text


def fill_names(draft: Draft) -> None:
    """Set names and titles: the value after "called" or after a label."""
    for each in list(draft.open_inputs()):
        if each.role not in (Role.NAME, Role.TEXT, Role.PATH, Role.PATTERN, Role.CODE):
            continue
        places = labelled(draft, each) or (_unknown_object(draft, each) if each.role in (Role.NAME, Role.TEXT) else [])
        words = [draft.tokens[place].word for place in places]
        # "move everything from /a to /b" names no file.
        if (words and draft.wording.language.empty.issuperset(words)) or (
            places and each.role is Role.CODE and draft.tokens[places[0]].is_word
        ):
            places = []
        if not places and each.role in (Role.NAME, Role.PATH) and (each.is_required or _is_only_name(draft, each)):
            places = named(draft, each)
        if places and each.is_list and draft.tokens[places[0]].is_word:
            runs = _joined_names(draft, places)
            draft.set(each, [draft.text(run[0], run[-1]) for run in runs], [place for run in runs for place in run])
        elif places:
            draft.set(each, _id_text(draft, places), places)


def _joined_names(draft: Draft, first: list[int]) -> list[list[int]]:
    """Return a name, and the names that commas and "and" join to it: "Anna, Ben and Zoe"."""
    runs, joints = [first], draft.wording.language.joints
    place = first[-1] + 1
    while place + 1 < len(draft.tokens) and (draft.tokens[place].value == "," or draft.tokens[place].word in joints):
        following = place + 1
        if _is_name_of_list(draft, following):
            runs.append(word_run(draft, following))
            place = runs[-1][-1]
        place += 1
    return runs


def _is_name_of_list(draft: Draft, place: int) -> bool:
    """Whether a word continues a list of names; in "label bug, assignee ana", the label of another input does not."""
    labels = frozenset[str]().union(*(each.labels for each in draft.profile.properties))
    is_free = draft.tokens[place].is_word and place not in draft.used_places and not draft.is_filler(place)
    return is_free and not draft.stems(place) & labels


def _unknown_object(draft: Draft, each: Property) -> list[int]:
    """Return the object of the verb, if it is a word of no language and of no entry: "install numpy"."""
    place = draft.part.verb_place + 1
    needed = [
        other for other in draft.profile.required if other.name not in draft.args and other.role is not Role.NUMBER
    ]
    if (
        not each.is_required
        or needed[:1] != [each]
        or place == 0
        or place >= len(draft.tokens)
        or draft.part.is_question
    ):
        return []
    token = draft.tokens[place]
    is_unknown = token.is_word and place not in draft.used_places and not draft.wording.is_known(token.word)
    has_verb = stem(draft.part.verb) in draft.profile.verbs
    return [place] if is_unknown and has_verb and token.value.islower() else []


def _is_only_name(draft: Draft, each: Property) -> bool:
    return each.role is Role.NAME and sum(other.role is Role.NAME for other in draft.profile.properties) == 1
