"""Values that other parts of a request state for a step: "rule ar-7 is noisy, delete it", "show the logs of web-1. 50 lines are enough"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

import attrs

from helmdeck_language import Kind, stem
from helmdeck_planner.embedded.arguments.choices import fill_switches_beside
from helmdeck_planner.embedded.arguments.dates import fill_date_limit
from helmdeck_planner.embedded.arguments.described import fill_excluded
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.exclusions import fill_exclusions, fill_passive_exclusion
from helmdeck_planner.embedded.arguments.free_text import has_reference
from helmdeck_planner.embedded.arguments.labels import has_label, labels_of
from helmdeck_planner.embedded.arguments.listed import is_receiver
from helmdeck_planner.embedded.arguments.numbers import fill_limit
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import COLOUR_NAMES, NAMING_VERBS
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.word_lists import word_list
from helmdeck_planner.embedded.request.wording import Wording

_OBJECT_ROLES: Final = (Role.ID, Role.NUMBER, Role.OWNER, Role.REPO)
# A shorter number may be a count.
_MIN_ID: Final = 4
_ID_KINDS: Final = (Kind.ID, Kind.HASH, Kind.SLUG)
_OPTIONAL_ROLES: Final = (Role.NUMBER, Role.DATE, Role.CHOICE, Role.BOOLEAN)
_LOOSE_ROLES: Final = (Role.QUERY, Role.CONTENT, Role.NAME, Role.TEXT, Role.PLACE, Role.EXPRESSION, Role.CODE)
_PREFERRING: Final = word_list("preferring")
_SUBJECTS: Final = word_list("subjects")
_OWNING: Final = ("have", "has", "had")
_NAMED_ROLES: Final = (Role.NAME, Role.PLACE, Role.ZONE)


def fill_background(
    draft: Draft,
    settings: Sequence[Part],
    parts: Sequence[Part],
    drafted: Callable[[Part], Draft],
    *,
    is_labelled: bool = False,
) -> None:
    """Set open inputs from what other parts state.

    A text is taken from there only if it has a label, or if the part refers to it.

    :param settings: the parts that state where all others act.
    :param parts: the other parts that may state something.
    :param drafted: returns the arguments of the same entry for another part.
    :param is_labelled: take quoted strings with a label only, from the parts after the step.
    """
    refers = has_reference(draft) or len(draft.tokens) == 1
    for part in (*settings, *parts):
        starts_exclusion = bool(part.tokens) and part.tokens[0].word in draft.wording.language.values["excluding"]
        if starts_exclusion:
            fill_exclusions(draft, part)
        elif part.tokens[2:]:
            fill_passive_exclusion(draft, part)
        fill_switches_beside(draft, part)
        if part.is_excluded:
            fill_exclusions(draft, part)
            fill_excluded(draft, part)
            fill_limit(draft, part)
            fill_date_limit(draft, part)
            continue
        facts = _without_given_name(draft, _without_label_as_verb(part, draft), part)
        if not _states_facts(facts, draft.wording):
            continue
        other = drafted(facts)
        quotes = [token.value for token in facts.tokens if token.kind is Kind.QUOTE]
        stems = frozenset[str]().union(*(other.stems(place) for place in range(len(facts.tokens))))
        follows = bool(draft.tokens) and part.tokens[0].start > draft.tokens[0].start
        # "50 lines are enough", "it should be done by 2027-04-30"; a fact before the step may have nothing to do with it, unlike
        # a preference: "I'd rather walk: how do I get to the pier".
        is_about = follows or has_reference(other) or any(token.word in _PREFERRING for token in facts.tokens)
        # "there is a film called Low Tide, can you find it"
        is_about = is_about or (refers and any(token.word in draft.wording.language.naming for token in facts.tokens))
        taken: list[Property] = []
        sides = {each.side for each in draft.profile.required if each.side and each.name in other.args}
        for each in sorted(draft.open_inputs(), key=lambda other: not other.is_required):
            value = other.args.get(each.name)
            has_label = bool(stems & (each.labels or labels_of(other, each)))
            has_label = has_label or any(is_receiver(other, place) for place in other.stated_at.get(each.name, ()))
            if part in settings:
                # "OPS-7: log 20 minutes. And OPS-8 goes to done"
                shapes = {_shape(token.value) for token in part.tokens if token.is_value}
                has_own = any(_shape(draft.tokens[place].value) in shapes for place in draft.free(*_ID_KINDS))
                has_own |= any(_is_own_number(draft, each, place) for place in draft.free(Kind.NUMBER))
                is_meant = each.is_required and each.role in _OBJECT_ROLES and not (is_labelled and has_own)
            elif is_labelled:
                is_meant = follows and has_label and value in quotes
            elif each.is_required:
                is_meant = has_label or each.role not in _LOOSE_ROLES or (refers and each.role in _NAMED_ROLES)
            else:
                # "Ada paid 40 euros in cash, book it": the statement identifies the step as well.
                names_step = any(other.is_required for other in taken)
                is_meant = (is_about or names_step) and (
                    has_label or each.role in _OPTIONAL_ROLES or bool(COLOUR_NAMES & set(each.words))
                )
            is_meant = is_meant and (has_label or not _only_exists(facts, each))
            # "Hamburg to Oslo": both sides of the way
            is_way = each.is_required and bool(each.side) and {"source", "target"} == sides
            if value is not None and (is_meant or is_way) and draft.set(each, value, []):
                taken.append(each)
        is_whole = all(place in other.used_places or not token.is_value for place, token in enumerate(facts.tokens))
        if taken and is_whole:
            draft.stated_by.append(part)


def _only_exists(facts: Part, each: Property) -> bool:
    """Whether a sentence counts or dates something else for an optional input: "there are 40 people in our team"."""
    first, second = (*(token.word for token in facts.tokens[:2]), "", "")[:2]
    is_owned = first in _SUBJECTS and second in _OWNING and each.unit is None
    is_counted = each.role is Role.NUMBER and (first == "there" or is_owned)
    return not each.is_required and (is_counted or (each.role in (Role.DATE, Role.TIME) and first == "there"))


def _is_own_number(draft: Draft, each: Property, place: int) -> bool:
    """Whether a number is an id by its length, or by its label: "issue 42"."""
    return len(draft.tokens[place].value) >= _MIN_ID or has_label(draft, each, place)


def _shape(value: str) -> str:
    """Return what ids of the same kind have in common: "A-0" for "OPS-7"."""
    return re.sub(r"\d+", "0", re.sub(r"[^\W\d_]+", "A", value))


def _without_label_as_verb(part: Part, draft: Draft) -> Part:
    """Return a part such as "title 'Crash'" without a verb, if its first word is the label of an input."""
    if part.verb_place != 0 or len(part.tokens) < 2 or not (part.tokens[1].is_value or part.tokens[1].value in ":="):
        return part
    word = part.tokens[0].word
    label = frozenset(stem(other) for other in (word, *draft.wording.nouns(word)))
    is_label = any(label & each.labels for each in draft.profile.properties)
    return attrs.evolve(part, verb="", verb_place=-1) if is_label else part


def _states_facts(part: Part, wording: Wording) -> bool:
    """Whether a part requests nothing: "web-1 is slow"; "we want a coupon" requests something else."""
    language = wording.language
    asks = any(token.word in language.wishes - language.statements for token in part.tokens if token.is_word)
    is_request = part.verb_place == 0 or part.is_question or part.is_excluded or part.is_wish or asks
    return bool(part.tokens) and not is_request


def _without_given_name(draft: Draft, facts: Part, part: Part) -> Part:
    """Set the only open name from "name it Kitchen Refit, in green", and return the rest of the part."""
    tokens = part.tokens
    is_naming = (
        len(tokens) > 2 and tokens[0].word in NAMING_VERBS and tokens[1].word in draft.wording.language.references
    )
    inputs = [each for each in draft.profile.required if each.role is Role.NAME and not each.is_list]
    end = next((place for place in range(2, len(tokens)) if tokens[place].kind in (Kind.MARK, Kind.BREAK)), len(tokens))
    if not is_naming or len(inputs) != 1 or not draft.profile.writes or end == 2:
        return facts
    name = Draft(draft.source, part, draft.profile, draft.wording).text(2, end - 1)
    if draft.args.setdefault(inputs[0].name, name) != name:
        return facts
    draft.stated_by.append(part)
    return attrs.evolve(part, tokens=tokens[end + 1 :], verb="", verb_place=-1)
