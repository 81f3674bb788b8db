"""The inverted index of a catalog, computed once."""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import attrs

from helmdeck_core import Entry
from helmdeck_language import SMALL_TALK, STOP_WORDS, VERBS, is_han_pair, split_identifier, terms, word_terms, words
from helmdeck_selection.lexical.index.fields import field_words, keyword_phrases

# BM25 parameters: term saturation (k1) and length normalisation (b).
_SATURATION: Final = 1.2
_LENGTH_PENALTY: Final = 0.6
# Score of an entry whose whole name is in the request; a part of the name earns its share of information.
_NAME_COVER: Final = 2.0
# Score of a matching keyword phrase: a base, plus the same per unit of its information.
_PHRASE: Final = 2.0
# Minimum common prefix of related words.
BEGINNING: Final = 4
# A term is common if more entries have it than this number, and than one in this many: in 3,000 tools half "retrieve"
# something.
_CROWD: Final = 50
_CROWD_SHARE: Final = 2
# Weight of a Chinese character of a pair: many words share one with a synonym.
_CHARACTER: Final = 0.5
_FIRST_HAN: Final = "\u3400"
# Length of the start of a description that contains its first word, in characters.
_OPENING: Final = 40
# Weight factor of words that occur in any request.
_SMALL_TALK: Final = 0.6
# IDF of terms that occur in limitations only: they may explain a match but not decide one.
_NEGLIGIBLE_IDF: Final = 0.01


@attrs.frozen
class Phrase:
    """A keyword phrase of an entry.

    :ivar parts: the terms; for a phrase of stop words only, the whole phrase.
    :ivar worth: score of a full match.
    """

    entry: int
    text: str
    parts: tuple[str, ...]
    worth: float


@attrs.frozen
class Superseded:
    """A pack that a pipeline supersedes; ``pack`` is -1 if the catalog does not contain it, ``name`` is its words."""

    pipeline: int
    pack: int
    name: str


@attrs.frozen
class Postings:
    """The inverted index.

    :ivar idf: inverse document frequency of each term.
    :ivar impacts: score contribution by term and entry.
    :ivar phrases: keyword phrases by their most informative term.
    :ivar verbatim: phrases of stop words only, matched as strings.
    :ivar relatives: terms by prefix, to match other forms of a word.
    :ivar verbs: words that can start a clause: common English verbs, and first words of entries.
    :ivar common: terms of too many entries to be informative.
    :ivar compounds: identifiers written as one word, with their parts.
    :ivar weights: weight of one occurrence by field.
    """

    entries: Sequence[Entry]
    idf: Mapping[str, float]
    impacts: Mapping[str, Mapping[int, float]]
    phrases: Mapping[str, tuple[Phrase, ...]]
    verbatim: tuple[Phrase, ...]
    compounds: Mapping[str, tuple[str, ...]]
    superseded: tuple[Superseded, ...]
    verbs: frozenset[str]
    common: frozenset[str]
    unknown_idf: float
    relatives: Mapping[str, tuple[str, ...]]
    weights: Mapping[str, float]

    def labels_of(self, index: int) -> dict[str, tuple[str, float]]:
        """Return the label ``field:word`` of each term in its field of highest weight, and that weight."""
        labels: dict[str, tuple[str, float]] = {}
        found = field_words(self.entries[index])
        for field in sorted(found, key=lambda field: self.weights[field]):
            for word in found[field]:
                for term in word_terms(word):
                    weight = self.weights[field] * self.idf.get(term, 0.0)
                    if is_han_pair(term):
                        # The word is a whole clause: only the matching part explains anything.
                        labels[term] = (f"{field}:{term}", weight)
                        for character in term:
                            labels[character] = (f"{field}:{character}", weight * _CHARACTER)
                    else:
                        labels[term] = (f"{field}:{word}", weight)
        return labels

    def fields_of(self, index: int) -> dict[str, set[str]]:
        """Return the terms of an entry by field."""
        found = field_words(self.entries[index])
        return {field: {term for word in list_ for term in word_terms(word)} for field, list_ in found.items()}


def build(entries: Sequence[Entry], weights: Mapping[str, float]) -> Postings:
    """Index catalog entries.

    :param weights: weight of one occurrence by field.
    """
    frequencies: list[dict[str, float]] = []
    names: list[list[str]] = []
    having: Counter[str] = Counter()
    terms_of: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        frequency: dict[str, float] = {}
        by_field = field_words(entry)
        names.append(by_field.get("name", []))
        limitations = by_field.pop("limitation", ())
        for field, found in by_field.items():
            weight = weights[field]
            for word in found:
                known = terms_of.get(word)
                if known is None:
                    known = terms_of[word] = word_terms(word)
                for term in known:
                    frequency[term] = frequency.get(term, 0.0) + weight
                    if term > _FIRST_HAN and is_han_pair(term):
                        for character in term:
                            if character not in STOP_WORDS:
                                frequency[character] = frequency.get(character, 0.0) + weight * _CHARACTER
        having.update(frequency.keys())
        for term in [term for word in limitations for term in word_terms(word)]:
            frequency[term] = frequency.get(term, 0.0) + weights["limitation"]
        frequencies.append(frequency)
    idf = {term: _information(len(entries), count) for term, count in having.items()}
    impacts = _impacts(names, frequencies, idf)
    for term in {term for word in SMALL_TALK for term in word_terms(word)} & impacts.keys():
        impacts[term] = {index: impact * _SMALL_TALK for index, impact in impacts[term].items()}
    phrases, verbatim = _phrases(entries, idf)
    crowd = max(_CROWD, len(entries) / _CROWD_SHARE)
    return Postings(
        entries=entries,
        idf=idf,
        impacts=impacts,
        phrases=phrases,
        verbatim=verbatim,
        compounds=_compounds(entries),
        superseded=_superseded(entries),
        verbs=VERBS | _leading_words(entries),
        common=frozenset(term for term, rows in impacts.items() if len(rows) > crowd),
        unknown_idf=_information(len(entries), 0),
        relatives=by_beginning(idf),
        weights=weights,
    )


def spelt_out(found: Iterable[str]) -> str:
    """Join words to a string that can be searched for other such strings."""
    return f" {' '.join(found)} "


def _information(entries: int, having: int) -> float:
    return math.log(1 + (entries - having + 0.5) / (having + 0.5))


def _impacts(
    names: Sequence[Sequence[str]], frequencies: Sequence[Mapping[str, float]], idf: Mapping[str, float]
) -> dict[str, dict[int, float]]:
    lengths = [sum(frequency.values()) for frequency in frequencies]
    average = sum(lengths) / len(lengths) if any(lengths) else 1.0
    impacts: defaultdict[str, dict[int, float]] = defaultdict(dict)
    # One object for each entry, made in advance so that they are together in memory: reading a posting touches one.
    for index, frequency in zip(list(range(len(frequencies))), frequencies, strict=True):
        norm = _SATURATION * (1 - _LENGTH_PENALTY + _LENGTH_PENALTY * lengths[index] / average)
        for term, weight in frequency.items():
            if weight:  # not of a field that counts nothing
                impacts[term][index] = idf.get(term, _NEGLIGIBLE_IDF) * weight * (_SATURATION + 1) / (weight + norm)
        # In order: the sum of a set depends on the seed of the process in its last digits.
        name = dict.fromkeys([term for word in names[index] for term in word_terms(word)])
        total = sum([idf[term] for term in name])
        for term in name:
            impacts[term][index] = impacts[term].get(index, 0.0) + _NAME_COVER * idf[term] / total
    # New numbers: those of a term are read together, so they should be together in memory, not in the order of entries.
    return {term: dict(zip(rows, array("d", rows.values()), strict=True)) for term, rows in impacts.items()}


def _phrases(
    entries: Sequence[Entry], idf: Mapping[str, float]
) -> tuple[dict[str, tuple[Phrase, ...]], tuple[Phrase, ...]]:
    by_term: dict[str, list[Phrase]] = defaultdict(list)
    verbatim: list[Phrase] = []
    for index, entry in enumerate(entries):
        for text in keyword_phrases(entry):
            parts = tuple(dict.fromkeys(terms(text)))
            if parts:
                worth = _PHRASE + _PHRASE * sum(idf[part] for part in parts)
                by_term[max(parts, key=lambda part: idf[part])].append(Phrase(index, text, parts, worth))
            elif words(text):
                verbatim.append(Phrase(index, text, (spelt_out(words(text)),), _PHRASE))
    return {term: tuple(rows) for term, rows in by_term.items()}, tuple(verbatim)


def _compounds(entries: Sequence[Entry]) -> dict[str, tuple[str, ...]]:
    """Return identifiers without word boundaries, as in a lower-cased ``getWeather``, with their parts."""
    compounds: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        for identifier in entry.id.split():
            split = split_identifier(identifier)
            joined = word_terms("".join(words(split)))
            parts = tuple(terms(split))
            if len(joined) == 1 and len(parts) > 1:
                compounds.setdefault(joined[0], parts)
    return compounds


def by_beginning(vocabulary: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the words of a vocabulary by their first letters."""
    found: dict[str, list[str]] = defaultdict(list)
    for term in vocabulary:
        if len(term) >= BEGINNING and term.isalpha():
            found[term[:BEGINNING]].append(term)
    return {beginning: tuple(sorted(rows)) for beginning, rows in found.items()}


def _leading_words(entries: Sequence[Entry]) -> frozenset[str]:
    """Return first words of phrases and descriptions: "crawl the site" and "Crawls a site" make "crawl" a verb."""
    phrases = (words(text) for entry in entries for text in keyword_phrases(entry))
    openings = (word for entry in entries for word in words(entry.description[:_OPENING])[:1])
    leading = {phrase[0] for phrase in phrases if len(phrase) > 1}
    for word in openings:
        leading |= {word, word.removesuffix("s")}
    return frozenset(word for word in leading if word_terms(word))


def _superseded(entries: Sequence[Entry]) -> tuple[Superseded, ...]:
    index_of = {entry.id: index for index, entry in enumerate(entries)}
    return tuple(
        Superseded(index, index_of.get(name, -1), spelt_out(words(name)))
        for index, entry in enumerate(entries)
        for name in entry.supersedes
        if words(name)
    )
