"""Scores a layout of a text with turns: which part of them, and of what is outside of them, the request contains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from math import log
from typing import Final

from helmdeck_language.request.sentences import NEW_PARAGRAPH, Sentence
from helmdeck_language.request.turns import Turns

# A request has at most so many sentences.
_LONGEST: Final = 24

TURN_LAYOUT: Final = (
    "last", "first", "inside", "around", "in_request", "share_of_request", "head_left", "inner_left", "tail_left", "outside_share",
    "starts_in_turn", "ends_in_turn", "splits_outside", "size",
    "labels_in_request", "alone_labels", "alone_outside",
)  # fmt: skip
"""Names of the features of a layout of a text with turns."""


def turn_scores(found: Sequence[Sentence], turns: Turns, weights: Sequence[float]) -> Callable[[int, int, bool], float]:
    """Return the score of a layout, by its start and end and whether the request is around these.

    :param weights: in the order of ``TURN_LAYOUT``.
    """
    (last, first, inside, around, in_request, by_share, by_head, by_inner, by_tail, by_outside, starts, ends, splits, by_size,
     by_labels, alone_labels, alone_outside) = weights  # fmt: skip
    count = len(found)
    spoken = list(accumulate([place in turns.inside for place in range(count)], initial=0))
    labels = list(accumulate([place in turns.starts for place in range(count)], initial=0))
    outer = list(accumulate([place in turns.outside for place in range(count)], initial=0))
    whole, every = spoken[count], outer[count]
    begin, stop = min(turns.inside), max(turns.inside)

    def border(at: int, own: int, other: int, of_turn: float) -> float:
        total = 0.0
        if own in turns.inside:
            total = total + of_turn
        if own in turns.outside and other in turns.outside and found[at].gap != NEW_PARAGRAPH:
            total = total + splits
        return total

    def score(start: int, end: int, is_around: bool) -> float:
        said, free, size = spoken[end] - spoken[start], outer[end] - outer[start], end - start
        if is_around:
            said, free, size = whole - said, every - free, count - size
            total = around + border(start, start - 1, start, ends) + border(end, end, end - 1, starts)
        else:
            total = inside
            if end == count:
                total = last
            elif not start:
                total = first
            if start:
                total = total + border(start, start, start - 1, starts)
            if end < count:
                total = total + border(end, end - 1, end, ends)
            if start in turns.ends:
                total = total + by_size * turns.ends[start]
        if size == count:
            return alone_labels * log(1 + labels[count]) + alone_outside * log(1 + every)
        if said:
            begun = labels[end] - labels[start]
            total = total + by_labels * log(1 + (labels[count] - begun if is_around else begun))
            total = total + in_request + by_share * (said / size)
        if every > free:
            total = total + by_outside * (1.0 - free / every)
            # What is outside of the turns and not in the request: before, between and behind them.
            head = outer[begin] - (outer[min(end, begin)] - outer[min(start, begin)])
            rest = every - outer[stop] - (outer[max(end, stop)] - outer[max(start, stop)])
            if is_around:
                head, rest = outer[begin] - head, every - outer[stop] - rest
            inner = every - free - head - rest
            if head:
                total = total + by_head * log(1 + head)
            if inner:
                total = total + by_inner * log(1 + inner)
            if rest:
                total = total + by_tail * log(1 + rest)
        return total

    return score
