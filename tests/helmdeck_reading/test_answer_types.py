"""Types of answers: what their own validation rejects."""

from __future__ import annotations

import dataclasses
from typing import Any

import attrs
import msgspec
import pytest

from helmdeck_core import CallFailed
from helmdeck_testing import make_deck
from tests.case_support import each_case
from tests.helmdeck_reading.test_ask import asking

pydantic = pytest.importorskip("pydantic")

ERRORS = [AssertionError, KeyError, ZeroDivisionError, TypeError, ValueError, RuntimeError, LookupError]


def ask(type: Any, *replies: str) -> tuple[Any, int]:
    """The value of an answer, and the number of requests."""
    deck, provider = asking(*replies)
    with deck:
        return deck.ask("x", type).value, len(provider.requests)


def types_that_raise(error: BaseException) -> list[type[Any]]:
    """A type of each kind that rejects 1 with an exception."""

    def check(value: int) -> int:
        if value == 1:
            raise error
        return value

    @dataclasses.dataclass
    class Data:
        x: int

        def __post_init__(self) -> None:
            check(self.x)

    @attrs.define
    class Attrs:
        x: int = attrs.field(validator=lambda self, field, value: check(value) and None)

    class Struct(msgspec.Struct):
        x: int

        def __post_init__(self) -> None:
            check(self.x)

    class Model(pydantic.BaseModel):
        x: int
        checked = pydantic.field_validator("x")(check)

    return [Data, Attrs, Struct, Model]


@each_case("error", ERRORS)
def test_any_exception_of_a_type_rejects_the_value_and_is_recovered_from(error: type[Exception]) -> None:
    for type_ in types_that_raise(error("too small")):
        value, requests = ask(type_, '{"x": 1}', '{"x": 9}')
        assert (value.x, requests) == (9, 2)


@each_case("error", [AssertionError, KeyError, ZeroDivisionError])
@each_case("text", ['{"x": 1}', 'Here: {"x": 1}.', '```json\n{"x": 1}\n```'])
def test_exception_of_a_type_is_a_wrong_shape_that_names_it(error: type[Exception], text: str) -> None:
    with make_deck() as deck:
        for type_ in types_that_raise(error("too small")):
            with pytest.raises(CallFailed) as caught:
                deck.decode(text, type_)
            assert caught.value.sub_cause == "wrong_shape" and "too small" in caught.value.detail
            assert error.__name__ in caught.value.detail or "Assertion failed" in caught.value.detail


def test_object_that_a_type_rejects_is_passed_over_for_the_next_one() -> None:
    with make_deck() as deck:
        for type_ in types_that_raise(KeyError("x")):
            assert deck.decode('First {"x": 1}, then {"x": 2}.', type_).value.x == 2


def test_interruption_in_a_type_is_not_a_wrong_shape() -> None:
    with make_deck() as deck:
        for type_ in types_that_raise(KeyboardInterrupt()):
            with pytest.raises(KeyboardInterrupt):
                deck.decode('{"x": 1}', type_)
