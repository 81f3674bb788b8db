"""All cases of a test run, and each that fails is reported."""

from __future__ import annotations

import inspect

import pytest

from tests.case_support import each_case


def test_every_case_runs_and_every_failure_is_reported():
    seen = []

    @each_case("number", range(4), ids=["zero", "one", "two", "three"])
    def is_even(number):
        seen.append(number)
        if number == 3:
            pytest.fail("three is odd")
        assert number % 2 == 0, "odd"

    with pytest.raises(ExceptionGroup, match="2 of 4 cases failed") as caught:
        is_even()
    first, second = caught.value.exceptions
    assert seen == [0, 1, 2, 3]
    assert first.__notes__ == ["case one"]
    assert str(second) == "case three: three is odd"


def test_several_arguments_fixtures_and_nested_cases_are_passed():
    seen = []

    @each_case("first", "ab")
    @each_case(("second", "third"), [(1, 2), pytest.param(3, 4, id="x")])
    def collect(first, second, third, fixture):
        seen.append((first, second, third, fixture))

    assert list(inspect.signature(collect).parameters) == ["fixture"]
    collect(fixture="f")
    assert seen == [("a", 1, 2, "f"), ("a", 3, 4, "f"), ("b", 1, 2, "f"), ("b", 3, 4, "f")]


def test_missing_cases_are_an_error():
    with pytest.raises(AssertionError, match="no cases"):
        each_case("name", [])


def test_skipped_case_fails_instead_of_hiding_the_others():
    seen = []

    @each_case("number", range(3))
    def skipping(number):
        seen.append(number)
        if number == 0:
            pytest.skip("not here")

    with pytest.raises(ExceptionGroup, match="1 of 3 cases failed"):
        skipping()
    assert seen == [0, 1, 2]
