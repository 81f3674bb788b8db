"""Reads the objects that a part states for a list: "a.txt with alpha and b.txt with beta", "Anna (person, likes tea)".

The words are read once from left to right. A label, a preposition, its kind or its place says which field takes a value; a field that has
a value already starts the next object. The input stays open if an object lacks a required field, or a value has no field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import attrs

from helmdeck_language import Kind
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.item_clauses import PERSONS, clauses, statement
from helmdeck_planner.embedded.arguments.item_fields import ItemFields, item_fields, lacking
from helmdeck_planner.embedded.arguments.item_references import SIDES, name_before
from helmdeck_planner.embedded.arguments.item_words import CLAUSES, ItemWords, is_coined
from helmdeck_planner.embedded.arguments.objects import typed_number
from helmdeck_planner.embedded.arguments.sources import Earlier
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import CONTAINING, PLAIN_WORDS, STORES

_OWNERS: Final = ("to", "from", "of", "for", "about", "on")
# Before a value of another input.
_OTHER: Final = "other"
_ENDS: Final = frozenset(".;!?")


def fill_items(draft: Draft, earlier: Sequence[Earlier]) -> None:
    """Set the inputs that take a list of objects whose fields the schema names.

    :param earlier: the parts before, one of which may state what "it" is.
    """
    for each in draft.open_inputs():
        fields = [field for field in each.fields if field.is_required]
        if not each.fields or each.replacement or not (each.is_required or len(fields) == 1):
            continue
        own = item_fields(draft.profile, each)
        colon = next((place for place, token in enumerate(draft.tokens) if token.value == ":"), -1)
        # What is listed behind a colon comes first: "push two files in one commit 'Add docs': ...".
        for first in (colon + 1, 0) if colon > 0 else (0,):
            reader = _Reader(ItemWords(draft, each, own), first)
            if reader.read() or reader.refer(earlier):
                draft.set(each, reader.found, [])
                draft.used_places.update(reader.places)
                break


@attrs.define
class _Reader:
    """Reads the objects from a place of a part.

    :ivar found: the objects so far, and ``starts`` the places of the first value of each.
    :ivar places: the words that are used, and ``left`` those of values without a field.
    :ivar label: the field that the next value belongs to, and ``preposition`` the one before it.
    :ivar last: the field of the last value that had a label, and the place of that value.
    :ivar nouns: words before "called" that say what a name is of, and ``kinds`` those of the objects by their number.
    :ivar is_further: the label had a value before.
    :ivar is_broken: the words of a value are apart, with others between them.
    :ivar stated: how many objects there were after the last statement such as "Anna works at Acme".
    """

    words: ItemWords
    place: int
    found: list[dict[str, Any]] = attrs.Factory(list)
    places: set[int] = attrs.Factory(set)
    left: list[int] = attrs.Factory(list)
    kinds: dict[int, str] = attrs.Factory(dict)
    nouns: list[int] = attrs.Factory(list)
    stated: int = 0
    starts: list[Sequence[int]] = attrs.Factory(list)
    last: tuple[Property, int] | None = None
    label: Property | None = None
    preposition: str = ""
    is_broken: bool = False
    is_further: bool = False

    @property
    def draft(self) -> Draft:
        """The arguments of the step."""
        return self.words.draft

    @property
    def fields(self) -> ItemFields:
        """The fields of the objects."""
        return self.words.fields

    def read(self) -> bool:
        """Read all objects, and return whether they are complete."""
        if self.place:
            self._clause(self.place)
        while self.place < len(self.draft.tokens):
            before = self.place
            self._step()
            assert self.place > before
        self._share()
        for number, kind in self.kinds.items():
            if self.fields.kind is not None:
                self.found[number].setdefault(self.fields.kind.name, kind)
        others = (each for each in self.draft.open_inputs() if each is not self.words.owner and each.is_required)
        is_spare = any(each.role not in (Role.NUMBER, Role.BOOLEAN, Role.OTHER) for each in others)
        return not (self.is_broken or lacking(self.found, self.fields)) and (is_spare or not self.left)

    def refer(self, earlier: Sequence[Earlier]) -> bool:
        """Take a name of the only object from the step before, and return whether that completes it: "add 'x' to it"."""
        named = [self.fields.name, *self.fields.sides.values()]
        missing = [each for each in named if each is not None and self.found and each.name not in self.found[0]]
        if len(self.found) != 1 or len(missing) != 1 or self.is_broken:
            return False
        if name := name_before(self.draft, missing[0], earlier):
            self.found[0][missing[0].name] = name
        return not lacking(self.found, self.fields)

    def _step(self) -> None:
        draft, place, token = self.draft, self.place, self.draft.tokens[self.place]
        self.place += 1
        if place in draft.used_places or place == draft.part.verb_place or token.kind is Kind.BREAK:
            self.label, self.preposition = None, ""
        elif token.kind is Kind.MARK and token.value != "#":
            self._mark(place)
        elif triple := self._statement(place):
            self.place = triple[-1][1][-1] + 1
            self._put_statement(triple)
        elif not (token.is_word and self._word(place)):
            self._value(place)

    # -- marks and words ---------------------------------------------------------------------------------------

    def _mark(self, place: int) -> None:
        mark = self.draft.tokens[place].value
        if mark == ":" and self._clause(place + 1):
            return
        if mark == "(" and self._bracket(place):
            return
        if mark in _ENDS or mark == ",":
            self._next_value()

    def _next_value(self) -> None:
        """Drop the label and the preposition of the value before; the label of a list remains: "the notes 'a' and 'b'"."""
        self.preposition = ""
        self.is_further = self.label is not None
        if self.label is not None and not self.label.is_list:
            self.label = None

    def _word(self, place: int) -> bool:
        """Read a word, and return whether it belongs to no value."""
        draft, word = self.draft, self.draft.tokens[place].word
        if word in CLAUSES and self._clause(place + 1):
            return True
        if (choice := self.words.choice_at(place)) is not None:
            self._set(*choice)
            self.places.add(place)
            return True
        if label := self.words.label_at(place):
            # The first word is a verb that no word list has: "relate A to B".
            self.label, self.is_further = label if place else None, False
            self.places.add(place)
        elif self.words.labels_other(place):
            self.label, self.preposition = None, _OTHER
        elif word in CONTAINING:
            self.label, self.preposition = self.fields.text, "with"
        elif word in draft.wording.language.naming:
            self.label, self.preposition = self.fields.name, "" if self.fields.name is not None else _OTHER
            self.nouns = self.words.nouns_before(place)
        elif found := ("as" if word == "as" else draft.preposition(place)):
            self.preposition = found
            is_of = found == "of" and place > 0 and self.words.label_at(place - 1) is self.label
            self.label = self.label if is_of else None
        elif word in draft.wording.language.joints:
            self._next_value()
        else:
            return draft.is_filler(place)
        return True

    # -- values ------------------------------------------------------------------------------------------------

    def _value(self, place: int) -> None:
        run = self._run(place)
        if not run and not self.found and not self.nouns and self.draft.is_one_of(place - 1, "articles"):
            nouns = self.words.run(place)
            self.nouns = nouns if any(self.draft.tokens[each].word not in PLAIN_WORDS for each in nouns) else []
        if not run:
            return
        self.place = run[-1] + 1
        if self.label is None and self.words.is_labelled_otherwise(run[0]):
            return
        before = self.words.field_before_label(run[-1])
        self.place += before is not None
        each = before or self._field(run)
        if each is None:
            self.left += run if self.draft.tokens[run[0]].kind is not Kind.NUMBER else []
        else:
            self._put(each, run)
            if each is self.fields.name:
                self._name_kind(run[0])
        self._next_value()

    def _name_kind(self, place: int) -> None:
        """Keep "company" of "the company Seaglass", or of "a company: Seaglass", as the kind that the last object may have."""
        draft, nouns = self.draft, self.nouns or self.words.nouns_before(place)
        is_new = bool(nouns) and draft.is_one_of(nouns[0] - 1, "articles")
        kinds = [each for each in nouns if draft.tokens[each].word not in PLAIN_WORDS]
        is_kind = self.fields.kind is not None and len(kinds) == 1 and self.words.label_at(kinds[0]) is None
        if is_kind and (is_new or any(self.words.label_at(each) is self.fields.name for each in self.places)):
            self.kinds[len(self.found) - 1] = draft.tokens[kinds[0]].value
        if not is_new or is_kind:
            self.places.update(nouns)
        self.nouns = []

    def _run(self, place: int) -> list[int]:
        """Return the words of the value at a place; empty if there is none."""
        draft, token = self.draft, self.draft.tokens[place]
        if token.is_value:
            return self._joined_number(place)
        if draft.is_filler(place):
            return []
        is_first = place == 0 or draft.tokens[place - 1].value in _ENDS
        if token.is_capital and not (is_first and draft.wording.is_known(token.word)):
            return self.words.run(place, is_name=True)
        fields, given = self.fields, self.label
        if self.preposition == "with" and given is None and fields.text is not None and not fields.text.is_list:
            return self.words.text_words(place)
        if given not in (None, fields.text, fields.name):
            return self.words.run(place)
        if self.preposition == "as" and fields.kind is not None:
            return [] if token.word in PLAIN_WORDS else self.words.run(place)
        if is_coined(token.value) or (fields.is_pair and self._precedes_number(place)):
            return [place]
        words = self.words.run(place)
        if given is not None and given is fields.name and len(words) == 1:
            return words
        return words[-1:] if self._is_owner(words) else []

    def _precedes_number(self, place: int) -> bool:
        """Whether a number is right behind a word: "apples 10", "apples: 10"."""
        near = [token for token in self.draft.tokens[place + 1 : place + 3] if token.value not in (":", "=")]
        return bool(near) and near[0].kind is Kind.NUMBER

    def _is_owner(self, words: Sequence[int]) -> bool:
        """Whether words in small letters end with the name of a thing: "from the entry ledger", "to ledger"."""
        draft, language = self.draft, self.draft.wording.language
        if not words or self.preposition not in _OWNERS or not (self.fields.sides or self.fields.name is not None):
            return False
        last, before = draft.tokens[words[-1]].word, draft.tokens[words[0] - 1]
        following = words[-1] + 1
        ends = following >= len(draft.tokens) or not self.words.name_at(following)
        # "from the list" may be where all of them are.
        is_phrase = before.word in language.determiners and len(words) > 1
        is_bare = bool(draft.preposition(words[0] - 1)) and len(words) == 1 and last not in STORES
        return ends and (is_phrase or is_bare) and not draft.wording.is_of_catalog(last)

    def _joined_number(self, place: int) -> list[int]:
        """Return the places of a value, and of all of "555-0122" behind a label."""
        tokens, end = self.draft.tokens, place + 1
        is_text = tokens[place].kind is Kind.NUMBER and self.label is not None and self.label.role is not Role.NUMBER
        while is_text and end < len(tokens) and tokens[end].start == tokens[end - 1].end:
            end += 1
        return list(range(place, end - (end - place > 1 and tokens[end - 1].kind is Kind.MARK)))

    def _field(self, run: Sequence[int]) -> Property | None:
        """Return the field that takes a value."""
        fields, token, before = self.fields, self.draft.tokens[run[0]], self.preposition
        if self.label is not None and not (self.is_further and token.kind is not Kind.QUOTE):
            return self.label
        if self.last is not None and token.kind is Kind.QUOTE and self.words.is_listed(self.last[1], run[0]):
            return self.last[0]  # "the relations 'a' and 'b'"
        if found := fields.of_kind(token) or self.words.path_at(run[0]):
            return found
        is_foreign = token.kind is Kind.QUOTE and self.words.is_of_other(run[0] - 1)
        if before == _OTHER or is_foreign or (token.kind is Kind.NUMBER and before != "with"):
            return None
        return self._side(run) if fields.sides else self._text_or_name(run)

    def _text_or_name(self, run: Sequence[int]) -> Property | None:
        fields, token, before = self.fields, self.draft.tokens[run[0]], self.preposition
        name, text = fields.name, fields.text
        if text is not None and (before == "with" or self.words.is_content(run[0])):
            return text
        if before == "as":
            return fields.kind
        is_owner = before in _OWNERS and name is not None and not (self.found and name.name in self.found[-1])
        if token.kind is Kind.QUOTE and text is not None and not is_owner and not self._follows(text, run[-1]):
            return text
        return None if name is None or self._follows(name, run[-1]) else name

    def _side(self, run: Sequence[int]) -> Property | None:
        fields, before = self.fields, self.preposition
        if not self.words.is_of_link():
            return None
        if before in SIDES:
            return fields.sides[SIDES[before]]
        is_quote = self.draft.tokens[run[0]].kind is Kind.QUOTE
        if before in ("with", "as", "by") or (is_quote and self._is_sided()):
            return fields.link
        return fields.sides["source"] if not before else None

    def _is_sided(self) -> bool:
        """Whether what a quoted string joins is stated before it."""
        return bool(self.found) and all(each.name in self.found[-1] for each in self.fields.sides.values())

    def _follows(self, each: Property, place: int) -> bool:
        """Whether a field is labelled for the first time behind a place."""
        draft = self.draft
        later = range(place + 1, len(draft.tokens))
        if each is self.fields.text:
            return any(self.words.labels_value(other, each) or self.words.is_content(other) for other in later)
        places = [other for other in range(len(draft.tokens)) if self.words.labels_value(other, each)]
        return bool(places) and places[0] > place

    def _put(self, each: Property, places: Sequence[int]) -> None:
        """Set a field of the last object; one that is set already starts another object."""
        value = self.draft.text(places[0], places[-1])
        if not value:
            self.is_broken = True
        if each is self.fields.name and self.draft.tokens[places[-1]].is_possessive:
            value = value[:-2]
        self._set(each, typed_number(value) if each.role is Role.NUMBER else value)
        self.places.update(places)
        if len(self.starts) < len(self.found):
            self.starts.append(places)
        self.last = (each, places[-1]) if self.label is each else None
        if not each.is_list:
            self.label = None

    def _set(self, each: Property, value: Any) -> None:
        last = self.found[-1] if self.found else None
        # "app-1 runs on db-1 (relation type 'runs_on')": the label decides.
        is_again = last is not None and each is self.fields.link and self.stated == len(self.found)
        if last is None or (each.name in last and not is_again and (not each.is_list or self._starts_next(each, last))):
            self.found.append({})
        if each.is_list:
            self.found[-1].setdefault(each.name, []).append(value)
        else:
            self.found[-1][each.name] = value

    def _starts_next(self, each: Property, last: Mapping[str, Any]) -> bool:
        """Whether a text starts another object: "add 'x' to Ada and 'y' to Bob"."""
        return next(iter(last)) == each.name and all(field.name in last for field in self.fields.required)

    def _share(self) -> None:
        """Give what only one object states to all: "the relations 'a' and 'b' from Ada to Bob"."""
        kind = self.fields.kind.name if self.fields.kind is not None else ""
        if self.found and next(iter(self.found[0]), "") == kind and not any(kind in item for item in self.found[1:]):
            # "two entities of type city: ..."
            self.found = [{kind: self.found[0][kind], **item} for item in self.found]
        *others, last = self.found or [{}]
        first = set(others[0]) if others else set[str]()
        is_list = all(self.words.is_listed(one[-1], other[0]) for one, other in pairwise(self.starts))
        if is_list and len(first) == 1 and all(set(item) == first for item in others) and first <= last.keys():
            self.found = [{**last, **item} for item in self.found]

    # -- clauses, brackets and statements ------------------------------------------------------------------------

    def _clause(self, start: int) -> bool:
        """Read a text in words: "that she plays chess", "who likes tea and works in Bern"."""
        text, name, draft = self.fields.text, self.fields.name, self.draft
        if text is None or (self.found and text.name in self.found[-1]):
            return False
        is_named = name is None or bool(self.found and name.name in self.found[-1])
        own = self.words.subject_at(start) if start < len(draft.tokens) and not is_named else []
        if start < len(draft.tokens) and self.words.label_at(start) is not None and not own:
            return False
        found = clauses(draft, own[-1] + 1 if own else start)
        inside = [place for first, last in found for place in range(first, last + 1)]
        is_field = any(self.fields.of_kind(draft.tokens[each]) or self.words.choice_at(each) for each in inside)
        if not found or is_field or (not text.is_list and len(found) > 1):
            return False
        if own and name is not None:
            self._put(name, own)
            self._name_kind(own[0])
        for first, last in found:
            self._put(text, range(first, last + 1))
        self.place = found[-1][1] + 1
        return True

    def _bracket(self, opening: int) -> bool:
        """Read "(person, likes tea)" behind a name: the fields that are left, in their order."""
        draft = self.draft
        closing = next((each for each in range(opening, len(draft.tokens)) if draft.tokens[each].value == ")"), -1)
        inside = range(opening + 1, closing)
        last = self.found[-1] if opening - 1 in self.places else {}
        left = [each for each in self.fields.required if each.name not in last and each.role in _WRITTEN]
        if (
            not last
            or not left
            or any(
                self.words.label_at(each) is not None or self.fields.of_kind(draft.tokens[each]) is not None
                for each in inside
            )
        ):
            return False
        pieces: list[list[int]] = [[]]
        for each in inside:
            if draft.tokens[each].value in (",", ";"):
                pieces.append([])
            else:
                pieces[-1].append(each)
        is_mixed = any(
            len(piece) > 1 and any(draft.tokens[each].kind is Kind.QUOTE for each in piece) for piece in pieces
        )
        if is_mixed or not all(pieces) or len(pieces) < len(left) or (len(pieces) > len(left) and not left[-1].is_list):
            return False
        for number, piece in enumerate(pieces):
            self._put(left[min(number, len(left) - 1)], piece)
        self.place = closing + 1
        return True

    def _put_statement(self, triple: Sequence[tuple[Property, Sequence[int]]]) -> None:
        """Set the fields of a statement; a label before it decides: "the relation 'reports_to': Ada reports to Bob"."""
        is_labelled = bool(self.found) and list(self.found[-1]) == [triple[1][0].name]
        for each, places in triple:
            is_pronoun = self.draft.tokens[places[0]].word in PERSONS
            if not (is_pronoun or (is_labelled and each is self.fields.link)):
                self._put(each, places)
        self.stated = len(self.found)

    def _statement(self, place: int) -> list[tuple[Property, Sequence[int]]]:
        """Return the fields of "Anna works at Acme" with their places."""
        fields = self.fields
        is_quote = self.draft.tokens[place].kind is Kind.QUOTE
        if (
            fields.link is None
            or self.preposition
            or not (self.label is None or (self.label is fields.link and not is_quote))
        ):
            return []
        if not self.words.is_of_link():
            return []
        found = statement(self.draft, place, self.words.name_at)
        if not found or any(self.words.label_at(other) for other in found[1]):
            return []
        return list(zip((fields.sides["source"], fields.link, fields.sides["target"]), found, strict=True))


_WRITTEN: Final = (Role.TEXT, Role.NAME, Role.CONTENT, Role.CHOICE)
