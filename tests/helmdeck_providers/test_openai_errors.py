"""Failures of the chat wire format: each has its failure class and a message without secrets."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import traceback

import attrs
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
    Secrets,
    TransientUnknown,
    quoted,
)
from helmdeck_providers.http.failures import retry_after_s
from helmdeck_testing import Chunks, Ending, completion, make_deck, provider_settings
from tests.case_support import each_case
from tests.helmdeck_providers import openai_support
from tests.helmdeck_providers.openai_support import PRESETS, REQUEST, Context, parse_response

KEY = "sk-test-0123456789abcdef"
SHAPES = Secrets((), make_deck().runtime.secret_pattern)


def ask(base_url, **settings):
    (response,) = openai_support.ask(base_url, **{"api_key": lambda: KEY, **settings})
    return response


def failing(base_url, kind=CallFailed, **settings):
    with pytest.raises(kind) as caught:
        ask(base_url, **settings)
    assert type(caught.value) is kind or kind is CallFailed
    return caught.value


def failure(status, body, headers=None):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(CallFailed) as caught:
        parse_response(status, headers or {}, data)
    return caught.value


def error(message="", **fields):
    return {"error": {"message": message, **fields}}


# -- statuses -------------------------------------------------------------------------------------------------

STATUSES = [
    (400, error("top_p is out of range"), InvalidRequest),
    (401, error("who are you"), AuthFailed),
    (401, {"detail": "Invalid API Key"}, AuthFailed),
    (402, error("Insufficient credits", code=402), QuotaExhausted),
    (403, error("not for you"), AuthFailed),
    (403, error("your input was flagged", metadata={"reasons": ["violence"], "flagged_input": "..."}), SafetyFiltered),
    (404, error("the model `m` does not exist", code="model_not_found"), InvalidRequest),
    (400, error("the model `m` is no longer supported", code="model_decommissioned"), InvalidRequest),
    (400, error("the organization has been restricted", code="organization_restricted"), AuthFailed),
    (408, error("request timeout"), LikelyTimeout),
    (413, error("request too large"), ContextWindowExceeded),
    (422, {"detail": [{"loc": ["body", "messages"], "msg": "field required"}]}, InvalidRequest),
    (429, error("slow down", code="rate_limit_exceeded"), RateLimited),
    (429, error("tokens of the context window per minute"), RateLimited),
    (429, error("quota", type="insufficient_quota"), QuotaExhausted),
    (400, error("Your credit balance is too low"), QuotaExhausted),
    (400, error("filtered", code="content_filter"), SafetyFiltered),
    (400, error("x", innererror={"code": "ResponsibleAIPolicyViolation"}), SafetyFiltered),
    (500, error("oops"), ProviderUnavailable),
    (502, b"<html><title>502 Bad ProviderPool</title></html>", ProviderUnavailable),
    (503, b"", ProviderUnavailable),
    (504, b"upstream request timeout", ProviderUnavailable),
    (529, error("overloaded", type="overloaded_error"), ProviderUnavailable),
]

CONTEXT_ERRORS = [
    error("too long", code="context_length_exceeded"),
    error("This model's maximum context length is 8192 tokens, but you asked for 9000"),
    error("prompt is too long: 210000 tokens > 200000 maximum"),
    error("the request exceeds the available context size", type="exceed_context_size_error"),
    error("The total length is too long", type="too_many_prompt_tokens"),
    error("prompt too long; exceeded max context length by 12 tokens"),
    error("This model's maximum prompt length is 131072 but the request contains 140000"),
    {"object": "error", "message": "longer than the maximum model length of 4096", "code": 400},
    {"error": "Trying to keep the first 9 tokens, which is greater than the context length"},
    [error("The input token count exceeds the maximum number of tokens allowed", status="INVALID_ARGUMENT")],
]


@each_case(("status", "body", "kind"), STATUSES)
def test_status_has_its_failure_class(status, body, kind):
    found = failure(status, body)
    assert type(found) is kind
    assert found.status == status


@each_case("body", CONTEXT_ERRORS)
def test_context_window_error_is_distinguished_from_bad_request(body):
    assert type(failure(400, body)) is ContextWindowExceeded


def test_context_window_error_with_status_500_is_recognised():
    assert type(failure(500, error("the request exceeds the available context size"))) is ContextWindowExceeded


@each_case(
    "message",
    [
        "Automatic parser generation failed: JSON schema error at #: unrecognized type frob",
        "Invalid JSON schema in format",
        "Grammar error: Unknown format: uri",
        "The provided JSON schema contains features not supported by xgrammar.",
        "Invalid schema for response_format 'plan': In context=(), 'additionalProperties' is required",
        "This model does not support response format `json_schema`.",
        "Schemas contains too many parameters with union types (49 parameters with type arrays or anyOf)",
        "output_config.format: Extra inputs are not permitted",
        "Invalid JSON payload received. Unknown name \"responseJsonSchema\" at 'generation_config'",
        "The specified schema produces a constraint that has too many states for serving.",
    ],
)
def test_rejected_schema_has_its_own_sub_cause(message):
    found = failure(400, error(message))
    assert type(found) is InvalidRequest and found.sub_cause == "schema_refused" and "schema" in found.advice()[1]


@each_case(
    ("status", "kind"),
    [(429, RateLimited), (401, AuthFailed), (500, ProviderUnavailable), (413, ContextWindowExceeded)],
)
def test_field_mentioned_in_passing_does_not_change_the_cause(status, kind):
    assert type(failure(status, error("tokens per minute, response_format counted"))) is kind


@each_case(
    ("status", "message", "sub_cause"),
    [
        (400, "upstream: tool_use_failed", "tool_use_failed"),
        (400, "Failed to call a function. Please adjust your prompt.", "tool_use_failed"),
        (400, "Failed to validate JSON. See 'failed_generation' for more details.", "json_validate_failed"),
        (500, "error parsing tool call: raw='{\"a\"', err=unexpected end of JSON input", "tool_use_failed"),
    ],
)
def test_invalid_model_output_behind_a_gateway_is_no_bad_request(status, message, sub_cause):
    found = failure(status, error(message))
    assert (type(found), found.sub_cause) == (ConstrainedDeadlock, sub_cause)


@pytest.mark.parametrize("code", ["tool_use_failed", "json_validate_failed"])
def test_invalid_model_output_is_no_bad_request(code):
    found = failure(400, error("did not fit", code=code, failed_generation="<function=look>"))
    assert type(found) is ConstrainedDeadlock
    assert (found.sub_cause, found.excerpt) == (code, "<function=look>")


@pytest.mark.usefixtures("transport")
def test_detail_contains_the_provider_message(chat_server):
    server = chat_server(lambda body: (404, {}, error("the model `tiny` does not exist")))
    found = failing(server.base_url, InvalidRequest)
    assert found.detail == "the model `tiny` does not exist"
    assert "HTTP 404" in str(found)


def test_upstream_message_is_added():
    found = failure(429, error("Provider returned error", metadata={"raw": "upstream is busy"}))
    assert found.detail == "Provider returned error (upstream is busy)"


@each_case(
    ("body", "detail"),
    [
        (b"<html><head><title>502 Bad ProviderPool</title></head><body>nginx</body></html>", "502 Bad ProviderPool"),
        (b"<p>no <b>healthy</b> upstream</p>", "no healthy upstream"),
        (b'{"trace": 1}', '{"trace": 1}'),
        (b"", ""),
    ],
)
def test_html_error_page_is_quoted_as_text(body, detail):
    assert failure(502, body).detail == detail


@pytest.mark.usefixtures("transport")
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirect_is_not_followed(chat_server, status):
    other = chat_server(lambda body: completion("stolen"))
    server = chat_server(lambda body: (status, {"location": f"{other.base_url}/x?token=abc"}, b""))
    found = failing(server.base_url, InvalidRequest)
    assert other.requests == []
    assert f"{other.base_url}/x" in found.detail
    assert "abc" not in found.detail


# -- errors that come with 200 --------------------------------------------------------------------------------

ERRORS_IN_200 = [
    (error("Provider returned error", code=502), ProviderUnavailable),
    (error("slow down", code=429), RateLimited),
    (error("filtered", code="content_filter", status=400), SafetyFiltered),
    (error("no such key", type="authentication_error"), AuthFailed),
    (error("too long", code="context_length_exceeded"), ContextWindowExceeded),
    (error("busy", type="overloaded_error"), ProviderUnavailable),
    (error("bad", code="400"), InvalidRequest),
    (error("something new", code="quantum_flux"), TransientUnknown),
    ({"error": "Unexpected endpoint or method"}, TransientUnknown),
    ({"object": "error", "message": "engine died"}, TransientUnknown),
    ({**completion("half an ans"), **error("upstream died", code=502)}, ProviderUnavailable),
    ({"choices": "none", **error("upstream died", code=502)}, ProviderUnavailable),
    ([error("quota", code=429)], RateLimited),
]


@each_case(("body", "kind"), ERRORS_IN_200)
def test_error_in_a_200_is_a_failure(body, kind):
    found = failure(200, body)
    assert type(found) is kind
    assert (found.status, found.sub_cause, found.stop_reason in ("Unknown", "EndTurn")) == (200, "error_in_200", True)


@pytest.mark.usefixtures("transport")
def test_error_in_a_choice_is_a_failure_that_keeps_the_text(chat_server):
    choice = {
        "message": {"content": '{"steps": [{"to'},
        "finish_reason": "length",
        "error": {"code": 502, "message": "Upstream error"},
    }
    server = chat_server(lambda body: {"choices": [choice]})
    found = failing(server.base_url, ProviderUnavailable)
    assert (found.stop_reason, found.raw_stop_reason, found.raw_length) == ("MaxTokens", "length", 15)
    assert found.excerpt == '{"steps": [{"to'


@each_case(
    ("body", "kind", "sub_cause"),
    [
        (b"{}", TransientUnknown, "no_choices"),
        (b'{"choices": []}', TransientUnknown, "no_choices"),
        (b'{"choices": null}', TransientUnknown, "no_choices"),
        (b'{"choices": 3}', TransientUnknown, "wrong_shape"),
        (b'{"choices": [{"message": "hello"}]}', TransientUnknown, "wrong_shape"),
        (b"[]", TransientUnknown, "wrong_shape"),
        (b'"hello"', TransientUnknown, "wrong_shape"),
        (b"null", TransientUnknown, "wrong_shape"),
        (b"", ProviderUnavailable, "empty_body"),
        (b" \n", ProviderUnavailable, "empty_body"),
        (b"<!doctype html><title>Welcome</title>", ProviderUnavailable, "not_json"),
        (b"hello", ProviderUnavailable, "not_json"),
        (b'data: {"choices": []}\n\n', ProviderUnavailable, "not_json"),
        (b'{"choices": [{"message": {"content": "hel', ProviderUnavailable, "cut_body"),
        (b'{"choices": "\xff\xfe', ProviderUnavailable, "cut_body"),
        (b"[" * 100_000, ProviderUnavailable, "cut_body"),
    ],
)
def test_http_200_without_a_completion_is_a_failure(body, kind, sub_cause):
    found = failure(200, body, {"Content-Type": "text/html"})
    assert (type(found), found.sub_cause, found.status) == (kind, sub_cause, 200)


@pytest.mark.usefixtures("transport")
def test_html_page_error_suggests_checking_base_url(chat_server):
    server = chat_server(lambda body: (200, {"content-type": "text/html"}, "<title>My llama</title>"))
    found = failing(server.base_url, ProviderUnavailable)
    assert "'My llama'" in found.detail
    assert "base_url" in found.advice()[1]


# -- limits of size and time ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("transport")
def test_body_over_the_limit_is_not_read_completely(chat_server):
    server = chat_server(lambda body: completion("x" * 50_000))
    found = failing(server.base_url, TransientUnknown, max_response_bytes=10_000)
    assert found.sub_cause == "too_large"
    assert "10,000 bytes; see providers.vllm.max_response_bytes" in found.detail


@pytest.mark.usefixtures("transport")
def test_body_at_the_limit_is_read(chat_server):
    size = len(json.dumps(completion("hello")))
    server = chat_server(lambda body: completion("hello"))
    assert ask(server.base_url, max_response_bytes=size).text == "hello"


@pytest.fixture
def silent():
    """A server that accepts requests and never responds."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"


@pytest.mark.usefixtures("transport")
def test_silent_server_is_a_likely_timeout(silent):
    found = failing(silent, LikelyTimeout, timeout_s=0.05)
    assert found.headline == "the provider did not answer in time"


@pytest.mark.usefixtures("transport")
def test_slow_body_cannot_exceed_the_request_timeout():
    stop = threading.Event()

    def trickle(listening):
        connection, _ = listening.accept()
        with connection:
            connection.recv(65_536)
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
            while not stop.wait(0.01):
                connection.sendall(b" ")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=trickle, args=(listening,))
        thread.start()
        try:
            found = failing(f"http://127.0.0.1:{listening.getsockname()[1]}/v1", LikelyTimeout, timeout_s=0.2)
        finally:
            stop.set()
            thread.join()
    assert "within 0.2 s; see providers.vllm.timeout_s" in found.detail


@pytest.mark.usefixtures("transport")
def test_refused_connection_is_provider_unavailable():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    found = failing(f"http://127.0.0.1:{port}/v1", ProviderUnavailable)
    assert found.detail == f"ConnectFailed at http://127.0.0.1:{port}: Connection refused"
    assert found.retryable


@pytest.mark.usefixtures("transport")
def test_unresolvable_host_is_provider_unavailable():
    failing("http://no-such-host.invalid/v1", ProviderUnavailable)


@pytest.mark.usefixtures("transport")
@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"choices"',
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\nnope",
    ],
)
def test_invalid_http_response_is_provider_unavailable(answer):
    def serve(listening):
        connection, _ = listening.accept()
        with connection:
            connection.recv(65_536)
            connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,))
        thread.start()
        failing(f"http://127.0.0.1:{listening.getsockname()[1]}/v1", ProviderUnavailable)
        thread.join()


@pytest.mark.usefixtures("transport")
def test_cancelled_call_stays_cancelled(silent):
    async def run():
        provider = PRESETS["vllm"].open(provider_settings("vllm", base_url=silent), Context())
        task = asyncio.create_task(provider.complete(REQUEST))
        await asyncio.sleep(0)
        task.cancel()
        try:
            with pytest.raises(asyncio.CancelledError):
                await task
        finally:
            await provider.aclose()

    asyncio.run(run())


# -- how long to wait -----------------------------------------------------------------------------------------


@each_case(
    ("headers", "body", "expected"),
    [
        ({"Retry-After": "7"}, error("x"), 7.0),
        ({"Retry-After": "1.5"}, error("x"), 1.5),
        ({"Retry-After": "7", "Retry-After-Ms": "250"}, error("x"), 0.25),
        ({"Retry-After": "soon"}, error("x"), None),
        ({"Retry-After": "-3"}, error("x"), None),
        ({"Retry-After": "inf"}, error("x"), None),
        ({}, error("Please try again in 800ms."), 0.8),
        ({}, error("Please try again in 6.5s."), 6.5),
        ({}, error("Please try again in 1m26.4s. Need more?"), 86.4),
        ({}, error("try again in 20 seconds"), 20.0),
        ({}, error("Retry after 2 minutes"), 120.0),
        ({}, error("try again in a while"), None),
        ({}, error("x", details=[{"@type": "x"}, {"@type": "RetryInfo", "retryDelay": "37s"}]), 37.0),
        ({}, error("Please try again in 1h2m3.5s."), 3723.5),
        ({}, error("try again in 500 milliseconds"), 0.5),
        ({}, error("Try again in 1 minute and 30 seconds"), 90.0),
        ({}, error("Try again in 2 hours 15 minutes."), 8100.0),
        ({}, error("Try again in 1 hour, 5 minutes, and 3 secs"), 3903.0),
        ({}, error("try again in 1.5 minutes"), 90.0),
        ({}, error("Please wait 30 seconds before the next request"), 30.0),
        ({}, error("Please wait for at least 2 min"), 120.0),
        ({}, error("Your quota will reset after 18h31m10s."), 66_670.0),
        ({}, error("The model is available in 20s"), 20.0),
        ({}, error("Retry your request in about 12 seconds"), 12.0),
        ({}, error("Retry after: 30 seconds"), 30.0),
        ({}, error("Wait a moment. Then try again after 5 s"), 5.0),
        ({}, error("retry after 3 requests, or wait 4s"), 4.0),
        ({}, error("the server waited 600 seconds"), None),
        ({}, error("retry in 2 months"), None),
        ({"Retry-After": "60 seconds"}, error("x"), 60.0),
        ({"Retry-After": "1 minute"}, error("x"), 60.0),
        ({"Retry-After": "1 Minute 5 Seconds"}, error("x"), 65.0),
        ({}, error("x", metadata={"headers": {"X-RateLimit-Reset": "1700000000000"}}), 0.0),
        ({"Retry-After": "7"}, error("try again in 3s"), 7.0),
    ],
)
def test_retry_after_is_read_from_headers_then_from_the_body(headers, body, expected):
    found = failure(429, body, headers)
    assert found.retry_after_s == (pytest.approx(expected) if expected is not None else None)


PER_MINUTE = "in organization org-x on tokens per min (TPM):"
REDUCE = "The input or output tokens must be reduced in order to run successfully."


@each_case(
    ("text", "kind"),
    [
        (f"Request too large for gpt-4o {PER_MINUTE} Limit 30000, Requested 50000. {REDUCE}", ContextWindowExceeded),
        (f"Rate limit reached for m {PER_MINUTE} Limit 6,000, Used 0, Requested 9,500.", ContextWindowExceeded),
        ("Limit: 10000 / min. Requested: 10001.", ContextWindowExceeded),
        (
            f"Rate limit reached for m {PER_MINUTE} Limit 30000, Used 29000, Requested 2000. Try again in 2s.",
            RateLimited,
        ),
        (f"Rate limit reached for m {PER_MINUTE} Limit 30000, Used 9, Requested 30000.", RateLimited),
        ("Limit 3 requests per minute. You requested too often.", RateLimited),
        ("Limit 3, requested by org-9", RateLimited),
    ],
)
@each_case("status", [429, 200])
def test_request_above_the_rate_limit_is_too_large(chat_server, text, kind, status):
    body = error(text, type="tokens", code="rate_limit_exceeded")
    server = chat_server(lambda _: (status, {"retry-after": "1"}, body))
    assert failing(server.base_url, kind).status == status


def test_request_above_the_rate_limit_is_sent_to_the_next_model_without_waiting(chat_server):
    text = f"Request too large for small {PER_MINUTE} Limit 30000, Requested 50000. {REDUCE}"
    large = completion("done")
    server = chat_server(lambda body: large if body["model"] == "large" else (429, {"retry-after": "60"}, error(text)))
    config = {"providers": {"mine": {"base_url": server.base_url}}, "fallback": {"mine/": ["mine/large"]}}
    with make_deck(config=config) as deck:
        assert deck.complete(attrs.evolve(REQUEST, model="mine/small")).text == "done"
    assert [request.body["model"] for request in server.requests] == ["small", "large"]


@pytest.mark.parametrize(
    ("date", "expected"),
    [("Thu, 01 Jan 1970 00:01:30 GMT", 30.0), ("Thu, 01 Jan 1970 00:00:10 GMT", 0.0), ("Thu, 99 Foo 1970", None)],
)
def test_retry_after_date_becomes_seconds_and_a_past_one_zero(date, expected):
    assert retry_after_s({"retry-after": date}, now_s=60.0) == expected


def test_unavailable_provider_can_send_retry_after():
    assert failure(503, error("maintenance"), {"retry-after": "60"}).retry_after_s == 60.0


# -- secrets --------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("transport")
@pytest.mark.parametrize("status", [200, 400, 401, 500])
def test_key_in_a_response_is_redacted_in_the_error(chat_server, status):
    words = f"bad key {KEY} in header Authorization: Bearer {KEY} and X-Api-Key team-secret-1"
    server = chat_server(lambda body: (status, {}, error(words)))
    found = failing(server.base_url, headers={"X-Api-Key": "team-secret-1"})
    told = "".join(traceback.format_exception(found)) + repr(found) + json.dumps(found.to_dict())
    assert KEY not in told
    assert "team-secret-1" not in told
    assert "[redacted]" in found.detail


@pytest.mark.usefixtures("transport")
def test_html_page_and_partial_answer_are_redacted(chat_server):
    server = chat_server(lambda body: (200, {}, f"<title>hello {KEY}</title>"))
    assert KEY not in str(failing(server.base_url))
    choice = {"message": {"content": f"my key is {KEY}"}, "error": {"message": "x"}}
    server = chat_server(lambda body: {"choices": [choice]})
    assert KEY not in repr(failing(server.base_url))


@each_case(
    "text",
    [
        "Incorrect API key provided: sk-proj-abcd****wxyz.",
        "authorization: Bearer abcdef012345",
        "Bearer abcdef012345",
        '{"api_key": "abcdef012345"}',
        "key gsk_abcdef012345 is revoked",
        "AIzaSyabcdef012345",
    ],
)
def test_secret_like_strings_are_redacted(text):
    assert "abcd" not in quoted(text, SHAPES)
    assert "[redacted]" in quoted(text, SHAPES)


def test_ordinary_words_about_keys_and_tokens_are_kept():
    text = "Please pass a valid API key. Limit 30000 tokens per min: used 29500"
    assert quoted(text, SHAPES) == text


def test_key_truncated_by_the_excerpt_leaves_no_prefix():
    assert "0123" not in quoted("x" * 290 + KEY, (KEY,))


def test_quote_is_one_bounded_line_without_control_characters():
    text = quoted("first\nsecond\x1b[31m\x00" + "y" * 1000)
    assert text.startswith("first second [31m y")
    assert len(text) == 300
    assert text.endswith("…")


@pytest.mark.usefixtures("transport")
def test_detail_length_is_bounded(chat_server):
    server = chat_server(lambda body: (500, {}, error("z" * 100_000)))
    assert len(failing(server.base_url).detail) == 300


@pytest.mark.usefixtures("transport")
def test_connection_error_describes_the_network_problem(chat_server):
    server = chat_server(lambda body: Chunks([b'{"choices"'], Ending.CUT, headers={"content-type": "application/json"}))
    assert failing(server.base_url, ProviderUnavailable).detail.endswith(": the body ended before it was complete")
    secured = server.base_url.replace("http:", "https:")
    assert "TLS: wrong version number" in failing(secured, ProviderUnavailable).detail
    nowhere = failing("http://unknown.invalid/v1", ProviderUnavailable)
    assert (nowhere.sub_cause, "ssl:default" in nowhere.detail) == ("unreachable", False)
