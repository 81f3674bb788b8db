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
# Size limit of the cache of sums of weights.
_MAX_SUMS: Final = 20_000
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
    :ivar score: the sum of the weights of its features.
    """

    start: int
    end: int
    is_around: bool
    score: float


@attrs.frozen
class Model:
    """The weights, in the order of the names of the features.

    The scores of layouts are linear in the weights, and no step depends on their values: with unit vectors of NumPy as
    weights, the "score" of a layout is its vector of features. So the weights are fitted on exactly what is computed here.
    """

    request: Sequence[float]
    document: Sequence[float]
    border: Sequence[float]
    layout: Sequence[float]
    _sums: dict[int, tuple[float, float, float, float]] = attrs.field(factory=dict, init=False, eq=False)

    def sums(self, flags: int) -> tuple[float, float, float, float]:
        """Return the weight of the features of a sentence in a request and in a document, and beside a border in these."""
        found = self._sums.get(flags)
        if found is not None:
            return found
        places = [place for place in range(len(cues.FEATURES)) if flags >> place & 1]
        asks, opens, states = flags & cues.ASKING, flags & cues.OPEN_END, flags & cues.STATEMENT
        own = _border_places("own", "asks", "open", "statement")
        beside = _border_places("neighbour", "asks", "open", "statement", "bullet")
        known = (asks, opens, states, flags & cues.BULLET)
        found = (
            sum([self.request[place] for place in places]),
            sum([self.document[place] for place in places]),
            sum([self.border[place] for place, is_so in zip(own, known, strict=False) if is_so]),
            sum([self.border[place] for place, is_so in zip(beside, known, strict=True) if is_so]),
        )
        if len(self._sums) < _MAX_SUMS:
            self._sums[flags] = found
        return found


def _border_places(side: str, *names: str) -> list[int]:
    return [BORDER.index(f"{side}_{name}") for name in names]


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
    chances = _chances(len(found), Text(found, widths, relevance).layouts(model()))
    if sum([size for size, chance in zip(widths, chances, strict=True) if chance < 0.5]) < _SHORT_DOCUMENT:
        return everything
    best = max(chances)
    return [chance if chance >= _NEGLIGIBLE or chance == best else 0.0 for chance in chances]


def width(text: str) -> int:
    """Return the length of a text as that of an English one: a Chinese or Japanese character counts as 2.5."""
    return len(text) if text.isascii() else len(text) + sum([char >= _WIDE for char in text[:4_000]]) * 3 // 2


# -- features --------------------------------------------------------------------------------------------------


class Text:
    """The features of a text: of its sentences, of the borders between them, and of its layouts."""

    def __init__(self, found: Sequence[Sentence], widths: Sequence[int], relevance: Relevance | None) -> None:
        self.found = found
        self._lengths = list(accumulate(widths, initial=0))
        count = len(found)
        ends = min(count, _FEATURED_ENDS)
        featured = range(count) if count <= 2 * ends else (*range(ends), *range(count - ends, count))
        self._flags = [cues.BASE] * count
        self._values: list[Sequence[tuple[int, float]]] = [()] * count
        self._tongues = [""] * count
        for i in featured:
            self._flags[i], self._values[i], self._tongues[i] = cues.features(found[i])
        self._is_asking = [flags & cues.ASKING != 0 for flags in self._flags]
        self._context(featured)
        self._relevance = [0.0] * count
        if relevance is not None:
            self._relate(relevance)

    def _context(self, featured: Sequence[int]) -> None:
        """Add the features that depend on the other sentences."""
        found = self.found
        sizes: dict[str, int] = {}
        for i in featured:
            if tongue := self._tongues[i]:
                sizes[tongue] = sizes.get(tongue, 0) + len(found[i].text)
        main = max(sizes, key=lambda name: sizes[name]) if sizes else ""
        self._tongue_share = sizes[main] / sum(sizes.values()) if sizes else 1.0
        seen: set[str] = set()
        again: set[str] = set()
        for i in featured:
            terms = found[i].terms
            again.update(seen.intersection(terms))
            seen.update(terms)
        for i in featured:
            if len(sizes) > 1 and self._tongues[i] and self._tongues[i] != main:
                self._flags[i] |= cues.OTHER_TONGUE
            if terms := found[i].terms:
                repeated = len(again.intersection(terms)) / len(terms)
                self._values[i] = (*self._values[i], (cues.REPEATED, repeated))

    def _relate(self, relevance: Relevance) -> None:
        """Add the relevance of the sentences near the ends."""
        count = len(self.found)
        ends = range(count) if count <= 2 * _RELEVANT_ENDS else (
            *range(_RELEVANT_ENDS), *range(count - _RELEVANT_ENDS, count)
        )  # fmt: skip
        fits = [(i, relevance(self.found[i].terms)) for i in ends]
        best = max([fit for _, fit in fits])
        for i, fit in fits if best > 0 else ():
            self._relevance[i] = relative = fit / best - 0.5
            self._values[i] = (*self._values[i], (cues.RELEVANCE, relative))
            if not fit:
                self._flags[i] |= cues.UNRELATED
            if fit < best / 2 and self._flags[i] & cues.STATEMENT:
                self._flags[i] |= cues.DULL

    # -- layouts -------------------------------------------------------------------------------------------

    def layouts(self, weights: Model) -> list[Layout]:
        """Return the plausible layouts with their scores."""
        found, count = self.found, len(self.found)
        flags = self._flags
        sums = [weights.sums(each) for each in flags]
        asking, telling = self._evidence(weights, sums)
        before, after = self._borders(weights, sums)
        last, first, inside, around, *others = weights.layout[:ALONE_FEATURES]
        (by_length, by_length2, by_document, by_document2, by_size, broken_, wrapped_, titled_, silent, silent_end,
         by_loud, quiet) = others  # fmt: skip
        every = list(accumulate(map(int, self._is_asking), initial=0))
        paragraphs = list(accumulate([sentence.gap is Gap.NEW_PARAGRAPH for sentence in found], initial=0))
        lines = list(accumulate([sentence.gap is Gap.NEW_LINE for sentence in found], initial=0))
        lengths, whole, asked = self._lengths, self._lengths[count], every[count]
        title = titled_ if flags[0] & cues.OPEN_END and not self._is_asking[0] else 0.0
        most = EVIDENCE_SENTENCES

        def beside(start: int, end: int, score: float, *, is_around: bool = False) -> Layout:
            """Score a layout with the sentences from ``start`` to ``end`` on one side, the others on the other."""
            own, told = asking[end] - asking[start], telling[end] - telling[start]
            length, size, asks = lengths[end] - lengths[start], end - start, every[end] - every[start]
            broken = paragraphs[end] - paragraphs[start + 1]
            wrapped = lines[end] - lines[start + 1]
            if is_around:
                own, length, asks, size = asking[count] - own, whole - length, asked - asks, count - size
                broken = paragraphs[start] - paragraphs[1] + paragraphs[count] - paragraphs[min(end + 1, count)]
                wrapped = lines[start] - lines[1] + lines[count] - lines[min(end + 1, count)]
                if not every[start] or asked == every[end]:
                    score = score + silent_end
            else:
                told = telling[count] - told
            rest = count - size
            surprise = log((length if length > 8 else 8) / _REQUEST_LENGTH)
            score = (
                score + (own if size <= most else own * (most / size)) + (told if rest <= most else told * (most / rest))
                + by_length * surprise + by_length2 * (surprise * surprise) + by_size * log(size)
            )  # fmt: skip
            length = whole - length
            if length < _DOCUMENT_LENGTH:
                short = log((length if length > 8 else 8) / _DOCUMENT_LENGTH)
                score = score + by_document * short + by_document2 * (short * short)
            if broken:
                score = score + broken_ * min(broken, 4)
            if wrapped:
                score = score + wrapped_ * min(wrapped, 6)
            if not asks:
                score = score + silent
            loud = asked - asks
            return Layout(start, end, is_around, score + (by_loud * (loud / rest) if loud else quiet))

        alone = self._alone(weights.layout[ALONE_FEATURES:], asked / count, paragraphs[count])
        scored = [Layout(0, count, False, asking[count] * min(1.0, most / count) + alone)]
        for size in range(1, min(_LONGEST_REQUEST, count - 1) + 1):
            scored.append(beside(count - size, count, last + title + before[count - size]))
            scored.append(beside(0, size, first + after[size]))
        for start, end in self._inner_pairs():
            scored.append(beside(start, end, inside + title + before[start] + after[end]))
        for start in range(1, min(_LONGEST_END, count - 2) + 1):
            if found[start].gap is not Gap.SAME_LINE:
                for end in range(max(start + 1, count - _LONGEST_END), count):
                    if found[end].gap is not Gap.SAME_LINE:
                        scored.append(beside(start, end, around + before[end] + after[start], is_around=True))
        return scored

    def _evidence(self, weights: Model, sums: Sequence[Sequence[float]]) -> tuple[list[float], list[float]]:
        """Return the sums of the weights of all sentences up to each one, as a request and as a document."""
        asks: list[float] = [0.0]
        stated: list[float] = [0.0]
        ask = tell = 0.0
        for (own, told, _, _), values in zip(sums, self._values, strict=True):
            ask, tell = ask + own, tell + told
            for place, value in values:
                ask = ask + weights.request[place] * value
                tell = tell + weights.document[place] * value
            asks.append(ask)
            stated.append(tell)
        return asks, stated

    def _borders(self, weights: Model, sums: Sequence[Sequence[float]]) -> tuple[dict[int, float], dict[int, float]]:
        """Return the scores of the borders in front of a request, and of those behind one."""
        found, count = self.found, len(self.found)
        (same_line, new_line, paragraph, outermost, in_block, break_, switch, colon, title, position, near_relevance,
         _, _, _, list_inside, _, own_relevance, *_, contrast) = weights.border  # fmt: skip
        by_gap = (same_line, new_line, paragraph)
        first: dict[str, int] = {}
        last: dict[str, int] = {}
        for i in range(count - 1, -1, -1):
            first.update(dict.fromkeys(found[i].terms, i))
        for i, sentence in enumerate(found):
            last.update(dict.fromkeys(sentence.terms, i))
        begun, ended = [0] * (count + 1), [0] * (count + 1)
        for i in first.values():
            begun[i + 1] += 1
        for i in last.values():
            ended[i + 1] += 1
        left, gone, terms = list(accumulate(begun)), list(accumulate(ended)), len(last)
        tongues, flags, is_asking, relevance = self._tongues, self._flags, self._is_asking, self._relevance
        gaps = [sentence.gap for sentence in found]
        paragraphs = [i for i in range(1, count) if gaps[i] is Gap.NEW_PARAGRAPH]
        outer = (paragraphs[0], paragraphs[-1]) if paragraphs else (-1, -1)
        size = log(count)

        def border(at: int, document: int, request: int, outer: int) -> float:
            gap, there, here = gaps[at], flags[document], flags[request]
            crossing = left[at] - gone[at]
            split = 1.0 - min(1.0, crossing / (min(left[at], terms - gone[at]) or 1))
            score = (
                by_gap[gap] + break_ * split + position * size + sums[request][2] + sums[document][3]
                + near_relevance * relevance[document] + own_relevance * relevance[request]
            )  # fmt: skip
            if at == outer:
                score = score + outermost
            if gap is Gap.NEW_LINE and ((at > 1 and gaps[at - 1] is gap) or (at + 1 < count and gaps[at + 1] is gap)):
                score = score + in_block
            if tongues[request] != tongues[document] and tongues[request] and tongues[document]:
                score = score + switch
            if found[at - 1].text[-1] in ":\uff1a":
                score = score + colon
            if document == at and there & cues.OPEN_END and not is_asking[document]:
                score = score + title
            if there & here & cues.BULLET:
                score = score + list_inside
            if is_asking[request] and not is_asking[document]:
                score = score + contrast
            return score

        reach = _LONGEST_REQUEST + 1
        self._inner = (paragraphs[:_INNER_PARAGRAPHS], paragraphs[-_INNER_PARAGRAPHS:])
        inner = {*self._inner[0], *self._inner[1]}
        starts = inner.union(range(max(1, count - reach + 1), count))
        ends = inner.union(range(1, min(reach, count)))
        return {i: border(i, i - 1, i, outer[1]) for i in starts}, {i: border(i, i, i - 1, outer[0]) for i in ends}

    def _inner_pairs(self) -> Iterator[tuple[int, int]]:
        """Yield start and end of single paragraphs near the ends of the text."""
        pairs = {pair for places in self._inner for pair in pairwise(places)}
        for start, end in sorted(pairs):
            if end - start <= min(_LONGEST_REQUEST, len(self.found) - 2):
                yield start, end

    def _alone(self, weights: Sequence[float], asking: float, paragraphs: int) -> float:
        """Score the layout that is all request."""
        flags, count = self._flags, len(self._flags)
        surprise = log(max(self._lengths[count], SHORT_TEXT) / SHORT_TEXT)
        labels = sum([each & cues.LABEL != 0 for each in flags])
        letters = [i for i, each in enumerate(flags) if each & cues.LETTER]
        bullets = sum([each & cues.BULLET != 0 for each in flags])
        symbols = [value for values in self._values for place, value in values if place == cues.SYMBOLS]
        titled = flags[0] & cues.OPEN_END and not self._is_asking[0]
        values = (
            surprise, surprise * surprise, float(labels >= 3),
            float(bool(letters) and letters[0] < 5 and letters[-1] > count / 2), float(bullets >= 3),
            sum([each & cues.OPEN_END != 0 for each in flags]) / count,
            sum(symbols) / count, 1.0 - self._tongue_share,
            log(1 + paragraphs), asking, float(titled), float(self._is_asking[0]), float(self._is_asking[-1]),
        )  # fmt: skip
        total: float = sum(map(mul, weights, values))
        return total


# -- probabilities ---------------------------------------------------------------------------------------------


def _chances(count: int, layouts: Sequence[Layout]) -> list[float]:
    best = max([layout.score for layout in layouts])
    # Each layout adds its share at its start and removes it at its end.
    changes = [0.0] * (count + 1)
    total = 0.0
    for start, end, is_around, score in layouts:
        share = inside = exp(score - best)
        total += share
        if is_around:
            changes[0] += share
            inside = -share
        changes[start] += inside
        changes[end] -= inside
    return [min(max(chance / total, 0.0), 1.0) for chance in accumulate(changes[:-1])]
