"""A two-tower model: requests and entries become vectors, and what people say for a tool is close to it.

Each feature has a vector; a text is the sum of those of its features. ``benchmarks/meaning`` trains them on requests for tools of 330
products, each tool as several vendors would describe it. The file has one line of weights, ``features.txt`` one feature a line, and
``vectors.bin`` the scale of each feature (float32, little-endian) and then its vector (int8).
"""

from __future__ import annotations

import json
import math
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from operator import mul
from pathlib import Path
from typing import Final

import attrs

from helmdeck_core import Entry
from helmdeck_language import STOP_WORDS, Token, stem
from helmdeck_selection.meaning.features import VALUE, English, entry_features, request_features, with_pairs

Vector = Sequence[float]
_FIELDS: Final = ("name", "description", "inputs")
_FOLDER: Final = Path(__file__).parent
_FLOAT_BYTES: Final = 4
_STOP_WORDS: Final = frozenset(map(stem, STOP_WORDS))
# Features of a request that are read: what it asks for is among the first ones, and a sum has room for a million.
_MAX_FEATURES: Final = 2_000
# Vectors of entries that are kept, of 3 KB each.
_MAX_ENTRIES: Final = 1_000
# Vectors of features that are kept, of 0.6 KB each.
_MAX_ROWS: Final = 8_000
# A number in a sum of vectors has 64 bits; one of 0 is this, so that none is below 0.
_FIELD_BYTES: Final = 8
_ZERO: Final = 1 << 62
# What 1.0 is in such a sum, and what is added to a number of a file.
_ONE: Final = 1 << 40
_BYTE: Final = 128


@attrs.frozen(slots=False, eq=False)
class MeaningModel:
    """The trained vectors.

    :ivar size: numbers in a vector.
    :ivar places: the place of each feature in ``vectors``.
    :ivar scales: what the numbers of a feature are multiplied by.
    :ivar vectors: ``size`` numbers for each feature, -127 to 127.
    :ivar weights: of the name, the description and the inputs of an entry.
    :ivar scale: what a similarity is multiplied by to be the logarithm of odds among entries.
    :ivar none: the same logarithm for no entry at all.

    >>> from helmdeck_language import scan
    >>> from helmdeck_selection import meaning_model, similarity
    >>> model = meaning_model()
    >>> request = model.of_request(scan("give Ada her money back"))
    >>> refund, weather = (model.of_features([word, "payment"]) for word in ("refund", "weath"))
    >>> similarity(request, refund) > similarity(request, weather)
    True
    """

    size: int
    places: Mapping[str, int]
    scales: Sequence[float]
    vectors: Sequence[int]
    weights: Mapping[str, float]
    scale: float
    none: float
    _rows: dict[int, int] = attrs.field(factory=dict, init=False, repr=False, eq=False)

    def knows(self, word: str) -> bool:
        """Whether a word in lower case, or another form of it, has a vector."""
        return stem(word) in self.places

    def of_request(self, tokens: Iterable[Token]) -> Vector:
        """Return the vector of a request, of length 1; zeros if none of its words has a vector."""
        return self.of_features(request_features(tokens))

    def of_features(self, found: Sequence[str]) -> Vector:
        """Return the vector of the features of a request; see ``of_request``."""
        return unit(self.sum_of(with_pairs(found[:_MAX_FEATURES])))

    def known_share(self, found: Iterable[str]) -> float:
        """Return the share of the words among features that have a vector, 0 to 1; 0 if there are none.

        Stop words count only where there are no others.
        """
        words = [feature for feature in found if feature[0] != VALUE]
        words = [word for word in words if word not in _STOP_WORDS] or words
        return sum([word in self.places for word in words]) / len(words) if words else 0.0

    def of_entry(self, entry: Entry, english: English | None = None) -> Vector:
        """Return the vector of an entry, of length 1; zeros if none of its words has a vector.

        :param english: see ``entry_features``.
        """
        return _of_fields(self, *map(tuple, entry_features(entry, english)))

    def shares(self, similarities: Sequence[float]) -> list[float]:
        """Return the probability of each entry by its similarity to a request; what is left to 1 is that of no entry."""
        highest = max([self.none, *(self.scale * value for value in similarities)])
        powers = [math.exp(self.scale * value - highest) for value in similarities]
        whole = sum(powers) + math.exp(self.none - highest)
        return [power / whole for power in powers]

    def sum_of(self, features: Iterable[str]) -> Vector:
        """Return the sum of the vectors of features; those without one count nothing."""
        known = self._rows
        total = 0
        for feature in features:
            place = self.places.get(feature)
            if place is not None:
                total += known.get(place) or self._row(place)
        summed = array("Q")
        summed.frombytes((total + self._zeros).to_bytes(_FIELD_BYTES * self.size, sys.byteorder))
        return [(value - _ZERO) / _ONE for value in summed]

    def _row(self, place: int) -> int:
        """The vector of a feature as one long integer, of 64 bits for each number, so that adding two takes one operation."""
        scale, start = round(self.scales[place] * _ONE), place * self.size
        fields = array("Q", [value + _BYTE for value in self.vectors[start : start + self.size]])
        row = (int.from_bytes(fields.tobytes(), sys.byteorder) - _BYTE * self._ones) * scale
        if len(self._rows) >= _MAX_ROWS:
            self._rows.clear()
        self._rows[place] = row
        return row

    @cached_property
    def _ones(self) -> int:
        return int.from_bytes(array("Q", [1] * self.size).tobytes(), sys.byteorder)

    @cached_property
    def _zeros(self) -> int:
        return _ZERO * self._ones


@lru_cache(maxsize=_MAX_ENTRIES)  # the decks of a process mostly have the same catalog
def _of_fields(
    model: MeaningModel, name: tuple[str, ...], description: tuple[str, ...], inputs: tuple[str, ...]
) -> Vector:
    fields = (with_pairs(name), with_pairs(description), inputs)
    rows = [
        [model.weights[field] * value for value in unit(model.sum_of(found))]
        for field, found in zip(_FIELDS, fields, strict=True)
    ]
    return unit(list(map(sum, zip(*rows, strict=True))))


def similarity(first: Vector, second: Vector) -> float:
    """Return the cosine of two vectors of length 1, -1 to 1."""
    cosine: float = sum(map(mul, first, second))
    return cosine


def unit(vector: Sequence[float]) -> Vector:
    """Return a vector of length 1 in the same direction; zeros as they are."""
    norm = math.hypot(*vector)
    return [value / norm for value in vector] if norm else vector


@cache
def meaning_model(folder: Path = _FOLDER) -> MeaningModel:
    """Return the model of this package, or of another folder. It is read at the first call."""
    weights = json.loads((folder / "weights.json").read_text(encoding="utf-8"))
    features = (folder / "features.txt").read_text(encoding="utf-8").split("\n")
    found = (folder / "vectors.bin").read_bytes()
    end = _FLOAT_BYTES * len(features)
    scales = array("f", found[:end])
    if sys.byteorder == "big":
        scales.byteswap()
    vectors = array("b", found[end:])
    return MeaningModel(
        size=len(vectors) // len(features),
        places={feature: place for place, feature in enumerate(features)},
        scales=scales,
        vectors=vectors,
        weights=weights,
        scale=weights.pop("scale"),
        none=weights.pop("none"),
    )
