"""The case that it all began with: a pasted announcement and three wishes, on a model that answers nothing to large prompts."""

from pathlib import Path

import pytest

from helmdeck_core import ChatRequest, CompletedStep, LikelyTimeout, Message, PlanOutcome, Role, TextPart
from helmdeck_testing import make_deck, weak_model_server

ROOT = Path(__file__).resolve().parents[2]
ANNOUNCEMENT = (ROOT / "docs" / "examples" / "announcement.txt").read_text(encoding="utf-8")
WISHES = "remember this, draft a blog post about it, and make an illustration"
WANTED = ["helmdeck.memory_store", "blog.draft", "image.generate"]
MODEL = "openrouter/openrouter/free"

ORDERS = [
    pytest.param(f"{ANNOUNCEMENT}\n\n{WISHES}", id="after the announcement"),
    pytest.param(f"{WISHES}\n\n{ANNOUNCEMENT}", id="before the announcement"),
    pytest.param(f"{WISHES}: {ANNOUNCEMENT}", id="in the same text"),
]


def loopback(server):
    return {"providers": {"openrouter": {"base_url": server.base_url, "api_key": "env:FIELD_REPORT_KEY"}}}


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("FIELD_REPORT_KEY", "sk-loopback")


def test_the_announcement_is_as_long_as_the_one_of_the_report():
    assert 1_400 <= len(ANNOUNCEMENT.encode()) <= 1_700


@pytest.mark.parametrize("request_text", ORDERS)
def test_the_embedded_planner_gives_the_three_steps_offline(request_text):
    with make_deck() as deck:
        plan = deck.plan(request_text, model="local/lexical")
    assert [step.tool for step in plan.steps] == WANTED
    assert plan.outcome is PlanOutcome.PLANNED and not any(step.problems for step in plan.steps)


def test_a_prompt_with_the_whole_catalog_gets_nothing_from_the_weak_model():
    with weak_model_server(WANTED) as server, make_deck(config=loopback(server)) as deck:
        naive = f"Plan with these tools: {deck.catalog.encode().decode()}\n\n{ANNOUNCEMENT}\n\n{WISHES}"
        request = ChatRequest(model=MODEL, messages=(Message(Role.USER, (TextPart(naive),)),), max_tokens=1_500)
        response = deck.complete(request, allows_empty=True)
        assert (response.text, response.raw_stop_reason) == ("", "stop")
        uncapped = {"budgets": {MODEL: {"tier": "A", "input_tokens": 100_000}}}
        with make_deck(config={**loopback(server), **uncapped}) as careless, pytest.raises(LikelyTimeout):
            careless.plan(f"{ANNOUNCEMENT}\n\n{WISHES}", model=MODEL)


@pytest.mark.parametrize("request_text", ORDERS)
def test_the_fitted_prompt_is_answered_step_after_step_until_nothing_is_left(request_text):
    done: list[CompletedStep] = []
    with weak_model_server(WANTED) as server, make_deck(config=loopback(server)) as deck:
        for _ in range(10):  # a loop that never ends would hang instead of fail
            plan = deck.plan(request_text, model=MODEL, done=done)
            assert plan.prompt_variant_used == "single_pick" and plan.outcome is PlanOutcome.PLANNED
            done += [CompletedStep(step.tool, f"{step.tool} ran") for step in plan.steps]
            if not plan.more_steps_likely:
                break
        sizes = [sum(len(m["content"]) for m in sent.body["messages"]) for sent in server.requests]
    assert [step.tool for step in done] == WANTED
    assert plan.compaction.after_bytes <= 10_000 < plan.compaction.before_bytes
    assert max(sizes) <= 14_000
