"""A server's process is ended whatever its event loop is doing when the deck is closed."""

import asyncio
import os
import signal
import sys
import threading
from asyncio.base_subprocess import BaseSubprocessTransport

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from helmdeck_mcp.client import stdio_transport
from helmdeck_mcp.client.loop_thread import LoopThread

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
