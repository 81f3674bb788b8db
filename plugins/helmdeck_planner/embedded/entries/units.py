"""Units of measurement, from ``units.toml``: of words in a request, and of the inputs of an entry."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

import attrs

from helmdeck_language import WordFile

_FILE: Final = WordFile.beside(__file__, "units.toml")


@attrs.frozen
class Unit:
    """A unit: quantities of the same dimension can be converted into each other.

    :ivar size: the number of base units of the dimension.
    """

    name: str
    dimension: str
    size: Fraction


def _units() -> dict[str, Unit]:
    found: dict[str, Unit] = {}
    sizes = _FILE.rows("sizes")
    for name, words in _FILE.rows("words").items():
        dimension, size = sizes[name].split()
        found |= dict.fromkeys(words.split(), Unit(name, dimension, Fraction(size)))
    return found


UNIT_OF: Final[Mapping[str, Unit]] = _units()
"""The unit of a word."""
SMALLER_UNITS: Final[Mapping[str, Unit]] = {name: UNIT_OF[smaller] for name, smaller in _FILE.rows("smaller").items()}
"""The unit that a number behind another unit counts, by the name of the latter: minutes in "2 hours 15"."""
NUMBER_WORDS: Final[Mapping[str, Fraction]] = {word: Fraction(number) for word, number in _FILE.rows("numbers").items()}
PARTS_OF_UNITS: Final[Mapping[str, Fraction]] = {
    word: Fraction(number) for words, number in _FILE.rows("parts").items() for word in words.split()
}
# "in seconds", "number of minutes", "(ms)"; a word of one letter is a unit only in brackets.
_STATED: Final = re.compile(r"\b(?:in|as|number of|of)\s+(?:whole\s+)?([a-z]{2,14})\b|\(([a-z]{1,14})\)")
_OTHER: Final = re.compile(r"\s+or\s+([a-z]{1,14})\b")
_IN_NAME: Final = 2


def unit_of_input(words: Sequence[str], text: str) -> Unit | None:
    """Return the unit of a number that an input takes, by the last words of its name, else by its description."""
    for word in reversed(words):
        if len(word) >= _IN_NAME and (found := UNIT_OF.get(word)):
            return found
    for match in _STATED.finditer(text.lower()):
        if found := UNIT_OF.get(match[1] or match[2]):
            other = _OTHER.match(text.lower(), match.end())
            is_either = other and (unit := UNIT_OF.get(other[1])) and unit.dimension != found.dimension
            return None if is_either else found
    return None


def converted(value: float | Fraction, source: Unit, target: Unit) -> int | float | None:
    """Return a quantity in another unit; ``None`` for another dimension. Whole numbers stay whole."""
    if source.dimension != target.dimension:
        return None
    if source.size == target.size and not isinstance(value, Fraction):
        return value
    result = Fraction(str(value)) * source.size / target.size
    return int(result) if result.denominator == 1 else round(float(result), 6)
