"""The lines of batch files: split whatever the parts of the file are, and limited in size."""

import asyncio
import contextlib
import tracemalloc

import pytest

from helmdeck_gateway import Problem
from helmdeck_gateway.batches.files import joined_lines, parts_of
from helmdeck_gateway.endpoints.message_batches import read_requests
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer
from tests.case_support import each_case
from tests.helmdeck_gateway.batch_support import BatchClient, chat_lines
from tests.helmdeck_gateway.gateway_key_support import USAGE, config, keyed
from tests.helmdeck_gateway.gateway_support import FormatServer

CONTENT = b"first\n\nthe longest line\nlast"


def lines_of(parts, most):
    async def read():
        return [line async for line in joined_lines(parts_of(parts), most)]

    return asyncio.run(read())


@each_case("size", range(1, len(CONTENT) + 1))
def test_lines_do_not_depend_on_the_parts_of_a_file_and_those_beyond_the_limit_are_marked(size):
    parts = [CONTENT[start : start + size] for start in range(0, len(CONTENT), size)]
    assert lines_of(parts, 16) == [b"first", b"", b"the longest line", b"last"]
    assert lines_of([*parts, b"\n"], 15) == [b"first", b"", None, b"last"]
    assert lines_of(parts, 3) == [None, b"", None, None]


def test_line_beyond_the_limit_is_not_kept_in_memory():
    part = b"x" * 1_000_000
    tracemalloc.start()
    try:
        assert lines_of([part] * 100, 3_000_000) == [None]
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_line_larger_than_a_request_is_a_mistake_of_the_file():
    with contextlib.closing(FormatServer(OPENAI_CHAT, ScriptedAnswer(text="hello", **USAGE))) as server:
        options = config(server)
        options["gateway"]["max_request_bytes"] = 1_000
        with keyed(options) as own:
            (line,) = chat_lines(1)
            batch = BatchClient(own.send).create([line, line.replace(b"r0", b"r1").replace(b"say", b"say" * 400)])
        assert not server.requests
    (mistake,) = batch["errors"]["data"]
    assert (batch["status"], mistake["line"], mistake["code"]) == ("failed", 2, "line_too_large")
    assert mistake["message"] == "the line is larger than 1,000 bytes"


def test_message_batch_has_up_to_100_000_requests():
    requests = [{"custom_id": str(number), "params": {}} for number in range(100_001)]
    assert len(read_requests(requests[:-1])) == 100_000
    with pytest.raises(Problem, match=r"requests: at most 100,000 items are allowed, found 100,001"):
        read_requests(requests)
