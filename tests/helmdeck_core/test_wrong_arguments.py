"""Arguments of the wrong type or name are errors that name them, never a silent default or a failure of a plugin."""

import json
import re

import pytest

from helmdeck_core import CallLimits, ChatRequest, CompletedStep, Helmdeck, Message, PackError, Role, TextPart, ToolCall
from helmdeck_testing import make_deck, scripted_provider
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
        (lambda deck: deck.ask("hello", system=5), "system must be of the type str, found int"),
        (lambda deck: deck.ask("hello", temperature="hot"), "temperature must be of the type int or float, found str"),
        (
            lambda deck: deck.decode(None, dict),
            "the answer must be of the type str or bytes or bytearray, found NoneType",
        ),
        (lambda deck: deck.rank(None), "the request must be of the type str, found NoneType"),
        (lambda deck: deck.select(b"hello"), "the request must be of the type str, found bytes"),
        (lambda deck: deck.explain(5), "the request must be of the type str, found int"),
        (lambda deck: deck.decode("{}", dict, 5), "stop_reason must be of the type str, found int"),
        (lambda deck: deck.tool_calls("{}", stop_reason=["x"]), "stop_reason must be of the type str, found list"),
        (lambda deck: deck.tool_calls(5), "the answer must be of the type str, found int"),
        (
            lambda deck: deck.tool_calls("{}", tools="web.search"),
            "tools must be a list of names or definitions, found 'web.search'",
        ),
        (lambda deck: deck.tool_calls("{}", tools=5), "tools must be a list of names or definitions, found 5"),
        (
            lambda deck: deck.tool_calls("{}", tools=[{}]),
            "a tool must be of the type str or ToolDefinition, found dict",
        ),
        (lambda deck: deck.tool_calls("{}", model=5), "model must be of the type str, found int"),
        (lambda deck: deck.decode("{}", dict, output_tokens="5"), "output_tokens must be of the type int, found str"),
        (lambda deck: deck.complete("hello", model=5), "model must be of the type str, found int"),
        (lambda deck: deck.budget(5), "model must be of the type str, found int"),
        (lambda deck: deck.plan("draft a post", defaults=[1]), "defaults must be of the type Mapping, found list"),
        (
            lambda deck: deck.explain("draft a post", done="web.search"),
            "done must be a list of steps, such as [CompletedStep(\"web.search\")], found 'web.search'",
        ),
        (lambda _: Helmdeck(file=5), "file must be of the type str or Path, found int"),
        (
            lambda _: Helmdeck(catalog_sources=5),
            "catalog_sources must be of the type str or Path or Iterable, found int",
        ),
        (
            lambda _: Helmdeck(environ={"HELMDECK_MODEL": 5}),
            "environ['HELMDECK_MODEL'] must be of the type str, found int",
        ),
        (lambda _: Helmdeck(overrides={5: 1}), "a key of overrides must be of the type str or tuple, found int"),
        (lambda _: Helmdeck(plugins={"mine": "my_plugin.py"}), "plugins['mine'] is a str; pass the plugin itself"),
        (lambda _: Helmdeck(plugins={"mine": None}), "plugins['mine'] is a NoneType; pass the plugin itself"),
        (lambda _: Helmdeck(plugins=[object()]), "plugins is a list; pass plugins by name, such as {"),
    ],
)
def test_argument_of_the_wrong_type_or_name_is_a_type_error(deck, call, text):
    with pytest.raises(TypeError) as caught:
        call(deck)
    assert text in str(caught.value)


@each_case(
    "call",
    [
        lambda deck, limits: deck.plan("draft a post", limits=limits),
        lambda deck, limits: deck.run("helmdeck.route", {"intent": "draft a post"}, limits=limits),
        lambda deck, limits: deck.ask("hello", limits=limits),
        lambda deck, limits: deck.complete("hello", limits=limits),
        lambda deck, limits: list(deck.stream("hello", limits=limits)),
    ],
)
def test_limits_of_another_type_are_a_type_error(deck, call):
    expected = "limits must be a CallLimits, such as CallLimits(max_attempts=3), found {'max_attempts': 3}"
    with pytest.raises(TypeError, match=re.escape(expected)):
        call(deck, {"max_attempts": 3})


@pytest.mark.parametrize("models", ["local/lexical", 5, ["local/lexical", 5]])
def test_fallbacks_that_are_not_a_list_of_models_are_an_error(models):
    with pytest.raises(ValueError, match="CallLimits.fallbacks: not a tuple of model ids, found "):
        CallLimits(fallbacks=models)


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


TEXT = "caf\udce9 or tea?"
PARTS = [
    {"role": "user", "content": "hello"},
    {"role": "assistant", "content": TEXT},
    {"role": "user", "content": "why"},
]
CALL = Message(Role.ASSISTANT, (), tool_calls=(ToolCall("1", "tide.look", TEXT),))


@each_case("method", ["ask", "complete", "stream"])
@each_case(
    ("request_", "place"),
    [
        (TEXT, "the request"),
        (PARTS, "messages[1]"),
        (Message(Role.USER, (TextPart(TEXT),)), "messages[0]"),
        (CALL, "messages[0].tool_calls[0].arguments"),
    ],
)
def test_undecodable_text_is_an_error_that_names_its_place_and_is_never_sent(method, request_, place):
    provider = scripted_provider(["hello"])
    if isinstance(request_, Message):
        request_ = [request_] if method == "ask" else ChatRequest(model="scripted/any", messages=(request_,))
    with make_deck(provider, model="scripted/any") as deck, pytest.raises(ValueError, match="surrogate") as caught:
        tuple(getattr(deck, method)(request_))
    assert str(caught.value).startswith(f"{place}: character 4 is the surrogate '\\udce9'") and not provider.requests


@each_case("name", ["output", "failure"])
def test_undecodable_outcome_of_an_executed_step_is_invalid_input(deck, name):
    done = [CompletedStep("blog.draft", "a draft"), CompletedStep("blog.draft", **{name: TEXT})]
    with pytest.raises(PackError, match=rf"invalid_input: done\[1\]\.{name}: character 4 is the surrogate"):
        deck.plan("publish the post", done=done)


@pytest.mark.parametrize("method", ["rank", "select", "explain"])
def test_undecodable_request_of_an_inspection_is_an_error(deck, method):
    with pytest.raises(ValueError, match="^the request: character 4 is the surrogate"):
        getattr(deck, method)(TEXT)


def test_undecodable_instructions_are_an_error(deck):
    with pytest.raises(ValueError, match="^system: character 1 is the surrogate"):
        deck.ask("hello", system="\udce9")
