"""Says a part of a request with other verbs: "switch it off" for "turn it off", "load it from a.json" for "import it"."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

import attrs

from helmdeck_language import ENGLISH, Kind, Token, WordFile, stem
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.wording import Wording

_SIDES: Final = frozenset("on off up down in out".split())
# Words that belong to the verb; others, such as "lock", are its object.
_PARTICLES: Final = frozenset("on off up down into in from as to".split())


_FILE: Final = WordFile.beside(__file__, "paraphrases.toml")


def _rows() -> Mapping[str, tuple[tuple[frozenset[str], tuple[str, ...]], ...]]:
    found: dict[str, list[tuple[frozenset[str], tuple[str, ...]]]] = defaultdict(list)
    for phrase, verbs in _FILE.rows("verbs").items():
        verb, *others = phrase.split()
        found[verb].append((frozenset(others), tuple(verbs.split())))
    return {verb: tuple(rows) for verb, rows in found.items()}


_PARAPHRASES: Final = _rows()
_PAIRS: Final = _FILE.rows("opposites")
OPPOSITES: Final[Mapping[str, str]] = {**_PAIRS, **{other: word for word, other in _PAIRS.items()}}
"""Words with the word that undoes them, in both directions."""


def requested_sides(part: Part) -> frozenset[str]:
    """Return the words of ``OPPOSITES`` that say what a part requests: its verb, and particles such as "off"."""
    place, last = part.verb_place, len(part.tokens) - 1
    particles = {
        part.tokens[each].word
        for each in (place + 1, last)
        if 0 <= place < each <= last and part.tokens[each].word in _SIDES
    }
    return (frozenset({part.verb}) & OPPOSITES.keys()) | particles


def paraphrases(part: Part, wording: Wording) -> Iterator[Part]:
    """Yield a part with each verb that may be meant, if the catalog contains it."""
    if wording.language is not ENGLISH or part.is_question or part.verb_place < 0:
        return
    written = {token.word for token in part.tokens if token.is_word}
    for others, verbs in _PARAPHRASES.get(part.verb, ()):
        if others <= written:
            for verb in verbs:
                first, _, particle = verb.partition("_")
                if stem(first) in wording.vocabulary.stems and (
                    not particle or stem(particle) in wording.vocabulary.stems
                ):
                    yield _with_verb(part, first, particle, others & (_PARTICLES | {first.removeprefix("un")}))


def _with_verb(part: Part, verb: str, particle: str, left_out: frozenset[str]) -> Part:
    written = part.tokens[part.verb_place]
    new = [attrs.evolve(written, value=verb, word=verb)]
    if particle:
        new.append(Token(Kind.WORD, written.end, written.end, particle, particle))
    before, after = part.tokens[: part.verb_place], list(part.tokens[part.verb_place + 1 :])
    for word in left_out:
        # Only the first one belongs to the verb: "save a as b" keeps another "as".
        place = next(place for place, token in enumerate(after) if token.word == word)
        if word in verb or word not in ("from", "in", "to", "as"):
            del after[place]
    return attrs.evolve(part, tokens=(*before, *new, *after), verb=verb)
