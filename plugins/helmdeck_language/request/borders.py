"""Scores the borders between request and document: which gap separates the two, and what is on either side."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import accumulate
from math import log
from typing import Final, NamedTuple

from helmdeck_language.request import cues
from helmdeck_language.request.sentences import NEW_LINE, NEW_PARAGRAPH, Sentence

BORDER: Final = (
    "same_line", "new_line", "paragraph", "outermost", "in_block", "break", "switch", "colon", "title", "position",
    "neighbour_relevance", "neighbour_asks", "neighbour_open", "neighbour_bullet", "neighbour_label",
    "neighbour_letter", "list_inside",
    "own_asks", "own_relevance", "own_open", "own_statement", "neighbour_statement", "contrast",
    "continues", "near_break", "sentence_of_paragraphs", "leaves_turns",
    "opens", "only_gap",
)  # fmt: skip
"""Names of the features of the border between request and document."""

# Sentences on either side of a border whose words are compared.
_NEAR: Final = 3
_COLONS: Final = frozenset(":\uff1a")


class Sides(NamedTuple):
    """What is known of every sentence.

    :ivar sums: the weights of its features, at places 2 and 3 those beside a border, in a request and in a document.
    """

    flags: Sequence[int]
    is_asking: Sequence[bool]
    tongues: Sequence[str]
    relevance: Sequence[float]
    sums: Sequence[Sequence[float]]


def border_scores(
    found: Sequence[Sentence],
    sides: Sides,
    weights: Sequence[float],
    starts: Collection[int],
    ends: Collection[int],
    paragraphs: Sequence[int],
    pairs: Sequence[tuple[int, int]],
) -> tuple[dict[int, float], dict[int, float]]:
    """Return the scores of borders in front of a request, and of those behind one.

    :param weights: in the order of ``BORDER``.
    :param starts: first sentences of possible requests behind a document.
    :param ends: first sentences of possible documents behind a request.
    :param paragraphs: first sentences of paragraphs.
    :param pairs: those of ``recurrences``.
    """
    flags, is_asking, tongues, relevance, sums = sides
    (same_line, new_line, paragraph, outermost, in_block, break_, switch, colon, title, position, near_relevance,
     _, _, _, _, _, list_inside, _, own_relevance, _, _, _, contrast, continued, near_break, broken_sentence, leaves_turns, opens, only_gap) = weights  # fmt: skip
    by_gap = (same_line + broken_sentence if paragraphs else same_line, new_line, paragraph)
    base = position * log(len(found))
    count = len(found)
    splits, nearby = _breaks(found, pairs)
    turn, outside = cues.TURN, cues.OUTSIDE_TURNS

    def common(at: int) -> float:
        """Score what does not depend on the side of the request."""
        sentence, before = found[at], found[at - 1]
        gap = sentence.gap
        score = base + by_gap[gap] + break_ * splits[at] + near_break * nearby[at]
        if gap == NEW_LINE and ((at > 1 and before.gap == gap) or (at + 1 < count and found[at + 1].gap == gap)):
            score = score + in_block
        if tongues[at] != tongues[at - 1] and tongues[at] and tongues[at - 1]:
            score = score + switch
        if before.text[-1] in _COLONS:
            score = score + colon
        if gap == NEW_PARAGRAPH:
            score = score + only_gap / len(paragraphs)
        if flags[at] & flags[at - 1] & cues.BULLET:
            score = score + list_inside
        if flags[at] & cues.CONTINUES:
            score = score + continued
        return score

    def one_sided(document: int, request: int) -> float:
        score = sums[request][2] + sums[document][3]
        score = score + near_relevance * relevance[document] + own_relevance * relevance[request]
        if flags[document] & turn and flags[request] & outside:
            score = score + leaves_turns
        return score + contrast if is_asking[request] and not is_asking[document] else score

    shared = {at: common(at) for at in {*starts, *ends}}
    before = {at: shared[at] + one_sided(at - 1, at) for at in starts}
    after = {at: shared[at] + one_sided(at, at - 1) for at in ends}
    for at in ends:
        if flags[at] & cues.OPEN_END and not is_asking[at]:
            after[at] = after[at] + title
        if flags[at] & cues.OPENS:
            after[at] = after[at] + opens
    if paragraphs and paragraphs[-1] in before:
        before[paragraphs[-1]] = before[paragraphs[-1]] + outermost
    if paragraphs and paragraphs[0] in after:
        after[paragraphs[0]] = after[paragraphs[0]] + outermost
    return before, after


def recurrences(found: Sequence[Sentence]) -> tuple[list[tuple[int, int]], list[int]]:
    """Return where terms recur: pairs of successive sentences with the same term, and how many terms of each recur."""
    last: dict[str, int] = {}  # the complement, if it is not the first sentence with the term
    get = last.get
    pairs: list[tuple[int, int]] = []
    recurring = [0] * len(found)
    for i, sentence in enumerate(found):
        for term in sentence.terms:
            before = get(term)
            if before is None:
                last[term] = i
                continue
            if before < 0:
                before = ~before
            else:
                recurring[before] += 1
            recurring[i] += 1
            pairs.append((before, i))
            last[term] = ~i
    return pairs, recurring


def _breaks(found: Sequence[Sentence], pairs: Sequence[tuple[int, int]]) -> tuple[list[float], list[float]]:
    """Return for each border which share of the terms is on one side only: of the whole text, and of the nearest sentences."""
    count = len(found)
    sizes = [len(sentence.terms) for sentence in found]
    # What recurs counts once: before each border, behind it, and in the nearest sentences behind it.
    left, right, ahead = [0, *sizes], [*sizes, 0], list(map(sum, zip(sizes, *_shifted(sizes), strict=True)))
    common = [0] * (count + 2)  # the differences between borders
    for first, second in pairs:
        left[second + 1] -= 1
        right[first] -= 1
        distance = second - first
        if distance <= _NEAR:
            common[first + 1] += 1
            common[second + 1] -= 1
            for i in range(second - _NEAR + 1 if second >= _NEAR else 0, first + 1):
                ahead[i] -= 1
        elif distance < 2 * _NEAR:
            common[second - _NEAR + 1] += 1
            common[first + _NEAR + 1] -= 1
    left = list(accumulate(left))
    right = list(accumulate(reversed(right)))[::-1]
    every = right[0]
    splits, nearby = [], [0.0] * (count + 1)
    for before, behind in zip(left, right, strict=True):
        both, fewer = before + behind - every, before if before < behind else behind
        splits.append(0.0 if both >= (fewer or 1) else 1.0 - both / (fewer or 1))
    common = list(accumulate(common))
    for at in range(1, count):
        before, behind = ahead[at - _NEAR] if at >= _NEAR else left[at], ahead[at]
        if before and behind:
            nearby[at] = 1.0 - common[at] / (before if before < behind else behind)
    return splits, nearby


def _shifted(sizes: Sequence[int]) -> list[list[int]]:
    """Return the sizes of the sentences that follow, for each of the nearest ones."""
    return [[*sizes[by:], *[0] * min(by, len(sizes))] for by in range(1, _NEAR)]
