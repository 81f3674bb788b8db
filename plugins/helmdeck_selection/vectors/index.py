"""The index of the vector ranker: similarities of meaning, added to the scores of another ranker."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, runtime_checkable

import attrs
import numpy as np

from helmdeck_core import Catalog, EntryIds, LazyScores, RankIndex, Ranking
from helmdeck_core.log import logger
from helmdeck_selection.vectors.blas import one_thread
from helmdeck_selection.vectors.sources import EmbeddingFailed, EmbeddingSource
from helmdeck_selection.vectors.store import VectorStore, text_key
from helmdeck_selection.vectors.texts import entry_texts, known_share, vocabulary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helmdeck_selection.vectors.sources import Vectors

T = TypeVar("T")

# Standard deviations of a similarity that are worth as much as the best lexical score, at a weight of 1.
_DEVIATIONS: Final = 6.0
# Standard deviations that are worth nothing where the catalog contains the words of a request: entries that are only a little closer
# than others displace those that words find.
_WEAK: Final = 1.5
# From this confidence on, what words rank first stays first, with this lead.
_SURE: Final = 0.3
_LEAD: Final = 1e-3
# Entries that only their vectors bring into a ranking.
_MOST: Final = 256
# Clauses of a request that get a vector of their own, and the characters of a text that are read.
_MAX_CLAUSES: Final = 12
_MAX_CHARS: Final = 2_000
# From this share of known words on a request is in the language of the catalog; below the other one it is not.
_KNOWN, _UNKNOWN = 0.8, 0.2
# Requests whose vectors are kept: a dry run, a retry and a fallback rank the same request again.
_MAX_REQUESTS: Final = 128
# Seconds without another attempt after a source failed, so that not every request waits for its timeout.
_RETRY_AFTER_S: Final = 30.0
# Words before the similarity in an explanation.
_SHOWN_WORDS: Final = 2
UNAVAILABLE: Final = "vectors.unavailable"


@runtime_checkable
class _WithRelated(Protocol):
    """An index that ranks by words first, and then lifts related entries, also in rankings of others."""

    def rank_words(self, request: str) -> tuple[Ranking, str]: ...

    def with_related(self, ranking: Ranking, request: str) -> Ranking: ...


class VectorIndex:
    """The index of one catalog. Thread-safe.

    :param base: the index whose scores are combined with those of the vectors.
    :param store: the cache on disk; ``None`` for none.
    :param weight: weight of the vectors where the catalog contains the words of a request.
    :param foreign_weight: the same where it contains none.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        base: RankIndex,
        source: EmbeddingSource,
        store: VectorStore | None,
        weight: float,
        foreign_weight: float,
    ) -> None:
        self._entries = catalog.entries
        self._ids = EntryIds(entry.id for entry in catalog.entries)
        self._base, self._source, self._store = base, source, store
        self._weights = (weight, foreign_weight)
        self._texts = [entry_texts(entry) for entry in catalog.entries]
        self._known = vocabulary(self._texts)
        self._lock = threading.Lock()
        self._matrix: _Matrix | None = None
        self._requests: dict[tuple[str, ...], Vectors] = {}
        self._retry_s = 0.0
        self._try(self._embedded_catalog)

    def rank(self, request: str) -> Ranking:
        """Rank the catalog for a request; by the base ranker alone while the source is not available."""
        if not self._entries:
            return self._base.rank(request)
        ranking, related = self._by_words(request)
        texts = _texts(request, ranking)
        similarities = self._try(lambda: self._embedded_catalog().similarities(self._embedded_request(texts)))
        if similarities is None:
            return related(attrs.evolve(ranking, notes=(*ranking.notes, UNAVAILABLE)))
        return related(self._combined(ranking, similarities, self._foreign(" ".join(texts), ranking)))

    def _by_words(self, request: str) -> tuple[Ranking, Callable[[Ranking], Ranking]]:
        """The ranking of the base by words alone, and what lifts the related entries afterwards."""
        base = self._base
        if not isinstance(base, _WithRelated):
            return base.rank(request), lambda ranking: ranking
        ranking, asking = base.rank_words(request)
        return ranking, lambda combined: base.with_related(combined, asking)

    # -- combining ----------------------------------------------------------------------------------------

    def _foreign(self, text: str, ranking: Ranking) -> float:
        """How foreign the words of a request are to the catalog: 0 where it contains them, 1 where it contains none."""
        if not ranking.is_reliable:
            return 1.0
        unknown = (_KNOWN - known_share(text, self._known)) / (_KNOWN - _UNKNOWN)
        return min(1.0, max(0.0, unknown))

    def _combined(self, ranking: Ranking, similarities: _Similarities, foreign: float) -> Ranking:
        near_weight, far_weight = self._weights
        weight = near_weight + (far_weight - near_weight) * foreign
        found = ranking.scores
        lexical = found.matches if isinstance(found, LazyScores) else dict(ranking.leading(len(self._entries)))
        best = max(lexical.values(), default=0.0)
        lift = np.maximum(similarities.deviations - _WEAK * (1.0 - foreign), 0.0) * (weight / _DEVIATIONS)
        # Not of the lifts, most of which are 0: NumPy takes ten times as long for equal numbers.
        near = np.argpartition(-similarities.deviations, min(_MOST, len(lift)) - 1)[:_MOST]
        scores = dict.fromkeys(near.tolist(), 0.0)
        if best:
            scores |= {index: score / best for index, score in lexical.items()}
        raised = zip(scores, scores.values(), lift[list(scores)].tolist(), strict=True)
        scores = {index: total for index, score, more in raised if (total := score + more) > 0}
        for first, _ in ranking.leading(1) if ranking.is_confident(_SURE) else ():
            if scores[first] < (most := max(scores.values())):
                scores[first] = (1 + _LEAD) * most
        matched = found.matched if isinstance(found, LazyScores) else _matched_of(ranking)

        def explain(index: int) -> tuple[str, ...]:
            words = matched(index)
            # Among the labels that a table shows, the first one if it counts more than the words.
            place = 0 if 2 * lift[index] > scores[index] else min(_SHOWN_WORDS, len(words))
            return (*words[:place], f"vectors:{similarities.cosines[index]:.2f}", *words[place:])

        return attrs.evolve(
            ranking,
            scores=LazyScores(self._ids, scores, explain),
            # Entries that match single clauses by words in another language are coincidences.
            clause_best=ranking.clause_best if ranking.is_reliable else (),
            is_reliable=True,
        )

    # -- vectors ------------------------------------------------------------------------------------------

    def _try(self, work: Callable[[], T]) -> T | None:
        """Return what ``work`` returns; ``None`` while the source fails."""
        if time.monotonic() < self._retry_s:
            return None
        try:
            return work()
        except EmbeddingFailed as exc:
            self._retry_s = time.monotonic() + _RETRY_AFTER_S
            logger().bind(source=self._source.name, retry_after_s=_RETRY_AFTER_S, error=str(exc)).warning(
                "no vectors, entries are ranked by words alone"
            )
            return None

    def _embedded_catalog(self) -> _Matrix:
        with self._lock:
            if self._matrix is None:
                self._matrix = _Matrix(self._catalog_vectors())
            return self._matrix

    def _catalog_vectors(self) -> Vectors:
        texts = self._texts
        keys = [[text_key(text) for text in each] for each in texts]
        known: dict[bytes, NDArray[Any]] = self._store.load(self._source.name) if self._store is not None else {}
        missing = {
            key: text
            for row, each in zip(keys, texts, strict=True)
            for key, text in zip(row, each, strict=True)
            if key not in known
        }
        if missing:
            embedded = _unit(self._source.embed(list(missing.values())))
            if known and len(next(iter(known.values()))) != embedded.shape[1]:
                raise EmbeddingFailed(f"vectors of {embedded.shape[1]} numbers, cached ones have another length")
            known = {**known, **dict(zip(missing, embedded.astype(np.float16), strict=True))}
            if self._store is not None:
                self._store.save(self._source.name, known, [key for row in keys for key in row])
        # float16 everywhere, so that a ranking does not depend on whether the vectors were cached.
        rows = [np.mean([known[key].astype(np.float32) for key in row], axis=0) for row in keys]
        return np.stack(rows) if rows else np.zeros((0, 1), np.float32)

    def _embedded_request(self, texts: tuple[str, ...]) -> Vectors:
        found = self._requests.get(texts)
        if found is None:
            found = _unit(self._source.embed(texts))
            with self._lock:
                if len(self._requests) >= _MAX_REQUESTS:
                    self._requests.pop(next(iter(self._requests)))
                self._requests[texts] = found
        return found


@attrs.frozen
class _Similarities:
    """Similarities of a request to every entry.

    :ivar deviations: of the closest part of the request, in standard deviations from the mean of the catalog.
    :ivar cosines: of the closest part of the request.
    """

    deviations: NDArray[Any]
    cosines: NDArray[Any]


class _Matrix:
    """The vectors of a catalog, centred: what all its entries share says nothing about one of them."""

    def __init__(self, vectors: Vectors) -> None:
        self._centre = vectors.mean(axis=0) if len(vectors) > 1 else np.zeros(vectors.shape[1], np.float32)
        # A column per entry: with several parts, the product takes half as long as with a row per entry.
        self._columns = np.ascontiguousarray(_unit(vectors - self._centre).T)

    def similarities(self, parts: Vectors) -> _Similarities:
        if parts.shape[1] != self._columns.shape[0]:
            raise EmbeddingFailed(f"vectors of {parts.shape[1]} numbers, the catalog has {self._columns.shape[0]}")
        with one_thread():
            cosines = parts @ self._columns
        spread = np.maximum(cosines.std(axis=1, keepdims=True), 1e-6)
        deviations = (cosines - cosines.mean(axis=1, keepdims=True)) / spread
        return _Similarities(deviations.max(axis=0), cosines.max(axis=0))


def _unit(vectors: Vectors) -> Vectors:
    if vectors.ndim != 2 or not np.isfinite(vectors).all():
        raise EmbeddingFailed("not a table of finite numbers")
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Vectors = vectors / np.maximum(norms, 1e-9)
    return unit


def _texts(request: str, ranking: Ranking) -> tuple[str, ...]:
    """The clauses of the request without its document, as far as the base ranker separates them; else all of it.

    A further vector of all clauses together would take as long as theirs and changes no figure of the benchmark.
    """
    clauses = tuple(dict.fromkeys(text.strip()[:_MAX_CHARS] for text in ranking.clauses if text.strip()))
    return clauses[:_MAX_CLAUSES] or (request.strip()[:_MAX_CHARS] or " ",)


def _matched_of(ranking: Ranking) -> Any:
    matched = {score.index: score.matched for score in ranking.scores}
    return lambda index: matched.get(index, ())
