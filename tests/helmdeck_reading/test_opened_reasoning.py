"""Drafts of models whose chat template opens the reasoning block never become an answer."""

from __future__ import annotations

import pytest

from helmdeck_core import CallFailed, DecodeFailed, Helmdeck, StopReason
from helmdeck_reading import reasoning_tags as reasoning
from helmdeck_reading.decoder.json_decoder import JsonDecoder
from helmdeck_testing import Reply, make_deck, scripted_provider
from tests.case_support import each_case

DECODER = JsonDecoder(reasoning.helmdeck_reasoning_tags(), [])
DRAFT = '{"steps":[{"order":1,"tool":"blog.draft","args":{"brief":"b"},"rationale":"r"}],"complexity":"single-action","reasoning":"x"}'
PLAN = DRAFT.replace('"b"', '"final"')
THINKS = {"a/": {"is_hybrid_reasoning": True}}

UNFINISHED = [StopReason.MAX_TOKENS, StopReason.UNKNOWN, StopReason.CANCELLED, StopReason.SAFETY_BLOCKED, None]


def deck_of(*replies: str | Reply, **config: object) -> Helmdeck:
    script = scripted_provider(replies, "a"), scripted_provider([PLAN], "b")
    return make_deck(*script, config={"fallback": {"a/": ["b/two"]}, "budgets": THINKS, **config})


@pytest.mark.parametrize("text", [f"Perhaps {DRAFT} or not", f"Perhaps {DRAFT}", f"{DRAFT}? No, because"])
def test_draft_in_truncated_text_of_a_hybrid_model_never_becomes_the_plan(text: str) -> None:
    with deck_of(*[Reply(text, "length")] * 3) as deck:
        plan = deck.plan("draft a blog post", model="a/one")
    assert (plan.model, plan.steps[0].args) == ("b/two", {"brief": "final"})
    assert {each.cause for each in plan.attempts[:-1]} == {"length_truncated"}


def test_draft_that_a_continuation_would_complete_never_becomes_the_plan() -> None:
    with deck_of(*[Reply(f"Perhaps {DRAFT[:60]}", "length")] * 3) as deck:
        assert deck.plan("draft a blog post", model="a/one").model == "b/two"


def test_plan_after_the_closing_tag_is_the_plan() -> None:
    with deck_of(Reply(f"Perhaps {DRAFT} or not</think>{PLAN} and so", "length")) as deck:
        plan = deck.plan("draft a blog post", model="a/one")
    assert (plan.model, plan.steps[0].args) == ("a/one", {"brief": "final"})


@pytest.mark.parametrize(
    "reply",
    [Reply(f"Here it is: {PLAN}"), Reply(f"Here it is: {PLAN} and", "length", reasoning="hm"), Reply(PLAN, "length")],
)
def test_plan_of_a_hybrid_model_that_ended_or_separates_reasoning_is_the_plan(reply: Reply) -> None:
    with deck_of(reply) as deck:
        assert deck.plan("draft a blog post", model="a/one").model == "a/one"


@each_case("stop", UNFINISHED)
@each_case("text", ['so {"a": 1} or', 'so {"a": 1}', '{"a": 1} or', '```json\n{"a": 1}\n```\nor'])
def test_unfinished_text_that_may_start_in_reasoning_has_no_value(text: str, stop: StopReason | None) -> None:
    with pytest.raises(DecodeFailed) as caught:
        DECODER.decode(text, dict, stop, may_start_in_reasoning=True)
    assert (caught.value.sub_cause, caught.value.is_empty) == ("unclosed_reasoning", True)


@each_case("text", ['{"a": 1}', ' {"a": 1}\n', '```json\n{"a": 1}\n```', 'so</think>{"a": 1} and'])
def test_text_that_is_nothing_but_the_value_has_the_value(text: str) -> None:
    assert DECODER.decode(text, dict, StopReason.MAX_TOKENS, may_start_in_reasoning=True).value == {"a": 1}


def test_truncated_value_at_the_start_is_truncated_and_no_reasoning() -> None:
    with pytest.raises(DecodeFailed) as caught:
        DECODER.decode('{"a": [1, 2', dict, StopReason.MAX_TOKENS, may_start_in_reasoning=True)
    assert caught.value.sub_cause == "cut"


@pytest.mark.parametrize(
    "model", ["vllm/deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "vllm/Qwen/QwQ-32B", "lmstudio/qwq-32b"]
)
def test_models_on_own_servers_whose_template_opens_the_block_start_in_reasoning(model: str) -> None:
    with make_deck() as deck:
        assert deck.budget(model).budget.starts_in_reasoning
        assert deck.budget("vllm/Qwen/Qwen3-4B-Thinking-2507").budget.starts_in_reasoning


@pytest.mark.parametrize(
    "model", ["deepseek/deepseek-r1", "openrouter/qwen/qwq-32b", "vllm/Qwen/Qwen3-4B", "openai/o3"]
)
def test_other_models_do_not_start_in_reasoning(model: str) -> None:
    with make_deck() as deck:
        assert not deck.budget(model).budget.starts_in_reasoning


def test_truncated_text_is_an_error_and_no_answer() -> None:
    config = {"budgets": {"a/": {"is_hybrid_reasoning": True, "starts_in_reasoning": True}}, "fallback": {}}
    with deck_of(*[Reply(f"Perhaps {DRAFT}", "length")] * 4, **config) as deck, pytest.raises(CallFailed):
        deck.plan("draft a blog post", model="a/one")
