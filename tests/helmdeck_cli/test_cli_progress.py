"""The progress line of commands that wait for a call."""

import asyncio
import io

import pytest

from helmdeck_cli.progress import CLEAR, Progress, tracked


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def _width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")


def test_progress_line_shows_seconds_and_the_current_text():
    stream, times = Terminal(), iter([0.0, 12.3, 13.0])
    progress = Progress("asking a/b", stream, lambda: next(times))
    progress.draw()
    progress.update("checking\nthe plan")
    progress.draw()
    assert stream.getvalue() == f"{CLEAR}asking a/b (12 s){CLEAR}checking the plan (13 s)"


def test_long_progress_line_is_truncated_to_the_terminal_width():
    stream = Terminal()
    Progress("漢" * 60, stream, lambda: 0.0).draw()
    assert stream.getvalue() == f"{CLEAR}{'漢' * 16} (0 s)"


def test_empty_text_removes_the_line_until_the_next_text():
    stream = Terminal()
    progress = Progress("planning", stream, lambda: 0.0)
    progress.draw()
    progress.update("")
    shown = stream.getvalue()
    progress.draw()
    assert stream.getvalue() == shown == f"{CLEAR}planning (0 s){CLEAR}"
    progress.update("step 1")
    progress.draw()
    assert stream.getvalue() == f"{shown}{CLEAR}step 1 (0 s)"


def test_progress_line_is_shown_on_a_terminal_and_cleared():
    async def wait():
        told = asyncio.Event()

        class Telling(Terminal):
            def flush(self):
                told.set()

        stream = Telling()
        async with Progress("asking", stream, interval_s=0):
            await told.wait()
        return stream.getvalue()

    assert asyncio.run(wait()) == f"{CLEAR}asking (0 s){CLEAR}"


def test_no_progress_is_written_to_a_file():
    async def wait():
        stream = io.StringIO()
        async with Progress("asking", stream, interval_s=0):
            for _ in range(20):
                await asyncio.sleep(0)
        return stream.getvalue()

    assert asyncio.run(wait()) == ""


def test_quick_call_shows_no_progress():
    stream = Terminal()

    async def quick():
        async with Progress("asking", stream):
            pass

    asyncio.run(quick())
    assert stream.getvalue() == ""


@pytest.mark.parametrize(("stream", "drawn"), [(Terminal, True), (io.StringIO, False)])
def test_long_loops_draw_their_progress_on_a_terminal_only_and_clear_it(monkeypatch, stream, drawn):
    monkeypatch.setattr("helmdeck_cli.progress.INTERVAL_S", 0.0)
    monkeypatch.setattr("sys.stderr", written := stream())
    assert list(tracked(["a", "b"], "{} of 2 requests")) == ["a", "b"]
    assert ("2 of 2 requests" in written.getvalue()) == drawn
    assert not drawn or written.getvalue().endswith(CLEAR)
