"""The lines of standard input that the MCP server reads."""

import asyncio
import os

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
