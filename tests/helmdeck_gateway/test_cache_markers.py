"""Cache markers of Messages: a provider of the same dialect gets each one, with its lifetime; what no block may have is reported."""

import contextlib

import pytest

from helmdeck_testing import ANTHROPIC
from tests.helmdeck_gateway.gateway_support import FormatServer, running_gateway, upstream

SHORT = {"type": "ephemeral"}
LONG = {"type": "ephemeral", "ttl": "1h"}
PIXEL = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
PAPER = {"type": "text", "media_type": "text/plain", "data": "a paper"}
CALL = {"type": "tool_use", "id": "c1", "name": "look", "input": {"q": 1}}
TOOL = {"name": "look", "description": "d", "input_schema": {"type": "object"}}


@pytest.fixture
def server():
    with contextlib.closing(FormatServer(ANTHROPIC)) as server:
        yield server


@pytest.fixture
def send(server):
    with running_gateway(config={"providers": {"up": upstream(server, "anthropic")}}) as gateway:
        yield lambda messages, **fields: gateway.send(
            "/v1/messages", {"model": "up/m", "max_tokens": 9, "messages": messages, **fields}
        )


@pytest.fixture
def create(send):
    """Send a request that succeeds; returns the header with what was dropped."""

    def create(messages, **fields):
        answer = send(messages, **fields)
        assert answer.status == 200, answer.body
        return answer.headers.get("x-helmdeck-dropped")

    return create


def result(**fields):
    return {"type": "tool_result", "tool_use_id": "c1", **fields}


def turns(*blocks, call=CALL):
    return [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": list(blocks)},
    ]


def markers(body):
    """The markers of a request by the type of their block."""
    blocks = [*body.get("tools", ()), *body.get("system", ())]
    blocks += [block for turn in body["messages"] for block in turn["content"] if isinstance(turn["content"], list)]
    return [(block.get("type", "tool"), block["cache_control"]) for block in blocks if "cache_control" in block]


@pytest.mark.parametrize("marker", [SHORT, LONG], ids=["5m", "1h"])
@pytest.mark.parametrize(
    "blocks",
    [
        [result(content="found")],
        [result(content=[{"type": "text", "text": "found"}, {"type": "image", "source": PIXEL}])],
        [result()],
        [result(content="found"), {"type": "text", "text": "and now"}],
        [result(content="found"), {"type": "image", "source": PIXEL}],
        [result(content="found"), {"type": "document", "source": PAPER, "title": "t"}],
    ],
    ids=["result", "result with an image", "empty result", "text", "image", "document"],
)
def test_marker_of_the_last_block_stays_at_it(server, create, blocks, marker):
    *before, last = blocks
    assert create(turns(*before, {**last, "cache_control": marker}), tools=[TOOL]) is None
    body = server.requests[-1].body
    assert markers(body) == [(last["type"], marker)]
    assert body["messages"][-1]["content"][-1]["cache_control"] == marker


def test_markers_of_tools_system_and_calls_are_sent(server, create):
    system = [{"type": "text", "text": "be brief", "cache_control": LONG}]
    messages = turns(result(content="found", cache_control=SHORT), call={**CALL, "cache_control": LONG})
    assert create(messages, system=system, tools=[TOOL, {**TOOL, "name": "b", "cache_control": LONG}]) is None
    body = server.requests[-1].body
    assert markers(body) == [("tool", LONG), ("text", LONG), ("tool_use", LONG), ("tool_result", SHORT)]
    assert "cache_control" not in body["tools"][0]


def test_marker_inside_of_a_result_stays_where_its_prefix_ends(server, create):
    content = [{"type": "text", "text": "a", "cache_control": LONG}, {"type": "text", "text": "b"}]
    create(turns(result(content=content)), tools=[TOOL])
    (block,) = server.requests[-1].body["messages"][-1]["content"]
    assert block["content"] == content


def test_marker_of_an_answer_with_its_original_blocks_is_sent(server, create):
    thinking = {"type": "thinking", "thinking": "hm", "signature": "foreign"}
    text = {"type": "text", "text": "I look", "cache_control": LONG}
    messages = turns(result(content="found"))
    messages[1]["content"] = [thinking, text, CALL]
    assert create(messages, tools=[TOOL]) is None
    assert server.requests[-1].body["messages"][1]["content"] == [thinking, text, CALL]


def test_fields_that_no_provider_gets_are_reported(server, create):
    thinking = {"type": "thinking", "thinking": "hm", "signature": "", "cache_control": SHORT}
    document = {"type": "document", "source": PAPER, "context": "c", "citations": {"enabled": True}}
    messages = turns(result(content="found"), document)
    messages[1]["content"] = [thinking, CALL]
    dropped = create(messages, tools=[TOOL])
    assert set(dropped.split(", ")) == {"thinking.cache_control", "document.context", "document.citations"}


@pytest.mark.parametrize("marker", ["ephemeral", {"type": "ephemeral", "ttl": 5}])
def test_marker_that_is_none_names_its_field(send, marker):
    answer = send([{"role": "user", "content": [{"type": "text", "text": "x", "cache_control": marker}]}])
    assert answer.status == 400
    assert answer.body["error"]["param"].startswith("messages[0].content[0].cache_control")
