"""Configuration of tapes: options, model ids, budgets."""

import asyncio

import attrs
import pytest

import helmdeck_provider_tape
from helmdeck_core import (
    ChatRequest,
    ChatResponse,
    HelmdeckError,
    InvalidRequest,
    LengthTruncated,
    Message,
    Role,
    StopReason,
    TextPart,
)
from helmdeck_provider_tape.provider import open_tape
from helmdeck_testing import Reply, provider_settings, scripted_provider

MODEL = "tape/scripted/any"


def ask(text="hello", model=MODEL, **fields):
    return ChatRequest(model=model, messages=(Message(Role.USER, (TextPart(text),)),), **fields)


# -- configuration ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "play"}, r"providers\.tape\.options\.mode: .*'play'; allowed: auto, record, replay"),
        ({"file": ""}, r"providers\.tape\.options\.file: empty, found ''; allowed: a non-empty string"),
        ({"file": 3}, r"providers\.tape\.options\.file: not a string, found 3"),
        ({"fiel": "x"}, r"providers\.tape\.options\.fiel: unknown option .*; allowed: file, mode"),
        ({"file": "/dev/null/x"}, r"providers\.tape\.options\.file: .*/dev/null/x"),
    ],
)
def test_invalid_option_is_named_with_allowed_values(deck_on, options, message):
    with pytest.raises(HelmdeckError, match=message):
        deck_on(**{"mode": "auto", **options}).complete(ask())


def test_replay_of_a_missing_tape_is_an_error_and_creates_no_file(deck_on, tape):
    with pytest.raises(HelmdeckError, match=r"providers\.tape\.options\.file: .*allowed: a recorded tape"):
        deck_on("replay").complete(ask())
    assert not tape.parent.exists()


@pytest.mark.parametrize("model", ["tape/free", "tape/ free"])
def test_model_id_without_wrapped_provider_is_rejected(deck_on, model):
    with pytest.raises(InvalidRequest, match="tape/PROVIDER/MODEL"):
        deck_on("auto").complete(ask(model=model))


def test_unknown_wrapped_provider_is_named_and_not_recorded(deck_on, tape):
    with pytest.raises(InvalidRequest, match="there is no provider 'acme'"):
        deck_on("auto").complete(ask(model="tape/acme/x"))
    assert tape.read_bytes() == b""


@pytest.mark.parametrize("other", ["tape", "second"])
def test_tape_of_a_tape_is_rejected(deck_with, tape, other):
    tables = {name: {"kind": "tape", "options": {"file": f"{tape}.{name}"}} for name in ("tape", "second")}
    deck = deck_with(helmdeck_provider_tape, scripted_provider([]), config={"providers": tables})
    with pytest.raises(InvalidRequest, match="a tape cannot record another tape"):
        deck.complete(ask(model=f"tape/{other}/scripted/any"))


def test_second_tape_has_its_own_provider_name(deck_with, tape):
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
def test_taped_model_has_the_budget_of_the_wrapped_model(deck_with, model):
    deck = deck_with(helmdeck_provider_tape)
    taped = deck.budget(f"tape/{model}")
    assert attrs.evolve(taped.budget, model=model) == deck.budget(model).budget
    assert taped.row == deck.budget(model).row


def test_budget_overrides_apply_to_tapes_and_can_be_overridden(deck_with):
    budgets = {"acme/": {"tier": "B", "output_tokens": 700}, "second/": {"output_tokens": 9}}
    config = {"budgets": budgets, "providers": {"second": {"kind": "tape"}}}
    deck = deck_with(helmdeck_provider_tape, config=config)
    taped, again = deck.budget("tape/acme/x").budget, deck.budget("second/acme/x").budget
    assert (taped.model, taped.tier, taped.output_tokens) == ("tape/acme/x", "B", 700)
    assert (again.model, again.tier, again.output_tokens) == ("second/acme/x", "B", 9)


def test_circular_model_id_gets_a_budget(deck_with):
    deck = deck_with(helmdeck_provider_tape)
    assert deck.budget("tape/" * 50).budget.tier == "C"


@pytest.mark.parametrize("model", ["acme/unknown", "openrouter/openai/gpt-4o:free", "", "acme"])
def test_taped_model_has_no_higher_tier_than_the_wrapped_model(deck_with, model):
    deck = deck_with(helmdeck_provider_tape)
    assert deck.budget(f"tape/{model}").budget.tier is deck.budget(model).budget.tier


def test_truncated_answer_is_the_same_failure_in_replay(deck_on):
    reply = Reply('{"steps": [{"tool": "blog.', "length")
    for mode, replies in (("record", [reply]), ("replay", [])):
        with pytest.raises(LengthTruncated):
            deck_on(mode, *replies).plan("draft a blog post", model=MODEL)


class Answering:
    """A context with one provider, which answers everything."""

    def open_provider(self, name):
        return self

    async def complete(self, request):
        return ChatResponse(text=request.model, stop_reason=StopReason.END_TURN)

    def without_secrets(self, provider, text):
        return text


def test_requests_that_ended_leave_no_locks(tmp_path):
    tape = open_tape(provider_settings("tape", options={"file": str(tmp_path / "tape.jsonl")}), Answering())

    async def ask_all():
        for number in range(5):
            await tape.complete(ChatRequest(model=f"tape/scripted/{number}", messages=()))

    asyncio.run(ask_all())
    assert len((tmp_path / "tape.jsonl").read_text().splitlines()) == 5
    assert len(tape._turns) == 0
