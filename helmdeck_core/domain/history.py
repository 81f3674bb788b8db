"""The history of plans: hashes, names and values of enumerations, never the text of a request or free-text arguments."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import attrs
import msgspec

from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.catalog import Catalog
from helmdeck_core.errors import PluginError

SHA_DIGITS = 16


def intent_sha(intent: str) -> str:
    """The first 16 hex digits of the SHA-256 of a request, without surrounding whitespace and case.

    >>> from helmdeck_core import intent_sha
    >>> intent_sha("Draft a post ") == intent_sha("draft a post")
    True
    """
    return _sha(intent.strip().lower())


def args_sha(args: Mapping[str, Any]) -> str:
    """The first 16 hex digits of the SHA-256 of a step's arguments, in any order.

    >>> from helmdeck_core import args_sha
    >>> args_sha({"to": "a@example.org", "body": "x"}) == args_sha({"body": "x", "to": "a@example.org"})
    True
    """
    return _sha(msgspec.json.encode(dict(args), order="sorted").decode("utf-8", "replace"))


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:SHA_DIGITS]


@attrs.frozen
class RecordedStep:
    """One step of a recorded plan.

    :ivar tool: the entry; for a step that runs a pipeline, the pipeline.
    :ivar values: the values of learnable inputs by name; no other argument is recorded.

    >>> from helmdeck_core import RecordedStep, args_sha
    >>> RecordedStep(1, "blog.draft", args_sha({"brief": "tides"})).tool
    'blog.draft'
    """

    order: int
    tool: str
    args_sha: str
    values: Mapping[str, Any] = EMPTY


@attrs.frozen(kw_only=True)
class PlanRecord:
    """A plan, a route, the run of a pack, or a failed attempt.

    :ivar caller: the caller; callers never get the records of other callers.
    :ivar outcome: how a plan ended, or ``failed``.
    :ivar cause: why it failed; ``None`` for a plan.
    :ivar duration_s: seconds from the request to the plan.
    :ivar time: seconds since 1970 UTC.
    :ivar kind: ``plan``, ``route`` or ``run``; other kinds may follow.
    :ivar sketch: keyed hashes of word n-grams of the request, by which similar requests are found.
    :ivar id: unique; a store that has the id already ignores the record.

    >>> from helmdeck_core import PlanRecord, intent_sha
    >>> record = PlanRecord(
    ...     caller="ann", intent_sha=intent_sha("draft a post"), outcome="planned", model="acme/large", duration_s=1.5, time=0.0
    ... )
    >>> record.kind
    'plan'
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
    kind: str = "plan"
    sketch: tuple[int, ...] = ()
    id: str = attrs.field(factory=lambda: uuid.uuid4().hex)


@attrs.frozen
class Learned:
    """What the history contributes to a request.

    :ivar planned: ids in the caller's plans for similar requests, with weights from 0 to 1, the highest first.
    :ivar defaults: the caller's usual values, by input name.
    """

    planned: Mapping[str, float] = EMPTY
    defaults: Mapping[str, Any] = EMPTY


class History:
    """The history of a deck. This class records nothing; plugins contribute others."""

    is_enabled = False

    def learned(self, caller: str, request: str) -> Learned:  # noqa: ARG002
        """Return what the history contributes to a request. It blocks, and reports failures of the store as events."""
        return Learned()

    def remember(self, record: PlanRecord, request: str = "", arguments: Sequence[Mapping[str, Any]] = ()) -> None:
        """Record something in the background; failures of the store are reported as events.

        :param request: the request, for the record's sketch; it is not stored.
        :param arguments: the arguments of each step of the record; only the values of learnable inputs are stored.
        """

    def recording(self, caller: str, name: str, arguments: Mapping[str, Any]) -> AbstractContextManager[object]:  # noqa: ARG002
        """Return a context manager that records the run of a pack."""
        return nullcontext()

    def close(self) -> None:
        """Write what waits in memory, and close the store."""


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


@attrs.frozen(kw_only=True)
class HistorySetup:
    """What a history is opened with.

    :ivar is_enabled: whether a store is configured.
    :ivar keep_days: days until a record is deleted.
    :ivar secret: returns the configured secret, ``""`` if it cannot be read, ``None`` without one.
    :ivar open_store: opens the configured store.
    :ivar fault: returns the error for an exception of the store, without secrets; ``report`` sends it as an event.
    :ivar catalog: returns the catalog.
    :ivar project: the project that the records of each caller belong to; empty for none.
    """

    is_enabled: bool
    keep_days: float
    secret: Callable[[], str | None]
    open_store: Callable[[], HistoryStore]
    fault: Callable[[BaseException], PluginError]
    report: Callable[[str, PluginError], None]
    catalog: Callable[[], Catalog]
    project: str = ""


@attrs.frozen(kw_only=True)
class HistorySpec:
    """A kind of history; ``open`` is called when a deck is made, and opens the store at its first use."""

    name: str
    open: Callable[[HistorySetup], History]
    order: int = 0
