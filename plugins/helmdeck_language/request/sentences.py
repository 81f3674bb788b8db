"""Splits a text into sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from helmdeck_language.text.terms import SentenceWords, tokens, unique_terms

# Requests are near the ends of long texts; the middle is not split into sentences.
_END_CHARACTERS: Final = 8_000

# Sentences of at least so many characters that recur together are a copy; two short lines recur in any list or code.
_COPIED_CHARACTERS: Final = 60

# Runs of punctuation are bounded, so that a line of ten thousand dots is scanned only once.
_END: Final = re.compile(
    r"""[\n\r\u2028\u2029.!?;\u2026\u3002\uff01\uff1f\uff1b\u0964\u061f] (?:   # a leading set lets the engine skip ahead
        (?<=[\n\r\u2028\u2029]) [\n\ \t\r\u2028\u2029]*+
      | (?<=[\u3002\uff01\uff1f\u0964]) [\u3002\uff01\uff1f\u0964]{0,7} [\u300d\u300f\u201d]{0,2}
      | (?<=[.!?\u2026\u061f]) [.!?\u2026\u061f]{0,7} ["'\u201d\u2019\u00bb)\]]{0,4} (?=\s|\Z)
      | (?<=[!?;\uff1b]) (?=[\u3040-\u30ff\u3400-\u9fff])
    )""",
    re.VERBOSE,
)
_QUESTION: Final = re.compile(r"[?\uff1f\u061f][\"'\u201d\u2019\u300d)\]]{0,4}$")
_BREAKS: Final = frozenset("\n\r\u2028\u2029")
_INDENTS: Final = frozenset(" \t")
# A list number is not a sentence.
_LIST_MARK: Final = re.compile(r"\W*(?:[0-9a-zA-Z]{1,2}|[ivxIVX]{3,5})\.")


# Separation of a sentence from the previous one. A member of an enumeration takes 0.1 µs to read, and a text reads hundreds.
SAME_LINE: Final = 0
NEW_LINE: Final = 1
NEW_PARAGRAPH: Final = 2


class Sentence(NamedTuple):
    """A sentence, or a line without a full stop.

    :ivar words: folded words.
    :ivar terms: the unique terms.
    :ivar gap: ``SAME_LINE``, ``NEW_LINE`` or ``NEW_PARAGRAPH``.
    :ivar is_indented: it is the first of an indented line.
    :ivar is_unread: the middle of a very long text, which is not split and has no tokens.
    """

    text: str
    words: tuple[str, ...]
    terms: tuple[str, ...]
    gap: int
    is_indented: bool = False
    is_unread: bool = False

    @property
    def tokens(self) -> list[str]:
        """Folded words and the separators between them."""
        return [] if self.is_unread else tokens(self.text)


def sentences(text: str) -> list[Sentence]:
    """Split a text into sentences; the middle of a very long one stays one sentence without words."""
    if len(text) <= 2 * _END_CHARACTERS:
        return _split(text)
    head, inside, tail = text[:_END_CHARACTERS], text[_END_CHARACTERS:-_END_CHARACTERS], text[-_END_CHARACTERS:]
    first, last = _split(head), _split(tail)
    # A sentence that crosses the boundary belongs to the middle.
    gap = SAME_LINE
    if len(first) > 1:
        inside, gap = first[-1].text + inside, first.pop().gap
    if len(last) > 1:
        inside += last.pop(0).text
    return [*first, Sentence(inside, (), (), gap, is_unread=True), *last]


def copies(found: Sequence[Sentence]) -> set[int]:
    """Return the places of sentences that repeat an earlier passage, as in a document that was pasted twice.

    A passage is at least two adjacent sentences. A single sentence may recur, such as a request above and below a document.
    """
    texts = [sentence.text for sentence in found]
    if len(set(texts)) > len(texts) - 2:
        return set()
    first: set[tuple[str, str]] = set()
    copied: set[int] = set()
    start = 0  # of the passage that is repeated up to here
    for place, pair in enumerate([*pairwise(texts), ("", "")]):
        if pair in first:
            continue
        first.add(pair)
        if place > start and sum(map(len, texts[start : place + 1])) >= _COPIED_CHARACTERS:
            copied.update(range(start, place + 1))
        start = place + 1
    return copied


def is_question(text: str) -> bool:
    """Whether a text ends with a question mark."""
    return _QUESTION.search(text.rstrip()[-5:]) is not None


def _split(text: str) -> list[Sentence]:
    found: list[Sentence] = []
    lines = 0
    words = SentenceWords(text)
    new = tuple.__new__  # several times as fast as calling the class
    for start, end, breaks in _pieces(text):
        lines += breaks
        content = text[start:end].strip()
        if not content:
            continue
        own = tuple(words.between(start, end))
        gap, lines = lines if lines < NEW_PARAGRAPH else NEW_PARAGRAPH, 0
        # A list mark has one word at most.
        if found and gap == SAME_LINE and len(found[-1].words) < 2 and _LIST_MARK.fullmatch(found[-1].text):
            before = found.pop()
            content, gap, own = f"{before.text} {content}", before.gap, (*before.words, *own)
        is_indented = gap != SAME_LINE and start > 0 and text[start - 1] in _INDENTS
        found.append(new(Sentence, (content, own, unique_terms(own), gap, is_indented, False)))
    return found


def _pieces(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield start and end of the text between sentence ends, and the number of line breaks before each."""
    position = 0
    for match in _END.finditer(text):
        start, end = match.span()
        if text[start] in _BREAKS:
            yield position, start, 0
            yield end, end, text.count("\n", start, end) or end - start
        else:
            yield position, end, 0
        position = end
    yield position, len(text), 0
