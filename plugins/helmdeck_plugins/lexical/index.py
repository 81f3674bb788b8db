"""The lexical ranker: BM25 over a catalog's full metadata, with keyword phrases, clause votes and supersedes.

A request touches the postings of its own terms only.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from helmdeck_core import Catalog, Ranking, Score
from helmdeck_plugins.lexical.postings import BEGINNING, Phrase, build, spelt_out
from helmdeck_plugins.lexical.request import Clause, Reading, asked_terms, read
from helmdeck_plugins.lexical.text import word_terms
from helmdeck_plugins.lexical.words import SYNONYMS

# A synonym is a guess at what was meant, and a poorer one where the catalog knows the word itself.
_SYNONYM: Final = 0.4
_SYNONYM_BESIDE: Final = 0.3
# So is another form of a word that the catalog does not have; at most this many letters longer or shorter.
_RELATIVE: Final = 0.6
_RELATIVE_LETTERS: Final = 4
# A phrase counts as said when all of its words are there as they are: more than a guess, in a sentence that asks.
_SAID: Final = 0.75
# What an entry that is best for one clause earns, in parts of the best score of the request; an entry that comes close
# to the best one of the clause earns nearly as much.
_CLAUSE_VOTE: Final = 0.3
_CLOSE: Final = 0.6
# How far a pipeline goes ahead of the pack that it replaces, in parts of the pack's score.
_SUPERSEDES: Final = 0.1
# The smallest step that keeps one entry visibly ahead of another.
_AHEAD: Final = 1e-6
# A sentence of three terms finds something by chance; this many terms are added to the length it is judged by.
_CHANCE_TERMS: Final = 3
# Explanations are read by people, who look at the top of a list.
_EXPLAINED: Final = 30
_EXPLAINED_TERMS: Final = 8


def _synonym_table() -> dict[str, tuple[str, ...]]:
    table: dict[str, dict[str, None]] = defaultdict(dict)
    for group in SYNONYMS:
        stems = list(dict.fromkeys(term for word in group for term in word_terms(word)))
        for term in stems:
            table[term].update(dict.fromkeys(other for other in stems if other != term))
    return {term: tuple(others) for term, others in table.items()}


_SYNONYMS_OF: Final = _synonym_table()


class LexicalIndex:
    """One catalog, ready to be ranked. Immutable once built; safe to share between threads."""

    def __init__(self, catalog: Catalog) -> None:
        self.entries = catalog.entries
        self._postings = build(self.entries)
        by_id = sorted(range(len(self.entries)), key=lambda index: self.entries[index].id)
        self._id_rank = {index: rank for rank, index in enumerate(by_id)}
        self._unmatched = tuple(Score(index, self.entries[index].id, 0.0) for index in by_id)

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
        scores = self._accumulate(self._telling(query))
        asking = spelt_out(reading.asking_words)
        said = self._said_phrases(query, asking)
        _reward(scores, said)
        clause_best = self._vote(reading.clauses, scores)
        self._lift_said(scores, said, query)
        self._lift_superseding(scores, asking)
        clauses = tuple(clause.text for clause in reading.clauses)
        return Ranking(self._ordered(scores, query, said), clauses, clause_best)

    def clause_scores(self, clause: Clause) -> dict[int, float]:
        """What each entry that matches at all scores for one clause."""
        query = self._expand(dict.fromkeys(clause.terms, 1.0))
        scores = self._accumulate(self._telling(query))
        _reward(scores, self._said_phrases(query, ""))
        return scores

    def best_first(self, scores: Mapping[int, float]) -> list[int]:
        """Indices by falling score, ties by id."""
        return sorted(scores, key=lambda index: (-scores[index], self._id_rank[index]))

    def coverage(self, clause: Clause, index: int) -> float:
        """How much of a clause's information an entry has, 0 to 1; a keyword phrase that is said counts as all of it."""
        query = self._expand(dict.fromkeys(clause.terms, 1.0))
        if any(phrase.entry == index and strength >= _SAID for phrase, strength in self._said_phrases(query, "")):
            return 1.0
        has = {term for field, found in self._postings.fields[index].items() if field != "limitation" for term in found}
        idf, unknown = self._postings.idf, self._postings.unknown_idf
        total = found = 0.0
        for term in asked_terms(clause):
            weight = idf.get(term, unknown)
            total += weight
            parts = self._postings.compounds.get(term, (term,))
            if not has.isdisjoint(parts):
                found += weight
            elif not has.isdisjoint(_SYNONYMS_OF.get(term, ())):
                found += weight * _SYNONYM
        return found / total if total else 0.0

    # -- scoring ------------------------------------------------------------------------------------------

    def _relevance(self, found: Sequence[str]) -> float:
        """How well the best entry fits the terms of a sentence, long sentences being no better for their length."""
        scores = self._accumulate({term: 1.0 for term in found if term in self._postings.impacts})
        return max(scores.values(), default=0.0) / math.sqrt(len(found) + _CHANCE_TERMS)

    def _expand(self, weights: Mapping[str, float]) -> dict[str, float]:
        """Add the parts of compounds, related forms and synonyms; keep what the catalog knows."""
        impacts, compounds = self._postings.impacts, self._postings.compounds
        query: dict[str, float] = {}
        for term, weight in weights.items():
            for part in (term, *compounds.get(term, ())):
                if part in impacts and weight > query.get(part, 0.0):
                    query[part] = weight
            if term not in impacts and term not in compounds:
                for other in self._relatives(term):
                    if weight * _RELATIVE > query.get(other, 0.0):
                        query[other] = weight * _RELATIVE
        for term, weight in weights.items():
            guess = weight * (_SYNONYM_BESIDE if term in impacts else _SYNONYM)
            for other in _SYNONYMS_OF.get(term, ()):
                if other in impacts and guess > query.get(other, 0.0):
                    query[other] = guess
        return query

    def _telling(self, query: dict[str, float]) -> dict[str, float]:
        """Leave out the terms that hardly tell entries apart, unless there are no others."""
        common = self._postings.common
        return {term: weight for term, weight in query.items() if term not in common} or query

    def _relatives(self, term: str) -> Iterator[str]:
        """Terms of the catalog that go on where a term ends, or the other way round: ``forens`` and ``forensic``."""
        for other in self._postings.relatives.get(term[:BEGINNING], ()):
            if abs(len(other) - len(term)) <= _RELATIVE_LETTERS and (other.startswith(term) or term.startswith(other)):
                yield other

    def _accumulate(self, query: Mapping[str, float]) -> dict[int, float]:
        scores: dict[int, float] = {}
        get = scores.get
        for term, weight in query.items():
            for index, impact in self._postings.impacts[term]:
                scores[index] = get(index, 0.0) + weight * impact
        return scores

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

    def _vote(self, clauses: Sequence[Clause], scores: dict[int, float]) -> tuple[int, ...]:
        """Let every clause that asks lift the entries that are best for it; return the best one of each clause."""
        voters = [clause for clause in clauses if clause.asks]
        if len(voters) < 2 or not scores:
            return ()
        worth = _CLAUSE_VOTE * max(scores.values())
        lifts: dict[int, float] = {}
        best: dict[int, None] = {}
        for clause in voters:
            of_clause = self.clause_scores(clause)
            if not of_clause:
                continue
            top = max(of_clause.values())
            for index, score in of_clause.items():
                if score > _CLOSE * top:
                    lifts[index] = max(lifts.get(index, 0.0), (score / top) ** 2)
            best[min((i for i in of_clause if of_clause[i] == top), key=self._id_rank.__getitem__)] = None
        for index, share in lifts.items():
            scores[index] = scores.get(index, 0.0) + worth * share
        return tuple(best)

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
        fields = self._postings.fields[index].items()
        return all(field == "name" or query.keys().isdisjoint(found) for field, found in fields)

    def _lift_superseding(self, scores: dict[int, float], asking: str) -> None:
        """A pipeline that replaces a pack goes ahead of it when the request names the pack."""
        for pair in self._postings.superseded:
            if pair.name in asking:
                replaced = max(scores.get(pair.pack, 0.0), scores.get(pair.pipeline, 0.0))
                scores[pair.pipeline] = replaced * (1 + _SUPERSEDES) + _AHEAD

    # -- the result ---------------------------------------------------------------------------------------

    def _ordered(
        self, scores: Mapping[int, float], query: Mapping[str, float], said: Sequence[tuple[Phrase, float]]
    ) -> tuple[Score, ...]:
        rank, entries = self._id_rank, self.entries
        order = sorted([(-score, rank[index], index) for index, score in scores.items() if score > 0])
        phrases: dict[int, dict[str, None]] = defaultdict(dict)
        for phrase in (phrase for phrase, strength in said if strength >= _SAID):
            phrases[phrase.entry][f"keyword:{phrase.text}"] = None
        top = [
            Score(index, entries[index].id, -negated, self._matched(index, query, tuple(phrases.get(index, ()))))
            for negated, _, index in order[:_EXPLAINED]
        ]
        rest = [Score(index, entries[index].id, -negated) for negated, _, index in order[_EXPLAINED:]]
        matched = {index for _, _, index in order}
        return (*top, *rest, *(score for score in self._unmatched if score.index not in matched))

    def _matched(self, index: int, query: Mapping[str, float], phrases: Sequence[str]) -> tuple[str, ...]:
        labels = self._postings.labels[index]
        found = [(-labels[term][1] * query[term], labels[term][0]) for term in query.keys() & labels.keys()]
        return tuple(dict.fromkeys([*phrases, *(label for _, label in sorted(found))]))[:_EXPLAINED_TERMS]


def _reward(scores: dict[int, float], said: Sequence[tuple[Phrase, float]]) -> None:
    """Add the best of each entry's phrases: they are ways to ask for the same thing, so two of them are not twice as good."""
    best: dict[int, float] = {}
    for phrase, strength in said:
        best[phrase.entry] = max(best.get(phrase.entry, 0.0), phrase.worth * strength)
    for entry, worth in best.items():
        scores[entry] = scores.get(entry, 0.0) + worth
