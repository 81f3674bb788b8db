"""The tape file: one line per exchange, append-only, shared by any number of processes."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

import attrs

from helmdeck_core import ConfigError, Mistake
from helmdeck_provider_tape.exchange import Clean, Exchange, from_line, is_whole, to_line


class TapeWarning(UserWarning):
    """The last line of a tape is truncated by an interrupted write; its exchange is skipped."""


@attrs.frozen
class Take:
    """An exchange and its line number."""

    line: int
    exchange: Exchange


class Tape:
    """A tape, cached up to its size at the last access.

    :param path: the file, which may not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._reset()

    def __iter__(self) -> Iterator[Take]:
        return (take for takes in self._takes.values() for take in takes)

    def takes(self, key: str) -> list[Exchange]:
        """Return the exchanges of one request, in recorded order."""
        return [take.exchange for take in self._takes.get(key, ())]

    def refresh(self) -> None:
        """Read exchanges that this or another process has added.

        :raises ConfigError: a line is not an exchange.
        """
        if self.path.exists():
            with FileIO(self.path) as file:
                _lock(file, exclusive=False)
                self._read(file)

    def append(self, exchange: Exchange, clean: Clean = str) -> None:
        """Append one line atomically.

        :param clean: applied to the outcome of the exchange.
        """
        with FileIO(self.path, "a+", opener=open_private) as file:
            _lock(file, exclusive=True)
            self._read(file)
            # Remove a truncated line of an interrupted write: it would corrupt the next line.
            file.truncate(self._end)
            line = self._missing_end(file) + to_line(exchange, clean)
            if file.write(line) != len(line):
                file.truncate(self._end)
                raise OSError(f"{self.path}: only a part of an exchange could be written")
            self._read(file)

    def _reset(self) -> None:
        self._takes: dict[str, list[Take]] = {}
        self._lines = 0  # number of complete lines read
        self._end = 0  # number of bytes read
        self._warned = 0  # last line reported as truncated

    def _read(self, file: FileIO) -> None:
        if file.seek(0, os.SEEK_END) < self._end:
            self._reset()  # the file was replaced
        file.seek(self._end)
        *lines, rest = file.readall().split(b"\n")
        for line in lines:
            self._take(line)
            self._lines += 1
            self._end += len(line) + 1
        if is_whole(rest):
            # Only the line break is missing; it is read as part of this line later.
            self._take(rest)
            self._end += len(rest)
        elif rest:
            self._warn()

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            exchange = from_line(line)
        except ValueError as exc:
            where = f"{self.path} line {self._lines + 1}"
            raise ConfigError((Mistake(where, f"not an exchange of a tape ({exc})"),)) from exc
        self._takes.setdefault(exchange.key, []).append(Take(self._lines + 1, exchange))

    def _warn(self) -> None:
        if self._warned != (line := self._lines + 1):
            self._warned = line
            text = f"{self.path} line {line}: truncated by an interrupted write; this exchange is skipped"
            warnings.warn(text, TapeWarning, stacklevel=4)

    def _missing_end(self, file: FileIO) -> bytes:
        if not self._end:
            return b""
        file.seek(self._end - 1)
        return b"" if file.read(1) == b"\n" else b"\n"


def open_private(path: str, flags: int) -> int:
    """Open a file like ``os.open``; a new one can be read by its owner only."""
    return os.open(path, flags, 0o600)


def _lock(file: FileIO, *, exclusive: bool) -> None:
    """Lock the file until it is closed.

    On Windows there is no such lock, but an append is still a single write.
    """
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
