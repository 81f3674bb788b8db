"""Words of which one undoes the other: "on" and "off", "encode" and "decode". ``opposites.toml`` holds the words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from helmdeck_language import WordFile
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.word_lists import word_list

_SIDES: Final = word_list("sides")
_PAIRS: Final = WordFile.beside(__file__, "opposites.toml").rows("opposites")
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
