"""The history of plans: hashes and names, never the text of a request or the arguments of a step."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import attrs
import msgspec

SHA_DIGITS = 16


def intent_sha(intent: str) -> str:
    """The first 16 hex digits of the SHA-256 of a request, without surrounding whitespace and case."""
    return _sha(intent.strip().lower())


def args_sha(args: Mapping[str, Any]) -> str:
    """The first 16 hex digits of the SHA-256 of a step's arguments, in any order."""
    return _sha(msgspec.json.encode(dict(args), order="sorted").decode("utf-8", "replace"))


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:SHA_DIGITS]


@attrs.frozen
class RecordedStep:
    """One step of a recorded plan."""

    order: int
    tool: str
    args_sha: str


@attrs.frozen(kw_only=True)
class PlanRecord:
    """A plan, or a failed attempt to plan.

    :ivar caller: the caller; callers never get the records of other callers.
    :ivar outcome: how a plan ended, or ``failed``.
    :ivar cause: why it failed; ``None`` for a plan.
    :ivar duration_s: seconds from the request to the plan.
    :ivar time: seconds since 1970 UTC.
    """

    caller: str
    intent_sha: str
    outcome: str
    model: str
    duration_s: float
    time: float
    complexity: str | None = None
    steps: tuple[RecordedStep, ...] = ()
    cause: str | None = None


class HistoryStore(Protocol):
    """A store of records. Its methods may be called from any thread."""

    def add(self, record: PlanRecord) -> None:
        """Store a record. An exception never fails a plan; it is reported as an event."""
        ...

    def plans(self, caller: str, limit: int = 100) -> tuple[PlanRecord, ...]:
        """Return a caller's records that have not expired, the newest first."""
        ...


@attrs.frozen(kw_only=True)
class HistoryStoreSpec:
    """A kind of history store.

    :ivar name: the scheme of its URLs, before the first ``:`` of ``[history] url``.
    :ivar open: takes the rest of the URL, and the days until records are deleted.
    """

    name: str
    open: Callable[[str, float], HistoryStore]
    summary: str = ""
    order: int = 0
