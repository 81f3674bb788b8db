"""Packs that run a command line program: JSON on standard input, JSON on standard output."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from helmdeck_core import Pack, PackContext, PackError, PackErrorCode, quoted, schema_problems

MAX_STDERR_BYTES: Final = 16_384
MAX_STDERR_CHARS: Final = 500
_PASSED_ON: Final = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "SYSTEMROOT")
"""Environment variables of every program; others may be secrets."""

# Limits have to be set in the new process; a hook of the fork could deadlock a process with threads.
_LAUNCHER: Final = """\
import os, resource, sys
memory, argv = int(sys.argv[1]), sys.argv[2:]
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
if memory:
    kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    resource.setrlimit(kind, (memory, memory))
try:
    os.execvp(argv[0], argv)
except OSError as exc:
    sys.stderr.write(f"{argv[0]}: {exc.strerror}")
    sys.exit(127)
"""
_NOT_FOUND: Final = 127


@attrs.frozen(kw_only=True)
class ProgramLimits:
    """Limits of a program.

    :ivar timeout_s: seconds until it is killed.
    :ivar max_output_bytes: of standard output; a program that writes more is killed.
    :ivar max_memory_bytes: of each process; 0 is no limit.
    """

    timeout_s: float = 60.0
    max_output_bytes: int = 4_000_000
    max_memory_bytes: int = 2_000_000_000


def program_pack(
    name: str,
    argv: Sequence[str],
    *,
    description: str,
    input_schema: Mapping[str, Any],
    output_schema: Mapping[str, Any] | None = None,
    version: str = "1",
    metadata: Mapping[str, Any] | None = None,
    annotations: Mapping[str, bool] | None = None,
    limits: ProgramLimits = ProgramLimits(),
    environ: Sequence[str] = (),
    folder: Path | None = None,
    exit_codes: Mapping[int, PackErrorCode] | None = None,
) -> Pack:
    """Make a pack of a program. It reads the input as one JSON object, and writes one JSON object.

    The program runs without a shell, in a session of its own, in an empty temporary folder, and with few environment
    variables. All its processes are killed when it ends, at the timeout, and when the call is cancelled.

    Exit code 0 is success. Any other code is a failure, ``handler_failed`` unless ``exit_codes`` says otherwise, with the end
    of standard error; if standard output is an object all the same, it is the ``output`` of the error. Output that is not
    JSON, or does not fit ``output_schema``, is ``schema_mismatch``.

    :param argv: the program and its fixed arguments; the input is never part of them.
    :param environ: names of further environment variables that it receives.
    :param folder: the working directory.
    :raises ValueError: ``argv`` is empty.
    """
    if isinstance(argv, str) or not argv:
        raise ValueError(f"pack {name!r}: argv is a list: the program and its arguments")
    program = _Program(name, tuple(argv), limits, tuple(environ), folder, dict(exit_codes or {}), output_schema or {})
    return Pack(
        name=name,
        version=version,
        description=description,
        run=program.run,
        metadata=metadata or {},
        input_schema=input_schema,
        output_schema=output_schema or {},
        annotations=annotations or {},
    )


class _TooMuchOutput(Exception):
    """A program wrote more than it may."""


@attrs.frozen
class _Program:
    name: str
    argv: tuple[str, ...]
    limits: ProgramLimits
    environ: tuple[str, ...]
    folder: Path | None
    exit_codes: Mapping[int, PackErrorCode]
    output_schema: Mapping[str, Any]

    async def run(self, _context: PackContext, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        import tempfile  # here, because it is a large part of the start-up time

        data = json.dumps(dict(arguments), ensure_ascii=False).encode()
        with contextlib.ExitStack() as stack:
            folder = self.folder or stack.enter_context(tempfile.TemporaryDirectory(prefix="helmdeck-"))
            try:
                code, output, errors = await self._execute(data, folder)
            except TimeoutError:
                raise self._failure(PackErrorCode.TIMEOUT, f"killed after {self.limits.timeout_s:g} s") from None
            except _TooMuchOutput:
                detail = f"killed: it wrote more than {self.limits.max_output_bytes:,} bytes"
                raise self._failure(PackErrorCode.INVALID_OUTPUT, detail) from None
            except OSError as exc:
                raise self._failure(PackErrorCode.HANDLER_FAILED, f"cannot be started ({exc.strerror or exc})") from exc
        if code == 0:
            return self._checked(output)
        shown = _end_of(errors) or "nothing on standard error"
        if code < 0:
            raise self._failure(PackErrorCode.HANDLER_FAILED, f"killed by {_signal_name(-code)}: {shown}")
        if code == _NOT_FOUND:
            raise self._failure(PackErrorCode.HANDLER_FAILED, f"{shown}; install the program, or correct its path")
        cause = self.exit_codes.get(code, PackErrorCode.HANDLER_FAILED)
        partial = _object(output)
        raise PackError(self.name, cause, f"{self._shown}: exit code {code}: {shown}", output=partial or {})

    async def _execute(self, data: bytes, folder: str | Path) -> tuple[int, bytes, bytes]:
        variables = {name: os.environ[name] for name in (*_PASSED_ON, *self.environ) if name in os.environ}
        argv = self.argv
        if os.name == "posix":
            argv = (sys.executable, "-I", "-S", "-c", _LAUNCHER, str(self.limits.max_memory_bytes), *argv)
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(self.limits.timeout_s):
            transport, session = await loop.subprocess_exec(
                lambda: _Session(self.limits.max_output_bytes), *argv, cwd=folder, env=variables, start_new_session=True
            )
            try:
                feed = transport.get_pipe_transport(0)
                feed.write(data)  # type: ignore[union-attr]
                feed.write_eof()  # type: ignore[union-attr]
                await session.done
            finally:
                session.kill()
                await asyncio.shield(session.exited)
                transport.close()
        if session.is_too_much:
            raise _TooMuchOutput
        return transport.get_returncode() or 0, bytes(session.output), bytes(session.errors)

    def _checked(self, output: bytes) -> Mapping[str, Any]:
        value = _object(output)
        if value is None:
            start = quoted(output[:200].decode("utf-8", "replace"))
            detail = (
                f"standard output is not a JSON object; it starts with {start!r}" if output.strip() else "no output"
            )
            raise self._failure(PackErrorCode.SCHEMA_MISMATCH, detail)
        if problems := schema_problems(self.output_schema, value):
            raise self._failure(PackErrorCode.SCHEMA_MISMATCH, f"the output does not fit: {'; '.join(problems)}")
        return value

    @property
    def _shown(self) -> str:
        return Path(self.argv[0]).name

    def _failure(self, code: PackErrorCode, detail: str) -> PackError:
        return PackError(self.name, code, f"{self._shown}: {detail}")


class _Session(asyncio.SubprocessProtocol):
    """The processes of a program.

    :ivar exited: the program has ended.
    :ivar done: it has ended, and everything that it wrote is read.
    """

    def __init__(self, max_output_bytes: int) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.done: asyncio.Future[None] = loop.create_future()
        self.output, self.errors, self.is_too_much = bytearray(), bytearray(), False
        self._max_output_bytes = max_output_bytes

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self.errors += data
            del self.errors[:-MAX_STDERR_BYTES]
        elif len(self.output) + len(data) > self._max_output_bytes:
            self.is_too_much = True
            self.kill()
        else:
            self.output += data

    def process_exited(self) -> None:
        if not self.exited.done():
            self.exited.set_result(None)
        self.kill()  # a process that it left behind would keep its output open

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        if not self.done.done():
            self.done.set_result(None)

    def kill(self) -> None:
        """Kill every process of the session."""
        process: Any = self._transport
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.name == "posix":
                os.killpg(process.get_pid(), signal.SIGKILL)
            else:
                process.kill()


def _end_of(errors: bytes) -> str:
    text = " ".join(errors.decode("utf-8", "replace").split())
    return quoted(text[-MAX_STDERR_CHARS:], limit=MAX_STDERR_CHARS)


def _object(output: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(output)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
