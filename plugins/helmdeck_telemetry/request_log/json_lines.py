"""Appends finished calls to files with a line of JSON each. ``[events] sinks = ["jsonl"]`` enables it.

There is one file for each day in UTC, which any number of processes append to, so that none has to rename a file that another one
has open.
"""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
import msgspec

from helmdeck_core import CooldownStarted, Event, EventSink, data_directory, hookimpl
from helmdeck_storage import DAY_S, create_private_file
from helmdeck_telemetry.request_log.batches import Batches, Item
from helmdeck_telemetry.request_log.facts import COLUMNS, AttemptFacts, facts_of
from helmdeck_telemetry.traces import RecordedCall, TraceRecorder

NAME: Final = "jsonl"
PURGE_EVERY_S: Final = 600.0
"""Seconds between two deletions of files that have expired."""
_ATTEMPT: Final = tuple(field.name for field in attrs.fields(AttemptFacts))
_encode = msgspec.json.Encoder(enc_hook=str).encode


@hookimpl
def helmdeck_event_sinks() -> Sequence[EventSink]:
    """The sink for files of JSON lines."""
    return (
        EventSink(
            name=NAME,
            open=JsonLinesSink,
            options={"folder": "", "days": 30.0, "max_bytes": 1_000_000_000, "events": False},
            summary="finished calls as lines of JSON, one file a day",
        ),
    )


class JsonLinesSink:
    """Files of finished calls.

    :param folder: is created if it is missing; empty: ``requests`` in the data directory.
    :param days: days that files are kept.
    :param max_bytes: size of all files; beyond it the oldest ones are deleted, but never that of the day.
    :param events: lines also have the events of the call.
    """

    def __init__(
        self, folder: str = "", days: float = 30.0, max_bytes: int = 1_000_000_000, *, events: bool = False
    ) -> None:
        self.folder: Path = Path(folder).expanduser() if folder else data_directory() / "requests"
        self._days, self._max_bytes, self._has_events = days, max_bytes, events
        self._purge_at_s = 0.0
        self._batches = Batches(self._write, f"files of {self.folder}")
        self._recorder = TraceRecorder(self._batches.add)

    @property
    def dropped(self) -> int:
        """Finished calls that could not be written."""
        return self._batches.dropped

    def handle(self, event: Event) -> None:
        """Add an event to its call; a call is written when it ends."""
        if not isinstance(event, CooldownStarted):
            self._recorder.handle(event)

    def flush(self) -> None:
        """Wait until what is finished is written."""
        self._batches.flush()

    def close(self) -> None:
        """Write what is finished."""
        self._batches.close()

    def _write(self, batch: Sequence[Item]) -> None:
        lines: dict[str, list[bytes]] = {}
        for each in batch:
            if isinstance(each, RecordedCall):
                line = self._line(each)
                lines.setdefault(line["time"][:10], []).append(_encode(line))
        for day, encoded in lines.items():
            _append(self.folder / f"requests-{day}.jsonl", b"\n".join(encoded) + b"\n")
        if time.monotonic() >= self._purge_at_s:
            self._purge_at_s = time.monotonic() + PURGE_EVERY_S
            purge(self.folder, self._days, self._max_bytes, time.time())

    def _line(self, call: RecordedCall) -> dict[str, Any]:
        trace = call.trace()
        facts, attempts = facts_of(trace)
        ended = datetime.datetime.fromtimestamp(facts.ended_us / 1e6, datetime.UTC)
        line: dict[str, Any] = {"time": ended.isoformat(timespec="milliseconds").replace("+00:00", "Z")}
        line |= {name: getattr(facts, name) for name in COLUMNS if name not in ("ended_us", "attempts")}
        line["parent"] = trace.parent
        line["attempts"] = [{name: getattr(each, name) for name in _ATTEMPT} for each in attempts]
        if self._has_events:
            line["events"] = [_clean(each) for each in trace.events]
        return line


def purge(folder: Path, days: float, max_bytes: int, now_s: float) -> None:
    """Delete files that have expired, and the oldest ones beyond a size."""
    oldest = datetime.datetime.fromtimestamp(now_s - days * DAY_S, datetime.UTC).date().isoformat()
    files = sorted(folder.glob("requests-????-??-??.jsonl"), reverse=True)
    size = 0
    for number, file in enumerate(files):
        size += file.stat().st_size
        if file.stem.removeprefix("requests-") < oldest or (number and size > max_bytes):
            file.unlink(missing_ok=True)


def _append(file: Path, data: bytes) -> None:
    """Append lines at once, or none of them, such as when the disk is full."""
    if not file.exists():
        create_private_file(file)
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND)
    try:
        start, written = os.fstat(descriptor).st_size, os.write(descriptor, data)
        if written < len(data):
            os.ftruncate(descriptor, start)
            raise OSError(f"only {written:,} of {len(data):,} bytes could be written")
    finally:
        os.close(descriptor)


def _clean(value: Any) -> Any:
    """Replace lone surrogates, which UTF-8 cannot encode."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {_clean(name): _clean(each) for name, each in value.items()}
    return [_clean(each) for each in value] if isinstance(value, list | tuple) else value
