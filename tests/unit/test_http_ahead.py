"""Reading ahead: what came together is taken together, as much as may wait is bounded, and nothing runs on."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from helmdeck_core.http.ahead import ReadAhead


def run(act):
    """Run ``act(read)``, where ``read`` begins to read a source; look that no task is left behind."""

    async def main():
        readers = []

        def read(source, *, deadline_s=10.0, idle_s=None):
            readers.append(ReadAhead(source, asyncio.get_running_loop().time() + deadline_s, idle_s))
            return readers[-1]

        try:
            return await act(read)
        finally:
            for reader in readers:
                await reader.aclose()
            assert asyncio.all_tasks() == {asyncio.current_task()}

    return asyncio.run(main())


async def turns(count=5):
    """Give every task its turns."""
    for _ in range(count):
        await asyncio.sleep(0)


async def pass_by(seconds):
    """Let time pass on the loop's clock, without waiting for it."""
    await turns()
    loop = asyncio.get_running_loop()
    clock = loop.time
    loop.time = lambda: clock() + seconds
    await turns()


def test_what_comes_without_a_wait_is_one_piece_and_what_comes_later_another():
    async def act(read):
        more = asyncio.Event()

        async def source():
            yield b"one "
            yield b"two "
            yield b""
            yield b"three"
            await more.wait()
            yield b"four"

        pieces = read(source())
        first = await anext(pieces)
        more.set()
        return [first, *[piece async for piece in pieces]]

    assert run(act) == [b"one two three", b"four"]


def test_chunks_without_a_byte_are_not_the_end():
    async def source():
        yield b""
        await asyncio.sleep(0)
        yield b"x"

    async def act(read):
        return b"".join([piece async for piece in read(source())])

    assert run(act) == b"x"


def test_what_nobody_takes_is_not_read_without_end():
    async def act(read):
        given = 0

        async def source():
            nonlocal given
            while True:
                given += 1_000
                yield bytes(1_000)

        pieces = read(source())
        await turns()
        waits = given
        await turns()
        assert given == waits <= 70_000
        taken = len(await anext(pieces))
        await turns()
        assert waits == taken < given <= 2 * waits
        return True

    assert run(act)


def test_what_came_before_a_failure_is_given_first():
    async def source():
        yield b"said"
        raise ConnectionError("gone")

    async def act(read):
        pieces = read(source())
        await turns()
        said = await anext(pieces)
        with pytest.raises(ConnectionError, match="gone"):
            await anext(pieces)
        return said

    assert run(act) == b"said"


@pytest.mark.parametrize("takes", [True, False])
def test_time_that_is_over_ends_the_reading_and_what_has_come_is_still_given(takes):
    async def act(read):
        closed = asyncio.Event()

        async def source():
            try:
                yield b"said"
                await asyncio.Event().wait()
            finally:
                closed.set()

        pieces = read(source())
        if takes:
            assert await anext(pieces) == b"said"
            late = asyncio.create_task(anext(pieces))
            await pass_by(9)
            assert not late.done()
            await pass_by(1)
        else:
            await pass_by(10)
            assert await anext(pieces) == b"said"
            late = anext(pieces)
        assert closed.is_set()
        with pytest.raises(TimeoutError):
            await late
        return pieces.is_idle

    assert run(act) is False


def test_a_pause_counts_only_where_somebody_waits_and_not_before_the_first_piece():
    async def act(read):
        steps = [asyncio.Event() for _ in range(3)]

        async def source():
            for number, step in enumerate(steps):
                await step.wait()
                yield b"%d" % number

        pieces = read(source(), deadline_s=100, idle_s=5)
        first = asyncio.create_task(anext(pieces))
        await pass_by(20)
        steps[0].set()
        assert await first == b"0"
        await pass_by(20)  # the taker's own time
        second = asyncio.create_task(anext(pieces))
        await pass_by(4)
        steps[1].set()
        assert await second == b"1"
        third = asyncio.create_task(anext(pieces))
        await pass_by(4)
        assert not third.done()
        await pass_by(1)
        with pytest.raises(TimeoutError):
            await third
        return pieces.is_idle

    assert run(act) is True


@pytest.mark.parametrize("when", ["at once", "while it waits", "when it pauses"])
def test_closing_ends_the_source_whatever_it_does(when):
    async def act(read):
        has_begun, ended = False, False

        async def source():
            nonlocal has_begun, ended
            has_begun = True
            try:
                yield bytes(100_000 if when == "when it pauses" else 1)
                await asyncio.Event().wait()
            finally:
                ended = True

        chunks = source()
        pieces = read(chunks)
        if when != "at once":
            await turns()
        await pieces.aclose()
        await chunks.aclose()
        return has_begun == ended

    assert run(act)


def test_a_taker_that_is_cancelled_takes_nothing_and_the_next_one_gets_all():
    async def act(read):
        more = asyncio.Event()

        async def source():
            await more.wait()
            yield b"x"

        pieces = read(source())
        taker = asyncio.create_task(anext(pieces))
        await turns()
        taker.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await taker
        more.set()
        return await anext(pieces)

    assert run(act) == b"x"


def test_a_task_that_somebody_else_cancels_does_not_leave_its_taker_waiting():
    async def act(read):
        async def source():
            await asyncio.Event().wait()
            yield b""

        pieces = read(source())
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()  # before its first step, as at the end of a loop
        with pytest.raises(asyncio.CancelledError):
            await anext(pieces)
        return True

    assert run(act)
