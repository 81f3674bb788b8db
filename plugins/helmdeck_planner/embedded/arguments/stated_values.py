"""Finds what a part may state as values: its values, and runs of words that are neither verbs nor labels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

import attrs

from helmdeck_language import Kind, Token
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.entries.property_words import HONORIFICS

# Marks between a label and its value, and between the values of a list.
_AFTER_LABEL: Final = frozenset(":=#(")
_JOINED_BEFORE: Final = re.compile(r"\w[-:/@_.]?$|[-@_]$")
_JOINED_AFTER: Final = re.compile(r"[-:/@_.]?\w|[-_]")
_NEGATED: Final = ("n't", "n\u2019t")
_MAX_BEFORE: Final = 6
_MAX_LISTED: Final = 6
_MAX_COMPLEMENT: Final = 3


@attrs.frozen
class StatedValue:
    """A value that a part may state.

    :ivar first: the place of its first token; ``last`` is that of its last one.
    :ivar form: the kind of a value; "words", "capitals", "capital", "mixed", "unknown" or "word" for words.
    :ivar label: the place of the content word before it, -1 without one.
    :ivar preposition: the English one before it; empty without one.
    :ivar following: the place of the content word right after it, -1 without one.
    :ivar complement: the place of "title" in "'Fix' as commit title", -1 without one.
    :ivar start: the place of the first value of the list that it ends, such as "bug" of "bug, ios and web"; else ``first``.
    :ivar left_before: how many words of its run, labels left out, are before it; ``left_after`` are behind it.
    """

    first: int
    last: int
    form: str
    label: int
    preposition: str
    following: int
    complement: int
    start: int
    left_before: int = 0
    left_after: int = 0

    @property
    def is_listed(self) -> bool:
        """Whether other values of a list are before it."""
        return self.start < self.first

    @property
    def places(self) -> range:
        """The places of its tokens."""
        return range(self.first, self.last + 1)


@attrs.define(slots=False)
class StatedValues:
    """The values that a part may state for an entry.

    :ivar draft: the part and the entry.
    """

    draft: Draft

    @cached_property
    def tokens(self) -> Sequence[Token]:
        """The tokens of the part."""
        return self.draft.tokens

    @cached_property
    def _own_words(self) -> frozenset[str]:
        """The stems of the name of the entry and of the labels of its inputs."""
        profile = self.draft.profile
        return profile.nouns.union(*(each.labels for each in profile.properties))

    @cached_property
    def _described(self) -> frozenset[str]:
        """The stems of the descriptions of the entry and of its inputs."""
        profile = self.draft.profile
        return profile.text.union(*(each.hints for each in profile.properties))

    def all(self) -> Iterator[StatedValue]:
        """Yield what is stated, used places included; the spans of a run of words may overlap."""
        end = -1
        for place, token in enumerate(self.tokens):
            if place <= end:
                continue
            if token.is_value:
                if self._is_whole(place):
                    yield self._with_surroundings(place, place, token.kind.value)
            elif self._is_content(place):
                end = self._end(place)
                spans = list(self._spans(place, end))
                for first, last in spans:
                    found = self._with_surroundings(first, last, self._form(first, last))
                    left = max(0, first - spans[0][0]), max(0, spans[0][1] - last)
                    yield attrs.evolve(found, left_before=left[0], left_after=left[1])

    def at(self, first: int, last: int) -> StatedValue:
        """Return what the tokens from one place to another state as a whole."""
        token = self.tokens[first]
        is_value = first == last and token.is_value
        return self._with_surroundings(first, last, token.kind.value if is_value else self._form(first, last))

    def _is_whole(self, place: int) -> bool:
        """Whether a value is not joined to other text: not "17.2" in "17.2-alpine"."""
        source, token = self.draft.source, self.tokens[place]
        return token.kind is Kind.QUOTE or not (
            _JOINED_BEFORE.search(source[max(0, token.start - 2) : token.start])
            or _JOINED_AFTER.match(source, token.end)
        )

    def _is_content(self, place: int) -> bool:
        token = self.tokens[place]
        is_joint = token.word in self.draft.wording.language.joints
        # "the others don't matter"
        is_negated = place > 0 and self.tokens[place - 1].word.endswith(_NEGATED) and token.value.islower()
        return token.is_word and not (is_joint or is_negated or self.draft.is_filler(place))

    def _end(self, place: int) -> int:
        """Return the place of the last word of a run; "Dr. Berger", "Room 2" and "Tarn & Reed" are one."""
        tokens = self.tokens
        while place + 1 < len(tokens):
            is_name = tokens[place].is_capital
            is_honorific = tokens[place].word in HONORIFICS and tokens[place + 1].value == "."
            numbered = is_name and tokens[place + 1].kind in (Kind.NUMBER, Kind.ID)
            is_joined = is_name and tokens[place + 1].value == "&" and self._is_capital(place + 2)
            if not (self._is_content(place + 1) or numbered or is_honorific or is_joined):
                break
            place += 1 + is_joined + (is_honorific and place + 2 < len(tokens) and tokens[place + 2].is_word)
        return place

    def _is_capital(self, place: int) -> bool:
        return place < len(self.tokens) and self.tokens[place].is_word and self.tokens[place].is_capital

    def _is_name(self, place: int) -> bool:
        """Whether a word is in capitals, and not only since it starts a sentence."""
        word = self.tokens[place].word
        return self._is_capital(place) and (place > 0 or word in HONORIFICS or not self.draft.wording.is_word(word))

    def _spans(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield the spans of a run that may be a value: without labels around it, its name in capitals, with and without its noun."""
        verb = self.draft.part.verb_place
        whole = places = [place for place in range(first, last + 1) if place > verb or last < verb]
        own = [place for place in places if self.draft.stems(place) & self._own_words]
        while places and (places[0] in own or self._is_naming(places[0])):
            places = places[1:]
        while places and places[-1] in own:
            places = places[:-1]
        names = [place for place in whole if self._is_name(place)]
        if not places:
            if len(names) > 1:
                yield names[0], names[-1]  # "Landing Page" of an entry for pages
            return
        start, end = places[0], places[-1]
        # "Ann Lee handles J-3": the words in capitals are the subject.
        end = next((place - 1 for place in range(start + 1, end + 1) if self._is_subject(start, place)), end)
        found = [(start, end)]
        if start < end and self._acts(start):
            found.append((start + 1, end))  # "affects api"
        capitals = [place for place in names if start <= place <= end]
        if capitals:
            if names != capitals:
                found.append((names[0], names[-1]))
            name = capitals[0]
            while name > 1 and self.draft.is_filler(name - 1) and self.tokens[name - 1].is_capital:
                name -= 1  # "The Cherry Orchard"
            stop = capitals[-1]
            stop += stop < end and self.tokens[stop + 1].kind in (Kind.NUMBER, Kind.ID)
            found += [(name, stop), (name, end)]
        elif start < end:
            found.append((end, end))
        yield from dict.fromkeys(found)

    def _is_naming(self, place: int) -> bool:
        return self.tokens[place].word in self.draft.wording.language.naming

    def _acts(self, place: int) -> bool:
        """Whether a word is a verb in the third person, or a described one that starts a clause."""
        word, draft = self.tokens[place].word, self.draft
        is_described = place > 0 and self.tokens[place - 1].value == "," and bool(draft.stems(place) & self._described)
        return (
            self.tokens[place].value.islower()
            and word.endswith("s")
            and bool(draft.wording.verb(word[:-1]) or is_described)
        )

    def _is_subject(self, start: int, place: int) -> bool:
        """Whether words in capitals at the start of a part without a command are before a verb in the third person."""
        is_start = start == 0 > self.draft.part.verb_place
        return is_start and self._acts(place) and all(self._is_capital(other) for other in range(start, place))

    def _form(self, first: int, last: int) -> str:
        token = self.tokens[first]
        is_capital = token.is_capital
        if first < last:
            is_name = not self.tokens[last].value.islower()
            return ("capitals" if is_name else "mixed") if is_capital else "words"
        if is_capital:
            return "capital"
        return "word" if self.draft.wording.is_word(token.word) else "unknown"

    def _with_surroundings(self, first: int, last: int, form: str) -> StatedValue:
        start = self._start_of_list(first)
        label, preposition = -1, ""
        for place in range(start - 1, max(-1, start - 1 - _MAX_BEFORE), -1):
            token = self.tokens[place]
            if token.value in _AFTER_LABEL or self._is_naming(place):
                continue
            if not token.is_word:
                break
            if found := self.draft.preposition(place):
                if preposition:
                    break
                preposition = found
            elif not self.draft.is_filler(place):
                label = place
                break
        after = last + 1
        is_followed = after < len(self.tokens) and self._is_content(after)
        # The "tag" of "redis tag 7.2" labels the number.
        labels_next = after + 1 < len(self.tokens) and self.tokens[after + 1].is_value
        following = after if is_followed and not labels_next else -1
        complement = self._complement(after)
        return StatedValue(first, last, form, label, preposition, following, complement, start)

    def _complement(self, preposition: int) -> int:
        """Return the place of the last content word behind a preposition; -1 without one."""
        found = -1
        if self.draft.preposition(preposition):
            for place in range(preposition + 1, min(preposition + 1 + _MAX_COMPLEMENT, len(self.tokens))):
                if not self.tokens[place].is_word:
                    break
                found = place if self._is_content(place) else found
        return found

    def _start_of_list(self, place: int) -> int:
        """Return the place of the first value of a list: "bug" of "bug, ios and web"."""
        tokens = self.tokens
        for _ in range(_MAX_LISTED):
            before = place - 1
            is_joined = before > 0 and self.draft.joins_list(before)
            if not is_joined or not (tokens[before - 1].is_value or self._is_content(before - 1)):
                break
            place = before - 1
            while place > 0 and self._is_name(place - 1) and (self._is_name(place) or tokens[place].is_value):
                place -= 1  # "Old Pier, Shed 2 and Ann Lee"
        return place
