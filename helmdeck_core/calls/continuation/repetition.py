"""Tells what a continuation repeats of an answer's end: by characters, and whether that is evidence of a new start.

Text repeats itself for reasons of its own: refrains, rows of zeros, closing braces, a very, very good word. A repetition is
only taken for a new start where the text going on would be the stranger story.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

_ANCHORS = (200, 48, 12)
"""Repetitions are found by their ends, long ends first, for they come up less often; one that is shorter than all of these
is tried at the seam itself."""
_MAX_PLACES = 32
"""How often the end of the answer may come up in the continuation before the search is given up."""
_RECENT = 3_000
_LONG = 200
"""A repetition this long is no accident of a text that repeats lines or rows."""
_BEGUN_WORD = 2
"""A word that was begun is seen to be begun again from this many letters on; doubled first letters are too common."""
_INSIDE_WORD = 4
"""A repetition that starts inside a word is taken for chance below this many characters."""
_UNSPACED = 6
"""The same for scripts without blanks, where doubled words are good style."""
_MIN_SQUASHED = 8
SURE = 40
"""A cut continuation of at least this length that only repeats the beginning of the answer had not come to its end."""

LINE_MARK = re.compile(r"[ \t]*(?:\|[ \t]*\S|[-*+] \S|\d+[.)] \S|#+ \S|> \S)")
_INK = re.compile(r"\S+")
_UNSPACED_SCRIPTS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


def repeated_length(answer: str, rest: str, blank: str, *, is_cut: bool) -> int:
    """How many characters of ``rest`` repeat the end of the answer; 0 for none that are sure.

    :param blank: the blank before it in the continuation.
    """
    length = longest_repetition(answer, rest)
    if is_cut and len(rest) >= SURE and answer.startswith(rest):
        return len(rest)
    if length < _ANCHORS[-1] and (other := _in_other_form(answer, rest)):
        return other
    repeated = rest[:length]
    if not repeated or rest.startswith(repeated, length):  # ding, ding, ding
        return 0
    return length if _is_evident(answer, repeated, rest[length : length + 1], blank) else 0


def longest_repetition(answer: str, more: str) -> int:
    """The longest end of the answer that the continuation starts with."""
    if more.startswith(answer):
        return len(answer)
    for anchor in _ANCHORS:
        if longest := _anchored(answer, more, anchor):
            return longest
    sizes = range(min(_ANCHORS[-1] - 1, len(answer), len(more)), 0, -1)
    return next((size for size in sizes if answer.endswith(more[:size])), 0)


def _anchored(answer: str, more: str, anchor: int) -> int:
    """The same for repetitions of at least ``anchor`` characters, found by how they end."""
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


def _is_evident(answer: str, repeated: str, following: str, blank: str) -> bool:
    """Whether a repetition is the model starting again, and not the text repeating itself.

    :param following: the character behind the repetition.
    :param blank: what stands before it in the continuation.
    """
    size = len(repeated)
    if blank and size < _ANCHORS[-1]:
        return False  # "only be", " believed"
    if _runs_on(answer, repeated):
        return False
    before = answer[-size - 1 : -size]
    is_fused = not (blank or repeated[0].isspace() or answer[-1].isspace())
    opens_line = repeated[0] == "\n" or "\n" in blank
    starts_line = before in ("", "\n")
    if starts_line and is_fused and "\n" not in repeated and LINE_MARK.match(repeated):
        return True  # the mark of a line stands where no line begins
    ends_line = answer[-1] == "\n" or following in ("", "\n")
    if not is_fused and ends_line and (opens_line or (starts_line and size < _LONG and repeated.count("\n") == 1)):
        return False  # lines that were finished are not begun again; a refrain is
    if size < _LONG and _has_doubles(answer):
        return False
    letters = sum(map(str.isalnum, repeated))
    if not is_fused and repeated.strip().isalnum() and not (starts_line or _cuts_a_word(before, repeated, following)):
        return False  # a very, very good word
    if size >= _ANCHORS[-1]:
        return letters >= _INSIDE_WORD - 1
    if _UNSPACED_SCRIPTS.search(repeated):
        return size >= _UNSPACED
    if repeated.isalpha() and not (before.isalnum() or before == "_"):
        # Joined as they are, the two would make one word that begins twice.
        return size >= _BEGUN_WORD
    return size >= _INSIDE_WORD and letters >= _INSIDE_WORD - 1


def _cuts_a_word(before: str, repeated: str, following: str) -> bool:
    """Whether a repetition starts or ends inside a word."""
    return (before.isalnum() and repeated[0].isalnum()) or (repeated[-1].isalnum() and following.isalnum())


def _runs_on(answer: str, repeated: str) -> bool:
    """Whether the answer was repeating itself already, so that one more round is its own."""
    size = len(repeated)
    if _is_periodic(repeated) or repeated + repeated in answer:
        return True
    # Something of a round before the last one: where nothing repeats, the two have no end in common.
    shared = min(size, max(2, size // 2 + 1))
    return answer[:-size].endswith(repeated[-shared:])


def _has_doubles(answer: str) -> bool:
    """Whether lines, items or phrases near the end stand twice in a row: a song, a table of zeros."""
    recent = answer[-_RECENT:].casefold()
    for separators in ("\n", "\n,;.!?|[]{}"):
        parts = [part.strip() for part in re.split(f"[{re.escape(separators)}]", recent)]
        if any(first == second and len(first) >= _INSIDE_WORD for first, second in pairwise(parts)):
            return True
    return False


def _is_periodic(text: str) -> bool:
    """Whether a text is one piece again and again, the last one perhaps cut."""
    half = len(text) // 2
    period = text.find(text[: max(1, min(len(text) - half, 24))], 1)
    while 0 < period <= half:
        if text[period:] == text[:-period]:
            return True
        period = text.find(text[: max(1, min(len(text) - half, 24))], period + 1)
    return False


# -- repetitions in other white space or another normal form ---------------------------------------------------------


def _in_other_form(answer: str, rest: str) -> int:
    """How much of the continuation repeats the answer's end but for white space and Unicode normal form."""
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
    if size < _LONG and _has_doubles(answer):
        return 0
    end = _place_of(rest, size)
    return end + _shared_blank(answer, rest[end:])


def squashed(text: str) -> str:
    """The text without blanks, in one normal form."""
    text = "".join(text.split())
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _begins_a_word(window: str, repeated: str) -> bool:
    """Whether the repetition starts where a word of the answer does; blanks that are gone cannot mislead then."""
    start = _place_of_end(window, len(repeated))
    return start == 0 or not (window[start - 1].isalnum() and window[start].isalnum())


def _place_of(text: str, size: int) -> int:
    """Behind which character of a text its squashed form has ``size`` characters."""
    done = 0
    for piece in _INK.finditer(text):
        length = len(squashed(piece.group()))
        if done + length >= size:
            return piece.start() + _inside(piece.group(), size - done)
        done += length
    return len(text)


def _place_of_end(text: str, size: int) -> int:
    """Before which character of a text its squashed end has ``size`` characters."""
    return _place_of(text, max(0, len(squashed(text)) - size) + 1) - 1


def _inside(piece: str, size: int) -> int:
    """Behind which character of a piece without blanks its normal form has ``size`` characters."""
    if unicodedata.is_normalized("NFC", piece):
        return size
    done, start = 0, 0
    while start < len(piece) and done < size:
        end = start + 1
        while end < len(piece) and unicodedata.combining(piece[end]):
            end += 1
        done += len(unicodedata.normalize("NFC", piece[start:end]))
        start = end
    return start


def _shared_blank(answer: str, rest: str) -> int:
    """How much of the blank that follows a repetition the answer has already."""
    ours = answer[len(answer.rstrip()) :]
    theirs = rest[: len(rest) - len(rest.lstrip())]
    if not ours or not theirs:
        return 0
    return len(ours) if theirs.startswith(ours) else len(theirs)
