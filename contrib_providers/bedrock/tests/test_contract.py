"""The provider passes the provider contract."""

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


def _usage(answer: ScriptedAnswer) -> Mapping[str, Any]:
    """Cache reads are not part of the input tokens."""
    cached = answer.cached_input_tokens
    input_usage = {"inputTokens": answer.input_tokens - cached, "cacheReadInputTokens": cached}
    return {**input_usage, "outputTokens": answer.output_tokens}


def _whole(answer: ScriptedAnswer) -> Mapping[str, Any]:
    reasoning = {"reasoningContent": {"reasoningText": {"text": answer.reasoning}}}
    content = [reasoning] * bool(answer.reasoning) + [{"text": answer.text}] * bool(answer.text)
    content += [
        {"toolUse": {"toolUseId": call.id, "name": call.name, "input": json.loads(call.arguments)}}
        for call in answer.tool_calls
    ]
    reason = {} if answer.stop is None else {"stopReason": _WORDS[answer.stop]}
    return {"output": {"message": {"role": "assistant", "content": content}}, "usage": _usage(answer), **reason}


def _events(answer: ScriptedAnswer) -> Sequence[bytes]:
    deltas = [{"reasoningContent": {"text": piece}} for piece in answer.reasoning_pieces] + [
        {"text": p} for p in answer.pieces
    ]
    found = [encode("messageStart", {"role": "assistant"})]
    found += [encode("contentBlockDelta", {"contentBlockIndex": 0, "delta": delta}) for delta in deltas]
    for index, call in enumerate(answer.tool_calls, 1):
        place = {"contentBlockIndex": index}
        start = {"toolUse": {"toolUseId": call.id, "name": call.name}}
        found.append(encode("contentBlockStart", {**place, "start": start}))
        pieces = in_chunks(call.arguments)
        found += [encode("contentBlockDelta", {**place, "delta": {"toolUse": {"input": piece}}}) for piece in pieces]
        found.append(encode("contentBlockStop", place))
    if answer.stop is None:
        return found
    return [
        *found,
        encode("messageStop", {"stopReason": _WORDS[answer.stop]}),
        encode("metadata", {"usage": _usage(answer)}),
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
    def _without_aws_variables(self, monkeypatch):
        monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)
