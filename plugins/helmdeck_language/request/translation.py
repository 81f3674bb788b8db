"""Translates the words of a request into the language of a catalog: English.

No grammar and no sentences: verbs and nouns of what tools do, by their stems. A request keeps its other words, such as names. What a
language file contains is described in ``docs/how-to/tune-the-ranking.md``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain
from typing import Final

import attrs

from helmdeck_language.languages import ENGLISH
from helmdeck_language.languages.detection import CatalogLanguages, everyday_words, letters_by_script, without_values
from helmdeck_language.meanings.lexicon import Lexicon
from helmdeck_language.meanings.vocabulary import Vocabulary
from helmdeck_language.request.reading import Clause, Reading
from helmdeck_language.text.terms import word_terms, words

# Words of a request by which its language is found.
_MOST_WORDS: Final = 120
# The share of the words of a request that its language knows; fewer are names and paths.
_MIN_SHARE: Final = 0.25
# Of more words, a single known one beside an English one is a name: "restaurant reservation Lucia".
_MOST_BESIDE_ONE: Final = 2
# Size limit of the cache of words.
_MOST_CACHED: Final = 20_000
_LONGEST_CACHED: Final = 64
# The weight of what a phrase stands for, and that of its own words, which mean something else alone.
_PHRASE: Final = 0.8
_OF_PHRASE: Final = 0.5
# The weight of the English words of a request over a catalog in its own language.
_ENGLISH: Final = 0.3
_LATIN: Final = frozenset({"Latin"})
_HAN: Final = frozenset({"Han"})


@attrs.frozen
class Translation:
    """A request with English words.

    :ivar language: the code of the language of the request.
    :ivar words: the English words, those included that are no search terms.
    :ivar share: how many of the words that are no function words were translated, 0 to 1.
    """

    reading: Reading
    language: str
    words: frozenset[str]
    share: float


class Translator:
    """Translates requests that are not in a language of a catalog.

    :param lexicon: what words mean.
    :param catalog: the languages of the catalog; nothing is translated unless English is one of them.
    :param contains: whether a term is in the catalog.
    """

    def __init__(self, lexicon: Lexicon, catalog: CatalogLanguages, contains: Callable[[str], bool]) -> None:
        self._lexicon, self._catalog, self._contains = lexicon, catalog, contains
        self._english = everyday_words().by_language[ENGLISH.code]

    @cached_property
    def _vocabularies(self) -> Sequence[Vocabulary]:
        """Those of languages that the catalog does not use."""
        own = self._catalog
        if ENGLISH.code not in own.languages:
            return ()
        every = self._lexicon.vocabularies
        return [each for each in every if each.code not in own.languages and not own.uses_script(each.sample)]

    @cached_property
    def _votes(self) -> _Votes:
        return _Votes(self._vocabularies)

    def translate(self, reading: Reading) -> Translation | None:
        """Return a request with English words; ``None`` if it is not in one of the languages."""
        shown = reading.asking_words[:_MOST_WORDS]
        if not self._may_be_foreign(shown):
            return None
        asking = "\n".join(reading.asking)
        plain = without_values(asking)
        vocabulary = self._detect(shown if plain is asking else words(plain)[:_MOST_WORDS])
        if vocabulary is None:
            return None
        return _translated(reading, vocabulary)

    @cached_property
    def native(self) -> Sequence[Vocabulary]:
        """Those of the languages of the catalog, except for English."""
        own = self._catalog
        wrong = "zh" if "Kana" in own.scripts else "ja"
        return [
            each
            for each in self._lexicon.vocabularies
            if each.code != wrong and (own.uses_script(each.sample) or each.code in own.languages)
        ]

    def english_words(self, text: str) -> list[str]:
        """Return the English words of a text of the catalog, in order; none if it is in English."""
        found = words(text)[:_MOST_WORDS]
        vocabulary = self._own(found)
        every = (english for _, english in vocabulary.english(found)) if vocabulary else ()
        return list(dict.fromkeys(chain.from_iterable(every)))

    def _own(self, found: Sequence[str]) -> Vocabulary | None:
        """Return the language of the catalog that knows most of these words; in a Latin script, if it knows more than English."""
        known = {each: sum(map(each.knows, found)) for each in self.native}
        best = max(known, key=known.__getitem__, default=None)
        if best is None or not known[best]:
            return None
        if "Latin" in _scripts(best.sample) and known[best] <= sum(map(self._english.__contains__, found)):
            return None
        return best

    def relate(self, reading: Reading) -> tuple[Reading, Translation | None]:
        """Return a request with words that a catalog in its own language may use for those of the request.

        :returns: the request with further words, and with English ones instead; ``None`` if it is in English or in no language of the catalog.
        """
        asking = reading.asking_words[:_MOST_WORDS]
        own = self._own(asking)
        english = _translated(reading, own) if own else None
        if own and "Latin" in _scripts(own.sample):  # in other scripts, a pair of letters is a search term
            reading = _without(reading, own.function_words)
        weights: dict[str, float] = {}
        for term, weight in english.reading.weights.items() if english else ():
            if term not in reading.weights and self._contains(term):
                weights[term] = _ENGLISH * weight
        for vocabulary in self.native:
            for word, weight in vocabulary.related(asking).items():
                for term in word_terms(word):
                    if term not in reading.weights and self._contains(term):
                        weights[term] = max(weight, weights.get(term, 0.0))
        if ENGLISH.code in self._catalog.languages:
            reading = self._with_phrases(reading)
        return (attrs.evolve(reading, weights={**reading.weights, **weights}) if weights else reading), english

    def _with_phrases(self, reading: Reading) -> Reading:
        """Return a request with what its English phrases stand for."""
        phrases = self._lexicon.phrases
        matching = [phrases.matches(words(clause.text)[:_MOST_WORDS]) for clause in reading.clauses]
        if not any(matching):
            return reading
        weights = dict(reading.weights)
        clauses = list[Clause]()
        for clause, matches in zip(reading.clauses, matching, strict=True):
            clauses.append(clause)
            if not matches:
                continue
            found: dict[str, float] = {}
            for term, weight in chain.from_iterable(match.terms.items() for match in matches):
                if self._contains(term):
                    found[term] = max(found.get(term, 0.0), _PHRASE * weight)
            for term in {
                term for match in matches for word in match.words for term in word_terms(word)
            } & weights.keys():
                weights[term] = min(weights[term], _OF_PHRASE)
            for term, weight in found.items():
                weights[term] = max(weights.get(term, 0.0), weight)
            clauses[-1] = attrs.evolve(clause, terms=tuple(dict.fromkeys([*clause.terms, *found])))
        return attrs.evolve(reading, weights=weights, clauses=tuple(clauses))

    @cached_property
    def _only_english(self) -> frozenset[str]:
        """English words that are function words of no other language in this script."""
        latin = [each for each in self._vocabularies if "Latin" in _scripts(each.sample)]
        return self._english.difference(*(each.function_words for each in latin))

    def _may_be_foreign(self, asking: Sequence[str]) -> bool:
        """Whether less than half of the words are English, and others enough are known; decides nearly always, and fast."""
        english = self._english
        if 2 * sum(map(english.__contains__, asking)) >= len(asking):
            return False
        votes = self._votes
        known = sum([word not in english and votes[word] != () for word in asking])
        return _is_enough(known, asking) and known > sum(map(self._only_english.__contains__, asking))

    def _detect(self, asking: Sequence[str]) -> Vocabulary | None:
        """Return the language with the most known words, if it has more than English and the catalog."""
        english = [word for word in asking if word in self._english]
        unknown = [word for word in asking if word not in self._english]
        count = Counter(chain.from_iterable(map(self._votes.__getitem__, unknown)))
        most = max(count.values(), default=0)
        if not _is_enough(most, asking):
            return None
        if most == 1 and len(asking) > _MOST_BESIDE_ONE and not self._lexicon.known_words.isdisjoint(asking):
            return None
        leading = [self._vocabularies[place] for place in sorted(count) if count[place] == most]
        # Russian and Ukrainian share a script, by which each word counts for both.
        best = max(leading, key=lambda each: (sum(map(each.knows, asking)), sum(map(each.contains, asking))))
        shared = [word for word in unknown if all(map(self._contains, word_terms(word)))]
        # "in" and "me" are words of several languages: they say nothing.
        own = sum([word not in best.function_words for word in (*english, *shared)])
        return best if most > own else None


def _is_enough(known: int, asking: Sequence[str]) -> bool:
    """Whether so many known words may show the language of a request."""
    return known > 0 and known >= _MIN_SHARE * len(asking)


class _Votes(dict[str, tuple[int, ...]]):
    """The places of the vocabularies that know a word, computed at the first use."""

    def __init__(self, vocabularies: Sequence[Vocabulary]) -> None:
        self._vocabularies = vocabularies
        self._scripts = [_scripts(each.sample) for each in vocabularies]

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(self) >= _MOST_CACHED:
            self.clear()
        scripts = _scripts(word)
        wrong = "zh" if "Kana" in scripts else "ja"
        found = tuple([
            place
            for place, each in enumerate(self._vocabularies)
            if each.code != wrong
            and not scripts.isdisjoint(self._scripts[place])
            and ("Latin" not in scripts or word in each.function_words or each.is_own(word))
        ])  # fmt: skip
        if len(word) <= _LONGEST_CACHED:
            self[word] = found
        return found


def _scripts(word: str) -> frozenset[str]:
    """Return the scripts of a word that show its language; Japanese is written in two."""
    found = frozenset(letters_by_script(word))
    if len(found) > 1:
        found -= _LATIN  # the particle of a name: "Wi-Fiを"
    return found | _HAN if "Kana" in found else found


def _translated(reading: Reading, vocabulary: Vocabulary) -> Translation | None:
    """Return a request with the English words of a vocabulary; ``None`` if it has none of its words."""
    foreign, every = set[str](), set[str]()
    weights: dict[str, float] = {}
    clauses = list[Clause]()
    known = content = 0
    for clause in reading.clauses:
        own: dict[str, float] = {}
        for word, english in vocabulary.english(words(clause.text)):
            terms = word_terms(word)
            if english:
                foreign.update(terms)
                every.update(english)
                for each, weight in english.items():
                    for term in word_terms(each):
                        own[term] = max(own.get(term, 0.0), weight)
            elif word in vocabulary.function_words:
                foreign.update(terms)
                continue
            else:
                own |= dict.fromkeys(terms, 1.0)
            known, content = known + bool(english), content + 1
        clauses.append(attrs.evolve(clause, terms=tuple(own)))
        for term, weight in own.items():
            weights[term] = max(weight, weights.get(term, 0.0))
    if not known:
        return None
    others = {term: weight for term, weight in reading.weights.items() if term not in foreign}
    found = attrs.evolve(reading, weights={**others, **weights}, clauses=tuple(clauses))
    return Translation(found, vocabulary.code, frozenset(every), known / content)


def _without(reading: Reading, function_words: frozenset[str]) -> Reading:
    """Return a request without the terms of function words, unless it has no others."""
    found = function_words.intersection(reading.asking_words)
    stop_terms = reading.weights.keys() & chain.from_iterable(map(word_terms, found))
    if not stop_terms or len(stop_terms) == len(reading.weights):
        return reading
    weights = {term: weight for term, weight in reading.weights.items() if term not in stop_terms}
    clauses = [
        attrs.evolve(each, terms=tuple([term for term in each.terms if term not in stop_terms]))
        for each in reading.clauses
    ]
    return attrs.evolve(reading, weights=weights, clauses=tuple(clauses))
