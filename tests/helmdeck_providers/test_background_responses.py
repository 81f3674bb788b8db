"""Background responses: polled until complete, and cancelled at the timeout."""

from __future__ import annotations

import asyncio
import contextlib
import threading

import pytest

from helmdeck_core import CallFailed, CallLimits, ChatRequest, LikelyTimeout, Message, Role, TextPart, TransientUnknown
from helmdeck_providers.http import background
from helmdeck_testing import ChatServer, Chunks, Fail, make_deck, scripted_provider
from tests.helmdeck_providers.openai_support import ask, events, opened, streamed
from tests.virtual_time_support import advance_running_loop

MESSAGE = {
    "type": "message",
    "id": "m",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "done at last"}],
}
REQUEST = ChatRequest(
    model="openai-responses/gpt-4o",
    messages=(Message(Role.USER, (TextPart("x"),)),),
    extra={"background": True},
)


def response(status, **more):
    output = [MESSAGE] if status == "completed" else []
    usage = {"input_tokens": 9, "output_tokens": 7}
    return {"object": "response", "id": "resp/1", "status": status, "output": output, "usage": usage, **more}


class Slow(ChatServer):
    """Answers a request with the first state, each look at it with the next one, the last one again and again."""

    def __init__(self, *states):
        self.states = list(states)
        self.polled = threading.Event()
        super().__init__(lambda body: {})

    def respond(self, request):
        if request.method == "GET":
            self.polled.set()
        if request.path.endswith("/cancel"):
            return response("cancelled")
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return response(state) if isinstance(state, str) else state

    def calls(self):
        return [(each.method, each.path.removeprefix("/v1/responses")) for each in self.requests]


@pytest.fixture
def slow(monkeypatch):
    monkeypatch.setattr(background, "CANCEL_TIMEOUT_S", 60.0)  # on a busy machine the request may take seconds
    with contextlib.ExitStack() as stack:

        def serve(*states):
            server = Slow(*states)
            stack.callback(server.close)
            return server

        yield serve


SETTINGS = {"preset": "openai-responses", "options": {"poll_ms": 1}}
POLL, CANCEL = ("GET", "/resp%2F1"), ("POST", "/resp%2F1/cancel")
BUSY = (503, {}, {"error": {"message": "busy"}})


def failing(server, **overrides):
    with pytest.raises(CallFailed) as caught:
        ask(server.base_url, REQUEST, **{**SETTINGS, **overrides})
    return caught.value


def test_background_response_is_polled_until_it_is_complete(slow):
    server = slow("queued", "in_progress", "completed")
    (found,) = ask(server.base_url, REQUEST, **SETTINGS)
    assert (found.text, found.raw_stop_reason, found.usage.output_tokens) == ("done at last", "completed", 7)
    assert server.calls() == [("POST", ""), POLL, POLL]
    assert "store" not in server.requests[0].body and server.requests[0].body["background"] is True


def test_streaming_request_gets_the_background_response_at_once(slow):
    server = slow("queued", "completed")
    (delta,), found = streamed(server.base_url, REQUEST, **SETTINGS)
    assert delta.text == found.text == "done at last"


def test_temporary_polling_failure_is_tolerated(slow):
    server = slow("queued", BUSY, BUSY, BUSY, "in_progress", BUSY, "completed")
    assert ask(server.base_url, REQUEST, **SETTINGS)[0].text == "done at last"


@pytest.mark.parametrize(
    ("states", "status"),
    [(["queued", BUSY], 503), (["queued", (404, {}, {"error": {"message": "no such response"}})], 404)],
)
def test_unreachable_background_response_is_cancelled(slow, states, status):
    server = slow(*states)
    assert failing(server).status == status
    assert server.calls()[-1] == CANCEL


def test_failed_background_response_is_a_failure(slow):
    failed = response("failed", error={"code": "server_error", "message": "out of luck"})
    assert "out of luck" in failing(slow("queued", failed)).detail


async def timed_out(server, call):
    """Await a call whose timeout expires after the first poll."""
    task = asyncio.ensure_future(call)
    assert await asyncio.to_thread(server.polled.wait, 60.0)
    await advance_running_loop(1_000.0)
    return await task


def test_background_response_is_cancelled_at_the_timeout(slow):
    server = slow("queued")

    async def run():
        provider = opened(server.base_url, timeout_s=500.0, **SETTINGS)
        try:
            with pytest.raises(CallFailed) as caught:
                await timed_out(server, provider.complete(REQUEST))
            return caught.value
        finally:
            await provider.aclose()

    failure = asyncio.run(run())
    assert isinstance(failure, LikelyTimeout) and failure.sub_cause == "pending"
    # A poll that the timeout interrupted may reach the server after the cancellation.
    assert CANCEL in server.calls()


def test_background_response_without_id_stays_pending(slow):
    failure = failing(slow(response("queued", id=None)))
    assert isinstance(failure, TransientUnknown) and failure.sub_cause == "pending"


def test_call_deadline_cancels_it_and_the_fallback_is_used(slow, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    server = slow("queued")
    providers = {
        "openai-responses": {"base_url": server.base_url, "api_key": "env:OPENAI_API_KEY", "options": {"poll_ms": 1}}
    }
    config = {"providers": providers, "fallback": {"openai-responses/": ["b/two"]}}

    async def run():
        async with make_deck(scripted_provider(["from another"], "b"), config=config) as deck:
            return await timed_out(server, deck.acomplete(REQUEST, limits=CallLimits(deadline_s=900.0)))

    assert asyncio.run(run()).text == "from another"
    # A request that was under way may reach the server after the cancellation.
    assert server.calls().count(CANCEL) == 1 and server.calls().count(("POST", "")) == 1


def test_cancelled_caller_leaves_no_background_response(slow, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    server = slow("queued")
    config = {
        "providers": {
            "openai-responses": {
                "base_url": server.base_url,
                "api_key": "env:OPENAI_API_KEY",
                "options": {"poll_ms": 1},
            }
        }
    }

    async def run():
        async with make_deck(config=config) as deck:
            task = asyncio.create_task(deck.acomplete(REQUEST))
            assert await asyncio.to_thread(server.polled.wait, 60.0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())
    assert server.calls()[-1] == CANCEL


def test_pending_response_without_id_is_not_retried():
    script = scripted_provider([Fail("transient_unknown", sub_cause="pending")], "a")
    with make_deck(script, scripted_provider(["hi"], "b"), config={"fallback": {"a/": ["b/two"]}}) as deck:
        assert deck.complete(ChatRequest(model="a/one", messages=REQUEST.messages)).text == "hi"


# -- streams -------------------------------------------------------------------------------------------------------


def begun(**more):
    created = {"type": "response.created", "response": {**response("queued"), **more}}
    piece = {"type": "response.output_text.delta", "output_index": 0, "item_id": "m", "delta": "done"}
    return events(created, piece, done=False)


def left(server, after=1):
    """Close a stream after some deltas."""

    async def run():
        provider = opened(server.base_url, **SETTINGS)
        pieces = provider.stream(REQUEST)
        for _ in range(after):
            await anext(pieces, None)
        await pieces.aclose()
        await provider.aclose()

    asyncio.run(run())


def test_closed_stream_cancels_the_background_response(slow):
    server = slow(Chunks([begun(background=True), b": still at it\n\n"]))
    left(server)
    assert server.calls() == [("POST", ""), CANCEL]


def test_finished_or_foreground_response_is_not_cancelled(slow):
    end = events({"type": "response.completed", "response": response("completed")}, done=False)
    for pieces, after in (([begun(background=True), end], 9), ([begun(), b": \n\n"], 1)):
        server = slow(Chunks(pieces))
        left(server, after)
        assert server.calls() == [("POST", "")]
