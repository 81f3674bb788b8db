"""Fills inputs whose values have a recognisable form: URLs, paths, dates, choices."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from helmdeck_language import Kind, fold, split_identifier, stem, words
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.free_text import is_in_topic
from helmdeck_planner.embedded.arguments.labels import has_label
from helmdeck_planner.embedded.arguments.times import in_form_of, time_at, times_of
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import (
    CHOICE_WORDS,
    CURRENCIES,
    FILE_WORDS,
    FOLDER_WORDS,
    KIND_WORDS,
    OTHER_PEOPLE,
)

_KINDS: Final = {
    Role.URL: (Kind.URL,),
    Role.EMAIL: (Kind.EMAIL,),
    Role.PATH: (Kind.PATH, Kind.SLUG),
    Role.DATE: (Kind.DATE,),
    Role.TIME: (Kind.TIME,),
    Role.SQL: (Kind.SQL, Kind.CODE),
    Role.CODE: (Kind.CODE, Kind.SQL),
    Role.EXPRESSION: (Kind.EXPRESSION, Kind.CODE),
    Role.PATTERN: (Kind.GLOB, Kind.CODE),
}
_TARGET: Final = ("to", "until")
_SOURCE: Final = ("from",)
_TEXT_ROLES: Final = (Role.CONTENT, Role.QUERY, Role.NAME, Role.TEXT)
_AFTER_SQL: Final = " .!,:-\u2013\u2026"
_OPENING: Final = {")": "(", "]": "[", "}": "{"}
_CLOSING: Final = tuple(_OPENING)
_FILES: Final = frozenset(map(stem, FILE_WORDS))
# English prepositions before the first and the last moment of a range.
_STARTING: Final = ("from", "after")
_ENDING: Final = ("to", "until", "before")
# "e.g", "U.S"
_ABBREVIATION: Final = re.compile(r"(?:\w\.){1,4}\w", re.IGNORECASE)


def fill_typed(draft: Draft) -> None:
    """Set the inputs whose values have a form of their own."""
    _fill_owner_and_repo(draft)
    for role, kinds in _KINDS.items():
        inputs = [each for each in draft.open_inputs() if each.role is role]
        if not inputs:
            continue
        if role is Role.TIME:
            places = [time.places[0] for time in times_of(draft) if draft.used_places.isdisjoint(time.places)]
        else:
            places = [place for kind in kinds for place in draft.free(kind) if _is_value_of(draft, role, place)]
        if not places and not _takes_any_text(draft):
            # "fetch 'https://example.org'"
            places = draft.quoted(*kinds)
        if kinds[0] is Kind.PATH and any(draft.tokens[place].kind is Kind.PATH for place in places):
            places = [place for place in places if draft.tokens[place].kind is Kind.PATH]
        if role is Role.PATH:
            _assign_folders(draft, inputs, places)
            inputs = [each for each in inputs if each.name not in draft.args]
            places = [place for place in places if place not in draft.used_places]
        if role is Role.PATTERN and any(map(_takes_files, inputs)):
            # "grep for 'x' in *.py": a pattern of files beside one of text.
            globs = [place for place in places if draft.tokens[place].kind is Kind.GLOB]
            _assign(draft, [each for each in inputs if _takes_files(each)], globs)
            inputs = [each for each in inputs if not _takes_files(each)]
            places = [place for place in places if place not in globs]
        _assign(draft, inputs, places)
    _fill_words(draft, Role.CURRENCY, lambda place: _is_currency(draft, place))
    _fill_choices(draft)
    _fill_booleans(draft)


def _takes_files(each: Property) -> bool:
    return "file" in each.words or "glob" in each.words or stem("glob") in each.hints


def _takes_any_text(draft: Draft) -> bool:
    """Whether another input may take a quoted string, whatever it contains."""
    return any(each.is_required and each.role in _TEXT_ROLES for each in draft.open_inputs())


def _assign_folders(draft: Draft, inputs: Sequence[Property], places: Sequence[int]) -> None:
    """Set inputs that take a folder or repository, beside others that take files."""
    folders = [each for each in inputs if FOLDER_WORDS & set(each.words)]
    if len(folders) != 1 or (len(inputs) == 1 and len(places) < 2):
        return
    likely = [place for place in places if draft.preposition_before(place) in ("in", "of", "from", "to")]
    unlike = [place for place in places if "." not in draft.tokens[place].value.rpartition("/")[2]]
    both = [place for place in likely if place in unlike] or unlike or (likely if len(places) > 1 else [])
    if len(both) == 1:
        _set(draft, folders[0], both)


def _is_value_of(draft: Draft, role: Role, place: int) -> bool:
    token = draft.tokens[place]
    if role is Role.PATH and token.kind is Kind.SLUG:
        # "reports/2024" is a path; "Europe/Oslo" may be one.
        return _is_path(draft, place)
    if role is Role.PATH and _ABBREVIATION.fullmatch(token.value):
        # "e.g" is none; "a.c" may be one after its label.
        return draft.tokens[place - 1].is_word and bool(draft.stems(place - 1) & _FILES) if place else False
    return not (role is Role.SQL and token.kind is Kind.SQL and not token.value.strip())


def _is_path(draft: Draft, place: int) -> bool:
    """Whether "a/b" is a path: "and/or" is none, nor is "the input/output file"."""
    halves = draft.tokens[place].value.lower().split("/")
    wording = draft.wording
    if any(wording.is_filler(half) or half in wording.language.joints for half in halves):
        return False
    before = draft.tokens[place - 1].word if place else ""
    return before not in wording.language.determiners or not all(map(wording.is_known, halves))


def _assign(draft: Draft, inputs: Sequence[Property], places: Sequence[int]) -> None:
    """Assign values of one kind to the inputs of that kind: by label, by "from" and "to", then in order."""
    left = list(places)
    for each in inputs:
        own = [place for place in left if has_label(draft, each, place)]
        if len(inputs) > 1 and len(own) == 1 and not each.is_list and each.side == "":
            _set(draft, each, own)
            left.remove(own[0])
    sided = [each for each in inputs if each.side and each.name not in draft.args]
    if len(inputs) > 1:
        for each in sided:
            wanted = _SOURCE if each.side == "source" else _TARGET
            fitting = [place for place in left if draft.preposition_before(place) in wanted]
            if fitting:
                _set(draft, each, fitting[:1])
                left.remove(fitting[0])
    for each in inputs:
        if each.name in draft.args or not left:
            continue
        if not each.is_required and _belongs_elsewhere(draft, each, left):
            continue
        chosen = left[:1]
        if each.is_list:
            chosen = _files(draft, left) if each.role is Role.PATH else left
        _set(draft, each, chosen)
        left = [place for place in left if place not in draft.used_places]


def _files(draft: Draft, places: Sequence[int]) -> list[int]:
    """Return the values that are joined to the first one; a folder after "in" or "of" is not one of the files."""
    if len(places) > 1:
        return [place for place in places if draft.preposition_before(place) not in ("in", "of", "from", "to")] or list(
            places
        )
    return list(places)


def _belongs_elsewhere(draft: Draft, each: Property, places: Sequence[int]) -> bool:
    """Whether an optional input needs a label, because nothing else says that it is meant."""
    if each.role in (Role.DATE, Role.TIME):
        return _contradicts(draft, each, places[0]) or _is_unclear(draft, each, places[0])
    if each.role in (Role.URL, Role.PATTERN):
        return False
    if each.role is Role.EMAIL:
        if each.side == "" and "sender" in each.words:
            return draft.preposition_before(places[0]) not in _SOURCE
        return bool(OTHER_PEOPLE & set(each.words)) and not has_label(draft, each, places[0])
    is_only = not draft.profile.required and [
        other for other in draft.profile.properties if other.role is each.role
    ] == [each]
    return not is_only and not any(has_label(draft, each, place) for place in places)


def _contradicts(draft: Draft, each: Property, place: int) -> bool:
    """Whether the preposition before a date is that of the other end: "until 1 May" for ``since``."""
    preposition = draft.preposition_before(place)
    return (each.side == "source" and preposition in _ENDING) or (each.side == "target" and preposition in _STARTING)


def _is_unclear(draft: Draft, each: Property, place: int) -> bool:
    """Whether another optional input may take a value as well, and no label says which."""
    others = [
        other
        for other in draft.open_inputs()
        if other.role is each.role and not other.is_required and not _contradicts(draft, other, place)
    ]
    labelled = [other for other in others if has_label(draft, other, place)]
    return len(others) > 1 and labelled != [each] and (bool(labelled) or len({other.side for other in others}) == 1)


def _set(draft: Draft, each: Property, places: Sequence[int]) -> None:
    times = [time_at(draft, place) if each.role is Role.TIME else None for place in places]
    values = [
        _whole(draft, each, place) if time is None else in_form_of(each, time)
        for place, time in zip(places, times, strict=True)
    ]
    beside = [place for time in times if time is not None for place in time.places]
    draft.set(each, values if each.is_list else values[0], places, beside)


def _whole(draft: Draft, each: Property, place: int) -> str:
    """Return the text of a value; of SQL without the polite words, marks and closing brackets after it."""
    token = draft.tokens[place]
    if each.role is not Role.SQL or token.kind is not Kind.SQL:
        return token.value
    text, before = token.value, ""
    while text != before:
        before, text = text, text.rstrip(_AFTER_SQL)
        head, space, last = text.rpartition(" ")
        if space and last.lower() in draft.wording.language.lead_ins:
            text = head
        if text.endswith(_CLOSING) and text.count(text[-1]) > text.count(_OPENING[text[-1]]):
            text = text[:-1]
    return text


def _fill_owner_and_repo(draft: Draft) -> None:
    owner = next((each for each in draft.open_inputs() if each.role is Role.OWNER and each.is_required), None)
    repo = next((each for each in draft.open_inputs() if each.role is Role.REPO and each.is_required), None)
    places = draft.free(Kind.SLUG)
    if owner and repo and places:
        first, _, second = draft.tokens[places[0]].value.partition("/")
        draft.set(owner, first, places[:1])
        draft.set(repo, second, places[:1], is_shared=True)


def _fill_words(draft: Draft, role: Role, fits: Callable[[int], bool]) -> None:
    inputs = [each for each in draft.open_inputs() if each.role is role]
    if inputs:
        _assign(draft, inputs, [place for place in draft.free(Kind.WORD) if fits(place)])


def _is_currency(draft: Draft, place: int) -> bool:
    value = draft.tokens[place].value
    return value in CURRENCIES


# -- choices -----------------------------------------------------------------------------------------------


def _fill_choices(draft: Draft) -> None:
    for each in list(draft.open_inputs()):
        if each.role is not Role.CHOICE:
            continue
        found = [(value, place) for value in each.choices if (place := _choice_place(draft, each, value)) is not None]
        if len(found) > 1:
            found = [row for row in found if str(row[0]).lower() != "all"]
            literal = [row for row in found if _choice_places(draft, row[0])]
            if _is_action(each):
                # "approve it with the comment ...": the verb is the action.
                literal = [row for row in found if row[1] == draft.part.verb_place] or literal
            found = _longest(literal or found)
        if len(found) == 1:
            value, place = found[0]
            draft.set(each, value, [place] if place >= 0 else [])
            draft.used_places.update(_choice_places(draft, value))


def _longest(found: list[tuple[Any, int]]) -> list[tuple[Any, int]]:
    """Return the choice that contains all others: "New York" and "York"."""
    best = max(found, key=lambda row: len(str(row[0])))
    return [best] if all(str(value).lower() in str(best[0]).lower() for value, _ in found) else found


def _choice_places(draft: Draft, value: Any) -> list[int]:
    wanted = [fold(word) for word in words(split_identifier(str(value)))]
    every = [fold(token.value) for token in draft.tokens]
    for place in range(len(every) - len(wanted) + 1):
        if wanted and every[place : place + len(wanted)] == wanted:
            return list(range(place, place + len(wanted)))
    return []


def _choice_place(draft: Draft, each: Property, value: Any) -> int | None:
    """Return the place of the word that requests a choice; ``None`` without one."""
    if isinstance(value, bool) or value is None:
        return None
    places = [place for place in _choice_places(draft, value) if place != draft.part.verb_place]
    if places and not _is_request(draft, each, places[0]):
        return None
    if places and not _names_object(draft, each, places):
        if isinstance(value, (int, float)) and not has_label(draft, each, places[0]):
            return None
        return places[0]
    if not isinstance(value, str):
        return None
    related = CHOICE_WORDS.get(value.lower(), frozenset())
    own = {stem(word) for word in words(split_identifier(value))}
    is_action = _is_action(each)
    for place, token in enumerate(draft.tokens):
        if not token.is_word:
            continue
        if place == draft.part.verb_place:
            if is_action and own == draft.stems(place) & own and own:
                return place
            continue
        is_meant = token.word in related or (
            len(own) == 1 and own & draft.stems(place) and not _names_object(draft, each, [place])
        )
        if is_meant and _is_request(draft, each, place):
            return place
    if is_action and own == {stem(draft.part.verb)}:
        return draft.part.verb_place
    if draft.part.verb_place >= 0 and _verb_means(draft, each, value):
        return draft.part.verb_place
    return None


def _is_request(draft: Draft, each: Property, place: int) -> bool:
    """Whether a word can request a choice: a word of the topic cannot, unless it says what kind of thing is searched for."""
    return bool(KIND_WORDS & set(each.words)) or has_label(draft, each, place) or not is_in_topic(draft, place)


def _is_action(each: Property) -> bool:
    return "action" in each.words or "event" in each.words


def _verb_means(draft: Draft, each: Property, value: str) -> bool:
    """Whether the verb requests a state: "close the issue" sets ``state`` to ``closed``."""
    is_state = bool({"state", "status"} & set(each.words))
    return is_state and stem(draft.part.verb) == stem(value.lower()) and bool(draft.profile.writes)


def _names_object(draft: Draft, each: Property, places: Sequence[int]) -> bool:
    """Whether a word is part of the entry's name, and so no choice: "list the open tabs"."""
    names = frozenset(draft.profile.name)
    return all(draft.stems(place) & names for place in places) and not has_label(draft, each, places[0])


def _fill_booleans(draft: Draft) -> None:
    """Set an optional switch to true where the request contains all words of its name."""
    for each in list(draft.open_inputs()):
        if each.role is not Role.BOOLEAN or each.is_required:
            continue
        wanted = {stem(word) for word in each.words if not draft.wording.is_filler(word)}
        if not wanted or wanted & (frozenset(draft.profile.name) | draft.profile.verbs):
            continue
        if wanted == {stem(draft.part.verb)} and draft.profile.writes:
            # "complete task 7": an update with ``completed``.
            draft.set(each, True, [])
            continue
        places = [
            place
            for place in range(len(draft.tokens))
            if place != draft.part.verb_place
            and draft.stems(place) & wanted
            and place not in draft.used_places
            and not is_in_topic(draft, place)
        ]
        if wanted <= {term for place in places for term in draft.stems(place)}:
            draft.set(each, True, places)
