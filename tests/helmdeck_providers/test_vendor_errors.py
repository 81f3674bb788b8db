"""What the errors of each vendor mean, in the forms that their documentation gives: each cause, whatever the status says."""

from __future__ import annotations

import json

import pytest

from helmdeck_core import (
    AuthFailed,
    CallFailed,
    ConstrainedDeadlock,
    ContextWindowExceeded,
    InvalidRequest,
    LikelyTimeout,
    ProviderUnavailable,
    QuotaExhausted,
    RateLimited,
    SafetyFiltered,
)
from helmdeck_providers.wire_formats.openai_chat.response import ChatAnswer
from tests.case_support import each_case
from tests.helmdeck_providers.openai_support import events, parse_response, read_stream, terms


def failure(status, body):
    with pytest.raises(CallFailed) as caught:
        parse_response(status, {}, json.dumps(body).encode(), secrets=("kq7Zr0Wm4Xc9Tb2L",))
    return caught.value


def error(message="", **fields):
    return {"error": {"message": message, **fields}}


def of_status(status, message, code):
    return {"error": {"code": status, "message": message, "status": code}}


INVALID = "2 validation errors:\n  {{'type': 'x', 'loc': ('body', {}), 'msg': 'no'}}"
"""llama.cpp's Python server writes down what it did not expect, and calls it an error of its own."""

NO_CALL = "The model produced output that does not match the expected peg-native format"
"""llama.cpp's server in C++, of a tool call that the model began and did not end."""

SPENT = [
    (403, error("Key limit exceeded (total limit). Manage it in your settings", code=403)),
    (402, error("This request requires more credits", code=402, metadata={"error_type": "payment_required"})),
    (400, error("Your credit balance is too low to use this", type="invalid_request_error")),
    (400, error("You have reached your specified API usage limits", type="invalid_request_error")),
    (429, of_status(429, "Your prepayment credits are depleted", "RESOURCE_EXHAUSTED")),
    (429, of_status(429, "Your project has exceeded its monthly spending cap", "RESOURCE_EXHAUSTED")),
    (429, {"code": "exhausted", "error": "Your team has used all available credits or reached its spending limit"}),
    (403, {"code": "no permission", "error": "Your newly created team doesn't have any credits or licenses yet"}),
    (402, {"error": "You have exceeded your monthly included credits for Inference Providers"}),
    (412, error("Account x is suspended, possibly due to reaching the monthly spending limit")),
    (403, error("Out of call volume quota. Quota will be replenished in 2 days", code="403")),
    (429, error("Insufficient balance or no resource package", code="1113")),
    (429, error("Usage limit reached for 5 hour", code="1308")),
    (429, error("Your account is suspended, check your plan", type="exceeded_current_quota_error")),
    (400, error("Access denied, make sure your account is in good standing.", code="Arrearage", type="Arrearage")),
    (401, error("You exceeded your current quota", type="insufficient_quota", code=401)),
]

REFUSED = [
    (400, error("Invalid prompt: it was flagged as potentially violating our usage policy", code="invalid_prompt")),
    (400, error("Output blocked by content filtering policy", type="invalid_request_error")),
    (400, error("Content Exists Risk", code="invalid_request_error")),
    (403, {"code": "no permission", "error": "Content violates usage guidelines. Failed check: BIO"}),
    (400, error("The system detected potentially unsafe or sensitive content", code="1301")),
    (400, error("The request was rejected because it was considered high risk", type="content_filter")),
    (400, error("Input data may contain inappropriate content.", code="DataInspectionFailed")),
    (403, error("moderation", code=403, metadata={"error_type": "content_policy_violation"})),
]

TOO_LONG = [
    (400, error("input length and `max_tokens` exceed context limit: 199000 + 20000 > 200000")),
    (413, error("Request exceeds the maximum size", type="request_too_large")),
    (413, error("Request too large for model `m` on tokens per minute", code="rate_limit_exceeded", type="tokens")),
    (400, error("Range of input length should be [1, 98304]", code="invalid_parameter_error")),
    (400, error("Prompt exceeds max length", code="1261")),
    (400, error("Invalid request: Your request exceeded model token limit: 8192")),
    (422, {"error": "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000", "error_type": "validation"}),
    (422, {"error": "`inputs` must have less than 1024 tokens. Given: 2000", "error_type": "validation"}),
    (400, {"message": "max tokens of 8192 exceeded", "request_id": "r"}),
    (400, {"error": "Trying to keep the first 5000 tokens when context the overflows."}),
    (400, error("The input (150000 tokens) is longer than the model's context length (131072 tokens).")),
    (400, error("Input length 9 exceeds the maximum allowed input length of 8 tokens")),
    (400, error("Prompt contains 9 tokens, too large for model with 8 maximum context length", code="3051")),
    (400, error("Your input exceeds the context window of this model")),
]

OTHERS = [
    (400, of_status(400, "API key expired. Please renew the API key.", "INVALID_ARGUMENT"), AuthFailed, ""),
    (401, error("Access denied due to invalid subscription key", code="401"), AuthFailed, ""),
    (404, error("The API deployment for this resource does not exist", code="DeploymentNotFound"), InvalidRequest, "not_found"),
    (400, error("Parsing failed", code="output_parse_failed", failed_generation="?"), ConstrainedDeadlock, "output_parse_failed"),
    (501, error("This server does not support tools", type="not_supported_error"), InvalidRequest, ""),
    (500, error(INVALID.format("'response_format', 'type'")), InvalidRequest, "schema_refused"),
    (500, error(INVALID.format("'messages'")), InvalidRequest, ""),
    (500, error(NO_CALL, code=500, type="server_error"), ConstrainedDeadlock, "tool_use_failed"),
    (409, error("the request conflicts with another one", type="conflict_error"), ProviderUnavailable, ""),
    (424, {"error": "Request failed during generation", "error_type": "generation"}, ProviderUnavailable, ""),
    (504, error("timed out", type="timeout_error"), ProviderUnavailable, ""),
    (429, error("The engine is currently overloaded", type="engine_overloaded_error"), RateLimited, ""),
    (429, error("Requests rate limit exceeded", type="rate_limited", code="1300"), RateLimited, ""),
]  # fmt: skip

IN_A_200 = [
    (error("slow", metadata={"error_type": "timeout"}), LikelyTimeout),
    (error("busy", metadata={"error_type": "provider_overloaded"}), ProviderUnavailable),
    (error("who", metadata={"error_type": "authentication"}), AuthFailed),
    (error("big", type="request_too_large"), ContextWindowExceeded),
    (error("late", type="timeout_error"), LikelyTimeout),
    (error("oops", status="INTERNAL"), ProviderUnavailable),
    (error("late", status="DEADLINE_EXCEEDED"), LikelyTimeout),
    (error("gone", status="NOT_FOUND"), InvalidRequest),
    (error("limit", type="rate_limit_reached_error"), RateLimited),
    (error("bad call", type="invalid_request_error", code="tool_use_failed", status_code=400), ConstrainedDeadlock),
    (error("lost", type="server_error", status_code=503), ProviderUnavailable),
    (error("spent", code=402), QuotaExhausted),
    (error("slow down", code="429"), RateLimited),
]


@each_case(
    ("status", "body", "kind"),
    [
        *((*case, QuotaExhausted) for case in SPENT),
        *((*case, SafetyFiltered) for case in REFUSED),
        *((*case, ContextWindowExceeded) for case in TOO_LONG),
    ],
)
def test_vendor_error_has_its_cause_with_any_status(status, body, kind):
    assert type(failure(status, body)) is kind


@each_case(("status", "body", "kind", "sub_cause"), OTHERS)
def test_vendor_error_has_its_sub_cause(status, body, kind, sub_cause):
    found = failure(status, body)
    assert (type(found), found.sub_cause) == (kind, sub_cause)


@each_case(("body", "kind"), IN_A_200)
def test_error_in_a_200_is_classified_by_its_message(body, kind):
    assert type(failure(200, body)) is kind


def test_error_event_in_a_stream_keeps_the_generated_text():
    told = error("the call is none", code="tool_use_failed", status_code=400, failed_generation="<function=look>")
    answer = ChatAnswer(terms())
    with pytest.raises(ConstrainedDeadlock) as caught:
        read_stream(answer, events({"choices": [{"delta": {"content": "so"}}]}, done=False), events(told, name="error"))
    assert (caught.value.excerpt, caught.value.sub_cause, caught.value.raw_length) == (
        "<function=look>",
        "tool_use_failed",
        2,
    )


@each_case(
    "message",
    [
        "max_tokens is too large: 5000. This model supports at most 4096 completion tokens",
        "max_tokens: 9000 > 8192, which is the maximum allowed number of output tokens",
        "tools.0.name: string should match a pattern",
        "response_format of type json_schema is not supported",
    ],
)
def test_other_invalid_requests_are_no_context_window_errors(message):
    assert type(failure(400, error(message))) is InvalidRequest
