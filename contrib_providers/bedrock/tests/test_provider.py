"""The provider against a real server: credentials, URLs, streams and redaction."""

import asyncio
import json

import pytest

import helmdeck_provider_bedrock
from helmdeck_core import (
    AuthFailed,
    CallFailed,
    ChatRequest,
    ChatResponse,
    ConfigError,
    Disposition,
    InvalidRequest,
    LikelyTimeout,
    ListingProvider,
    Message,
    ProviderUnavailable,
    Role,
    StopReason,
    StreamingProvider,
    TextPart,
    TransientUnknown,
)
from helmdeck_provider_bedrock.answer import REASONS
from helmdeck_provider_bedrock.provider import WIRE_FORMAT, open_bedrock
from helmdeck_testing import Chunks, Ending, make_deck, provider_settings

MODEL = "bedrock/eu.anthropic.claude-x-v1:0"
ASK = ChatRequest(model=MODEL, messages=(Message(Role.USER, (TextPart("hi"),)),))
STREAM = {"content-type": "application/vnd.amazon.eventstream"}
ANSWER = {
    "output": {"message": {"role": "assistant", "content": [{"text": "High tide."}]}},
    "stopReason": "end_turn",
    "usage": {"inputTokens": 5, "outputTokens": 2, "totalTokens": 7},
}


class Context:
    def normalise_stop(self, raw, wire_format):
        assert wire_format == WIRE_FORMAT
        return REASONS.get((raw or "").casefold(), StopReason.UNKNOWN)

    def disposition_of(self, raw, reason, wire_format):
        return {StopReason.END_TURN: Disposition.FINAL}.get(reason, Disposition.RETRY)


def opened(base_url, api_key=None, options=None, **settings):
    bedrock_options = {"region": "eu-north-1", **(options or {})}
    return open_bedrock(
        provider_settings("bedrock", base_url=base_url, api_key=api_key, options=bedrock_options, **settings), Context()
    )


def complete(base_url, request=ASK, **settings):
    async def run():
        provider = opened(base_url, **settings)
        try:
            return await provider.complete(request)
        finally:
            await provider.aclose()

    return asyncio.run(run())


def stream(base_url, request=ASK, **settings):
    async def run():
        provider = opened(base_url, **settings)
        assert isinstance(provider, StreamingProvider)
        try:
            return [piece async for piece in provider.stream(request)]
        finally:
            await provider.aclose()

    return asyncio.run(run())


# -- a call ---------------------------------------------------------------------------------------------------


def test_deck_gets_a_response_from_bedrock(deck_at, chat_server):
    server = chat_server(lambda body: ANSWER)
    response = deck_at(server.base_url).complete(ASK)
    assert (response.text, response.stop_reason, response.usage.input_tokens) == ("High tide.", StopReason.END_TURN, 5)
    assert response.disposition is Disposition.FINAL
    (request,) = server.requests
    assert request.path == "/v1/model/eu.anthropic.claude-x-v1%3A0/converse"
    assert request.body == {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}


def test_request_is_signed_for_its_region_with_all_credentials(chat_server, keys):
    server = chat_server(lambda body: ANSWER)
    complete(server.base_url)
    headers = server.requests[0].headers
    scope = f"AWS4-HMAC-SHA256 Credential={keys['AWS_ACCESS_KEY_ID']}/{headers['x-amz-date'][:8]}/eu-north-1/bedrock/aws4_request"
    assert headers["authorization"].startswith(scope)
    assert "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token," in headers["authorization"]
    assert headers["x-amz-security-token"] == keys["AWS_SESSION_TOKEN"]


def test_host_of_the_base_url_is_sent_as_it_is(chat_server, keys):
    server = chat_server(lambda body: ANSWER)
    base_url = server.base_url.replace("127.0.0.1", "LOCALHOST")
    complete(base_url)
    assert server.requests[0].headers["host"] == base_url.split("/")[2]


def test_api_key_takes_precedence_over_signing(chat_server, keys, monkeypatch, deck_at):
    server = chat_server(lambda body: ANSWER)
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-1234")
    deck_at(server.base_url).complete(ASK)
    assert server.requests[0].headers["authorization"] == "Bearer bedrock-api-key-1234"
    assert "x-amz-date" not in server.requests[0].headers


def test_configured_api_key_that_cannot_be_read_is_not_replaced_by_account_keys(
    chat_server, keys, monkeypatch, deck_at
):
    server = chat_server(lambda body: ANSWER)
    monkeypatch.delenv("TEAM_BEDROCK_KEY", raising=False)
    with pytest.raises(AuthFailed, match="the variable TEAM_BEDROCK_KEY is not set"):
        deck_at(server.base_url, api_key="env:TEAM_BEDROCK_KEY").complete(ASK)
    assert server.requests == []


def test_credentials_can_be_references_in_the_options(chat_server, keys, monkeypatch, tmp_path):
    server = chat_server(lambda body: ANSWER)
    (tmp_path / "secret").write_text("of a file\n")
    monkeypatch.setenv("OTHER_ID", "AKIAOTHER")
    monkeypatch.delenv("AWS_SESSION_TOKEN")
    places = {"access_key_id": "env:OTHER_ID", "secret_access_key": f"file:{tmp_path / 'secret'}"}
    complete(server.base_url, options=places)
    assert "Credential=AKIAOTHER/" in server.requests[0].headers["authorization"]


@pytest.mark.parametrize("missing", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
def test_missing_credentials_error_names_the_reference(chat_server, keys, monkeypatch, missing):
    monkeypatch.delenv(missing)
    with pytest.raises(AuthFailed, match=f"env:{missing} is empty, and there is no API key"):
        complete(chat_server(lambda body: ANSWER).base_url)


def test_key_that_is_invalid_in_a_header_is_not_shown(chat_server, keys, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIA\nQ7ZR")
    with pytest.raises(AuthFailed, match="options.access_key_id") as caught:
        complete(chat_server(lambda body: ANSWER).base_url)
    assert "Q7ZR" not in str(caught.value)


# -- addresses and options ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("region", "url"),
    [
        ("eu-north-1", "https://bedrock-runtime.eu-north-1.amazonaws.com"),
        ("us-gov-west-1", "https://bedrock-runtime.us-gov-west-1.amazonaws.com"),
        ("cn-north-1", "https://bedrock-runtime.cn-north-1.amazonaws.com.cn"),
        ("eusc-de-east-1", "https://bedrock-runtime.eusc-de-east-1.amazonaws.eu"),
        ("us-isob-east-1", "https://bedrock-runtime.us-isob-east-1.sc2s.sgov.gov"),
    ],
)
def test_base_url_depends_on_the_region(region, url):
    provider = open_bedrock(provider_settings("bedrock", options={"region": region}), Context())
    assert provider.url == url


def test_default_region_comes_from_the_environment(keys, monkeypatch):
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    assert "eu-west-1" in open_bedrock(provider_settings("bedrock"), Context()).url
    monkeypatch.setenv("AWS_REGION", "eu-west-3")
    assert "eu-west-3" in open_bedrock(provider_settings("bedrock"), Context()).url


def test_missing_region_is_a_configuration_error(deck_with, keys):
    with pytest.raises(ConfigError, match=r"providers.bedrock.options.region: missing"):
        deck_with(helmdeck_provider_bedrock).complete(ASK)


def test_all_option_mistakes_are_reported_without_secrets():
    options = {
        "regoin": "x",
        "secret_access_key": "gN5Vf1Hs6Jp3Ya",
        "json_schema": 1,
        "cache_point_models": "x",
        "region": 5,
    }
    with pytest.raises(ConfigError) as caught:
        opened("http://127.0.0.1:9", options=options)
    assert len(caught.value.mistakes) == 5
    assert "gN5V" not in str(caught.value)


def test_invalid_base_url_is_rejected(keys):
    with pytest.raises(InvalidRequest, match="base_url"):
        opened("bedrock-runtime.example")


# -- streams --------------------------------------------------------------------------------------------------


def test_stream_yields_deltas_and_then_the_response(chat_server, keys, text_frames):
    frames = text_frames("High ", "tide.", usage={"inputTokens": 5, "outputTokens": 2, "cacheReadInputTokens": 3})
    data = b"".join(frames)
    pieces = [data[start : start + 7] for start in range(0, len(data), 7)]
    server = chat_server(lambda body: Chunks(pieces, headers=STREAM))
    *deltas, response = stream(server.base_url)
    assert [delta.text for delta in deltas] == ["High ", "tide."]
    assert isinstance(response, ChatResponse)
    assert (response.text, response.stop_reason, response.usage.input_tokens) == ("High tide.", StopReason.END_TURN, 8)
    assert server.requests[0].path.endswith("/converse-stream")
    assert server.requests[0].headers["accept"] == STREAM["content-type"]


def test_deltas_arrive_before_the_response_is_complete(chat_server, keys, text_frames):
    import threading

    seen = threading.Event()
    first, *rest = text_frames("High ", "tide.")[1:]

    def slowly():
        yield first
        assert seen.wait(60)
        yield b"".join(rest)

    async def run(base_url):
        provider = opened(base_url)
        found = []
        async for piece in provider.stream(ASK):
            found.append(piece)
            seen.set()
        await provider.aclose()
        return found

    found = asyncio.run(run(chat_server(lambda body: Chunks(slowly(), headers=STREAM)).base_url))
    assert [delta.text for delta in found[:-1]] == ["High ", "tide."]


def test_stream_without_stop_event_is_unknown(chat_server, keys, text_frames):
    server = chat_server(lambda body: Chunks(text_frames("High ", "tide.")[:3], headers=STREAM))
    response = stream(server.base_url)[-1]
    assert (response.text, response.stop_reason, response.disposition) == (
        "High tide.",
        StopReason.UNKNOWN,
        Disposition.RETRY,
    )


def test_broken_connection_is_a_failure(chat_server, keys, text_frames):
    server = chat_server(lambda body: Chunks(text_frames("High ", "tide.")[:3], Ending.CUT, headers=STREAM))
    with pytest.raises(ProviderUnavailable, match="closed the connection"):
        stream(server.base_url)


def test_damaged_stream_is_a_failure_and_not_text(chat_server, keys, text_frames):
    frames = text_frames("High ", "tide.")
    damaged = frames[2].replace(b"tide", b"ebb.")
    server = chat_server(lambda body: Chunks([frames[0], frames[1], damaged], headers=STREAM))
    with pytest.raises(ProviderUnavailable, match="checksum of a frame is wrong") as caught:
        stream(server.base_url)
    assert caught.value.excerpt == "High"


def test_oversized_frame_is_rejected_before_the_timeout(chat_server, keys):
    import struct
    from zlib import crc32

    prelude = struct.pack(">II", 2**31, 0)
    server = chat_server(lambda body: Chunks([prelude + struct.pack(">I", crc32(prelude))], headers=STREAM))
    with pytest.raises(ProviderUnavailable, match="the limit is"):
        stream(server.base_url)


def test_endless_stream_fails_at_max_response_bytes(chat_server, keys, text_frames):
    def forever():
        while True:
            yield text_frames("x")[1]

    server = chat_server(lambda body: Chunks(forever(), headers=STREAM))
    with pytest.raises(TransientUnknown, match="too large"):
        stream(server.base_url, max_response_bytes=20_000)
    assert server.dropped.wait(60)


def test_stalled_stream_fails_at_the_timeout(chat_server, keys, text_frames):
    import threading

    over = threading.Event()

    def still():
        yield text_frames("x")[1]
        over.wait(60)

    server = chat_server(lambda body: Chunks(still(), headers=STREAM))
    with pytest.raises(LikelyTimeout):
        stream(server.base_url, timeout_s=0.2)
    over.set()


def test_error_instead_of_a_stream_is_classified_by_name(chat_server, keys):
    headers = {"x-amzn-errortype": "ThrottlingException", "retry-after": "7"}
    server = chat_server(lambda body: (429, headers, {"message": "Too many requests"}))
    with pytest.raises(CallFailed) as caught:
        stream(server.base_url)
    assert (caught.value.failure_class.value, caught.value.retry_after_s) == ("rate_limited", 7)


def test_whole_response_to_a_streaming_request_is_read(chat_server, keys):
    *deltas, response = stream(chat_server(lambda body: ANSWER).base_url)
    assert ([delta.text for delta in deltas], response.text) == (["High tide."], "High tide.")


def test_closed_stream_closes_its_connection(chat_server, keys, text_frames):
    def forever():
        while True:
            yield text_frames("x")[1]

    server = chat_server(lambda body: Chunks(forever(), headers=STREAM))

    async def run():
        provider = opened(server.base_url)
        pieces = provider.stream(ASK)
        assert (await anext(pieces)).text == "x"
        await pieces.aclose()
        await provider.aclose()

    asyncio.run(run())
    assert server.dropped.wait(60)


# -- models ---------------------------------------------------------------------------------------------------

LISTS = [
    {"modelSummaries": [{"modelId": "vendor.small", "outputModalities": ["TEXT"]}, {}, 3]},
    {"inferenceProfileSummaries": [{"inferenceProfileId": "eu.vendor.large"}], "nextToken": "t/1="},
    {"inferenceProfileSummaries": [{"inferenceProfileId": "us.vendor.large"}]},
]


def test_models_and_inference_profiles_are_listed_page_by_page(chat_server, keys):
    pages = list(LISTS)
    server = chat_server(lambda body: pages.pop(0))

    async def run():
        provider = opened(server.base_url)
        assert isinstance(provider, ListingProvider)
        try:
            return await provider.models()
        finally:
            await provider.aclose()

    assert [model.id for model in asyncio.run(run())] == ["vendor.small", "eu.vendor.large", "us.vendor.large"]
    assert [(request.method, request.path) for request in server.requests] == [
        ("GET", "/v1/foundation-models?byInferenceType=ON_DEMAND&byOutputModality=TEXT"),
        ("GET", "/v1/inference-profiles?maxResults=1000"),
        ("GET", "/v1/inference-profiles?maxResults=1000&nextToken=t%2F1%3D"),
    ]
    for request in server.requests:
        assert request.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=")


def test_model_lists_have_their_own_base_url(keys):
    provider = open_bedrock(provider_settings("bedrock", options={"region": "eu-north-1"}), Context())
    assert provider.lists_url == "https://bedrock.eu-north-1.amazonaws.com"


# -- secrets --------------------------------------------------------------------------------------------------


def test_no_key_is_in_an_error_repr_or_log_line(chat_server, keys, text_frames, frame, caplog):
    caplog.set_level("INFO")
    everything = " ".join(keys.values())
    answers = [
        (403, {"x-amzn-errortype": everything}, {"message": everything}),
        (500, {}, everything),
        (200, {}, everything),
        (302, {"location": f"http://x/{everything}"}, ""),
        {**ANSWER, "stopReason": everything, "trace": {"promptRouter": {"invokedModelId": everything}}},
        Chunks(
            [*text_frames(everything)[:2], frame(everything, {"message": everything}, kind="exception")], headers=STREAM
        ),
        Chunks([*text_frames(everything)[:2], frame("contentBlockDelta", everything.encode())], headers=STREAM),
    ]
    server = chat_server(lambda body: answers.pop(0))
    told = []
    for call in (complete, stream, complete, stream, complete, stream, stream):
        try:
            found = call(server.base_url)
            told.append(f"{found.raw_stop_reason} {found.served_model}")
        except CallFailed as exc:
            told += [str(exc), repr(exc), json.dumps(exc.to_dict()), repr(exc.__cause__)]
    provider = opened(server.base_url)
    told += [repr(provider), repr(vars(provider)), caplog.text]
    asyncio.run(provider.aclose())
    assert len(told) > 25
    for key in keys.values():
        assert key not in "\n".join(told)


def test_start_up_imports_only_the_plugin_module():
    import subprocess
    import sys
    from pathlib import Path

    source = Path(helmdeck_provider_bedrock.__file__).parents[1]
    code = "import sys, helmdeck_provider_bedrock as b; b.helmdeck_providers(); b.helmdeck_stop_reasons(); sys.exit('httpx2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": f"{source}:{Path.cwd()}"}, check=False)
    assert done.returncode == 0


def test_stop_reason_table_is_registered():
    with make_deck(helmdeck_provider_bedrock) as deck:
        assert deck.runtime.normalise_stop("max_tokens", WIRE_FORMAT) is StopReason.MAX_TOKENS
        assert deck.runtime.normalise_stop("malformed_tool_use", WIRE_FORMAT) is StopReason.UNKNOWN
