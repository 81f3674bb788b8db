"""Words of which one undoes the other: "on" and "off", "encode" and "decode". ``opposites.toml`` holds the words."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from helmdeck_language import WordFile, stem
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.word_lists import word_list

_SIDES: Final = word_list("sides")
_FILE: Final = WordFile.beside(__file__, "opposites.toml")


def _both_ways(pairs: Mapping[str, str]) -> dict[str, str]:
    return {**pairs, **{other: word for word, other in pairs.items()}}


_STATES: Final = _both_ways(_FILE.rows("states"))
OPPOSITES: Final[Mapping[str, str]] = {**_both_ways(_FILE.rows("opposites")), **_STATES}
"""Words with the word that undoes them, in both directions."""
_KINDS: Final = tuple(
    tuple(frozenset(map(stem, kind.split("_"))) for kind in kinds.split()) for kinds in _FILE.rows("kinds").values()
)
# "not staged", "haven't been staged yet"
_NEAR: Final = 2


def requested_sides(part: Part) -> frozenset[str]:
    """Return the words of ``OPPOSITES`` that say what a part requests: its verb, and particles such as "off"."""
    place, last = part.verb_place, len(part.tokens) - 1
    particles = {
        part.tokens[each].word
        for each in (place + 1, last)
        if 0 <= place < each <= last and part.tokens[each].word in _SIDES
    }
    # "allow 53 only from ...": the first word is a verb that no list has.
    verb = part.verb or (part.tokens[0].word if part.tokens and part.tokens[0].word not in _SIDES else "")
    return (frozenset({verb}) & OPPOSITES.keys()) | particles | _states(part)


def is_other_kind(requested: AbstractSet[str], own: AbstractSet[str]) -> bool:
    """Whether an entry serves another kind of a thing than a part requests: "multiplied" is no sum.

    :param requested: stems of a part.
    :param own: stems of the name of an entry.
    """
    for kinds in _KINDS:
        named = [kind for kind in kinds if kind & own]
        asked = [kind for kind in kinds if kind & requested]
        if named and asked and not any(kind in named for kind in asked):
            return True
    return False


def _states(part: Part) -> frozenset[str]:
    """Return the states that a part names, a negated one as its opposite: "not staged"."""
    words = [token.word.replace("\u2019", "'") for token in part.tokens]
    return frozenset(
        _STATES[word] if any(_negates(other) for other in words[max(0, place - _NEAR) : place]) else word
        for place, word in enumerate(words)
        if word in _STATES and place != part.verb_place
    )


def _negates(word: str) -> bool:
    return word in ("not", "never") or word.endswith("n't")
