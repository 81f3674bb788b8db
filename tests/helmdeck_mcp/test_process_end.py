"""A server's process is ended whatever its event loop is doing when the deck is closed."""

import asyncio
import contextlib
import os
import signal
import sys
import threading
from asyncio.base_subprocess import BaseSubprocessTransport
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import anyio
import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from mcp import types
from mcp.shared.message import SessionMessage

from helmdeck_mcp.client import stdio_transport
from helmdeck_mcp.client.connection import ServerConnection
from helmdeck_mcp.client.loop_thread import LoopThread
from helmdeck_mcp.client.options import ServerOptions
from helmdeck_mcp.client.tools_cache import ToolsCache

STUBBORN = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
while True:
    time.sleep(60)
"""


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")
def test_a_process_is_ended_although_its_end_is_cancelled(monkeypatch):
    pids, is_ending, is_ready = [], threading.Event(), threading.Event()
    send_signal = stdio_transport._signal

    def noted(process, sign):
        pids.append(process.pid)
        send_signal(process, sign)
        if sign == signal.SIGTERM:
            is_ending.set()

    async def note_output(process, *_):
        await process.stdout.readline()
        is_ready.set()

    async def serve():
        streams = stdio_transport.process_streams(sys.executable, ("-c", STUBBORN), {}, None, 1_000, print)
        async with streams:
            await stdio_transport.asyncio.to_thread(is_ready.wait)

    monkeypatch.setattr(stdio_transport, "_signal", noted)
    monkeypatch.setattr(stdio_transport, "_read", note_output)
    monkeypatch.setattr(stdio_transport, "EXIT_GRACE_S", 0.2)
    thread = LoopThread("test")
    thread.start(serve())
    assert is_ending.wait(60)
    thread.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


def test_loop_that_stops_while_a_process_starts_ends(monkeypatch):
    connect = BaseSubprocessTransport._connect_pipes
    started = []

    async def _connect_pipes(transport, waiter):
        started.append(transport)
        asyncio.get_running_loop().stop()
        await asyncio.sleep(0)
        await connect(transport, waiter)

    monkeypatch.setattr(BaseSubprocessTransport, "_connect_pipes", _connect_pipes)
    thread = LoopThread("test")
    thread.start(asyncio.create_subprocess_exec(sys.executable, "-c", STUBBORN, stdout=asyncio.subprocess.PIPE))
    thread._thread.join(60)
    assert not thread._thread.is_alive() and started[0].get_returncode() is not None


def test_loop_that_stops_while_a_library_starts_a_task_ends():
    async def child(*, task_status):
        task_status.started()

    async def parent():
        async with anyio.create_task_group() as group:
            asyncio.get_running_loop().stop()
            await group.start(child)  # would wait forever for a child that is cancelled before its first step

    thread = LoopThread("test")
    thread.start(parent())
    thread._thread.join(60)
    assert not thread._thread.is_alive()


def test_connection_that_fails_while_it_is_cancelled_is_not_made_again(monkeypatch):
    attempts, is_connecting = [], asyncio.Event()

    @asynccontextmanager
    async def connected(server):
        attempts.append(server)
        if len(attempts) > 1:
            raise asyncio.CancelledError
        is_connecting.set()
        try:
            await asyncio.Event().wait()
            yield
        except asyncio.CancelledError:
            raise OSError("the pipe is broken") from None

    async def cancel():
        options = ServerOptions(command="unused")
        server = ServerConnection("notes", options, Mock(), Mock(), ToolsCache(Path("unused"), "notes", options))
        task = asyncio.create_task(server.keep_connected())
        await is_connecting.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    monkeypatch.setattr(ServerConnection, "_connected", connected)
    asyncio.run(cancel())
    assert len(attempts) == 1


ECHO = """
import json, sys
for line in sys.stdin:
    print(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {}}), flush=True)
"""

DEAF = """
import os, time
os.close(0)
time.sleep(600)
"""


def request(number, text):
    return SessionMessage(types.JSONRPCRequest(jsonrpc="2.0", id=number, method="echo", params={"text": text}))


def test_request_that_is_not_text_gets_an_error_and_others_are_answered():
    async def serve():
        streams = stdio_transport.process_streams(sys.executable, ("-c", ECHO), {}, None, 1_000, print)
        async with streams as (incoming, outgoing):
            answers = []
            for number, text in enumerate(("one", "bad \ud83d", "two"), 1):
                await outgoing.send(request(number, text))
                answers.append((await incoming.receive()).message)
            return answers

    one, bad, two = asyncio.run(asyncio.wait_for(serve(), 60))
    assert [one.id, bad.id, two.id] == [1, 2, 3]
    assert bad.error.code == types.INVALID_PARAMS
    assert isinstance(two, types.JSONRPCResponse)


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs process groups")
def test_server_that_closes_its_input_is_a_lost_connection(monkeypatch):
    monkeypatch.setattr(stdio_transport, "EXIT_GRACE_S", 0.2)
    ends = []

    async def serve():
        streams = stdio_transport.process_streams(sys.executable, ("-c", DEAF), {}, None, 1_000, ends.append)
        async with streams as (_, outgoing):
            while not ends:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(outgoing.send(request(1, "x" * 100_000)), 0.2)

    asyncio.run(asyncio.wait_for(serve(), 60))
    assert ends[0].code == -signal.SIGKILL


@pytest.mark.parametrize(("system", "program"), [("nt", "C:\\node\\npx.cmd"), ("posix", "npx")])
def test_command_is_found_with_its_extension_on_windows(monkeypatch, system, program):
    files = {("npx", "C:\\node"): "C:\\node\\npx.cmd"}
    monkeypatch.setattr(stdio_transport.shutil, "which", lambda command, path: files.get((command, path)))
    monkeypatch.setattr(stdio_transport, "os", SimpleNamespace(name=system))
    assert stdio_transport._program("npx", {"PATH": "C:\\node"}) == program
    assert stdio_transport._program("other", {"PATH": "C:\\node"}) == "other"
