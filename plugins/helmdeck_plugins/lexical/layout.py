"""Separates a request from a document that was pasted with it, at any position.

Every possible layout of a text as request and document gets a score, a log-probability: the sum of learnt weights of the
features of its sentences, its borders and the layout itself. The probability that a sentence belongs to the request is the
share of the layouts in which it does. Case is not a signal. ``segmentation.json`` holds the weights.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import accumulate, pairwise
from math import exp, log
from operator import mul
from typing import Final, NamedTuple

import attrs

from helmdeck_plugins.lexical import cues
from helmdeck_plugins.lexical.sentences import Gap, Sentence

# A shorter text contains no document, and shorter text is background ("I am planning a trip ..."), not a document; both
# as ``width``.
SHORT_TEXT: Final = 400
_SHORT_DOCUMENT: Final = 280
_WIDE: Final = "\u2e80"
# Maximum number of sentences of a request next to a document, and at either end of a request around it.
_LONGEST_REQUEST: Final = 16
_LONGEST_END: Final = 4
# Paragraphs at either end of a text that may be a request inside a document.
_INNER_PARAGRAPHS: Final = 10
# Relevance is computed for this many sentences at either end, the other features for this many.
_RELEVANT_ENDS: Final = 5
_FEATURED_ENDS: Final = 60
# Sentences of one author are similar, so the evidence of many counts as that of a few.
EVIDENCE_SENTENCES: Final = 4
# Words of sentences with a lower probability count nothing.
_NEGLIGIBLE: Final = 0.25
# Usual length of a request and of a document, in characters.
_REQUEST_LENGTH: Final = 180.0
_DOCUMENT_LENGTH: Final = 1000.0

BORDER: Final = (
    "same_line", "new_line", "paragraph", "outermost", "in_block", "break", "switch", "colon", "title", "position",
    "neighbour_relevance", "neighbour_asks", "neighbour_open", "neighbour_bullet", "list_inside",
    "own_asks", "own_relevance", "own_open", "own_statement", "neighbour_statement", "contrast",
)  # fmt: skip
"""Names of the features of the border between request and document."""
LAYOUT: Final = (
    "last", "first", "inside", "around", "length", "length2", "document", "document2", "sentences", "paragraphs",
    "lines", "titled", "silent", "silent_end", "loud_document", "quiet_document",
    "alone_length", "alone_length2", "alone_labels", "alone_letter", "alone_bullets", "alone_open", "alone_symbols",
    "alone_tongues", "alone_paragraphs", "alone_asks", "alone_titled", "alone_starts", "alone_ends",
)  # fmt: skip
"""Names of the features of a layout; those of a text without a document start with ``alone``."""
ALONE_FEATURES: Final = LAYOUT.index("alone_length")

Relevance = Callable[[Sequence[str]], float]


class Layout(NamedTuple):
    """One split of a text into request and document.

    :ivar start: the sentences from here up to ``end`` are the request; the document, if ``is_around``.
    :ivar before: the border in front of the request's sentences, or -1; ``after`` the one behind them, or -1.
    :ivar features: values of the first features of ``LAYOUT``, or of those of a text alone.
    """

    start: int
    end: int
    is_around: bool
    size: int
    before: int
    after: int
    features: tuple[float, ...]

    @property
    def is_alone(self) -> bool:
        """Whether the whole text is the request."""
        return self.before < 0 and self.after < 0


@attrs.frozen
class Model:
    """The weights, in the order of the names of the features."""

    request: tuple[float, ...]
    document: tuple[float, ...]
    border: tuple[float, ...]
    layout: tuple[float, ...]


@cache
def model() -> Model:
    """Return the weights of the data file."""
    data: Mapping[str, Mapping[str, float]] = json.loads(
        files("helmdeck_plugins.lexical").joinpath("segmentation.json").read_text(encoding="utf-8")
    )
    names = {"request": cues.FEATURES, "document": cues.FEATURES, "border": BORDER, "layout": LAYOUT}
    return Model(*[tuple([data[part].get(name, 0.0) for name in own]) for part, own in names.items()])


def asking_chances(found: Sequence[Sentence], relevance: Relevance | None = None) -> list[float]:
    """Return the probability of each sentence to belong to the request; all 1 if there is no document.

    :param relevance: how well terms match the catalog; used for sentences near the ends.
    """
    everything = [1.0] * len(found)
    widths = [width(sentence.text) for sentence in found]
    if sum(widths) < SHORT_TEXT or len(found) < 2:
        return everything
    chances = _chances(Text(found, widths, relevance), model())
    if sum([size for size, chance in zip(widths, chances, strict=True) if chance < 0.5]) < _SHORT_DOCUMENT:
        return everything
    best = max(chances)
    return [chance if chance >= _NEGLIGIBLE or chance == best else 0.0 for chance in chances]


def width(text: str) -> int:
    """Return the length of a text as that of an English one: a Chinese or Japanese character counts as 2.5."""
    return len(text) if text.isascii() else len(text) + sum([char >= _WIDE for char in text[:4_000]]) * 3 // 2


# -- features --------------------------------------------------------------------------------------------------


class Text:
    """The features of a text: of its sentences, of each border between two of them, and of each layout.

    :ivar vectors: for each sentence, places and values of its features.
    :ivar before: features of each border in front of a request; ``after`` the same behind a request.
    """

    def __init__(self, found: Sequence[Sentence], widths: Sequence[int], relevance: Relevance | None) -> None:
        self.found = found
        self._lengths = list(accumulate(widths, initial=0))
        count = len(found)
        ends = min(count, _FEATURED_ENDS)
        featured = range(count) if count <= 2 * ends else (*range(ends), *range(count - ends, count))
        self._own: list[dict[int, float]] = [{0: 1.0}] * count
        self._tongues = [""] * count
        for i in featured:
            self._own[i], self._tongues[i] = cues.features(found[i])
        self._is_asking = [not cues.ASKING.isdisjoint(own) for own in self._own]
        self._context(featured, relevance)
        self._cohere()
        self.layouts = list(self._layouts())

    @property
    def vectors(self) -> Sequence[Mapping[int, float]]:
        """Features of each sentence."""
        return self._own

    def _context(self, featured: Sequence[int], relevance: Relevance | None) -> None:
        """Add the features that depend on the other sentences."""
        found, count = self.found, len(self.found)
        other, repeated, relevant, unrelated, dull = cues.CONTEXT
        sizes: dict[str, int] = {}
        for i in featured:
            if self._tongues[i]:
                sizes[self._tongues[i]] = sizes.get(self._tongues[i], 0) + len(found[i].text)
        self.main_tongue = max(sizes, key=lambda name: sizes[name]) if sizes else ""
        self.tongue_share = sizes[self.main_tongue] / sum(sizes.values()) if sizes else 1.0
        frequency: dict[str, int] = {}
        for i in featured:
            for term in found[i].terms:
                frequency[term] = frequency.get(term, 0) + 1
        for i in featured:
            own, terms = self._own[i], found[i].terms
            if self._tongues[i] and self._tongues[i] != self.main_tongue:
                own[other] = 1.0
            if terms:
                own[repeated] = sum([frequency[term] > 1 for term in terms]) / len(terms)
        self.relevance: dict[int, float] = {}
        if relevance is None:
            return
        ends = range(count) if count <= 2 * _RELEVANT_ENDS else (
            *range(_RELEVANT_ENDS), *range(count - _RELEVANT_ENDS, count)
        )  # fmt: skip
        fits = {i: relevance(found[i].terms) for i in ends}
        best = max(fits.values())
        if best > 0:
            for i, fit in fits.items():
                self.relevance[i] = self._own[i][relevant] = fit / best - 0.5
                if not fit:
                    self._own[i][unrelated] = 1.0
                if fit < best / 2 and cues.STATEMENT in self._own[i]:
                    self._own[i][dull] = 1.0

    def _cohere(self) -> None:
        """Compute the features of the borders."""
        found, count = self.found, len(self.found)
        first: dict[str, int] = {}
        last: dict[str, int] = {}
        for i, sentence in enumerate(found):
            for term in sentence.terms:
                first.setdefault(term, i)
                last[term] = i
        begun, ended = [0] * (count + 1), [0] * (count + 1)
        for i in first.values():
            begun[i + 1] += 1
        for i in last.values():
            ended[i + 1] += 1
        left = list(accumulate(begun))
        gone = list(accumulate(ended))
        paragraphs = [i for i in range(1, count) if found[i].gap is Gap.NEW_PARAGRAPH]
        self._paragraphs = paragraphs
        outer = (paragraphs[0], paragraphs[-1]) if paragraphs else (-1, -1)
        self.before: dict[int, tuple[float, ...]] = {}
        self.after: dict[int, tuple[float, ...]] = {}
        reach = _LONGEST_REQUEST + 1
        self._inner = (paragraphs[:_INNER_PARAGRAPHS], paragraphs[-_INNER_PARAGRAPHS:])
        inner = {*self._inner[0], *self._inner[1]}
        for i in inner.union(range(1, min(reach, count)), range(max(1, count - reach + 1), count)):
            crossing = left[i] - gone[i]
            split = 1.0 - min(1.0, crossing / (min(left[i], len(last) - gone[i]) or 1))
            if i in inner or i > count - reach:
                self.before[i] = self._border(i, i - 1, i, outer[1], split)
            if i in inner or i < reach:
                self.after[i] = self._border(i, i, i - 1, outer[0], split)

    def _border(self, at: int, document: int, request: int, outer: int, split: float) -> tuple[float, ...]:
        found, gap = self.found, self.found[at].gap
        beside, own = self._own[document], self._own[request]
        here, there = self._tongues[request], self._tongues[document]
        around = [found[i].gap for i in (at - 1, at + 1) if 0 < i < len(found)]
        is_open = cues.OPEN_END in beside
        return (
            float(gap is Gap.SAME_LINE), float(gap is Gap.NEW_LINE), float(gap is Gap.NEW_PARAGRAPH),
            float(at == outer), float(gap is Gap.NEW_LINE and Gap.NEW_LINE in around), split,
            float(bool(here and there) and here != there), float(found[at - 1].text[-1] in ":\uff1a"),
            float(document == at and is_open and not self._is_asking[document]), log(len(found)),
            self.relevance.get(document, 0.0), float(self._is_asking[document]), float(is_open),
            float(cues.BULLET in beside), float(cues.BULLET in own and cues.BULLET in beside),
            float(self._is_asking[request]), self.relevance.get(request, 0.0), float(cues.OPEN_END in own),
            float(cues.STATEMENT in own), float(cues.STATEMENT in beside),
            float(self._is_asking[request] and not self._is_asking[document]),
        )  # fmt: skip

    # -- layouts -------------------------------------------------------------------------------------------

    def _layouts(self) -> Iterator[Layout]:
        """Yield the plausible layouts."""
        count = len(self.found)
        every = list(accumulate([float(asks) for asks in self._is_asking], initial=0.0))
        paragraphs = list(accumulate([sentence.gap is Gap.NEW_PARAGRAPH for sentence in self.found], initial=0))
        lines = list(accumulate([sentence.gap is Gap.NEW_LINE for sentence in self.found], initial=0))
        lengths, whole = self._lengths, self._lengths[count]
        own = self._own[0]
        titled = float(cues.OPEN_END in own and not self._is_asking[0])

        def beside(kind: int, start: int, end: int) -> tuple[float, ...]:
            """Features of a layout with the sentences from ``start`` to ``end`` on one side, the others on the other."""
            around = kind == 3
            length = lengths[end] - lengths[start]
            broken = paragraphs[end] - paragraphs[min(start + 1, end)]
            wrapped = lines[end] - lines[min(start + 1, end)]
            asking = every[end] - every[start]
            size = end - start
            if around:
                length, asking, size = whole - length, every[count] - asking, count - size
                broken = paragraphs[start] - paragraphs[1] + paragraphs[count] - paragraphs[min(end + 1, count)]
                wrapped = lines[start] - lines[1] + lines[count] - lines[min(end + 1, count)]
            loud = (every[count] - asking) / (count - size)
            surprise = log(max(length, 8) / _REQUEST_LENGTH)
            short = min(0.0, log(max(whole - length, 8) / _DOCUMENT_LENGTH))
            return (
                float(kind == 0), float(kind == 1), float(kind == 2), float(around), surprise, surprise * surprise,
                short, short * short, log(size), min(broken, 4), min(wrapped, 6),
                titled if kind in (0, 2) else 0.0, float(not asking),
                float(around and (not every[start] or every[count] == every[end])), loud, float(loud == 0.0),
            )  # fmt: skip

        yield Layout(0, count, False, count, -1, -1, self._alone(every[count], paragraphs[count], titled))
        for size in range(1, min(_LONGEST_REQUEST, count - 1) + 1):
            start = count - size
            yield Layout(start, count, False, size, start, -1, beside(0, start, count))
            yield Layout(0, size, False, size, -1, size, beside(1, 0, size))
        for start, end in self._inner_pairs():
            yield Layout(start, end, False, end - start, start, end, beside(2, start, end))
        for start in range(1, min(_LONGEST_END, count - 2) + 1):
            if self.found[start].gap is not Gap.SAME_LINE:
                for end in range(max(start + 1, count - _LONGEST_END), count):
                    if self.found[end].gap is not Gap.SAME_LINE:
                        yield Layout(start, end, True, count - end + start, end, start, beside(3, start, end))

    def _inner_pairs(self) -> Iterator[tuple[int, int]]:
        """Yield start and end of single paragraphs near the ends of the text."""
        pairs = {pair for places in self._inner for pair in pairwise(places)}
        for start, end in sorted(pairs):
            if end - start <= min(_LONGEST_REQUEST, len(self.found) - 2):
                yield start, end

    def _alone(self, asking: float, paragraphs: int, titled: float) -> tuple[float, ...]:
        own = self._own
        count = len(own)
        surprise = log(max(self._lengths[count], SHORT_TEXT) / SHORT_TEXT)
        labels = sum([cues.LABEL in vector for vector in own])
        letters = [i for i, vector in enumerate(own) if cues.LETTER in vector]
        bullets = sum([cues.BULLET in vector for vector in own])
        return (
            surprise, surprise * surprise, float(labels >= 3),
            float(bool(letters) and letters[0] < 5 and letters[-1] > count / 2), float(bullets >= 3),
            sum([cues.OPEN_END in vector for vector in own]) / count,
            sum([vector.get(cues.SYMBOLS, 0.0) for vector in own]) / count, 1.0 - self.tongue_share,
            log(1 + paragraphs), asking / count, titled, float(self._is_asking[0]), float(self._is_asking[-1]),
        )  # fmt: skip


# -- probabilities ---------------------------------------------------------------------------------------------


def _chances(text: Text, weights: Model) -> list[float]:
    count = len(text.found)
    asking = list(accumulate([_sum(weights.request, own) for own in text.vectors], initial=0.0))
    stating = list(accumulate([_sum(weights.document, own) for own in text.vectors], initial=0.0))
    before = {i: _dot(weights.border, vector) for i, vector in text.before.items()}
    after = {i: _dot(weights.border, vector) for i, vector in text.after.items()}
    before[-1] = after[-1] = 0.0
    beside, alone = weights.layout[:ALONE_FEATURES], weights.layout[ALONE_FEATURES:]
    scores: list[float] = []
    for layout in text.layouts:
        start, end, is_around, size, first, last, features = layout
        inside, told = asking[end] - asking[start], stating[end] - stating[start]
        if is_around:
            inside = asking[count] - inside
        else:
            told = stating[count] - told
        rest = count - size
        if size > EVIDENCE_SENTENCES:
            inside *= EVIDENCE_SENTENCES / size
        if rest > EVIDENCE_SENTENCES:
            told *= EVIDENCE_SENTENCES / rest
        scores.append(inside + told + before[first] + after[last] + _dot(beside if rest else alone, features))
    best = max(scores)
    # Each layout adds its share at its start and removes it at its end.
    changes = [0.0] * (count + 1)
    total = 0.0
    for (start, end, is_around, *_), score in zip(text.layouts, scores, strict=True):
        share = inside = exp(score - best)
        total += share
        if is_around:
            changes[0] += share
            inside = -share
        changes[start] += inside
        changes[end] -= inside
    return [min(max(chance / total, 0.0), 1.0) for chance in accumulate(changes[:-1])]


def _sum(weights: Sequence[float], vector: Mapping[int, float]) -> float:
    return sum([weights[place] * value for place, value in vector.items()])


def _dot(weights: Sequence[float], vector: Sequence[float]) -> float:
    total: float = sum(map(mul, weights, vector))
    return total
