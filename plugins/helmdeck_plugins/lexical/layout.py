"""Telling a request from a document that was pasted with it, wherever the document stands.

Every way to lay a text out as request and document gets a score, as log-probability, and a sentence's chance to belong
to the request is the share of the layouts in which it does. What speaks for a layout: the request asks more than the
document does, their lengths are usual ones, and the text is set off where one meets the other. Letter case is no cue.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from itertools import accumulate, pairwise
from math import exp, log
from typing import Final

import attrs

from helmdeck_plugins.lexical.text import plain_words, word_terms
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

# Below this many characters there is no room for a request and a document.
_SHORT_TEXT: Final = 400
# A shorter stretch of sentences that do not ask is background ("I am planning a trip ..."), not a document.
_SHORT_DOCUMENT: Final = 280
# Requests stand near the ends of long texts; what is further inside is not taken apart.
_END_CHARACTERS: Final = 8_000

# Runs of marks are bounded: a line of ten thousand dots must not be scanned once per dot.
_SENTENCE: Final = re.compile(
    r"[^\n]+?(?:[.!?\u2026]{1,8}[\"'\u201d\u2019)\]]{0,4}(?=\s)|[\u3002\uff01\uff1f\u0964]{1,8}|(?=\n)|$)"
)
_FULL_STOP: Final = re.compile(r"[.!?\u2026\u3002\uff01\uff1f\u0964][\"'\u201d\u2019)\]]{0,4}$")
_QUESTION: Final = re.compile(r"[?\uff1f\u061f][\"'\u201d\u2019)\]]{0,4}\s*$")
# What numbers an item of a list is no sentence of its own.
_LIST_MARK: Final = re.compile(r"\W*[0-9a-zA-Z]{1,2}\.")


class Gap(int, Enum):
    """How a sentence is set off from the one before it."""

    SAME_LINE = 0
    NEW_LINE = 1
    NEW_PARAGRAPH = 2


@attrs.frozen
class Sentence:
    """A sentence, or a line without a full stop."""

    text: str
    words: tuple[str, ...]
    gap: Gap

    @property
    def terms(self) -> tuple[str, ...]:
        """Its terms, once each."""
        return tuple(dict.fromkeys(term for word in self.words for term in word_terms(word)))


def sentences(text: str) -> list[Sentence]:
    """Take a text apart; the inside of a very long one stays one piece without words."""
    if len(text) <= 2 * _END_CHARACTERS:
        return _split(text)
    head, inside, tail = text[:_END_CHARACTERS], text[_END_CHARACTERS:-_END_CHARACTERS], text[-_END_CHARACTERS:]
    return [*_split(head), Sentence(inside, (), Gap.SAME_LINE), *_split(tail)]


def _split(text: str) -> list[Sentence]:
    found: list[Sentence] = []
    end = 0
    for match in _SENTENCE.finditer(text):
        content = match.group().strip()
        if not content:
            continue
        gap = Gap(min(text.count("\n", end, match.start()), 2))
        end = match.end()
        if found and gap is Gap.SAME_LINE and _LIST_MARK.fullmatch(found[-1].text):
            before = found.pop()
            content, gap = f"{before.text} {content}", before.gap
        found.append(Sentence(content, tuple(plain_words(content)), gap))
    return found


# -- does a sentence ask? ----------------------------------------------------------------------------------
#
# Log-odds by what a sentence has. They are rough on purpose: they come from how people talk to assistants, not from
# counting one collection of requests.

_BASE: Final = -1.5
_COMMAND: Final = 2.2
# "Book rides", beside "book a ride": the first word may be a noun.
_MAYBE_COMMAND: Final = 1.4
_COURTESY: Final = 1.8
_ASKING_WORDS: Final = 1.4
_QUESTION_MARK: Final = 1.2
_SPEAKER: Final = 1.0
# One asks for oneself; "we" and "our" are how companies and societies write.
_PLURAL_SPEAKER: Final = -0.8
_QUOTED_OR_LETTER: Final = -2.0
_QUOTES: Final = '"\u201c\u00bb>|'
_MOST: Final = 2.5


def asking_strength(sentence: Sentence) -> float:
    """How much a sentence sounds like asking an assistant, as log-odds; 0 is undecided."""
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
    return max(-_MOST, min(strength, _MOST))


def _command(found: Sequence[str]) -> float:
    for position, word in enumerate(found):
        if word not in LEAD_INS:
            if word not in VERBS:
                return 0.0
            return _COMMAND if position + 1 < len(found) and found[position + 1] in OBJECT_STARTS else _MAYBE_COMMAND
    return 0.0


def is_question(text: str) -> bool:
    """Whether a text ends like a question."""
    return _QUESTION.search(text) is not None


# -- where does the document stand? ------------------------------------------------------------------------

# Characters of a usual request and of a usual document, and how far (in units of e) they commonly stray. A document may
# be any longer, a request hardly: in a manual that commands in every line, length is the only cue that is left.
_REQUEST_LENGTH: Final = 180.0
_REQUEST_SPREAD: Final = 1.1
_DOCUMENT_LENGTH: Final = 1000.0
_DOCUMENT_SPREAD: Final = 0.5
# A request without a document may well have several tasks, up to about this length.
_ALONE_LENGTH: Final = 450.0
_ALONE_SPREAD: Final = 0.4
# Sentences of one writer are alike, so the evidence of many counts as that of a few.
_EVIDENCE_SENTENCES: Final = 4
# Every letter has a paragraph that asks more than the others, so only a document that hardly ever asks can show a
# request in its middle: up to this strength on average, and what each unit above it costs.
_SILENT: Final = -1.2
_SILENCE: Final = 5.0
# How well request and document are set off from each other, by the gap between them.
_GAP_STRENGTH: Final = (-1.5, 0.5, 1.0)
# What gaps inside the request cost: most people ask in one paragraph.
_BREAK_COST: Final = (0.0, 0.3, 2.0)
# Documents often start with a line that is no sentence: a title, a sender, a number.
_TITLE: Final = 3.5
# A request beside a document has no more sentences than this, and one around it no more at either end.
_LONGEST_REQUEST: Final = 16
_LONGEST_END: Final = 4

# A sentence this likely to belong to either side is in doubt. What a request is about, the catalog can often do, and
# what a document is about, mostly not: that is looked up for the candidates and for the first and last sentences.
_DOUBT: Final = 0.05
_ALWAYS_CANDIDATES: Final = 2
_RELEVANCE: Final = 4.0
# A candidate gains when it is at least this relevant, as a part of the most relevant one, and loses at most this much.
_PIVOT: Final = 0.5
_LEAST_RELEVANT: Final = -0.5


class _Kind(Enum):
    """Where the request stands; the value is the log-prior."""

    ALONE = 4.0
    LAST = -1.0
    FIRST = -1.1
    INSIDE = -2.0
    AROUND = -5.0


@attrs.frozen
class _Layout:
    """One way to read a text: from ``start`` to before ``end`` is the request (``AROUND``: the document)."""

    kind: _Kind
    start: int
    end: int


@attrs.frozen
class _Sums:
    """Sums over the sentences before each position, so that any stretch costs one subtraction."""

    strengths: tuple[float, ...]
    lengths: tuple[int, ...]
    breaks: tuple[float, ...]
    gaps: tuple[Gap, ...]
    titles: tuple[bool, ...]


def asking_chances(found: Sequence[Sentence], relevance: Callable[[Sequence[str]], float] | None = None) -> list[float]:
    """The chance of each sentence to belong to the request; all 1 when there is no document.

    :param relevance: how well some terms fit what the catalog can do; asked where the wording leaves doubt.
    """
    everything = [1.0] * len(found)
    if sum(len(sentence.text) for sentence in found) < _SHORT_TEXT:
        return everything
    strengths = [asking_strength(sentence) for sentence in found]
    chances = _chances(found, strengths)
    if relevance is not None and any(_DOUBT < chance < 1 - _DOUBT for chance in chances):
        chances = _chances(found, _with_relevance(found, strengths, chances, relevance))
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
    """Add to each candidate how well it fits the catalog, measured by the candidate that fits best."""
    last = len(found) - _ALWAYS_CANDIDATES
    candidates = {
        i: relevance(sentence.terms)
        for i, sentence in enumerate(found)
        if chances[i] > _DOUBT or not _ALWAYS_CANDIDATES <= i < last
    }
    best = max(candidates.values()) or 1.0
    gains = {i: _RELEVANCE * max(fit / best - _PIVOT, _LEAST_RELEVANT) for i, fit in candidates.items()}
    return [strength + gains.get(i, 0.0) for i, strength in enumerate(strengths)]


def _chances(found: Sequence[Sentence], strengths: Sequence[float]) -> list[float]:
    sums = _sums(found, strengths)
    layouts = [(layout, _score(sums, layout)) for layout in _layouts(sums.gaps)]
    best = max(score for _, score in layouts)
    # Each layout adds its share where its stretch starts and takes it back where it ends.
    changes = [0.0] * (len(found) + 1)
    total = 0.0
    for layout, score in layouts:
        share = exp(score - best)
        total += share
        inside = share
        if layout.kind is _Kind.AROUND:
            changes[0] += share
            inside = -share
        changes[layout.start] += inside
        changes[layout.end] -= inside
    return [min(max(chance / total, 0.0), 1.0) for chance in accumulate(changes[:-1])]


def _sums(found: Sequence[Sentence], strengths: Sequence[float]) -> _Sums:
    return _Sums(
        strengths=tuple(accumulate(strengths, initial=0.0)),
        lengths=tuple(accumulate((len(sentence.text) for sentence in found), initial=0)),
        breaks=tuple(accumulate((_BREAK_COST[sentence.gap] for sentence in found), initial=0.0)),
        gaps=tuple(sentence.gap for sentence in found),
        titles=tuple(
            strength <= 0 and not _FULL_STOP.search(sentence.text)
            for sentence, strength in zip(found, strengths, strict=True)
        ),
    )


def _layouts(gaps: Sequence[Gap]) -> Iterator[_Layout]:
    """The layouts worth a look."""
    count = len(gaps)
    yield _Layout(_Kind.ALONE, 0, count)
    longest = min(_LONGEST_REQUEST, count - 1)
    for size in range(1, longest + 1):
        yield _Layout(_Kind.LAST, count - size, count)
        yield _Layout(_Kind.FIRST, 0, size)
    # Inside a document a request stands in a paragraph of its own, or people could not tell it either.
    paragraphs = [i for i in range(1, count) if gaps[i] is Gap.NEW_PARAGRAPH]
    for start, end in pairwise(paragraphs):
        if end - start <= longest:
            yield _Layout(_Kind.INSIDE, start, end)
    for start in range(1, min(_LONGEST_END, count - 2) + 1):
        for end in range(max(start + 1, count - _LONGEST_END), count):
            yield _Layout(_Kind.AROUND, start, end)


def _score(sums: _Sums, layout: _Layout) -> float:
    """The log-probability of a layout, up to a constant."""
    kind, start, end = layout.kind, layout.start, layout.end
    count = len(sums.gaps)
    size, asking, length = (
        end - start,
        sums.strengths[end] - sums.strengths[start],
        sums.lengths[end] - sums.lengths[start],
    )
    breaks = sums.breaks[end] - sums.breaks[start + 1]
    if kind is _Kind.AROUND:
        size, asking, length = count - size, sums.strengths[count] - asking, sums.lengths[count] - length
        breaks = sums.breaks[start] - sums.breaks[1] + sums.breaks[count] - sums.breaks[end + 1]
    score = kind.value + asking / size * min(size, _EVIDENCE_SENTENCES)
    rest = count - size
    if not rest:
        return score - _surprise(max(length, _ALONE_LENGTH), _ALONE_LENGTH, _ALONE_SPREAD)
    document_asks = (sums.strengths[count] - asking) / rest
    score -= document_asks * min(rest, _EVIDENCE_SENTENCES)
    if kind is _Kind.INSIDE:
        score -= _SILENCE * (document_asks - _SILENT)
    score -= breaks + _surprise(length, _REQUEST_LENGTH, _REQUEST_SPREAD)
    score -= _surprise(min(sums.lengths[count] - length, _DOCUMENT_LENGTH), _DOCUMENT_LENGTH, _DOCUMENT_SPREAD)
    # Where the change is, is one of many places: the more there are, the less is each of them worth.
    score += sum(_GAP_STRENGTH[sums.gaps[edge]] - log(count) for edge in (start, end) if 0 < edge < count)
    return score + (_TITLE if sums.titles[_document_start(layout)] else 0.0)


def _document_start(layout: _Layout) -> int:
    if layout.kind is _Kind.FIRST:
        return layout.end
    return layout.start if layout.kind is _Kind.AROUND else 0


def _surprise(length: float, usual: float, spread: float) -> float:
    return (log(max(length, 1) / usual) / spread) ** 2 / 2
