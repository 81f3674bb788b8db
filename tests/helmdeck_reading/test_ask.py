"""``deck.ask``: text, typed answers of every supported type, conversations, images, and what is refused."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import inspect
import typing
from typing import Any, Literal, TypedDict

import attrs
import msgspec
import pytest

from helmdeck_core import (
    AnswerFormat,
    AnswerType,
    CallFailed,
    CallLimits,
    ChatRequest,
    ChatResponse,
    Helmdeck,
    ImagePart,
    Message,
    ProviderSpec,
    Role,
    StopReason,
    TextPart,
    WrongShape,
)
from helmdeck_testing import StubProvider, make_deck, plugin_with
from tests.case_support import each_case

pydantic = pytest.importorskip("pydantic")

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8


class Line(pydantic.BaseModel):
    text: str
    price: float


class Invoice(pydantic.BaseModel):
    number: int = pydantic.Field(description="the number at the top")
    lines: list[Line]


@dataclasses.dataclass
class Person:
    name: str
    age: int = 0


@attrs.define
class City:
    name: str
    size: int = attrs.field(validator=attrs.validators.gt(0))


class Point(msgspec.Struct):
    x: float
    y: float


class Ticket(TypedDict):
    title: str
    urgent: bool


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}, "required": ["n"]}


def asking(*replies: Any, plugins: tuple[object, ...] = (), **config: Any) -> tuple[Helmdeck, StubProvider]:
    """A deck with one model that gives the replies in order."""
    provider = StubProvider(*replies)
    spec = ProviderSpec(name="acme", open=lambda settings, context: provider)
    base = {"model": "acme/small", "recovery": {"backoff_s": 0.001}}
    return make_deck(plugin_with(helmdeck_providers=[spec]), *plugins, config=base | config), provider


def test_answer_without_a_type_is_text_with_the_facts_of_the_call():
    deck, provider = asking("Paris.")
    with deck:
        answer = deck.ask("What is the capital of France?")
    assert (answer.value, answer.model, len(answer.attempts)) == ("Paris.", "acme/small", 1)
    assert answer.call_id and answer.cost_usd is None
    (request,) = provider.requests
    assert request.messages == (Message(Role.USER, (TextPart("What is the capital of France?"),)),)
    assert request.response_format is None


TYPED = [
    (
        Invoice,
        '{"number": 7, "lines": [{"text": "a", "price": 1.5}]}',
        Invoice(number=7, lines=[Line(text="a", price=1.5)]),
    ),
    (list[Line], '{"value": [{"text": "a", "price": 2}]}', [Line(text="a", price=2)]),
    (Line | None, '{"value": null}', None),
    (Person, '{"name": "Ada", "age": 36}', Person("Ada", 36)),
    (City, '{"name": "Oslo", "size": 9}', City("Oslo", 9)),
    (Point, '{"x": 1, "y": 2}', Point(1, 2)),
    (Ticket, '{"title": "t", "urgent": true}', {"title": "t", "urgent": True}),
    (dict, '{"a": [1]}', {"a": [1]}),
    (dict[str, int], '{"a": 1}', {"a": 1}),
    (list[Person], '{"value": [{"name": "Ada"}]}', [Person("Ada")]),
    (list[str], '{"value": ["a"]}', ["a"]),
    (Literal["yes", "no"], '{"value": "no"}', "no"),
    (Color, '{"value": "red"}', Color.RED),
    (int, '{"value": 42}', 42),
    (bool, '{"value": false}', False),
    (int | str, '{"value": "x"}', "x"),
    (SCHEMA, '{"n": 3}', {"n": 3}),
    ({"type": "array", "items": {"type": "integer"}}, '{"value": [1, 2]}', [1, 2]),
]


@pytest.mark.parametrize(("type", "reply", "value"), TYPED, ids=lambda each: str(each)[:30])
def test_value_has_the_requested_type(type, reply, value):
    deck, provider = asking(f"Here it is:\n```json\n{reply}\n```")
    with deck:
        answer = deck.ask("read the invoice", type)
    assert answer.value == value
    system, user = provider.requests[0].messages
    assert "JSON Schema" in system.text and user.text == "read the invoice"


def test_descriptions_of_fields_reach_the_model_and_the_constraint():
    deck, provider = asking('{"number": 7, "lines": []}', budgets={"acme/": {"tier": "A", "wants_strict_json": True}})
    with deck:
        deck.ask("read it", Invoice)
    (request,) = provider.requests
    assert "the number at the top" in request.messages[0].text
    (form,) = request.response_format.offer.forms
    assert form.schema["properties"]["number"]["description"] == "the number at the top"


def test_answer_that_repeats_an_item_up_to_the_limit_is_requested_again_with_bounded_lists_and_strings():
    looped = '{"number": 7, "lines": [' + '{"text": "a bag of red apples", "price": 1.5}, ' * 12
    replies = [ChatResponse(text=looped, stop_reason=StopReason.MAX_TOKENS), '{"number": 7, "lines": []}']
    deck, provider = asking(*replies, budgets={"acme/": {"tier": "A", "wants_strict_json": True}})
    with deck:
        answer = deck.ask("read it", Invoice)
    first, second = (request.response_format.offer.forms[0].schema for request in provider.requests)
    assert "maxItems" not in first["properties"]["lines"] and second["properties"]["lines"]["maxItems"] == 23
    assert "lists and strings bounded" in answer.attempts[1].changed
    assert "bounded" in answer.response.downgrades[0]


def test_truncated_typed_answer_of_a_weak_model_is_not_continued_without_its_schema_but_bounded():
    cut = ChatResponse(text='{"number": 7, "lines": [{"text": "a", "price": 1}, ', stop_reason=StopReason.MAX_TOKENS)
    weak = {"acme/": {"tier": "C", "enforces_schema": True}}
    deck, provider = asking(cut, '{"number": 7, "lines": []}', budgets=weak)
    with deck:
        assert "lists and strings bounded" in deck.ask("read it", Invoice).attempts[1].changed
    assert [request.response_format.offer.is_bounded for request in provider.requests] == [False, True]


@pytest.mark.parametrize(
    ("type", "reply", "value"),
    [
        (list[int], "[1, 2, 3]", [1, 2, 3]),
        (list[Line], 'Sure: [{"text": "a", "price": 1}]', [Line(text="a", price=1)]),
        (Literal["yes", "no"], "yes", "yes"),
        (Literal["yes", "no"], '"yes"', "yes"),
        (int, " 42\n", 42),
        (int | None, "null", None),
        (Line | None, "```json\nnull\n```", None),
        (int, "```\n42\n```", 42),
        (Literal["yes", "no"], '<think>x</think>\n```json\n"yes"\n```\n', "yes"),
        (Literal["yes", "no"], "```\nyes\n```", "yes"),
        (str | None, "```\nyes\n```", "```\nyes\n```"),
    ],
)
def test_bare_value_is_accepted_where_the_model_leaves_the_object_out(type, reply, value):
    deck, _ = asking(reply)
    with deck:
        assert deck.ask("x", type).value == value


def test_truncated_bare_value_is_not_a_value():
    cut = ChatResponse(text="4", stop_reason=StopReason.MAX_TOKENS)
    deck, _ = asking(*[cut] * 8)
    with deck, pytest.raises(CallFailed):
        deck.ask("how many?", int)


@pytest.mark.parametrize(
    ("type", "reply", "path"),
    [
        (Invoice, '{"number": "many", "lines": []}', "$.number"),
        (list[Line], '{"value": [{"text": "a"}]}', "$.value[0].price"),
        (SCHEMA, '{"n": 2}', "$.n"),
        (Person, '{"name": 3}', "$.name"),
        (Literal["yes", "no"], '{"value": "maybe"}', "$.value"),
    ],
)
def test_value_of_the_wrong_shape_is_a_failure_that_names_the_field(type, reply, path):
    deck, _ = asking(*[reply] * 8)
    with deck, pytest.raises(CallFailed) as caught:
        deck.ask("x", type)
    assert caught.value.sub_cause == "wrong_shape" and f"wrong shape at {path}: " in caught.value.detail
    assert str(caught.value).startswith("ask: ")


def test_wrong_shape_is_recovered_from_with_another_request():
    deck, provider = asking('{"number": "many", "lines": []}', '{"number": 1, "lines": []}')
    with deck:
        answer = deck.ask("x", Invoice)
    assert answer.value.number == 1 and len(answer.attempts) == 2 == len(provider.requests)
    assert answer.attempts[1].changed == ("no strict JSON, schema in the prompt", "the problem in the prompt")
    assert "rejected: the answer has the wrong shape at $.number" in provider.requests[1].messages[-1].text


class Unsupported:
    pass


@pytest.mark.parametrize("type", [Unsupported, object(), complex, "Invoice", list[Unsupported]])
def test_unsupported_type_is_a_type_error_that_lists_the_supported_ones(type):
    deck, provider = asking("x")
    with deck, pytest.raises(TypeError, match=r"supported: str; .*JSON Schema.*Pydantic models.*dataclasses"):
        deck.ask("x", type)
    assert provider.requests == []


def test_malformed_json_schema_is_an_error_that_names_the_place():
    deck, _ = asking("x")
    with deck, pytest.raises(ValueError, match=r"malformed at \$\.properties\.n\.type: 'strng'"):
        deck.ask("x", {"type": "object", "properties": {"n": {"type": "strng"}}})


def test_conversation_as_dicts_keeps_its_order_and_its_system_message():
    deck, provider = asking("Blue.", '{"value": "blue"}')
    talk = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "My favourite colour is blue."},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": [{"type": "text", "text": "Which one was it?"}]},
    ]
    with deck:
        assert deck.ask(talk, system="Answer in English.").value == "Blue."
        assert deck.ask(talk, Color).value is Color.BLUE
    text, typed = provider.requests
    roles = [Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.USER]
    assert [message.role for message in text.messages] == [message.role for message in typed.messages] == roles
    assert text.messages[0].text == "Answer in English.\n\nBe brief."
    assert typed.messages[0].text.startswith("Be brief.\n\n") and typed.messages[3].text == "Which one was it?"


@pytest.mark.parametrize(
    ("request_", "error", "words"),
    [
        (3, TypeError, "must be a string, a ChatRequest or a list of messages, found int"),
        ({"role": "user"}, TypeError, "found dict"),
        ([], ValueError, "the list of messages is empty"),
        ([{"role": "usr", "content": "x"}], ValueError, r"messages\[0\]\.role: expected one of system, user"),
        ([{"role": "user", "content": 5}], TypeError, r"messages\[0\]\.content: must be a string or a list"),
        ([{"role": "user", "content": [{"type": "audio"}]}], ValueError, r"messages\[0\]\.content\[0\]: expected"),
        ([{"role": "assistant", "content": "x"}], ValueError, "the last message must have the role user"),
        (
            [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "/etc/passwd"}}]}],
            ValueError,
            "https:",
        ),
        (["x"], TypeError, r"messages\[0\]: a message must be a Message or a dict, found str"),
    ],
)
def test_unusable_request_is_an_error_that_names_the_part(request_, error, words):
    deck, provider = asking("x")
    with deck, pytest.raises(error, match=words):
        deck.ask(request_)
    assert provider.requests == []


def test_images_are_sent_with_their_media_type(tmp_path):
    path = tmp_path / "scan"
    path.write_bytes(PNG)
    deck, provider = asking("a", "b")
    with deck:
        deck.ask("what is this?", images=[path, b"\xff\xd8\xff\xe0", "https://example.org/a.webp"])
        with pytest.raises(ValueError, match="the bytes: not a PNG, JPEG, GIF or WebP image"):
            deck.ask("what is this?", images=b"text")
        deck.ask("what is this?", images="data:image/gif;base64,R0lGODlh")
    first, second = (request.messages[0].parts[1:] for request in provider.requests)
    assert [(part.media_type, part.url) for part in first] == [
        ("image/png", None),
        ("image/jpeg", None),
        ("", "https://example.org/a.webp"),
    ]
    assert second == (ImagePart("image/gif", b"GIF89a"),)


def test_model_and_limits_of_the_call_apply():
    deck, provider = asking("", "b")
    with deck:
        with pytest.raises(CallFailed) as caught:
            deck.ask("x", limits=CallLimits(max_attempts=1))
        assert len(caught.value.attempts) == 1
        assert deck.ask("x", model="acme/other").model == "acme/other"
    assert [request.model for request in provider.requests] == ["acme/small", "acme/other"]


def test_third_party_type_is_one_contribution():
    def format_of(type: Any) -> AnswerFormat[complex] | None:
        if type is not complex:
            return None

        def parse(value: Any) -> complex:
            try:
                return complex(value["re"], value["im"])
            except KeyError as exc:
                raise WrongShape(f"$.{exc.args[0]}", "required property is missing") from exc

        return AnswerFormat(schema={"type": "object"}, decode_as=dict, parse=parse)

    kind = AnswerType(name="complex", description="complex", format_of=format_of)
    deck, _ = asking('{"re": 1, "im": 2}', plugins=(plugin_with("two", helmdeck_answer_types=[kind]),))
    with deck:
        assert deck.ask("x", complex).value == 1 + 2j


def test_complete_and_stream_take_a_string_and_messages():
    deck, provider = asking("a", "b", "c")
    with deck:
        assert deck.complete("hello").text == "a"
        assert deck.complete([{"role": "user", "content": "hello"}], model="acme/other").text == "b"
        *deltas, response = deck.stream("hello")
    assert "".join(delta.text for delta in deltas) == response.text == "c"
    assert [request.model for request in provider.requests] == ["acme/small", "acme/other", "acme/small"]


def test_format_of_a_type_is_determined_once_for_all_decodings():
    determined = []

    def format_of(type):
        determined.append(type)
        return AnswerFormat(schema={"type": "object"}, decode_as=dict, parse=lambda data: complex(data["re"], 0))

    kind = AnswerType(name="complex", description="complex", format_of=format_of, order=-1)
    deck, _ = asking(plugins=(plugin_with("two", helmdeck_answer_types=[kind]),))
    with deck:
        assert [deck.decode('{"re": 1}', complex).value for _ in range(3)] == [1] * 3
        assert [deck.decode('{"re": 1}', {"type": "object"}).value for _ in range(2)] == [1] * 2
    assert determined == [complex, *[{"type": "object"}] * 2], "a schema is a dict, which cannot be a key"


def test_decode_reads_the_same_types():
    deck, _ = asking()
    with deck:
        assert deck.decode('{"number": 1, "lines": []}', Invoice).value == Invoice(number=1, lines=[])
        assert deck.decode('[{"text": "a", "price": 1}]', list[Line]).value == [Line(text="a", price=1)]
        assert deck.decode('{"n": 4}', SCHEMA).value == {"n": 4}
        with pytest.raises(CallFailed, match=r"wrong shape at \$\.number"):
            deck.decode('{"number": "x", "lines": []}', Invoice)
        assert deck.decode('{"n": 1} {"n": 2}', dict, fits=lambda value: value["n"] == 2).value == {"n": 2}
        with pytest.raises(TypeError, match="supported: str"):
            deck.decode("{}", Unsupported)


BLOCKING = ["plan", "route", "run", "complete", "ask", "models"]


@each_case("name", BLOCKING)
def test_blocking_methods_have_the_signature_of_the_coroutines(name):
    sync, coroutine = getattr(Helmdeck, name), getattr(Helmdeck, f"a{name}")
    assert inspect.signature(sync) == inspect.signature(coroutine)
    assert sync.__name__ == name and f"``a{name}``" in sync.__doc__
    assert not inspect.iscoroutinefunction(sync) and inspect.iscoroutinefunction(coroutine)


def test_ask_works_inside_an_event_loop():
    deck, _ = asking('{"value": 1}')

    async def main() -> int:
        async with deck:
            return (await deck.aask("x", int)).value

    assert asyncio.run(main()) == 1


def test_type_checkers_see_the_type_of_the_value():
    overloads = typing.get_overloads(Helmdeck.ask)
    returned = [each.__annotations__["return"] for each in overloads]
    assert returned == ["Answer[str]", "Answer[T]", "Answer[Any]"]
    assert [each.__annotations__["return"] for each in typing.get_overloads(Helmdeck.aask)] == returned
    assert ChatRequest.__name__ in inspect.signature(Helmdeck.complete).parameters["request"].annotation
