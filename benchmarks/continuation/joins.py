"""Ways of joining a cut answer with its continuation: ours, and what people write by hand."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from helmdeck_core.calls.continuation.merge import Merger
from helmdeck_plugins import continuation

MERGER = Merger(continuation.helmdeck_continuation_announcements())


def ours(answer: str, more: str) -> str:
    """The join of this project."""
    return MERGER.merge(answer, more).text


def ours_streamed(answer: str, more: str) -> str:
    """The same on a stream in pieces of 24 characters."""
    stream = MERGER.stream(answer)
    pieces = [stream.feed(more[start : start + 24]) for start in range(0, len(more), 24)]
    return "".join([answer, *pieces, stream.finish()])


def naive(answer: str, more: str) -> str:
    """One text behind the other."""
    return answer + more


def stripped(answer: str, more: str) -> str:
    """One behind the other without the blanks at the seam, as chains of prompts often do."""
    return answer.rstrip() + " " + more.lstrip()


def longest_overlap(answer: str, more: str) -> str:
    """The longest end of one that the other starts with, wherever it comes from."""
    for size in range(min(len(answer), len(more), 2_000), 0, -1):
        if answer.endswith(more[:size]):
            return answer + more[size:]
    return answer + more


def matched_blocks(answer: str, more: str) -> str:
    """The longest common block near the seam, by ``difflib``."""
    tail, head = answer[-300:], more[:300]
    block = difflib.SequenceMatcher(None, tail, head, autojunk=False).find_longest_match()
    if block.size >= 10 and block.a + block.size == len(tail):
        return answer + more[block.b + block.size :]
    return answer + more


def last_line(answer: str, more: str) -> str:
    """The continuation without its first line where that starts as the answer's last one does."""
    line = answer.rpartition("\n")[2].strip()
    first = more.lstrip().partition("\n")[0]
    if line and first.startswith(line):
        return answer + more.lstrip()[len(line) :]
    return answer + more


JOINS: dict[str, Callable[[str, str], str]] = {
    "helmdeck": ours,
    "helmdeck, streamed": ours_streamed,
    "concatenation": naive,
    "stripped and joined": stripped,
    "longest overlap": longest_overlap,
    "difflib near the seam": matched_blocks,
    "last line compared": last_line,
}
