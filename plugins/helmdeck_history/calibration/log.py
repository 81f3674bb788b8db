"""The log of a calibration: one JSON line per finished trial or probe, so that an interrupted run can be resumed."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Annotated, Any, Self

import msgspec
from msgspec import Meta

from helmdeck_core import data_directory

VERSION = 1

_NotNegative = Annotated[float, Meta(ge=0)]


class Header(msgspec.Struct, frozen=True):
    """What a log belongs to; a run with another header does not continue it.

    :ivar content: hash of the user's entries and of the sizes.
    """

    version: int
    model: str
    content: str
    seed: int


class TrialLine(msgspec.Struct, frozen=True, tag="trial"):
    """A finished trial; ``cause`` is ``None`` for a success."""

    size: int
    cause: Annotated[str, Meta(min_length=1)] | None
    latency_s: _NotNegative = 0.0
    cost_usd: _NotNegative | None = None


class ProbeLine(msgspec.Struct, frozen=True, tag="probe"):
    """A finished probe with its result."""

    name: str
    calls: Annotated[int, Meta(ge=1)]
    result: dict[str, Any]
    cost_usd: _NotNegative | None = None


Line = TrialLine | ProbeLine


class LogMismatch(ValueError):
    """The file is not the log of this calibration, or damaged."""


def content_hash(parts: Sequence[str]) -> str:
    """Return a short hash of texts."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def default_path(model: str) -> Path:
    """Return the path of a model's log in the user's data directory."""
    name = re.sub(r"[^\w.-]+", "-", model).strip("-.") or "model"
    return data_directory() / "calibration" / f"{name}.jsonl"


class CalibrationLog:
    """An append-only log; its folder and file are readable by their owner only.

    :param lines: what an earlier run recorded; empty for a new log.
    """

    def __init__(self, header: Header, lines: Sequence[Line], file: IO[bytes] | None) -> None:
        self.header = header
        self.lines: list[Line] = list(lines)
        self._file = file

    @classmethod
    def open(cls, path: Path | None, header: Header, *, fresh: bool = False) -> Self:
        """Open or create the log of a calibration; the seed of an existing log takes the place of the header's.

        :param path: ``None`` keeps nothing.
        :param fresh: discard what an earlier run recorded.
        :raises LogMismatch: the file is not a log, or of another model, catalog or version.
        :raises OSError: it cannot be read or written.
        """
        if path is None:
            return cls(header, (), None)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        old = b""
        if not fresh:
            with contextlib.suppress(FileNotFoundError):
                old = path.read_bytes()
        known, lines, used = _read(old, path)
        if known is not None:
            if (known.version, known.model, known.content) != (header.version, header.model, header.content):
                raise LogMismatch(
                    f"{path} belongs to another calibration ({_difference(known, header)}); {_remedy(known, header)}"
                )
            header = known
        flags = os.O_CREAT | os.O_WRONLY | getattr(os, "O_BINARY", 0)  # else Windows translates line ends
        descriptor = os.open(path, flags, 0o600)
        os.ftruncate(descriptor, used)  # a line that an interruption cut is dropped
        file = os.fdopen(descriptor, "ab", buffering=0)
        log = cls(header, lines, file)
        if known is None:
            log._write(header)
        return log

    def append(self, line: Line) -> None:
        """Record a finished trial or probe."""
        self.lines.append(line)
        self._write(line)

    def _write(self, line: Line | Header) -> None:
        if self._file is not None:
            self._file.write(msgspec.json.encode(line) + b"\n")

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _difference(known: Header, expected: Header) -> str:
    if known.model != expected.model:
        return f"of the model {known.model}"
    return "of other catalog entries" if known.version == expected.version else f"of version {known.version} of the log"


def _remedy(known: Header, expected: Header) -> str:
    return "--log chooses another file, --fresh replaces it" if known.model != expected.model else "--fresh replaces it"


def read_log(path: Path) -> CalibrationLog | None:
    """Return what a log has recorded, without its file; ``None`` if there is none, or if it is not a log."""
    try:
        header, lines, _ = _read(path.read_bytes(), path)
    except (OSError, LogMismatch):
        return None
    return None if header is None else CalibrationLog(header, lines, None)


def _read(data: bytes, path: Path) -> tuple[Header | None, list[Line], int]:
    """The header, the complete lines, and the length of both in bytes."""
    whole, _, _ = data.rpartition(b"\n")
    if not whole:
        return None, [], 0
    first, *rest = whole.split(b"\n")
    try:
        header = msgspec.json.decode(first, type=Header)
        return header, [msgspec.json.decode(line, type=Line) for line in rest], len(whole) + 1
    except msgspec.DecodeError as exc:
        raise LogMismatch(f"{path} is not a calibration log ({exc}); --fresh replaces it") from exc
