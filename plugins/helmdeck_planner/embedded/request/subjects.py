"""Finds parts that only name the thing that the next one acts on: "issue 92 in acme/web: close it", "PR 5 is fine, so merge it"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from helmdeck_language import ENGLISH, NOUNS_TOO, Kind, Token, stem
from helmdeck_planner.embedded.request.concepts import concepts
from helmdeck_planner.embedded.request.states import is_thing
from helmdeck_planner.embedded.request.tokens import token_at
from helmdeck_planner.embedded.request.word_lists import word_list
from helmdeck_planner.embedded.request.wording import Wording

_FINITE: Final = word_list("telling") | word_list("being") | word_list("finite")
# "issue 5 needs a label" requests something.
_REQUESTING: Final = word_list("requesting") | word_list("modals") | word_list("leaving")
_POINTING: Final = word_list("named_objects") | word_list("pointing_back")
_SO: Final = word_list("consequences")
# "a note on P9" is a new thing, and "new task in project 12" is one.
_NEW: Final = word_list("new_things")
_DEFINITE: Final = word_list("possessives") | word_list("demonstratives")
_OWN: Final = (Kind.ID, Kind.HASH, Kind.SLUG, Kind.NUMBER, Kind.PATH)
# A label and its value at least.
_LEAST: Final = 2


class Clause(Protocol):
    """What is known of a part of a request."""

    @property
    def tokens(self) -> tuple[Token, ...]:
        """The tokens of the text."""
        ...

    @property
    def verb_place(self) -> int:
        """The place of the verb, -1 without one."""
        ...

    @property
    def is_question(self) -> bool:
        """Whether it starts with a question word."""
        ...

    @property
    def is_excluded(self) -> bool:
        """Whether it must not be planned."""
        ...

    @property
    def is_wish(self) -> bool:
        """Whether it names a thing that is needed."""
        ...


def subject_before(part: Clause, after: Clause, between: str, wording: Wording) -> Sequence[Token]:
    """Return the words that name a thing, if a part has no others, or only says how it is, and the next part acts on it.

    :param between: the text between both parts.
    :returns: nothing if the part is a request of its own.
    """
    is_colon = between.startswith(":")
    language = wording.language
    adds = any(word in language.joints | language.strong_joints for word in between.split())
    asks = part.is_question or part.is_excluded or part.is_wish
    # A question takes the thing into its own part.
    acts = after.verb_place == 0 and not (after.is_question or after.is_excluded)
    # "for pull request 61 in acme/web, get the files"
    has_lead = bool(part.tokens) and bool(wording.preposition(part.tokens[0]))
    if language is not ENGLISH or asks or not acts or part.verb_place > has_lead:
        return ()
    end = _end_of_name(part, wording)
    rest = part.tokens[end:]
    if not end or not (_describes(rest, is_before_colon=is_colon) if rest else not adds):
        return ()
    is_about = is_colon or has_lead or any(token.word in _POINTING for token in after.tokens)
    is_about |= any(word in _SO for word in between.split())  # "..., so squash and close"
    return part.tokens[:end] if is_about else ()


def _end_of_name(part: Clause, wording: Wording) -> int:
    """Return the place behind a label, its value and where that is: "pull request #57 of acme/web"; 0 without them."""
    tokens = part.tokens
    if any(token.word in _NEW for token in tokens):
        return 0
    end = labels = 0
    for place, token in enumerate(tokens):
        if token.kind in _OWN or (token.is_word and is_thing(token)):
            if not labels:
                return 0
            end = place + 1
            continue
        is_noun = token.is_word and not wording.is_filler(token.word) and _is_of_catalog(token.word, wording)
        is_noun = is_noun and (place != part.verb_place or _may_be_noun(tokens, place, wording))
        labels += is_noun
        is_lead = bool(wording.preposition(token)) or token.word in _DEFINITE
        if token.word in _FINITE or not (is_noun or is_lead or token.value in "#,"):
            break
    return end if end >= _LEAST else 0


def _is_of_catalog(word: str, wording: Wording) -> bool:
    """Whether the catalog contains a word, or what it stands for: "PR"."""
    return wording.is_of_catalog(word) or not concepts(stem(word)).isdisjoint(wording.vocabulary.stems)


def _may_be_noun(tokens: Sequence[Token], place: int, wording: Wording) -> bool:
    """Whether what looks like a verb starts no command: "issue 92", "pull request 57", but not "close issue 92"."""
    word, following = tokens[place].word, token_at(tokens, place + 1)
    if following is None:
        return False
    is_labelled = word in NOUNS_TOO and following.is_value and following.kind is not Kind.QUOTE
    return is_labelled or (word, following.word) in wording.vocabulary.pairs


def _describes(tokens: Sequence[Token], *, is_before_colon: bool) -> bool:
    """Whether words only say how a thing is: "is approved", "isn't clear at all"."""
    # "PR 5 is fine - squash and merge it" has a command as well.
    if any(token.is_value or token.kind is Kind.MARK or is_thing(token) for token in tokens):
        return False
    is_request = any(token.word in _REQUESTING - _FINITE for token in tokens)
    return tokens[0].word in _FINITE and (is_before_colon or not is_request)
