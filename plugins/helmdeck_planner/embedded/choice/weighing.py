"""Weighs the words of a part: what it is about, what only follows, what names a value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from helmdeck_language import Kind, Lexicon, Token, stem, word_terms
from helmdeck_planner.embedded.entries.property_words import ATTRIBUTES, UNITS
from helmdeck_planner.embedded.entries.units import NUMBER_WORDS, PARTS_OF_UNITS, UNIT_OF
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.word_lists import word_list
from helmdeck_planner.embedded.request.wording import Wording

# The object of the verb counts more than what follows a preposition, a name hardly.
_VERB: Final = 0.7
_OBJECT: Final = 1.0
_TAIL: Final = 0.45
_NAME: Final = 0.15
_HINT: Final = 0.5
SYNONYM: Final = 0.7
"""The weight of a synonym, and of a word that a value stands for."""
_MIN_COMPOUND: Final = 5
# Words that a value stands for.
_KIND_WORDS: Final = {
    Kind.URL: ("url", "page", "web"),
    Kind.EMAIL: ("email",),
    Kind.PATH: ("file",),
    Kind.GLOB: ("file", "pattern"),
    Kind.SQL: ("sql", "query"),
    Kind.CODE: ("code",),
    Kind.EXPRESSION: ("expression", "calculate"),
}
_CLAUSE_STARTS: Final = word_list("clause_starts")
_EMPTY_VERBS: Final = word_list("empty_verbs")
_TEXT_WORDS: Final = word_list("text_words")
_LINES: Final = word_list("lines")
# Words of any request that has a number of something.
_COUNTED: Final = word_list("counted")


@attrs.frozen
class Weighted:
    """The words of a part, as stems with weights.

    :ivar verbs: stems of the verb and of what it means.
    :ivar objects: groups of stems, one group per word of the object; any of a group counts as the word.
    :ivar tail: the same of the words after a preposition.
    :ivar hints: stems of the words that values stand for.
    """

    verbs: frozenset[str]
    objects: tuple[frozenset[str], ...]
    tail: tuple[frozenset[str], ...]
    hints: frozenset[str]
    query: dict[str, float]
    lexicon: Lexicon

    def matches(self, stems: Iterable[str], known: frozenset[str]) -> float:
        """Return how well a word is among known stems: 1 literally, less by a synonym."""
        own = frozenset(stems)
        if own & known:
            return 1.0
        if any(len(term) >= _MIN_COMPOUND and other.endswith(term) for term in own for other in known):
            return SYNONYM  # "sheet" and "worksheet"
        return SYNONYM if any(self.lexicon.synonyms(term) & known for term in own) else 0.0

    @property
    def every(self) -> frozenset[str]:
        """All stems."""
        return self.verbs.union(self.hints, *self.objects, *self.tail)


def weigh(part: Part, wording: Wording) -> Weighted:
    """Return the weighted words of a part."""
    query: dict[str, float] = {}
    objects: list[frozenset[str]] = []
    tail: list[frozenset[str]] = []
    hints: set[str] = set()
    in_tail = after_naming = in_clause = counted = False
    for place, token in enumerate(part.tokens):
        is_own = is_catalog_word(token, wording)
        if token.is_value and not is_own:
            counted = True
            for word in _hints_of(token, part.verb):
                hints.add(stem(word))
                query.setdefault(stem(word), _HINT)
            if token.kind is Kind.SQL:
                query[stem(token.value.split()[0].lower())] = _OBJECT
                hints.add(stem(token.value.split()[0].lower()))
            continue
        if not (token.is_word or is_own) or place == part.verb_place:
            continue
        if wording.preposition(token):
            in_tail = in_tail or counted or bool(objects)
            continue
        if token.word in wording.language.naming:
            after_naming = True
            continue
        if token.word in _CLAUSE_STARTS and place == part.verb_place + 1 and part.verb_place >= 0:
            # "remember that the room is locked": the text is no description of the tool.
            in_clause = len(part.tokens) > place + 2
            continue
        if (part.is_question and token.word in _EMPTY_VERBS) or token.word in _COUNTED:
            counted = counted or token.word in _COUNTED
            continue
        if place and part.tokens[place - 1].kind is Kind.NUMBER and (token.word in UNITS or token.word in UNIT_OF):
            counted = True
            continue
        if _is_quantity_word(part, place) or _labels_text(part, place):
            counted = True
            continue
        if wording.is_filler(token.word):
            continue
        nouns = wording.nouns(token.word.lower())
        if part.is_question and place == 1:
            # "how large" asks for a size.
            nouns = (*nouns, *ATTRIBUTES.get(token.word, ()))
        stems = frozenset(term for word in nouns for term in word_terms(word))
        if is_own:
            stems |= {stem(token.value.lower())}
        if not stems:
            continue
        is_name = after_naming or in_clause or _is_name(place, token, stems, wording)
        weight = _NAME if is_name else (_TAIL if in_tail else _OBJECT)
        for term in stems:
            query[term] = max(query.get(term, 0.0), weight)
        if is_name:
            continue
        (tail if in_tail else objects).append(stems)
    if part.is_question and len(objects) > 1 and len(part.tokens) > 1 and part.tokens[1].word in ATTRIBUTES:
        # "how long is a day": a duration alone is not an object.
        del objects[0]
    verbs: set[str] = set()
    if part.verb and (not part.is_question or part.verb != "get"):
        verbs.add(stem(part.verb))
        for term in word_terms(part.verb):
            query[term] = max(query.get(term, 0.0), _VERB)
    return Weighted(frozenset(verbs), tuple(objects), tuple(tail), frozenset(hints), query, wording.lexicon)


def is_catalog_word(token: Token, wording: Wording) -> bool:
    """Whether what looks like an id is a word of the catalog: "Base64"."""
    return token.kind is Kind.ID and wording.is_of_catalog(token.value.lower())


def _is_quantity_word(part: Part, place: int) -> bool:
    """Whether a word is one of "half an hour", "a quarter of a second"."""
    tokens = part.tokens
    if tokens[place].word in UNIT_OF:
        before = [token.word for token in tokens[max(place - 4, part.verb_place + 1) : place]]
        if before[-1:] in (["a"], ["an"]):
            before = before[:-2] if before[-2:-1] == ["of"] else before[:-1]
            return bool(before) and (before[-1] in PARTS_OF_UNITS or before[-1] in NUMBER_WORDS)
        return bool(before) and before[-1] in NUMBER_WORDS
    if tokens[place].word not in NUMBER_WORDS and tokens[place].word not in PARTS_OF_UNITS:
        return False
    return any(token.word in UNIT_OF for token in tokens[place + 1 : place + 4])


def _labels_text(part: Part, place: int) -> bool:
    """Whether a word only says that a text follows, or what a number counts: "the text 'Hello'", "the first 5 lines"."""
    near = part.tokens[place + 1 : place + 2] if part.tokens[place].word in _TEXT_WORDS else ()
    is_counted = place > 1 and part.tokens[place].word in _LINES and part.tokens[place - 1].kind is Kind.NUMBER
    return is_counted or any(token.kind is Kind.QUOTE for token in near)


def _is_name(place: int, token: Token, stems: frozenset[str], wording: Wording) -> bool:
    """Whether a word in capitals is a name that the catalog does not contain; German nouns always have capitals."""
    is_capital = place > 0 and token.is_capital and wording.language.code != "de"
    return is_capital and not stems & wording.vocabulary.stems


def _hints_of(token: Token, verb: str) -> Sequence[str]:
    if token.kind is Kind.PATH and not is_file(token):
        is_folder = token.value.endswith("/") or verb == "list"
        return ("directory", "folder") if is_folder else ("file", "directory", "folder")
    return _KIND_WORDS.get(token.kind, ())


# Names that start with a full stop are folders otherwise: ".git", ".venv".
_DOTFILE: Final = re.compile(r"\.(?:\w+ignore|\w+rc|env|gitattributes|gitmodules|editorconfig|profile|htaccess)")


def is_file(token: Token) -> bool:
    """Whether a path ends with a file extension, or is a name such as "Makefile"."""
    is_name = "/" not in token.value and token.value != "~"
    last = token.value.rpartition("/")[2]
    return "." in last.lstrip(".") or bool(_DOTFILE.fullmatch(last)) or (is_name and token.kind is Kind.PATH)
