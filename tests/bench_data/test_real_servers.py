"""Recorded responses of three inference servers, if they are available.

The data are not in the repository: ``BENCH_DATA`` names a directory next to ``fixtures/real-servers``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from helmdeck_core import CallFailed, ChatRequest, Message, Role, TextPart, ToolDefinition
from helmdeck_testing import make_deck
from helmdeck_testing.servers import Chunks, Ending, chat_server

BENCH = Path(os.environ.get("BENCH_DATA") or Path(__file__).parents[3] / "shared" / "bench")
DATA = BENCH.parent / "fixtures" / "real-servers"
ONCE = {"agent": {"continuation_max_attempts": 0}, "recovery": {"max_attempts": 1}}

CUT, END = "MaxTokens", "EndTurn"
ALWAYS = {
    "plain, cut at max_tokens": CUT,
    "stream": CUT,
    "stream with usage asked": CUT,
    "json cut at max_tokens": CUT,
    "tools, auto": CUT,
    "unknown field": CUT,
    "logprobs": CUT,
}
IN_THE_WINDOW = {
    "no max_tokens": CUT,
    "ends by itself (EOS biased)": "likely_timeout/empty_though_finished",
    "stop string": END,
    "json_object": END,
    "json_object + schema": END,
    "closed schema (enum)": END,
    "constrained, EOS forced: grammar wins": CUT,
    "constrained, one letter forced: never ends, runs to the context's end": CUT,
    "unknown model": CUT,
    "prompt over the context": "context_window_exceeded/",
}
EXPECTED = {
    "llama-cpp-python": {
        **ALWAYS,
        **IN_THE_WINDOW,
        "json_schema": "invalid_request/schema_refused",
        "invalid schema": END,  # silently dropped
        "tools, one forced": "ToolCall",
        "prompt over the context, stream": "likely_timeout/empty",  # HTTP 200, and nothing else
        "messages is a string": "invalid_request/",  # HTTP 500
        "n=2": CUT,
        "max_completion_tokens": CUT,
        "stream cut because a second request came in (interrupt_requests, on by default)": "provider_unavailable/cut_body",
    },
    "llama-server": {
        **ALWAYS,
        **IN_THE_WINDOW,
        "json_schema": END,
        "invalid schema": "invalid_request/schema_refused",
        "prompt over the context, stream": "context_window_exceeded/",
        "messages is a string": "invalid_request/",
        "n=2": "invalid_request/",
        "max_completion_tokens": CUT,
    },
    # Ignores most request fields and checks no limit.
    "transformers-serve": {
        **ALWAYS,
        "unknown field": "invalid_request/",  # HTTP 422
        "unknown model": "invalid_request/",
        "prompt over the context": CUT,
        "prompt over the context, stream": CUT,
        "json_schema": CUT,
        "n=2": CUT,
        "messages is a string": "provider_unavailable/",  # HTTP 500, three words of plain text
    },
}


def recorded(server, case):
    path = DATA / f"{server}.json"
    if not path.is_file():
        pytest.skip(f"no recordings at {path}; BENCH_DATA names a directory beside which fixtures/real-servers stands")
    cases = {each["case"]: each for each in json.loads(path.read_text(encoding="utf-8"))["cases"]}
    return cases[case]


def chat_request(body):
    tools = [each["function"] for each in body.get("tools", ())]
    return ChatRequest(
        model="llamacpp/tiny",
        messages=(Message(Role.USER, (TextPart("hi"),)),),
        max_tokens=body.get("max_tokens"),
        tools=tuple(ToolDefinition(each["name"], "", each["parameters"]) for each in tools),
    )


@pytest.mark.parametrize(
    ("server", "case", "expected"), [(name, *row) for name, rows in EXPECTED.items() for row in rows.items()]
)
def test_recorded_response_of_a_real_server_has_the_expected_outcome(server, case, expected):
    recording = recorded(server, case)
    body, answer = recording["request"], recording["response"]
    ending = Ending.WHOLE if answer["complete"] else Ending.CUT
    chunks = Chunks([answer["body"].encode()], ending, answer["status"], {"content-type": answer["content_type"]})
    with chat_server(lambda _: chunks) as replay:
        response = outcome(replay.base_url, body)
    if isinstance(response, CallFailed):
        assert f"{response.failure_class}/{response.sub_cause}" == expected
        return
    assert response.stop_reason.value == expected
    assert len(response.tool_calls) == (expected == "ToolCall")
    if not body.get("stream"):
        counts = json.loads(answer["body"])["usage"]
        counted = (response.usage.input_tokens, response.usage.output_tokens)
        assert counted == (counts["prompt_tokens"], counts["completion_tokens"])


def outcome(url, body):
    with make_deck(config={"providers": {"llamacpp": {"base_url": url}}, **ONCE}) as deck:
        request = chat_request(body)
        try:
            return [*deck.stream(request)][-1] if body.get("stream") else deck.complete(request)
        except CallFailed as exc:
            return exc
