"""An answer inside one more object: under a common name, or as the arguments of a call; any other object is a wrong shape."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from helmdeck_core import CallFailed
from helmdeck_testing import make_deck
from tests.case_support import each_case
from tests.helmdeck_reading.test_ask import asking

DECK = make_deck()
ANN = '{"name": "Ann", "age": 42}'


class Person(msgspec.Struct):
    name: str
    age: int


class Maybe(msgspec.Struct):
    name: str | None = None
    age: int | None = None


WRAPPED = [
    f'{{"result": {ANN}}}',
    f'{{"Answer": {ANN}}}',
    f'Here it is:\n```json\n{{"data": {ANN}}}\n```',
    f'{{"response": {ANN}}}\n\nI hope this helps.',
    f'{{"name": "person", "arguments": {ANN}}}',
    '{"name": "person", "arguments": "{\\"name\\": \\"Ann\\", \\"age\\": 42}"}',
    f'<tool_call>{{"id": "c1", "type": "function", "function": "person", "parameters": {ANN}}}</tool_call>',
]


@each_case("text", WRAPPED)
def test_wrapped_answer_is_unwrapped_and_reported(text: str) -> None:
    found = DECK.decode(text, Person)
    assert (found.value, found.repairs) == (Person("Ann", 42), ("wrapper",))


@each_case(
    "text",
    [
        f'{{"error": {ANN}}}',
        f'{{"example": {ANN}}}',
        f'{{"result": {ANN}, "status": "draft"}}',
        f'{{"result": {{"result": {ANN}}}}}',
        f'{{"name": "person", "arguments": {ANN}, "cancelled": true}}',
        '{"result": {"name": "Ann"}}',
    ],
)
def test_object_within_another_object_is_not_the_answer(text: str) -> None:
    with pytest.raises(CallFailed) as caught:
        DECK.decode(text, Person)
    assert caught.value.sub_cause == "wrong_shape"


def test_damaged_wrapper_is_repaired_first() -> None:
    found = DECK.decode("{'result': {'name': 'Ann', 'age': 42,}}", Person)
    assert (found.value, found.repairs[-1]) == (Person("Ann", 42), "wrapper")


def test_object_that_fits_comes_before_a_wrapped_one_and_a_plain_dict_is_never_unwrapped() -> None:
    text = f'{{"result": {ANN}}}\n{{"name": "Bob", "age": 7}}'
    assert DECK.decode(text, Person).value == Person("Bob", 7)
    assert DECK.decode(f'{{"result": {ANN}}}', dict).value == {"result": {"name": "Ann", "age": 42}}


def test_damaged_object_comes_before_a_wrapped_one() -> None:
    others = '{"x": 1}\n' * 12
    assert DECK.decode(others + '{"name": "Bob", "age": 7,}', Person).value == Person("Bob", 7)
    assert DECK.decode(f'{{"result": {ANN}}}\n{{"name": "Bob", "age": 7,}}', Person).value == Person("Bob", 7)


def test_truncated_wrapper_is_not_a_value() -> None:
    for text in (f'{{"result": {ANN}', f'{{"result": {ANN[:-1]}'):
        with pytest.raises(CallFailed):
            DECK.decode(text, Person)


def test_wrapper_of_optional_fields_is_not_an_empty_value() -> None:
    assert DECK.decode(f'{{"result": {ANN}}}', Maybe).value == Maybe("Ann", 42)


@each_case("type_, text", [(list[Person], f'{{"items": [{ANN}]}}'), (list[Person], f'{{"results": [{ANN}]}}')])
def test_wrapped_list_is_read_as_the_requested_list(type_: Any, text: str) -> None:
    assert DECK.decode(text, type_).value == [Person("Ann", 42)]
    deck, _ = asking(text)
    with deck:
        assert deck.ask("who?", type_).value == [Person("Ann", 42)]
