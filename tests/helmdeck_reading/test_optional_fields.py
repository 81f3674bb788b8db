"""Types without a required field: an object with none of their fields is not an empty value, but something else."""

from __future__ import annotations

import dataclasses
from typing import Any, TypedDict

import attrs
import msgspec
import pytest

from helmdeck_core import CallFailed
from helmdeck_testing import make_deck
from tests.case_support import each_case

pydantic = pytest.importorskip("pydantic")

DECK = make_deck()


class Model(pydantic.BaseModel):
    name: str | None = None
    age: int | None = None


@pydantic.dataclasses.dataclass
class ModelData:
    name: str | None = None
    age: int | None = None


@dataclasses.dataclass
class Data:
    name: str | None = None
    age: int | None = None


@attrs.define
class Attrs:
    name: str | None = None
    age: int | None = None


class Struct(msgspec.Struct):
    name: str | None = None
    age: int | None = None


class Fields(TypedDict, total=False):
    name: str
    age: int


TYPES = [Model, ModelData, Data, Attrs, Struct, Fields]
OTHERS = [
    '{"error": "the document cannot be read"}',
    '{"Person": {"name": "Ann", "age": 42}}',
    '{"Name": "Ann", "Age": 42}',
    '{"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}',
]
ANN = '{"name": "Ann", "age": 42}'


@each_case("type_", TYPES)
@each_case("text", OTHERS)
def test_object_without_any_of_the_optional_fields_is_a_wrong_shape_that_names_them(type_: Any, text: str) -> None:
    with pytest.raises(CallFailed, match="one of the fields (name, age|age, name)") as caught:
        DECK.decode(text, type_)
    assert caught.value.sub_cause == "wrong_shape"


@each_case("type_", TYPES)
@each_case("text", OTHERS)
@each_case("between", ["\n\n", " The answer: ", "\n```json\n"])
def test_object_without_any_of_the_optional_fields_is_passed_over(type_: Any, text: str, between: str) -> None:
    assert DECK.decode(f"{text}{between}{ANN}", type_).value == DECK.decode(ANN, type_).value


@each_case("type_", TYPES)
def test_empty_object_and_one_of_the_fields_are_values(type_: Any) -> None:
    assert DECK.decode("{}", type_).value == type_()
    assert DECK.decode('{"age": 42, "source": "passport"}', type_).value == type_(age=42)


def test_type_that_accepts_other_fields_accepts_an_object_of_them() -> None:
    class Open(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(extra="allow")
        name: str | None = None

    class Aliased(pydantic.BaseModel):
        name: str | None = pydantic.Field(None, validation_alias=pydantic.AliasChoices("full_name", "fullName"))

    class Tagged(msgspec.Struct, tag="cat"):
        lives: int = 9

    class Nothing(pydantic.BaseModel):
        pass

    assert DECK.decode('{"x": 1}', Open).value == Open(x=1)
    assert DECK.decode('{"fullName": "Ann"}', Aliased).value.name == "Ann"
    assert DECK.decode('{"type": "cat"}', Tagged).value == Tagged()
    assert DECK.decode('{"x": 1}', Nothing).value == Nothing()


def test_copy_of_a_json_schema_is_passed_over_for_the_answer() -> None:
    schema: Any = {"type": "object", "properties": {"name": {"type": "string"}}}
    copy = msgspec.json.encode(schema).decode()
    assert DECK.decode(f'{copy}\n\n{{"name": "Ann"}}', schema).value == {"name": "Ann"}
    with pytest.raises(CallFailed, match="not the schema itself"):
        DECK.decode(copy, schema)
    assert DECK.decode('{"other": 1}', schema).value == {"other": 1}, "the schema allows it, and nothing is lost"
