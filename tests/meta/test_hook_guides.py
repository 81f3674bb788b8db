"""Every hook has a guide with a short example, and the examples change what a deck does."""

import ast
import asyncio
import importlib
import re
import sys
from pathlib import Path

import pytest

from helmdeck_core import (
    CallFailed,
    ChatRequest,
    ChatResponse,
    ConstrainedDeadlock,
    Message,
    ProviderSpec,
    RateLimited,
    Role,
    StopReason,
    TextPart,
    Tier,
    ToolCall,
    WrongShape,
)
from helmdeck_core.hooks.contributions import hook_specifications
from helmdeck_runs import Run
from helmdeck_testing import Reply, StubProvider, make_deck, plugin_with, scripted_provider
from tests.case_support import each_case

DOCS = Path(__file__).resolve().parents[2] / "docs"
EXAMPLES = DOCS / "examples"
sys.path += [str(EXAMPLES)]

MAX_LINES = 30
"""Lines of an example without docstrings and blank lines."""
LONGER = {
    "acme_provider.py",
    "acme_runs.py",
    "acme_stream.py",
    "acme_transport.py",
    "acme_commands.py",
    "ticket_pack.py",
}
"""Examples of hooks that need a server, options or prompts."""


ONCE = {"recovery": {"max_attempts": 1}, "agent": {"continuation_max_attempts": 0}}


def example(name):
    return importlib.import_module(name)


# -- completeness ----------------------------------------------------------------------------------------------


def guides():
    text = (DOCS / "README.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `(helmdeck_\w+)` \| \[[^\]]+\]\(([^)#]+)", text, re.MULTILINE))


def test_the_index_names_a_guide_for_every_hook():
    assert list(guides()) == list(hook_specifications())


@each_case("hook", hook_specifications())
def test_the_guide_of_a_hook_implements_it(hook):
    text = (DOCS / guides()[hook]).read_text(encoding="utf-8")
    assert re.search(rf"^ *@hookimpl.*\n *def {hook}\(", text, re.MULTILINE)


def code_lines(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)]
    without = {number for node in texts for number in range(node.lineno, node.end_lineno + 1)}
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    return sum(1 for number, line in lines if line.strip() and number not in without)


@each_case("path", [pytest.param(path, id=path.name) for path in sorted(EXAMPLES.glob("acme_*.py"))])
def test_examples_of_plugins_are_short(path):
    assert path.name in LONGER or code_lines(path) < MAX_LINES


# -- models ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "error", "failure"),
    [
        (400, {"code": "E1042", "message": "no"}, RateLimited),
        (400, {"message": "All seats are taken."}, RateLimited),
        (429, {"code": "E2001", "message": "no"}, CallFailed),
    ],
)
def test_error_rules_apply_to_the_named_provider_only(chat_server, deck_with, status, error, failure):
    server = chat_server(lambda body: (status, {}, {"error": error}))
    there = {"kind": "openai-compatible", "base_url": server.base_url}
    config = {"providers": {"gateway": there, "other": there}, **ONCE}
    deck = deck_with(example("acme_vendor"), config=config)

    def raised(model):
        with pytest.raises(CallFailed) as caught:
            deck.ask("hello", model=model)
        return caught.value

    assert isinstance(raised("gateway/m"), failure)
    assert type(raised("other/m")) is not type(raised("gateway/m"))


def test_keys_of_the_vendor_are_redacted_although_the_deck_has_none(deck_with):
    key = f"acme-{'0123456789abcdef' * 2}"
    for plugins, is_shown in (((), True), ((example("acme_vendor"),), False)):
        failing = scripted_provider([Reply("no JSON, " + key)])
        deck = deck_with(failing, *plugins, model="scripted/any", config=ONCE)
        with pytest.raises(CallFailed) as caught:
            deck.ask("hello", dict[str, int])
        assert (key in caught.value.excerpt) == is_shown


def test_tier_defaults_and_weights_apply(deck_with):
    moved = {"budgets": {"openai/gpt-4o": {"tier": "C"}}}
    deck = deck_with(example("acme_tiers"), config=moved)
    selection = deck.select("draft a blog post", model="openai/gpt-4o")
    assert (selection.cap, len(selection.catalog)) == (6_000, 6)
    assert deck.runtime.weights["history.gain"] == 0 < deck_with().runtime.weights["history.gain"]
    assert deck.budget("openai/gpt-4o").budget.tier is Tier.C


def test_the_most_specific_row_decides_whether_a_model_supports_prefill(deck_with):
    texts = ["Een, twee", "Natuurlijk, hier is de rest:\n, drie, vier."]
    for plugins, expected in (((example("acme_continuation"),), "Een, twee, drie, vier."), ((), "".join(texts))):
        script = scripted_provider([Reply(texts[0], stop_reason="length"), Reply(texts[1])])
        assert deck_with(script, *plugins, model="scripted/any").ask("Tel tot vier.").value == expected
    rows = example("acme_continuation").helmdeck_native_continuations()
    assert [(row.prefix, row.is_taken) for row in rows] == [("acme/", True), ("acme/chat-", False)]


def test_the_contributed_merger_joins_whole_texts_and_streams(deck_with):
    merger = example("acme_merger").Overlap()
    used = deck_with(example("acme_merger")).runtime.merger
    assert used.merge("A", "A a continuation: no announcement").added == " a continuation: no announcement"
    stream = merger.stream("One, two, th")
    assert [stream.feed("two, "), stream.feed("three"), stream.finish()] == ["", "", "ree"]
    assert merger.merge("One, tw", "two, three").text == "One, two, three"
    assert [merged.added for merged in merger.alternatives("ab", "bc")] == ["c", "bc"]


# -- prompts ---------------------------------------------------------------------------------------------------


def test_a_variant_without_rendering_uses_the_built_in_one(answering):
    config = {"budgets": {"fake/own": {"prompt_variant": "acme_brief"}}}
    good = '{"steps":[{"order":1,"tool":"blog.draft","args":{"brief":"b"},"rationale":"r"}],"reasoning":"x"}'
    deck, provider = answering(good, beside=(example("acme_prompts"),), config=config)
    sent = [deck.explain("draft a post", model=model, context="c").messages for model in ("fake/own", "fake/any")]
    assert sent[0][-1].text.endswith(tail := sent[1][-1].text[-60:]) and "draft a post" in tail
    assert sent[0][0].text.startswith(example("acme_prompts").BRIEF) and not sent[1][0].text.startswith("Turn")
    assert deck.plan("draft a post", model="fake/own").steps[0].tool == "blog.draft"
    assert provider.requests[-1].messages == deck.explain("draft a post", model="fake/own").messages


def test_the_contributed_text_describes_the_problem_of_a_retry(answering):
    deck, provider = answering('{"a": "x"}', '{"a": 1}', beside=(example("acme_prompts"),), model="fake/any")
    assert deck.ask("count", dict[str, int]).value == {"a": 1}
    assert "Rejected: " in provider.requests[-1].messages[-1].text
    assert "Correct only that" in provider.requests[-1].messages[-1].text


# -- answers ---------------------------------------------------------------------------------------------------


def test_the_contributed_kind_of_types_is_requested_and_parsed(answering):
    answers = example("acme_answers")
    deck, provider = answering('{"celsius": -400}', '{"celsius": 21}', beside=(answers,), model="fake/any")
    assert deck.ask("How warm is it?", answers.Celsius).value.celsius == 21
    assert '"celsius"' in provider.requests[0].messages[0].text
    assert "at least -273.15" in provider.requests[-1].messages[-1].text
    assert deck.decode('{"celsius": 3}', answers.Celsius).value.celsius == 3
    with pytest.raises(WrongShape):
        answers.Celsius.from_json({"celsius": "warm"})
    with make_deck() as other, pytest.raises(TypeError):
        other.ask("How warm is it?", answers.Celsius)


def test_the_contributed_reader_takes_pairs(answering):
    deck, provider = answering("It is blue.", beside=(example("acme_inputs"),), model="fake/any")
    assert (
        deck.ask([("user", "My colour is blue."), ("assistant", "Noted."), ("user", "Which?")]).value == "It is blue."
    )
    assert [message.role.value for message in provider.requests[0].messages] == ["user", "assistant", "user"]
    assert deck.ask("Which?").value == "It is blue."
    with pytest.raises(TypeError, match="images are not supported"):
        deck.ask("Which?", images=b"\x89PNG\r\n")


def test_a_refusal_in_the_contributed_language_is_reported_as_one(deck_with):
    answer = "Helaas, ik kan u daar niet mee helpen."
    for plugins, sub_cause in (((), "no_json"), ((example("acme_reading"),), "refusal")):
        with pytest.raises(CallFailed) as caught:
            deck_with(*plugins).decode(answer, dict)
        assert caught.value.sub_cause == sub_cause


def test_the_contributed_decoder_repairs_nothing(deck_with):
    deck = deck_with(example("acme_decoder"))
    assert deck.decode('{"a": 1}', dict).value == {"a": 1}
    for text, sub_cause in (('{"a": 1,}', "malformed"), ("", "malformed")):
        with pytest.raises(ConstrainedDeadlock) as caught:
            deck.decode(text, dict)
        assert caught.value.sub_cause == sub_cause
    with pytest.raises(ConstrainedDeadlock, match="requested JSON"):
        deck.decode('{"a": 1}', dict, fits=lambda value: "b" in value)


def response(stop, *calls):
    return ChatResponse(text="", tool_calls=calls, stop_reason=stop)


def test_the_contributed_reader_executes_complete_native_calls_only(deck_with):
    deck = deck_with(example("acme_reader"))
    good, bad = ToolCall("1", "search", '{"q": "tides"}'), ToolCall("2", "search", '{"q": "ti')
    assert deck.tool_calls('<tool_call>{"name": "search", "arguments": {}}</tool_call>').calls == ()
    found = deck.tool_calls(response(StopReason.TOOL_CALL, good))
    assert [(call.call.name, dict(call.args)) for call in found.calls] == [("search", {"q": "tides"})]
    cut = deck.tool_calls(response(StopReason.MAX_TOKENS, good, bad))
    assert (cut.calls, len(cut.withheld), [broken.id for broken in cut.broken]) == ((), 1, ["2"])


# -- history ---------------------------------------------------------------------------------------------------


def test_the_contributed_store_keeps_the_plans_of_each_caller(deck_with):
    deck = deck_with(example("acme_history"), config={"history": {"url": "memory:"}})
    deck.plan("draft a blog post about tides", caller="ada")
    (record,) = deck.history.records("ada")
    assert ([step.tool for step in record.steps], deck.history.records("bob")) == (["blog.draft"], ())
    store = example("acme_history").Memory("", keep_days=0)
    store.add(record)
    assert store.plans("ada") == ()


# -- other examples --------------------------------------------------------------------------------------------


def test_the_tool_loop_executes_complete_calls_only_and_ends():
    loop = example("tool_loop")
    good = ToolCall("c1", "get_weather", '{"city": "Oslo"}')
    turns = [Reply(tool_calls=(good,), stop_reason="tool_calls"), Reply("Cold.")]
    with make_deck(script := scripted_provider(turns), model="scripted/any") as deck:
        assert loop.answer(deck, "Is it cold in Oslo?") == "Cold."
    assert [message.text for message in script.requests[1].messages][-1] == "3 degrees Celsius in Oslo"
    assert script.requests[0].tools == loop.TOOLS
    wrong = Reply(tool_calls=(ToolCall("c1", "get_wether", "{}"),), stop_reason="tool_calls")
    with make_deck(script := scripted_provider([wrong, *turns]), model="scripted/any") as deck:
        assert loop.answer(deck, "Is it cold in Oslo?") == "Cold."
    assert "did you mean 'get_weather'" in script.requests[1].messages[-1].text
    with (
        make_deck(scripted_provider([wrong] * 2), model="scripted/any", config=ONCE) as deck,
        pytest.raises(CallFailed),
    ):
        loop.answer(deck, "Is it cold in Oslo?")
    endless = scripted_provider([turns[0]] * loop.MAX_TURNS)
    with make_deck(endless, model="scripted/any") as deck, pytest.raises(RuntimeError, match="no answer after 8 turns"):
        loop.answer(deck, "Is it cold in Oslo?")


def test_router_example_uses_the_routes_in_turn(monkeypatch):
    monkeypatch.setenv("KEY_A", "first")
    monkeypatch.setenv("KEY_B", "second")

    class Echo(StubProvider):
        def __init__(self, settings):
            super().__init__(settings.api_key())

    provider = ProviderSpec(name="echo", open=lambda settings, _: Echo(settings))
    config = {"providers": {"echo": {"api_keys": ["env:KEY_A", "env:KEY_B"], "routing": "round-robin"}}}
    request = ChatRequest(model="echo/any", messages=(Message(Role.USER, (TextPart("go"),)),))
    with make_deck(example("acme_router"), plugin_with(helmdeck_providers=[provider]), config=config) as deck:
        assert [deck.complete(request).text for _ in range(3)] == ["first", "second", "first"]


# -- runs ------------------------------------------------------------------------------------------------------


def test_the_pipeline_and_the_program_of_the_guide_run(deck_with):
    with deck_with(example("acme_runs")) as deck:
        assert deck.run("acme-count", {"text": "one two"})["outputs"] == {"count": {"words": 2}}
        run = Run(kind="count", name="texts", inputs={"texts": ["a b", "c"]})
        assert asyncio.run(deck.runs.execute(run)).output == {"words": 3}


def test_the_engine_of_the_guide_prints_the_steps(deck_with, capsys):
    with deck_with(example("acme_runs"), example("acme_engine"), config={"runs": {"engine": "printing"}}) as deck:
        assert deck.run("acme-count", {"text": "one"})["outputs"] == {"count": {"words": 1}}
    assert capsys.readouterr().out == "step count\n"
