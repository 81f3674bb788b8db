"""Arguments of the wrong type or name are errors that name them, never a silent default or a failure of a plugin."""

import json

import pytest

from helmdeck_core import CompletedStep, Helmdeck, PackError
from tests.case_support import each_case

OPTION = "there is no option 'modle' (did you mean 'model'?)"


@pytest.fixture(scope="module")
def deck():
    with Helmdeck(model="local/lexical", environ={}, autoload=False) as deck:
        yield deck


@each_case(
    ("call", "text"),
    [
        (lambda deck: deck.ask("hello", modle="acme/large"), OPTION),
        (lambda deck: deck.chat_request("hello", modle="acme/large"), OPTION),
        (lambda deck: deck.ask("hello", unheard_of=1), "'unheard_of'; options: system, images, model, temperature, "),
        (lambda deck: deck.ask("hello", system=5), "system must be a string, found int"),
        (lambda deck: deck.ask("hello", temperature="hot"), "temperature must be a number, found str"),
        (
            lambda deck: deck.decode(None, dict),
            "the answer must be of the type str or bytes or bytearray, found NoneType",
        ),
        (lambda deck: deck.rank(None), "the request must be of the type str, found NoneType"),
        (lambda deck: deck.select(b"hello"), "the request must be of the type str, found bytes"),
        (lambda deck: deck.explain(5), "the request must be of the type str, found int"),
        (lambda _: Helmdeck(plugins=[object()]), "plugins is a list; pass plugins by name, such as {"),
    ],
)
def test_argument_of_the_wrong_type_or_name_is_a_type_error(deck, call, text):
    with pytest.raises(TypeError) as caught:
        call(deck)
    assert text in str(caught.value)


@each_case(
    ("call", "text"),
    [
        (
            lambda deck: deck.run("blog.draft", ["brief"]),
            "blog.draft: invalid_input: the arguments are an object, such as a dict, found list",
        ),
        (
            lambda deck: deck.plan("draft a post", defaults={1: 2}),
            "invalid_input: defaults: the names of inputs are strings",
        ),
        (
            lambda deck: deck.explain("draft a post", done=[CompletedStep("blog.drft")]),
            "no entry 'blog.drft' (did you mean 'blog.draft'?)",
        ),
    ],
)
def test_input_of_the_wrong_type_is_invalid_input(deck, call, text):
    with pytest.raises(PackError) as caught:
        call(deck)
    assert text in str(caught.value)


def test_answer_may_be_a_bytearray(deck):
    assert deck.decode(bytearray(json.dumps({"a": 1}).encode()), dict).value == {"a": 1}
