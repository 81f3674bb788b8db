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

_ONCE = ("call_id", "pack", "caller")
"""Fields of events that a trace has once."""
_ENDS = (CallFinished, CallExhausted, CallAborted)
_SHORT = frozenset((int, float, bool))
_encode = msgspec.json.Encoder().encode


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


class RecordedCall:
    """A call and its events as they were emitted; ``trace`` converts them, which takes longer than to collect them.

    :param event: the start of the call.
    :ivar outcome: empty while the call is under way.
    """

    __slots__ = ("_events", "_start_s", "_started", "_time", "outcome")

    def __init__(self, event: CallStarted) -> None:
        self._started = event
        self._time = time.time()
        self._start_s = time.monotonic()
        self._events: list[tuple[float, Event]] = []
        self.outcome: str = ""

    def add(self, event: Event) -> None:
        """Add an event."""
        if len(self._events) >= MAX_EVENTS:
            self._events.pop()
        self._events.append((time.monotonic() - self._start_s, event))

    def trace(self) -> CallTrace:
        """Return the trace, within its limits of size."""
        started, events = self._started, [_shown(*each) for each in self._events]
        while len(events) > 2 and _is_too_long(events):
            kept = len(events) // 2
            events = [*events[: (kept + 1) // 2], *events[len(events) - kept // 2 :]]
        return CallTrace(
            call_id=started.call_id,
            time=self._time,
            pack=shortened(started.pack),
            caller=shortened(started.caller),
            model=shortened(started.model),
            outcome=self.outcome,
            parent=started.parent,
            events=tuple(events),
        )


def _shown(at_s: float, event: Event) -> dict[str, Any]:
    data = event_data(event)
    for name in _ONCE:
        data.pop(name, None)
    shown: dict[str, Any] = shortened(data)
    return {"at_s": round(at_s, 6), **shown}


class TraceRecorder:
    """Collects the events of calls, and passes each finished call on.

    :param add: called with a call when it ends; its thread may convert the call later.
    """

    def __init__(self, add: Callable[[RecordedCall], None]) -> None:
        self._add = add
        self._open: dict[str, RecordedCall] = {}

    def handle(self, event: Event) -> None:
        """Add an event to its call."""
        call_id = getattr(event, "call_id", "")
        if isinstance(event, CallStarted):
            if len(self._open) >= MAX_OPEN_CALLS:
                self._open.pop(next(iter(self._open)), None)
            self._open[call_id] = RecordedCall(event)
        call = self._open.get(call_id)
        if call is None:
            return
        call.add(event)
        if isinstance(event, _ENDS):
            call.outcome = _outcome(event)
            del self._open[call_id]
            self._add(call)


class TraceSink:
    """The traces of one deck, or of all decks that use the same file.

    :param file: path of a SQLite file, created with its directory if missing; empty stores traces in memory.
    :param keep: number of traces to keep; the oldest are deleted first.
    """

    def __init__(self, file: str = "", keep: int = 1_000) -> None:
        self._storage: _MemoryStorage | _FileStorage = _FileStorage(_path(file), keep) if file else _MemoryStorage(keep)
        storage = self._storage
        self._recorder = TraceRecorder(lambda call: storage.add(call.trace()))

    def handle(self, event: Event) -> None:
        """Add an event to its call; the trace is stored when the call ends."""
        self._recorder.handle(event)

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


def _outcome(event: CallFinished | CallExhausted | CallAborted) -> str:
    if isinstance(event, CallFinished):
        return "answered"
    return "aborted" if isinstance(event, CallAborted) else event.cause.value


def shortened(value: Any) -> Any:
    """Return plain data with its long strings, lists and objects cut."""
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT else f"{value[: MAX_TEXT - 1]}…"
    if isinstance(value, dict):
        items = itertools.islice(value.items(), MAX_ITEMS)
        return {shortened(name): each if type(each) in _SHORT else shortened(each) for name, each in items}
    if isinstance(value, list | tuple):
        kept = [shortened(each) for each in value[:MAX_ITEMS]]
        return kept if len(value) <= MAX_ITEMS else [*kept[:-1], f"… {len(value) - MAX_ITEMS + 1:,} more"]
    return value


def _is_too_long(events: Sequence[Any]) -> bool:
    """Whether events as JSON in ASCII exceed the size of a stored trace."""
    try:
        # At most three times as long in ASCII with spaces, and a tenth of the time of the other module.
        if 3 * len(_encode(events)) <= MAX_TRACE_BYTES:
            return False
    except (UnicodeEncodeError, TypeError):  # a lone surrogate, or what only the other module can encode
        pass
    return len(json.dumps(events)) > MAX_TRACE_BYTES


def trace_text(trace: CallTrace) -> str:
    """Return a trace as JSON that every database can store."""
    try:
        return _encode(trace).decode()
    except (UnicodeEncodeError, TypeError):
        # Strings from models and callers may hold lone surrogates; JSON in ASCII can store them.
        return json.dumps(trace.to_dict())


def read_trace(text: str) -> CallTrace:
    """Return the trace of a stored text."""
    return msgspec.convert(json.loads(text), CallTrace)


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
        row = (trace.call_id, int(bool(trace.parent)), trace_text(trace))
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
        return tuple(read_trace(trace) for (trace,) in rows)

    def close(self) -> None:
        self._database.close()
