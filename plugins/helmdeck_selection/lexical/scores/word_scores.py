"""The lexical ranker: BM25 over a catalog's full metadata, with keyword phrases, clause votes and supersedes.

A request reads only the postings of its own terms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, cached_property
from typing import Final

from helmdeck_core import Catalog, Entry, EntryIds, LazyScores, Ranking, score_margin
from helmdeck_language import (
    VERBS,
    Clause,
    Lexicon,
    Reading,
    asked_terms,
    is_han_pair,
    lexicon,
    read,
    word_terms,
)
from helmdeck_selection.lexical.index.postings import BEGINNING, Phrase, build, spelt_out
from helmdeck_selection.lexical.index.stored import stored_postings
from helmdeck_selection.lexical.scores.score_sums import (
    EXPECTED_GAIN,
    Row,
    lowest_score,
    reward,
    score_known,
    score_survivors,
    score_verbs,
    terms_needed,
)
from helmdeck_selection.lexical.scores.similar import Spelling
from helmdeck_selection.lexical.weights import LEXICAL_WEIGHTS

# Factor for synonyms of words that the catalog contains.
_KNOWN_WORD_SYNONYM: Final = 0.8
# Weight of what an everyday word stands for that the catalog does not contain.
_EVERYDAY: Final = 0.25
# Weight of another form of a word that the catalog does not contain, and the maximum difference in length.
_RELATIVE: Final = 0.6
_RELATIVE_LETTERS: Final = 4
# Weight of a Chinese character of a pair that the catalog does not contain.
_CHARACTER: Final = 0.5
# Minimum strength of a phrase match: literal words, no synonyms, in a sentence that requests something.
_PHRASE_MATCH: Final = 0.75
# Minimum score, relative to the best entry of a clause, to get a part of its bonus.
_CLOSE: Final = 0.6
# Lead of a pipeline over the pack that it supersedes, relative to the pack's score.
_SUPERSEDES: Final = 0.1
# Smallest lead of one entry over another.
_MIN_LEAD: Final = 1e-6
# Short sentences match by chance; this many terms are added to their length when scores are normalised.
_CHANCE_TERMS: Final = 3
# Maximum number of terms in an explanation.
_EXPLAINED_TERMS: Final = 8
# Postings read for a query, or for a clause, before entries that cannot become one of the best are left out, and the
# number of those.
_TOUCHED: Final = 600
_LEADERS: Final = 32
_TOUCHED_BY_CLAUSE: Final = 150
_LEADERS_OF_CLAUSE: Final = 12
# After this many postings no further entries are scored in any case.
_MOST_TOUCHED: Final = 2_500
# Postings of a term from which adding them all at once is faster than one by one.
_MANY: Final = 32
# The score of the last leader is hardly ever below this share of the first term's largest score.
_FIRST_FLOOR: Final = 0.8
# Terms whose largest possible score is below this share of the first term's count nothing, unless there are few terms.
_NEGLIGIBLE: Final = 0.1
_FEW_TERMS: Final = 8
_VERB_TERMS: Final = frozenset(term for verb in VERBS for term in word_terms(verb))
# Postings read for the relevance of a sentence, of which only the best score is used.
_TOUCHED_BY_SENTENCE: Final = 100
# Size limit of the cache of term expansions.
_MAX_CACHED_TERMS: Final = 20_000


class _Peaks(dict[str, tuple[float, Mapping[int, float]]]):
    """The largest score contribution of each term, computed on first use, and the contributions to all entries."""

    def __init__(self, impacts: Mapping[str, Mapping[int, float]]) -> None:
        self._impacts = impacts

    def __missing__(self, term: str) -> tuple[float, Mapping[int, float]]:
        having = self._impacts[term]
        self[term] = found = (max(having.values()), having)
        return found


class LexicalIndex:
    """The index of one catalog. Immutable and thread-safe.

    :param stored: use the index on disk, and write it where there is none.
    :param words: a file or folder of word lists beside those of the package.
    :ivar lexicon: what words mean.
    :param weights: overrides of ``LEXICAL_WEIGHTS``.

    >>> from helmdeck_core import Helmdeck
    >>> from helmdeck_selection import LexicalIndex
    >>> with Helmdeck(model="local/lexical") as deck:
    ...     index = LexicalIndex(deck.catalog)
    >>> index.rank("draft a blog post").ids[0]
    'blog.draft'
    """

    def __init__(self, catalog: Catalog, *, stored: bool = False, words: str = "", **weights: float) -> None:
        weights = {**LEXICAL_WEIGHTS, **weights}
        self.entries: tuple[Entry, ...] = catalog.entries
        self.lexicon: Lexicon = lexicon(words)
        self._clause_vote, self._synonym = weights["clause_vote"], weights["synonym"]
        self._postings = stored_postings(catalog, weights) if stored else build(self.entries, weights)
        self._ids = EntryIds(entry.id for entry in self.entries)
        self._expansions: dict[str, tuple[tuple[str, float], ...]] = {}
        self._fields = cache(self._postings.fields_of)
        self._peaks = _Peaks(self._postings.impacts)
        self._sizes = {term: len(having) for term, having in self._postings.impacts.items()}
        self.verbs: frozenset[str] = self._postings.verbs

    # -- ranking ------------------------------------------------------------------------------------------

    def rank(self, request: str) -> Ranking:
        """Rank the catalog for a request."""
        return self.rank_reading(self.read(request))

    def read(self, request: str) -> Reading:
        """Separate the request from a pasted document, using the catalog's words."""
        return read(request, self._postings.verbs, self.relevance)

    def rank_reading(self, reading: Reading) -> Ranking:
        """Rank the catalog for a request that is already parsed."""
        query, verbs = self._query(reading.weights, reading.clauses)
        scores = self._accumulate(query, _TOUCHED, _LEADERS, verbs)
        asking = spelt_out(reading.asking_words)
        matched = self._matching_phrases(query, asking)
        reward(scores, matched)
        best, confidence, parts = self._vote(reading.clauses, scores)
        self._lift_phrases(scores, matched, query)
        self._lift_superseding(scores, asking)
        clauses = tuple([clause.text for clause in reading.clauses])
        found = LazyScores(
            self._ids, scores, lambda index: (*self._explain(index, query, matched), *parts.get(index, ()))
        )
        return Ranking(found, clauses, best, confidence)

    def clause_scores(self, clause: Clause) -> dict[int, float]:
        """Return the scores of the entries that match one clause; entries far from the best one may be left out."""
        query, verbs = self._query(dict.fromkeys(clause.terms, 1.0), (clause,))
        phrases = self._matching_phrases(query, "")
        scores = self._accumulate(query, verbs=verbs, close=_CLOSE, always=[phrase.entry for phrase, _ in phrases])
        reward(scores, phrases)
        return scores

    def weighted_scores(self, weights: Mapping[str, float]) -> dict[int, float]:
        """Return the scores of all matching entries for weighted terms, without limits."""
        query = self._expand(weights)
        scores = self._accumulate(query, _TOUCHED, _LEADERS)
        reward(scores, self._matching_phrases(query, ""))
        return scores

    def best_entry(self, scores: Mapping[int, float]) -> int | None:
        """Return the index with the highest score; ties are broken by id."""
        top = max(scores.values(), default=0.0)
        return min((i for i, score in scores.items() if score == top), key=self._ids.__getitem__, default=None)

    def coverage(self, clause: Clause, index: int) -> float:
        """Return the share of a clause's information that an entry covers, 0 to 1; a matching keyword phrase counts as 1."""
        query = self._expand(dict.fromkeys(clause.terms, 1.0))
        if any(
            phrase.entry == index and strength >= _PHRASE_MATCH
            for phrase, strength in self._matching_phrases(query, "")
        ):
            return 1.0
        entry_terms = {term for field, found in self._fields(index).items() if field != "limitation" for term in found}
        idf, unknown = self._postings.idf, self._postings.unknown_idf
        total = found = 0.0
        for term in asked_terms(clause):
            weight = idf.get(term, unknown)
            total += weight
            parts = self._postings.compounds.get(term, (term,))
            if not entry_terms.isdisjoint(parts):
                found += weight
            elif not entry_terms.isdisjoint(self.lexicon.synonyms_of.get(term, ())):
                found += weight * self._synonym
        return found / total if total else 0.0

    def containing(self, term: str) -> AbstractSet[int]:
        """Return the indices of the entries that contain a term."""
        return self._postings.impacts.get(term, {}).keys()

    @property
    def impacts(self) -> Mapping[str, Mapping[int, float]]:
        """The score contribution of each term to each entry that contains it."""
        return self._postings.impacts

    # -- scoring ------------------------------------------------------------------------------------------

    def relevance(self, found: Sequence[str]) -> float:
        """Return the best score for the terms of a sentence, normalised by its length.

        Only the rarest terms count, up to a number of postings; of a sentence of common words, the rarest one.
        """
        impacts, peaks, sizes = self._postings.impacts, self._peaks, self._sizes
        rows = sorted([(size, term) for term in found if (size := sizes.get(term))])
        if not rows:
            return 0.0
        touched = kept = 0
        for size, _ in rows:
            touched += size
            if touched > _TOUCHED_BY_SENTENCE:
                break
            kept += 1
        best = peaks[rows[0][1]][0]
        if kept > 1:
            scores = dict(impacts[rows[0][1]])
            get = scores.get
            for _, term in rows[1 : kept - 1]:
                for index, impact in impacts[term].items():
                    scores[index] = get(index, 0.0) + impact
            last = impacts[rows[kept - 1][1]]
            shared = [scores[index] + last[index] for index in scores.keys() & last.keys()]
            best = max(max(scores.values()), peaks[rows[kept - 1][1]][0], *shared)
        return best / math.sqrt(len(found) + _CHANCE_TERMS)

    def _expand(self, weights: Mapping[str, float]) -> dict[str, float]:
        """Expand terms to terms of the catalog: themselves, parts of compounds, related forms, synonyms."""
        query: dict[str, float] = {}
        get, known = query.get, self._expansions
        for term, weight in weights.items():
            expansion = known.get(term)
            for other, share in self._expansion(term) if expansion is None else expansion:
                if weight * share > get(other, 0.0):
                    query[other] = weight * share
        return query

    def _expansion(self, term: str) -> tuple[tuple[str, float], ...]:
        impacts, parts = self._postings.impacts, self._postings.compounds.get(term, ())
        shares = dict.fromkeys((other for other in (term, *parts) if other in impacts), 1.0)
        if term not in impacts and not parts:
            shares |= {other: _RELATIVE * share for other, share in self._spelling.alike(term) if other in impacts}
            shares |= dict.fromkeys(self._relatives(term), _RELATIVE)
            if is_han_pair(term):
                shares |= dict.fromkeys((character for character in term if character in impacts), _CHARACTER)
        for other in self.lexicon.synonyms_of.get(term, ()):
            if other in impacts:
                shares.setdefault(other, self._synonym * (_KNOWN_WORD_SYNONYM if term in impacts else 1.0))
        for other in self.lexicon.everyday_meanings(term) if term not in impacts else ():
            if other in impacts:
                shares.setdefault(other, _EVERYDAY)
        expansion = tuple(shares.items())
        if len(self._expansions) < _MAX_CACHED_TERMS:
            self._expansions[term] = expansion
        return expansion

    @cached_property
    def _spelling(self) -> Spelling:
        return Spelling(self._postings.impacts.keys(), self.lexicon)

    def _relatives(self, term: str) -> Iterator[str]:
        """Yield catalog terms that extend a term, or are a prefix of it: ``forens`` and ``forensic``."""
        for other in self._postings.relatives.get(term[:BEGINNING], ()):
            if abs(len(other) - len(term)) <= _RELATIVE_LETTERS and (other.startswith(term) or term.startswith(other)):
                yield other

    def _query(
        self, weights: Mapping[str, float], clauses: Sequence[Clause]
    ) -> tuple[dict[str, float], AbstractSet[str]]:
        """Return the expanded terms, and those that only the verbs at the start of clauses stand for."""
        leading = {term for clause in clauses for term in clause.terms[:1] if term in _VERB_TERMS and term in weights}
        if not leading or len(leading) == len(weights):
            return self._expand(weights), frozenset()
        others = dict(weights)
        verbs = self._expand({term: others.pop(term) for term in leading})
        query = self._expand(others)
        alone = verbs.keys() - query.keys()
        for term, weight in verbs.items():
            if weight > query.get(term, 0.0):
                query[term] = weight
        return query, alone

    def _accumulate(
        self,
        query: Mapping[str, float],
        most: int = _TOUCHED_BY_CLAUSE,
        leaders: int = _LEADERS_OF_CLAUSE,
        verbs: AbstractSet[str] = frozenset(),
        close: float = 0.0,
        always: Sequence[int] = (),
    ) -> dict[int, float]:
        """Add up the scores of entries for the terms of a query, the terms of largest possible score first, verbs last.

        After ``most`` postings, and whenever a quarter more were read, entries are left out that the remaining terms
        will hardly lift to the score of the last leader.

        :param close: leave out entries that match only by terms which cannot lift them to this share of the best score.
        :param always: entries that are not left out for that reason.
        """
        rows, verb_rows = self._rows(query, verbs)
        scores: dict[int, float] = {}
        touched = 0
        floor = rows[0][0] * _FIRST_FLOOR if rows else 0.0
        needed = terms_needed(rows, verb_rows, close) if close and rows else len(rows)
        for position, (_, _, weight, found) in enumerate(rows[:needed]):
            touched += len(found)
            if touched > most and len(scores) >= leaders:
                gain = EXPECTED_GAIN * sum([row[0] for row in rows[position:]])
                floor = lowest_score(scores, leaders, floor)
                if touched > _MOST_TOUCHED or gain < floor:
                    return score_survivors(scores, rows[position:] + verb_rows, leaders, floor)
                most = touched + touched // 4
            if weight != 1.0:
                for index, impact in found.items():
                    if index in scores:
                        scores[index] += weight * impact
                    else:
                        scores[index] = weight * impact
            elif len(found) < _MANY:
                for index, impact in found.items():
                    if index in scores:
                        scores[index] += impact
                    else:
                        scores[index] = impact
            else:
                # Copying many and correcting those of entries in both is faster than adding each.
                both = [(index, scores[index]) for index in found.keys() & scores.keys()]
                scores.update(found)
                for index, score in both:
                    scores[index] += score
        if needed < len(rows):
            for index in always:
                scores.setdefault(index, 0.0)
            return score_known(scores, rows[needed:] + verb_rows)
        return score_verbs(scores, verb_rows, leaders) if verb_rows else scores

    def _rows(self, query: Mapping[str, float], verbs: AbstractSet[str]) -> tuple[list[Row], list[Row]]:
        """Return the terms of a query, those of the largest possible score first, and those of verbs beside others.

        Common terms are left out if there are others.
        """
        known, common = self._peaks, self._postings.common
        rows = [
            (peak * weight, term, weight, having)
            for term, weight in query.items()
            if term not in common
            for peak, having in (known[term],)
        ]
        if not rows:
            rows = [(known[term][0] * weight, term, weight, known[term][1]) for term, weight in query.items()]
        rows.sort(reverse=True)
        if len(rows) > _FEW_TERMS:
            least = _NEGLIGIBLE * rows[0][0]
            while rows[-1][0] < least:
                rows.pop()
        if verbs and (others := [row for row in rows if row[1] not in verbs]):
            return others, [row for row in rows if row[1] in verbs]
        return rows, []

    def _matching_phrases(self, query: Mapping[str, float], asking: str) -> list[tuple[Phrase, float]]:
        """Return keyword phrases whose words are all in the request, with the strength of the match, 0 to 1."""
        found: list[tuple[Phrase, float]] = []
        by_term = self._postings.phrases
        if by_term:
            # A word and its own synonym are no phrase: "picture" alone is not "draw a picture".
            literal = sum(weight > _RELATIVE for weight in query.values())
            for term in query:
                for phrase in by_term.get(term, ()):
                    strength = min(query.get(part, 0.0) for part in phrase.parts)
                    if strength >= _PHRASE_MATCH or (strength > 0 and len(phrase.parts) <= literal):
                        found.append((phrase, strength))
        found += [(phrase, 1.0) for phrase in self._postings.verbatim if phrase.parts[0] in asking]
        return found

    def _vote(
        self, clauses: Sequence[Clause], scores: dict[int, float]
    ) -> tuple[tuple[int, ...], tuple[float, ...], Mapping[int, Sequence[str]]]:
        """Raise the scores of the best entries of every clause that requests an action.

        :returns: the best entry of each clause, and its margin; for each raised entry, labels of the clauses.
        """
        voters = [(number, clause) for number, clause in enumerate(clauses, 1) if clause.is_request]
        if len(voters) < 2 or not scores:
            return (), (), {}
        worth = self._clause_vote * max(scores.values())
        lifts: dict[int, float] = {}
        best: dict[int, None] = {}
        confidence: list[float] = []
        parts: dict[int, list[str]] = {}
        for number, clause in voters:
            of_clause = self.clause_scores(clause)
            if not of_clause:
                continue
            top = sorted(of_clause.values())[:-3:-1]
            highest = top[0]
            least = _CLOSE * highest
            close = [(index, score) for index, score in of_clause.items() if score > least]
            for index, score in close:
                share = score / highest
                parts.setdefault(index, []).append(f"part {number}")
                if share > lifts.get(index, 0.0):
                    lifts[index] = share
            first = [index for index, score in close if score == highest]
            best[first[0] if len(first) == 1 else min(first, key=self._ids.__getitem__)] = None
            confidence.append(score_margin(top))
        for index, share in lifts.items():
            scores[index] = scores.get(index, 0.0) + worth * (share * share)
        return tuple(best), tuple(confidence), parts

    def _lift_phrases(
        self, scores: dict[int, float], phrases: Sequence[tuple[Phrase, float]], query: Mapping[str, float]
    ) -> None:
        """Rank entries with a matching keyword phrase above entries that match by name only."""
        lifted = dict.fromkeys(phrase.entry for phrase, strength in phrases if strength >= _PHRASE_MATCH)
        if not lifted:
            return
        floor = min(scores[index] for index in lifted)
        rivals = [index for index, score in scores.items() if score >= floor and index not in lifted]
        ceiling = max((scores[index] for index in rivals if self._matches_by_name_only(index, query)), default=-1.0)
        for index in lifted:
            if scores[index] <= ceiling:
                scores[index] = ceiling + _MIN_LEAD * (1 + scores[index])

    def _matches_by_name_only(self, index: int, query: Mapping[str, float]) -> bool:
        fields = self._fields(index).items()
        return all(field == "name" or query.keys().isdisjoint(found) for field, found in fields)

    def _lift_superseding(self, scores: dict[int, float], asking: str) -> None:
        """Rank a pipeline above the pack that it supersedes if the request names the pack."""
        for pair in self._postings.superseded:
            if pair.name in asking:
                replaced = max(scores.get(pair.pack, 0.0), scores.get(pair.pipeline, 0.0))
                scores[pair.pipeline] = replaced * (1 + _SUPERSEDES) + _MIN_LEAD

    # -- the result ---------------------------------------------------------------------------------------

    def _explain(
        self, index: int, query: Mapping[str, float], phrases: Sequence[tuple[Phrase, float]]
    ) -> tuple[str, ...]:
        """Return the shared words of an entry and the request as ``field:word``, highest weight first."""
        keywords = [f"keyword:{p.text}" for p, strength in phrases if p.entry == index and strength >= _PHRASE_MATCH]
        labels = self._postings.labels_of(index)
        found = [(-labels[term][1] * query[term], labels[term][0]) for term in query.keys() & labels.keys()]
        return tuple(dict.fromkeys([*keywords, *(label for _, label in sorted(found))]))[:_EXPLAINED_TERMS]
