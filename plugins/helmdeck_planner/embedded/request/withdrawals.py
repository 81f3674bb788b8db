"""Finds commands that the words around them take back: "I should probably delete it", "fork it? No, wait", "but not today".

What is only considered, reported or taken back is excluded; what depends on a condition, or leaves a part of a whole out, is marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from helmdeck_language import ENGLISH, Kind, Token
from helmdeck_planner.embedded.request.acts import reads
from helmdeck_planner.embedded.request.conditional import states_condition, trailing_condition
from helmdeck_planner.embedded.request.negation import is_exception, phrase_length
from helmdeck_planner.embedded.request.part import Part
from helmdeck_planner.embedded.request.states import is_thing
from helmdeck_planner.embedded.request.tokens import token_at
from helmdeck_planner.embedded.request.word_lists import phrase_list, word_list
from helmdeck_planner.embedded.request.wording import Wording

_ENDS: Final = frozenset(".!?;\u2026")
_CANCELLING: Final = phrase_list("cancelling")
_AFTER_CANCELLING: Final = word_list("after_cancelling")
_CANCELLING_WORDS: Final = frozenset(word for rows in _CANCELLING.values() for row in rows for word in row)
_DOUBTING: Final = phrase_list("doubting")
_CONTRASTING: Final = word_list("contrasting")
_HEDGING: Final = word_list("hedging")
_WAVERING: Final = phrase_list("wavering")
_NEEDING: Final = word_list("needing_verbs")
_ADDRESSED: Final = word_list("addressed") | word_list("polite")
_REPORTING: Final = word_list("reporting_persons")
_REPORTED: Final = word_list("reported_starts")
_SPEAKING: Final = word_list("speakers")
_DIRECTED: Final = word_list("directed")
_FRACTIONS: Final = word_list("fractions")
_HALFWAY: Final = word_list("halfway")
_ARTICLES: Final = ("a", "one", "the", "only", "just")
# A name of two words, with its article.
_MOST_NAME: Final = 3


def reviewed(text: str, parts: Sequence[Part], tokens: Sequence[Token], wording: Wording) -> list[Part]:
    """Return parts with what their surroundings say of them.

    :param text: the request.
    :param tokens: all tokens of the request.
    """
    found: list[Part] = []
    condition: Part | None = None
    is_quoted = False  # "according to Bob, ..."
    for part in parts:
        end = found[-1].tokens[-1].end if found else 0
        lead = [token for token in tokens if end <= token.start and token.end <= part.tokens[0].start]
        is_new = any(token.value in _ENDS or token.kind is Kind.BREAK for token in lead)
        condition, is_quoted = (None, False) if is_new else (condition, is_quoted)
        if wording.language is ENGLISH:
            has_mark = any(token.kind is Kind.MARK for token in lead)
            if found and (is_new or has_mark) and _is_cancelled_by((*lead, *part.tokens)):
                found = _without_last_sentence(found, tokens) if is_new else [*found[:-1], _withdrawn(found[-1])]
                # "Scratch that" scratches nothing.
                is_only = all(token.word in _CANCELLING_WORDS for token in part.tokens)
                part = attrs.evolve(part, is_excluded=part.is_excluded or is_only)
            if found and not is_new and _has_doubt((*lead, *part.tokens), at_start=True):
                found[-1] = _withdrawn(found[-1])
            is_quoted_act = is_quoted and part.verb_place != 0 and not part.only_reads
            is_quoted = is_quoted or _names_source(part.tokens)
            if is_quoted_act or _is_withdrawn(part, lead, wording):
                part = _withdrawn(part)
        if condition is not None and not (part.is_excluded or part.is_withdrawn):
            part = attrs.evolve(part, condition=condition.text)
        if _takes_fraction(part):
            part = attrs.evolve(part, is_partial=True)
        if states_condition(part):
            condition = part
        elif not part.condition and (clause := trailing_condition(part, wording)):
            part = attrs.evolve(part, condition=text[clause[0].start : clause[-1].end])
        if found and part.is_excluded and _excepts(found[-1], part, wording):
            whole = text[found[-1].tokens[0].start : part.tokens[-1].end]
            found[-1] = attrs.evolve(found[-1], text=whole, is_partial=True)
        found.append(part)
    return found


def _withdrawn(part: Part) -> Part:
    """Return a part that is not planned, but whose things later parts may refer to: "fork acme/web? No, show its issues"."""
    if part.is_excluded or part.is_withdrawn:
        return part
    return as_heading(part) or attrs.evolve(part, is_excluded=True)


def as_heading(part: Part) -> Part | None:
    """Return a part that only says what later ones are about: "PR 5" of "hold off on merging PR 5"; ``None`` if it names nothing."""
    things = part.tokens
    end = next((place for place, token in enumerate(things) if token.word in _CONTRASTING), len(things))
    first = next((place for place, token in enumerate(things[:end]) if token.is_value or is_thing(token)), -1)
    if first < 0 or things[first].word.replace("\u2019", "'").endswith("n't"):
        return None
    named = things[max(first - 1, 0) : end]
    return attrs.evolve(
        part, tokens=named, verb="", verb_place=-1, is_excluded=False, is_heading=True, is_withdrawn=True, is_wish=False
    )


def _without_last_sentence(parts: Sequence[Part], tokens: Sequence[Token]) -> list[Part]:
    """Exclude the commands of the last sentence."""
    found = list(parts)
    for place in range(len(found) - 1, -1, -1):
        if not found[place].is_question:
            found[place] = _withdrawn(found[place])
        start = found[place].tokens[0].start
        before = found[place - 1].tokens[-1].end if place else 0
        if any(before <= token.start < start and token.value in _ENDS for token in tokens):
            break
    return found


def _is_cancelled_by(tokens: Sequence[Token]) -> bool:
    """Whether a sentence takes back the one before: "No, wait", "Scratch that", but not "no need to wait"."""
    place = 0
    while place < len(tokens) and (
        tokens[place].kind in (Kind.MARK, Kind.BREAK) or tokens[place].word in _AFTER_CANCELLING
    ):
        place += 1
    length = phrase_length(tokens, place, _CANCELLING)
    if not length:
        return False
    after = token_at(tokens, place + length)
    return after is None or after.kind in (Kind.MARK, Kind.BREAK) or after.word in _AFTER_CANCELLING


def _has_doubt(tokens: Sequence[Token], *, at_start: bool = False) -> bool:
    """Whether "but not today" or "though I'm not sure" is in a part."""
    places = range(1, len(tokens))
    if at_start:
        first = next((place for place, token in enumerate(tokens) if token.word in _CONTRASTING), -1)
        is_first = first >= 0 and all(token.kind is Kind.MARK for token in tokens[:first])
        places = range(first + 1, first + 2) if is_first else range(0)
    return any(tokens[place - 1].word in _CONTRASTING and phrase_length(tokens, place, _DOUBTING) for place in places)


def _is_withdrawn(part: Part, lead: Sequence[Token], wording: Wording) -> bool:
    """Whether a command is only considered, or is what another person said."""
    if part.is_question or part.is_excluded:
        return False
    if _has_doubt(part.tokens) or _is_reported(part.tokens):
        return True
    verb, place = part.verb, part.verb_place
    if not verb:
        # "I might move it": a verb that is a noun too is none in the middle of a sentence.
        place = next((place for place, token in enumerate(part.tokens) if wording.verb(token.word)), 0)
        verb = part.tokens[place].word
    start = next((place + 1 for place in range(len(lead) - 1, -1, -1) if lead[place].kind is Kind.MARK), 0)
    before = (*lead[start:], *part.tokens[: max(place, 0)])
    words = [token.word.replace("\u2019", "'") for token in before]
    if reads(verb) or not _ADDRESSED.isdisjoint(words):
        return False
    if any(phrase_length(before, place, _WAVERING) for place in range(len(before))):
        return verb not in _NEEDING
    return not _HEDGING.isdisjoint(words)


def _is_reported(tokens: Sequence[Token]) -> bool:
    """Whether a sentence says what a person said or wants others to do: "Sue said to overwrite it", "Tom wants me to post it"."""
    place = next((place for place, token in enumerate(tokens[: _MOST_NAME + 1]) if token.word in _REPORTING), 0)
    if _names_source(tokens):
        return True
    is_name = place > 0 and all(token.is_word and token.is_capital for token in tokens[:place])
    is_name = is_name and tokens[0].word not in _SPEAKING
    after = tokens[place + 1 : place + 3]
    if not is_name or len(after) < 2:
        return False
    is_directed = after[0].word in _DIRECTED and after[1].word in ("to", "that")
    return is_directed or (after[0].word in _REPORTED and not tokens[place].word.startswith("want"))


def _names_source(tokens: Sequence[Token]) -> bool:
    """Whether words start like "according to Bob"."""
    is_source = [token.word for token in tokens[:2]] == ["according", "to"] and len(tokens) > 2
    return is_source and tokens[2].is_word and tokens[2].is_capital


def _takes_fraction(part: Part) -> bool:
    """Whether a command is for a part of its object only: "refund half of pi_1", "delete some of the pods", "close it halfway"."""
    if part.verb_place != 0:
        return False
    if part.tokens[-1].word in _HALFWAY:
        return True
    start = 1 + any(token.word in _ARTICLES for token in part.tokens[1:2])
    share, of = token_at(part.tokens, start), token_at(part.tokens, start + 1)
    if share is None or of is None or of.word != "of":
        return False
    return share.word in _FRACTIONS or share.value.endswith("%")


def _excepts(before: Part, part: Part, wording: Wording) -> bool:
    """Whether an excluded part leaves out some of the whole that the part before names: "everything except the fridge"."""
    if before.is_excluded or not any(token.word in wording.language.quantifiers for token in before.tokens):
        return False
    return is_exception(part.tokens, wording)
