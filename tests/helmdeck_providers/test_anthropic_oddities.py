"""Undocumented behaviour of Messages servers: missing indexes, ids and other block types."""

from __future__ import annotations

import pytest

from tests.helmdeck_providers.natives_support import answered


def block_start(block, **fields):
    return {"type": "content_block_start", "content_block": block, **fields}


def delta(kind, field, value, **fields):
    return {"type": "content_block_delta", "delta": {"type": kind, field: value}, **fields}


def message_end(reason="end_turn"):
    return {"type": "message_delta", "delta": {"stop_reason": reason}}


def test_deltas_without_index_belong_to_the_last_block():
    response = answered(
        "anthropic",
        block_start({"type": "text", "text": ""}),
        delta("text_delta", "text", "let me "),
        delta("text_delta", "text", "see"),
        {"type": "content_block_stop"},
        *(
            event
            for name in ("look", "see")
            for event in (
                block_start({"type": "tool_use", "id": name, "name": name, "input": {}}),
                delta("input_json_delta", "partial_json", '{"x":'),
                delta("input_json_delta", "partial_json", "1}"),
                {"type": "content_block_stop"},
            )
        ),
        message_end("tool_use"),
    )
    assert response.text == "let me see"
    assert [(each.name, each.arguments) for each in response.tool_calls] == [("look", '{"x":1}'), ("see", '{"x":1}')]


@pytest.mark.parametrize("ids", [("", ""), ("a", "a"), (None, "a")])
def test_every_tool_call_has_a_unique_id(ids):
    blocks = [{"type": "tool_use", "id": given, "name": "look", "input": {"n": n}} for n, given in enumerate(ids)]
    found = answered("anthropic", {"type": "message", "content": blocks, "stop_reason": "tool_use"}).tool_calls
    assert len({each.id for each in found}) == 2 and all(each.id for each in found)
    assert [each.arguments for each in found] == ['{"n":0}', '{"n":1}']


def test_unknown_blocks_are_reported_and_known_ones_are_not():
    kinds = [
        "thinking",
        "server_tool_use",
        "web_search_tool_result",
        "text",
        "tool_use",
        "server_tool_use",
        "container_upload",
    ]
    blocks = [
        {"type": kind, "text": "ok", "thinking": "hm", "signature": "s", "id": "i", "name": "n"} for kind in kinds
    ]
    response = answered("anthropic", {"type": "message", "content": blocks, "stop_reason": "end_turn"})
    assert response.unread == ("server_tool_use", "web_search_tool_result", "container_upload")
    assert (response.text, [each.name for each in response.tool_calls]) == ("ok", ["n"])
