"""The built-in history: records in the background, and learns from what the store computes."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from helmdeck_core import (
    CallFailed,
    HistorySetup,
    HistoryStore,
    Learned,
    PackError,
    PlanRecord,
)
from helmdeck_history import projections
from helmdeck_history.access import Access, HistoryError, Note, run_record, sha_of
from helmdeck_history.deck_history import DeckHistory, LearnedDefault, PlanGroup
from helmdeck_history.learnable import usable_defaults
from helmdeck_history.owners import Owners
from helmdeck_history.rows import check_values, fact_of_row, fact_to_row, record_of_row, record_to_row
from helmdeck_history.store_types import (
    DAY_S,
    ExportingStore,
    Fact,
    FactStore,
    ForgettingStore,
    LearningStore,
    PurgingStore,
    Scope,
)
from helmdeck_history.writer import Writer

RECENT_VALUES = 300
"""The newest values of learnable inputs that defaults are computed from."""

NEWEST_VALUES = 30
"""The newest of them, which a default must not contradict: a caller who changes a habit no longer gets the old value."""

MIN_USES = 3
MIN_SHARE = 0.6
"""Uses of a value, and its share of all uses of the inputs of its name, from which on it is a default."""

SETTLE_S = 0.25
"""Seconds that a plan waits for the record of the caller's previous plan."""

DEFAULTS_S = 30.0
"""Seconds for which the defaults of a caller are kept in memory; recording changes them at once."""

MAX_CALLERS = 1_000


class LearningHistory(DeckHistory):
    """The history of one deck."""

    is_enabled = True

    def __init__(self, setup: HistorySetup) -> None:
        self._access = Access(setup)
        self._owners = Owners(setup.project)
        self._writer: Writer[Note | Fact] = Writer(self._access.write, self._access.dropped)
        self._defaults: dict[str, tuple[float, Mapping[str, Any]]] = {}
        self._waiting: set[str] = set()
        self._lock = threading.Lock()

    # -- plans -------------------------------------------------------------------------------------------------

    def learned(self, caller: str, request: str) -> Learned:
        """Return what the history contributes to a request."""
        caller = self._owners.owner(caller)
        self._settle(caller)
        return self._access.try_use(caller, self._learned, caller, request) or Learned()

    def _learned(self, store: HistoryStore, caller: str, request: str) -> Learned:
        sha, sketch, now = sha_of(request), self._access.sketch(request), time.time()
        if _learns(type(store)):
            weights = cast(LearningStore, store).weights(caller, sha, sketch, now)
        else:
            weights = projections.weights(store.plans(caller), sha, sketch, now)
        # One use gives half of the gain, and more uses approach all of it; with time, the weight of a use decreases.
        # Hundredths, so that the score of an entry, and a prompt with it, is the same for hours.
        planned = {tool: round(weight / (weight + 1), 2) for tool, weight in weights.items()}
        return Learned(planned, self._applied(store, caller))

    def _applied(self, store: HistoryStore, caller: str) -> Mapping[str, Any]:
        kept = self._defaults.get(caller)
        if kept is not None and time.monotonic() < kept[0]:
            return kept[1]
        applied = {each.input: each.value for each in self._computed_defaults(store, caller) if each.is_applied}
        if len(self._defaults) >= MAX_CALLERS:
            self._defaults.clear()
        self._defaults[caller] = (time.monotonic() + DEFAULTS_S, applied)
        return applied

    def remember(self, record: PlanRecord, request: str = "", arguments: Sequence[Mapping[str, Any]] = ()) -> None:
        """Record something in the background."""
        record = self._owners.to_store(record)
        self._waiting.add(record.caller)
        self._defaults.pop(record.caller, None)
        self._writer.put(Note(record, request, tuple(arguments)))

    @contextlib.contextmanager
    def recording(self, caller: str, name: str, arguments: Mapping[str, Any]) -> Iterator[None]:
        """Record the run of a listed pack; the packs that plan record what they do themselves."""
        start = (time.time(), time.perf_counter())
        cause: str | None = None
        try:
            yield
        except PackError as exc:
            cause = exc.code.value
            raise
        except CallFailed as exc:
            cause = exc.failure_class.value
            raise
        except BaseException as exc:
            cause = type(exc).__name__
            raise
        finally:
            if self._is_listed(name):
                self.remember(run_record(caller, name, arguments, start, cause), arguments=(arguments,))

    def _is_listed(self, name: str) -> bool:
        try:
            return self._access.setup.catalog().get(name) is not None
        except Exception:  # a catalog that cannot be loaded fails the call, not the record
            return False

    def _settle(self, caller: str) -> None:
        """Wait for the records of a caller, so that a plan learns from the previous one."""
        if caller in self._waiting:
            self._writer.flush(SETTLE_S)
            self._waiting.discard(caller)

    # -- projections -------------------------------------------------------------------------------------------

    def records(self, caller: str = "local", *, limit: int = 100) -> tuple[PlanRecord, ...]:
        """Return a caller's plans, routes and runs, failed attempts included; the newest first."""
        self.flush()
        records = self._access.use(lambda store: store.plans(self._owners.owner(caller), limit))
        return tuple(map(self._owners.from_store, records))

    def plans(self, caller: str = "local", *, limit: int = 25) -> tuple[PlanGroup, ...]:
        """Return a caller's plans, grouped by request."""
        self.flush()
        caller = self._owners.owner(caller)

        def read(store: HistoryStore) -> tuple[PlanGroup, ...]:
            if isinstance(store, LearningStore):
                return store.groups(caller, limit)
            return projections.groups(store.plans(caller), limit)

        return self._access.use(read)

    def similar(self, request: str, caller: str = "local", *, limit: int = 10) -> tuple[PlanGroup, ...]:
        """Return the groups of a caller's plans for similar requests, the most similar first."""
        self.flush()
        caller = self._owners.owner(caller)

        def read(store: HistoryStore) -> tuple[PlanGroup, ...]:
            sha, sketch = sha_of(request), self._access.sketch(request)
            if isinstance(store, LearningStore):
                return store.similar(caller, sha, sketch, limit)
            return projections.similar(store.plans(caller), sha, sketch, limit)

        return self._access.use(read)

    def defaults(self, caller: str = "local") -> tuple[LearnedDefault, ...]:
        """Return a caller's recent values of learnable inputs, the most frequent first."""
        self.flush()
        return self._access.use(lambda store: self._computed_defaults(store, self._owners.owner(caller)))

    def _computed_defaults(self, store: HistoryStore, caller: str) -> tuple[LearnedDefault, ...]:
        rows = _values(store, caller, RECENT_VALUES)
        if not rows:
            return ()
        if frequent := _frequent(rows):
            newest = _values(store, caller, NEWEST_VALUES)
            uses, now = _uses(newest), _frequent(newest)
            frequent = {
                name: value
                for name, value in frequent.items()
                if uses[name] < MIN_USES or (name in now and repr(now[name]) == repr(value))
            }
        applied = usable_defaults(self._access.setup.catalog(), frequent) if frequent else {}
        per_input: Counter[tuple[str, str]] = Counter()
        for tool, name, _, count in rows:
            per_input[tool, name] += count
        return tuple(
            LearnedDefault(
                tool=tool,
                input=name,
                value=value,
                uses=count,
                total=per_input[tool, name],
                is_applied=name in applied and repr(applied[name]) == repr(value),
            )
            for tool, name, value, count in rows
        )

    # -- deletion, export and import ---------------------------------------------------------------------------

    def forget(
        self,
        caller: str = "local",
        *,
        request: str | None = None,
        tool: str | None = None,
        before: float | None = None,
        fact: str | None = None,
    ) -> int:
        """Delete a caller's records that meet all conditions, or everything without a condition.

        :raises HistoryError: the store cannot be read or written, or records that wait for it may be stored later.
        """
        self._writer.retry()
        is_complete = self.flush()
        caller = self._owners.owner(caller)
        scope = Scope(intent_sha=None if request is None else sha_of(request), tool=tool, before=before)

        def delete(store: HistoryStore) -> int:
            if not isinstance(store, ForgettingStore):
                raise NotImplementedError("this store cannot delete records on request")
            if fact is not None:
                return store.forget_facts(caller, [fact]) if isinstance(store, FactStore) else 0
            count = store.forget(caller, scope)
            if scope == Scope() and isinstance(store, FactStore):
                count += store.forget_facts(caller)
            return count

        try:
            count = self._access.use(delete)
        finally:
            self._defaults.pop(caller, None)
        if not is_complete:
            raise HistoryError("records that wait for the store of the plan history may be stored later; delete again")
        return count

    def export(self, caller: str = "local") -> tuple[Mapping[str, Any], ...]:
        """Return a caller's records and facts as plain data."""
        self.flush()
        owner, from_store = self._owners.owner(caller), self._owners.from_store

        def read(store: HistoryStore) -> tuple[Mapping[str, Any], ...]:
            records = store.export(owner) if isinstance(store, ExportingStore) else store.plans(owner, 2**31)[::-1]
            facts = store.facts(owner) if isinstance(store, FactStore) else ()
            rows = (record_to_row(from_store(each)) for each in records)
            return (*rows, *(fact_to_row(from_store(each)) for each in facts))

        return self._access.use(read)

    def load(self, rows: Iterable[Mapping[str, Any]], caller: str | None = None) -> int:
        """Store exported rows, for another caller if one is given."""
        items: list[Note | Fact] = []
        to_store = self._owners.to_store
        for number, row in enumerate(rows, 1):
            try:
                if not isinstance(row, Mapping):
                    raise TypeError(f"not an object, found {type(row).__name__}")
                row = row if caller is None else _row_for(caller, row)
                item = fact_of_row(row) if row.get("kind") == "fact" else record_of_row(row)
                check_values(item)
                if not self._is_expired(item):
                    items.append(to_store(item) if isinstance(item, Fact) else Note(to_store(item)))
            except (ValueError, TypeError) as exc:
                raise ValueError(f"row {number}: {exc}") from None
        self._defaults.clear()
        if (problem := self._access.use(lambda _: self._problem_of(items))) is not None:
            raise ValueError(f"a row cannot be stored: {problem}")
        return len(items)

    def _is_expired(self, item: PlanRecord | Fact) -> bool:
        now = time.time()
        if isinstance(item, Fact):
            return item.expires < now
        return item.time < now - self._access.setup.keep_days * DAY_S

    def _problem_of(self, items: Sequence[Note | Fact]) -> ValueError | None:
        """Write items; return why the store refuses one of them."""
        try:
            self._access.add(items)
        except ValueError as exc:
            return exc
        return None

    # -- facts -------------------------------------------------------------------------------------------------

    def add_fact(self, fact: Fact) -> bool:
        """Store a fact; return whether the store keeps facts.

        :raises HistoryError: the store cannot be read or written.
        """

        def add(store: HistoryStore) -> bool:
            if isinstance(store, FactStore):
                store.add_facts((self._owners.to_store(fact),))
            return isinstance(store, FactStore)

        return self._access.use(add)

    def facts(self, caller: str = "local") -> tuple[Fact, ...]:
        """Return a caller's facts, the newest first."""
        owner = self._owners.owner(caller)
        found = self._access.use(lambda store: store.facts(owner) if isinstance(store, FactStore) else ())
        return tuple(map(self._owners.from_store, found))

    # -- maintenance -------------------------------------------------------------------------------------------

    def purge(self) -> int:
        """Delete what has expired, of all callers."""
        return self._access.use(lambda store: store.purge() if isinstance(store, PurgingStore) else 0)

    def flush(self, timeout_s: float = 5.0) -> bool:
        """Wait until all records are written; return whether they are."""
        return self._writer.flush(timeout_s)

    def close(self) -> None:
        """Write what waits, and close the store."""
        self._writer.close()
        self._access.close()


def _values(store: HistoryStore, caller: str, limit: int) -> Sequence[tuple[str, str, Any, int]]:
    """Return tool, input, value and number of uses of a caller's newest values."""
    if _learns(type(store)):
        return cast(LearningStore, store).values(caller, limit)
    return projections.values(store.plans(caller), limit)


def _uses(rows: Iterable[tuple[str, str, Any, int]]) -> Counter[str]:
    """Return the number of uses of each input, of all tools."""
    uses: Counter[str] = Counter()
    for _, name, _, count in rows:
        uses[name] += count
    return uses


def _frequent(rows: Sequence[tuple[str, str, Any, int]]) -> dict[str, Any]:
    """Return the values of inputs that are used often enough to be a default."""
    totals, uses = _uses(rows), Counter[tuple[str, str]]()
    values = {(name, repr(value)): value for _, name, value, _ in rows}
    for _, name, value, count in rows:
        uses[name, repr(value)] += count
    return {
        name: values[name, shown]
        for (name, shown), count in uses.items()
        if count >= MIN_USES and count >= MIN_SHARE * totals[name]
    }


@functools.cache  # every plan asks, and a check against a protocol takes as long as a query
def _learns(store: type) -> bool:
    return issubclass(store, LearningStore)


def _row_for(caller: str, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The row for a caller; for another one than its own, it gets an id that is the same each time."""
    if row.get("caller") == caller:
        return row
    return {**row, "caller": caller, "id": uuid.uuid5(uuid.NAMESPACE_OID, f"{caller}\n{row.get('id')}").hex}
