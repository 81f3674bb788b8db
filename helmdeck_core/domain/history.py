"""What is kept of past plans: hashes and names, never a request's text or a step's arguments."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import attrs
import msgspec

SHA_DIGITS = 16


def intent_sha(intent: str) -> str:
    """The first 16 hex digits of the SHA-256 of a request, outer blanks and letter case aside."""
    return _sha(intent.strip().lower())


def args_sha(args: Mapping[str, Any]) -> str:
    """The first 16 hex digits of the SHA-256 of a step's arguments, their order aside."""
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
    """One plan, or one attempt at a plan.

    :ivar caller: whose plan it is; callers never see one another's records.
    :ivar outcome: how a plan ended, or ``failed``.
    :ivar cause: why it failed; ``None`` for a plan.
    :ivar duration_s: seconds from the request to the plan.
    :ivar time: when it was made, in seconds since 1970 UTC.
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
    """A place where records are kept. Its methods may be called from any thread."""

    def add(self, record: PlanRecord) -> None:
        """Keep a record. What this raises never fails a plan; it is reported as an event."""
        ...

    def plans(self, caller: str, limit: int = 100) -> tuple[PlanRecord, ...]:
        """Return a caller's records that have not expired, the newest first."""
        ...


@attrs.frozen(kw_only=True)
class HistoryStoreSpec:
    """A kind of store.

    :ivar name: the scheme of the URLs that it serves: what stands before the first ``:`` of ``[history] url``.
    :ivar open: takes the rest of the URL, and for how many days records are kept.
    """

    name: str
    open: Callable[[str, float], HistoryStore]
    summary: str = ""
    order: int = 0
