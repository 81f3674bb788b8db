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
    assert failure_of(429, {"x-ratelimit-reset": "7"}, ErrorFacts(), now_s=NOW_S).retry_after_s is None
