"""The index of the ranker ``lexical``: the word index, and what values, parameters and the language of a request say."""

from __future__ import annotations

from functools import cached_property
from typing import Final

import attrs

from helmdeck_core import Catalog, RankIndex, Ranking
from helmdeck_language import CatalogLanguages, Translator
from helmdeck_selection.lexical.scores.companions import Companions
from helmdeck_selection.lexical.scores.opposites import Opposites
from helmdeck_selection.lexical.scores.questions import Questions, is_asking
from helmdeck_selection.lexical.scores.servers import Servers
from helmdeck_selection.lexical.scores.value_hints import value_terms
from helmdeck_selection.lexical.scores.word_scores import LexicalIndex

UNKNOWN_LANGUAGE: Final = "lexical.unknown_language"
"""The label of a ranking whose request is in a language that the catalog does not use."""
TRANSLATED: Final = "lexical.translated"
"""The start of the label of a ranking whose request was translated word by word; the code of its language follows."""


class CatalogIndex(RankIndex):
    """The index of one catalog. Thread-safe.

    :param cache: whether the word index of a large catalog is kept on disk.
    :param words: a file or folder of word lists beside those of the package.
    :param weights: those of ``LexicalIndex``.
    """

    def __init__(self, catalog: Catalog, *, cache: bool = True, words: str = "", **weights: float) -> None:
        self._index = LexicalIndex(catalog, stored=cache, words=words, **weights)
        self._entries = catalog.entries
        self._opposites = Opposites(catalog.entries)
        self._questions = Questions(catalog.entries)
        self._companions = Companions(catalog.entries, self._index.containing)
        self._servers = Servers(catalog.entries, self._index.impacts)

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
        ranking, asking = self.rank_words(request)
        return self.with_related(ranking, asking)

    def rank_words(self, request: str) -> tuple[Ranking, str]:
        """Rank the catalog by the words of a request alone, for a ranker that adds scores of its own.

        :returns: the ranking, and the request without documents.
        """
        reading = self._index.read(request)
        if translation := self._translator.translate(reading):
            reading = translation.reading
        else:
            reading = self._translator.relate(reading)
        asking = "\n".join(reading.asking) or request
        if terms := value_terms(asking):
            reading = attrs.evolve(reading, weights={**terms, **reading.weights})
        named = translation.words if translation else reading.asking_words
        ranking = self._opposites.add(self._index.rank_reading(reading), named)
        if is_asking(asking, reading.asking_words, translation):
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

    def with_related(self, ranking: Ranking, request: str) -> Ranking:
        """Return a ranking in which entries of the same server and look-ups of the best entries are lifted.

        :param ranking: by the words of the request, and what a ranker that is built on this one adds.
        :param request: without documents.
        """
        return self._companions.add(self._servers.add(ranking), request)
