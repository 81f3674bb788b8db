"""The lines of standard input that the MCP server reads."""

import asyncio
import os

from helmdeck_mcp.server import input_lines
from helmdeck_mcp.server.input_lines import MAX_WAITING, InputLines
from tests.case_support import each_case


def lines_of(*parts):
    """What is read when these parts are written, one after the other, and the input is closed."""
    reading, writing = os.pipe()

    async def main():
        lines = InputLines(reading)
        for part in parts:
            await asyncio.to_thread(os.write, writing, part)
        os.close(writing)
        return [line async for line in lines]

    try:
        return asyncio.run(main())
    finally:
        os.close(reading)


@each_case(
    ("parts", "lines"),
    [
        ([], []),
        ([b"one\ntwo\n"], ["one\n", "two\n"]),
        ([b"on", b"e\ntw", b"o\n"], ["one\n", "two\n"]),
        ([b"one\nrest"], ["one\n", "rest"]),
        ([b"\xc3", b"\xa4\n\xff\n"], ["ä\n", "\ufffd\n"]),
        ([b"\n\n"], ["\n", "\n"]),
        ([b"x\n" * 3 * MAX_WAITING], ["x\n"] * 3 * MAX_WAITING),
    ],
)
def test_lines_are_read_whole_whatever_their_parts(parts, lines):
    assert lines_of(*parts) == lines


def test_input_that_is_closed_ends():
    reading, writing = os.pipe()
    os.close(writing)
    os.close(reading)

    async def main():
        return [line async for line in InputLines(reading)]

    assert asyncio.run(main()) == []


def test_line_that_is_too_long_is_replaced_and_the_next_one_is_read(monkeypatch):
    monkeypatch.setattr(input_lines, "MAX_LINE_BYTES", 10)
    too_long = input_lines.TOO_LONG.decode()
    assert lines_of(b"x" * 10, b"x\nnext\n") == [too_long, "next\n"]
    assert lines_of(b"x" * 10 + b"\n") == ["x" * 10 + "\n"]
    assert lines_of(b"x" * 5, b"x" * 5, b"x" * 5, b"\none\ntwo") == [too_long, "one\n", "two"]


def test_parts_of_a_long_line_are_joined_once(monkeypatch):
    joined = []

    class Counted(bytes):
        def __add__(self, other):
            joined.append(len(self))
            return bytes(self) + other

    monkeypatch.setattr(input_lines.os, "read", lambda descriptor, size, read=os.read: Counted(read(descriptor, 10)))
    assert lines_of(b"x" * 1_000 + b"\n") == ["x" * 1_000 + "\n"]
    assert not joined
