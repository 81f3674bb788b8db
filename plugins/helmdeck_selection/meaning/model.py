"""A two-tower model: requests and entries become vectors, and what people say for a tool is close to it.

Each feature has a vector; a text is the sum of those of its features. ``benchmarks/meaning`` trains them on requests for tools of 100 kinds
of products, each tool as several vendors would describe it. The file has one line of weights, ``features.txt`` one feature a line, and
``vectors.bin`` the scale of each feature (float32, little-endian) and then its vector (int8).
"""

from __future__ import annotations

import json
import math
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from operator import mul
from pathlib import Path
from typing import Final

import attrs

from helmdeck_core import Entry
from helmdeck_language import Token, stem
from helmdeck_selection.meaning.features import entry_features, request_features, with_pairs

Vector = Sequence[float]
_FIELDS: Final = ("name", "description", "inputs")
_FOLDER: Final = Path(__file__).parent
_FLOAT_BYTES: Final = 4


@attrs.frozen
class MeaningModel:
    """The trained vectors.

    :ivar size: numbers in a vector.
    :ivar places: the place of each feature in ``vectors``.
    :ivar scales: what the numbers of a feature are multiplied by.
    :ivar vectors: ``size`` numbers for each feature, -127 to 127.
    :ivar weights: of the name, the description and the inputs of an entry.
    :ivar scale: what a similarity is multiplied by to be the logarithm of odds among entries.
    :ivar none: the same logarithm for no entry at all.
    """

    size: int
    places: Mapping[str, int]
    scales: Sequence[float]
    vectors: Sequence[int]
    weights: Mapping[str, float]
    scale: float
    none: float

    def knows(self, word: str) -> bool:
        """Whether a word in lower case, or another form of it, has a vector."""
        return stem(word) in self.places

    def of_request(self, tokens: Iterable[Token]) -> Vector:
        """Return the vector of a request, of length 1; of zeros if the model knows no word of it."""
        return _unit(self._sum(with_pairs(request_features(tokens))))

    def of_entry(self, entry: Entry) -> Vector:
        """Return the vector of an entry, of length 1; of zeros if the model knows no word of it."""
        name, description, inputs = entry_features(entry)
        fields = (with_pairs(name), with_pairs(description), inputs)
        rows = [
            [self.weights[field] * value for value in _unit(self._sum(found))]
            for field, found in zip(_FIELDS, fields, strict=True)
        ]
        return _unit(list(map(sum, zip(*rows, strict=True))))

    def _sum(self, features: Iterable[str]) -> list[float]:
        places = [place for feature in features if (place := self.places.get(feature)) is not None]
        if not places:
            return [0.0] * self.size
        size, scales, vectors = self.size, self.scales, self.vectors
        rows = [[scales[place] * value for value in vectors[place * size : (place + 1) * size]] for place in places]
        return list(map(sum, zip(*rows, strict=True)))

    def shares(self, similarities: Sequence[float]) -> list[float]:
        """Return the probability of each entry by its similarity to a request; what is left to 1 is that of no entry."""
        highest = max([self.none, *(self.scale * value for value in similarities)])
        powers = [math.exp(self.scale * value - highest) for value in similarities]
        whole = sum(powers) + math.exp(self.none - highest)
        return [power / whole for power in powers]


def similarity(first: Vector, second: Vector) -> float:
    """Return the cosine of two vectors of length 1, -1 to 1."""
    found: float = sum(map(mul, first, second))
    return found


def _unit(vector: list[float]) -> list[float]:
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
