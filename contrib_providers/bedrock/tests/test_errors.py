"""Bedrock errors with a status: their cause, and what of them is reported."""

import json

import pytest

from helmdeck_core import CallFailed, FailureClass
from helmdeck_provider_bedrock.faults import read_body


def refused(status, data, kind=None, secrets=()):
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    with pytest.raises(CallFailed) as caught:
        read_body(status, {"x-amzn-errortype": kind} if kind else {}, raw, secrets)
    return caught.value


@pytest.mark.parametrize(
    ("status", "kind", "message", "cause"),
    [
        (403, "AccessDeniedException", "no access to the model", FailureClass.AUTH_FAILED),
        (403, "UnrecognizedClientException:http://internal.example/", "invalid token", FailureClass.AUTH_FAILED),
        (403, "ExpiredTokenException", "expired", FailureClass.AUTH_FAILED),
        (429, "ThrottlingException", "Too many requests", FailureClass.RATE_LIMITED),
        (429, "ThrottlingException", "Too many tokens per day", FailureClass.QUOTA_EXHAUSTED),
        (429, "ModelNotReadyException", "warming up", FailureClass.PROVIDER_UNAVAILABLE),
        (408, "ModelTimeoutException", "slow", FailureClass.LIKELY_TIMEOUT),
        (424, "ModelErrorException", "broke", FailureClass.PROVIDER_UNAVAILABLE),
        (400, "ServiceQuotaExceededException", "none left", FailureClass.QUOTA_EXHAUSTED),
        (400, "ValidationException", "extraneous key", FailureClass.INVALID_REQUEST),
        (
            400,
            "ValidationException",
            "This model does not support assistant message prefill.",
            FailureClass.INVALID_REQUEST,
        ),
        (400, "ValidationException", "Input Tokens Exceeded: too many", FailureClass.CONTEXT_WINDOW_EXCEEDED),
        (400, "ValidationException", "prompt is too long: 9 tokens > 8", FailureClass.CONTEXT_WINDOW_EXCEEDED),
        (404, "ResourceNotFoundException", "no such model", FailureClass.INVALID_REQUEST),
        (500, "InternalServerException", "oh", FailureClass.PROVIDER_UNAVAILABLE),
        (503, None, "oh", FailureClass.PROVIDER_UNAVAILABLE),
    ],
)
def test_error_is_classified_by_name_status_and_message(status, kind, message, cause):
    failure = refused(status, {"message": message}, kind)
    assert (failure.failure_class, failure.status) == (cause, status)
    assert message in failure.detail


def test_error_fields_have_several_spellings():
    assert refused(400, {"Message": "spelled large"}).detail == "spelled large"
    old = refused(429, {"__type": "com.example#ModelNotReadyException", "message": "x"})
    assert old.failure_class is FailureClass.PROVIDER_UNAVAILABLE
    assert refused(502, b"<html><title>Bad gateway</title></html>").detail == "Bad gateway"
    assert refused(400, b"").failure_class is FailureClass.INVALID_REQUEST


def test_rate_limit_error_is_no_context_window_error():
    failure = refused(429, {"message": "the context window of your plan: too many tokens per minute"})
    assert failure.failure_class is FailureClass.RATE_LIMITED
