"""The index of the ranker ``lexical``: the word index, and what values, parameters and the language of a request say."""

from __future__ import annotations

from collections.abc import KeysView, Sequence
from functools import cached_property, lru_cache
from typing import Final

import attrs

from helmdeck_core import Catalog, RankIndex, Ranking
from helmdeck_language import CatalogLanguages, Reading, Translation, Translator, word_terms
from helmdeck_selection.lexical.scores.companions import Companions
from helmdeck_selection.lexical.scores.meanings import MAX_ENTRIES, Meanings
from helmdeck_selection.lexical.scores.opposites import Opposites
from helmdeck_selection.lexical.scores.questions import Questions, is_asking
from helmdeck_selection.lexical.scores.servers import Servers
from helmdeck_selection.lexical.scores.value_hints import value_terms
from helmdeck_selection.lexical.scores.word_scores import LexicalIndex
from helmdeck_selection.lexical.weights import MEANING

UNKNOWN_LANGUAGE: Final = "lexical.unknown_language"
"""The label of a ranking whose request is in a language that the catalog does not use."""
TRANSLATED: Final = "lexical.translated"
"""The start of the label of a ranking whose request was translated word by word; the code of its language follows."""
# The share of the weight of the meaning beside a ranker that adds similarities of its own.
_BESIDE_OTHERS: Final = 0.5
_MAX_CACHED_WORDS: Final = 10_000


class CatalogIndex(RankIndex):
    """The index of one catalog. Thread-safe.

    :param cache: whether the word index of a large catalog is kept on disk.
    :param words: a file or folder of word lists beside those of the package.
    :param meaning: the weight of the similarity of meaning; 0 reads no model.
    :param weights: those of ``LexicalIndex``.
    """

    def __init__(
        self, catalog: Catalog, *, cache: bool = True, words: str = "", meaning: float = MEANING, **weights: float
    ) -> None:
        self._index = LexicalIndex(catalog, stored=cache, words=words, **weights)
        self._entries = catalog.entries
        self._opposites = Opposites(catalog.entries)
        self._questions = Questions(catalog.entries)
        self._companions = Companions(catalog.entries, self._index.containing)
        self._servers = Servers(catalog.entries, self._index.impacts)
        terms = self._index.impacts.keys()
        self._lacks = lru_cache(_MAX_CACHED_WORDS)(lambda word: _lacking(word_terms(word), terms))
        self._meanings: Meanings | None = None
        if meaning > 0 and 0 < len(catalog.entries) <= MAX_ENTRIES:
            english = self._translator.english_words if self._translator.native else None
            self._meanings = Meanings(catalog.entries, meaning, english)

    @cached_property
    def _languages(self) -> CatalogLanguages:
        return CatalogLanguages.of(self._entries, self._index.lexicon.languages)

    @cached_property
    def _translator(self) -> Translator:
        containing = self._index.containing
        return Translator(self._index.lexicon, self._languages, lambda term: bool(containing(term)))

    def rank(self, request: str) -> Ranking:
        """Rank the catalog for a request.

        A ranking for a request in a language that the catalog does not use is not reliable: what matches are names, numbers
        and coincidences.
        """
        return self.with_related(*self._rank(request, 1.0))

    def rank_words(self, request: str) -> tuple[Ranking, str]:
        """Rank the catalog without related entries, for a ranker that adds scores of its own.

        :returns: the ranking, and the request without documents.
        """
        return self._rank(request, _BESIDE_OTHERS)

    def _rank(self, request: str, share: float) -> tuple[Ranking, str]:
        reading = self._index.read(request)
        english = translation = self._translator.translate(reading)
        if translation:
            reading = translation.reading
        else:
            reading, english = self._translator.relate(reading)
        asking = "\n".join(reading.asking) or request
        if terms := value_terms(asking):
            reading = attrs.evolve(reading, weights={**terms, **reading.weights})
        named = english.words if english else reading.asking_words
        ranking = self._with_meanings(self._index.rank_reading(reading), asking, reading, english, share)
        ranking = self._opposites.add(ranking, named)
        if is_asking(asking, reading.asking_words, english):
            ranking = self._questions.add(ranking)
        if translation or self._languages.lack(asking):
            notes = [UNKNOWN_LANGUAGE, *([f"{TRANSLATED}.{translation.language}"] if translation else [])]
            ranking = attrs.evolve(
                ranking,
                clause_best=(),
                clause_confidence=(),
                notes=(*ranking.notes, *notes),
                is_reliable=False,
            )
        return ranking, asking

    def _with_meanings(
        self, ranking: Ranking, asking: str, reading: Reading, english: Translation | None, share: float
    ) -> Ranking:
        if self._meanings is None:
            return ranking
        words = reading.asking_words
        lacking = sum(map(self._lacks, words)) / len(words) if words else 1.0
        translated = [clause.terms for clause in english.reading.clauses] if english else ()
        return self._meanings.add(ranking, asking, lacking, translated=translated, share=share)

    def with_related(self, ranking: Ranking, request: str) -> Ranking:
        """Return a ranking in which entries of the same server and look-ups of the best entries are lifted.

        :param ranking: by the words of the request, and what a ranker that is built on this one adds.
        :param request: without documents.
        """
        return self._companions.add(self._servers.add(ranking), request)


def _lacking(found: Sequence[str], terms: KeysView[str]) -> float:
    """The share of the terms of a word that are not in the catalog: 0 or 1, except for text without spaces."""
    return sum([term not in terms for term in found]) / len(found) if found else 1.0
