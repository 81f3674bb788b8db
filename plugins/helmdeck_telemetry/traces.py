"""Stores the traces of recent calls. ``[events] sinks = ["traces"]`` enables it; ``helmdeck explain --run`` shows one."""

from __future__ import annotations

import collections
import itertools
import json
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from helmdeck_core import (
    CallAborted,
    CallExhausted,
    CallFinished,
    CallStarted,
    CallTrace,
    Event,
    EventSink,
    data_directory,
    event_data,
    hookimpl,
)
from helmdeck_core.log import logger
from helmdeck_storage import Schema

SCHEMA = Schema(
    name="traces",
    version=1,
    tables=(
        """CREATE TABLE IF NOT EXISTS traces (
            number INTEGER PRIMARY KEY AUTOINCREMENT, call_id TEXT NOT NULL UNIQUE, is_helper INTEGER NOT NULL,
            trace TEXT NOT NULL)""",
    ),
)
DEFAULT_FILE = "~/.helmdeck/traces.db"
"""The default file; ``HELMDECK_DATA_DIR`` replaces its folder."""
BUSY_TIMEOUT_S = 0.5
"""Seconds to wait for a lock. A trace is dropped after that, so that storing it never delays a call."""
RETRY_AFTER_S = 30.0
"""Seconds without another attempt after a write to the file failed."""
MAX_TRACE_BYTES = 100_000
"""Size of a stored trace, so that ``keep`` also bounds the size of the file; beyond it, events in the middle are left out."""
MAX_EVENTS = 500
"""Events of a trace; later ones are left out, apart from the last one."""
MAX_TEXT = 1_000
"""Characters of a string in a trace; names come from callers and servers, and may have any length."""
MAX_ITEMS = 100
"""Items of a list or object in a trace."""
MAX_OPEN_CALLS = 10_000
"""Calls that are traced at the same time; the one that started first is dropped."""


@hookimpl
def helmdeck_event_sinks() -> Sequence[EventSink]:
    """The sink for call traces."""
    return (
        EventSink(
            name="traces",
            open=TraceSink,
            options={"file": DEFAULT_FILE, "keep": 1_000},
            summary="traces of recent calls, for helmdeck explain --run",
        ),
    )


class _OpenCall:
    """A call in progress."""

    def __init__(self, event: CallStarted) -> None:
        self.started = event
        self.time = time.time()
        self.start_s = time.monotonic()
        self.events: list[dict[str, Any]] = []

    def add(self, event: Event) -> None:
        data = event_data(event)
        for name in ("call_id", "pack", "caller"):  # stored once per trace
            data.pop(name, None)
        if len(self.events) >= MAX_EVENTS:
            self.events.pop()
        self.events.append({"at_s": round(time.monotonic() - self.start_s, 6), **shortened(data)})


class TraceRecorder:
    """Collects the events of calls, and passes the trace of each finished call on.

    :param add: called with a trace when its call ends.
    """

    def __init__(self, add: Callable[[CallTrace], None]) -> None:
        self._add = add
        self._open: dict[str, _OpenCall] = {}

    def handle(self, event: Event) -> None:
        """Add an event to the trace of its call."""
        if isinstance(event, CallStarted):
            if len(self._open) >= MAX_OPEN_CALLS:
                self._open.pop(next(iter(self._open)), None)
            self._open[event.call_id] = _OpenCall(event)
        call_id = getattr(event, "call_id", "")
        call = self._open.get(call_id)
        if call is None:
            return
        call.add(event)
        outcome = _outcome(event)
        if outcome:
            del self._open[call_id]
            self._add(_trace(call, outcome))


class TraceSink:
    """The traces of one deck, or of all decks that use the same file.

    :param file: path of a SQLite file, created with its directory if missing; empty stores traces in memory.
    :param keep: number of traces to keep; the oldest are deleted first.
    """

    def __init__(self, file: str = "", keep: int = 1_000) -> None:
        self._storage: _MemoryStorage | _FileStorage = _FileStorage(_path(file), keep) if file else _MemoryStorage(keep)
        self.handle = TraceRecorder(self._storage.add).handle

    def traces(self, limit: int = 20) -> tuple[CallTrace, ...]:
        """Return the most recent traces, newest first, without those of helper calls."""
        return self._storage.newest(limit)

    def call_trace(self, call_id: str) -> CallTrace | None:
        """Return the trace of one call, or ``None``."""
        return self._storage.find(call_id)

    def close(self) -> None:
        """Close the file; it is reopened when it is needed again."""
        self._storage.close()


def _path(file: str) -> Path:
    return data_directory() / "traces.db" if file == DEFAULT_FILE else Path(file).expanduser()


def _outcome(event: Event) -> str:
    match event:
        case CallFinished():
            return "answered"
        case CallExhausted():
            return event.cause.value
        case CallAborted():
            return "aborted"
        case _:
            return ""


def shortened(value: Any) -> Any:
    """Return plain data with its long strings, lists and objects cut."""
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT else f"{value[: MAX_TEXT - 1]}…"
    if isinstance(value, dict):
        return {shortened(name): shortened(each) for name, each in itertools.islice(value.items(), MAX_ITEMS)}
    if isinstance(value, list | tuple):
        kept = [shortened(each) for each in value[:MAX_ITEMS]]
        return kept if len(value) <= MAX_ITEMS else [*kept[:-1], f"… {len(value) - MAX_ITEMS + 1:,} more"]
    return value


def _trace(call: _OpenCall, outcome: str) -> CallTrace:
    started, events = call.started, call.events
    while len(events) > 2 and len(json.dumps(events)) > MAX_TRACE_BYTES:
        kept = len(events) // 2
        events = [*events[: (kept + 1) // 2], *events[len(events) - kept // 2 :]]
    return CallTrace(
        call_id=started.call_id,
        time=call.time,
        pack=shortened(started.pack),
        caller=shortened(started.caller),
        model=shortened(started.model),
        outcome=outcome,
        parent=started.parent,
        events=tuple(events),
    )


class _MemoryStorage:
    """Traces in memory."""

    def __init__(self, keep: int) -> None:
        self._traces: collections.deque[CallTrace] = collections.deque(maxlen=keep)
        self._lock = threading.Lock()

    def add(self, trace: CallTrace) -> None:
        with self._lock:
            self._traces.append(trace)

    def newest(self, limit: int) -> tuple[CallTrace, ...]:
        with self._lock:
            return tuple([trace for trace in reversed(self._traces) if not trace.parent][:limit])

    def find(self, call_id: str) -> CallTrace | None:
        with self._lock:
            return next((trace for trace in reversed(self._traces) if trace.call_id == call_id), None)

    def close(self) -> None:
        """Nothing to close."""


class _FileStorage:
    """Traces in a SQLite file, which any number of threads and processes may share."""

    def __init__(self, path: Path, keep: int) -> None:
        from helmdeck_storage import SqliteDatabase

        self._database = SqliteDatabase(path, SCHEMA, busy_timeout_s=BUSY_TIMEOUT_S)
        self._keep = keep
        self._retry_at_s = 0.0

    def add(self, trace: CallTrace) -> None:
        """Store a trace. If the file cannot be written, the trace is dropped; the call is not affected."""
        if time.monotonic() < self._retry_at_s:
            return
        # Strings from models and callers may hold lone surrogates; JSON in ASCII can store them.
        row = (trace.call_id, int(bool(trace.parent)), json.dumps(trace.to_dict()))
        try:
            with self._database.session() as session:
                insert = "INSERT INTO traces (call_id, is_helper, trace) VALUES (?, ?, ?) RETURNING number"
                ((number,),) = session.rows(insert, row)
                session.change("DELETE FROM traces WHERE number <= ?", (number - self._keep,))
        except Exception as exc:
            self._retry_at_s = time.monotonic() + RETRY_AFTER_S
            logger().bind(file=str(self._database.path), error=f"{type(exc).__name__}: {exc}").warning(
                "the trace of a call could not be stored"
            )

    def newest(self, limit: int) -> tuple[CallTrace, ...]:
        return self._read("WHERE NOT is_helper ORDER BY number DESC LIMIT ?", limit)

    def find(self, call_id: str) -> CallTrace | None:
        return next(iter(self._read("WHERE call_id = ?", call_id)), None)

    def _read(self, where: str, argument: object) -> tuple[CallTrace, ...]:
        if not self._database.exists():  # nothing is stored, and reading creates no file
            return ()
        with self._database.session(writes=False) as session:
            rows = session.rows(f"SELECT trace FROM traces {where}", (argument,))  # noqa: S608 - ours
        return tuple(msgspec.convert(json.loads(trace), CallTrace) for (trace,) in rows)

    def close(self) -> None:
        self._database.close()
