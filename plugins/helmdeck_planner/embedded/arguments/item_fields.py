"""The fields of the objects of a list: which one takes a name, a kind or a text, and which words label each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from helmdeck_language import Kind, Token, stem
from helmdeck_planner.embedded.choice.weighing import is_file
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import FILE_WORDS, KIND_WORDS, NOTE_WORDS

_TEXTS: Final = (Role.TEXT, Role.NAME, Role.CONTENT, Role.ID, Role.QUERY)
_PLAIN_NAMES: Final = frozenset(("name", "title"))
# Kinds of values that only fields of one role take.
_ROLES: Final = {
    Kind.EMAIL: Role.EMAIL,
    Kind.URL: Role.URL,
    Kind.DATE: Role.DATE,
    Kind.NUMBER: Role.NUMBER,
    Kind.HASH: Role.TARGET,
    Kind.PATH: Role.PATH,
}


@attrs.frozen
class ItemFields:
    """The fields of the objects of a list by what they take.

    :ivar name: what an object is called.
    :ivar kind: what kind of thing it is.
    :ivar text: what is noted about it, or stored in it.
    :ivar sides: the fields after "from" and "to", if it has both, and ``link`` the one that says what joins them.
    """

    every: tuple[Property, ...]
    labels: Mapping[str, Property]
    name: Property | None
    kind: Property | None
    text: Property | None
    sides: Mapping[str, Property]
    link: Property | None

    @property
    def required(self) -> tuple[Property, ...]:
        """The fields that each object has."""
        return tuple(each for each in self.every if each.is_required)

    @property
    def is_pair(self) -> bool:
        """Whether an object is a text and a number: "apples 10"."""
        return sorted(each.role for each in self.required) in ([Role.NAME, Role.NUMBER], [Role.NUMBER, Role.TEXT])

    @property
    def has_number(self) -> bool:
        """Whether an object has a number."""
        return any(each.role is Role.NUMBER for each in self.every)

    def of_kind(self, token: Token) -> Property | None:
        """Return the field that takes values of a kind."""
        role = _ROLES.get(token.kind)
        if role is None or (role is Role.PATH and not is_file(token)):
            return None
        return next((each for each in self.every if each.role is role), None)


def item_fields(profile: Profile, owner: Property) -> ItemFields:
    """Return the fields of the objects of a list.

    :param owner: the input that takes the list.
    """
    fields = owner.fields
    sides = {each.side: each for each in fields if each.is_required and each.side and each.role in _TEXTS}
    sides = sides if sides.keys() == {"source", "target"} else {}
    texts = [each for each in fields if each.is_required and each.role in _TEXTS and each not in sides.values()]
    link = texts[0] if sides and len(texts) == 1 else None
    kind = next((each for each in texts if len(texts) > 1 and KIND_WORDS & set(each.words[-1:])), None)
    text = next((each for each in texts if each.is_list or each.role is Role.CONTENT), None) if not sides else None
    rest = [each for each in texts if each not in (kind, text)]
    named = [each for each in rest if _PLAIN_NAMES & set(each.words)] or rest
    name = named[0] if named and not sides else None
    found = ItemFields(fields, {}, name, kind, text, sides, link)
    return attrs.evolve(found, labels=_labels(profile, found))


def _labels(profile: Profile, fields: ItemFields) -> dict[str, Property]:
    """Return the field that each word labels: the last word of its name, another one, or the word for the object."""
    sided = [*fields.sides.values()]
    labels: dict[str, Property] = {}
    for each, its_words in ((fields.text, NOTE_WORDS), (fields.kind, KIND_WORDS)):
        labels |= dict.fromkeys(map(stem, its_words), each) if each is not None else {}
    thing = fields.link or (fields.name if fields.name and set(fields.name.words) <= _PLAIN_NAMES else fields.text)
    own = {stem(word): each for each in fields.every if each not in sided for word in each.words[:-1]}
    labels |= own
    if thing is not None:
        labels |= dict.fromkeys(profile.name, thing)
    for each in fields.every:
        labels |= dict.fromkeys(map(stem, FILE_WORDS), each) if each.role is Role.PATH else {}
    return labels | {stem(each.words[-1]): each for each in fields.every if each not in sided and each.words}


def lacking(found: Sequence[Mapping[str, object]], fields: ItemFields) -> bool:
    """Whether an object has no value of a required field."""
    return not found or any(each.name not in item for item in found for each in fields.required)
