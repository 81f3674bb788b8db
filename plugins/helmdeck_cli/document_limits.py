"""Shortens documents to a limit, with the same share for each."""

from __future__ import annotations

from collections.abc import Sequence

BREAKS = ("\n\n", "\n", ". ", " ")
"""Where a document may end, the best place first."""

MIN_KEPT = 0.8
"""The share of the allowed text that a better place for the end may not undercut."""


def shorten(texts: Sequence[str], max_bytes: int) -> list[str]:
    """Return prefixes of texts that together have at most a number of bytes in UTF-8.

    A text that needs less than its share is kept whole, and the others share the rest.
    """
    left, kept = max(0, max_bytes), [""] * len(texts)
    sizes = [len(text.encode("utf-8", "surrogatepass")) for text in texts]
    by_size = sorted(range(len(texts)), key=lambda index: sizes[index])
    for done, index in enumerate(by_size):
        share = left // (len(texts) - done)
        kept[index] = texts[index] if sizes[index] <= share else _beginning(texts[index], share)
        left -= min(sizes[index], share)
    return kept


def _beginning(text: str, max_bytes: int) -> str:
    """The beginning of a text, to the end of a paragraph, line, sentence or word."""
    start = text.encode("utf-8", "surrogatepass")[:max_bytes].decode("utf-8", "ignore")
    for mark in BREAKS:
        if (end := start.rfind(mark)) >= MIN_KEPT * len(start) > 0:
            return start[: end + len(mark)].rstrip()
    return start
