"""The clock that tests use to wait without time passing."""

import asyncio
import threading
import time

from tests.virtual_time_support import VirtualTime


def test_waits_pass_at_once_and_threads_that_run_already_keep_their_clock(monkeypatch):
    asked, answered, read = threading.Event(), threading.Event(), []

    def other():
        asked.wait(60)
        read.append(time.monotonic())
        answered.set()

    thread = threading.Thread(target=other)
    thread.start()
    real = time.monotonic
    clock = VirtualTime(monkeypatch)
    asyncio.run(asyncio.sleep(1_000_000))
    before = real()
    asked.set()
    assert answered.wait(60)
    assert clock.passed_s >= 1_000_000 and time.monotonic() == clock()
    assert before <= read[0] <= real()
    thread.join()
