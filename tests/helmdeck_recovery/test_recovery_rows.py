"""The recovery table, row by row, against servers that really fail: requests, models and attempts."""

from __future__ import annotations

import asyncio
import contextlib
import threading

import attrs
import pytest

from helmdeck_core import (
    CallFailed,
    CallLimits,
    ChatRequest,
    ChatResponse,
    Message,
    RateLimited,
    ResponseFormat,
    Role,
    TextPart,
)
from helmdeck_testing import MODES, OPENAI_CHAT, Chunks, FailingServer, ScriptedAnswer, make_deck
from helmdeck_testing.fault_server import RETRY_AFTER_S
from helmdeck_testing.scripted import CUT_JSON

PLAN = '{"steps": [{"tool": "blog.draft", "args": {"brief": "b"}}]}'
ASK = "draft a blog post"
WRITTEN = ChatRequest(model="vllm/m", messages=(Message(Role.USER, (TextPart("hello"),)),), max_tokens=256)
STRICT = {"tier": "B", "wants_strict_json": True}

FREE_OF_GRAMMAR = "no strict JSON, schema in the prompt"
ROOM, STEP = "output limit x2", "output limit x2, variant single_pick"

PLANS = {
    "empty_stop": [""],
    "empty_length": ["", ROOM, STEP],
    "empty_error": ["", "", FREE_OF_GRAMMAR],
    "cut_json_length": ["", ROOM, STEP],
    "cut_json_stop": ["", ROOM, STEP],
    "draft_in_reasoning": [""],
    "whitespace_loop": ["", FREE_OF_GRAMMAR],
    "error_in_200": ["", ""],
    "no_end": ["", FREE_OF_GRAMMAR],
    "cut_body": ["", ""],
    "rate_limited": [""],
    "unavailable": ["", ""],
    "slow_think": [""],
}
"""The requests to the failing model before the fallback answers, by mode; the wait of ``rate_limited`` exceeds the patience."""
LISTENED_TO = {**PLANS, "empty_error": ["", FREE_OF_GRAMMAR]}
"""The same for a reasoning model, to which an unchanged request is not sent again after an empty response."""
WRITTEN_ONES = {
    **{mode: [""] for mode in PLANS},
    "empty_error": ["", ""],
    "unavailable": ["", ""],
}
"""The same for a request that a caller wrote, of which nothing is changed."""
ANSWERS = ("cut_json_length", "cut_json_stop", "whitespace_loop")
"""What is an answer to a request that wants plain text: as it is, with its stop reason."""
INTERRUPTED = {"error_in_200": '{"answer": ', "cut_body": '{"answer": ', "no_end": CUT_JSON}
"""Modes that interrupt a stream after some text, and the text."""


@pytest.fixture
def servers():
    with contextlib.ExitStack() as stack:

        def serve(mode, **budget):
            """A deck whose first model fails, with the servers of both."""
            bad, good = FailingServer(OPENAI_CHAT, mode), FailingServer(OPENAI_CHAT, text=PLAN)
            stack.callback(bad.close)
            stack.callback(good.close)
            limits = {"timeout_s": 0.3} if mode == "slow_think" else {}
            config = {
                "providers": {"vllm": {"base_url": bad.base_url, **limits}, "lmstudio": {"base_url": good.base_url}},
                "fallback": {"vllm/": ["lmstudio/m"]},
                "recovery": {"deadline_s": 60.0, "backoff_s": 0.001},
                "budgets": {"vllm/": {**STRICT, **budget}},
            }
            return stack.enter_context(make_deck(config=config)), bad, good

        yield serve


def tried(attempts):
    return [", ".join(attempt.changed) for attempt in attempts if attempt.model == "vllm/m"]


def fingerprints(server):
    return [str(request.body) for request in server.requests]


@pytest.mark.parametrize("mode", PLANS)
@pytest.mark.parametrize("thinks", [False, True])
def test_plan_recovers_as_the_table_defines(servers, mode, thinks):
    deck, bad, good = servers(mode, is_hybrid_reasoning=thinks)
    plan = deck.plan(ASK, model="vllm/m")
    assert plan.model == "lmstudio/m" and len(good.requests) == 1
    assert tried(plan.attempts) == (LISTENED_TO if thinks else PLANS)[mode]
    assert {attempt.cause for attempt in plan.attempts[:-1]} == {MODES[mode].cause}
    # A model that only repeats its answer in a continuation receives no second one.
    assert len(bad.requests) == len(plan.attempts) - 1 + mode.startswith("cut_json")
    if mode in ("cut_json_length", "cut_json_stop", "no_end", "whitespace_loop", "empty_length"):
        sent = fingerprints(bad)
        assert len(set(sent)) == len(sent), "no request that was truncated or exhausted is sent twice"


@pytest.mark.parametrize("mode", [mode for mode in PLANS if mode not in ANSWERS and mode not in INTERRUPTED])
@pytest.mark.parametrize("streams", [False, True])
def test_fallback_gets_a_written_request_unchanged(servers, mode, streams):
    deck, bad, _ = servers(mode)
    *pieces, response = deck.stream(WRITTEN) if streams else [deck.complete(WRITTEN)]
    assert response.text == PLAN and tried(response.attempts) == WRITTEN_ONES[mode]
    assert len(set(fingerprints(bad))) == 1
    if streams:
        assert "".join(piece.text for piece in pieces) == PLAN, "of the failed one nothing was given on"


@pytest.mark.parametrize("mode", INTERRUPTED)
@pytest.mark.parametrize("streams", [False, True])
def test_interrupted_answer_is_continued_by_the_same_model_then_by_the_fallback(servers, mode, streams):
    deck, bad, good = servers(mode)
    *pieces, response = deck.stream(WRITTEN) if streams else [deck.complete(WRITTEN)]
    assert response.text == INTERRUPTED[mode] + PLAN and response.is_complete
    assert response.continuation.models == ("vllm/m", "lmstudio/m")
    assert response.continuation.parts == (len(INTERRUPTED[mode]), len(PLAN))
    assert (len(bad.requests), len(good.requests)) == (2, 1) and "".join(
        piece.text for piece in pieces
    ) in response.text
    if streams:
        assert "".join(piece.text for piece in pieces) == response.text


@pytest.mark.parametrize("mode", ANSWERS)
def test_truncated_plain_text_is_returned_and_not_marked_as_finished(servers, mode):
    deck, _, good = servers(mode)
    response = deck.complete(WRITTEN)
    assert response.stop_reason in ("MaxTokens", "Unknown") and good.requests == []


@pytest.mark.parametrize("streams", [False, True])
def test_refusal_is_an_error_without_fallback(servers, streams):
    deck, bad, good = servers("empty_content_filter")
    for ask in (lambda: deck.plan(ASK, model="vllm/m"), lambda: list(deck.stream(WRITTEN))):
        with pytest.raises(CallFailed) as caught:
            ask()
        assert caught.value.failure_class == "safety_filtered"
    assert len(bad.requests) == 2 and good.requests == []


def test_empty_answer_after_a_tool_result_is_valid(servers):
    deck, bad, good = servers("empty_stop")
    said = (*WRITTEN.messages, Message(Role.TOOL, (TextPart("sent"),), tool_call_id="c1"))
    for response in (
        deck.complete(attrs.evolve(WRITTEN, messages=said)),
        list(deck.stream(attrs.evolve(WRITTEN, messages=said)))[-1],
        deck.complete(WRITTEN, allows_empty=True),
    ):
        assert isinstance(response, ChatResponse) and response.text == ""
    assert len(bad.requests) == 3 and good.requests == []


def test_retry_after_beyond_the_deadline_is_an_immediate_error(servers):
    deck, _, good = servers("rate_limited")
    good.mode = "rate_limited"
    with pytest.raises(RateLimited, match="longer than what is left of the deadline") as caught:
        deck.complete(WRITTEN, limits=CallLimits(deadline_s=RETRY_AFTER_S - 0.5))
    assert [attempt.waited_s for attempt in caught.value.attempts] == [0.0, 0.0]


def test_concurrent_calls_share_the_circuit_breaker(servers):
    deck, bad, good = servers("unavailable")

    async def run():
        async with deck:
            return await asyncio.gather(*(deck.acomplete(WRITTEN) for _ in range(24)))

    assert all(response.text == PLAN for response in asyncio.run(run()))
    assert len(good.requests) == 24
    # The first two may retry; the third opens the circuit.
    assert len(bad.requests) <= 24 + 2


def test_endless_whitespace_is_cancelled_and_the_connection_closed(chat_server):
    is_over = threading.Event()

    def whitespace(_):
        yield from OPENAI_CHAT.events(ScriptedAnswer(text='{"steps": ', stop=None))
        piece = OPENAI_CHAT.events(ScriptedAnswer(text="\n" * 40, stop=None))[-1]
        while not is_over.is_set():
            yield piece

    server = chat_server(lambda body: Chunks(whitespace(body)))
    request = attrs.evolve(WRITTEN, response_format=ResponseFormat("json_object"))
    try:
        config = {"providers": {"vllm": {"base_url": server.base_url}}}
        with make_deck(config=config) as deck, pytest.raises(CallFailed) as caught:
            list(deck.stream(request))
        assert caught.value.sub_cause == "whitespace_loop"
        assert server.dropped.wait(60)
    finally:
        is_over.set()
