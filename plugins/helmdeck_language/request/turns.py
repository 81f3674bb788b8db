"""Finds the turns of a transcript: lines that start with a recurring speaker label, a time, a quote mark or the number of a subtitle.

What people say to each other in a document is not what the user asks for, however much it sounds like it; a line outside of the turns
hardly belongs to the transcript. Formats are recognised by what recurs, not by a list of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import log
from typing import Final, NamedTuple

from helmdeck_language.request.sentences import NEW_LINE, NEW_PARAGRAPH, SAME_LINE, Sentence

_TIME: Final = (
    r"\d{1,4}(?:[-/.:]\d{1,4}){1,2}(?:[.,]\d{1,3})?(?:,?[T ]\d{1,2}:\d{2}(?::\d{2})?)?(?:\s?[AaPp]\.?[Mm]\b\.?)?"
)
_LABEL: Final = re.compile(
    rf"""[*_\#\s]{{0,4}}(?:
      (?P<mark> >(?=[\s>]|$) | \*\*\*(?=\s) | <[^<>\n]{{1,40}}> | [\[(]?{_TIME}(?![\w%]) | \d{{1,5}}$
              | \[[^\W\d_][^\[\]\n]{{1,30}}\](?=\s) | [^\W\d_]{{3}}\s{{1,2}}\d{{1,2}}\s\d\d:\d\d:\d\d(?=\s) )
    | (?P<name> [^\W\d_] [^\n:\uff1a?!;,(){{}}\[\]=<>"|\u2014]{{0,40}}? )
      (?: ,?\s*[\[(][^\[\]()\n]{{1,30}}[\])] )?
      (?: \**[:\uff1a](?=\s|\*|$|[^\x00-\x7f]) | \s(?:-{{1,2}}>|[-|\u2013\u2014])(?=\s) | (?<=\d)[.](?=\s) | (?<=[A-Z])[.](?=\s|$) | \s*[\[(]?{_TIME}[\])]?:?$ | (?<=[\])])(?=\s|$) )
    )""",
    re.VERBOSE,
)
_COLONS: Final = frozenset(":\uff1a")
_MARKS: Final = frozenset(">[(<*#_0123456789")
# A date with a time marks a turn whatever the name beside it: few people write twice in a short chat.
_MOMENT: Final = re.compile(r"\d[-/.]\d.{0,9}\d:\d\d")
_WIDE_SEPARATOR: Final = re.compile("[\uff1a\u2013\u2014]")
_DIGITS: Final = re.compile(r"\d+")
_LABELLED: Final = 72
# A name in capitals that ends with a full stop, as in a play, is as long.
_CAPITALS: Final = 24
_HEADING: Final = 60
_STOPS: Final = frozenset(".!?\u2026\u3002\uff01\uff1f")
# A transcript has as many labelled lines, of two speakers at least or with marks that all lines share.
_MIN_TURNS: Final = 3
_MIN_SPEAKERS: Final = 2
# At most such a share of the turns, or one, has more lines than the others; these lines are outside of the turns.
_RARE: Final = 0.2


class Turns(NamedTuple):
    """Which sentences belong to turns, and which are outside of a transcript; others may be either.

    :ivar starts: the sentences with a label.
    :ivar ends: for sentences that may be the first behind the last turn, the logarithm of the share of turns with as many sentences.
    """

    inside: frozenset[int]
    outside: frozenset[int]
    starts: frozenset[int]
    ends: Mapping[int, float]


_NONE: Final = Turns(frozenset(), frozenset(), frozenset(), {})


def turns(found: Sequence[Sentence]) -> Turns:
    """Return the turns of a text; none if it has no transcript."""
    labels: dict[int, str] = {}
    for place, sentence in enumerate(found):
        # Within a line, only a label with a colon counts: the first turn behind a request of the same line.
        if (sentence.gap != SAME_LINE or not place or ":" in sentence.text[:_LABELLED]) and (
            label := _label(sentence.text)
        ):
            labels[place] = label
    labels |= _headings(found, labels)
    if len(labels) < _MIN_TURNS:
        return _NONE
    # "Step 1", "Step 2" is a list; "Speaker 1", "Speaker 2", "Speaker 1" and "Question 1", "Answer", "Question 2" are turns.
    exact = Counter(labels.values())
    loose = Counter(_DIGITS.sub("0", label) for label in labels.values())
    speakers = [count for count in exact.values() if count > 1], [count for count in loose.values() if count > 1]
    marks = sum(count for label, count in loose.items() if not label[0].isalpha())
    if marks < _MIN_TURNS and max(map(len, speakers)) < _MIN_SPEAKERS:
        return _NONE
    numbered = _enumerations(list(labels.values()), exact)
    starts = [place for place, label in labels.items()
              if loose[series := _DIGITS.sub("0", label)] > 1 and series not in numbered]  # fmt: skip
    if len(starts) < _MIN_TURNS:
        return _NONE
    # A mail with quoted lines has its own text before and between them.
    quoted = sum(labels[place] == ">" for place in starts)
    if 2 * quoted <= len(starts):
        return _around(found, starts)
    header = {place for place in labels if place < starts[-1]}
    header.update([start - 1 for start in starts if start and found[start - 1].text[-1] in _COLONS])
    return _around(found, starts, header=sorted(header.difference(starts)))


def _headings(found: Sequence[Sentence], labels: Mapping[int, str]) -> dict[int, str]:
    """Return short first lines of paragraphs without a full stop that begin or end alike: "ann commented 2 days ago"."""
    lines: dict[int, tuple[str, str]] = {}
    for place, (sentence, after) in enumerate(pairwise(found)):
        if (
            after.gap == NEW_LINE and (sentence.gap == NEW_PARAGRAPH or not place) and place not in labels
            and len(sentence.text) <= _HEADING and sentence.text[-1] not in _STOPS
        ):  # fmt: skip
            words = _DIGITS.sub("0", sentence.text).casefold().split()
            lines[place] = (words[-1], words[0])
    alike = Counter(word for pair in lines.values() for word in set(pair))
    shared = {place: next((word for word in pair if alike[word] > 1), "") for place, pair in lines.items()}
    return {place: f"~{word}" for place, word in shared.items() if word}


def _enumerations(labels: Sequence[str], exact: Mapping[str, int]) -> set[str]:
    """Return the labels, without numbers, that are all different and adjacent: "Day 1", "Day 2", "Day 3"."""
    first: dict[str, int] = {}
    length = Counter[str]()
    for place, label in enumerate(labels):
        if label[0].isalpha():
            series = _DIGITS.sub("0", label)
            is_next = exact[label] == 1 and place - length[series] == first.setdefault(series, place)
            length[series] += 1 if is_next else len(labels)
    return {series for series, count in length.items() if 1 < count < len(labels)}


def _label(text: str) -> str:
    # Most sentences have none of these characters near their start, and the pattern is slow to find that out.
    head = text[:_LABELLED]
    if not (
        head[0] in _MARKS or ":" in head or " -" in head or "|" in head or (head[1:2].isdigit() and "." in head[:5])
        or ("." in head[:_CAPITALS] and head[:2].isupper())
        or (not head.isascii() and _WIDE_SEPARATOR.search(head))
    ):  # fmt: skip
        return ""
    match = _LABEL.match(head)
    if match is None:
        return ""
    if name := match["name"]:
        return "0" if _MOMENT.search(match[0]) else name.strip().casefold()
    mark = match["mark"]
    return mark[0] if mark[0] in "<>*" else "0"


def _around(found: Sequence[Sentence], starts: Sequence[int], *, header: Sequence[int] | None = None) -> Turns:
    """Return the turns that start at labelled sentences; one with more lines or paragraphs than others ends before these.

    :param header: other labels of a mail with quoted lines; what is between these and the quotes may be the mail or the request.
    """
    shapes = [
        Counter(found[place].gap for place in range(start + 1, end)) for start, end in pairwise([*starts, len(found)])
    ]
    rare = max(1, int(_RARE * len(starts)))
    most = {gap: sorted([shape[gap] for shape in shapes], reverse=True)[rare] for gap in (NEW_LINE, NEW_PARAGRAPH)}
    # Labels of their own line have the turn in the next one.
    least = sorted([shape[NEW_LINE] + shape[NEW_PARAGRAPH] for shape in shapes[:-1]])[min(rare, len(shapes) - 2)]
    inside, outside = list(header or ()), list(range(starts[0]))
    if header is not None:
        end = starts[0] - (starts[0] - 1 in header)  # "... wrote:"
        heads = [place for place in header if place < end]
        outside = list(range(heads[0])) if heads else []
    sizes = Counter[int]()
    after = starts[0]
    for start, end in pairwise([*starts, len(found)]):
        left = dict(most)
        after = start + 1
        while after < end and ((gap := found[after].gap) == SAME_LINE or left[gap] > 0):
            if gap != SAME_LINE:
                left[gap] -= 1
            after += 1
        outside += range(after, end) if end == len(found) or header is None else ()
        if end < len(found):
            sizes[after - start] += 1
            inside += range(start, after)
    # The last turn continues, or the request follows in the same line.
    inside += range(starts[-1], starts[-1] + (2 if least and after > starts[-1] + 1 else 1))
    count = len(starts)
    ends = {place: log((sizes[place - starts[-1]] + 0.5) / count) for place in range(starts[-1] + 1, after + 1)}
    return Turns(frozenset(inside), frozenset(outside), frozenset(starts), ends)
