"""Streamed arguments belong to the call that they were generated for, also where a server numbers chunks in its own way.

A call whose arguments are missing is never a call without arguments: it would be executed with values that no model chose.
"""

from __future__ import annotations

import pytest

from helmdeck_core import StopReason
from helmdeck_testing import Chunks
from tests.case_support import each_case
from tests.helmdeck_providers import natives_support
from tests.helmdeck_providers.openai_support import events, joined, streamed

CITY, TIME = '{"city": "Oslo"}', '{"zone": "CET"}'


def chunk(delta=None, reason=None):
    return {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": reason}]}


def piece(index=None, id=None, name=None, arguments=None, field="function"):
    body = {"name": name, "input" if field == "custom" else "arguments": arguments}
    return {"index": index, "id": id, field: {key: value for key, value in body.items() if value is not None}}


def calls_of(deltas, response):
    """Return the names and arguments of the calls, after checking that the deltas have the same."""
    found = [(each.name, each.arguments) for each in response.tool_calls]
    assert [(name, written or "{}") for _, name, written in joined(deltas)[2]] == found
    assert len({each.id for each in response.tool_calls}) == len(found)
    return found


@pytest.fixture
def read_chat(chat_server):
    def read(*pieces, reason="tool_calls"):
        chunks = [chunk({"tool_calls": each if isinstance(each, list) else [each]}) for each in pieces]
        server = chat_server(lambda body: Chunks([events(*chunks, chunk(reason=reason))]))
        deltas, response = streamed(server.base_url)
        return calls_of(deltas, response), response

    return read


# -- chat completions -----------------------------------------------------------------------------------------

ONE_CALL = {
    "ids that change": [piece(0, "a", "look", ""), piece(0, "b", None, '{"city"'), piece(0, "c", None, ': "Oslo"}')],
    "ids that change, with names": [
        piece(0, "a", "look", ""),
        piece(0, "b", "look", '{"city"'),
        piece(0, "c", "look", ': "Oslo"}'),
    ],
    "ids that change, without indexes": [
        piece(None, "a", "look", ""),
        piece(None, "b", "", '{"city"'),
        piece(None, "c", "", ': "Oslo"}'),
    ],
    "ids that change, also of whitespace": [
        piece(0, "a", "look", ""),
        piece(0, "b", None, '{"city":'),
        piece(0, "c", None, " "),
        piece(0, "d", None, '"Oslo"}'),
    ],
    "the first chunk twice": [piece(0, "a", "look", ""), piece(0, "b", "look", ""), piece(0, None, None, CITY)],
    "the first chunk twice, then its first id": [
        piece(0, "a", "look"),
        piece(0, "b", "look"),
        piece(0, "a", None, CITY),
    ],
    "one id at several indexes": [piece(0, "a", "look", ""), piece(1, "a", None, CITY)],
    "one id at several indexes, with names": [piece(0, "a", "look", ""), piece(1, "a", "look", CITY)],
    "one id at several indexes, repeated": [piece(0, "a", "look", CITY), piece(1, "a", "look", CITY)],
    "an unknown index": [piece(0, "a", "look", ""), piece(5, None, None, CITY)],
    "an index that grows": [
        piece(0, "a", "look", ""),
        piece(1, None, None, '{"city"'),
        piece(2, None, None, ': "Oslo"}'),
    ],
    "a nested object at an unknown index": [
        piece(0, "a", "look", '{"city": '),
        piece(1, None, None, '{"x": 1}'),
        piece(1, None, None, "}"),
    ],
    "no index": [piece(0, "a", "look", ""), piece(None, None, None, CITY)],
    "an id in place of the index": [piece(0, "a", "look", ""), piece(None, "a", None, CITY)],
    "a name in each chunk, without id and index": [
        piece(None, None, "look", '{"city"'),
        piece(None, None, "look", ': "Oslo"}'),
    ],
    "an id after the name": [piece(0, None, "look", ""), piece(0, "a", None, CITY)],
    "an id before the name": [piece(0, "a", None, ""), piece(0, None, "look", ""), piece(0, None, None, CITY)],
    "arguments repeated at the end": [
        piece(0, "a", "look", ""),
        piece(0, None, None, CITY),
        piece(0, None, None, CITY),
    ],
    "a blank chunk at an unknown index": [piece(0, "a", "look", CITY), piece(7, None, None, " \n")],
}


@each_case("shape", ONE_CALL)
def test_chunks_of_one_call_are_one_call(read_chat, shape):
    pieces = ONE_CALL[shape]
    calls, response = read_chat(*pieces)
    expected = '{"city": {"x": 1}}' if "nested" in shape else CITY
    assert [(name, written.strip()) for name, written in calls] == [("look", expected)]
    assert response.tool_calls[0].id == "a" or pieces[0]["id"] is None
    assert response.stop_reason is StopReason.TOOL_CALL


TWO_CALLS = {
    "names by the index of the tool": [
        piece(2, "a", "look", ""),
        piece(0, None, None, CITY),
        piece(0, "b", "time", ""),
        piece(1, None, None, TIME),
    ],
    "arguments by the index of the call before": [
        piece(1, "a", "look", ""),
        piece(0, None, None, '{"city": '),
        piece(0, None, None, '"Oslo"}'),
        piece(2, "b", "time", ""),
        piece(1, None, None, '{"zone": '),
        piece(1, None, None, '"CET"}'),
    ],
    "names at one index": [
        piece(0, "a", "look", ""),
        piece(0, None, None, CITY),
        piece(0, "b", "time", ""),
        piece(1, None, None, TIME),
    ],
    "everything at one index": [piece(0, "a", "look", CITY), piece(0, "b", "time", TIME)],
    "everything at one index, without ids": [piece(0, None, "look", CITY), piece(0, None, "time", TIME)],
    "everything at one index, by id": [
        piece(0, "a", "look", ""),
        piece(0, "b", "time", ""),
        piece(0, "a", None, CITY),
        piece(0, "b", None, TIME),
    ],
    "in one chunk": [[piece(0, "a", "look", CITY), piece(0, "b", "time", TIME)]],
    "with one id": [
        piece(0, "a", "look", ""),
        piece(1, "a", "time", ""),
        piece(0, "a", None, CITY),
        piece(1, "a", None, TIME),
    ],
    "interleaved": [
        piece(0, "a", "look", ""),
        piece(1, "b", "time", ""),
        piece(0, None, None, '{"city": '),
        piece(1, None, None, '{"zone": '),
        piece(0, None, None, '"Oslo"}'),
        piece(1, None, None, '"CET"}'),
    ],
    "an id before each name": [
        piece(0, "a", None, ""),
        piece(0, None, "look", CITY),
        piece(0, "b", None, ""),
        piece(0, None, "time", TIME),
    ],
}


@each_case("pieces", TWO_CALLS.values(), ids=TWO_CALLS)
def test_parallel_calls_keep_their_own_arguments(read_chat, pieces):
    calls, response = read_chat(*pieces)
    assert calls == [("look", CITY), ("time", TIME)]
    assert response.stop_reason is StopReason.TOOL_CALL


SAME_TOOL = {
    "at two indexes": [piece(0, "a", "look", CITY), piece(1, "b", "look", TIME)],
    "at one index": [piece(0, "a", "look", CITY), piece(0, "b", "look", TIME)],
    "at one index, without ids": [piece(0, None, "look", CITY), piece(0, None, "look", TIME)],
    "without indexes": [piece(None, "a", "look", CITY), piece(None, "b", "look", TIME)],
    "without ids and indexes": [piece(None, None, "look", CITY), piece(None, None, "look", TIME)],
    "with one id": [piece(0, "a", "look", CITY), piece(1, "a", "look", TIME)],
    "with one id, each with a last chunk": [
        piece(0, "a", "look", CITY),
        piece(1, "a", "look", TIME),
        piece(0, "a", "look", ""),
        piece(1, "a", "look", ""),
    ],
    "in chunks": [
        piece(0, "a", "look", ""),
        piece(1, "b", "look", ""),
        piece(0, None, None, CITY),
        piece(1, None, None, TIME),
    ],
    "in chunks at one index": [
        piece(0, "a", "look", ""),
        piece(0, None, None, CITY),
        piece(0, "b", "look", ""),
        piece(0, None, None, TIME),
    ],
    "numbered in two ways": [
        piece(1, "a", "look", ""),
        piece(0, None, None, CITY),
        piece(1, "b", "look", ""),
        piece(2, None, None, TIME),
    ],
}


@each_case("pieces", SAME_TOOL.values(), ids=SAME_TOOL)
def test_tool_that_is_called_twice_in_parallel_is_two_calls(read_chat, pieces):
    assert read_chat(*pieces)[0] == [("look", CITY), ("look", TIME)]


@each_case("arguments", ["", "{}", None])
def test_call_without_arguments_beside_another_one_keeps_none(read_chat, arguments):
    calls, response = read_chat(
        piece(0, "a", "now", arguments), piece(1, "b", "look", '{"city": '), piece(1, None, None, '"Oslo"}')
    )
    assert calls == [("now", "{}"), ("look", CITY)]
    assert response.stop_reason is StopReason.TOOL_CALL


def test_custom_tools_at_one_index_are_separated_by_id(read_chat):
    pieces = [("a", "shell", "ls"), ("b", "shell", "pwd"), (None, None, " -P")]
    assert read_chat(*(piece(0, *each, field="custom") for each in pieces))[0] == [("shell", "ls"), ("shell", "pwd -P")]


UNCLAIMED = {
    "two calls wait": [piece(0, "a", "look", ""), piece(1, "b", "time", ""), piece(5, None, None, CITY)],
    "two calls wait, without indexes": [piece(None, None, "look"), piece(None, None, "time"), piece(arguments=CITY)],
    "two calls wait with one id": [piece(None, "a", "look"), piece(None, "a", "time"), piece(None, "a", None, CITY)],
    "no call waits": [piece(0, "a", "now", "{}"), piece(5, None, None, CITY)],
    "no name arrives": [piece(0, "a", None, CITY)],
    "only another call is named": [piece(0, "a", None, CITY), piece(1, "b", "now", "{}")],
}


@each_case("reason", ["tool_calls", "stop"])
@each_case("pieces", UNCLAIMED.values(), ids=UNCLAIMED)
def test_arguments_of_an_unknown_call_make_the_response_truncated(read_chat, pieces, reason):
    assert read_chat(*pieces, reason=reason)[1].stop_reason is StopReason.MAX_TOKENS


# -- other wire formats ---------------------------------------------------------------------------------------


def started(index, name, **block):
    return {
        "type": "content_block_start",
        "index": index,
        "content_block": {"type": "tool_use", "id": f"t{index}", "name": name, "input": {}, **block},
    }


def input_delta(index, written):
    delta = {"type": "input_json_delta", "partial_json": written}
    return {"type": "content_block_delta", "index": index, "delta": delta}


def stopped(index):
    return {"type": "content_block_stop", "index": index}


def read_native(chat_server, name, body, kind="text/event-stream"):
    server = chat_server(lambda _: Chunks([body], headers={"content-type": kind}))
    deltas, response = natives_support.streamed(name, server.base_url, natives_support.asking(f"{name}/m"))
    return calls_of(deltas, response), response


def read_anthropic(chat_server, *pieces):
    head = {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 3}}}
    end = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}
    body = natives_support.sse(head, *pieces, end, {"type": "message_stop"})
    return read_native(chat_server, "anthropic", body)


@each_case(
    "pieces",
    [
        [started(1, "look"), input_delta(0, '{"city": '), input_delta(0, '"Oslo"}'), stopped(0)],
        [started(1, "look"), input_delta(7, CITY), stopped(1)],
        [started(1, "look"), input_delta(1, CITY)],
    ],
)
@each_case("has_text", [True, False])
def test_anthropic_input_reaches_its_call_without_matching_indexes(chat_server, pieces, has_text):
    block = {"type": "text", "text": "I look."}
    text = [{"type": "content_block_start", "index": 0, "content_block": block}, stopped(0)]
    calls, response = read_anthropic(chat_server, *text * has_text, *pieces)
    assert [(name, written.replace(" ", "")) for name, written in calls] == [("look", CITY.replace(" ", ""))]
    assert response.stop_reason is StopReason.TOOL_CALL


@each_case(
    "pieces",
    [
        [started(0, "look"), started(1, "time"), input_delta(5, CITY), stopped(0), stopped(1)],
        [started(0, "now"), stopped(0), input_delta(0, CITY)],
        [started(0, "now"), stopped(0), started(1, ""), input_delta(1, CITY), stopped(1)],
        [started(0, "now"), stopped(0), started(1, "", input={"city": "Oslo"}), stopped(1)],
    ],
)
def test_anthropic_input_of_an_unknown_call_makes_the_response_truncated(chat_server, pieces):
    assert read_anthropic(chat_server, *pieces)[1].stop_reason is StopReason.MAX_TOKENS


@each_case("ends", [[stopped(0), stopped(1)], [stopped(1)], [stopped(3)], []])
def test_anthropic_input_in_the_start_event_is_read_if_no_event_ends_the_block(chat_server, ends):
    pieces = [started(0, "now"), started(1, "look", input={"city": "Oslo"}), *ends]
    calls, response = read_anthropic(chat_server, *pieces)
    assert calls == [("now", "{}"), ("look", '{"city":"Oslo"}')]
    assert response.stop_reason is StopReason.TOOL_CALL


def test_anthropic_input_of_a_tool_of_the_provider_is_no_input_of_a_call(chat_server):
    search = started(0, "web_search", type="server_tool_use")
    pieces = [search, input_delta(0, CITY), stopped(0), started(1, "now"), stopped(1)]
    calls, response = read_anthropic(chat_server, *pieces)
    assert (calls, response.stop_reason) == ([("now", "{}")], StopReason.TOOL_CALL)


def item(kind, index, name, arguments="", **fields):
    call = {"type": "function_call", "id": f"f{index}", "call_id": f"c{index}", "name": name, "arguments": arguments}
    return {"type": f"response.output_item.{kind}", "output_index": index, "item": {**call, **fields}}


def part(index, written, kind="function_call_arguments", **fields):
    return {"type": f"response.{kind}.delta", "output_index": index, "delta": written, **fields}


def whole_part(index, written, **fields):
    done = {"type": "response.function_call_arguments.done", "output_index": index, "arguments": written}
    return {**done, **fields}


def read_responses(chat_server, *pieces, output=()):
    end = {"type": "response.completed", "response": {"status": "completed", "output": list(output)}}
    server = chat_server(lambda body: Chunks([events(*pieces, end, done=False)]))
    deltas, response = streamed(server.base_url, preset="openai-responses")
    return calls_of(deltas, response), response


@each_case(
    "pieces",
    [
        [item("added", 0, "look"), part(4, '{"city": '), part(4, '"Oslo"}')],
        [item("added", 0, "look"), part(4, '{"city": ', item_id="other"), part(4, '"Oslo"}', item_id="other")],
        [item("added", 0, "look"), whole_part(0, CITY)],
        [item("added", 0, "look"), whole_part(0, CITY, item_id="f0")],
        [item("added", 0, "look"), part(0, '{"city": '), whole_part(0, CITY)],
        [item("added", 0, "look"), whole_part(4, CITY)],
        [part(0, '{"city": '), item("added", 0, "look"), part(0, '"Oslo"}')],
        [part(0, '{"city": '), item("done", 0, "look", CITY)],
    ],
)
def test_arguments_of_responses_reach_their_call_in_every_form(chat_server, pieces):
    calls, response = read_responses(chat_server, *pieces)
    assert (calls, response.stop_reason) == ([("look", CITY)], StopReason.TOOL_CALL)


def test_parallel_calls_of_responses_keep_their_own_arguments(chat_server):
    pieces = [item("added", 0, "look"), item("added", 1, "time"), part(1, TIME), whole_part(0, CITY)]
    assert read_responses(chat_server, *pieces)[0] == [("look", CITY), ("time", TIME)]


@each_case(
    "pieces",
    [
        [item("added", 0, "look"), item("added", 1, "time"), part(5, CITY)],
        [item("added", 0, "now", "{}"), part(0, "{}"), part(5, CITY)],
        [part(0, CITY)],
    ],
)
def test_arguments_of_an_unknown_call_of_responses_make_it_truncated(chat_server, pieces):
    assert read_responses(chat_server, *pieces)[1].stop_reason is StopReason.MAX_TOKENS


def test_final_list_of_responses_replaces_arguments_without_a_call(chat_server):
    call = {"type": "function_call", "id": "f", "call_id": "c", "name": "look", "arguments": CITY}
    calls, response = read_responses(chat_server, part(3, '{"city": '), output=[call])
    assert (calls, response.stop_reason) == ([("look", CITY)], StopReason.TOOL_CALL)


def test_input_of_a_tool_that_the_provider_executed_is_no_input_of_a_call(chat_server):
    search = item("added", 0, "x_keyword_search", type="custom_tool_call")
    pieces = [search, part(0, "sea", "custom_tool_call_input"), item("added", 1, "now"), part(1, "{}")]
    calls, response = read_responses(chat_server, *pieces)
    assert (calls, response.stop_reason) == ([("now", "{}")], StopReason.TOOL_CALL)


@each_case(
    "call",
    [
        {"args": {"city": "Oslo"}},
        {"name": "", "args": {"city": "Oslo"}},
        {"partialArgs": [{"jsonPath": "$.city", "stringValue": "Oslo"}]},
    ],
)
def test_gemini_arguments_without_a_name_make_the_response_truncated(chat_server, call):
    parts = [{"text": "ok"}, {"functionCall": call}]
    body = natives_support.sse({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]})
    assert read_native(chat_server, "gemini", body)[1].stop_reason is StopReason.MAX_TOKENS


def test_ollama_arguments_without_a_name_make_the_response_truncated(chat_server):
    calls = [{"function": {"name": "now", "arguments": {}}}, {"function": {"arguments": {"city": "Oslo"}}}]
    message = {"role": "assistant", "content": "", "tool_calls": calls}
    body = natives_support.ndjson({"message": message, "done": True, "done_reason": "stop"})
    assert read_native(chat_server, "ollama", body, "application/x-ndjson")[1].stop_reason is StopReason.MAX_TOKENS
