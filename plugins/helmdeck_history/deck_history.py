"""The type of ``deck.history``: what a caller planned before, and how it is deleted, exported and imported."""

# ruff: noqa: ARG002  # the base class uses no argument

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from helmdeck_core import Helmdeck, History, PlanRecord


@attrs.frozen(kw_only=True)
class PlanGroup:
    """A caller's successful plans for one request.

    :ivar intent_sha: identifies the request; its text is not known.
    :ivar plans: their number.
    :ivar tools: the five most frequent tools, and the number of plans with each; gaps are left out.
    :ivar models: the three most frequent models, and the number of their plans.
    :ivar time: the newest plan, in seconds since 1970 UTC.
    :ivar similarity: to the request that was searched for, 0 to 1; ``None`` without one.
    """

    intent_sha: str
    plans: int
    tools: Mapping[str, int]
    models: Mapping[str, int]
    time: float
    similarity: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form."""
        wire = {"intent_sha": self.intent_sha, "plans": self.plans, "tools": dict(self.tools)}
        wire |= {"models": dict(self.models), "time": self.time}
        return wire if self.similarity is None else {**wire, "similarity": round(self.similarity, 3)}


@attrs.frozen(kw_only=True)
class LearnedDefault:
    """A value of a learnable input in a caller's records.

    :ivar tool: the tool with the input.
    :ivar uses: the recent steps with this value.
    :ivar total: the recent steps with any value of this input.
    :ivar is_applied: whether plans get the value as a default.
    """

    tool: str
    input: str
    value: Any
    uses: int
    total: int
    is_applied: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form."""
        return attrs.asdict(self)


class DeckHistory(History):
    """The history of a deck: ``deck.history``. Methods that start with ``a`` are coroutines; the others block.

    Callers are kept apart: no method returns or changes what belongs to another caller. This class is the history of a deck
    without a store, and the base class of others. Methods that read raise ``PluginError`` when the store fails.

    :ivar is_enabled: whether a store is configured.
    """

    is_enabled: bool = False

    def records(self, caller: str = "local", *, limit: int = 100) -> tuple[PlanRecord, ...]:
        """Return a caller's plans, routes and runs, failed attempts included; the newest first."""
        return ()

    def plans(self, caller: str = "local", *, limit: int = 25) -> tuple[PlanGroup, ...]:
        """Return a caller's plans, grouped by request: the most frequent group first, then the newest."""
        return ()

    def defaults(self, caller: str = "local") -> tuple[LearnedDefault, ...]:
        """Return a caller's recent values of learnable inputs, the most frequent first."""
        return ()

    def similar(self, request: str, caller: str = "local", *, limit: int = 10) -> tuple[PlanGroup, ...]:
        """Return the groups of a caller's plans for similar requests, the most similar first."""
        return ()

    def forget(
        self,
        caller: str = "local",
        *,
        request: str | None = None,
        tool: str | None = None,
        before: float | None = None,
        fact: str | None = None,
    ) -> int:
        """Delete a caller's records that meet all conditions, or every one without a condition; return their number.

        Without a condition, the caller's facts are deleted, too.

        :param request: the request in plain words, or its ``intent_sha``.
        :param tool: an id in the steps of a record.
        :param before: seconds since 1970 UTC.
        :param fact: the id of a fact; then only this fact is deleted.
        """
        return 0

    def export(self, caller: str = "local") -> tuple[Mapping[str, Any], ...]:
        """Return a caller's records and facts as plain data that JSON can represent."""
        return ()

    def load(self, rows: Iterable[Mapping[str, Any]], caller: str | None = None) -> int:
        """Store exported rows; return the number of those that have not expired. Rows that are stored already are ignored.

        :param caller: store them for this caller instead of their own.
        :raises ValueError: a row does not have the exported form; nothing is stored.
        """
        return 0

    def purge(self) -> int:
        """Delete what has expired, of all callers; return the number of deleted rows. Stores also do it by themselves."""
        return 0

    def flush(self, timeout_s: float = 5.0) -> bool:
        """Wait until all records are written; return whether they are."""
        return True

    async def arecords(self, caller: str = "local", *, limit: int = 100) -> tuple[PlanRecord, ...]:
        """``records`` as a coroutine."""
        return await asyncio.to_thread(self.records, caller, limit=limit)

    async def aplans(self, caller: str = "local", *, limit: int = 25) -> tuple[PlanGroup, ...]:
        """``plans`` as a coroutine."""
        return await asyncio.to_thread(self.plans, caller, limit=limit)

    async def adefaults(self, caller: str = "local") -> tuple[LearnedDefault, ...]:
        """``defaults`` as a coroutine."""
        return await asyncio.to_thread(self.defaults, caller)

    async def asimilar(self, request: str, caller: str = "local", *, limit: int = 10) -> tuple[PlanGroup, ...]:
        """``similar`` as a coroutine."""
        return await asyncio.to_thread(self.similar, request, caller, limit=limit)

    async def aforget(
        self,
        caller: str = "local",
        *,
        request: str | None = None,
        tool: str | None = None,
        before: float | None = None,
        fact: str | None = None,
    ) -> int:
        """``forget`` as a coroutine."""
        return await asyncio.to_thread(self.forget, caller, request=request, tool=tool, before=before, fact=fact)

    async def aexport(self, caller: str = "local") -> tuple[Mapping[str, Any], ...]:
        """``export`` as a coroutine."""
        return await asyncio.to_thread(self.export, caller)

    async def aload(self, rows: Iterable[Mapping[str, Any]], caller: str | None = None) -> int:
        """``load`` as a coroutine."""
        return await asyncio.to_thread(self.load, rows, caller)

    async def apurge(self) -> int:
        """``purge`` as a coroutine."""
        return await asyncio.to_thread(self.purge)

    async def aflush(self, timeout_s: float = 5.0) -> bool:
        """``flush`` as a coroutine."""
        return await asyncio.to_thread(self.flush, timeout_s)


def history_of(deck: Helmdeck) -> DeckHistory:
    """Return the history of a deck; one without records if a plugin replaced the built-in history by another type.

    >>> from helmdeck_core import Helmdeck
    >>> from helmdeck_history import history_of
    >>> with Helmdeck(model="local/lexical") as deck:
    ...     print(type(history_of(deck)).__name__)
    DeckHistory
    """
    history = deck.history
    return history if isinstance(history, DeckHistory) else DeckHistory()
