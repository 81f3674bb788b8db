"""The clock that tests use to wait without time passing."""

import asyncio
import threading

from tests.virtual_time_support import VirtualTime

LONG_S = 1_000_000


def test_waits_pass_at_once_and_threads_that_run_already_keep_their_clock(monkeypatch):
    is_installed, has_read, read = threading.Event(), threading.Event(), []
    loop = asyncio.SelectorEventLoop()

    def other():
        read.append(loop.time())
        is_installed.wait(60)
        read.append(loop.time())
        has_read.set()

    thread = threading.Thread(target=other)
    thread.start()
    clock = VirtualTime(monkeypatch)
    asyncio.run(asyncio.sleep(LONG_S))
    is_installed.set()
    assert has_read.wait(60)
    thread.join()
    assert clock.passed_s >= LONG_S and loop.time() == clock()
    before, after = read
    assert 0 <= after - before < LONG_S
    loop.close()
