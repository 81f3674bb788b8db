"""The rows of the fault suite: what the first model does, and what the fallback does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from benchmarks.faults.replies import AT_ONCE, HARMLESS, IN_MID_STREAM


class Case(NamedTuple):
    """One row.

    :ivar primary: faults of the first model, by request; the last one applies again and again.
    :ivar fallback: likewise of the fallback; empty for no fallback.
    :ivar extra: requests that are enough beyond the first one.
    :ivar is_answered: whether a server can answer.
    :ivar is_home: the first model has to answer, so the fallback gets no request.
    :ivar least_s: the wait that the first model asks for in seconds; no request may come earlier.
    :ivar prefill_status: status of the response to prefill, of a first model that is known to support it; ``None`` for others.
    :ivar key_fault: the first provider has two keys, the first of which has this fault; empty for one key.
    :ivar origin: scheme and host of the first model, where they differ from its server's.
    :ivar calls: calls in a row; each has to be answered.
    :ivar size: characters of the request beside its question.
    """

    primary: Sequence[str]
    fallback: Sequence[str] = ("good",)
    extra: int = 1
    is_answered: bool = True
    is_home: bool = False
    least_s: float = 0.0
    prefill_status: int | None = None
    key_fault: str = ""
    origin: str = ""
    calls: int = 1
    size: int = 0

    def base_url(self, url: str) -> str:
        """Return the base URL of the first model, whose server has this one."""
        return url.replace("http://127.0.0.1", self.origin) if self.origin else url


FIRST_KEY, SECOND_KEY = "key-one-of-two", "key-two-of-two"
"""The keys of a first provider that has two."""
UNKNOWN_HOST = "first.invalid"
"""A host that no DNS server knows."""

_LONG_OR_ABSURD = ("60", "in 2094", "a year", "-1", "NaN", "1e400")
NOT_RETRIED = (
    "silent", "silent after the headers", "empty answer", "only comments", "429", "503, Retry-After 60",
    *(f"429, Retry-After {each}" for each in _LONG_OR_ABSURD),
)  # fmt: skip
"""Faults before any text after which the fallback is called at once: silence, an empty answer, a wait that is long or not known."""
HICCUPS: Mapping[str, float] = {
    **dict.fromkeys(
        ("408", "500", "502", "503", "504", "529", "error in 200", "HTML in 200", "gzip that is none"), 0.0
    ),
    **dict.fromkeys(("reset before the answer", "closed before the answer", "429, Retry-After in the past"), 0.0),
    "429, Retry-After 1": 1.0,
    "429, Retry-After 2": 2.0,
    "429, Retry-After 1.5 s": 1.5,
    "429, reset in 1 s": 1.0,
    "503, Retry-After 2": 2.0,
}
"""Faults that are over at the second request, and the wait that the server asks for in seconds."""

CASES: Mapping[str, Case] = {
    "none": Case(("good",), extra=0, is_home=True),
    "refused": Case(("refused",)),
    "unknown host": Case(("good",), origin=f"http://{UNKNOWN_HOST}"),
    "TLS error": Case(("good",), origin="https://127.0.0.1"),
    # After a single failure of the server, or a short rate limit, the same model is called once more.
    **{fault: Case((fault,), extra=1 if fault in NOT_RETRIED else 2) for fault in AT_ONCE},
    **{f"{fault}, once": Case((fault, "good"), is_home=True, least_s=wait_s) for fault, wait_s in HICCUPS.items()},
    # The same model is called once more, to keep the style; then the fallback.
    **{f"{fault} in mid-stream": Case((fault,), extra=2) for fault in IN_MID_STREAM},
    **{f"{fault} in mid-stream, once": Case((fault, "good")) for fault in IN_MID_STREAM},
    "silent, once": Case(("silent", "good")),
    "500, once, without a fallback": Case(("500", "good"), (), is_home=True),
    "429, Retry-After 1, once, without a fallback": Case(("429, Retry-After 1", "good"), (), is_home=True, least_s=1.0),
    "empty answer, once, without a fallback": Case(("empty answer", "good"), (), is_home=True),
    **{fault: Case((fault,), extra=0, is_home=True) for fault in HARMLESS if fault != "closed after the answer"},
    "slow upload": Case(("slow upload",), extra=0, is_home=True, size=4_000_000),
    "closed after the answer": Case(("closed after the answer",), is_home=True, calls=2),
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
