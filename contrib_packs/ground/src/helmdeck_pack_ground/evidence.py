"""Finds literal quotes, selects passages of sources, and checks what a rewrite may change."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

import attrs

PASSAGE_CHARS: Final = 1_200
PASSAGES_PER_CLAIM: Final = 4
MIN_QUOTE_CHARS: Final = 8

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_WORD = re.compile(r"\w{2,}")
_SPACED_WORD = re.compile(r"\S+")
_OUTER = " \t\n\"'“”„‘’«»…"


@attrs.frozen
class Source:
    """A source.

    :ivar number: 1 for the first; citations use it.
    :ivar url: empty for a text that the caller gave.
    :ivar problem: why it cannot be used; empty otherwise.
    """

    number: int
    text: str
    url: str = ""
    problem: str = ""


@attrs.frozen
class Passage:
    """A part of a source."""

    source: int
    text: str


def find_span(text: str, quote: str) -> tuple[int, int] | None:
    """Return where ``quote`` occurs literally in ``text``; only whitespace may differ. ``None`` if it does not."""
    wanted = " ".join(quote.strip(_OUTER).split())
    # A regular expression of the words would take quadratic time where they repeat, in a page and in a quote from it.
    position = " ".join(text.split()).find(wanted) if wanted else -1
    if position < 0:
        return None
    return _position(text, position), _position(text, position + len(wanted) - 1) + 1


def _position(text: str, position: int) -> int:
    """Return the position of a character, given that in the text with single spaces."""
    for word in _SPACED_WORD.finditer(text):
        if position < len(word[0]):
            return word.start() + position
        position -= len(word[0]) + 1
    raise IndexError(position)


def passages(sources: Sequence[Source]) -> list[Passage]:
    """Split the sources at line breaks and sentences into passages of about ``PASSAGE_CHARS``."""
    found = []
    for source in sources:
        text = source.text
        start = 0
        while start < len(text):
            end = min(len(text), start + PASSAGE_CHARS)
            if end < len(text):
                cuts = [match.end() for match in re.finditer(r"\n+|(?<=[.!?])\s+", text[start:end])]
                end = start + (cuts[-1] if cuts and cuts[-1] > PASSAGE_CHARS // 3 else end - start)
            if text[start:end].strip():
                found.append(Passage(source.number, text[start:end].strip()))
            start = end
    return found


def relevant(claims: Sequence[str], every: Sequence[Passage]) -> list[Passage]:
    """Return the passages that share the most rare words with one of the claims, in the order of the sources."""
    words = [set(_WORD.findall(passage.text.casefold())) for passage in every]
    counts = Counter(word for each in words for word in each)
    chosen: set[int] = set()
    for claim in claims:
        wanted = set(_WORD.findall(claim.casefold()))
        scores = {
            index: sum(math.log(1 + len(every) / counts[word]) for word in sorted(wanted & each))
            for index, each in enumerate(words)
        }
        best = sorted(scores, key=lambda index: (-scores[index], index))[:PASSAGES_PER_CLAIM]
        chosen.update(index for index in best if scores[index] > 0)
    return [every[index] for index in sorted(chosen)]


def rewrite_problem(claim: str, quote: str, new: str) -> str:
    """Return why a new wording of a claim may not be used; empty if it may.

    It may contain the figures of the claim and of the quote only, no new link, no line break, and must be about as long.
    """
    if " ".join(new.split()) == " ".join(claim.split()):
        return "it is unchanged"
    if len(new) > 2 * len(claim) + len(quote) + 40:
        return "it is much longer than the claim"
    if "\n" in new:
        return "it contains a line break"
    known = {*_NUMBER.findall(claim), *_NUMBER.findall(quote)}
    if added := [number for number in _NUMBER.findall(new) if number not in known]:
        return f"it adds the figure {added[0]}"
    if "://" in new and "://" not in claim:
        return "it adds a link"
    if quote:
        gone = [number for number in _NUMBER.findall(new) if number not in _NUMBER.findall(quote)]
        if gone and set(_NUMBER.findall(claim)) - set(_NUMBER.findall(quote)) >= set(gone):
            return f"it keeps the contradicted figure {gone[0]}"
    return ""
