"""Runs a program with limits of time and output."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs

INSTALL_FFMPEG: Final = "apt-get install ffmpeg"
PROGRAMS: Final[Mapping[str, str]] = {"ffmpeg": INSTALL_FFMPEG, "ffprobe": INSTALL_FFMPEG}
"""The programs of every pack, each with the command that installs it."""


def missing(programs: Mapping[str, str]) -> Sequence[tuple[str, str]]:
    """Return the programs that are not installed, each with the command that installs it."""
    return [(name, command) for name, command in programs.items() if shutil.which(name) is None]


@attrs.frozen
class Finished:
    """The result of a program.

    :ivar out: its standard output, at most the first ``max_bytes``.
    :ivar err: its standard error, at most the last ``max_bytes``.
    """

    code: int
    out: str
    err: str


async def run_program(argv: Sequence[str], *, timeout_s: float, max_bytes: int, folder: Path | None = None) -> Finished:
    """Run a program without a shell, and without standard input.

    The program and its children are killed when the time is over, or when the caller is cancelled.

    :param folder: its working directory.
    :raises FileNotFoundError: the program is not installed.
    :raises TimeoutError: it ran longer than ``timeout_s``.
    """
    pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=null, stdout=pipe, stderr=pipe, cwd=folder, start_new_session=os.name == "posix"
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        async with asyncio.timeout(timeout_s):
            out, err = await asyncio.gather(_first(process.stdout, max_bytes), _last(process.stderr, max_bytes))
            code = await process.wait()
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                if os.name == "posix":
                    os.killpg(process.pid, signal.SIGKILL)
                else:
                    process.kill()
            await process.wait()
    return Finished(code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


async def _first(stream: asyncio.StreamReader, max_bytes: int) -> bytes:
    kept = bytearray()
    while chunk := await stream.read(65_536):
        kept += chunk[: max(0, max_bytes - len(kept))]
    return bytes(kept)


async def _last(stream: asyncio.StreamReader, max_bytes: int) -> bytes:
    kept = bytearray()
    while chunk := await stream.read(65_536):
        kept += chunk
        del kept[: max(0, len(kept) - max_bytes)]
    return bytes(kept)
