"""The field of "change the title of ENG-5 to 'Fix header'": it takes the value, and no other input does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from helmdeck_language import Kind, Token, stem
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import NAMING_VERBS, STATE_WORDS, TITLES
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.wording import Wording

_OF: Final = ("of", "for")
# Words of a field: "due date".
_MOST_WORDS: Final = 3
_THINGS: Final = (Role.ID, Role.PATH, Role.URL)
_TEXTS: Final = (Role.NAME, Role.TEXT, Role.CONTENT, Role.QUERY, Role.OWNER, Role.PLACE)
_OBJECTS: Final = ("{", "[")
_ASSIGNING: Final = ("to", "=", ":", "as", "is")
_BORDERS: Final = (Kind.MARK, Kind.BREAK)


@attrs.frozen
class Field:
    """A field that a part names, and the places of its new value.

    :ivar inputs: those that it names; empty if the entry has none for it.
    """

    inputs: Sequence[Property]
    places: range

    def closes(self, each: Property, tokens: Sequence[Token]) -> bool:
        """Whether the value is not that of an input; a quoted string may have an input that the field names in other words."""
        if self.inputs:
            return each not in self.inputs
        is_quote = tokens[self.places[0]].kind is Kind.QUOTE
        is_state = bool(STATE_WORDS & set(each.words))
        return not each.is_required and each.role in _TEXTS and (is_state or not is_quote)

    @property
    def text_input(self) -> Property | None:
        """The only input that is named, if it takes a text."""
        each = self.inputs[0] if len(self.inputs) == 1 else None
        return each if each is not None and each.role in _TEXTS and not each.is_list else None


def field_of(part: Part, profile: Profile, wording: Wording) -> Field | None:
    """Return the field that a part changes; ``None`` if it names none."""
    tokens = part.tokens
    words, start = _field_words(part, wording)
    to = next((place for place in range(start, len(tokens)) if wording.preposition(tokens[place]) == "to"), len(tokens))
    if not words or to + 1 >= len(tokens) or (tokens[to + 1].kind in _BORDERS and tokens[to + 1].value not in _OBJECTS):
        return None
    end = len(tokens) if tokens[to + 1].value in _OBJECTS else to + 2
    while not tokens[to + 1].is_value and end < len(tokens) and _continues(tokens[end], wording):
        end += 1
    stems = frozenset(stem(word) for word in words)
    rows = [(len(stems & _labels(each)), each) for each in profile.properties]
    most = max((count for count, each in rows if each.role not in _THINGS), default=0)
    named = [each for count, each in rows if count == most and each.role not in _THINGS] if most else []
    if any(each.is_required and each.role is Role.NAME for each in named):
        return None  # "the name of the task 'Gym'" may be the one that it has
    return Field(named, range(to + 1, end))


def assigned(part: Part, profile: Profile) -> Mapping[int, Property]:
    """Return the inputs whose whole names a part has, by the places of their values: "set max_size to 5"."""
    tokens = part.tokens
    named = {each.name: each for each in profile.properties if _is_identifier(each.name)}
    return {
        place + 2: named[token.value]
        for place, token in enumerate(tokens[:-2])
        if token.value in named and tokens[place + 1].value.lower() in _ASSIGNING
    }


def _is_identifier(name: str) -> bool:
    """Whether a name is no word of a sentence: "setting_7", "maxSize"."""
    return not name.isalpha() or not (name.islower() or name.istitle())


def _labels(each: Property) -> frozenset[str]:
    is_state = bool(STATE_WORDS & set(each.words))
    return each.labels | frozenset(map(stem, (*each.words, *(STATE_WORDS if is_state else ()))))


def _field_words(part: Part, wording: Wording) -> tuple[Sequence[str], int]:
    """Return the words of a field behind the verb, and the place behind them; "rename" names a title."""
    tokens, start = part.tokens, part.verb_place + 1
    if part.verb_place < 0 or part.is_question:
        return (), 0
    if part.verb in NAMING_VERBS:
        return tuple(TITLES), start
    while start < len(tokens) and tokens[start].is_word and wording.is_filler(tokens[start].word):
        start += 1
    end = start
    while end < len(tokens) and tokens[end].is_word and not wording.preposition(tokens[end]):
        end += 1
    is_field = start < end <= start + _MOST_WORDS and end < len(tokens) and tokens[end].word in _OF
    return ([token.word for token in tokens[start:end]], end) if is_field else ((), 0)


def _continues(token: Token, wording: Wording) -> bool:
    is_joint = token.is_word and token.word in wording.language.joints
    return not (token.kind in _BORDERS or is_joint or wording.preposition(token))
