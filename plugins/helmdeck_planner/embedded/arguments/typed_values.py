"""Fills inputs whose values have a recognisable form: URLs, paths, dates, choices."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import attrs

from helmdeck_language import Kind, stem
from helmdeck_planner.embedded.arguments.choices import fill_choices, fill_coded, fill_colours
from helmdeck_planner.embedded.arguments.currencies import fill_currencies
from helmdeck_planner.embedded.arguments.dates import (
    fill_date_range,
    fill_month,
    in_iso,
    is_moment,
    takes_moment,
    with_date,
)
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.examples import fill_examples
from helmdeck_planner.embedded.arguments.labels import has_label
from helmdeck_planner.embedded.arguments.refs import is_unlike_path
from helmdeck_planner.embedded.arguments.switches import fill_switches
from helmdeck_planner.embedded.arguments.times import Time, in_form_of, range_start, time_at, times_of
from helmdeck_planner.embedded.arguments.turned import fill_turned
from helmdeck_planner.embedded.choice.weighing import is_file
from helmdeck_planner.embedded.entries.properties import TEXT_ROLES, Property, Role
from helmdeck_planner.embedded.entries.property_words import FILE_WORDS, FOLDER_WORDS, OTHER_PEOPLE

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
# Tokens between a date and its time, and those of "from 10 to" before the second time.
_NEAR_DATE: Final = 3
_RANGE: Final = 3
_TARGET: Final = ("to", "until")
_SOURCE: Final = ("from",)
_AFTER_SQL: Final = " .!,:-\u2013\u2026"
# "select a from b" in quotes; "- run it" after a statement.
_STATEMENT: Final = re.compile(r"\s*(?:select|insert|update|delete|with|create|alter|drop|explain)\s", re.IGNORECASE)
_COMMAND_AFTER: Final = re.compile(r"(?<=\s)(?:--?|[\u2013\u2014])\s+(?P<words>[a-z ]{2,40})$")
_FOLDERS: Final = frozenset(map(stem, ("directory", "folder")))
_FILES: Final = frozenset(map(stem, FILE_WORDS))
# English prepositions before the first and the last moment of a range.
_MOVING: Final = ("move", "postpone", "reschedule", "shift", "push", "bring", "delay")
_STARTING: Final = ("from", "after")
_ENDING: Final = ("to", "until", "before")
# "e.g", "U.S"
_ABBREVIATION: Final = re.compile(r"(?:\w\.){1,4}\w", re.IGNORECASE)


_IP: Final = re.compile(r"(?:\d{1,3}\.){3}\d{1,3}(?:/\d{1,2})?|(?=.*:.*:)[0-9A-Fa-f:]{4,39}")
_HOST: Final = re.compile(r"(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}")
_TAKES_IP: Final = re.compile(r"\bIP(?:v4)? address\b")
_TAKES_HOST: Final = re.compile(r"\bhost ?name\b|\bdomain name\b|\bor host\b", re.IGNORECASE)
_TAKES_PHONE: Final = re.compile(r"\b(?:tele)?phone\b|\bmobile(?: number)?$|\bfax\b", re.IGNORECASE)
_CALLER: Final = re.compile(r"['\"`]me['\"`]|\bthe me value\b")
_SUM: Final = re.compile(r"\(?(-?\d+(?:\.\d+)?)\s?[-+*/x]\s?(-?\d+(?:\.\d+)?)\)?")


def fill_typed(draft: Draft) -> None:
    """Set the inputs whose values have a form of their own."""
    _fill_hosts(draft)
    _fill_phones(draft)
    fill_date_range(draft)
    fill_month(draft)
    for role, kinds in _KINDS.items():
        if any(each.role is role for each in draft.open_inputs()):
            _fill_role(draft, role, kinds)
    fill_currencies(draft)
    _fill_operands(draft)
    _fill_caller(draft)
    fill_choices(draft)
    fill_coded(draft)
    fill_examples(draft)
    fill_colours(draft)
    fill_switches(draft)
    fill_turned(draft)


def _fill_role(draft: Draft, role: Role, kinds: tuple[Kind, ...]) -> None:
    """Set the inputs of a role from the values of its kinds."""
    inputs = [each for each in draft.open_inputs() if each.role is role]
    places = _places_of(draft, role, kinds, inputs)
    if role is Role.EMAIL:
        places = _without_others(draft, inputs, places)
        inputs = [each for each in inputs if each.name not in draft.args]
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


def _places_of(draft: Draft, role: Role, kinds: tuple[Kind, ...], inputs: Sequence[Property]) -> list[int]:
    """Return the places of the values for a role."""
    if role is Role.TIME:
        times = [time.places[0] for time in times_of(draft) if draft.used_places.isdisjoint(time.places)]
        places = sorted((*times, *(place for place in draft.free(Kind.DATE) if is_moment(draft, place))))
    else:
        places = [place for kind in kinds for place in draft.free(kind) if _is_value_of(draft, role, place)]
    if role is Role.PATTERN and not places and all("url" in each.hints for each in inputs):
        # "requests with /api/orders in their address"
        places = [place for place in draft.free(Kind.PATH) if not is_file(draft.tokens[place])]
    if not places and not _takes_any_text(draft):
        places = draft.quoted(*kinds)  # "fetch 'https://example.org'"
    if not places and role is Role.SQL:
        places = [place for place in draft.free(Kind.QUOTE) if _STATEMENT.match(draft.tokens[place].value)]
    return places


def _takes_files(each: Property) -> bool:
    return "file" in each.words or "glob" in each.words or stem("glob") in each.hints


def _takes_any_text(draft: Draft) -> bool:
    """Whether another input may take a quoted string, whatever it contains."""
    return any(each.is_required and each.role in TEXT_ROLES for each in draft.open_inputs())


def _assign_folders(draft: Draft, inputs: Sequence[Property], places: Sequence[int]) -> None:
    """Set inputs that take a folder or repository, beside others that take files."""
    folders = [each for each in inputs if FOLDER_WORDS & set(each.words)]
    if len(folders) != 1 or (len(inputs) == 1 and len(places) < 2):
        return
    likely = [place for place in places if draft.preposition_before(place) in ("in", "of", "from", "to")]
    unlike = [place for place in places if "." not in draft.tokens[place].value.rpartition("/")[2]]
    both = [place for place in likely if place in unlike] or unlike
    if len(both) == 1:
        _set(draft, folders[0], both)


def _is_value_of(draft: Draft, role: Role, place: int) -> bool:
    token = draft.tokens[place]
    if role is Role.PATH and token.kind is Kind.SLUG:
        # "reports/2024" is a path; "Europe/Oslo" may be one.
        return _is_path(draft, place) and not is_unlike_path(draft, place)
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
    before = draft.word(place - 1)
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
            wanted: Sequence[str] = _SOURCE if each.side == "source" else _TARGET
            if draft.part.verb in _MOVING and each.role in (Role.DATE, Role.TIME):
                wanted = _TARGET if each.side == "source" else ()
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
            return draft.preposition_before(places[0]) not in _SOURCE and not _is_sender(draft, places[0])
        return bool(OTHER_PEOPLE & set(each.words)) and not has_label(draft, each, places[0])
    if each.role is Role.PATH and _is_saved_in(draft, each, places[0]):
        return False
    if (
        each.role is Role.PATH
        and not is_file(draft.tokens[places[0]])
        and _FILES & {stem(word) for word in (*each.words, *each.text.lower().split()[:2])}
    ):
        return not has_label(draft, each, places[0])  # "/api/orders" is no file to save to
    is_only = not draft.profile.required and [
        other for other in draft.profile.properties if other.role is each.role
    ] == [each]
    is_object = (
        places[0] == draft.part.verb_place + 1
        and len([o for o in draft.profile.properties if o.role is each.role]) == 1
    )
    return not (is_only or is_object) and not any(has_label(draft, each, place) for place in places)


def _is_saved_in(draft: Draft, each: Property, place: int) -> bool:
    """Whether the only path of an entry is a folder, and a folder is behind "in" or "to": "save att-4 in /data/mail"."""
    others = [other for other in draft.profile.properties if other.role is Role.PATH and other is not each]
    is_folder = bool(_FOLDERS & each.hints) and not is_file(draft.tokens[place])
    return is_folder and not others and draft.preposition(place - 1) in ("in", "to")


def _without_others(draft: Draft, inputs: Sequence[Property], places: Sequence[int]) -> list[int]:
    """Set the inputs of mail addresses after "cc" and the like, and return the other addresses."""
    left = []
    for place in places:
        before = draft.word(place - 1)
        if before not in OTHER_PEOPLE or draft.preposition(place - 1):
            left.append(place)
        elif own := next((each for each in inputs if before in each.words and each.name not in draft.args), None):
            _set(draft, own, [place])
    return left


def _is_sender(draft: Draft, place: int) -> bool:
    """Whether a mail address is the subject of a clause: "what ada@example.org has written"."""
    following = [other for other in range(place + 1, min(place + 4, len(draft.tokens))) if not draft.is_filler(other)]
    return any(draft.is_one_of(other, "sent") for other in following[:2])


def _contradicts(draft: Draft, each: Property, place: int) -> bool:
    """Whether the preposition before a date is that of the other end: "until 1 May" for ``since``."""
    preposition = draft.preposition_before(place)
    if preposition == "to" and draft.part.verb in _MOVING:
        return each.side == "target"  # a new beginning: "move it to 1 May"
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
    if len(places) == 1 and each.role in (Role.TIME, Role.DATE):
        near = places[0] + _NEAR_DATE
        for place in range(max(places[0] - _NEAR_DATE, 0), min(near + _RANGE, len(draft.tokens))):
            time = time_at(draft, place)
            start = None if time is None or each.side == "target" else range_start(draft, time)
            if time is not None and start is not None:
                time = attrs.evolve(time, minutes=start.minutes, places=(*start.places, *time.places))
            elif place >= near:
                continue
            if time is not None and (moment := with_date(draft, each, time)):
                following = time.places[-1] + 1
                is_range = start is not None or draft.preposition(following) == "to"
                if draft.set(each, *moment) and is_range and each.side != "target":
                    _set_end(draft, each, time, place if start is not None else following + 1)
                return
            if time is not None and each.role is Role.DATE and takes_moment(each):
                return  # "tomorrow at 9"
    times = [time_at(draft, place) if each.role is Role.TIME else None for place in places]
    values = [
        _whole(draft, each, place) if time is None else in_form_of(each, time, draft.profile)
        for place, time in zip(places, times, strict=True)
    ]
    beside = [place for time in times if time is not None for place in time.places]
    draft.set(each, values if each.is_list else values[0], places, beside)


def _set_end(draft: Draft, each: Property, start: Time, place: int) -> None:
    """Set the only input for the end of a range whose start is set: that of "from 14:00 to 15:30", on the same day.

    :param each: the input of the start.
    """
    ends = [other for other in draft.open_inputs() if other.role is each.role and other.side == "target"]
    end = time_at(draft, place) if place < len(draft.tokens) else None
    if len(ends) != 1 or not takes_moment(ends[0]) or each.is_list or end is None:
        return
    if start.minutes is not None and end.minutes is not None and start.minutes < end.minutes:
        date, mark, _ = re.split(r"([T ])", str(draft.args[each.name]), maxsplit=1)
        if draft.set(ends[0], f"{date}{mark}{end.minutes // 60:02}:{end.minutes % 60:02}", []):
            draft.used_places.update(end.places)


def _whole(draft: Draft, each: Property, place: int) -> str:
    """Return the text of a value; of SQL without the polite words, marks and closing brackets after it."""
    token = draft.tokens[place]
    if each.role is Role.DATE:
        return in_iso(each, token.value)
    if each.role is not Role.SQL or token.kind is not Kind.SQL:
        return token.value
    text, before = token.value, ""
    while text != before:
        before, text = text, text.rstrip(_AFTER_SQL)
        command = _COMMAND_AFTER.search(text)
        first = command["words"].split()[0] if command else ""
        if command and (draft.wording.verb(first) or first in draft.wording.language.questions):
            text = text[: command.start()]
        head, space, last = text.rpartition(" ")
        if (
            space
            and last.lower()
            in draft.wording.language.lead_ins
            | draft.wording.language.trailing
            | draft.wording.language.values["after_sql"]
        ):
            text = head
    return text


def _fill_hosts(draft: Draft) -> None:
    """Set the only input whose description takes an IP address, and the only one that takes the name of a host."""
    for form, described in ((_IP, _TAKES_IP), (_HOST, _TAKES_HOST)):
        inputs = [each for each in draft.open_inputs() if each.is_required]
        inputs = [each for each in inputs if described.search(each.text) or (form is _IP and "ip" in each.words)]
        inputs = [each for each in inputs if each.role in (*TEXT_ROLES, Role.URL)]
        places = [place for place in draft.free(Kind.ID, Kind.PATH) if form.fullmatch(draft.tokens[place].value)]
        if len(inputs) == len(places) == 1 and not inputs[0].is_list:
            draft.set_text(inputs[0], places)


def _fill_phones(draft: Draft) -> None:
    """Set the only input that takes a phone number, required ones first: "phone 030 5550 123"."""
    places = draft.free(Kind.PHONE)
    inputs = [each for each in draft.open_inputs() if each.role in (*TEXT_ROLES, Role.ID) and not each.is_list]
    phones = [each for each in inputs if _TAKES_PHONE.search(f"{' '.join(each.words)} {each.text}")]
    inputs = phones or [each for each in inputs if each.words == ("number",)]
    inputs = [each for each in inputs if each.is_required] or inputs
    draft.set_only(inputs, places)


def _fill_caller(draft: Draft) -> None:
    """Set people to "me" where the schema has this value: "my issues"."""
    mine = [
        place
        for place in range(len(draft.tokens))
        if draft.is_one_of(place, "mine") or (draft.tokens[place].word == "me" and draft.preposition(place - 1) == "to")
    ]
    inputs = [each for each in draft.open_inputs() if _CALLER.search(each.text)] if mine else []
    if len(inputs) == 1 and not draft.free(Kind.EMAIL):
        draft.set(inputs[0], "me", mine[:1])


def _fill_operands(draft: Draft) -> None:
    """Set two numbers from "418 + 77.5"."""
    needed = [each for each in draft.open_inputs() if each.is_required and each.role is Role.NUMBER]
    places = draft.free(Kind.EXPRESSION)
    if len(needed) != 2 or len(places) != 1 or not (found := _SUM.fullmatch(draft.tokens[places[0]].value)):
        return
    for each, text in zip(needed, found.groups(), strict=True):
        draft.set(each, float(text) if "." in text else int(text), places, is_shared=True)
