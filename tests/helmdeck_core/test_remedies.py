"""Remedies are true: for every way in which a server fails, headline, hint and next action fit what the server did."""

from __future__ import annotations

import contextlib

import pytest

from helmdeck_core import CallFailed, ChatRequest, Message, Role, TextPart, ToolDefinition
from helmdeck_testing import MODES, OPENAI_CHAT, FailingServer, make_deck

LIMIT = 3_000
SEARCH = ToolDefinition("search", "Search.", {"type": "object", "properties": {"q": {"type": "string"}}})
SEEN = {
    "empty_stop": "ended its turn within a second and wrote nothing",
    "empty_content_filter": "safety filter withheld",
    "empty_length": "output limit was reached without any visible text",
    "empty_error": "is empty, with the stop reason 'error'",
    "cut_json_length": "output limit was reached before the answer was complete",
    "cut_json_stop": "output limit was reached before the answer was complete",
    "draft_in_reasoning": "ended its turn after reasoning, without an answer",
    "whitespace_loop": "repeated itself",
    "tool_call_at_limit": "truncated in or after a tool call",
    "error_in_200": "HTTP 200 and then an error",
    "no_end": "at the output limit, although the stop reason does not report it",
    "cut_body": "connection was closed in the middle",
    "rate_limited": "rate limit was exceeded",
    "unavailable": "unreachable or failing",
    "unauthorized": "the request had no API key",
    "bad_request": "rejected the request as invalid",
    "redirect": "not that of the model server",
    "html_page": "a proxy or login page answered instead",
    "alien_json": "JSON but contains no answer",
    "slow_think": "request timeout was exceeded",
}
"""What the hint says about each mode."""
NEVER = {
    "empty_stop": ["too large for it is the usual reason", "output_tokens"],
    "empty_error": ["no stop reason"],
    "draft_in_reasoning": ["reasoning_headroom_tokens", "output_tokens"],
    "tool_call_at_limit": ["hidden reasoning", "of at most"],
    "unauthorized": ["refers to"],
    "cut_body": ["output_tokens"],
    "redirect": ["retry"],
}
"""Advice that the facts of a mode contradict."""


def failure_of(mode, *, plans=True, environ=None, **provider):
    with contextlib.closing(FailingServer(OPENAI_CHAT, mode)) as server:
        config = {
            "providers": {
                "vllm": {"base_url": server.base_url, "timeout_s": 0.5 if mode == "slow_think" else 60, **provider}
            },
            "recovery": {"max_attempts": 1},
            "agent": {"continuation_max_attempts": 0},
        }
        message = Message(Role.USER, (TextPart("hello"),))
        request = ChatRequest(model="vllm/m", messages=(message,), max_tokens=LIMIT, tools=(SEARCH,))
        with make_deck(config=config, environ=environ) as deck, pytest.raises(CallFailed) as caught:
            deck.plan("draft a blog post", model="vllm/m") if plans else deck.complete(request)
    return caught.value


@pytest.fixture(scope="module", autouse=True)
def transport_is_imported():
    """The first request of a process imports the transport, which would count as time of the server."""
    failure_of("unavailable")


def test_every_failing_mode_is_covered():
    assert set(SEEN) == {name for name, mode in MODES.items() if mode.cause is not None}


@pytest.mark.parametrize("mode", SEEN)
def test_hint_reports_what_the_server_did(mode):
    failure = failure_of(mode, plans=mode != "tool_call_at_limit")
    assert SEEN[mode] in failure.hint
    for words in NEVER.get(mode, ()):
        assert words not in str(failure), words


def test_rejected_key_is_named_and_a_missing_one_is_not(monkeypatch):
    monkeypatch.setenv("VLLM_KEY", "kq7Zr0Wm4Xc9Tb2L")
    failure = failure_of("unauthorized", api_key="env:VLLM_KEY")
    assert failure.hint == "the provider rejected the credentials"
    assert "providers.vllm.api_key refers to" in failure.next_action
    assert failure_of("unauthorized").next_action.startswith("set providers.vllm.api_key")


def test_limit_of_the_server_is_not_blamed_on_the_budget(chat_server):
    def answer(_):
        choice = {"message": {"content": '{"steps": [{"tool": "blog'}, "finish_reason": "length", "index": 0}
        return {"choices": [choice], "usage": {"completion_tokens": 17, "prompt_tokens": 9}}

    server = chat_server(answer)
    once = {"recovery": {"max_attempts": 1}, "agent": {"continuation_max_attempts": 0}}
    config = {
        **once,
        "providers": {"vllm": {"base_url": server.base_url}},
        "budgets": {"vllm/": {"output_tokens": LIMIT}},
    }
    with make_deck(config=config) as deck, pytest.raises(CallFailed) as caught:
        deck.plan("draft a blog post", model="vllm/m")
    assert f"stopped at 17 of {LIMIT:,} requested tokens" in caught.value.hint
    assert "raise the output limit or context size of the server" in caught.value.next_action


def test_task_that_a_model_does_not_serve_advises_another_model():
    with make_deck() as deck, pytest.raises(CallFailed, match="serves only some tasks") as caught:
        deck.ask("hello", model="local/lexical")
    assert "--model" in caught.value.next_action
