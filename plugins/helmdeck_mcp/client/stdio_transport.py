"""The transport to a server that is a process (stdio): messages of bounded size, and nothing of it reaches the terminal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import attrs
from mcp import types
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

from helmdeck_mcp.client.messages import TOO_LARGE, UNREADABLE, LongLine, Thinner, read_lines, request_id_of, tolerant

EXIT_GRACE_S = 1.0
"""Seconds until a process must have ended after its input is closed, and again after SIGTERM."""

KILLED_S = 5.0
"""Seconds until a process that was killed must have ended, which a busy machine delays."""

MAX_SKIPPED_BYTES = 10_000_000
"""Output without a message in between, such as log lines, after which a server is ended; a line counts as at least 100 bytes."""

MAX_LAST_BYTES = 2_000
"""The last bytes of the error output, for the problem when a process ends."""

EXIT_WAIT_S = 0.5
"""Seconds from the end of the output until the exit code and the rest of the error output must be there."""

Streams = tuple[Any, Any]


@attrs.frozen
class ProcessEnd:
    """How a server ended.

    :ivar code: the exit code, negative for a signal; ``None`` if the process had not exited when its output ended.
    :ivar last_words: the last lines of its error output; without any, of the output of a program that sent no message.
    """

    code: int | None
    last_words: str

    def __str__(self) -> str:
        if self.code is None:
            return "its output ended"
        return f"its process ended with {'signal' if self.code < 0 else 'exit code'} {abs(self.code)}"


@asynccontextmanager
async def process_streams(
    command: str,
    args: tuple[str, ...],
    env: Mapping[str, str],
    cwd: str | None,
    limit: int,
    at_end: Callable[[ProcessEnd], None],
) -> AsyncIterator[Streams]:
    """Start a server, and yield the streams of its messages; at the end the process and its children are gone.

    :param limit: bytes of a message; a larger one is answered with an error.
    :param at_end: called once when its output ends.
    :raises OSError: it cannot be started.
    """
    variables = {**get_default_environment(), **env}
    process = await asyncio.create_subprocess_exec(
        _program(command, variables),
        *args,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=variables,
        cwd=cwd,
        start_new_session=True,  # an interrupt at the terminal is for Helmdeck alone
    )
    received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, sent = anyio.create_memory_object_stream[SessionMessage](0)
    errors = bytearray()
    reading_errors = asyncio.create_task(_read_errors(process, errors))
    tasks = [
        reading_errors,
        asyncio.create_task(_read(process, received, limit, errors, reading_errors, at_end)),
        asyncio.create_task(_write(process, sent, received)),
    ]
    try:
        yield incoming, outgoing
    finally:
        incoming.close()
        outgoing.close()
        try:
            await _finish(lambda: _end(process, tasks))
        finally:
            received.close()
            sent.close()


def _program(command: str, variables: Mapping[str, str]) -> str:
    """The file of a command on Windows, which starts ``npx`` only under its whole name, ``npx.cmd``."""
    if os.name != "nt":
        return command
    return shutil.which(command, path=variables.get("PATH")) or command


async def _finish(end: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a clean-up to its end, also while this task is cancelled; a clean-up that is cancelled itself begins again."""
    is_cancelled, task = False, asyncio.create_task(end())
    while not task.done() or task.cancelled():
        task = asyncio.create_task(end()) if task.cancelled() else task
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            is_cancelled = True
    if is_cancelled:
        raise asyncio.CancelledError


async def _end(process: asyncio.subprocess.Process, tasks: list[asyncio.Task[None]]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    for sign in (None, signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        if sign is not None:
            _signal(process, sign)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), EXIT_GRACE_S)
            break
    else:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), KILLED_S)
    _signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))  # its children, which may still have its pipes
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    transport = getattr(
        process, "_transport", None
    )  # a child that survived would keep it open, and nothing else closes it
    if transport is not None:
        transport.close()


def _signal(process: asyncio.subprocess.Process, sign: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, sign)
        elif process.returncode is None:
            process.terminate()


async def _read_errors(process: asyncio.subprocess.Process, buffer: bytearray) -> None:
    assert process.stderr is not None
    while chunk := await process.stderr.read(65_536):
        buffer += chunk
        del buffer[:-MAX_LAST_BYTES]


async def _read(
    process: asyncio.subprocess.Process,
    received: Any,
    limit: int,
    errors: bytearray,
    reading_errors: asyncio.Task[None],
    at_end: Callable[[ProcessEnd], None],
) -> None:
    assert process.stdout is not None
    thinner, skipped, is_server, other_output = Thinner(), 0, False, bytearray()
    try:
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for line in read_lines(process.stdout, limit):
                message = _message(line, limit)
                skipped = 0 if message is not None else skipped + max(len(line), 100)
                is_server = is_server or message is not None
                if not is_server and isinstance(line, bytes):  # a program that prints its usage, for example
                    other_output += line[-MAX_LAST_BYTES:] + b"\n"
                    del other_output[:-MAX_LAST_BYTES]
                if skipped > MAX_SKIPPED_BYTES:
                    errors[:] = b"it floods its standard output with lines that are no messages"
                    return
                if message is not None and thinner.keeps(message):
                    await received.send(message)
        while await process.stdout.read(65_536):  # the rest, so that the process can end
            pass
        with contextlib.suppress(TimeoutError):  # such as where a child of it has its error output
            async with asyncio.timeout(EXIT_WAIT_S):
                await asyncio.shield(reading_errors)
                await process.wait()
    finally:
        last_words = (errors.strip() or (b"" if is_server else other_output)).decode("utf-8", "replace")
        at_end(ProcessEnd(process.returncode, last_words))  # first, so that calls that fail with the stream know it
        await received.aclose()


def _message(line: bytes | LongLine, limit: int) -> SessionMessage | None:
    """The message of a line; ``None`` for a line that is none, such as a log line of the server."""
    if isinstance(line, LongLine):
        return _error(line.request_id, TOO_LARGE, f"the answer has more than {limit:,} bytes")
    if not line.lstrip().startswith((b"{", b"[")):
        return None  # a library takes a hundred times as long to find out
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        return _error(request_id_of(line), UNREADABLE, "the answer is not a valid message")
    return tolerant(SessionMessage(message))  # type: ignore[no-any-return]


def _error(request_id: int | None, code: int, problem: str) -> SessionMessage | None:
    """The answer in place of one that cannot be read; without it, the request would wait for its timeout."""
    if request_id is None:
        return None
    return SessionMessage(
        types.JSONRPCError(jsonrpc="2.0", id=request_id, error=types.ErrorData(code=code, message=problem))
    )


async def _write(process: asyncio.subprocess.Process, sent: Any, received: Any) -> None:
    """Write the messages; a request that is no valid JSON in UTF-8 is answered with an error in place of the server."""
    assert process.stdin is not None
    try:
        async for message in sent:
            try:
                line = f"{message.message.model_dump_json(by_alias=True, exclude_unset=True)}\n".encode()
            except ValueError:  # such as a lone surrogate
                request_id = getattr(message.message, "id", None)
                if (error := _error(request_id, types.INVALID_PARAMS, "the arguments are not valid text")) is not None:
                    await received.send(error)
                continue
            process.stdin.write(line)
            await process.stdin.drain()
    except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        # A server without its input answers nothing more, so its end is that of the connection; the reader sees it.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), EXIT_GRACE_S)
        _signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))
