"""The provider against a real server."""

import asyncio
import json

import pytest

import helmdeck_provider_cohere
from helmdeck_core import (
    AuthFailed,
    CallFailed,
    ChatRequest,
    Disposition,
    InvalidRequest,
    ListingProvider,
    Message,
    ProviderUnavailable,
    RateLimited,
    Role,
    StopReason,
    StreamingProvider,
    TextPart,
)
from helmdeck_provider_cohere.answer import REASONS
from helmdeck_provider_cohere.wire_format import WIRE_FORMAT
from helmdeck_testing import Chunks, Ending, make_deck, provider_settings

KEY = "kq7Zr0Wm4Xc9Tb2Ld8Gn5Vf1Hs6Jp3Ya"
ASK = ChatRequest(model="cohere/command-x", messages=(Message(Role.USER, (TextPart("hi"),)),))
ANSWER = {
    "id": "x",
    "message": {"role": "assistant", "content": [{"type": "text", "text": "High tide."}]},
    "finish_reason": "COMPLETE",
    "usage": {"tokens": {"input_tokens": 5, "output_tokens": 2}},
}


def event(kind, **delta):
    return f"event: {kind}\ndata: {json.dumps({'type': kind, 'index': 0, 'delta': delta})}\n\n".encode()


def text(piece):
    return event("content-delta", message={"content": {"text": piece}})


STREAM = [text("High "), text("tide."), event("message-end", finish_reason="COMPLETE"), b"data: [DONE]\n\n"]


class Context:
    def normalise_stop(self, raw, wire_format):
        assert wire_format == WIRE_FORMAT
        return REASONS.get((raw or "").casefold(), StopReason.UNKNOWN)

    def disposition_of(self, raw, reason, wire_format):
        return {StopReason.END_TURN: Disposition.FINAL}.get(reason, Disposition.RETRY)


def use(base_url, act, key=KEY, **settings):
    """Open a provider, let ``act`` use it, and close it."""

    async def run():
        provider_config = provider_settings("cohere", base_url=base_url, api_key=lambda: key, **settings)
        (spec,) = helmdeck_provider_cohere.helmdeck_providers()
        provider = spec.open(provider_config, Context())
        assert isinstance(provider, StreamingProvider)
        assert isinstance(provider, ListingProvider)
        try:
            return await act(provider)
        finally:
            await provider.aclose()

    return asyncio.run(run())


def complete(base_url, request=ASK, **settings):
    return use(base_url, lambda provider: provider.complete(request), **settings)


def stream(base_url, request=ASK, **settings):
    async def collect(provider):
        return [piece async for piece in provider.stream(request)]

    return use(base_url, collect, **settings)


def test_deck_gets_a_response_from_cohere(deck_with, chat_server, monkeypatch):
    monkeypatch.setenv("CO_API_KEY", KEY)
    server = chat_server(lambda body: ANSWER)
    deck = deck_with(
        helmdeck_provider_cohere,
        config={"providers": {"cohere": {"base_url": server.base_url, "api_key": "env:CO_API_KEY"}}},
    )
    response = deck.complete(ASK)
    assert (response.text, response.stop_reason, response.usage.input_tokens) == ("High tide.", StopReason.END_TURN, 5)
    assert response.disposition is Disposition.FINAL
    (request,) = server.requests
    assert (request.path, request.headers["authorization"]) == ("/v1/v2/chat", f"Bearer {KEY}")
    assert (request.body["model"], request.body["stream"]) == ("command-x", False)


def test_stream_yields_deltas_and_then_the_response(chat_server):
    headers = {"content-type": "text/event-stream", "x-api-warning": "old"}
    server = chat_server(lambda body: Chunks(STREAM, headers=headers))
    *deltas, response = stream(server.base_url)
    assert [delta.text for delta in deltas] == ["High ", "tide."]
    assert (response.text, response.stop_reason) == ("High tide.", StopReason.END_TURN)
    assert (response.disposition, dict(response.quota_metadata)) == (Disposition.FINAL, {"x-api-warning": "old"})
    assert server.requests[0].body["stream"] is True


def test_incomplete_stream_is_unknown_and_broken_stream_is_a_failure(chat_server):
    response = stream(chat_server(lambda body: Chunks(STREAM[:2])).base_url)[-1]
    assert (response.text, response.stop_reason) == ("High tide.", StopReason.UNKNOWN)
    with pytest.raises(ProviderUnavailable, match="closed the connection"):
        stream(chat_server(lambda body: Chunks(STREAM[:2], Ending.CUT)).base_url)


def test_error_instead_of_a_stream_is_classified_by_status(chat_server):
    server = chat_server(lambda body: (429, {"retry-after": "7"}, {"message": "slow down"}))
    with pytest.raises(RateLimited, match="slow down") as caught:
        stream(server.base_url)
    assert caught.value.retry_after_s == 7


def test_whole_response_to_a_streaming_request_is_read(chat_server):
    *deltas, response = stream(chat_server(lambda body: ANSWER).base_url)
    assert ([delta.text for delta in deltas], response.text) == (["High tide."], "High tide.")


def test_html_page_instead_of_a_stream_is_a_failure(chat_server):
    server = chat_server(lambda body: (200, {"content-type": "text/html"}, "<title>Log in</title>"))
    with pytest.raises(ProviderUnavailable, match="Log in"):
        stream(server.base_url)


def test_closed_stream_closes_its_connection(chat_server):
    def forever():
        while True:
            yield text("x")

    server = chat_server(lambda body: Chunks(forever()))

    async def leave(provider):
        pieces = provider.stream(ASK)
        assert (await anext(pieces)).text == "x"
        await pieces.aclose()

    use(server.base_url, leave)
    assert server.dropped.wait(60)


def test_models_are_listed_page_by_page(chat_server):
    pages = [
        {"models": [{"name": "a", "context_length": 100}], "next_page_token": "t/1"},
        {"models": [{"name": "b"}]},
    ]
    server = chat_server(lambda body: pages.pop(0))
    models = use(server.base_url, lambda provider: provider.models())
    assert [(model.id, model.input_tokens) for model in models] == [("a", 100), ("b", None)]
    first, second = (request.path for request in server.requests)
    assert first == "/v1/v1/models?endpoint=chat&page_size=1000"
    assert second.endswith("&page_token=t%2F1")
    assert {request.method for request in server.requests} == {"GET"}


def test_endless_model_list_is_truncated(chat_server):
    server = chat_server(lambda body: {"models": [{"name": "a"}], "next_page_token": "again"})
    assert len(use(server.base_url, lambda provider: provider.models())) == len(server.requests) == 20


def test_missing_key_and_unknown_option_are_named(deck_with, chat_server, monkeypatch):
    monkeypatch.delenv("CO_API_KEY", raising=False)
    server = chat_server(lambda body: ANSWER)
    provider_config = {"base_url": server.base_url, "api_key": "env:CO_API_KEY"}
    deck = deck_with(helmdeck_provider_cohere, config={"providers": {"cohere": provider_config}})
    with pytest.raises(AuthFailed, match="CO_API_KEY is not set"):
        deck.complete(ASK)
    with pytest.raises(InvalidRequest, match="options.colour"):
        complete(server.base_url, options={"colour": "red"})


def test_no_key_is_in_an_error(chat_server):
    answers = [
        (401, {}, {"message": f"incorrect key {KEY}"}),
        (500, {}, f"<title>{KEY}</title>"),
        {**ANSWER, "finish_reason": KEY},
        Chunks([text(KEY), event("message-end", error=f"key {KEY}")]),
        Chunks([text(KEY), b"data: {" + KEY.encode() + b"\n\n"]),
    ]
    server = chat_server(lambda body: answers.pop(0))
    told = []
    for call in (complete, stream, complete, stream, stream):
        try:
            told.append(repr(call(server.base_url)))
        except CallFailed as exc:
            told += [str(exc), repr(exc), json.dumps(exc.to_dict()), repr(exc.__cause__)]
    assert len(told) == 17
    assert KEY not in "\n".join(told)


def test_stop_reason_table_is_registered():
    with make_deck(helmdeck_provider_cohere) as deck:
        assert deck.runtime.normalise_stop("MAX_TOKENS", WIRE_FORMAT) is StopReason.MAX_TOKENS
        assert deck.runtime.normalise_stop("ERROR", WIRE_FORMAT) is StopReason.UNKNOWN
