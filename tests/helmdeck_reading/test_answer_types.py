"""Types of answers: what their own validation rejects, strict Pydantic models, and exact numbers."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import uuid
from typing import Any

import attrs
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmdeck_core import CallFailed
from helmdeck_reading import json_repair
from helmdeck_reading.decoder.json_decoder import JsonDecoder
from helmdeck_testing import make_deck
from tests.case_support import each_case
from tests.helmdeck_reading.test_ask import asking

pydantic = pytest.importorskip("pydantic")

DECODER = JsonDecoder([], json_repair.helmdeck_decode_steps())
ERRORS = [AssertionError, KeyError, ZeroDivisionError, TypeError, ValueError, RuntimeError, LookupError]


def ask(*questions: tuple[Any, str]) -> list[Any]:
    """The values of one reply for each type."""
    deck, _ = asking(*(reply for _, reply in questions))
    with deck:
        return [deck.ask("x", each).value for each, _ in questions]


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
    deck, provider = asking(*['{"x": 1}', '{"x": 9}'] * 4)
    with deck:
        assert [deck.ask("x", type_).value.x for type_ in types_that_raise(error("too small"))] == [9] * 4
    assert len(provider.requests) == 8


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


# -- JSON mode of Pydantic -------------------------------------------------------------------------------------------


class Color(enum.Enum):
    RED = "red"


FIELDS = [
    (datetime.date, "2024-02-29", datetime.date(2024, 2, 29)),
    (datetime.timedelta, "PT5M", datetime.timedelta(minutes=5)),
    (Color, "red", Color.RED),
    (tuple[int, str], [1, "a"], (1, "a")),
    (set[int], [1, 1], {1}),
    (decimal.Decimal, "1.50", decimal.Decimal("1.50")),
    (uuid.UUID, "12345678-1234-5678-1234-567812345678", uuid.UUID("12345678-1234-5678-1234-567812345678")),
    (bytes, "x", b"x"),
    (int, 2**70, 2**70),
]


@each_case(("type", "sent", "value"), FIELDS)
def test_strict_model_is_read_as_pydantic_reads_json(type: Any, sent: Any, value: Any) -> None:
    strict = pydantic.ConfigDict(strict=True)
    models = [
        pydantic.create_model("Strict", __config__=strict, field=(type, ...)),
        pydantic.create_model("StrictField", field=(type, pydantic.Field(strict=True))),
        pydantic.create_model("Lax", field=(type, ...)),
    ]
    reply = json.dumps({"field": sent})
    with make_deck() as deck:
        for model in models:
            assert deck.decode(reply, model).value.field == value
            assert deck.decode(f"[{reply}]", list[model]).value[0].field == value
            assert deck.decode(f'{{"x": {reply}}}', dict[str, model]).value["x"].field == value


def test_strict_model_rejects_other_types_with_the_path_of_the_field() -> None:
    inner = pydantic.create_model("Inner", __config__=pydantic.ConfigDict(strict=True), day=(datetime.date, ...))
    model = pydantic.create_model("Outer", days=(list[inner], ...))
    with (
        make_deck() as deck,
        pytest.raises(CallFailed, match=r"wrong shape at \$\.days\[1\]\.day: Input should be a valid date"),
    ):
        deck.decode('{"days": [{"day": "2024-02-29"}, {"day": 3}]}', model)


# -- exact numbers ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Invoice:
    total: decimal.Decimal


DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, places=6)


@settings(max_examples=25)
@given(DECIMALS)
def test_decimal_is_exact_in_every_place_of_an_answer(number: decimal.Decimal) -> None:
    text = f"{number:f}"
    invoice = Invoice(number)
    assert ask(
        (Invoice, f'{{"total": {text}}}'),
        (Invoice | None, f'{{"total": {text}}}'),
        (Invoice | None, f'{{"value": {{"total": {text}}}}}'),
        (decimal.Decimal, f'{{"value": {text}}}'),
        (decimal.Decimal, text),
        (list[decimal.Decimal], f'{{"value": [{text}]}}'),
        (list[decimal.Decimal], f"Sure: [{text}]"),
    ) == [invoice, invoice, invoice, number, number, [number], [number]]


def test_bare_list_is_read_before_the_object_in_it() -> None:
    reply = '[{"value": [{"x": 1}]}]'
    assert ask(
        (list[dict], reply),
        (list[dict], f"```json\n{reply}\n```"),
        (list[dict], "[{'value': [{'x': 1}]},]"),
        ({"type": "array"}, reply),
        (list[dict], '{"value": [{"x": 1}]}'),
        (list[int], '[{"value": [1]}]'),
        (list[dict], 'For [{"a": 0}] it is {"value": [{"x": 1}]}'),
    ) == [*[[{"value": [{"x": 1}]}]] * 4, [{"x": 1}], [1], [{"x": 1}]]


@dataclasses.dataclass
class Count:
    n: int
    share: float = 0.0
    text: str = ""


@given(st.integers(-(2**70), 2**70), st.integers(0, 3))
def test_number_without_a_fraction_is_an_integer(number: int, zeros: int) -> None:
    text = f"{number}.0{'0' * zeros}"
    reply = f'{{"n": {text}, "share": 1.0, "text": "is {text}"}}'
    for raw in (reply, f"```json\n{reply}\n```", f"{reply[:-1]},}}"):
        assert DECODER.decode(raw, Count).value == Count(number, 1.0, f"is {text}")


def test_number_with_a_fraction_or_in_quotes_is_not_an_integer() -> None:
    with make_deck() as deck:
        for text in ("42.5", "42.05", '"42.0"', "true"):
            with pytest.raises(CallFailed, match=r"wrong shape at \$\.n: expected int"):
                deck.decode(f'{{"n": {text}}}', Count)
    assert ask((int, '{"value": 42.0}'), (int, "42.0"), (list[int], "[1.0, 2]")) == [42, 42, [1, 2]]
