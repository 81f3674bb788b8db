"""Separates a request from a document that was pasted with it, at any position.

Every possible layout of a text as request and document gets a score, a log-probability. The probability that a sentence
belongs to the request is the share of the layouts in which it does. A layout scores high if the request contains more
requesting sentences than the document, both have typical lengths, and a line break separates them. Case is not a signal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from itertools import accumulate, pairwise
from math import exp, log
from typing import Final, NamedTuple

import attrs

from helmdeck_plugins.lexical.text import SEPARATORS, tokens, word_terms
from helmdeck_plugins.lexical.words import (
    ASKING_PAIRS,
    FIRST_PERSON,
    LEAD_INS,
    LETTER_WORDS,
    OBJECT_STARTS,
    PLEASE,
    VERBS,
    WE,
)

# A shorter text contains no document.
_SHORT_TEXT: Final = 400
# Shorter text is background ("I am planning a trip ..."), not a document.
_SHORT_DOCUMENT: Final = 280
# Requests are near the ends of long texts; the middle is not split into sentences.
_END_CHARACTERS: Final = 8_000

# Runs of punctuation are bounded, so that a line of ten thousand dots is scanned only once.
_END: Final = re.compile(
    r"""[\n.!?\u2026\u3002\uff01\uff1f\u0964] (?:   # a leading set lets the engine skip ahead
        (?<=\n) \n*+
      | (?<=[\u3002\uff01\uff1f\u0964]) [\u3002\uff01\uff1f\u0964]{0,7}
      | (?<=[.!?\u2026]) [.!?\u2026]{0,7} ["'\u201d\u2019)\]]{0,4} (?=\s|\Z)
    )""",
    re.VERBOSE,
)
_FULL_STOP: Final = re.compile(r"[.!?\u2026\u3002\uff01\uff1f\u0964][\"'\u201d\u2019)\]]{0,4}$")
_QUESTION: Final = re.compile(r"[?\uff1f\u061f][\"'\u201d\u2019)\]]{0,4}\s*$")
# A list number is not a sentence.
_LIST_MARK: Final = re.compile(r"\W*[0-9a-zA-Z]{1,2}\.")


class Gap(int, Enum):
    """Separation of a sentence from the previous one."""

    SAME_LINE = 0
    NEW_LINE = 1
    NEW_PARAGRAPH = 2


_GAPS: Final = tuple(Gap)


@attrs.frozen
class Sentence:
    """A sentence, or a line without a full stop.

    :ivar tokens: folded words and the separators between them.
    :ivar words: folded words.
    """

    text: str
    tokens: tuple[str, ...]
    words: tuple[str, ...]
    gap: Gap

    @property
    def terms(self) -> tuple[str, ...]:
        """The unique terms."""
        return tuple(dict.fromkeys(term for word in self.words for term in word_terms(word)))


def sentences(text: str) -> list[Sentence]:
    """Split a text into sentences; the middle of a very long one stays one sentence without words."""
    if len(text) <= 2 * _END_CHARACTERS:
        return _split(text)
    head, inside, tail = text[:_END_CHARACTERS], text[_END_CHARACTERS:-_END_CHARACTERS], text[-_END_CHARACTERS:]
    return [*_split(head), Sentence(inside, (), (), Gap.SAME_LINE), *_split(tail)]


def _split(text: str) -> list[Sentence]:
    found: list[Sentence] = []
    lines = 0
    for content, breaks in _pieces(text):
        lines += breaks
        if not content:
            continue
        gap, lines = _GAPS[min(lines, 2)], 0
        if found and gap is Gap.SAME_LINE and _LIST_MARK.fullmatch(found[-1].text):
            before = found.pop()
            content, gap = f"{before.text} {content}", before.gap
        every = tuple(tokens(content))
        found.append(Sentence(content, every, tuple([token for token in every if token not in SEPARATORS]), gap))
    return found


def _pieces(text: str) -> Iterator[tuple[str, int]]:
    """Yield the text between sentence ends, and the number of line breaks before each."""
    position = 0
    for match in _END.finditer(text):
        if text[match.start()] == "\n":
            yield text[position : match.start()].strip(), 0
            yield "", match.end() - match.start()
        else:
            yield text[position : match.end()].strip(), 0
        position = match.end()
    yield text[position:].strip(), 0


# -- strength of a request -----------------------------------------------------------------------------------
#
# Log-odds by features of a sentence. They are rough on purpose: they reflect how people talk to assistants, and are not
# fitted to one collection of requests.

_BASE: Final = -1.5
_COMMAND: Final = 1.8
# "Book rides", unlike "book a ride": the first word may be a noun.
_MAYBE_COMMAND: Final = 1.0
_COURTESY: Final = 1.8
_ASKING_WORDS: Final = 1.4
_QUESTION_MARK: Final = 1.2
_SPEAKER: Final = 1.0
# Users write "I"; "we" and "our" are typical of documents of organisations.
_PLURAL_SPEAKER: Final = -0.8
_QUOTED_OR_LETTER: Final = -2.0
_QUOTES: Final = '"\u201c\u00bb>|'
_MAX_STRENGTH: Final = 2.5


def asking_strength(sentence: Sentence) -> float:
    """Return the log-odds that a sentence is a request to an assistant; 0 is undecided."""
    found = sentence.words
    strength = _BASE + _command(found)
    if not PLEASE.isdisjoint(found):
        strength += _COURTESY
    if not FIRST_PERSON.isdisjoint(found):
        strength += _SPEAKER
    elif not WE.isdisjoint(found):
        strength += _PLURAL_SPEAKER
    if not ASKING_PAIRS.isdisjoint(pairwise(found)):
        strength += _ASKING_WORDS
    if _QUESTION.search(sentence.text):
        strength += _QUESTION_MARK
    if sentence.text[0] in _QUOTES or not LETTER_WORDS.isdisjoint(found[:2]):
        strength += _QUOTED_OR_LETTER
    return max(-_MAX_STRENGTH, min(strength, _MAX_STRENGTH))


def _command(found: Sequence[str]) -> float:
    for position, word in enumerate(found):
        if word not in LEAD_INS:
            if word not in VERBS:
                return 0.0
            return _COMMAND if position + 1 < len(found) and found[position + 1] in OBJECT_STARTS else _MAYBE_COMMAND
    return 0.0


def is_question(text: str) -> bool:
    """Whether a text ends with a question mark."""
    return _QUESTION.search(text) is not None


# -- position of the document ------------------------------------------------------------------------------

# Typical length of a request and of a document in characters, and their spread (in units of e). A document may be much
# longer, a request hardly: in a manual with a command in every line, length is the only signal.
_REQUEST_LENGTH: Final = 180.0
_REQUEST_SPREAD: Final = 1.4
_DOCUMENT_LENGTH: Final = 1000.0
_DOCUMENT_SPREAD: Final = 0.5
# A request without a document may contain several tasks, up to about this length.
_ALONE_LENGTH: Final = 450.0
_ALONE_SPREAD: Final = 0.4
# Sentences of one author are similar, so the evidence of many counts as that of a few.
_EVIDENCE_SENTENCES: Final = 4
# Every letter has a paragraph that sounds more like a request than the others, so a request in the middle needs a
# document without requests: the maximum average strength, and the cost of each unit above it.
_SILENT: Final = -1.2
_SILENCE: Final = 5.0
# Separation of request and document, by the gap between them.
_GAP_STRENGTH: Final = (-1.5, 0.5, 1.0)
# Cost of gaps inside the request: most requests are one paragraph, though many have one task per line.
_BREAK_COST: Final = (0.0, 0.0, 2.0)
# Documents often start with a line that is not a sentence: a title, a sender, a number.
_TITLE: Final = 3.5
# Maximum number of sentences of a request next to a document, and at either end of a request around it.
_LONGEST_REQUEST: Final = 16
_LONGEST_END: Final = 4

# Sentences with a probability between this and its complement are ambiguous. The catalog matches requests better than
# documents, so relevance is computed for ambiguous sentences and for the first and last ones.
_DOUBT: Final = 0.05
_ALWAYS_CANDIDATES: Final = 2
_RELEVANCE: Final = 4.0
# Relevance, relative to the best candidate, above which a candidate gains, and the maximum loss below it.
_PIVOT: Final = 0.5
_LEAST_RELEVANT: Final = -0.5


class _Layout(NamedTuple):
    """One split of a text into request and document.

    :ivar start: the sentences from here up to ``end`` are the request; the document, if ``is_around``.
    :ivar is_inside: the document is on both sides of the request.
    :ivar size: number of sentences of the request.
    :ivar fixed: log-probability, up to a constant, without the strengths of the sentences.
    """

    start: int
    end: int
    is_around: bool
    is_inside: bool
    size: int
    fixed: float


# Log-probabilities of the positions of a request.
_ALONE: Final = 4.0
_LAST: Final = -1.0
_FIRST: Final = -1.1
_INSIDE: Final = -2.0
_AROUND: Final = -5.0


def asking_chances(found: Sequence[Sentence], relevance: Callable[[Sequence[str]], float] | None = None) -> list[float]:
    """Return the probability of each sentence to belong to the request; all 1 if there is no document.

    :param relevance: how well terms match the catalog; used for ambiguous sentences.
    """
    everything = [1.0] * len(found)
    if sum(len(sentence.text) for sentence in found) < _SHORT_TEXT:
        return everything
    strengths = [asking_strength(sentence) for sentence in found]
    layouts = _layouts(found, strengths)
    chances = _chances(layouts, strengths)
    if relevance is not None and any(_DOUBT < chance < 1 - _DOUBT for chance in chances):
        chances = _chances(layouts, _with_relevance(found, strengths, chances, relevance))
    document = sum(len(sentence.text) for sentence, chance in zip(found, chances, strict=True) if chance < 0.5)
    if document < _SHORT_DOCUMENT:
        return everything
    return [chance if chance > _DOUBT else 0.0 for chance in chances]


def _with_relevance(
    found: Sequence[Sentence],
    strengths: Sequence[float],
    chances: Sequence[float],
    relevance: Callable[[Sequence[str]], float],
) -> list[float]:
    """Add to each candidate its relevance to the catalog, relative to the best candidate."""
    last = len(found) - _ALWAYS_CANDIDATES
    candidates = {
        i: relevance(sentence.terms)
        for i, sentence in enumerate(found)
        if chances[i] > _DOUBT or not _ALWAYS_CANDIDATES <= i < last
    }
    best = max(candidates.values()) or 1.0
    gains = {i: _RELEVANCE * max(fit / best - _PIVOT, _LEAST_RELEVANT) for i, fit in candidates.items()}
    return [strength + gains.get(i, 0.0) for i, strength in enumerate(strengths)]


def _chances(layouts: Sequence[_Layout], strengths: Sequence[float]) -> list[float]:
    count = len(strengths)
    sums = list(accumulate(strengths, initial=0.0))
    every = sums[-1]
    scores: list[float] = []
    for start, end, is_around, is_inside, size, fixed in layouts:
        asking = sums[end] - sums[start]
        if is_around:
            asking = every - asking
        score = fixed + (asking / size * _EVIDENCE_SENTENCES if size > _EVIDENCE_SENTENCES else asking)
        rest = count - size
        if rest:
            document = every - asking
            score -= document / rest * _EVIDENCE_SENTENCES if rest > _EVIDENCE_SENTENCES else document
            if is_inside:
                score -= _SILENCE * (document / rest - _SILENT)
        scores.append(score)
    best = max(scores)
    # Each layout adds its share at its start and removes it at its end.
    changes = [0.0] * (count + 1)
    total = 0.0
    for (start, end, is_around, _, _, _), score in zip(layouts, scores, strict=True):
        share = inside = exp(score - best)
        total += share
        if is_around:
            changes[0] += share
            inside = -share
        changes[start] += inside
        changes[end] -= inside
    return [min(max(chance / total, 0.0), 1.0) for chance in accumulate(changes[:-1])]


def _layouts(found: Sequence[Sentence], strengths: Sequence[float]) -> list[_Layout]:
    """Return the plausible layouts with their fixed scores."""
    count = len(found)
    lengths = list(accumulate([len(sentence.text) for sentence in found], initial=0))
    breaks = list(accumulate([_BREAK_COST[sentence.gap] for sentence in found], initial=0.0))
    whole = lengths[count]
    # The boundary is one of many positions: the more there are, the less likely is each of them.
    edges = [_GAP_STRENGTH[sentence.gap] - log(count) for sentence in found]
    edges[0] = 0.0
    edges.append(0.0)
    titles = [
        _TITLE if strength <= 0 and not _FULL_STOP.search(sentence.text) else 0.0
        for sentence, strength in zip(found, strengths, strict=True)
    ]

    def beside(start: int, end: int, length: int, broken: float, document: int) -> float:
        usual = _surprise(length, _REQUEST_LENGTH, _REQUEST_SPREAD)
        if whole - length < _DOCUMENT_LENGTH:
            usual += _surprise(whole - length, _DOCUMENT_LENGTH, _DOCUMENT_SPREAD)
        return edges[start] + edges[end] + titles[document] - broken - usual

    alone = _surprise(max(whole, _ALONE_LENGTH), _ALONE_LENGTH, _ALONE_SPREAD)
    layouts = [_Layout(0, count, False, False, count, _ALONE - alone)]
    longest = min(_LONGEST_REQUEST, count - 1)
    for size in range(1, longest + 1):
        start = count - size
        score = beside(start, count, whole - lengths[start], breaks[count] - breaks[start + 1], 0)
        layouts.append(_Layout(start, count, False, False, size, _LAST + score))
        score = beside(0, size, lengths[size], breaks[size] - breaks[1], size)
        layouts.append(_Layout(0, size, False, False, size, _FIRST + score))
    # Inside a document a request is a separate paragraph; otherwise a human could not recognise it either.
    paragraphs = [i for i in range(1, count) if found[i].gap is Gap.NEW_PARAGRAPH]
    for start, end in pairwise(paragraphs):
        if end - start <= longest:
            score = beside(start, end, lengths[end] - lengths[start], breaks[end] - breaks[start + 1], 0)
            layouts.append(_Layout(start, end, False, True, end - start, _INSIDE + score))
    for start in range(1, min(_LONGEST_END, count - 2) + 1):
        for end in range(max(start + 1, count - _LONGEST_END), count):
            length = whole - lengths[end] + lengths[start]
            broken = breaks[start] - breaks[1] + breaks[count] - breaks[end + 1]
            score = beside(start, end, length, broken, start)
            layouts.append(_Layout(start, end, True, False, count - end + start, _AROUND + score))
    return layouts


def _surprise(length: float, usual: float, spread: float) -> float:
    return (log(max(length, 1) / usual) / spread) ** 2 / 2
