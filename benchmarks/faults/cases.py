"""The rows of the fault suite: what the first model does, and what the fallback does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from benchmarks.faults.upstream import AT_ONCE, IN_MID_STREAM


class Case(NamedTuple):
    """One row.

    :ivar primary: faults of the first model, by request; the last one applies again and again.
    :ivar fallback: likewise of the fallback.
    :ivar extra: requests that are enough beyond the first one.
    :ivar is_answered: whether a server can answer.
    :ivar prefill_status: status of the response to prefill, of a first model that is known to support it; ``None`` for others.
    :ivar key_fault: the first provider has two keys, the first of which has this fault; empty for one key.
    """

    primary: Sequence[str]
    fallback: Sequence[str] = ("good",)
    extra: int = 1
    is_answered: bool = True
    prefill_status: int | None = None
    key_fault: str = ""


NOT_RETRIED = (
    "silent",
    "silent after the headers",
    "empty answer",
    "429",
    "429, Retry-After 60",
    "503, Retry-After 60",
)
"""Faults before any text after which a fallback is called at once."""
FIRST_KEY, SECOND_KEY = "key-one-of-two", "key-two-of-two"
"""The keys of a first provider that has two."""

CASES: Mapping[str, Case] = {
    "none": Case(("good",), extra=0),
    "refused": Case(("refused",)),
    # After a single failure of the server, or a short rate limit, the same model is called once more.
    **{fault: Case((fault,), extra=1 if fault in NOT_RETRIED else 2) for fault in AT_ONCE},
    # The same model is called once more, to keep the style; then the fallback.
    **{f"{fault} in mid-stream": Case((fault,), extra=2) for fault in IN_MID_STREAM},
    **{f"{fault} in mid-stream, once": Case((fault, "good")) for fault in IN_MID_STREAM},
    "503, once": Case(("503", "good")),
    "silent, once": Case(("silent", "good")),
    "fallback breaks as well": Case(("reset",), ("reset", "good"), extra=3),
    "prefill rejected": Case(("reset", "good"), extra=2, prefill_status=400),
    "prefill accepted": Case(("reset", "good"), prefill_status=200),
    "one of two keys limited": Case(("good",), key_fault="429, Retry-After 60"),
    "one of two keys rejected": Case(("good",), key_fault="401"),
    "both refused": Case(("refused",), ("refused",), extra=3, is_answered=False),
    "both silent": Case(("silent",), ("silent",), is_answered=False),
    "both 503": Case(("503",), ("503",), extra=4, is_answered=False),
    "both break in mid-stream": Case(("reset",), ("reset",), extra=5, is_answered=False),
}
