"""Finds the end of an answer that its continuation repeats, and decides whether the model restarted there.

Text repeats legitimately: refrains, rows of zeros, closing braces, "a very, very good word". A repetition counts as a restart
only if that is more likely than text that repeats by itself.
"""

from __future__ import annotations

import re
import unicodedata

from helmdeck_recovery.continuation.short_overlap import is_doubled_word, is_short_restart, may_double
from helmdeck_recovery.continuation.structure import Ending, structural_verdict

_ANCHORS = (200, 48, 12)
"""Lengths of the ends by which repetitions are found, longest and rarest first; shorter repetitions are tried at the seam
itself."""
_MAX_PLACES = 32
"""Occurrences of the end of the answer in the continuation after which the search stops."""
_RECENT = 3_000
_LONG = 200
"""A repetition of this length is no coincidence, even in a text with repeated lines or rows."""
_FEWEST_LETTERS = 3
_MIN_SQUASHED = 8
SURE = 40
"""A truncated continuation of this length that only repeats the start of the answer is an unfinished restart."""

LINE_MARK = re.compile(r"[ \t]*(?:\|[ \t]*\S|[-*+] \S|\d+[.)] \S|#+ \S|> \S)")
_WORD = re.compile(r"\S+")


def repeated_length(ending: Ending, rest: str, blank: str, *, is_truncated: bool) -> int:
    """Return the number of characters of ``rest`` that repeat the end of the answer; 0 if it is uncertain.

    :param blank: the whitespace before ``rest`` in the continuation.
    """
    answer = ending.text
    length = longest_repetition(answer, rest)
    if is_truncated and len(rest) >= SURE and answer.startswith(rest):
        return len(rest)
    if length < _ANCHORS[-1] and (other := _in_other_form(ending, rest)):
        return other
    if not length or (blank and length < _ANCHORS[-1]):
        return 0  # "only be", " besides"
    most = length if rest[:length].isspace() else _ANCHORS[-1]
    sizes = [length, *(size for size in range(min(length, most, _LONG) - 1, 0, -1) if answer.endswith(rest[:size]))]
    for size in sizes:
        verdict = structural_verdict(ending, rest, size)
        if verdict:
            return size
        if verdict is None:
            return size if _is_evident(ending, rest, size, blank) else 0
    return 0


def longest_repetition(answer: str, more: str) -> int:
    """Return the length of the longest end of the answer that the continuation starts with."""
    if more.startswith(answer):
        return len(answer)
    for anchor in _ANCHORS:
        if longest := _anchored(answer, more, anchor):
            return longest
    sizes = range(min(_ANCHORS[-1] - 1, len(answer), len(more)), 0, -1)
    return next((size for size in sizes if answer.endswith(more[:size])), 0)


def _anchored(answer: str, more: str, anchor: int) -> int:
    """Return the same for repetitions of at least ``anchor`` characters, which are found by their end."""
    tail, longest, place = answer[-anchor:], 0, -1
    if len(tail) < anchor:
        return 0
    for _ in range(_MAX_PLACES):
        place = more.find(tail, place + 1)
        if place < 0 or place + anchor > len(answer):
            break
        if answer.endswith(more[: place + anchor]):
            longest = place + anchor
    return longest


def _is_evident(ending: Ending, rest: str, size: int, blank: str) -> bool:
    """Whether a repetition is a restart of the model, not a repetition of the text.

    :param blank: the whitespace before the repetition in the continuation.
    """
    answer, repeated, following = ending.text, rest[:size], rest[size : size + 1]
    if rest.startswith(repeated, size):  # ding, ding, ding
        return False
    if _runs_on(answer, repeated):
        return False
    before = answer[-size - 1 : -size]
    is_fused = not (blank or repeated[0].isspace() or answer[-1].isspace())
    opens_line = repeated[0] == "\n" or "\n" in blank
    starts_line = before in ("", "\n")
    if starts_line and is_fused and "\n" not in repeated and LINE_MARK.match(repeated):
        return True  # a line marker inside a line
    ends_line = answer[-1] == "\n" or following in ("", "\n")
    # Complete lines are repeated in a refrain, and rarely elsewhere.
    is_complete = opens_line or (starts_line and size < _LONG and repeated.count("\n") == 1)
    if ending.json is None and ends_line and is_complete and not (is_fused or repeated.isspace()):
        if opens_line and size >= _LONG:  # a new paragraph; lost text is worse than a paragraph that is there twice
            return False
        return sum(map(str.isalnum, repeated)) > 1 and not ending.doubles_lines
    if size < _ANCHORS[-1] or sum(map(str.isalnum, repeated)) < _FEWEST_LETTERS:
        return is_short_restart(ending, rest, size)
    if size < _LONG and ending.has_doubles and ("\n" in (repeated[0], answer[-1]) or ending.flows_into(rest)):
        return False
    return is_fused or not is_doubled_word(ending, rest, size) or not may_double(ending, repeated.strip())


def _runs_on(answer: str, repeated: str) -> bool:
    """Whether the answer was already repeating, so that another repetition belongs to it."""
    size = len(repeated)
    if _is_periodic(repeated) or repeated + repeated in answer:
        return True
    # Compare the ends of the last two rounds: without repetition they differ.
    shared = min(size, max(2, size // 2 + 1))
    last = repeated[-shared:]
    return answer[:-size].endswith(last) and (not last.isspace() or repeated.isspace())


def _is_periodic(text: str) -> bool:
    """Whether a text consists of one repeated part, the last one possibly truncated."""
    half = len(text) // 2
    period = text.find(text[: max(1, min(len(text) - half, 24))], 1)
    while 0 < period <= half:
        if text[period:] == text[:-period]:
            return True
        period = text.find(text[: max(1, min(len(text) - half, 24))], period + 1)
    return False


# -- repetitions with other whitespace or normal form ---------------------------------------------------------


def _in_other_form(ending: Ending, rest: str) -> int:
    """Return the length of a repetition that differs in whitespace or Unicode normal form."""
    answer = ending.text
    window = answer[-2 * len(rest) - _RECENT :]
    ours, theirs = squashed(window), squashed(rest)
    size = longest_repetition(ours, theirs)
    if size < _MIN_SQUASHED or (size == len(theirs) and size < len(ours)):
        return 0
    repeated = theirs[:size]
    if (
        sum(map(str.isalnum, repeated)) < _MIN_SQUASHED
        or _runs_on(ours, repeated)
        or not _begins_a_word(window, repeated)
    ):
        return 0
    if size < _LONG and ending.has_doubles:
        return 0
    end = _place_of(rest, size)
    return end + _shared_blank(answer, rest[end:])


def squashed(text: str) -> str:
    """Return the text without whitespace, in Unicode normal form C."""
    text = "".join(text.split())
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _begins_a_word(window: str, repeated: str) -> bool:
    """Whether the repetition starts at the start of a word of the answer."""
    start = _place_of_end(window, len(repeated))
    return start == 0 or not (window[start - 1].isalnum() and window[start].isalnum())


def _place_of(text: str, size: int) -> int:
    """Return the index in a text after ``size`` characters of its squashed form."""
    done = 0
    for word in _WORD.finditer(text):
        length = len(squashed(word.group()))
        if done + length >= size:
            return word.start() + _inside(word.group(), size - done)
        done += length
    return len(text)


def _place_of_end(text: str, size: int) -> int:
    """Return the index in a text at which the last ``size`` characters of its squashed form start."""
    return _place_of(text, max(0, len(squashed(text)) - size) + 1) - 1


def _inside(word: str, size: int) -> int:
    """Return the index in a word after ``size`` characters of its normal form."""
    if unicodedata.is_normalized("NFC", word):
        return size
    done, start = 0, 0
    while start < len(word) and done < size:
        end = start + 1
        while end < len(word) and unicodedata.combining(word[end]):
            end += 1
        done += len(unicodedata.normalize("NFC", word[start:end]))
        start = end
    return start


def _shared_blank(answer: str, rest: str) -> int:
    """Return the length of the whitespace after a repetition that the answer already ends with."""
    ours = answer[len(answer.rstrip()) :]
    theirs = rest[: len(rest) - len(rest.lstrip())]
    if not ours or not theirs:
        return 0
    return len(ours) if theirs.startswith(ours) else len(theirs)
