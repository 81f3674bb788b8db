"""Fills inputs whose values have a recognisable form: URLs, paths, dates, choices."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from helmdeck_language import Kind, fold, split_identifier, stem, words
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.labels import has_label
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import CHOICE_WORDS

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
_TARGET: Final = ("to",)
_SOURCE: Final = ("from",)
_FOLDER_WORDS: Final = frozenset("repo repository dir directory folder root cwd workspace base project".split())
_MAX_CURRENCY: Final = 3
_TWENTY_FOUR_HOURS: Final = re.compile(r"\b24[- ]hour|\bHH:MM", re.IGNORECASE)
_HALF_DAY: Final = re.compile(r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?\ ?(?P<half>[ap])\.?m\.?", re.IGNORECASE)
_NOON: Final = 12


def fill_typed(draft: Draft) -> None:
    """Set the inputs whose values have a form of their own."""
    _fill_owner_and_repo(draft)
    for role, kinds in _KINDS.items():
        inputs = [each for each in draft.open_inputs() if each.role is role]
        if not inputs:
            continue
        places = [place for kind in kinds for place in draft.free(kind) if _is_value_of(draft, role, place)]
        if kinds[0] is Kind.PATH and any(draft.tokens[place].kind is Kind.PATH for place in places):
            places = [place for place in places if draft.tokens[place].kind is Kind.PATH]
        if role is Role.PATH:
            _assign_folders(draft, inputs, places)
            inputs = [each for each in inputs if each.name not in draft.args]
            places = [place for place in places if place not in draft.used_places]
        _assign(draft, inputs, places)
    _fill_words(draft, Role.CURRENCY, lambda place: _is_currency(draft, place))
    _fill_choices(draft)
    _fill_booleans(draft)


def _assign_folders(draft: Draft, inputs: Sequence[Property], places: Sequence[int]) -> None:
    """Set inputs that take a folder or repository, beside others that take files."""
    folders = [each for each in inputs if _FOLDER_WORDS & set(each.words)]
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
        return True
    return not (role is Role.SQL and token.kind is Kind.SQL and not token.value.strip())


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
        left = [place for place in left if place not in chosen]


def _files(draft: Draft, places: Sequence[int]) -> list[int]:
    """Return the values that are joined to the first one; a folder after "in" or "of" is not one of the files."""
    if len(places) > 1:
        return [place for place in places if draft.preposition_before(place) not in ("in", "of", "from", "to")] or list(
            places
        )
    return list(places)


def _belongs_elsewhere(draft: Draft, each: Property, places: Sequence[int]) -> bool:
    """Whether an optional input needs a label, because nothing else says that it is meant."""
    if each.role in (Role.DATE, Role.TIME, Role.URL, Role.PATTERN):
        return False
    if each.role is Role.EMAIL:
        if each.side == "" and "sender" in each.words:
            return draft.preposition_before(places[0]) not in _SOURCE
        return False
    is_only = not draft.profile.required and [
        other for other in draft.profile.properties if other.role is each.role
    ] == [each]
    return not is_only and not any(has_label(draft, each, place) for place in places)


def _set(draft: Draft, each: Property, places: Sequence[int]) -> None:
    values = [draft.tokens[place].value for place in places]
    if each.role is Role.TIME and _TWENTY_FOUR_HOURS.search(each.text):
        values = [_in_twenty_four_hours(value) for value in values]
    draft.set(each, values if each.is_list else values[0], places)


def _in_twenty_four_hours(text: str) -> str:
    """Return "15:00" for "3 pm"; any other time as it is written."""
    found = _HALF_DAY.fullmatch(text)
    if found is None or not 1 <= int(found["hour"]) <= _NOON:
        return text
    hour = int(found["hour"]) % _NOON + (_NOON if found["half"].lower() == "p" else 0)
    return f"{hour:02}:{found['minute'] or '00'}"


def _fill_owner_and_repo(draft: Draft) -> None:
    owner = next((each for each in draft.open_inputs() if each.role is Role.OWNER and each.is_required), None)
    repo = next((each for each in draft.open_inputs() if each.role is Role.REPO and each.is_required), None)
    places = draft.free(Kind.SLUG)
    if owner and repo and places:
        first, _, second = draft.tokens[places[0]].value.partition("/")
        draft.set(owner, first, places[:1])
        draft.set(repo, second, places[:1])


def _fill_words(draft: Draft, role: Role, fits: Callable[[int], bool]) -> None:
    inputs = [each for each in draft.open_inputs() if each.role is role]
    if inputs:
        _assign(draft, inputs, [place for place in draft.free(Kind.WORD) if fits(place)])


def _is_currency(draft: Draft, place: int) -> bool:
    value = draft.tokens[place].value
    return len(value) == _MAX_CURRENCY and value.isupper() and value.isalpha()


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
        if token.word in related or (
            len(own) == 1 and own & draft.stems(place) and not _names_object(draft, each, [place])
        ):
            return place
    if is_action and own == {stem(draft.part.verb)}:
        return draft.part.verb_place
    if draft.part.verb_place >= 0 and _verb_means(draft, each, value):
        return draft.part.verb_place
    return None


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
            if place != draft.part.verb_place and draft.stems(place) & wanted and place not in draft.used_places
        ]
        if wanted <= {term for place in places for term in draft.stems(place)}:
            draft.set(each, True, places)
