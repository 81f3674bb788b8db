"""Redaction in the chat wire format: no response field leaks a secret, and quotations are bounded."""

from __future__ import annotations

import asyncio
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import (
    CallFailed,
    InvalidRequest,
    ProviderSettings,
    StopReason,
    TransientUnknown,
    quoted,
)
from helmdeck_providers import HttpConnection, plain_text, read_error
from helmdeck_providers.http.failures import retry_after_s
from helmdeck_providers.wire_formats.error_codes import ERROR_RULES
from helmdeck_testing import completion
from tests.case_support import each_case
from tests.helmdeck_providers.openai_support import ask, parse_response

KEY = "kq7Zr0Wm4Xc9Tb2Ld8Gn5Vf1Hs6Jp3Ya"


def failure(status, body, headers=None, secrets=(KEY,)):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(CallFailed) as caught:
        parse_response(status, headers or {}, data, secrets=secrets)
    return caught.value


def response(body, headers=None, secrets=(KEY,)):
    return parse_response(200, headers or {}, json.dumps(body).encode(), secrets=secrets)


def shows_a_part(text, secret=KEY, size=4):
    return any(secret[start : start + size] in text for start in range(len(secret) - size + 1))


# -- quoting --------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("transport")
def test_whitespace_before_a_key_does_not_leak_its_prefix(chat_server):
    server = chat_server(lambda body: (400, {}, {"error": {"message": "bad" + " " * 3975 + KEY}}))
    with pytest.raises(InvalidRequest) as caught:
        ask(server.base_url, api_key=lambda: KEY)
    assert caught.value.detail == "bad [redacted]"


@each_case("blank", [" ", "\n", "\x00", "é"])
@each_case("distance", range(0, 45, 3))
def test_key_at_the_read_limit_shows_no_part(distance, blank):
    text = "bad" + blank * (4000 - 3 - distance) + KEY + " and more"
    assert not shows_a_part(quoted(text, (KEY,)))
    assert not shows_a_part(quoted(text, (KEY,), limit=5000))
    for body in (text.encode(), f"<title>{text}</title>".encode(), f"<p>{text}".encode()):
        assert not shows_a_part(failure(502, body).detail)
        assert not shows_a_part(failure(200, body).detail)


@given(st.lists(st.sampled_from([KEY, KEY[:20], " " * 50, "word ", "é" * 30, "\n"]), max_size=40), st.integers(1, 4100))
def test_no_text_contains_a_secret_or_ends_with_its_prefix(parts, limit):
    text = "".join(parts)
    for found in (quoted(text, (KEY,), limit), quoted(plain_text(text.encode(), (KEY,)), (KEY,), limit)):
        assert KEY not in found
        assert not any(found.rstrip("…").endswith(KEY[:size]) for size in range(4, len(KEY)))
        assert len(found) <= limit


def test_secret_prefix_at_the_end_is_removed_except_a_few_characters():
    assert quoted(f"your key is {KEY[:20]}", (KEY,)) == "your key is [redacted]"
    assert quoted(f"your key is {KEY[:3]}", (KEY,)) == f"your key is {KEY[:3]}"
    assert not shows_a_part(quoted("x" * 290 + KEY[:20], (KEY,)))


def test_overlapping_secrets_are_both_redacted():
    assert quoted("say abcdefgh now", ("abcdef", "defgh", "cd")) == "say [redacted] now"


def test_secret_with_changed_whitespace_is_redacted():
    assert quoted("sent:  my\n secret   words.", ("my secret  words",)) == "sent: [redacted]."


@each_case(
    "text_of",
    [
        lambda length: "x" * length,
        lambda length: KEY * (length // len(KEY)),
        lambda length: " " * length + KEY,
        lambda length: "kq7Z" * (length // 4),
    ],
    ids=["plain", "keys", "spaces", "prefixes of the key"],
)
def test_work_for_a_quotation_grows_linearly(work_counter, text_of):
    def read(length):
        assert not shows_a_part(quoted(text_of(length), (KEY,)), size=5)
        plain_text(text_of(length).encode(), (KEY,))

    work_counter.assert_linear(read, 20_000)


# -- headers of the deployment --------------------------------------------------------------------------------


def secrets_of(key=None, **headers):
    transport = HttpConnection(ProviderSettings(name="vllm", base_url="http://127.0.0.1:9/v1", headers=headers))
    try:
        return set(transport.secrets(key))
    finally:
        asyncio.run(transport.aclose())


def test_every_header_value_of_sufficient_length_is_a_secret():
    assert secrets_of("key-1", Tenant="acme-4711", Cookie="a=b1", Mode="on") == {"key-1", "acme-4711", "a=b1"}


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer  ", "Token "])
def test_secret_of_a_value_with_a_scheme_follows_the_scheme(scheme):
    assert secrets_of(Authorization=f"{scheme}dXNlcjpwYXNz") == {"dXNlcjpwYXNz"}


def test_password_in_basic_auth_is_a_secret():
    assert secrets_of(Authorization="Basic dXNlcjpwYXNz") == {"dXNlcjpwYXNz", "user:pass", "pass"}


def test_short_value_is_redacted_with_its_scheme():
    assert secrets_of(Authorization="Basic abc") == {"Basic abc"}


@pytest.mark.usefixtures("transport")
def test_header_value_is_not_in_an_error(chat_server):
    server = chat_server(lambda body: (400, {}, {"error": {"message": "tenant acme-4711 sent dXNlcjpwYXNz"}}))
    with pytest.raises(InvalidRequest) as caught:
        ask(server.base_url, headers={"X-Tenant": "acme-4711", "X-Pass": "Basic dXNlcjpwYXNz"})
    assert caught.value.detail == "tenant [redacted] sent [redacted]"


# -- how long to wait -----------------------------------------------------------------------------------------

NUMBERS = st.one_of(
    st.floats().map(str),
    st.integers().map(str),
    st.text("0123456789.eE+-", max_size=20),
    st.integers(1, 9999).map("9".__mul__),
)
WORDS = st.one_of(
    st.text(max_size=30), st.sampled_from(["nan", "inf", "-inf", "1e999", "Fri, 31 Dec 9999 23:59:59 GMT"])
)
DATES = st.tuples(
    st.sampled_from(["Thu, ", "", ",", "Thu "]),
    st.one_of(st.integers(-5, 99), st.just(10**9)).map(str),
    st.sampled_from([" Jan ", "-Jan-", " Foo ", " "]),
    st.one_of(st.integers(-10, 10_000), st.just(10**20)).map(str),
    st.sampled_from([" 00:00:00", " 25:61:61", "", " 1:2", " ::", " 99999999999:0:0"]),
    st.sampled_from([" GMT", "", " -0000", " +9999", " +999999999999", " -2400", " EST", " ("]),
).map("".join)
UNITS = st.sampled_from(["", "s", "ms", "m", " minutes", "m9s"])


def is_a_wait(found):
    return found is None or (math.isfinite(found) and 0 <= found <= 1e9)


@given(NUMBERS | WORDS | DATES, NUMBERS | WORDS)
def test_retry_after_from_any_headers_is_finite_or_none(seconds, milliseconds):
    assert is_a_wait(retry_after_s({"retry-after": seconds}))
    assert is_a_wait(retry_after_s({"retry-after": seconds, "retry-after-ms": milliseconds}))


@given(NUMBERS | WORDS | st.integers() | st.floats() | st.none() | st.just(10**400), UNITS)
def test_retry_after_from_any_body_is_finite_or_none(value, unit):
    for error in (
        {"message": f"Please try again in {value}{unit}."},
        {"message": "x", "details": [{"retryDelay": f"{value}{unit}"}]},
        {"message": "x", "metadata": {"headers": {"X-RateLimit-Reset": value}}},
    ):
        facts = read_error({"error": error}, ERROR_RULES)
        assert facts is not None
        assert is_a_wait(retry_after_s({}, facts))


@each_case("digits", [10, 400, 5000, 1_000_000])
@each_case("unit", ["s", "ms", "m", "m3s"])
def test_excessively_long_number_is_no_retry_after(digits, unit):
    body = {"error": {"message": f"try again in {'9' * digits}{unit}"}}
    assert failure(429, body, {"retry-after": "9" * digits}).retry_after_s is None


def test_date_in_ten_thousand_years_is_no_retry_after():
    assert failure(429, {"error": "x"}, {"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}).retry_after_s is None


def test_invalid_header_falls_back_to_the_next_one_and_the_body():
    assert retry_after_s({"retry-after-ms": "1e300", "retry-after": "7"}) == 7.0
    assert failure(429, {"error": {"message": "try again in 3s"}}, {"retry-after": "9" * 400}).retry_after_s == 3.0


# -- short fields of a good answer ----------------------------------------------------------------------------


@pytest.mark.usefixtures("transport")
def test_key_is_redacted_in_metadata_and_kept_in_text(chat_server):
    call = {"id": "c1", "function": {"name": "look", "arguments": json.dumps({"at": KEY})}}
    choice = {"message": {"content": f"it is {KEY}", "tool_calls": [call]}, "finish_reason": f"stop {KEY}"}
    headers = {"X-RateLimit-Owner": f"team {KEY}"}
    server = chat_server(lambda body: (200, headers, {"model": f"m-{KEY}", "choices": [choice]}))
    (found,) = ask(server.base_url, api_key=lambda: KEY)
    assert (found.raw_stop_reason, found.served_model) == ("stop [redacted]", "m-[redacted]")
    assert found.quota_metadata == {"x-ratelimit-owner": "team [redacted]"}
    assert (found.text, found.tool_calls[0].arguments) == (f"it is {KEY}", json.dumps({"at": KEY}))


def test_metadata_is_bounded_and_key_at_the_bound_shows_no_part():
    long = "x" * 190 + KEY + "x" * 5_000
    body = {"model": long, "choices": [{"message": {"content": "hi"}, "finish_reason": long}]}
    found = response(body, {"x-ratelimit-limit": long})
    for word in (found.raw_stop_reason, found.served_model, found.quota_metadata["x-ratelimit-limit"]):
        assert len(word) == 200
        assert not shows_a_part(word)
    assert len(response(body, secrets=("x",)).served_model) == 200


@each_case("model", ["xai-grok-4-fast-reasoning", "hf-internal/tiny", "m" * 200, "", "tiny  two"])
def test_key_like_model_name_is_kept(model):
    assert response({**completion("hi"), "model": model}, secrets=("tiny  two and more",)).served_model == model


def test_native_stop_reason_equal_to_a_header_value_keeps_its_meaning():
    found = response(completion("hi"), secrets=("stop",))
    assert (found.stop_reason, found.raw_stop_reason) == (StopReason.END_TURN, "[redacted]")


def test_error_in_a_choice_contains_no_key():
    choice = {
        "message": {"content": "so" + " " * 3975 + KEY},
        "finish_reason": f"died of {KEY}" + "x" * 500,
        "error": {"message": f"bad {KEY}", "code": 502, "failed_generation": " " * 3990 + KEY},
    }
    found = failure(200, {"model": KEY, "choices": [choice]})
    assert not shows_a_part(repr(found) + str(found) + json.dumps(found.to_dict()))
    assert found.raw_stop_reason.startswith("died of [redacted]x")
    assert len(found.raw_stop_reason) <= 200


# -- words for odd answers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("headers", [{}, {"location": ""}, {"location": "http://[::1"}])
def test_redirect_without_location_is_described_without_target(headers):
    found = failure(304, b"", headers)
    assert type(found) is InvalidRequest
    assert "redirect" not in str(found)
    assert "names no usable location" in found.detail
    assert "base_url" in found.advice()[1]


@each_case("body", [b"null", b"42", b'"hello"', b"true", b"1" * 50, b"NaN"])
def test_scalar_json_is_reported_as_no_completion(body):
    found = failure(200, body, {"content-type": "application/json"})
    assert (type(found), found.sub_cause) == (TransientUnknown, "wrong_shape")
    assert found.headline == "the provider's answer is not a chat completion"
    assert found.detail == f"found {body.decode()}; check base_url"


def test_json_string_body_does_not_show_the_key():
    assert not shows_a_part(failure(200, " " * 3990 + KEY).detail)


@pytest.mark.parametrize("status", [200, 400])
def test_nested_lists_are_not_error_objects(status):
    for depth in (2, 500, 900):
        assert isinstance(failure(status, b"[" * depth + b"]" * depth), CallFailed)


def test_innermost_nested_message_is_read():
    assert failure(400, b'{"error":' + b'{"message":' * 500 + b'"x"' + b"}" * 501).detail == "x"
