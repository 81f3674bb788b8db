"""The lexical ranker: BM25 over a catalog's full metadata, with keyword phrases, clause votes and supersedes.

A request touches the postings of its own terms only.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Final

from helmdeck_core import Catalog, LazyScores, Ranking, score_margin
from helmdeck_plugins.lexical.postings import BEGINNING, Phrase, build, spelt_out
from helmdeck_plugins.lexical.request import Clause, Reading, asked_terms, read
from helmdeck_plugins.lexical.similar import Spelling, spelling, spelt_alike
from helmdeck_plugins.lexical.text import word_terms
from helmdeck_plugins.lexical.weights import LEXICAL_WEIGHTS
from helmdeck_plugins.lexical.words import KINDS, SYNONYMS

# A synonym is a guess at what was meant, and a poorer one, by this much, where the catalog knows the word itself.
_BESIDE: Final = 0.75
# So is another form of a word that the catalog does not have; at most this many letters longer or shorter.
_RELATIVE: Final = 0.6
_RELATIVE_LETTERS: Final = 4
# A phrase counts as said when all of its words are there as they are: more than a guess, in a sentence that asks.
_SAID: Final = 0.75
# An entry that comes close to the best one of a clause earns nearly as much of its vote.
_CLOSE: Final = 0.6
# How far a pipeline goes ahead of the pack that it replaces, in parts of the pack's score.
_SUPERSEDES: Final = 0.1
# The smallest step that keeps one entry visibly ahead of another.
_AHEAD: Final = 1e-6
# A sentence of three terms finds something by chance; this many terms are added to the length it is judged by.
_CHANCE_TERMS: Final = 3
# Explanations are read by people.
_EXPLAINED_TERMS: Final = 8
# Entries that are looked at for one query before the best of them alone go on, and how many those are.
_TOUCHED: Final = 1_000
_SURVIVORS: Final = 128
# The same for a clause, which is there to name its best entries.
_TOUCHED_BY_CLAUSE: Final = 200
_SURVIVORS_OF_CLAUSE: Final = 48
# And for a sentence, of which only the best score is asked.
_TOUCHED_BY_SENTENCE: Final = 100
_SURVIVORS_OF_SENTENCE: Final = 32
# Terms whose expansions are kept; requests of any length must not fill the memory.
_REMEMBERED_TERMS: Final = 20_000


def _synonym_table() -> dict[str, tuple[str, ...]]:
    table: dict[str, dict[str, None]] = defaultdict(dict)
    for group in SYNONYMS:
        stems = list(dict.fromkeys(term for word in group for term in word_terms(word)))
        for term in stems:
            table[term].update(dict.fromkeys(other for other in stems if other != term))
    for kinds, cases in KINDS:
        wanted = [term for word in kinds.split() for term in word_terms(word)]
        for term in (term for word in cases.split() for term in word_terms(word)):
            table[term].update(dict.fromkeys(other for other in wanted if other != term))
    return {term: tuple(others) for term, others in table.items()}


_SYNONYMS_OF: Final = _synonym_table()


class LexicalIndex:
    """One catalog, ready to be ranked. Immutable once built; safe to share between threads.

    :param weights: what differs from ``LEXICAL_WEIGHTS``.
    """

    def __init__(self, catalog: Catalog, **weights: float) -> None:
        weights = {**LEXICAL_WEIGHTS, **weights}
        self.entries = catalog.entries
        self._clause_vote, self._synonym = weights["clause_vote"], weights["synonym"]
        self._postings = build(self.entries, weights)
        self._ids = [entry.id for entry in self.entries]
        self._by_id = sorted(range(len(self._ids)), key=self._ids.__getitem__)
        self._expansions: dict[str, tuple[tuple[str, float], ...]] = {}
        self._fields = cache(self._postings.fields_of)

    # -- what the ranker gives ----------------------------------------------------------------------------

    def rank(self, request: str) -> Ranking:
        """Order the catalog for one request."""
        return self.rank_reading(self.read(request))

    def read(self, request: str) -> Reading:
        """Tell the request from a pasted document, with the catalog's help."""
        return read(request, self._postings.verbs, self._relevance)

    def rank_reading(self, reading: Reading) -> Ranking:
        """Order the catalog for a request that was read before."""
        query = self._expand(reading.weights)
        scores = self._accumulate(query, _TOUCHED, _SURVIVORS)
        asking = spelt_out(reading.asking_words)
        said = self._said_phrases(query, asking)
        _reward(scores, said)
        best, confidence = self._vote(reading.clauses, scores)
        self._lift_said(scores, said, query)
        self._lift_superseding(scores, asking)
        clauses = tuple([clause.text for clause in reading.clauses])
        found = LazyScores(self._ids, scores, lambda index: self._matched(index, query, said), self._by_id)
        return Ranking(found, clauses, best, confidence)

    def clause_scores(self, clause: Clause) -> dict[int, float]:
        """What each entry that matches at all scores for one clause."""
        query = self._expand(dict.fromkeys(clause.terms, 1.0))
        scores = self._accumulate(query)
        _reward(scores, self._said_phrases(query, ""))
        return scores

    def best_entry(self, scores: Mapping[int, float]) -> int | None:
        """The index of the highest score, ties by id."""
        top = max(scores.values(), default=0.0)
        return min((i for i, score in scores.items() if score == top), key=self._ids.__getitem__, default=None)

    def coverage(self, clause: Clause, index: int) -> float:
        """How much of a clause's information an entry has, 0 to 1; a keyword phrase that is said counts as all of it."""
        query = self._expand(dict.fromkeys(clause.terms, 1.0))
        if any(phrase.entry == index and strength >= _SAID for phrase, strength in self._said_phrases(query, "")):
            return 1.0
        has = {term for field, found in self._fields(index).items() if field != "limitation" for term in found}
        idf, unknown = self._postings.idf, self._postings.unknown_idf
        total = found = 0.0
        for term in asked_terms(clause):
            weight = idf.get(term, unknown)
            total += weight
            parts = self._postings.compounds.get(term, (term,))
            if not has.isdisjoint(parts):
                found += weight
            elif not has.isdisjoint(_SYNONYMS_OF.get(term, ())):
                found += weight * self._synonym
        return found / total if total else 0.0

    # -- scoring ------------------------------------------------------------------------------------------

    def _relevance(self, found: Sequence[str]) -> float:
        """How well the best entry fits the terms of a sentence, long sentences being no better for their length."""
        query = {term: 1.0 for term in found if term in self._postings.impacts}
        scores = self._accumulate(query, _TOUCHED_BY_SENTENCE, _SURVIVORS_OF_SENTENCE)
        return max(scores.values(), default=0.0) / math.sqrt(len(found) + _CHANCE_TERMS)

    def _expand(self, weights: Mapping[str, float]) -> dict[str, float]:
        """Terms of the catalog that some terms stand for: themselves, parts of compounds, related forms, synonyms."""
        query: dict[str, float] = {}
        get, known = query.get, self._expansions
        for term, weight in weights.items():
            for other, share in known.get(term) or self._expansion(term):
                if weight * share > get(other, 0.0):
                    query[other] = weight * share
        return query

    def _expansion(self, term: str) -> tuple[tuple[str, float], ...]:
        impacts, parts = self._postings.impacts, self._postings.compounds.get(term, ())
        shares = dict.fromkeys((other for other in (term, *parts) if other in impacts), 1.0)
        if term not in impacts and not parts:
            shares |= {other: _RELATIVE * share for other, share in spelt_alike(term, self._spelling)}
            shares |= dict.fromkeys(self._relatives(term), _RELATIVE)
        for other in _SYNONYMS_OF.get(term, ()):
            if other in impacts:
                shares.setdefault(other, self._synonym * (_BESIDE if term in impacts else 1.0))
        expansion = tuple(shares.items())
        if len(self._expansions) < _REMEMBERED_TERMS:
            self._expansions[term] = expansion
        return expansion

    @cached_property
    def _spelling(self) -> Spelling:
        return spelling(self._postings.impacts)

    def _relatives(self, term: str) -> Iterator[str]:
        """Terms of the catalog that go on where a term ends, or the other way round: ``forens`` and ``forensic``."""
        for other in self._postings.relatives.get(term[:BEGINNING], ()):
            if abs(len(other) - len(term)) <= _RELATIVE_LETTERS and (other.startswith(term) or term.startswith(other)):
                yield other

    def _accumulate(
        self, query: Mapping[str, float], most: int = _TOUCHED_BY_CLAUSE, survivors: int = _SURVIVORS_OF_CLAUSE
    ) -> dict[int, float]:
        """Add up what the entries earn for the terms of a query, the most telling terms first.

        When many entries have been touched, only the best of them go on: what is left are terms that many entries have, and
        none of those brings an entry to the top that no other term has brought near it.
        """
        impacts, common = self._postings.impacts, self._postings.common
        rows = sorted([(len(impacts[term]), term) for term in query if term not in common])
        if not rows:
            rows = sorted([(len(impacts[term]), term) for term in query])
        scores: dict[int, float] = {}
        get = scores.get
        touched = 0
        for position, (size, term) in enumerate(rows):
            touched += size
            if touched > most and len(scores) >= survivors:
                return self._carried_on(_best(scores, survivors), [term for _, term in rows[position:]], query)
            weight = query[term]
            for index, impact in impacts[term].items():
                scores[index] = get(index, 0.0) + weight * impact
        return scores

    def _carried_on(self, best: dict[int, float], terms: Sequence[str], query: Mapping[str, float]) -> dict[int, float]:
        for term in terms:
            weight, found = query[term], self._postings.impacts[term]
            if len(found) < len(best):
                for index in found.keys() & best.keys():
                    best[index] += weight * found[index]
            else:
                for index in best:
                    if index in found:
                        best[index] += weight * found[index]
        return best

    def _said_phrases(self, query: Mapping[str, float], asking: str) -> list[tuple[Phrase, float]]:
        """Keyword phrases with all of their words in the request, and how surely they are meant, 0 to 1."""
        said: list[tuple[Phrase, float]] = []
        by_term = self._postings.phrases
        if by_term:
            # One word and its own synonym do not make a phrase: "picture" alone is not "draw a picture".
            literal = sum(weight > _RELATIVE for weight in query.values())
            for term in query:
                for phrase in by_term.get(term, ()):
                    strength = min(query.get(part, 0.0) for part in phrase.parts)
                    if strength >= _SAID or (strength > 0 and len(phrase.parts) <= literal):
                        said.append((phrase, strength))
        said += [(phrase, 1.0) for phrase in self._postings.verbatim if phrase.parts[0] in asking]
        return said

    def _vote(self, clauses: Sequence[Clause], scores: dict[int, float]) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """Let every clause that asks lift the entries that are best for it.

        :returns: the best entry of each clause, and how far it stands out.
        """
        voters = [clause for clause in clauses if clause.asks]
        if len(voters) < 2 or not scores:
            return (), ()
        worth = self._clause_vote * max(scores.values())
        lifts: dict[int, float] = {}
        best: dict[int, None] = {}
        confidence: list[float] = []
        for clause in voters:
            of_clause = self.clause_scores(clause)
            top = self.best_entry(of_clause)
            if top is None:
                continue
            highest = of_clause[top]
            for index, score in [(i, score) for i, score in of_clause.items() if score > _CLOSE * highest]:
                lifts[index] = max(lifts.get(index, 0.0), (score / highest) ** 2)
            best[top] = None
            confidence.append(score_margin(heapq.nlargest(2, of_clause.values())))
        for index, share in lifts.items():
            scores[index] = scores.get(index, 0.0) + worth * share
        return tuple(best), tuple(confidence)

    def _lift_said(
        self, scores: dict[int, float], said: Sequence[tuple[Phrase, float]], query: Mapping[str, float]
    ) -> None:
        """An entry whose whole keyword phrase was said outranks entries that share nothing but their name with it."""
        asked_for = dict.fromkeys(phrase.entry for phrase, strength in said if strength >= _SAID)
        if not asked_for:
            return
        floor = min(scores[index] for index in asked_for)
        rivals = [index for index, score in scores.items() if score >= floor and index not in asked_for]
        ceiling = max((scores[index] for index in rivals if self._matches_by_name_only(index, query)), default=-1.0)
        for index in asked_for:
            if scores[index] <= ceiling:
                scores[index] = ceiling + _AHEAD * (1 + scores[index])

    def _matches_by_name_only(self, index: int, query: Mapping[str, float]) -> bool:
        fields = self._fields(index).items()
        return all(field == "name" or query.keys().isdisjoint(found) for field, found in fields)

    def _lift_superseding(self, scores: dict[int, float], asking: str) -> None:
        """A pipeline that replaces a pack goes ahead of it when the request names the pack."""
        for pair in self._postings.superseded:
            if pair.name in asking:
                replaced = max(scores.get(pair.pack, 0.0), scores.get(pair.pipeline, 0.0))
                scores[pair.pipeline] = replaced * (1 + _SUPERSEDES) + _AHEAD

    # -- the result ---------------------------------------------------------------------------------------

    def _matched(self, index: int, query: Mapping[str, float], said: Sequence[tuple[Phrase, float]]) -> tuple[str, ...]:
        """What an entry and the request share, as ``field:word``, what weighs most first."""
        phrases = [f"keyword:{p.text}" for p, strength in said if p.entry == index and strength >= _SAID]
        labels = self._postings.labels_of(index)
        found = [(-labels[term][1] * query[term], labels[term][0]) for term in query.keys() & labels.keys()]
        return tuple(dict.fromkeys([*phrases, *(label for _, label in sorted(found))]))[:_EXPLAINED_TERMS]


def _best(scores: Mapping[int, float], count: int) -> dict[int, float]:
    least = sorted(scores.values(), reverse=True)[count - 1]
    return {index: score for index, score in scores.items() if score >= least}


def _reward(scores: dict[int, float], said: Sequence[tuple[Phrase, float]]) -> None:
    """Add the best of each entry's phrases: they are ways to ask for the same thing, so two of them are not twice as good."""
    best: dict[int, float] = {}
    for phrase, strength in said:
        best[phrase.entry] = max(best.get(phrase.entry, 0.0), phrase.worth * strength)
    for entry, worth in best.items():
        scores[entry] = scores.get(entry, 0.0) + worth
