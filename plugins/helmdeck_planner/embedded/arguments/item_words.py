"""The words around the values of the objects that a part states: labels, names, and what belongs to another input."""

from __future__ import annotations

from typing import Any, Final

import attrs

from helmdeck_language import Kind
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.item_fields import ItemFields
from helmdeck_planner.embedded.arguments.labels import labels_of
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import CONTAINING
from helmdeck_planner.embedded.request.concepts import concepts
from helmdeck_planner.embedded.request.tokens import token_at

CLAUSES: Final = ("that", "who", "which")
"""Words before a clause about a thing."""
# Verbs that are followed by two things.
_LINKING: Final = ("link", "connect", "relate")


@attrs.frozen
class ItemWords:
    """The words of a part as labels and values of the fields of objects.

    :ivar owner: the input that takes the objects.
    """

    draft: Draft
    owner: Property
    fields: ItemFields

    def label_at(self, place: int) -> Property | None:
        """Return the field that a word labels."""
        if not self.draft.tokens[place].is_word or self.labels_other(place):
            return None
        labels, stems = self.fields.labels, self.draft.stems(place)
        found = next((labels[term] for term in stems if term in labels), None)
        before = token_at(self.draft.tokens, place - 1)
        is_noun = before is not None and (before.word in self.draft.wording.language.determiners or before.is_value)
        if found is not None or self.fields.link is None or not is_noun or self.draft.preposition(place):
            return found
        # "the link from A to B" is a relation.
        means = frozenset[str]().union(*map(concepts, stems))
        return next((each for term, each in labels.items() if term in means), None)

    def labels_other(self, place: int) -> bool:
        """Whether a word labels another input: "message" for the message of a commit of files."""
        stems = self.draft.stems(place) - self.draft.profile.nouns
        return any(each is not self.owner and each.labels & stems for each in self.draft.profile.properties)

    def choice_at(self, place: int) -> tuple[Property, Any] | None:
        """Return the field of which a word is a choice, and the choice."""
        word = self.draft.tokens[place].word
        choices = ((each, choice) for each in self.fields.every for choice in each.choices)
        return next(((each, choice) for each, choice in choices if str(choice).lower() == word), None)

    def nouns_before(self, place: int) -> list[int]:
        """Return the places of "existing entry" in "the existing entry Ada": they say what the name is of."""
        draft, start = self.draft, place
        while start > 0 and draft.tokens[start - 1].is_word and not draft.is_filler(start - 1):
            start -= 1
        is_phrase = draft.is_determiner(start - 1)
        return [each for each in range(start, place) if is_phrase and each != draft.part.verb_place]

    def name_at(self, place: int) -> list[int]:
        """Return the places of a name in capitals, or of one that is made up: "app-01"."""
        token = self.draft.tokens[place]
        is_one = token.kind is Kind.ID or (token.is_word and is_coined(token.value))
        return [place] if is_one else self.run(place, is_name=True)

    def subject_at(self, place: int) -> list[int]:
        """Return the places of the name that a clause starts with: "Atlas" in "the project Atlas uses a.txt"."""
        draft, start = self.draft, place
        language = draft.wording.language
        if draft.tokens[place].word in language.determiners - language.references:
            nouns = self.run(place + 1) if place + 1 < len(draft.tokens) else []
            start = nouns[-1] + 1 if nouns and draft.tokens[nouns[0]].value.islower() else place + 1
        return self.name_at(start) if start < len(draft.tokens) else []

    def text_words(self, place: int) -> list[int]:
        """Return the words of "alpha" in "a.txt with alpha"; none of "with the commit message"."""
        words = self.run(place)
        ends = [*words[-1:], *(each + 1 for each in words[-1:])]
        return [] if any(each < len(self.draft.tokens) and self.labels_other(each) for each in ends) else words

    def run(self, place: int, *, is_name: bool = False) -> list[int]:
        """Return the words from a place up to a mark, a preposition, a conjunction or a label."""
        draft, run = self.draft, list[int]()
        for each in range(place, len(draft.tokens)):
            token = draft.tokens[each]
            is_number = token.kind is Kind.NUMBER and bool(run) and not self.fields.has_number
            is_end = each in draft.used_places or not (token.is_word or is_number) or bool(draft.preposition(each))
            is_small = is_name and not is_number and (draft.is_filler(each) or not token.is_capital)
            # "the entry Ada": the words before a name say what it is the name of.
            is_name_next = bool(run) and token.is_capital and draft.tokens[run[-1]].value.islower()
            if is_end or is_small or is_name_next or (run and self._ends(each)):
                break
            run.append(each)
        return run

    def _ends(self, place: int) -> bool:
        word, language = self.draft.tokens[place].word, self.draft.wording.language
        is_word = self.draft.tokens[place].is_word
        is_end = word in language.joints or word in language.naming or word in CLAUSES or word == "as"
        return is_word and (is_end or self.label_at(place) is not None)

    def field_before_label(self, place: int) -> Property | None:
        """Return the field of "owns" in "the 'owns' relation from Ada", where no value follows the label."""
        draft, label = self.draft, place + 1
        found = self.label_at(label) if label < len(draft.tokens) and draft.tokens[label].is_word else None
        following = label + 1
        ends = following >= len(draft.tokens) or bool(draft.preposition(following)) or self._is_mark(following)
        ends = ends or draft.tokens[following].word in CLAUSES
        return found if ends and not (found is not None and found.is_list) else None

    def _is_mark(self, place: int) -> bool:
        return self.draft.tokens[place].kind is Kind.MARK and self.draft.tokens[place].value != ":"

    def is_labelled_otherwise(self, place: int) -> bool:
        """Whether the word before a value labels another input: "the customer Ada"."""
        draft, stems = self.draft, self.draft.stems(place - 1)
        others = (each for each in draft.profile.properties if each is not self.owner)
        return any(stems & labels_of(draft, each) - {*draft.profile.name} for each in others)

    def path_at(self, place: int) -> Property | None:
        """Return the field that takes the path in a quoted string, or a file such as LICENSE."""
        token = self.draft.tokens[place]
        is_path = place in self.draft.quoted(Kind.PATH) or (token.is_word and token.value.isupper())
        return next((each for each in self.fields.every if is_path and each.role is Role.PATH), None)

    def is_of_other(self, place: int) -> bool:
        """Whether a word names another thing of the catalog: "relation" in "the relation 'owns'", which is no note."""
        draft, token = self.draft, self.draft.tokens[place]
        is_noun = token.is_word and place > draft.part.verb_place and not draft.is_filler(place)
        is_noun = is_noun and token.word not in draft.wording.language.joints and token.word not in CONTAINING
        return is_noun and self.label_at(place) is None and draft.wording.is_of_catalog(token.word)

    def is_of_link(self) -> bool:
        """Whether a part is about what joins two things: "Anna works at Acme" alone is a note about Anna."""
        link, tokens = self.fields.link, self.draft.tokens
        return tokens[0].word in _LINKING or any(self.label_at(place) is link for place in range(len(tokens)))

    def labels_value(self, place: int, each: Property) -> bool:
        """Whether a label of a field is at a place, with a word or value behind it."""
        following = place + 1
        while following < len(self.draft.tokens) and self.draft.tokens[following].value in (":", "="):
            following += 1
        is_last = following >= len(self.draft.tokens) or bool(self.draft.preposition(following))
        return self.label_at(place) is each and not is_last

    def is_content(self, place: int) -> bool:
        """Whether a value is a text by the word before it: "with 'alpha'", "containing 'alpha'"."""
        before = place - 1
        while before > 0 and self.draft.is_filler(before) and not self.draft.preposition(before):
            before -= 1
        is_cue = self.draft.preposition(before) == "with" or self.draft.tokens[before].word in CONTAINING
        token = self.draft.tokens[place]
        is_text = token.kind is Kind.QUOTE or (token.is_word and not self.draft.is_filler(place))
        return is_cue and is_text and (not token.is_word or bool(self.text_words(place)))

    def is_listed(self, first: int, second: int) -> bool:
        """Whether only a comma or a conjunction is between two values of one kind."""
        draft, between = self.draft, range(first + 1, second)
        is_joined = bool(between) and all(map(draft.joins_list, between))
        return is_joined and (draft.tokens[first].kind is Kind.QUOTE) == (draft.tokens[second].kind is Kind.QUOTE)


def is_coined(word: str) -> bool:
    """Whether a word is made up as a name: "billing-api", "works_at", "web1"."""
    return any(char in "-_" or char.isdigit() for char in word) and word[:1].isalnum()
