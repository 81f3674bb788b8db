"""The failing server and its rejected requests."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest

from helmdeck_core import ToolCall
from helmdeck_testing import (
    MODES,
    OLLAMA,
    OPENAI_CHAT,
    OPENAI_RESPONSES,
    SERVER_FORMATS,
    ScriptedAnswer,
    failing_server,
)
from helmdeck_testing.servers import Recorded
from tests.case_support import each_case


def post(server, **body):
    data = json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(server.base_url, data), timeout=60) as answer:
        return json.loads(answer.read())


def test_mode_can_change_and_depend_on_the_request(failing_server):
    server = failing_server(OPENAI_CHAT, lambda request: request.body["model"])
    assert post(server, model="empty_stop")["choices"][0]["message"]["content"] == ""
    assert json.loads(post(server, model="good", ask="#7")["choices"][0]["message"]["content"]) == {"answer": "#7"}
    server.mode = "rate_limited"
    with pytest.raises(urllib.error.HTTPError) as caught:
        post(server, model="good")
    assert (caught.value.code, caught.value.headers["retry-after"]) == (429, "7")
    caught.value.close()
    assert server.served == ["empty_stop", "good", "rate_limited"]


def test_truncated_response_reports_the_output_limit_as_usage(failing_server):
    server = failing_server(OPENAI_CHAT, "cut_json_stop")
    assert post(server, max_tokens=33)["usage"]["completion_tokens"] == 33


@pytest.mark.parametrize(
    ("server_format", "mode", "message"),
    [(OPENAI_CHAT, "gone", "unknown mode 'gone'; modes: good, "), (OLLAMA, "empty_content_filter", "does not support")],
)
def test_unknown_or_unsupported_mode_fails_the_test(server_format, mode, message):
    with failing_server(server_format, mode) as server, pytest.raises(ValueError, match=message):
        server.respond(Recorded("POST", "/", {}, {}))


@each_case("server_format", SERVER_FORMATS.values(), ids=SERVER_FORMATS)
def test_events_without_stop_reason_are_a_prefix_of_complete_events(server_format):
    content = {"text": "a text of several chunks", "reasoning": "reasoning of several chunks"}
    started, whole = (
        server_format.events(ScriptedAnswer(stop=None, **content)),
        server_format.events(ScriptedAnswer(**content)),
    )
    ends = {line for line in whole if line not in started}
    assert ends
    assert [line for line in whole if line not in ends] == list(started)


def test_response_items_have_start_and_end_events_around_their_deltas():
    answer = ScriptedAnswer(text="a text of several chunks", reasoning="reasoning of several chunks")
    events = [json.loads(line.partition(b"data: ")[2]) for line in OPENAI_RESPONSES.events(answer)]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    for index, parts in enumerate(("reasoning_summary", "content")):
        kinds = [event["type"].removeprefix("response.") for event in events if event.get("output_index") == index]
        assert kinds[:2] == ["output_item.added", f"{parts}_part.added"]
        assert kinds[-2:] == [f"{parts}_part.done", "output_item.done"]
    assert [event["item"] for event in events if event["type"].endswith("item.done")] == events[-1]["response"][
        "output"
    ]


def test_every_failing_mode_has_a_cause():
    assert [name for name, mode in MODES.items() if mode.cause is None] == ["good", "cached", "tool_call"]


def test_a_responses_stream_with_text_and_calls_closes_each_item_with_its_own_content():
    answer = ScriptedAnswer(
        text="so", reasoning="hm", tool_calls=(ToolCall("c1", "look", "{}"), ToolCall("c2", "see", "{}"))
    )
    events = [json.loads(line.partition(b"data: ")[2]) for line in OPENAI_RESPONSES.events(answer)]
    closed = [event["item"]["type"] for event in events if event["type"] == "response.output_item.done"]
    opened = [event["item"]["type"] for event in events if event["type"] == "response.output_item.added"]
    assert closed == opened == ["reasoning", "message", "function_call", "function_call"]
