"""What a deployment says about a tape: its options, its names, its budgets."""

import attrs
import pytest

import helmdeck_provider_tape
from helmdeck_core import (
    ChatRequest,
    HelmdeckError,
    InvalidRequest,
    LengthTruncated,
    Message,
    Role,
    TextPart,
)
from helmdeck_testing import Reply, scripted_provider

MODEL = "tape/scripted/any"


def ask(text="hello", model=MODEL, **fields):
    return ChatRequest(model=model, messages=(Message(Role.USER, (TextPart(text),)),), **fields)


# -- configuration ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "play"}, r"providers\.tape\.options\.mode: .*'play'; allowed: auto, record, replay"),
        ({"file": ""}, r"providers\.tape\.options\.file: not a path, found ''; allowed: the path"),
        ({"file": 3}, r"providers\.tape\.options\.file: not a path, found 3"),
        ({"fiel": "x"}, r"providers\.tape\.options\.fiel: unknown option; allowed: file, mode"),
        ({"file": "/dev/null/x"}, r"providers\.tape\.options\.file: .*/dev/null/x"),
    ],
)
def test_a_wrong_option_is_named_with_what_is_allowed(deck_on, options, message):
    with pytest.raises(HelmdeckError, match=message):
        deck_on(**{"mode": "auto", **options}).complete(ask())


def test_replay_of_a_tape_that_does_not_exist_is_an_error_and_makes_none(deck_on, tape):
    with pytest.raises(HelmdeckError, match=r"providers\.tape\.options\.file: .*allowed: a recorded tape"):
        deck_on("replay").complete(ask())
    assert not tape.parent.exists()


@pytest.mark.parametrize("model", ["tape/free", "tape/ free"])
def test_a_model_id_without_the_wrapped_provider_is_explained(deck_on, model):
    with pytest.raises(InvalidRequest, match="tape/PROVIDER/MODEL"):
        deck_on("auto").complete(ask(model=model))


def test_a_provider_that_does_not_exist_is_named_and_not_recorded(deck_on, tape):
    with pytest.raises(InvalidRequest, match="there is no provider 'acme'"):
        deck_on("auto").complete(ask(model="tape/acme/x"))
    assert tape.read_bytes() == b""


@pytest.mark.parametrize("other", ["tape", "second"])
def test_a_tape_of_a_tape_is_refused(deck_with, tape, other):
    tables = {name: {"kind": "tape", "options": {"file": f"{tape}.{name}"}} for name in ("tape", "second")}
    deck = deck_with(helmdeck_provider_tape, scripted_provider([]), config={"providers": tables})
    with pytest.raises(InvalidRequest, match="a tape cannot record another tape"):
        deck.complete(ask(model=f"tape/{other}/scripted/any"))


def test_a_second_tape_has_a_name_of_its_own(deck_with, tape):
    table = {"second": {"kind": "tape", "options": {"file": str(tape)}}}
    deck = deck_with(helmdeck_provider_tape, scripted_provider(["one"]), config={"providers": table})
    assert deck.complete(ask(model="second/scripted/any")).text == "one"


# -- budgets ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        "openrouter/openrouter/free",
        "anthropic/claude-opus-4",
        "openrouter/openai/gpt-4o",
        "gemini/gemini-2.5-pro",
        "acme/unknown",
        "acme/r1",
    ],
)
def test_a_taped_model_has_the_budget_of_the_model(deck_with, model):
    deck = deck_with(helmdeck_provider_tape)
    taped = deck.budget(f"tape/{model}")
    assert attrs.evolve(taped.budget, model=model) == deck.budget(model).budget
    assert taped.row == deck.budget(model).row


def test_what_a_deployment_says_of_the_model_holds_for_its_tapes_and_can_be_said_again(deck_with):
    budgets = {"acme/": {"tier": "B", "output_tokens": 700}, "second/": {"output_tokens": 9}}
    config = {"budgets": budgets, "providers": {"second": {"kind": "tape"}}}
    deck = deck_with(helmdeck_provider_tape, config=config)
    taped, again = deck.budget("tape/acme/x").budget, deck.budget("second/acme/x").budget
    assert (taped.model, taped.tier, taped.output_tokens) == ("tape/acme/x", "B", 700)
    assert (again.model, again.tier, again.output_tokens) == ("second/acme/x", "B", 9)


def test_an_id_that_goes_round_in_a_circle_gets_a_budget_all_the_same(deck_with):
    deck = deck_with(helmdeck_provider_tape)
    assert deck.budget("tape/" * 50).budget.tier == "C"


@pytest.mark.parametrize("model", ["acme/unknown", "openrouter/openai/gpt-4o:free", "", "acme"])
def test_a_taped_model_is_never_trusted_more_than_the_model(deck_with, model):
    deck = deck_with(helmdeck_provider_tape)
    assert deck.budget(f"tape/{model}").budget.tier is deck.budget(model).budget.tier


def test_a_cut_answer_of_a_weak_model_is_the_same_failure_in_replay(deck_on):
    reply = Reply('{"steps": [{"tool": "blog.', "length")
    for mode, replies in (("record", [reply]), ("replay", [])):
        with pytest.raises(LengthTruncated):
            deck_on(mode, *replies).plan("draft a blog post", model=MODEL)
