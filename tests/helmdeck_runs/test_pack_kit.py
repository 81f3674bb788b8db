"""A typed function becomes a pack: its schemas, conversion, description and effects."""

import threading
from dataclasses import dataclass
from typing import Annotated, Literal, TypedDict

import attrs
import msgspec
import pydantic
import pytest

from helmdeck_core import PackContext, PackError, PackErrorCode, hookimpl
from helmdeck_runs import annotations_of, effect_hints, is_read_only, pack
from tests.case_support import each_case


class PydanticItem(pydantic.BaseModel):
    name: str
    count: int = 1

    @pydantic.field_validator("name")
    @classmethod
    def starts_in_lower_case(cls, value: str) -> str:
        if value[:1].isupper():
            raise ValueError("starts with a capital")
        return value


@attrs.frozen
class AttrsItem:
    name: str
    count: int = 1


class StructItem(msgspec.Struct):
    name: str
    count: int = 1


@dataclass
class DataclassItem:
    name: str
    count: int = 1


class DictItem(TypedDict):
    name: str
    count: int


@dataclass
class Basket:
    items: list[PydanticItem]


class Packs:
    def __init__(self, *packs):
        self.packs = packs

    @hookimpl
    def helmdeck_packs(self):
        return self.packs


@pytest.mark.parametrize("kind", [PydanticItem, AttrsItem, StructItem, DataclassItem, DictItem])
def test_types_of_every_library_are_input_and_output(deck_with, kind):
    async def double(item: kind) -> kind:
        """Double the count."""
        values = (item["name"], item["count"]) if kind is DictItem else (item.name, item.count)
        return kind(name=values[0], count=values[1] * 2)

    double.__annotations__ = {"item": kind, "return": kind}
    made = pack("t.double")(double)
    assert made.input_schema["properties"]["name"]["type"] == "string"
    assert made.input_schema["additionalProperties"] is False
    deck = deck_with(Packs(made))
    assert deck.run("t.double", {"name": "a", "count": 2}) == {"name": "a", "count": 4}
    with pytest.raises(PackError) as caught:
        deck.run("t.double", {"name": "a", "count": "two"})
    assert caught.value.code is PackErrorCode.INVALID_INPUT and "$.count" in caught.value.detail
    with pytest.raises(PackError, match="invalid_input"):
        deck.run("t.double", {"name": "a", "cuont": 2, "count": 1})


def test_plain_parameters_are_inputs_with_descriptions_and_defaults(deck_with):
    @pack("t.join", read_only=True, metadata={"produces": ["text"]})
    async def join(
        context: PackContext,
        words: list[str],
        mark: Literal["-", "+"] = "-",
        most: Annotated[int, msgspec.Meta(ge=1)] = 9,
    ) -> str:
        """Join words
        to one.

        More about it, for readers of the code.

        :param words: the words,
            in order.
        :raises PackError: never.
        """
        context.progress("joining", 0.5)
        return mark.join(words[:most])

    assert join.description == "Join words to one."
    assert join.input_schema == {
        "type": "object",
        "properties": {
            "words": {"type": "array", "items": {"type": "string"}, "description": "the words, in order."},
            "mark": {"enum": ["+", "-"]},
            "most": {"type": "integer", "minimum": 1},
        },
        "additionalProperties": False,
        "required": ["words"],
    }
    assert join.output_schema["required"] == ["result"]
    seen = []
    with deck_with(Packs(join)) as deck:
        assert deck.run("t.join", {"words": ["a", "b"]}, progress=seen.append) == {"result": "a-b"}
        assert deck.run("t.join", {"words": ["a", "b"], "mark": "+"}) == {"result": "a+b"}
    assert [(str(text), text.fraction) for text in seen] == [("joining", 0.5)]


def test_function_without_async_runs_in_a_worker_thread(deck_with):
    @pack("t.where")
    def where() -> dict:
        """Name the thread."""
        return {
            "is_main": threading.current_thread() is threading.main_thread(),
            "name": threading.current_thread().name,
        }

    assert where.output_schema == {}
    output = deck_with(Packs(where)).run("t.where", {})
    assert not output["is_main"] and "helmdeck-portal" not in output["name"]


def test_validators_of_models_reject_input_with_the_path(deck_with):
    @pack("t.count")
    async def count(basket: Basket, extra: list[PydanticItem] | None = None) -> int:
        """Count items."""
        return len(basket.items) + len(extra or ())

    deck = deck_with(Packs(count))
    assert deck.run("t.count", {"basket": {"items": [{"name": "a"}]}}) == {"result": 1}
    with pytest.raises(PackError) as caught:
        deck.run("t.count", {"basket": {"items": [{"name": "Apple"}]}, "extra": [{"name": "Bean"}]})
    assert caught.value.code is PackErrorCode.INVALID_INPUT
    assert "$.basket.items[0].name" in caught.value.detail and "$.extra[0].name" in caught.value.detail


def test_output_that_is_not_of_its_type_is_the_failure_of_the_pack(deck_with):
    @pack("t.wrong")
    async def wrong() -> StructItem:
        """Return something else."""
        return {"name": 3}

    with pytest.raises(PackError) as caught:
        deck_with(Packs(wrong)).run("t.wrong", {})
    assert caught.value.code is PackErrorCode.INVALID_OUTPUT


def no_annotation(text):
    """Do it."""


def no_docstring(text: str): ...


def no_schema(text: threading.Lock):
    """Do it."""


def no_names(*texts: str):
    """Do it."""


def two_types(item: AttrsItem, other: list[AttrsItem], third: StructItem):
    """Do it."""


@each_case(
    ("function", "problem"),
    [
        (no_annotation, "'text' has no annotation"),
        (no_docstring, "write a docstring"),
        (no_schema, "has no JSON Schema"),
        (no_names, "no name on the wire"),
    ],
)
def test_unusable_signature_is_an_error_at_definition(function, problem):
    with pytest.raises(TypeError, match=problem) as caught:
        pack("t.it")(function)
    assert "t.it" in str(caught.value)


def test_decorator_without_a_name_is_an_error_at_definition():
    with pytest.raises(TypeError, match=r'write @pack\("ticket.count"\) above the function'):
        pack(no_docstring)


def test_effects_are_annotations_of_the_catalog_entry():
    @pack("t.delete", destructive=True, idempotent=True, read_only=False)
    def delete(path: str):
        """Delete a file."""

    entry = delete.to_entry("packs")
    assert annotations_of(entry) == {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True}
    assert effect_hints(open_world=None) == {}
    assert not is_read_only(entry)
    assert not is_read_only(pack("t.it")(two_types_free).to_entry("packs")), "the worst case without annotations"
    assert is_read_only(pack("t.it", read_only=True)(two_types_free).to_entry("packs"))
    assert not is_read_only(pack("t.it", read_only=True, destructive=True)(two_types_free).to_entry("packs"))


def two_types_free(text: str):
    """Do it."""
