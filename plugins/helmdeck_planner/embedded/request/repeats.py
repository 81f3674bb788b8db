"""Completes what a request states in short: "same for b.log", "rename track 0 to Kick and track 1 to Snare", "don't let me forget"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from helmdeck_language import ENGLISH, Kind, Token
from helmdeck_planner.embedded.request.corrections import without_corrections
from helmdeck_planner.embedded.request.lead_ins import without_lead_ins
from helmdeck_planner.embedded.request.negation import phrase_length
from helmdeck_planner.embedded.request.states import is_thing
from helmdeck_planner.embedded.request.tokens import token_at
from helmdeck_planner.embedded.request.word_lists import phrase_list, word_list
from helmdeck_planner.embedded.request.wording import Wording

_SAME: Final = word_list("same")
_THOSE: Final = word_list("those")
_ONE: Final = word_list("one")
_WHAT: Final = ("what", "when")
_OF: Final = ("of", "from", "for")
_NEGATIONS: Final = word_list("negations")
_BETWEEN: Final = word_list("before_participles")
_NEAR: Final = 4
_COMPARING: Final = word_list("taking_two")
_ARTICLES: Final = word_list("possessives") | {"a", "an"}
_BORDERS: Final = (Kind.MARK, Kind.BREAK, Kind.SQL)
# Words before the preposition: "the last 4 lines of b.txt".
_MOST_OF_OBJECT: Final = 5
# Words of the first object and its value, so that a long list takes no long time.
MOST_OF_CLAUSE: Final = 20
_NUMBERS: Final = ("no", "nr", "nos")
_EXPLAINING: Final = ("i.e", "e.g", "etc")
_COMPARED: Final = ("vs", "v")
_FORGETTING: Final = phrase_list("forgetting")
_WAITING: Final = phrase_list("waiting")


def rephrased(tokens: Sequence[Token], wording: Wording) -> Sequence[Token]:
    """Return "remind me to" for "don't let me forget", "wait until" for "do nothing until", and "unstaged" for "not staged"."""
    if wording.language is not ENGLISH:
        return tokens
    tokens = _with_opposites(without_corrections(tokens, wording), wording)
    # Without an entry that waits, such a part only excludes.
    waiting = _WAITING if wording.is_of_catalog("wait") else {}
    found: list[Token] = []
    place = 0
    while place < len(tokens):
        if length := phrase_length(tokens, place, waiting):
            found += _words(("wait", "until"), tokens[place].start, tokens[place + length - 1].end)
            place += length
        elif length := phrase_length(tokens, place, _FORGETTING):
            found += _words(("remind", "me", "to"), tokens[place].start, tokens[place + length - 1].end)
            place += length
            while place < len(tokens) and tokens[place].value in (":", "to", ","):
                place += 1
        else:
            found.append(tokens[place])
            place += 1
    return found


def without_abbreviations(tokens: Sequence[Token]) -> Sequence[Token]:
    """Leave out "no." before a number or an id, where it excludes nothing, "e.g." and "i.e.", and the full stop of "vs."."""
    found: list[Token] = []
    place = 0
    while place < len(tokens):
        token, following, after = tokens[place], token_at(tokens, place + 1), token_at(tokens, place + 2)
        has_stop = following is not None and following.value == "." and following.start == token.end
        is_number = has_stop and token.word in _NUMBERS and after is not None and (after.is_value or is_thing(after))
        if has_stop and (is_number or token.value.lower() in _EXPLAINING):
            place += 2
            continue
        found.append(token)
        place += 1 + (has_stop and token.word in _COMPARED)
    return found


def _words(words: Sequence[str], start: int, end: int) -> list[Token]:
    """Return words for a phrase of the request; the first one has its place."""
    first, *others = words
    return [Token(Kind.WORD, start, end, first, first), *(Token(Kind.WORD, end, end, word, word) for word in others)]


def _with_opposites(tokens: Sequence[Token], wording: Wording) -> Sequence[Token]:
    """Return one word for "not staged" and "haven't I staged", if the catalog has the word "unstaged"."""
    found = list(tokens)
    for place in range(len(tokens) - 1, -1, -1):
        word = tokens[place].word.replace("\u2019", "'")
        if word not in _NEGATIONS and not word.endswith("n't"):
            continue
        for other in range(place + 1, min(place + 1 + _NEAR, len(tokens))):
            opposite = f"un{tokens[other].word}"
            if tokens[other].word.endswith("ed") and opposite in wording.vocabulary.words:
                found[other] = attrs.evolve(tokens[other], value=opposite, word=opposite)
                del found[place]
                break
            if not wording.is_filler(tokens[other].word) and tokens[other].word not in _BETWEEN:
                break
    return found


def starts_repeat(tokens: Sequence[Token], place: int, wording: Wording) -> bool:
    """Whether "same for", "those of" or "one called" starts at a place."""
    if wording.language is not ENGLISH or place + 2 >= len(tokens):
        return False
    word, following = tokens[place].word, tokens[place + 1]
    is_named = word in _ONE and following.word in wording.language.naming
    is_pointed = word in _THOSE and following.word in _OF and tokens[place + 2].kind is not Kind.MARK
    is_pointed = is_pointed and tokens[place + 2].word not in wording.language.references  # "one of them"
    is_other_place = word in _WHAT and bool(wording.preposition(following)) and tokens[place + 2].is_capital
    return is_named or is_pointed or is_other_place or (word in _SAME and bool(wording.preposition(following)))


def repeated(tokens: Sequence[Token], before: Sequence[Token], wording: Wording) -> tuple[Token, ...]:
    """Return the tokens of the part before with the value that "same for" names; nothing for other parts."""
    if not starts_repeat(tokens, 0, wording):
        return ()
    new = tokens[2:]
    if tokens[0].word in _WHAT:
        # "what is that in Toronto, and what in Nairobi?"
        joint = next((place for place in range(len(before) - 1, 0, -1) if before[place].word == tokens[1].word), 0)
        is_question = bool(before) and before[0].word in wording.language.questions
        return (*before[: joint + 1], *new) if joint and is_question else ()
    kinds = {token.kind for token in new if token.is_value} or {Kind.WORD}
    # An id may look like a path or a word: "light.hall", "light.cellar".
    is_id = len(new) == 1 and not new[0].value.isalpha()
    places = [
        place for place, token in enumerate(before) if token.kind in kinds and (not is_id or not token.value.isalpha())
    ] or [place for place, token in enumerate(before) if is_id and token.is_value]
    if not places or places[-1] == 0:
        return ()
    return (*before[: places[-1]], *new, *before[places[-1] + 1 :])


def repeats_object(tokens: Sequence[Token], place: int, current: Sequence[Token], wording: Wording) -> bool:
    """Whether a second object follows with a value of its own: "track 1 to Snare" after "rename track 0 to Kick", "cart to 3"."""
    if wording.language is not ENGLISH:
        return False
    shape = _shape(tokens, place, wording)
    if shape and any(_shape(current, at, wording) == shape for at in range(1, len(current))):
        return True
    own = without_lead_ins(current, wording)
    return repeats_first(tokens, place, own, wording) and _label(tokens, place, wording) == _label(own, 1, wording)


@attrs.frozen
class _Pair:
    """An object and the value behind its preposition: "the lamp to 20%".

    :ivar kind: of the object; ``None`` for one without a value.
    :ivar label: the word before the value of the object.
    :ivar value: the kind behind the preposition; ``None`` for a word.
    """

    kind: Kind | None
    label: str
    preposition: str
    value: Kind | None


def repeats_first(tokens: Sequence[Token], place: int, current: Sequence[Token], wording: Wording) -> bool:
    """Whether an object and its value have the form of the first ones of the verb: "b.txt to y" after "move a.txt to x".

    Objects that are words need values behind the same preposition: "the volume to 30%" after "set the lamp to 20%". Two things that are
    compared belong to one act.
    """
    current = current[:MOST_OF_CLAUSE]
    if not current or current[0].word in _COMPARING or any(token.word == "between" for token in current):
        return False
    first, second = _pair(current, 1, wording), _pair(tokens, place, wording)
    if first is None or second is None or tokens[place - 1].value == ":":
        return False
    if first.kind is None or second.kind is None:
        later = (_behind(current, at, wording) for at in range(2, len(current)))
        return first.kind is second.kind and second.value is not None and (second.preposition, second.value) in later
    if first.kind is not second.kind or second.label not in ("", first.label):
        return False
    # "assign issue 7 in acme/web to Dana and issue 8 to Lee"
    others = [wording.preposition(token) for token in current[2:]] if first.label else []
    return second.preposition in (first.preposition, *others)


def _pair(tokens: Sequence[Token], place: int, wording: Wording) -> _Pair | None:
    """Return the object that starts at a place and the value behind it; ``None`` without both."""
    end = place
    while end < len(tokens) and end - place < _MOST_OF_OBJECT and not wording.preposition(tokens[end]):
        if tokens[end].kind in _BORDERS or tokens[end].word in wording.language.joints | wording.language.references:
            return None
        end += 1
    own = tokens[place:end]
    preposition, value = _behind(tokens, end, wording)
    if not preposition or all(token.is_word and wording.is_filler(token.word) for token in own):
        return None
    last = own[-1]
    kind = last.kind if last.is_value else Kind.ID if _is_numbered(last) else None
    label = own[-2].word if kind and len(own) > 1 and own[-2].is_word else ""
    return _Pair(kind, label, preposition, value)


def _label(tokens: Sequence[Token], place: int, wording: Wording) -> str:
    pair = _pair(tokens, place, wording)
    return pair.label if pair is not None and pair.kind is not None else ""


def _behind(tokens: Sequence[Token], place: int, wording: Wording) -> tuple[str, Kind | None]:
    """Return the preposition at a place and the kind of the value behind it, if it has one; an empty one without anything behind it."""
    behind = [token for token in tokens[place + 1 : place + 4] if token.word not in _ARTICLES]
    if place >= len(tokens) or not behind or behind[0].kind in _BORDERS:
        return "", None
    return wording.preposition(tokens[place]), next((token.kind for token in behind[:2] if token.is_value), None)


def _is_numbered(token: Token) -> bool:
    """Whether a word has a digit, as "e1" has."""
    return token.is_word and any(char.isdigit() for char in token.value)


def _shape(tokens: Sequence[Token], place: int, wording: Wording) -> tuple[object, ...]:
    """Return what two objects with the same verb have in common: the label, the kind of value and the preposition; empty without one.

    A name without a label has a value behind the preposition: "checkout to 5 replicas".
    """
    if len(tokens) < place + 3:
        return ()
    first, second, third = tokens[place : place + 3]
    if len(tokens) > place + 3 and first.is_word and second.is_value and wording.preposition(third):
        return first.word, second.kind, third.word
    # "scale checkout to 5": right behind the verb, a word that may be a verb is a name.
    is_word = first.is_word and not wording.is_filler(first.word) and (place == 1 or not wording.verb(first.word))
    if (first.is_value or is_word) and wording.preposition(second) and third.is_value:
        return first.kind, second.word, third.kind
    return ()
