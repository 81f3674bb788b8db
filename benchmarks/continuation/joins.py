"""Merges of a truncated response and its continuation: Helmdeck's and common hand-written ones."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from helmdeck_recovery import continuation
from helmdeck_recovery.continuation.merge import Merger

MERGER = Merger(continuation.helmdeck_continuation_announcements())


def ours(answer: str, more: str) -> str:
    """Helmdeck's merge."""
    return MERGER.merge(answer, more).text


def ours_streamed(answer: str, more: str) -> str:
    """Helmdeck's merge, streamed in chunks of 24 characters."""
    stream = MERGER.stream(answer)
    chunks = [stream.feed(more[start : start + 24]) for start in range(0, len(more), 24)]
    return "".join([answer, *chunks, stream.finish()])


def naive(answer: str, more: str) -> str:
    """Concatenate."""
    return answer + more


def stripped(answer: str, more: str) -> str:
    """Concatenate without whitespace at the seam, as prompt chains often do."""
    return answer.rstrip() + " " + more.lstrip()


def longest_overlap(answer: str, more: str) -> str:
    """Remove the longest suffix of the first text that is a prefix of the second."""
    for size in range(min(len(answer), len(more), 2_000), 0, -1):
        if answer.endswith(more[:size]):
            return answer + more[size:]
    return answer + more


def matched_blocks(answer: str, more: str) -> str:
    """Remove the longest common block near the seam, found by ``difflib``."""
    tail, head = answer[-300:], more[:300]
    block = difflib.SequenceMatcher(None, tail, head, autojunk=False).find_longest_match()
    if block.size >= 10 and block.a + block.size == len(tail):
        return answer + more[block.b + block.size :]
    return answer + more


def last_line(answer: str, more: str) -> str:
    """Remove a repeated last line."""
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
