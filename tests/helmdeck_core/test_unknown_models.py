"""A model that no budget row knows is announced: once per deck as an event, and in plans, explanations and commands."""

import pytest

from helmdeck_core import ChatRequest, Message, ModelUnknown, Role, TextPart
from helmdeck_telemetry.log import line_of
from helmdeck_testing import EventRecorder, Reply, make_deck, scripted_provider
from tests.cli_support import Cli, leave_the_machine

GOOD = '{"steps":[{"tool":"blog.draft","args":{"brief":"b"}}]}'
LINE = '[budgets."acme/x"], such as tier = "B"'


@pytest.fixture
def recorder():
    return EventRecorder()


@pytest.fixture
def cli(monkeypatch, tmp_path, capsys):
    leave_the_machine(monkeypatch, tmp_path)
    return Cli(capsys)


def deck_of(recorder, *replies, **config):
    return make_deck(scripted_provider(replies, "acme"), recorder, config=config)


def test_unknown_model_is_announced_once_per_deck(recorder):
    request = ChatRequest(model="acme/x", messages=(Message(Role.USER, (TextPart("hi"),)),))
    with deck_of(recorder, Reply(GOOD), Reply(GOOD), Reply("hello")) as deck:
        plans = [deck.plan("draft a post", model="acme/x") for _ in range(2)]
        deck.complete(request)
    (event,) = recorder.of(ModelUnknown)
    assert event.model == "acme/x" and event.notice.endswith(LINE)
    assert line_of(event) == ("WARNING", "a model without a budget row has the limits of unknown models")
    assert all(plan.to_dict()["notices"] == [event.notice] for plan in plans), "a plan is read without the others"


def test_known_and_configured_models_are_not_announced(recorder):
    with deck_of(recorder, Reply(GOOD), budgets={"acme/": {"tier": "C"}}) as deck:
        plan = deck.plan("draft a post", model="acme/x")
        assert "notices" not in plan.to_dict() and not recorder.of(ModelUnknown)
        assert deck.plan("draft a post").notices == ()
        assert deck.budget("").notice == "", "the fallback row is not a model"


def test_notice_names_the_limits_that_apply(recorder):
    with deck_of(recorder, budgets={"fallback": {"tier": "A", "input_tokens": 9_000}}) as deck:
        assert "(tier A, 9,000 tokens in)" in deck.budget("acme/x").notice


def test_explain_and_budgets_show_the_notice(cli):
    for words in (("explain", "--model", "acme/x", "draft a post"), ("budgets", "acme/x")):
        assert LINE in " ".join(cli(*words).out.split())
    data = cli("explain", "--model", "acme/x", "draft a post", "--json").data
    assert [each.endswith(LINE) for each in data["notices"]] == [True]
    assert "notices" not in cli("explain", "draft a post", "--json").data


def test_explain_shows_prices_with_their_source(cli, tmp_path):
    (tmp_path / "helmdeck.toml").write_text(
        '[budgets."acme/"]\ninput_cost_usd_per_mtok = 2.0\noutput_cost_usd_per_mtok = 8.0\n'
    )
    out = " ".join(cli("explain", "--model", "acme/x", "draft a post").out.split())
    assert 'US dollars per million tokens: 2 input, 8 output (helmdeck.toml: budgets."acme/")' in out
    assert "price 2 US dollars per million input tokens" in " ".join(cli("budgets", "acme/x", "--explain").out.split())
