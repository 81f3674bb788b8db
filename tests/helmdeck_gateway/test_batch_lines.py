"""The lines of batch files: split whatever the parts of the file are, and limited in size."""

import asyncio
import contextlib
import tracemalloc

import pytest

from helmdeck_gateway import Problem
from helmdeck_gateway.batches.batch import Batch, Batches, Sender
from helmdeck_gateway.batches.files import joined_lines, parts_of
from helmdeck_gateway.endpoints.message_batches import read_requests
from helmdeck_gateway.stores.memory import MemoryStore
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


def test_requests_of_batches_that_have_not_ended_are_limited_together():
    with contextlib.closing(FormatServer(OPENAI_CHAT, ScriptedAnswer(text="hello", **USAGE))) as server:
        options = config(server)
        options["gateway"]["max_stored_file_bytes"] = 400
        with keyed(options, rate=1, window_s=3_600) as own:
            batches = BatchClient(own.send)
            (line,) = chat_lines(1)
            first = batches.create([line, line.replace(b"r0", b"r1")])
            body = {"input_file_id": first["input_file_id"], "endpoint": first["endpoint"], "completion_window": "24h"}
            refused = own.send("/v1/batches", body)
            requests = [{"custom_id": "a", "params": {"messages": "x" * 200}}]
            own_refused = own.send("/v1/messages/batches", {"requests": requests})
            size = 2 * len(line) + 1
            message = (
                f"the open batches of this key have {size} bytes; {size} more exceed 400, the limit of the gateway"
            )
            error = refused.body["error"]
            assert (refused.status, error["code"], error["message"]) == (
                413, "batch_quota_exceeded", f"{message}; wait until some have ended, or cancel some",
            )  # fmt: skip
            assert (own_refused.status, own_refused.body["type"]) == (413, "error")


def test_batch_that_has_ended_or_was_refused_takes_no_room():
    async def run():
        store = MemoryStore()
        batches = Batches(store, "ann", 60.0)
        made = [
            Batch(
                id=name, kind="openai", endpoint="/v1/chat/completions", sender=Sender(caller="ann"), status=status,
                total=1, created_s=0, expires_s=0, size=60,
            )
            for name, status in (("a", "in_progress"), ("b", "completed"))
        ]  # fmt: skip
        for each in made:
            await batches.add(each)
        with pytest.raises(Problem, match="have 60 bytes; 41 more exceed 100"):
            await batches.take_room(41, 100, 9)
        await batches.take_room(40, 100, 9)
        await batches.give_room(40)
        await batches.take_room(40, 100, 9)

    asyncio.run(run())
