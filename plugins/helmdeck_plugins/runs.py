"""Keeps the stories of the last calls. ``[events] sinks = ["runs"]`` switches it on; ``helmdeck explain --run`` tells one."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from helmdeck_core import (
    CallAborted,
    CallExhausted,
    CallFinished,
    CallStarted,
    CallTrace,
    Event,
    EventSink,
    event_data,
    hookimpl,
)
from helmdeck_core.log import logger

if TYPE_CHECKING:
    import sqlite3

SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, call_id TEXT NOT NULL UNIQUE, is_helper INTEGER NOT NULL, story TEXT NOT NULL
);
PRAGMA user_version = 1;
"""
BUSY_TIMEOUT_S = 0.5
"""A file that others keep locked for longer goes without a story: calls do not wait for their record."""
REST_S = 30.0
"""How long a file that failed is left alone."""
MOST_OPEN = 10_000
"""Calls that are followed at the same time."""


@hookimpl
def helmdeck_event_sinks() -> Sequence[EventSink]:
    """The sink."""
    return (
        EventSink(
            name="runs",
            open=TraceSink,
            options={"file": "~/.helmdeck/runs.db", "keep": 1_000},
            summary="the stories of the last calls, for helmdeck explain --run",
        ),
    )


class _Open:
    """A call that runs."""

    def __init__(self, event: CallStarted) -> None:
        self.started = event
        self.time = time.time()
        self.start_s = time.monotonic()
        self.events: list[dict[str, Any]] = []

    def add(self, event: Event) -> None:
        data = event_data(event)
        for known in ("call_id", "pack", "caller"):
            data.pop(known, None)
        self.events.append({"at_s": round(time.monotonic() - self.start_s, 6), **data})


class TraceSink:
    """Stories of one deck, or of all decks that name the same file.

    :param file: a SQLite file, whose folder is made; empty for this process's memory.
    :param keep: stories that are kept; the oldest go first.
    """

    def __init__(self, file: str = "", keep: int = 1_000) -> None:
        self._kept: _Memory | _File = _File(Path(file).expanduser(), keep) if file else _Memory(keep)
        self._open: dict[str, _Open] = {}

    def handle(self, event: Event) -> None:
        """Take an event into the story of its call."""
        if isinstance(event, CallStarted):
            if len(self._open) >= MOST_OPEN:
                self._open.pop(next(iter(self._open)), None)
            self._open[event.call_id] = _Open(event)
        call_id = getattr(event, "call_id", "")
        found = self._open.get(call_id)
        if found is None:
            return
        found.add(event)
        outcome = _outcome(event)
        if outcome:
            del self._open[call_id]
            self._kept.add(_story(found, outcome))

    def runs(self, limit: int = 20) -> tuple[CallTrace, ...]:
        """The last calls, the newest first; those that only helped another one are left out."""
        return self._kept.newest(limit)

    def call_trace(self, call_id: str) -> CallTrace | None:
        """The story of one call."""
        return self._kept.find(call_id)

    def close(self) -> None:
        """Close the file; it opens again when there is something to keep."""
        self._kept.close()


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


def _story(found: _Open, outcome: str) -> CallTrace:
    first = found.started
    return CallTrace(
        call_id=first.call_id,
        time=found.time,
        pack=first.pack,
        caller=first.caller,
        model=first.model,
        outcome=outcome,
        parent=first.parent,
        events=tuple(found.events),
    )


class _Memory:
    """Stories that end with the process."""

    def __init__(self, keep: int) -> None:
        self._stories: collections.deque[CallTrace] = collections.deque(maxlen=keep)
        self._lock = threading.Lock()

    def add(self, story: CallTrace) -> None:
        with self._lock:
            self._stories.append(story)

    def newest(self, limit: int) -> tuple[CallTrace, ...]:
        with self._lock:
            return tuple([story for story in reversed(self._stories) if not story.parent][:limit])

    def find(self, call_id: str) -> CallTrace | None:
        with self._lock:
            return next((story for story in reversed(self._stories) if story.call_id == call_id), None)

    def close(self) -> None:
        """Nothing is open."""


class _File:
    """Stories in a SQLite file, shared by any number of threads and processes.

    The connection stays open: to open and close one for every story takes fifty times as long as to write it.
    """

    def __init__(self, path: Path, keep: int) -> None:
        self._path = path
        self._keep = keep
        self._rests_until = 0.0
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0

    def add(self, story: CallTrace) -> None:
        """Keep a story; a file that cannot be written to costs the story, and not the call."""
        if time.monotonic() < self._rests_until:
            return
        # Texts of models and callers need not be sound; JSON in ASCII takes them all.
        row = (story.call_id, int(bool(story.parent)), json.dumps(story.to_dict()))
        try:
            with self._connected() as connection:
                added = connection.execute("INSERT INTO runs (call_id, is_helper, story) VALUES (?, ?, ?)", row)
                connection.execute("DELETE FROM runs WHERE number <= ?", ((added.lastrowid or 0) - self._keep,))
        except Exception as exc:
            self._rests_until = time.monotonic() + REST_S
            logger().bind(file=str(self._path), error=f"{type(exc).__name__}: {exc}").warning(
                "the story of a call could not be kept"
            )

    def newest(self, limit: int) -> tuple[CallTrace, ...]:
        return self._read("WHERE NOT is_helper ORDER BY number DESC LIMIT ?", limit)

    def find(self, call_id: str) -> CallTrace | None:
        return next(iter(self._read("WHERE call_id = ?", call_id)), None)

    def _read(self, where: str, argument: object) -> tuple[CallTrace, ...]:
        with self._connected() as connection:
            rows = connection.execute(f"SELECT story FROM runs {where}", (argument,)).fetchall()  # noqa: S608 - ours
        return tuple(msgspec.convert(json.loads(story), CallTrace) for (story,) in rows)

    @contextlib.contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """The connection, for one transaction."""
        with self._lock:
            # A fork must not use its parent's, and what is written to a file that was deleted is lost.
            if self._connection is None or self._process != os.getpid() or not self._path.exists():
                self._connection, self._process = self._opened(), os.getpid()
            with self._connection:
                yield self._connection

    def _opened(self) -> sqlite3.Connection:
        import sqlite3

        self._path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self._path, timeout=BUSY_TIMEOUT_S, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")  # a power cut may cost the last stories, no more
            connection.executescript(SCHEMA)
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
