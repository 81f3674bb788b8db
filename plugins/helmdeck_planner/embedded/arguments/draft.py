"""The arguments of one step while they are filled in, with the words of the part that are already used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from helmdeck_language import Kind, Token, stem
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.entries.properties import Property
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.wording import Wording


@attrs.define
class Draft:
    """The arguments of a step, by input name.

    :ivar source: the whole request; values are slices of it.
    :ivar used_places: places of tokens whose text is an argument already, or says which one.
    """

    source: str
    part: Part
    profile: Profile
    wording: Wording
    args: dict[str, Any] = attrs.Factory(dict)
    used_places: set[int] = attrs.Factory(set)
    _stems: dict[int, frozenset[str]] = attrs.field(factory=dict, init=False)

    @property
    def tokens(self) -> Sequence[Token]:
        """The tokens of the part."""
        return self.part.tokens

    def open_inputs(self) -> Iterator[Property]:
        """Yield the inputs without a value, required ones first."""
        for each in self.profile.properties:
            if each.name not in self.args:
                yield each

    def set(self, each: Property, value: Any, places: Sequence[int]) -> None:
        """Set an argument from the tokens at some places."""
        if each.is_list and not isinstance(value, list):
            value = [value]
        self.args[each.name] = value
        self.used_places.update(places)

    def free(self, *kinds: Kind) -> list[int]:
        """Return the places of unused tokens of some kinds."""
        return [
            place for place, token in enumerate(self.tokens) if token.kind in kinds and place not in self.used_places
        ]

    def is_filler(self, place: int) -> bool:
        """Whether a token is an article, a preposition or the like."""
        token = self.tokens[place]
        return token.is_word and (self.wording.is_filler(token.word) or bool(self.wording.preposition(token)))

    def preposition_before(self, place: int) -> str:
        """Return the English preposition before a token, articles and labels in between skipped; empty without one."""
        for before in range(place - 1, max(place - 4, -1), -1):
            token = self.tokens[before]
            if found := self.preposition(before):
                return found
            if not token.is_word or before == self.part.verb_place:
                return ""
        return ""

    def preposition(self, place: int) -> str:
        """Return the English preposition at a place; "between A and B" is "from A to B"."""
        token = self.tokens[place]
        found = self.wording.preposition(token)
        if found == "between":
            return "from"
        is_second = token.is_word and token.word in self.wording.language.joints and token.word != "or"
        if is_second and "between" in (self.wording.preposition(other) for other in self.tokens[:place]):
            return "to"
        return found

    def stems(self, place: int) -> frozenset[str]:
        """Return the stems of a word; of all its meanings."""
        found = self._stems.get(place)
        if found is None:
            token = self.tokens[place]
            own = (token.word, *self.wording.nouns(token.word)) if token.is_word else ()
            found = self._stems[place] = frozenset(stem(word) for word in own)
        return found

    def text(self, first: int, last: int) -> str:
        """Return the text from one token to another, both included; a single quoted string without its marks."""
        if first == last:
            return self.tokens[first].value
        return self.source[self.tokens[first].start : self.tokens[last].end]
