"""Access to the configured store: opened at its first use, left alone for a while after a failure."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

import attrs

from helmdeck_core import HelmdeckError, HistorySetup, HistoryStore, PlanRecord, RecordedStep, args_sha, intent_sha
from helmdeck_core.log import logger
from helmdeck_history.learnable import learnable_values
from helmdeck_history.sketch import deployment_secret, key_of, sketch
from helmdeck_history.store_types import BatchingStore, ClosingStore, Fact, FactStore
from helmdeck_history.writer import MAX_BATCH, RETRY_S

_SHA_DIGITS = len(intent_sha(""))

T = TypeVar("T")
P = ParamSpec("P")


class HistoryError(HelmdeckError):
    """The store of the plan history cannot be read or written; the message has no secrets."""


@attrs.frozen
class Note:
    """Something to record, as it is when a plan is made; its hashes are computed in the background."""

    record: PlanRecord
    request: str = ""
    arguments: tuple[Any, ...] = ()


class Access:
    """The store of one deck."""

    def __init__(self, setup: HistorySetup) -> None:
        self.setup = setup
        self._lock = threading.Lock()
        self._store: HistoryStore | None = None
        self._key: bytes | None = None
        self._used_again_at_s = 0.0
        self._silent_until_s: dict[str | None, float] = {}  # by caller; None for failures of the store

    def use(self, action: Callable[[HistoryStore], T]) -> T:
        """Do something with the store.

        :raises HistoryError: the file, database or server of the store cannot be used.
        :raises PluginError: the store itself failed.
        """
        failure: HelmdeckError
        try:
            return action(self._opened())
        except KeyboardInterrupt:
            raise
        except BaseException as exc:
            failure = _storage_failure(exc) or self.setup.fault(exc)
        raise failure  # raised here, where the exception, whose frames may have a password, is not its context

    def try_use(
        self, caller: str, action: Callable[Concatenate[HistoryStore, P], T], *arguments: P.args, **named: P.kwargs
    ) -> T | None:
        """Do something with the store while it works; a failure is reported, and returns ``None``.

        A store that is locked or not reachable takes seconds to fail; plans must not wait for that every time.
        """
        if time.monotonic() < self._used_again_at_s:
            return None
        try:
            return action(self._opened(), *arguments, **named)
        except KeyboardInterrupt:
            raise
        except BaseException as exc:
            self._failed(caller, exc)
            return None

    def _failed(self, caller: str, exc: BaseException) -> None:
        """Report a failure, once in ``RETRY_S``; it is about the caller if its records cannot be stored."""
        now = time.monotonic()
        about = caller if isinstance(exc, ValueError) else None
        if about is None:
            self._used_again_at_s = now + RETRY_S
        if now >= self._silent_until_s.get(about, 0.0):
            silent = {each: until for each, until in self._silent_until_s.items() if until > now}
            self._silent_until_s = {**silent, about: now + RETRY_S}
            self.setup.report(caller, self.setup.fault(exc))

    def write(self, items: Sequence[Note | Fact]) -> bool:
        """Write a batch; return whether it is done with. Items that cannot be stored are reported and left out."""
        try:
            self._write([self._complete(item) if isinstance(item, Note) else item for item in items])
        except ValueError as exc:
            if len(items) > 1:
                results = [self.write((item,)) for item in items]
                return all(results)
            self._failed(_caller(items[0]), exc)
        except BaseException as exc:
            self._failed(_caller(items[0]), exc)
            return False
        return True

    def add(self, items: Sequence[Note | Fact]) -> None:
        """Write items now, in batches.

        :raises Exception: the store failed, or an item cannot be stored.
        """
        for start in range(0, len(items), MAX_BATCH):
            batch = items[start : start + MAX_BATCH]
            self._write([item.record if isinstance(item, Note) else item for item in batch])

    def dropped(self, count: int) -> None:
        """Report records that were dropped while the store was down."""
        logger().warning("the history store is down: {} waiting records are lost, the oldest first", count)

    def sketch(self, request: str) -> tuple[int, ...]:
        """Return the sketch of a request.

        :raises ValueError: the configured secret cannot be read.
        """
        return sketch(request, self._sketch_key())

    def close(self) -> None:
        """Close the store; a later use opens it again. One that another thread is opening is not waited for."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            store, self._store = self._store, None
        finally:
            self._lock.release()
        if isinstance(store, ClosingStore):
            try:
                store.close()
            except Exception as exc:
                self.setup.report("", self.setup.fault(exc))

    def _opened(self) -> HistoryStore:
        if (store := self._store) is not None:
            return store
        with self._lock:
            if self._store is None:
                try:
                    self._store = self.setup.open_store()
                except ValueError as exc:  # a record that cannot be stored is a ValueError, too
                    raise RuntimeError(str(exc)) from exc
            return self._store

    def _write(self, items: Sequence[PlanRecord | Fact]) -> None:
        store = self._opened()
        records = [item for item in items if isinstance(item, PlanRecord)]
        facts = [item for item in items if isinstance(item, Fact)]
        if isinstance(store, BatchingStore):
            if records:
                store.add_all(records)
        else:
            for record in records:
                store.add(record)
        if facts and isinstance(store, FactStore):
            store.add_facts(facts)

    def _complete(self, note: Note) -> PlanRecord:
        """Add the sketch and the learnable values; nothing is learned from the values of what failed."""
        record, catalog = note.record, None
        steps = list(record.steps)
        for place, arguments in enumerate(note.arguments[: len(steps)] if record.cause is None else ()):
            catalog = catalog or self.setup.catalog()
            values = learnable_values(catalog.get(steps[place].tool), arguments)
            steps[place] = RecordedStep(steps[place].order, steps[place].tool, steps[place].args_sha, values)
        return attrs.evolve(
            record, steps=tuple(steps), sketch=self.sketch(note.request) if note.request else record.sketch
        )

    def _sketch_key(self) -> bytes:
        if self._key is None:
            secret = self.setup.secret()
            if secret == "":
                raise RuntimeError("[history] secret: the variable is not set, or the file cannot be read")
            self._key = key_of(deployment_secret() if secret is None else secret)
        return self._key


def run_record(caller: str, name: str, arguments: Any, start: tuple[float, float], cause: str | None) -> PlanRecord:
    """Return the record of a run.

    :param start: seconds since 1970, and of a clock that never goes back.
    """
    return PlanRecord(
        kind="run",
        caller=caller,
        intent_sha="",
        outcome="failed" if cause else "run",
        cause=cause,
        model="",
        duration_s=time.perf_counter() - start[1],
        time=start[0],
        steps=(RecordedStep(1, name, args_sha(arguments)),),
    )


def sha_of(request: str) -> str:
    """Return the ``intent_sha`` of a request, which may be one already."""
    text = request.strip()
    is_sha = len(text) == _SHA_DIGITS and all(char in "0123456789abcdef" for char in text)
    return text if is_sha else intent_sha(request)


def _caller(item: Note | Fact) -> str:
    return item.record.caller if isinstance(item, Note) else item.caller


def _storage_failure(exc: BaseException) -> HistoryError | None:
    """The error for a file, database or server that cannot be used, which is not a fault of the plugin."""
    from helmdeck_storage import StorageError  # not needed unless a store failed

    if not isinstance(exc, StorageError):
        return None
    return HistoryError(f"the plan history cannot be read or written: {exc}; check [history] url")
