"""The time at which a provider is available again, in every header form of the vendors."""

from __future__ import annotations

import pytest

from helmdeck_providers import ErrorFacts, failure_of
from helmdeck_providers.http.failures import retry_after_s
from tests.case_support import each_case

NOW_S = 1_700_000_000.0


@each_case(
    ("reset", "expected"),
    [
        ("6m0s", 360.0),
        ("120ms", 0.12),
        ("7.66s", 7.66),
        ("2m59.5s", 179.5),
        ("1h0m1s", 3601.0),
        ("2d3h", 183_600.0),
        ("58", 58.0),
        ("33011.38", 33011.38),
        ("1700000090", 90.0),
        ("1700000090000", 90.0),
        ("1600000000", 0.0),
        ("2023-11-14T22:14:50Z", 90.0),
        ("2023-11-14T22:14:50", 90.0),
        ("2023-11-15T00:14:50+02:00", 90.0),
        ("Tue, 14 Nov 2023 22:14:50 GMT", 90.0),
        ("soon", None),
        ("", None),
        ("s", None),
    ],
)
def test_a_limit_that_is_used_up_says_when_it_is_filled_again(reset, expected):
    headers = {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": reset}
    found = failure_of(429, headers, ErrorFacts(), now_s=NOW_S).retry_after_s
    assert found == (pytest.approx(expected) if expected is not None else None)
    assert retry_after_s({"retry-after": reset}, now_s=NOW_S) == found


def test_only_limits_that_are_used_up_are_waited_for_and_of_several_the_last():
    headers = {
        "anthropic-ratelimit-requests-remaining": "3",
        "anthropic-ratelimit-requests-reset": "2023-11-14T23:00:00Z",
        "anthropic-ratelimit-input-tokens-remaining": "0",
        "anthropic-ratelimit-input-tokens-reset": "2023-11-14T22:13:25Z",
        "x-ratelimit-remaining-req-minute": "0",
        "x-ratelimit-reset-req-minute": "7",
    }
    assert failure_of(429, headers, ErrorFacts(), now_s=NOW_S).retry_after_s == 7.0
    assert failure_of(429, {**headers, "retry-after": "2"}, ErrorFacts(), now_s=NOW_S).retry_after_s == 2.0
    # That a limit happens to be empty says nothing about another failure.
    assert failure_of(500, headers, ErrorFacts(), now_s=NOW_S).retry_after_s is None
    # A limit with something left does not explain the refusal; a single limit that does not report what is left does.
    assert failure_of(429, {"x-ratelimit-reset": "7"}, ErrorFacts(), now_s=NOW_S).retry_after_s == 7.0
    left = {"x-ratelimit-reset-requests": "7s", "x-ratelimit-remaining-requests": "3"}
    assert failure_of(429, left, ErrorFacts(), now_s=NOW_S).retry_after_s is None


@each_case(
    ("headers", "expected"),
    [
        ({"retry-after": "1"}, 1.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": " 2 "}, 2.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after-ms": "nan", "retry-after": "1"}, 1.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:21 GMT"}, 1.0),
        # A date that has passed is no wait.
        ({"retry-after": "Tue, 14 Nov 2023 22:13:19 GMT"}, 0.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
        # A date is by the server's clock, which may differ from this one.
        ({"retry-after": "Tue, 14 Nov 2023 23:00:05 GMT", "date": "Tue, 14 Nov 2023 23:00:00 GMT"}, 5.0),
        ({"retry-after": "Tue, 14 Nov 2023 21:00:05 GMT", "date": "Tue, 14 Nov 2023 21:00:00 GMT"}, 5.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:25 GMT", "date": "now"}, 5.0),
        ({"x-ratelimit-reset-tokens": "120ms"}, 0.12),
        ({"x-ratelimit-reset-tokens": "1m30s", "x-ratelimit-reset-requests": "7s"}, 90.0),
        ({"ratelimit-reset": "7"}, 7.0),
        # Not a time: as if the header was missing.
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e400"}, None),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after": "1", "x-ratelimit-reset-requests": "7s"}, 1.0),
        ({"retry-after": "-1", "x-ratelimit-reset-requests": "7s"}, 7.0),
        # A month is the longest period of a quota; beyond that the value is a mistake.
        ({"retry-after": "2678400"}, 2_678_400.0),
        ({"retry-after": "2678401"}, None),
        ({"retry-after": "31536000"}, None),
        ({"retry-after": "Sun, 14 Nov 2094 22:13:20 GMT"}, None),
    ],
)
def test_retry_after_is_read_exactly_and_an_absurd_one_is_ignored(headers, expected):
    found = failure_of(429, headers, ErrorFacts(), now_s=NOW_S).retry_after_s
    assert found == (pytest.approx(expected) if expected is not None else None)
