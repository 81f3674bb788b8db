"""What the everyday verb of a part may mean: "scrap" for "delete", "peek inside" for "read"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from helmdeck_language import ENGLISH, STOP_WORDS, Kind, Token, stem
from helmdeck_planner.embedded.request.acts import acts, does
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.wording import Wording

# The first words of a part that may follow its verb as a particle.
_NEAR: Final = 6
# How likely each verb is meant where only a thing is named.
_WISH: Final = 0.5
# How much less likely each further verb of an act is meant.
_LESS: Final = 0.15


@attrs.frozen
class Reading:
    """What a verb may mean.

    :ivar verbs: stems of the verbs of catalogs, with how likely each is meant.
    :ivar places: the places of the verb and of its particles.
    :ivar is_phrase: particles follow the verb, and say what it means: "get rid of".
    """

    verbs: Mapping[str, float]
    places: frozenset[int]
    is_phrase: bool = False


_NOTHING: Final = Reading({}, frozenset())


def reading(part: Part, wording: Wording) -> Reading:
    """Return what the verb of a part may mean; nothing for a question, or for a language other than English."""
    place = max(part.verb_place, 0)
    if part.is_question or wording.language is not ENGLISH or not part.tokens:
        return _NOTHING
    if part.is_wish:
        return Reading({stem(verb): _WISH for verb in does()["wish"]}, frozenset())
    if not part.tokens[place].is_word:
        return _NOTHING
    verb = part.tokens[place].word
    rows = acts().get(verb)
    if rows is None and part.verb:
        rows = acts().get(part.verb)  # the verb of a participle
    following = [token.word for token in part.tokens[place + 1 :]]
    found: dict[str, float] = {}
    places = {place}
    is_phrase = False
    for others, its_acts in rows or ():
        if any(other not in following for other in others) or (is_phrase and not others):
            continue
        for act in its_acts:
            for rank, means in enumerate(does()[act]):
                term = stem(means.partition("_")[0])
                found[term] = max(found.get(term, 0.0), 1 / (1 + _LESS * rank))
        if others and not is_phrase:
            # A preposition may belong to the object: "put it in C1" is not only "put in".
            is_particle = any(other not in wording.language.prepositions for other in others)
            is_phrase = is_particle and following.index(others[0]) < _NEAR
            # "lock" of "open the lock" still says what the part is about.
            places |= {
                place + 1 + following.index(other)
                for other in others
                if following.index(other) < _NEAR and (other in STOP_WORDS or not wording.is_of_catalog(other))
            }
    return Reading(found, frozenset(places), is_phrase) if found else _NOTHING


def recorded_readings(part: Part, wording: Wording) -> Sequence[Part]:
    """Return a statement that is to be recorded as it is, behind the verb "record", and with the clause that requests that."""
    start = part.tokens[0].start
    verb = Token(Kind.WORD, start, start, "record", "record")
    clause = (*part.recording, *part.tokens)
    return (
        attrs.evolve(part, verb="", verb_place=-1),
        attrs.evolve(part, tokens=(verb, *part.tokens), verb="record", verb_place=0),
        attrs.evolve(part, tokens=clause, verb=wording.verb(clause[0].word), verb_place=0),
    )
