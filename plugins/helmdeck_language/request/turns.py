"""Finds the turns of a transcript: lines that start with a recurring speaker label, a time, a quote mark or the number of a subtitle.

What people say to each other in a document is not what the user asks for, however much it sounds like it; a line outside of the turns
hardly belongs to the transcript. Formats are recognised by what recurs, not by a list of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from helmdeck_language.request.sentences import Gap, Sentence

_TIME: Final = (
    r"\d{1,4}(?:[-/.:]\d{1,4}){1,2}(?:[.,]\d{1,3})?(?:,?[T ]\d{1,2}:\d{2}(?::\d{2})?)?(?:\s?[AaPp]\.?[Mm]\b\.?)?"
)
_LABEL: Final = re.compile(
    rf"""[*_\#\s]{{0,4}}(?:
      (?P<mark> >(?=[\s>]) | \*\*\*(?=\s) | <[^<>\n]{{1,40}}> | [\[(]?{_TIME}(?![\w%]) | \d{{1,5}}$)
    | (?P<name> [^\W\d_] [^\n:\uff1a?!;,(){{}}\[\]=<>"|\u2014]{{0,40}}? )
      (?: \s*[\[(][^\[\]()\n]{{1,30}}[\])] )?
      (?: \**[:\uff1a](?=\s|\*|[^\x00-\x7f]) | \s(?:-{{1,2}}>|[-|\u2013\u2014])(?=\s) | (?<=\d)[.](?=\s) | \s*[\[(]?{_TIME}[\])]?:?$ | (?<=[\])])(?=\s|$) )
    )""",
    re.VERBOSE,
)
_MARKS: Final = frozenset(">[(<*#_0123456789")
_WIDE_SEPARATOR: Final = re.compile("[\uff1a\u2013\u2014]")
_DIGITS: Final = re.compile(r"\d+")
_LABELLED: Final = 72
# A transcript has as many labelled lines, of two speakers at least or with marks that all lines share.
_MIN_TURNS: Final = 3
_MIN_SPEAKERS: Final = 2
# Lines without a label are outside of the turns if there are at most so many within the transcript, for each turn.
_LOOSE: Final = 0.25


class Turns(NamedTuple):
    """Which sentences belong to turns, and which are outside of a transcript; others may be either."""

    inside: frozenset[int]
    outside: frozenset[int]


_NONE: Final = Turns(frozenset(), frozenset())


def turns(found: Sequence[Sentence]) -> Turns:
    """Return the turns of a text; none if it has no transcript."""
    labels: dict[int, str] = {}
    same_line = Gap.SAME_LINE
    for place, sentence in enumerate(found):
        # Within a line, only a label with a colon counts: the first turn behind a request of the same line.
        if (sentence.gap is not same_line or not place or ":" in sentence.text[:_LABELLED]) and (
            label := _label(sentence.text)
        ):
            labels[place] = label
    if len(labels) < _MIN_TURNS:
        return _NONE
    # "Step 1", "Step 2" is a list; "Speaker 1", "Speaker 2", "Speaker 1" and "Question 1", "Answer", "Question 2" are turns.
    exact = Counter(labels.values())
    loose = Counter(_DIGITS.sub("0", label) for label in labels.values())
    speakers = [count for count in exact.values() if count > 1], [count for count in loose.values() if count > 1]
    marks = sum(count for label, count in loose.items() if not label[0].isalpha())
    if marks < _MIN_TURNS and max(map(len, speakers)) < _MIN_SPEAKERS:
        return _NONE
    starts = [place for place, label in labels.items() if loose[_DIGITS.sub("0", label)] > 1]
    if len(starts) < _MIN_TURNS:
        return _NONE
    return _around(found, starts)


def _label(text: str) -> str:
    # Most sentences have none of these characters near their start, and the pattern is slow to find that out.
    head = text[:_LABELLED]
    if not (
        head[0] in _MARKS or ":" in head or " -" in head or "|" in head or (head[1:2].isdigit() and "." in head[:5])
        or (not head.isascii() and _WIDE_SEPARATOR.search(head))
    ):  # fmt: skip
        return ""
    match = _LABEL.match(head)
    if match is None:
        return ""
    if name := match["name"]:
        return name.strip().casefold()
    mark = match["mark"]
    return mark[0] if mark[0] in "<>*" else "0"


def _around(found: Sequence[Sentence], starts: Sequence[int]) -> Turns:
    first, last = starts[0], starts[-1]
    labelled = frozenset(starts)
    bare = Counter(found[place].gap for place in range(first + 1, last) if place not in labelled)
    is_closed = [False, *(bare[gap] <= _LOOSE * len(starts) for gap in (Gap.NEW_LINE, Gap.NEW_PARAGRAPH))]
    inside, outside = list[int](), list[int]()
    is_turn = False
    for place, sentence in enumerate(found):
        if place in labelled:
            is_turn = True
        elif is_closed[sentence.gap] or not place:
            is_turn = False
        elif place > last and is_turn:
            continue  # the last turn continues, or the request follows
        (inside if is_turn else outside).append(place)
    return Turns(frozenset(inside), frozenset(outside))
