"""Values that other parts of a request state for a step: "rule ar-7 is noisy, delete it", "show the logs of web-1. 50 lines are enough"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final

import attrs

from helmdeck_language import Kind, stem
from helmdeck_planner.embedded.arguments.dates import fill_date_limit
from helmdeck_planner.embedded.arguments.described import fill_excluded
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.exclusions import fill_exclusions, fill_passive_exclusion
from helmdeck_planner.embedded.arguments.free_text import has_reference
from helmdeck_planner.embedded.arguments.labels import has_label, labels_of
from helmdeck_planner.embedded.arguments.listed import is_receiver
from helmdeck_planner.embedded.arguments.numbers import fill_limit
from helmdeck_planner.embedded.arguments.switches import fill_switches_beside
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import NAMING_VERBS
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
        _fill_exclusions(draft, part)
        facts = _without_given_name(draft, _without_label_as_verb(part, draft), part) if not part.is_excluded else part
        if _states_facts(facts, draft.wording):
            found = _Facts(
                draft, part, drafted(facts), refers=refers, is_setting=part in settings, is_labelled=is_labelled
            )
            found.fill()


def _fill_exclusions(draft: Draft, part: Part) -> None:
    """Set what another part leaves out, and the switches that it states."""
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


@attrs.define(slots=False)
class _Facts:
    """What a part without a step states for a step.

    :ivar draft: the arguments of the step.
    :ivar part: the part that states the facts.
    :ivar other: its values as arguments of the same entry.
    :ivar refers: the step refers to what is stated elsewhere.
    :ivar is_setting: the part states where all steps act.
    :ivar is_labelled: take quoted strings with a label only.
    """

    draft: Draft
    part: Part
    other: Draft
    refers: bool
    is_setting: bool
    is_labelled: bool

    @cached_property
    def _stems(self) -> frozenset[str]:
        return frozenset[str]().union(*(self.other.stems(place) for place in range(len(self.other.tokens))))

    @cached_property
    def _follows(self) -> bool:
        """Whether the part is behind the step."""
        return bool(self.draft.tokens) and self.part.tokens[0].start > self.draft.tokens[0].start

    @cached_property
    def _is_about(self) -> bool:
        """Whether the facts are about the step: "50 lines are enough", "it should be done by 2027-04-30".

        A fact before the step may have nothing to do with it, unlike a preference: "I'd rather walk: how do I get to the pier".
        """
        other = self.other
        if self._follows or has_reference(other) or any(token.word in _PREFERRING for token in other.tokens):
            return True
        # "there is a film called Low Tide, can you find it"
        return self.refers and any(map(other.is_naming, range(len(other.tokens))))

    def fill(self) -> None:
        """Set the open inputs that the facts are meant for."""
        draft, other, taken = self.draft, self.other, list[Property]()
        sides = {each.side for each in draft.profile.required if each.side and each.name in other.args}
        for each in sorted(draft.open_inputs(), key=lambda each: not each.is_required):
            value = other.args.get(each.name)
            has_label = self._labels(each)
            is_meant = self._is_meant(each, taken, has_label=has_label) and (
                has_label or not _only_exists(other.part, each)
            )
            # "Hamburg to Oslo": both sides of the way
            is_way = each.is_required and bool(each.side) and {"source", "target"} == sides
            if value is not None and (is_meant or is_way) and draft.set(each, value, []):
                taken.append(each)
        if taken and all(place in other.used_places or not token.is_value for place, token in enumerate(other.tokens)):
            draft.stated_by.append(self.part)

    def _labels(self, each: Property) -> bool:
        """Whether the facts have a word that names an input, or say that a thing goes to its value."""
        is_named = bool(self._stems & (each.labels or labels_of(self.other, each)))
        return is_named or any(is_receiver(self.other, place) for place in self.other.stated_at.get(each.name, ()))

    def _is_meant(self, each: Property, accepted: Sequence[Property], *, has_label: bool) -> bool:
        """Whether an input may take its value from the facts.

        :param accepted: the inputs that have values from them.
        """
        if self.is_setting:
            return each.is_required and each.role in _OBJECT_ROLES and not (self.is_labelled and self._has_own(each))
        if self.is_labelled:
            quotes = [token.value for token in self.other.tokens if token.kind is Kind.QUOTE]
            return self._follows and has_label and self.other.args.get(each.name) in quotes
        if each.is_required:
            return has_label or each.role not in _LOOSE_ROLES or (self.refers and each.role in _NAMED_ROLES)
        # "Ada paid 40 euros in cash, book it": the statement identifies the step as well.
        names_step = any(other.is_required for other in accepted)
        return (self._is_about or names_step) and (has_label or each.role in _OPTIONAL_ROLES)

    def _has_own(self, each: Property) -> bool:
        """Whether the step has an id of the same kind: "OPS-7: log 20 minutes. And OPS-8 goes to done"."""
        draft = self.draft
        shapes = {_shape(token.value) for token in self.part.tokens if token.is_value}
        has_own = any(_shape(draft.tokens[place].value) in shapes for place in draft.free(*_ID_KINDS))
        return has_own or any(_is_own_number(draft, each, place) for place in draft.free(Kind.NUMBER))


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
    tokens, name = part.tokens, draft.beside(part)
    is_naming = len(tokens) > 2 and tokens[0].word in NAMING_VERBS and name.is_reference(1)
    inputs = [each for each in draft.profile.required if each.role is Role.NAME and not each.is_list]
    end = next((place for place in range(2, len(tokens)) if tokens[place].kind in (Kind.MARK, Kind.BREAK)), len(tokens))
    if not is_naming or len(inputs) != 1 or not draft.profile.writes or end == 2:
        return facts
    text = name.text(2, end - 1)
    if draft.args.setdefault(inputs[0].name, text) != text:
        return facts
    draft.stated_by.append(part)
    return attrs.evolve(part, tokens=tokens[end + 1 :], verb="", verb_place=-1)
