"""The arguments of one step while they are filled in, with the words of the part that are already used."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Final

import attrs

from helmdeck_language import Kind, Token, scan, stem
from helmdeck_planner.embedded.arguments.fields import Field, assigned, field_of
from helmdeck_planner.embedded.arguments.foreign_numbers import cannot_take, takes_whole
from helmdeck_planner.embedded.arguments.refused import is_refused
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import (
    ABBREVIATIONS,
    FILE_EXTENSIONS,
    FILE_WORDS,
    FOLDER_WORDS,
    PATH_WORDS,
)
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.repeats import MOST_OF_CLAUSE, repeats_first
from helmdeck_planner.embedded.request.wording import Wording

_FILES: Final = frozenset(map(stem, FILE_WORDS))
_PATHS: Final = frozenset(map(stem, PATH_WORDS))
# Longer quoted strings are texts.
_MAX_QUOTED_VALUE: Final = 2_000
# Ids that may be a mail address.
_PEOPLE: Final = re.compile(
    r"\b(?:users?|person|people|member|assignee|account|login|owner|contact|customer|attendee|calendar|e-?mail address|e-?mail or|or e-?mail|name, e-?mail)\b",
    re.IGNORECASE,
)
_CODE_EXAMPLE: Final = re.compile(r"\b(?:e\.g\.,?|such as|like|example:?)\s+['\"`]?[A-Z]{2,6}\b")
_ARROWS: Final = ("\u2192", "\u21d2")
_NO_PLACES: Final = (Kind.EMAIL, Kind.PATH, Kind.URL, Kind.SLUG, Kind.CODE, Kind.SQL, Kind.GLOB)


@attrs.define(slots=False)
class Draft:
    """The arguments of a step, by input name.

    :ivar source: the whole request; values are slices of it.
    :ivar stated_at: the places of the tokens of each argument that the part states.
    :ivar stated_by: other parts that state nothing but arguments of this step.
    :ivar used_places: places of tokens whose text is an argument already, or says which one.
    """

    source: str
    part: Part
    profile: Profile
    wording: Wording
    args: dict[str, Any] = attrs.Factory(dict)
    used_places: set[int] = attrs.Factory(set)
    stated_at: dict[str, Sequence[int]] = attrs.Factory(dict)
    stated_by: list[Part] = attrs.Factory(list)
    _stems: dict[int, frozenset[str]] = attrs.field(factory=dict, init=False)

    def beside(self, part: Part) -> Draft:
        """Return an empty draft of the same entry for another part."""
        return Draft(self.source, part, self.profile, self.wording)

    @cached_property
    def tokens(self) -> Sequence[Token]:
        """The tokens of the part."""
        return self.part.tokens

    def word(self, place: int) -> str:
        """Return the folded text of a token; empty outside of the part."""
        return self.tokens[place].word if 0 <= place < len(self.tokens) else ""

    def is_one_of(self, place: int, key: str) -> bool:
        """Whether a token is one of the words that the language has for a key of its table ``values``."""
        return self.word(place).lower() in self.wording.language.values[key]

    def is_determiner(self, place: int) -> bool:
        """Whether a token is a word such as "the", "my" and "this"."""
        return self.word(place) in self.wording.language.determiners

    def is_joint(self, place: int) -> bool:
        """Whether a token is a conjunction: "and"."""
        return self.word(place) in self.wording.language.joints

    def joins_list(self, place: int) -> bool:
        """Whether a token joins the values of a list: a conjunction or a comma."""
        return self.is_joint(place) or self.word(place) == ","

    def is_naming(self, place: int) -> bool:
        """Whether a token is a word before a name: "called"."""
        return self.word(place) in self.wording.language.naming

    def is_reference(self, place: int) -> bool:
        """Whether a token stands for what was named before: "it"."""
        return self.word(place) in self.wording.language.references

    def leaves_out(self, place: int) -> bool:
        """Whether a token leaves out what is behind it: "without", "no"."""
        return self.is_one_of(place, "excluding") or self.is_one_of(place, "none_of")

    @cached_property
    def named_ids(self) -> frozenset[int]:
        """The places of quoted strings that name what an id identifies: "add a comment 'Done' to the task 'Login'"."""
        if all(token.kind is not Kind.QUOTE for token in self.tokens):
            return frozenset()
        inputs = self.profile.required
        ids = frozenset[str]().union(*(each.labels for each in inputs if each.role is Role.ID))
        others = frozenset[str]().union(*(each.labels for each in self.profile.properties if each.role is not Role.ID))
        return frozenset(
            place
            for place in range(1, len(self.tokens))
            if self.tokens[place].kind is Kind.QUOTE and self.stems(place - 1) & (ids - others)
        )

    @cached_property
    def field(self) -> Field | None:
        """The field that the part changes: "the title of ENG-5"."""
        return field_of(self.part, self.profile, self.wording)

    @cached_property
    def assigned(self) -> Mapping[int, Property]:
        """The inputs that the part names exactly, by the places of their values."""
        return assigned(self.part, self.profile)

    @cached_property
    def repeated(self) -> range:
        """The places of what a part states for a second object: "b.txt to y" in "move a.txt to x and b.txt to y"."""
        tokens, verb = self.tokens, max(self.part.verb_place, 0)
        head = tokens[verb : verb + MOST_OF_CLAUSE]
        for place in range(verb + 1, len(tokens)):
            if self.part.verb_place >= 0 and tokens[place] == tokens[verb]:
                return range(place, len(tokens))  # parts that have one verb
            if self.joins_list(place - 1) and repeats_first(tokens, place, head[: place - 1 - verb], self.wording):
                return range(place, self._end_of_pair(place))
        return range(0)

    def _end_of_pair(self, place: int) -> int:
        """Return the place behind an object and what its preposition says: a further "for ENG-5" is of both objects."""
        first, *others = (*(at for at in range(place, len(self.tokens)) if self.preposition(at)), len(self.tokens))
        return next((at for at in others if at > first + 1), len(self.tokens))

    @property
    def is_complete(self) -> bool:
        """Whether all required inputs are set."""
        return all(each.name in self.args for each in self.profile.required)

    @property
    def stated_share(self) -> float:
        """The share of the required inputs that are set, contents left out; 1 if there are none."""
        required = [each for each in self.profile.required if each.role is not Role.CONTENT]
        return sum(each.name in self.args for each in required) / len(required) if required else 1.0

    def open_inputs(self) -> list[Property]:
        """Return the inputs without a value, required ones first."""
        return [each for each in self.profile.properties if each.name not in self.args]

    def set(
        self, each: Property, value: Any, places: Sequence[int], beside: Sequence[int] = (), *, is_shared: bool = False
    ) -> bool:
        """Set an argument from the tokens at some places, and return whether it was.

        A value is refused if it is empty, has a form that the input does not take, or is the verb of the part. No word is a value of two
        inputs.

        :param places: where the value is stated; empty if the part only refers to it.
        :param beside: further places that belong to the value, such as its unit.
        :param is_shared: two inputs take a part of the value each, as ``owner`` and ``repo`` do.
        """
        if value in ("", []) or not all(
            self._can_be(each, self.tokens[place], is_alone=len(places) == 1) for place in places
        ):
            return False
        if not is_shared and not self.used_places.isdisjoint(places):
            return False
        if each.role is not Role.ID and not self.named_ids.isdisjoint(places):
            return False
        if each.role is Role.NUMBER and not self._is_number_of(each, value, places):
            return False
        if is_refused(self.tokens, self.profile, each, value, () if is_shared else places):
            return False
        if self._is_of_second(each, places) or self._is_of_field(each, places):
            return False
        if self.part.verb_place in places and each.role is not Role.CHOICE and self._is_verb():
            return False
        if isinstance(value, str) and places and self._is_possessive(each, places[-1]):
            value = value[:-2]
        if each.is_list and not isinstance(value, list):
            value = [value]
        self.args[each.name] = value
        self.stated_at[each.name] = places
        self.used_places.update(places)
        self.used_places.update(beside)
        return True

    def set_text(self, each: Property, places: Sequence[int]) -> bool:
        """Set an argument to the text from the first to the last of some places, and return whether it was."""
        return self.set(each, self.text(places[0], places[-1]), places)

    def set_only(self, inputs: Sequence[Property], places: Sequence[int]) -> None:
        """Set the only one of some inputs to the text of the only one of some places; nothing if there are several."""
        if len(inputs) == len(places) == 1:
            self.set_text(inputs[0], places)

    def _is_of_second(self, each: Property, places: Sequence[int]) -> bool:
        """Whether a value is stated for a second object of the verb, where no label says that it is of the same step."""
        if each.is_list or each.is_object or set(self.repeated).isdisjoint(places):
            return False
        labels = each.stems
        return all(labels.isdisjoint(self.stems(place)) for place in self.repeated)

    def _is_number_of(self, each: Property, value: Any, places: Sequence[int]) -> bool:
        """Whether an input takes a number, in the unit that is beside it; no part of one is dropped for an integer."""
        if isinstance(value, float) and not value.is_integer() and takes_whole(self.profile, each):
            return False
        if places and each.unit is not None and self._counts_objects(each, places[0]):
            return False
        return not places or not cannot_take(self.tokens, places[0], each)

    def _counts_objects(self, each: Property, place: int) -> bool:
        """Whether a number is before the object of the entry: the tasks of "add two tasks" are no minutes."""
        following = self.stems(place + 1)
        return bool(following & self.profile.nouns) and following.isdisjoint(each.stems)

    def _is_of_field(self, each: Property, places: Sequence[int]) -> bool:
        """Whether a value is that of a field which the part names, and which is not an input."""
        if any(self.assigned.get(place, each) != each or place + 2 in self.assigned for place in places):
            return True
        field = self.field
        return field is not None and not set(field.places).isdisjoint(places) and field.closes(each, self.tokens)

    def _is_verb(self) -> bool:
        """Whether the verb of the part is one: the first word of "lodash 4.17.21" is none."""
        word = self.tokens[self.part.verb_place].word
        return bool(self.wording.verb(word)) or self.wording.is_known(word) or not word.islower()

    def _can_be(self, each: Property, token: Token, *, is_alone: bool) -> bool:
        """Whether the form of a value is one that an input takes: a path is no id, and a file no folder.

        :param is_alone: the value is the token; otherwise the token is one of several.
        """
        is_plain = is_alone and token.is_word and token.value.islower() and self.wording.is_word(token.word)
        if is_plain and each.role in (Role.ID, Role.NAME) and _CODE_EXAMPLE.search(each.text):
            return False  # "buy milk" for "Ticker symbol, e.g. ACME"
        if "bucket" in each.words and "/" in token.value and "/" not in each.text:
            return False  # a key of an object, or a file
        is_path = token.kind is Kind.PATH
        if each.role is Role.PLACE:
            # "destination" may be a path.
            return token.kind not in _NO_PLACES or (is_alone and bool(each.side) and bool(_FILES & self.profile.text))
        if each.role is Role.ID and token.kind is Kind.EMAIL:
            return bool(_PEOPLE.search(f"{' '.join(each.words)} {each.text}"))  # "all mails from ann@example.org"
        if each.role is Role.ID and is_path and "/" in token.value:
            is_key = each.words[-1:] == ("key",) and any("bucket" in other.words for other in self.profile.properties)
            return is_key or "/" in each.text or bool(_PATHS & each.hints)
        if each.role in (Role.QUERY, Role.TEXT, Role.NAME) and is_path and not is_alone:
            return (
                token.value[0] not in "/~"
                if each.role is Role.QUERY
                else each.role is Role.NAME and "/" not in token.value
            )
        if each.role is Role.NAME:
            return token.kind is not Kind.SQL and not (token.kind is Kind.CODE and "\n" in token.value)
        if each.role is Role.PATH and is_path and FOLDER_WORDS & set(each.words) and not each.is_list:
            # "src/rules.acl" is one of the files of a repository.
            is_inside = token.value[0] not in "/~." and "." in token.value.rpartition("/")[2]
            has_files = any(other.role is Role.PATH and other.is_list for other in self.profile.properties)
            return token.value.rpartition(".")[2] not in FILE_EXTENSIONS and not (is_inside and has_files)
        return True

    def _is_possessive(self, each: Property, place: int) -> bool:
        """Whether a name ends with "'s" before what belongs to it: "Ada's number"."""
        is_name = each.role in (Role.NAME, Role.PLACE, Role.ID, Role.TEXT) and self.tokens[place].is_word
        followed = place + 1 < len(self.tokens) and self.tokens[place + 1].is_word
        return is_name and followed and self.tokens[place].is_possessive

    def free(self, *kinds: Kind) -> list[int]:
        """Return the places of unused tokens of some kinds."""
        return [
            place for place, token in enumerate(self.tokens) if token.kind in kinds and place not in self.used_places
        ]

    def quoted(self, *kinds: Kind) -> list[int]:
        """Return the places of unused quoted strings that are one value of some kinds: "the page 'https://example.org'"."""
        return [place for place in self.free(Kind.QUOTE, Kind.CODE) if _inner_kind(self.tokens[place].value) in kinds]

    def own(self, places: Sequence[int]) -> Sequence[int]:
        """Return the places of the clause with the verb, if there are any: a joined part has those of the clause before it at its end."""
        return [place for place in places if self.tokens[place].start >= self.tokens[0].start] or places

    def is_filler(self, place: int) -> bool:
        """Whether a token is an article, a preposition or the like."""
        if not 0 <= place < len(self.tokens):
            return False
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
        if not 0 <= place < len(self.tokens):
            return ""
        token = self.tokens[place]
        found = self.wording.preposition(token)
        if found == "between":
            return "from"
        if token.value in _ARROWS or (token.value == ">" and place and self.tokens[place - 1].value in ("-", "=")):
            return "to"
        if place > self.part.verb_place + 1 and place + 1 < len(self.tokens) and self.is_one_of(place, "off"):
            return "from"
        is_second = token.is_word and token.word in self.wording.language.joints and token.word != "or"
        if is_second and "between" in (self.wording.preposition(other) for other in self.tokens[:place]):
            return "to"
        return found

    def stems(self, place: int) -> frozenset[str]:
        """Return the stems of a word; of all its meanings. There are none outside of the part."""
        if not 0 <= place < len(self.tokens):
            return frozenset()
        found = self._stems.get(place)
        if found is None:
            token = self.tokens[place]
            own = (
                (token.word, *self.wording.nouns(token.word), *ABBREVIATIONS.get(token.word, ()))
                if token.is_word
                else ()
            )
            found = self._stems[place] = frozenset(stem(word) for word in own)
        return found

    def text(self, first: int, last: int) -> str:
        """Return the text from one token to another, both included; a single quoted string without its marks.

        It is empty if the request has other words in between, such as an excluded value.
        """
        tokens = self.tokens
        if first == last:
            return tokens[first].value
        for place in range(first, last):
            gap = self.source[tokens[place].end : tokens[place + 1].start]
            if tokens[place].end > tokens[place + 1].start or any(char.isalnum() for char in gap):
                return ""
        return self.source[tokens[first].start : tokens[last].end]


@lru_cache(256)
def _inner_kind(text: str) -> Kind | None:
    """Return the kind of the only value of a quoted string; ``None`` if it is a longer text."""
    inner = scan(text) if len(text) <= _MAX_QUOTED_VALUE else []
    return inner[0].kind if len(inner) == 1 and inner[0].value == text else None
