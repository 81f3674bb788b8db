"""The provider keeps the contract of providers."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import helmdeck_provider_bedrock
from contrib_providers.bedrock.tests.conftest import encode
from helmdeck_testing import ProviderContract, ScriptedAnswer, ServerFormat, in_chunks

_WORDS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "content_filter": "content_filtered",
    "error": "malformed_model_output",
    "tool_calls": "tool_use",
}

_ERRORS = {
    400: "ValidationException",
    401: "UnrecognizedClientException",
    429: "ThrottlingException",
    503: "ServiceUnavailableException",
}


def _usage(said: ScriptedAnswer) -> Mapping[str, Any]:
    """Input that was read from the cache is not counted as input."""
    cached = said.cached_input_tokens
    given = {"inputTokens": said.input_tokens - cached, "cacheReadInputTokens": cached}
    return {**given, "outputTokens": said.output_tokens}


def _whole(said: ScriptedAnswer) -> Mapping[str, Any]:
    thought = {"reasoningContent": {"reasoningText": {"text": said.reasoning}}}
    content = [thought] * bool(said.reasoning) + [{"text": said.text}] * bool(said.text)
    content += [
        {"toolUse": {"toolUseId": call.id, "name": call.name, "input": json.loads(call.arguments)}}
        for call in said.tool_calls
    ]
    reason = {} if said.stop is None else {"stopReason": _WORDS[said.stop]}
    return {"output": {"message": {"role": "assistant", "content": content}}, "usage": _usage(said), **reason}


def _events(said: ScriptedAnswer) -> Sequence[bytes]:
    deltas = [{"reasoningContent": {"text": piece}} for piece in said.thoughts] + [{"text": p} for p in said.pieces]
    found = [encode("messageStart", {"role": "assistant"})]
    found += [encode("contentBlockDelta", {"contentBlockIndex": 0, "delta": delta}) for delta in deltas]
    for index, call in enumerate(said.tool_calls, 1):
        place = {"contentBlockIndex": index}
        start = {"toolUse": {"toolUseId": call.id, "name": call.name}}
        found.append(encode("contentBlockStart", {**place, "start": start}))
        pieces = in_chunks(call.arguments)
        found += [encode("contentBlockDelta", {**place, "delta": {"toolUse": {"input": piece}}}) for piece in pieces]
        found.append(encode("contentBlockStop", place))
    if said.stop is None:
        return found
    return [
        *found,
        encode("messageStop", {"stopReason": _WORDS[said.stop]}),
        encode("metadata", {"usage": _usage(said)}),
    ]


CONVERSE = ServerFormat(
    name="bedrock-converse",
    whole=_whole,
    events=_events,
    limit=lambda body: body.get("inferenceConfig", {}).get("maxTokens"),
    error=lambda status, message: {"__type": _ERRORS.get(status, "InternalServerException"), "message": message},
    error_event=lambda message: encode("internalServerException", {"message": message}, "exception"),
    wants_stream=lambda request: request.path.endswith("/converse-stream"),
    content_type="application/vnd.amazon.eventstream",
    headers={"x-amzn-requestid": "req-loopback-1"},
)


class TestBedrock(ProviderContract):
    plugin = helmdeck_provider_bedrock
    name = "bedrock"
    server_format = CONVERSE
    settings = {"options": {"region": "eu-north-1"}}
    environ = {
        "AWS_ACCESS_KEY_ID": "AKIAQ7ZR0WM4XC9TB2LD",
        "AWS_SECRET_ACCESS_KEY": ProviderContract.SECRET,
        "AWS_SESSION_TOKEN": "FwoGZXIvYXdzEJ3Ya1Hs6uT8eKd2Lw9Xc4Bm7Qr0",
    }

    @pytest.fixture(autouse=True)
    def _nothing_else_of_aws(self, monkeypatch):
        monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)
