"""Separates a request from a document that was pasted with it, at any position.

Every possible layout of a text as request and document gets a score, a log-probability: the sum of learnt weights of the
features of its sentences, its borders and the layout itself. The probability that a sentence belongs to the request is the
share of the layouts in which it does. Case is not a signal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, chain, pairwise
from math import exp, log
from operator import mul
from typing import Final, NamedTuple

from helmdeck_language.request import cues
from helmdeck_language.request.borders import Sides, border_scores, recurrences
from helmdeck_language.request.model import ALONE_FEATURES, Model, model
from helmdeck_language.request.sentences import NEW_LINE, NEW_PARAGRAPH, SAME_LINE, Sentence, copies
from helmdeck_language.request.turn_layouts import turn_scores
from helmdeck_language.request.turns import turns

# A shorter text contains no document, and shorter text is background ("I am planning a trip ..."), not a document; both
# as ``width``. Of 309 requests of 250 to 400 characters, none is read as one with a document.
SHORT_TEXT: Final = 200
_SHORT_DOCUMENT: Final = 100
_WIDE: Final = "\u2e80"
# Maximum number of sentences of a request next to a document, and at either end of a request around it.
_LONGEST_REQUEST: Final = 24
# A request of more sentences begins or ends with a line.
_LONGEST_IN_LINE: Final = 8
_LONGEST_END: Final = 4
# Paragraphs at either end of a text that may be a request inside a document, and how many such a request has.
_INNER_PARAGRAPHS: Final = 16
_MOST_PARAGRAPHS: Final = 3
# Relevance is computed for this many sentences at either end, the other features for this many.
_RELEVANT_ENDS: Final = 5
_FEATURED_ENDS: Final = 60
# Sentences of one author are similar, so the evidence of many counts as that of a few.
EVIDENCE_SENTENCES: Final = 8
# Minimum probability that there is no document, for a text that is treated as one request. Beside a document it is higher in
# less than 1 % of texts, and what is left out of a request is lost.
_ALL_REQUEST: Final = 0.45
# The largest share of lines without words in a request.
_MOST_WORDLESS: Final = 0.2
# Words of sentences with a lower probability count nothing.
_NEGLIGIBLE: Final = 0.25
# Usual length of a request and of a document, in characters.
_REQUEST_LENGTH: Final = 180.0
_DOCUMENT_LENGTH: Final = 1000.0

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


def asking_chances(found: Sequence[Sentence], relevance: Relevance | None = None) -> list[float]:
    """Return the probability of each sentence to belong to the request; all 1 if there is no document.

    :param relevance: how well terms match the catalog; used for sentences near the ends.
    """
    widths = [width(sentence.text) for sentence in found]
    if is_short(found, widths):
        return [1.0] * len(found)
    # A passage that is pasted again neither asks again nor changes which part is the request.
    ignored = copies(found)
    is_whole = True
    for place, sentence in enumerate(found):
        if sentence.is_unread:
            ignored.add(place)
            is_whole = False
    if not ignored:
        return _asking_chances(found, widths, relevance)
    kept = [place for place in range(len(found)) if place not in ignored]
    if not is_whole and sum([widths[place] for place in kept]) < SHORT_TEXT:
        kept = [place for place in range(len(found)) if not found[place].is_unread]
    own = _asking_chances(
        [found[place] for place in kept], [widths[place] for place in kept], relevance, is_whole=is_whole
    )
    chances = [0.0] * len(found)
    for place, chance in zip(kept, own, strict=True):
        chances[place] = chance
    return chances


def _asking_chances(
    found: Sequence[Sentence], widths: Sequence[int], relevance: Relevance | None, *, is_whole: bool = True
) -> list[float]:
    """Return the probabilities of different sentences.

    :param is_whole: nothing was left out, so there may be no document.
    """
    everything = [1.0] * len(found)
    if len(found) < 2 or (is_whole and is_short(found, widths)):
        return everything
    text = Text(found, widths, relevance)
    layouts = text.layouts(model(with_turns=bool(text.turns.inside)))
    if not is_whole:
        del layouts[0]
        if not layouts:
            return everything
    chances, first = _chances(len(found), layouts)
    if is_whole and first >= _ALL_REQUEST:
        if not _has_data(found) or len(layouts) < 2:
            return everything
        chances, _ = _chances(len(found), layouts[1:])
    if is_whole and sum([size for size, chance in zip(widths, chances, strict=True) if chance < 0.5]) < _SHORT_DOCUMENT:
        return everything
    best = max(chances)
    return [chance if chance >= _NEGLIGIBLE or chance == best else 0.0 for chance in chances]


def _has_data(found: Sequence[Sentence]) -> bool:
    """Whether many lines have no words, such as the brackets of JSON: then not all of a text is a request."""
    return sum([not sentence.words for sentence in found]) > _MOST_WORDLESS * len(found)


def is_short(found: Sequence[Sentence], widths: Sequence[int]) -> bool:
    """Whether a text is too short to contain a document."""
    return len(found) < 2 or sum(widths) < SHORT_TEXT


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
        tongues, flags, values = self._tongues, self._flags, self._values
        for i in featured:
            if tongue := tongues[i]:
                sizes[tongue] = sizes.get(tongue, 0) + len(found[i].text)
        main = max(sizes, key=sizes.__getitem__) if sizes else ""
        self._tongue_share = sizes[main] / sum(sizes.values()) if sizes else 1.0
        # The first and the last sentence in each language, if there are several.
        self._spans: dict[str, tuple[int, int]] = {}
        if len(sizes) > 1:
            other = cues.OTHER_TONGUE if len(sizes) == 2 else cues.ONE_OF_TONGUES
            for i in featured:
                if tongue := tongues[i]:
                    self._spans[tongue] = (self._spans.get(tongue, (i, i))[0], i)
                    if tongue != main:
                        flags[i] |= other
        self.turns = turns(found)
        inside, outside, *_ = self.turns
        for i in inside:
            flags[i] |= cues.TURN
        for i in outside:
            flags[i] |= cues.OUTSIDE_TURNS
        # Passages between turns: their first sentence, and the next turn.
        self._between = [(i, next((j for j in range(i, len(found)) if j not in outside), len(found)))
                         for i in sorted(outside) if i and i - 1 not in outside]  # fmt: skip
        self._pairs, recurring = recurrences(found)
        for i in featured:
            if terms := found[i].terms:
                values[i] = (*values[i], (cues.REPEATED, recurring[i] / len(terms)))

    def _relate(self, relevance: Relevance) -> None:
        """Add the relevance of the sentences near the ends."""
        count = len(self.found)
        ends: Sequence[int] = range(count) if count <= 2 * _RELEVANT_ENDS else (
            *range(_RELEVANT_ENDS), *range(count - _RELEVANT_ENDS, count)
        )  # fmt: skip
        if self.turns.inside:
            # What people say is not the request, so the others are few.
            own = [i for i in range(count) if i not in self.turns.inside]
            ends = sorted({*ends, *own[:_LONGEST_REQUEST], *own[-_LONGEST_REQUEST:]})
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
        """Return the plausible layouts with their scores, first the one that is all request."""
        found, count = self.found, len(self.found)
        flags = self._flags
        sums = [weights.sums(each) for each in flags]
        asking, telling, together = self._evidence(weights, sums)
        before, after = self._borders(weights, sums)
        last, first, inside, around, *others = weights.layout[:ALONE_FEATURES]
        (by_length, by_length2, by_document, by_document2, by_size, broken_, wrapped_, titled_, silent, silent_end,
         by_loud, by_choices, shared, quiet_request) = others  # fmt: skip
        every = list(accumulate(map(int, self._is_asking), initial=0))
        paragraphs = list(accumulate([sentence.gap == NEW_PARAGRAPH for sentence in found], initial=0))
        lines = list(accumulate([sentence.gap == NEW_LINE for sentence in found], initial=0))
        lengths, whole, asked = self._lengths, self._lengths[count], every[count]
        title = titled_ if flags[0] & cues.OPEN_END and not self._is_asking[0] else 0.0
        most = EVIDENCE_SENTENCES
        tongues, spans = self._tongues, self._spans
        by_turns = turn_scores(found, self.turns, weights.turns) if self.turns.inside else None
        new = tuple.__new__  # several times as fast as calling the class

        def beside(start: int, end: int, score: float, *, is_around: bool = False) -> Layout:
            """Score a layout with the sentences from ``start`` to ``end`` on one side, the others on the other."""
            own, told = asking[end] - asking[start], telling[end] - telling[start]
            length, size, asks = lengths[end] - lengths[start], end - start, every[end] - every[start]
            broken, wrapped = paragraphs[end] - paragraphs[start + 1], lines[end] - lines[start + 1]
            if is_around:
                own, length, asks, size = asking[count] - own, whole - length, asked - asks, count - size
                broken = paragraphs[start] - paragraphs[1] + paragraphs[count] - paragraphs[min(end + 1, count)]
                wrapped = lines[start] - lines[1] + lines[count] - lines[min(end + 1, count)]
                if not every[start] or asked == every[end]:
                    score = score + silent_end
            else:
                told = telling[count] - told
            if spans and not is_around and (tongue := tongues[start]):
                begins, ends = spans[tongue]
                if begins < start or ends >= end:
                    score = score + shared
            if by_turns:
                score = score + by_turns(start, end, is_around)
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
                score = score + broken_ * (broken if broken < 4 else 4)
            if wrapped:
                score = score + wrapped_ * (wrapped if wrapped < 6 else 6)
            if not asks:
                score = score + silent
            elif asks < size:
                score = score + quiet_request * (1.0 - asks / size)
            return new(Layout, (start, end, is_around, score + by_loud * ((asked - asks) / rest)))

        alone = self._alone(weights.layout[ALONE_FEATURES:], asked / count, paragraphs[count])
        if by_turns:
            alone = alone + by_turns(0, count, False)
        scored = [Layout(0, count, False, together * min(1.0, most / count) + alone)]
        scored += [beside(start, count, last + title + before[start]) for start in self._starts]
        scored += [beside(0, end, first + after[end]) for end in self._ends]
        pairs = self._inner_pairs()
        inside = inside + by_choices * log(1 + len(pairs))
        for start, end in pairs:
            scored.append(beside(start, end, inside + title + before[start] + after[end]))
        tails = [end for end in self._starts if end >= count - _LONGEST_END and found[end].gap != SAME_LINE]
        for start in self._ends[:_LONGEST_END]:
            if start <= _LONGEST_END and found[start].gap != SAME_LINE:
                for end in tails:
                    if end > start:
                        scored.append(beside(start, end, around + before[end] + after[start], is_around=True))
        return scored

    def _evidence(self, weights: Model, sums: Sequence[Sequence[float]]) -> tuple[list[float], list[float], float]:
        """Return the sums of the weights of all sentences up to each one, as a request and as a document, and of all."""
        asks: list[float] = [0.0]
        stated: list[float] = [0.0]
        ask = tell = together = 0.0
        for (own, told, _, _, shared), values in zip(sums, self._values, strict=True):
            ask, tell, together = ask + own, tell + told, together + shared
            for place, value in values:
                ask = ask + weights.request[place] * value
                tell = tell + weights.document[place] * value
                together = together + weights.alone[place] * value
            asks.append(ask)
            stated.append(tell)
        return asks, stated, together

    def _borders(self, weights: Model, sums: Sequence[Sequence[float]]) -> tuple[dict[int, float], dict[int, float]]:
        """Return the scores of the borders in front of a request, and of those behind one."""
        found, count, line = self.found, len(self.found), _LONGEST_IN_LINE
        paragraphs = [i for i in range(1, count) if found[i].gap == NEW_PARAGRAPH]
        self._inner = (paragraphs[:_INNER_PARAGRAPHS], paragraphs[-_INNER_PARAGRAPHS:])
        self._between = [pair for pair in self._between if pair[1] < count][:_INNER_PARAGRAPHS]
        inner = {*self._inner[0], *self._inner[1], *chain.from_iterable(self._between)}
        starts = range(max(1, count - _LONGEST_REQUEST), count)
        ends = range(1, min(_LONGEST_REQUEST + 1, count))
        # A request neither begins nor ends with a sentence without words, such as a brace or a rule.
        self._starts = [i for i in starts if found[i].words and (count - i <= line or found[i].gap != SAME_LINE)]
        self._ends = [i for i in ends if found[i - 1].words and (i <= line or found[i].gap != SAME_LINE)]
        sides = Sides(self._flags, self._is_asking, self._tongues, self._relevance, sums)
        return border_scores(
            found, sides, weights.border, inner.union(self._starts), inner.union(self._ends), paragraphs, self._pairs
        )

    def _inner_pairs(self) -> list[tuple[int, int]]:
        """Return start and end of paragraphs near the ends of the text, and of a few that begin or end with a request."""
        asks = self._is_asking
        pairs = {*self._between, *(pair for places in self._inner for pair in pairwise(places))}
        for count in range(2, _MOST_PARAGRAPHS + 1):
            for places in self._inner:
                pairs.update([(start, end) for start, end in zip(places, places[count:], strict=False)
                              if asks[start] or asks[end - 1]])  # fmt: skip
        most = min(_LONGEST_REQUEST, len(self.found) - 2)
        return sorted([(start, end) for start, end in pairs if end - start <= most])

    def _alone(self, weights: Sequence[float], asking: float, paragraphs: int) -> float:
        """Score the layout that is all request."""
        flags, count = self._flags, len(self._flags)
        surprise = log(max(self._lengths[count], SHORT_TEXT) / SHORT_TEXT)
        labels = sum([each & cues.LABEL != 0 for each in flags])
        bullets = sum([each & cues.BULLET != 0 for each in flags])
        titled = flags[0] & cues.OPEN_END and not self._is_asking[0]
        values = (
            float(bool(self.turns.inside)), surprise, surprise * surprise, float(labels >= 3), float(bullets >= 3),
            sum([each & cues.OPEN_END != 0 for each in flags]) / count, 1.0 - self._tongue_share, log(1 + paragraphs), asking,
            float(titled), float(self._is_asking[0]),
        )  # fmt: skip
        total: float = sum(map(mul, weights, values))
        return total


# -- probabilities ---------------------------------------------------------------------------------------------


def _chances(count: int, layouts: Sequence[Layout]) -> tuple[list[float], float]:
    """Return the probability of each sentence to belong to the request, and that of the first layout."""
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
    chances = [min(max(chance / total, 0.0), 1.0) for chance in accumulate(changes[:-1])]
    return chances, exp(layouts[0].score - best) / total
