"""The file: one line for each exchange, only ever appended to, by any number of processes."""

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
    """A tape ends in the middle of a line: a write was interrupted, and the exchange is not on it."""


@attrs.frozen
class Take:
    """An exchange and the line that it is on."""

    line: int
    exchange: Exchange


class Tape:
    """A tape, read as far as it was when last looked at.

    :param path: the file; it need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._forget()

    def __iter__(self) -> Iterator[Take]:
        return (take for takes in self._takes.values() for take in takes)

    def takes(self, key: str) -> list[Exchange]:
        """What is on the tape for one request, in recorded order."""
        return [take.exchange for take in self._takes.get(key, ())]

    def refresh(self) -> None:
        """Read what was added since, by whichever process.

        :raises ConfigError: a line is not an exchange; the text names file and line.
        """
        if self.path.exists():
            with FileIO(self.path) as file:
                _lock(file, exclusive=False)
                self._read(file)

    def append(self, exchange: Exchange, clean: Clean = str) -> None:
        """Add one line, whole or not at all, behind everything that others have added.

        :param clean: is applied to what the exchange came to.
        """
        with FileIO(self.path, "a+") as file:
            _lock(file, exclusive=True)
            self._read(file)
            # What is left is the beginning of a line whose writer is gone: it would spoil the line behind it.
            file.truncate(self._end)
            line = self._missing_end(file) + to_line(exchange, clean)
            if file.write(line) != len(line):
                file.truncate(self._end)
                raise OSError(f"{self.path}: the disk took only a part of an exchange")
            self._read(file)

    def _forget(self) -> None:
        self._takes: dict[str, list[Take]] = {}
        self._lines = 0  # complete lines that were read
        self._end = 0  # how many bytes were read
        self._warned = 0  # the last line that was reported as cut

    def _read(self, file: FileIO) -> None:
        if file.seek(0, os.SEEK_END) < self._end:
            self._forget()  # somebody started the tape anew
        file.seek(self._end)
        *lines, rest = file.readall().split(b"\n")
        for line in lines:
            self._take(line)
            self._lines += 1
            self._end += len(line) + 1
        if is_whole(rest):
            # Nothing is missing but the line's end, which counts as this line's own when it comes.
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
            text = f"{self.path} line {line}: cut by an interrupted write; this exchange is skipped"
            warnings.warn(text, TapeWarning, stacklevel=4)

    def _missing_end(self, file: FileIO) -> bytes:
        if not self._end:
            return b""
        file.seek(self._end - 1)
        return b"" if file.read(1) == b"\n" else b"\n"


def _lock(file: FileIO, *, exclusive: bool) -> None:
    """Hold the file against other processes until it is closed.

    Where there is no such lock, an append is still one write to the end of the file.
    """
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
