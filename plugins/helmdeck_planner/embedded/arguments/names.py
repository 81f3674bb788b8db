"""Fills inputs that take names: the value after "called" or a label, people beside their mail address, packages beside a version."""

from __future__ import annotations

import re
from typing import Final

from helmdeck_language import Action, Kind, stem, words
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.ids import id_text
from helmdeck_planner.embedded.arguments.labels import labelled, named
from helmdeck_planner.embedded.arguments.listed import fill_by_verb, fill_receiver, is_joined, set_names
from helmdeck_planner.embedded.arguments.name_words import is_inside_name, word_run
from helmdeck_planner.embedded.arguments.refused import image_at
from helmdeck_planner.embedded.arguments.results import fill_command, fill_content, fill_result, takes_command
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import (
    AFTER_NAMES,
    FIRST_NAME,
    HONORIFICS,
    KIND_WORDS,
    LAST_NAME,
    NAME_PARTICLES,
    PERSON_NAME,
)

_VERSION: Final = re.compile(r"v?\d{1,9}(?:\.\d{1,9}){1,3}(?:[-+.]?[A-Za-z]\w{0,20})?")
_IDENTIFIER: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+")
# "worker-2", "DutchStonewall88"; "v2" is a version.
_NUMBERED: Final = re.compile(r"(?!v\d)[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*")
_FRAMEWORK: Final = re.compile(r"\w+\.(?:js|io|net|py)", re.IGNORECASE)
_NAME_OF: Final = re.compile(r"^(?:the )?name of\b", re.IGNORECASE)
_TAGGED: Final = re.compile(r"[A-Za-z][\w.-]*:[\w.-]+")
_PACKAGES: Final = frozenset(map(stem, ("package", "library", "module", "dependency")))
_IMAGE: Final = stem("image")
_MAKING: Final = frozenset((Action.CREATE, Action.SEND, Action.SEARCH))
_BETWEEN: Final = (",", "(", "<", "-")
_MAX_NAME: Final = 4


def fill_people(draft: Draft) -> None:
    """Set the name of a person that is beside a mail address: "add Ada Lovelace (ada@example.org) as a customer"."""
    mails = [place for place, token in enumerate(draft.tokens) if token.kind is Kind.EMAIL]
    if len(mails) != 1 or not draft.profile.takes(Role.EMAIL):
        return
    _fill_owner_of_mail(draft, draft.tokens[mails[0]].value)
    end = mails[0] - 1
    while end >= 0 and draft.tokens[end].value in _BETWEEN:
        end -= 1
    if end >= 0:
        run = _name_before(draft, end)
        if run and draft.preposition(run[0] - 1) in ("from", "at", "of"):
            # "Ada Lovelace from Acme, ada@example.org"
            run = _name_before(draft, run[0] - 2) or run
        set_person(draft, run)


def _fill_owner_of_mail(draft: Draft, mail: str) -> None:
    """Set a first and a last name that the request states elsewhere, and that the mail address is made of: "ana.lee@example.org"."""
    halves = re.split(r"[._-]", mail.partition("@")[0])
    first, last = _first_and_last(draft)
    if not (first and last) or len(halves) != 2 or not all(map(str.isalpha, halves)):
        return
    found = re.search(rf"\b({halves[0]}) ({halves[1]})\b", draft.source, re.IGNORECASE)
    if found and found[1].istitle() and found[2].istitle():
        draft.set(first, found[1], [])
        draft.set(last, found[2], [])


def _name_before(draft: Draft, end: int) -> list[int]:
    """Return the words of a name in capitals up to a place."""
    start = end + 1
    while (
        start > 0
        and end - start < _MAX_NAME - 1
        and (_is_name_word(draft, start - 1) or (start <= end and is_inside_name(draft, start - 1)))
    ):
        start -= 1
    return list(range(start, end + 1))


def _is_name_word(draft: Draft, place: int) -> bool:
    token = draft.tokens[place]
    is_free = place != draft.part.verb_place and place not in draft.used_places
    return token.is_word and is_free and token.is_capital and not draft.is_filler(place)


def _first_and_last(draft: Draft) -> tuple[Property | None, Property | None]:
    """Return the open inputs that take the first and the last name of a person."""
    first, last = (
        next(
            (each for each in draft.open_inputs() if own & set(each.words) and set(each.words) <= {*own, "name"}), None
        )
        for own in (FIRST_NAME, LAST_NAME)
    )
    return first, last


def set_person(draft: Draft, places: list[int]) -> None:
    """Set the first and the last name of a person, or the whole name, from the words at some places."""
    first, last = _first_and_last(draft)
    whole = next(
        (each for each in draft.open_inputs() if "name" in each.words and set(each.words) <= PERSON_NAME), None
    )
    if first and last and places and draft.tokens[places[0]].word in HONORIFICS:
        places = places[1:]
    if first and last and len(places) > 1:
        # "Jan van den Berg"
        particles = (
            index for index, place in enumerate(places) if index and draft.tokens[place].value in NAME_PARTICLES
        )
        border = next(particles, len(places) - 1)
        draft.set(first, draft.text(places[0], places[border - 1]), places[:border])
        draft.set(last, draft.text(places[border], places[-1]), places[border:])
    elif whole and places and not first:
        draft.set_text(whole, places)


def fill_versions(draft: Draft) -> None:
    """Set versions, and what they are of: "requests" in "requests 2.31.0"; of two, the description says which is older."""
    _fill_image(draft)
    _fill_package(draft)
    versioned = [each for each in draft.profile.properties if "version" in each.words] or _tags(draft)
    versions = [place for place, token in enumerate(draft.tokens) if _VERSION.fullmatch(token.value)]
    if not versioned or not versions:
        return
    aged = sorted(versioned, key=lambda each: "newer" in words(each.text))
    if len(versions) == 2 and len(aged) == 2 and ["newer" in words(each.text) for each in aged] == [False, True]:
        ordered = sorted(
            versions, key=lambda place: [int(part) for part in re.findall(r"\d{1,9}", draft.tokens[place].value)]
        )
        for each, place in zip(aged, ordered, strict=True):
            draft.set_text(each, [place])
    if len(versions) == len(versioned) == 1 and versioned[0].name not in draft.args:
        label = [versions[0] - 1] if versions[0] and draft.stems(versions[0] - 1) & versioned[0].labels else []
        draft.set(versioned[0], draft.tokens[versions[0]].value, versions, label)
    needed = [each for each in draft.open_inputs() if each.is_required and each.role in (Role.NAME, Role.TEXT)]
    needed = [each for each in needed if each not in versioned and not each.side]
    labels = frozenset[str]().union(*(each.labels for each in (*versioned, *needed)))
    place = versions[0] - 1
    while place >= 0 and (draft.preposition(place) in ("from", "to", "at") or draft.stems(place) & labels):
        place -= 1
    if place < 0 or len(needed) != 1 or not draft.tokens[place].is_word or draft.is_filler(place):
        return
    if not draft.stems(place) & (draft.profile.nouns | draft.profile.verbs):
        draft.set_text(needed[0], [place])


def _tags(draft: Draft) -> list[Property]:
    """Return the input that takes the tag of an image."""
    return [each for each in draft.open_inputs() if "tag" in each.words and _IMAGE in each.hints and not each.is_list]


def _fill_image(draft: Draft) -> None:
    """Set an image, or its repository and its tag, from the only "redis:7.4"."""
    images = [
        each
        for each in draft.open_inputs()
        if each.is_required and each.role in (Role.NAME, Role.TEXT) and not each.is_list
        if "image" in each.words or (_IMAGE in each.hints and "tag" not in each.words)
    ]
    places = [place for place in draft.free(Kind.ID) if _TAGGED.fullmatch(draft.tokens[place].value)]
    joined = next(
        (found for place in draft.free(Kind.PATH, Kind.SLUG) if (found := image_at(draft.tokens, place))), None
    )
    places = list(joined or places)
    if len(images) != 1 or (len(places) != 1 and not joined):
        return
    value, tags = draft.text(places[0], places[-1]), _tags(draft)
    if not tags:
        draft.set(images[0], value, places[:1], places)
        return
    name, _, tag = value.rpartition(":")
    if draft.set(images[0], name, places[:1], places, is_shared=True):
        draft.set(tags[0], tag, places[-1:], is_shared=True)


def _fill_package(draft: Draft) -> None:
    """Set a package from the only name with a scope, or with an ending such as ".js": "@tuba/brass", "Chart.js"."""
    inputs = [each for each in draft.open_inputs() if each.is_required and each.role in (Role.NAME, Role.TEXT)]
    inputs = [each for each in inputs if not each.is_list and _PACKAGES & {*each.labels, *each.hints}]
    places = [place for place in draft.free(Kind.SLUG) if draft.tokens[place].value.startswith("@")]
    places = places or [place for place in draft.free(Kind.PATH) if _FRAMEWORK.fullmatch(draft.tokens[place].value)]
    draft.set_only(inputs, places)


def fill_names(draft: Draft) -> None:
    """Set names and titles: the value after "called" or after a label."""
    fill_people(draft)
    for each in draft.open_inputs():
        if each.role not in (Role.NAME, Role.TEXT, Role.PATH, Role.PATTERN, Role.CODE, Role.OWNER) or takes_command(
            each
        ):
            continue
        places = labelled(draft, each) or (_unknown_object(draft, each) if each.role in (Role.NAME, Role.TEXT) else [])
        own = [draft.tokens[place].word for place in places]
        # "move everything from /a to /b" names no file.
        is_empty = draft.wording.language.empty | draft.wording.language.values["extensions"]
        is_kind = bool(KIND_WORDS & set(each.words))  # "a field of type number"
        is_adverb = bool(own) and all(draft.tokens[place].value in AFTER_NAMES for place in places)
        if (own and is_empty.issuperset(own) and not is_kind) or (
            is_adverb or (places and each.role is Role.CODE and draft.tokens[places[0]].is_word)
        ):
            places = []
        if (
            not places
            and each.role in (Role.NAME, Role.PATH, Role.PATTERN)
            and (each.is_required or _is_only_name(draft, each))
        ):
            places = named(draft, each)
        if places and each.is_list and draft.tokens[places[0]].kind is not Kind.PATH:
            set_names(draft, each, places)
        elif places:
            draft.set(each, id_text(draft, places), places)
    _fill_copied(draft)
    fill_by_verb(draft)
    fill_receiver(draft)
    fill_result(draft)
    fill_command(draft)
    fill_content(draft)
    _fill_identifier(draft)


def _fill_copied(draft: Draft) -> None:
    """Set the name of a new thing from the name behind "as" at the end: "copy f12 as Backup"."""
    names = [each for each in draft.open_inputs() if each.role is Role.NAME and each.words[-1:] == ("name",)]
    place = next((place for place, token in enumerate(draft.tokens) if place and token.word == "as"), -1) + 1
    if len(names) != 1 or not draft.profile.writes or not 0 < place < len(draft.tokens):
        return
    token = draft.tokens[place]
    run = word_run(draft, place) if token.is_word else [place]
    is_name = token.kind in (Kind.ID, Kind.SLUG, Kind.QUOTE) or (token.is_word and token.is_capital)
    if is_name and run[-1] + 1 == len(draft.tokens):
        draft.set_text(names[0], run)


def _fill_identifier(draft: Draft) -> None:
    """Set the only required name from the only word that is one by its form: "which columns does audit_log have", "mark worker-2"."""
    needed = [each for each in draft.open_inputs() if each.is_required and each.role is not Role.NUMBER]
    if len(needed) != 1 or needed[0].is_list or _MAKING & draft.profile.actions:
        return
    each = needed[0]
    places = [place for place in draft.free(Kind.WORD) if _IDENTIFIER.fullmatch(draft.tokens[place].value)]
    if each.role in (Role.NAME, Role.TEXT) and _NAME_OF.search(each.text):
        places += [place for place in draft.free(Kind.ID) if _NUMBERED.fullmatch(draft.tokens[place].value)]
    if len(places) == 1 and each.role in (Role.NAME, Role.TEXT, Role.PATTERN) and not is_joined(draft, places[0]):
        draft.set_text(each, places)


def _unknown_object(draft: Draft, each: Property) -> list[int]:
    """Return the object of the verb, if it is a word of no language and of no entry: "install numpy", "react with tada"."""
    needed = [
        other for other in draft.profile.required if other.name not in draft.args and other.role is not Role.NUMBER
    ]
    # Of "project" and "flag", "toggle_flag" acts on the flag.
    own = [other for other in needed if other.labels & draft.profile.nouns]
    if (own if len(own) == 1 else needed)[:1] != [each] or draft.part.verb_place < 0 or draft.part.is_question:
        return []
    start = draft.part.verb_place + 1
    while start < len(draft.tokens) and _leads_object(draft, start):
        start += 1
    if start >= len(draft.tokens):
        return []
    token = draft.tokens[start]
    is_unknown = token.is_word and start not in draft.used_places and not draft.wording.is_known(token.word)
    has_verb = stem(draft.part.verb) in draft.profile.verbs
    if start > draft.part.verb_place + 1:
        # "put a thumbsup on the message"
        end = start + 1 + (start + 1 < len(draft.tokens) and draft.tokens[start + 1].value == ":")
        # ":eyes:" is a name, "a shot of the page" has none.
        is_marked = draft.tokens[start - 1].value == ":" == draft.tokens[end - 1].value
        ends = (is_marked or not draft.wording.is_word(token.word)) and (
            end == len(draft.tokens) or bool(draft.preposition(end))
        )
        has_verb = ends and len(needed) == 1 and not draft.wording.corrected_verb(token.word)
    return [start] if is_unknown and has_verb and token.value.islower() else []


def _leads_object(draft: Draft, place: int) -> bool:
    return draft.is_one_of(place, "articles") or draft.preposition(place) == "with" or draft.tokens[place].value == ":"


def _is_only_name(draft: Draft, each: Property) -> bool:
    return each.role is Role.NAME and sum(other.role is Role.NAME for other in draft.profile.properties) == 1
