"""What people say for a tool: entries that are close in meaning to a clause of the request, whatever their words.

"Where did my parcel get to" shares no word with ``track_shipment``. The two-tower model of ``helmdeck_selection.meaning`` compares both; what it
finds is added to the scores of the words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from operator import mul
from typing import Final

import attrs

from helmdeck_core import Entry, LazyScores, Ranking
from helmdeck_selection.meaning.catalog_vectors import CatalogVectors
from helmdeck_selection.meaning.features import English, text_features
from helmdeck_selection.meaning.model import Vector, meaning_model, unit

# Standard deviations of a similarity that are worth as much as the best score, at a weight of 1.
_DEVIATIONS: Final = 6.0
# Standard deviations that a probability of 1 adds, and the power of it that counts. The closest entry of a catalog in which many are
# similar is hardly further from the mean than others, and yet more probable.
_PROBABLE, _POWER = 1.5, 0.3
# A request that shares all words with the catalog gets this part of the weight; one that shares none as much more as one deviation.
_LEAST: Final = 0.5
# Entries with a lower cosine are not close; the second one holds where no word of the request is found.
_CLOSE, _CLOSE_ALONE = 0.0, 0.4
# Standard deviations below this are rounding.
_SAME: Final = 1e-6
# Requests of up to this number of clauses get all of the weight, those of so many none: each clause has entries that are close by chance, and
# a request of many steps needs all places for those that its words name.
_FEW_CLAUSES, _MANY_CLAUSES = 3, 5
# The share of the whole request in the vector of one of several clauses, and in that of a part of a clause: "send it to Ada" is about the
# invoice of the clause before.
_WHOLE, _WHOLE_OF_PART = 0.5, 1.0
# Where a clause is split into parts, which may need an entry each, the features of the smallest one, and the parts of a request that are read:
# a list of names has many.
_BREAK: Final = re.compile(r"[,;:]|\s[–-]\s|\b(?:and|then|but|or|if|so|because|with|for)\b", re.IGNORECASE)
_MIN_FEATURES: Final = 2
_MAX_PARTS: Final = 16
# Characters of a clause that are read.
_MAX_CHARS: Final = 2_000
# Words before the similarity in an explanation.
_SHOWN_WORDS: Final = 2
LABEL: Final = "meaning"
MAX_ENTRIES: Final = 1_000
"""Larger catalogs are ranked by words alone: at 3,000 tools, the meaning of the best entries by words brought nothing."""


class Meanings:
    """The vectors of the entries of a catalog. Thread-safe.

    :param weight: of a similarity beside the words.
    :param english: returns the English words of a text of the catalog; ``None`` for an English one.
    """

    def __init__(self, entries: Sequence[Entry], weight: float, english: English | None = None) -> None:
        self._model, self._weight = meaning_model(), weight
        self._vectors = CatalogVectors(entries, self._model, english)

    def add(
        self,
        ranking: Ranking,
        request: str,
        lacking: float,
        *,
        translated: Sequence[Sequence[str]] = (),
        share: float = 1.0,
    ) -> Ranking:
        """Return a ranking in which entries that are close to a clause, or to a part of one, are lifted.

        Each one counts as if it were alone, so an entry that is close to one clause is found beside those of the others.

        :param request: without its document; read if the ranking has no clauses.
        :param lacking: the share of the words of the request that the catalog lacks, 0 to 1.
        :param translated: the English terms of the clauses of a request in another language.
        :param share: of the weight.
        """
        found = ranking.scores
        texts = list(dict.fromkeys(filter(None, map(str.strip, ranking.clauses)))) or [request]
        fewness = min(1.0, (_MANY_CLAUSES - len(translated or texts)) / (_MANY_CLAUSES - _FEW_CLAUSES))
        if not isinstance(found, LazyScores) or fewness <= 0:
            return ranking
        clauses = translated or [text_features(text[:_MAX_CHARS]) for text in texts]
        parts = (
            ()
            if translated
            else [*islice(chain.from_iterable(_parts(text[:_MAX_CHARS]) for text in texts), _MAX_PARTS)]
        )
        close = self._close(clauses, parts, 1.0 - lacking, _CLOSE if found.matches else _CLOSE_ALONE)
        if not close:
            return ranking
        best = max(found.matches.values(), default=1.0)
        worth = best * share * fewness * self._weight * (_LEAST + lacking) / _DEVIATIONS
        gains = {place: worth * gain for place, (gain, _) in close.items()}

        def label(index: int, words: tuple[str, ...]) -> tuple[str, ...]:
            # Among the labels that a table shows, the first one if it counts more than the words.
            at = 0 if gains[index] > found.matches.get(index, 0.0) else min(_SHOWN_WORDS, len(words))
            return (*words[:at], f"{LABEL}:{close[index][1]:.2f}", *words[at:])

        return attrs.evolve(ranking, scores=found.raised(gains, label))

    def _close(
        self, clauses: Sequence[Sequence[str]], parts: Sequence[Sequence[str]], weak: float, lowest: float
    ) -> dict[int, tuple[float, float]]:
        """Return the entries that are close to a clause or a part, each with its highest gain, in standard deviations, and the cosine.

        :param weak: standard deviations that count nothing.
        :param lowest: cosine.
        """
        vectors = [self._model.of_features(clause) for clause in clauses]
        whole = unit(list(map(sum, zip(*vectors, strict=True))))
        if len(vectors) > 1:
            vectors = [_in_context(vector, whole, _WHOLE) for vector in vectors]
        vectors += [_in_context(self._model.of_features(part), whole, _WHOLE_OF_PART) for part in parts]
        found: dict[int, tuple[float, float]] = {}
        for text, vector in zip([*clauses, *parts], vectors, strict=True):
            if not any(vector) or not (known := self._model.known_share(text)):
                continue
            cosines = self._vectors.similarities(vector)
            mean = sum(cosines) / len(cosines)
            deviation = math.sqrt(max(0.0, sum(map(mul, cosines, cosines)) / len(cosines) - mean * mean))
            if deviation < _SAME:
                continue
            least = max(lowest, mean + weak * deviation)
            near = [(place, cosine) for place, cosine in enumerate(cosines) if cosine > least]
            chances = self._model.shares([cosine for _, cosine in near])
            for (place, cosine), chance in zip(near, chances, strict=True):
                gain = known * ((cosine - mean) / deviation - weak + _PROBABLE * chance**_POWER)
                if gain > 0 and (place not in found or gain > found[place][0]):
                    found[place] = gain, cosine
        return found


def _parts(clause: str) -> Iterator[Sequence[str]]:
    """Yield the features of the parts of a clause; nothing if it has one part."""
    parts = _BREAK.split(clause)
    for part in parts if len(parts) > 1 else ():
        features = text_features(part)
        if len(features) >= _MIN_FEATURES:
            yield features


def _in_context(vector: Vector, whole: Vector, share: float) -> Vector:
    """Return the vector of a clause with a share of that of the whole request."""
    return unit([own + share * value for own, value in zip(vector, whole, strict=True)])
