"""Shares evidence through the history store: restores it at start, writes what this process observed, reads that of others."""

from __future__ import annotations

import json
import math
import os
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterable, Sequence

from helmdeck_chains.learning import Learning, Trial
from helmdeck_chains.work import Kind
from helmdeck_core import HistoryStore
from helmdeck_history import ClosingStore, EvidenceRow, EvidenceStore

PERIOD_S = 300
"""Seconds whose attempts are one row."""

INTERVAL_S = 5.0
"""Seconds between two exchanges with the store."""

RETRY_S = 30.0
"""Seconds after which a store that failed is used again."""

RESTORED_S = 7 * 86_400.0
"""Age of the oldest evidence that is restored; older attempts have no weight left."""

MAX_WAITING = 10_000
"""Rows that wait for a store that is down; beyond that, new ones are dropped."""

_Key = tuple[int, str, str, bool]


def kind_text(kind: Kind) -> str:
    """Return a kind of work as a string, which ``kind_from`` reads.

    >>> from helmdeck_chains import kind_of, kind_text
    >>> from helmdeck_core import ChainRequest
    >>> kind_text(kind_of(ChainRequest(models=("acme/large",), pack="ask", size_bytes=900, sample="draft a post")))
    '["ask:text","size0:catalog0","ascii"]'
    """
    return json.dumps(kind, separators=(",", ":"), ensure_ascii=False)


def kind_from(text: str) -> Kind:
    """Return the kind of work of a string."""
    return tuple(map(str, json.loads(text)))


def valid_rows(rows: Iterable[EvidenceRow]) -> list[EvidenceRow]:
    """Return the rows without damaged ones, and without those of a release with other kinds of work."""
    return [row for row in rows if _is_valid(row)]


def _is_valid(row: EvidenceRow) -> bool:
    try:
        kind = json.loads(row.kind)
        are_counts = all(isinstance(each, int) for each in (row.attempts, row.usable, row.priced))
        return (
            isinstance(kind, list)
            and are_counts
            and max(row.usable, row.priced) <= row.attempts
            and min(row.usable, row.priced, row.usd, row.seconds) >= 0
            and math.isfinite(row.usd + row.seconds)
        )
    except (TypeError, ValueError):
        return False


def replay(learning: Learning, rows: Iterable[EvidenceRow]) -> None:
    """Add the attempts of rows, in their order, to what is known."""
    for row in rows:
        if row.attempts <= 0:
            continue
        learning.calls += 0 if row.is_after else row.attempts
        model = learning.of(row.model)
        model.advance(learning.calls)
        model.observe(
            kind_from(row.kind),
            usable=min(row.usable, row.attempts),
            attempts=row.attempts,
            usd=row.usd / row.priced if row.priced else None,
            seconds=row.seconds / row.attempts,
            is_after=row.is_after,
        )


class Sharing:
    """Exchanges evidence with the store in a thread of its own, which starts with ``start``.

    :param learning: what is known; ``lock`` is held while it changes.
    :param report: receives failures of the store.
    """

    def __init__(
        self,
        open_store: Callable[[], HistoryStore],
        learning: Learning,
        lock: threading.Lock,
        report: Callable[[BaseException], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._open_store, self._learning, self._lock, self._report = open_store, learning, lock, report
        self._clock = clock
        self._source = uuid.uuid4().hex
        self._waiting: dict[_Key, list[float]] = {}
        self._seen: dict[tuple[str, int, str, str, bool], EvidenceRow] = {}
        self._store: HistoryStore | None = None
        self._restored = False
        self._has_tried = threading.Event()
        self._wake = threading.Event()
        self._is_ending = False
        self._pid = os.getpid()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread, which restores the evidence first; a forked process starts its own."""
        if self._pid != os.getpid():
            self._pid, self._source, self._thread, self._store = os.getpid(), uuid.uuid4().hex, None, None
            self._waiting, self._wake, self._is_ending = {}, threading.Event(), False
        if self._thread is None:
            self._thread = threading.Thread(target=_run, args=(weakref.ref(self), self._wake), daemon=True)
            self._thread.name = "helmdeck-chains"
            self._thread.start()

    def put(self, kind: Kind, trials: Sequence[Trial]) -> None:
        """Add what a call observed to the rows that wait; returns at once."""
        if self._thread is None or self._pid != os.getpid():
            self.start()
        period, name = int(self._clock()) // PERIOD_S * PERIOD_S, kind_text(kind)
        for trial in trials:
            if trial.usable is None:
                continue
            key = (period, trial.model, name, trial.is_after)
            with self._lock:
                if key not in self._waiting and len(self._waiting) >= MAX_WAITING:
                    continue
                row = self._waiting.setdefault(key, [0.0] * 5)
                row[0] += 1
                row[1] += trial.usable
                row[2] += trial.usd is not None
                row[3] += trial.usd or 0.0
                row[4] += trial.seconds

    def exchange(self) -> bool:
        """Write what waits, and read what other processes added; return whether the store worked."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        rows = [
            EvidenceRow(self._source, period, model, kind, is_after, *map(int, sums[:3]), *sums[3:])
            for (period, model, kind, is_after), sums in waiting.items()
        ]
        try:
            if self._store is None:
                self._store = self._open_store()
            if not isinstance(self._store, EvidenceStore):
                return True
            if rows:
                self._store.add_evidence(rows)
                rows = []
            since = self._clock() - (2 * PERIOD_S if self._restored else RESTORED_S)
            found = valid_rows(self._store.evidence(since))
        except Exception as exc:
            self._report(exc)
            with self._lock:  # written with the next exchange; what was added meanwhile comes on top
                for row in rows:
                    sums = self._waiting.setdefault((row.period, row.model, row.kind, row.is_after), [0.0] * 5)
                    for place, value in enumerate((row.attempts, row.usable, row.priced, row.usd, row.seconds)):
                        sums[place] += value
            return False
        news = [new for row in found if row.source != self._source and (new := self._new_part(row)) is not None]
        with self._lock:
            replay(self._learning, news)
        self._restored = True
        oldest = since - PERIOD_S
        self._seen = {key: row for key, row in self._seen.items() if row.period >= oldest}
        return True

    def _new_part(self, row: EvidenceRow) -> EvidenceRow | None:
        """Return what a row has more than when it was read last."""
        key = (row.source, row.period, row.model, row.kind, row.is_after)
        before = self._seen.get(key)
        self._seen[key] = row
        if before is None:
            return row
        counts = [
            getattr(row, name) - getattr(before, name) for name in ("attempts", "usable", "priced", "usd", "seconds")
        ]
        return EvidenceRow(*key[:1], row.period, row.model, row.kind, row.is_after, *counts) if counts[0] > 0 else None

    def wait_restored(self) -> None:
        """Wait until the evidence is restored, for at most ``INTERVAL_S``; it does not wait for a store that is down."""
        if self._thread is not None and self._pid == os.getpid():
            self._has_tried.wait(INTERVAL_S)

    def mark_tried(self) -> None:
        """The store was used once, whether or not it worked."""
        self._has_tried.set()

    def close(self) -> None:
        """Write what waits, and close the store; idempotent."""
        if self._pid != os.getpid() or self._is_ending:
            return
        self._is_ending = True
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(RETRY_S)
            self._thread = None
        if self._waiting:
            self.exchange()
        store, self._store = self._store, None
        if isinstance(store, ClosingStore):
            store.close()

    @property
    def is_ending(self) -> bool:
        """Whether ``close`` was called."""
        return self._is_ending


def _run(reference: weakref.ReferenceType[Sharing], wake: threading.Event) -> None:
    """Exchange until the sharing is closed or no longer used."""
    while (sharing := reference()) is not None and not sharing.is_ending:
        wait_s = INTERVAL_S if sharing.exchange() else RETRY_S
        sharing.mark_tried()
        del sharing
        wake.wait(wait_s)
