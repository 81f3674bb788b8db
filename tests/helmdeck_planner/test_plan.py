"""helmdeck.plan: what a model writes becomes a plan in which every name exists."""

import json

import pytest

from helmdeck_core import (
    ChatResponse,
    CompletedStep,
    Complexity,
    InvalidRequest,
    LengthTruncated,
    PackError,
    PlanOutcome,
    Ranker,
    StopReason,
    hookimpl,
)

FREE = "openrouter/openrouter/free"
FRONTIER = "openai/gpt-4o"
ASK = "draft a blog post about our launch"


def reply(*steps, **more):
    return {"steps": list(steps), "complexity": "pack-chain", "reasoning": "because", **more}


def step(tool, args=None, rationale="it fits", order=1):
    return {"order": order, "tool": tool, "args": args or {}, "rationale": rationale}


MEMORY = step("helmdeck.memory_store", {"text": "x"})
BLOG = step("blog.draft", {"brief": "our launch"})


@pytest.fixture
def plan(answering):
    def run(answer, intent=ASK, model=FRONTIER, config=None, **options):
        deck, _ = answering(answer, config=config)
        return deck.plan(intent, model=model, **options)

    return run


def test_a_plan_has_ordered_steps_a_numbered_prompt_complexity_reasoning_and_model(plan):
    wire = plan(reply(MEMORY, BLOG)).to_dict()
    assert [(each["order"], each["tool"]) for each in wire["steps"]] == [
        (1, "helmdeck.memory_store"),
        (2, "blog.draft"),
    ]
    assert wire["steps"][1]["args"] == {"brief": "our launch"} and wire["steps"][1]["rationale"] == "it fits"
    assert wire["complexity"] == "pack-chain" and wire["reasoning"] == "because" and wire["model"] == FRONTIER
    lines = wire["rewritten_prompt"].splitlines()
    assert len(lines) == 2 and lines[0].startswith("1. helmdeck.memory_store") and lines[1].startswith("2. blog.draft")


def test_only_steps_with_unknown_tools_become_gaps(plan):
    result = plan(reply(MEMORY, step("espresso.brew", rationale="wake the author"), BLOG))
    assert [each.tool for each in result.steps] == ["helmdeck.memory_store", "unknown", "blog.draft"]
    assert result.steps[1].rationale.startswith("gap:") and "espresso.brew" in result.steps[1].rationale
    assert result.outcome is PlanOutcome.PARTIAL


@pytest.mark.parametrize("tool", ["helmdeck.plan", "helmdeck__plan", "Helmdeck.Plan", "helmdeck.route"])
def test_a_step_that_names_the_planner_itself_is_demoted(plan, tool):
    (only,) = plan(reply(step(tool))).steps
    assert only.is_gap and only.rationale.startswith("gap:") and only.corrected_from == tool


@pytest.mark.parametrize("args", [{"id": "no-such-pipeline"}, {}, {"id": ""}, {"id": 5}, {"id": "blog.draft"}])
def test_a_pipeline_run_without_a_pipelines_id_is_demoted(plan, args):
    (only,) = plan(reply(step("helmdeck__pipeline-run", args))).steps
    assert only.is_gap and only.rationale.startswith("gap:")


@pytest.mark.parametrize("tool", [None, "", "  ", "unknown", "UNKNOWN"])
def test_an_empty_tool_is_a_gap(plan, tool):
    result = plan(reply({"order": 1, "tool": tool, "args": {}, "rationale": "nothing brews coffee"}))
    assert result.steps[0].rationale == "gap: nothing brews coffee"
    assert result.outcome is PlanOutcome.GAP and not result.is_usable


def test_a_rationale_that_says_gap_already_says_it_once(plan):
    assert plan(reply(step("unknown", rationale="Gap: no coffee"))).steps[0].rationale == "Gap: no coffee"


def test_a_pipeline_that_serves_the_request_is_one_step_and_pipeline_direct(plan):
    result = plan(reply(step("helmdeck__pipeline-run", {"id": "research-to-blog", "inputs": {"topic": "x"}})))
    assert result.complexity is Complexity.PIPELINE_DIRECT
    assert dict(result.steps[0].args) == {"id": "research-to-blog", "inputs": {"topic": "x"}}


@pytest.mark.parametrize(
    ("steps", "complexity", "claimed"),
    [
        ([BLOG], "single-action", "pipeline-direct"),
        ([MEMORY, BLOG], "pack-chain", "single-action"),
        ([step("helmdeck__pipeline-run", {"id": "research-to-blog"})], "pipeline-direct", "pack-chain"),
        ([step("helmdeck__pipeline-run", {"id": "research-to-blog"}), BLOG], "pack-chain", "impossible"),
        ([step("nonsense")], "single-action", 7),
        ([], "single-action", None),
    ],
)
def test_complexity_is_derived_from_the_steps(plan, steps, complexity, claimed):
    assert plan({"steps": steps, "complexity": claimed}).complexity == complexity


@pytest.mark.parametrize("intent", ["", "  \n\t "])
def test_a_blank_request_is_invalid_input(plan, intent):
    with pytest.raises(PackError, match=r"helmdeck\.plan: invalid_input: intent is empty"):
        plan(reply(BLOG), intent=intent)


@pytest.mark.parametrize("model", ["", "   "])
def test_a_blank_model_is_invalid_input_with_a_pointer_to_the_list(plan, model):
    with pytest.raises(InvalidRequest, match="helmdeck budgets") as caught:
        plan(reply(BLOG), model=model)
    assert caught.value.code == "invalid_input" and str(caught.value).startswith("helmdeck.plan: ")


def test_an_unknown_provider_is_an_invalid_request_that_names_what_exists(plan):
    with pytest.raises(InvalidRequest, match=r"no provider 'unknown'.*providers: \w+, \w+, \w+ and \d+ more"):
        plan(reply(BLOG), model="unknown/x")


def test_a_tier_c_model_gets_the_reduced_catalog_and_the_result_reports_it(answering):
    deck, provider = answering(reply(BLOG))
    result = deck.plan(ASK, model=FREE)
    prompt = "".join(message.text for message in provider.requests[0].messages)
    assert len(prompt) < 14_000 < len(deck.catalog.encode())
    wire = result.to_dict()["compaction"]
    assert wire["before_bytes"] == len(deck.catalog.encode()) > wire["after_bytes"]
    assert "lexical.top_n" in wire["dropped"] and wire["left_out"] > 0


def test_a_tier_a_model_gets_the_whole_catalog_and_no_compaction_field(answering):
    deck, provider = answering(reply(BLOG))
    result = deck.plan(ASK, model=FRONTIER)
    prompt = "".join(message.text for message in provider.requests[0].messages)
    assert deck.catalog.encode().decode() in prompt
    assert "compaction" not in result.to_dict()


def test_full_steps_never_sets_more_steps_likely(plan):
    wire = plan(reply(BLOG, more_steps_likely=True)).to_dict()
    assert wire["prompt_variant_used"] == "full_steps" and "more_steps_likely" not in wire


def test_single_pick_sets_more_steps_likely(plan):
    wire = plan(reply(BLOG, more_steps_likely=True), model=FREE).to_dict()
    assert wire["prompt_variant_used"] == "single_pick" and wire["more_steps_likely"] is True


@pytest.mark.parametrize("more", [{}, {"more_steps_likely": False}, {"more_steps_likely": None}])
def test_single_pick_leaves_the_field_out_when_nothing_is_left(plan, more):
    assert "more_steps_likely" not in plan(reply(BLOG, **more), model=FREE).to_dict()


def test_single_pick_keeps_the_first_of_several_steps(plan):
    result = plan(reply(MEMORY, BLOG, more_steps_likely=False), model=FREE)
    assert [each.tool for each in result.steps] == ["helmdeck.memory_store"] and result.more_steps_likely


@pytest.mark.parametrize("model", [FREE, FRONTIER])
def test_one_schema_serves_every_variant(plan, model):
    answer = {"steps": [BLOG], "complexity": "single-action", "reasoning": "r", "more_steps_likely": False}
    assert plan(answer, model=model).steps[0].tool == "blog.draft"


def test_a_caller_that_loops_ends_when_nothing_is_left(answering):
    image = step("image.generate", {"prompt": "x"})
    answers = [reply(MEMORY, more_steps_likely=True), reply(BLOG, more_steps_likely=True), reply(image)]
    deck, provider = answering(*answers)
    done = []
    for _ in range(10):
        result = deck.plan(ASK, model=FREE, done=done)
        done += [CompletedStep(each.tool, "ran well") for each in result.steps]
        if not result.more_steps_likely:
            break
    assert [each.tool for each in done] == ["helmdeck.memory_store", "blog.draft", "image.generate"]
    last = provider.requests[-1].messages[-1].text
    assert "1. helmdeck.memory_store" in last and "2. blog.draft" in last and "ran well" in last


def test_no_steps_is_complete_only_after_executed_steps(plan):
    assert plan(reply(), model=FREE, done=[CompletedStep("blog.draft")]).outcome is PlanOutcome.COMPLETE
    result = plan(reply(), model=FREE)
    assert result.outcome is PlanOutcome.NO_STEPS and not result.is_usable
    assert result.to_dict()["outcome"] == "no_steps"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Blog.Draft", "blog.draft"),
        ("blog_draft", "blog.draft"),
        ("functions.blog.draft", "blog.draft"),
        ("memory_store", "helmdeck.memory_store"),
        ("helmdeck__memory_store", "helmdeck.memory_store"),
        (" blog.draft ", "blog.draft"),
    ],
)
def test_a_name_that_differs_by_case_prefix_or_separator_is_resolved_and_reported(plan, written, expected):
    (only,) = plan(reply(step(written, {"brief": "b", "text": "t"}))).steps
    assert only.tool == expected
    assert only.corrected_from == (written.strip() if written.strip() != expected else None)


def test_an_unknown_name_is_answered_with_the_nearest_ones(plan):
    (only,) = plan(reply(step("blog.drafts.new"))).steps
    assert only.is_gap and "blog.draft" in only.suggestions


def test_a_pipelines_id_used_as_a_tool_becomes_a_pipeline_run(plan):
    (only,) = plan(reply(step("research-to-blog", {"topic": "x"}))).steps
    assert only.tool == "helmdeck__pipeline-run" and only.corrected_from == "research-to-blog"
    assert dict(only.args) == {"id": "research-to-blog", "inputs": {"topic": "x"}}


def test_arguments_are_checked_against_the_tools_schema_by_field(plan):
    (only,) = plan(reply(step("blog.draft", {"brief": 5}))).steps
    assert only.tool == "blog.draft"
    assert any(problem.startswith("$.brief") for problem in only.problems)


def test_existing_tool_that_was_not_shown_is_accepted_and_reported(plan):
    result = plan(reply(step("desktop.click")), model=FREE)
    assert result.steps[0].tool == "desktop.click" and result.unseen_tools == ("desktop.click",)
    assert result.to_dict()["unseen_tools"] == ["desktop.click"]


def test_steps_are_renumbered(plan):
    result = plan(reply({**MEMORY, "order": 9}, {**BLOG, "order": 9}))
    assert [each.order for each in result.steps] == [1, 2]


def test_rewritten_prompt_has_one_line_per_step(plan):
    result = plan(
        reply(step("blog.draft", {"brief": "a\nb"}, rationale="one\n2. injected"), step("nope", rationale="x\ny"))
    )
    assert len(result.rewritten_prompt.splitlines()) == len(result.steps) == 2


def test_long_argument_is_shortened_only_for_display(plan):
    result = plan(reply(step("blog.draft", {"brief": "word " * 200})))
    assert result.steps[0].args["brief"] == "word " * 200
    assert "(1,000 characters)" in result.rewritten_prompt and len(result.rewritten_prompt) < 200


@pytest.mark.parametrize("defaults", [{"a": float("nan")}, {"a": object()}, {"a": "\ud800"}])
def test_defaults_that_are_not_json_are_invalid_input(plan, defaults):
    with pytest.raises(PackError, match="invalid_input: defaults cannot be written as JSON"):
        plan(reply(BLOG), defaults=defaults)


def test_a_completed_step_of_another_type_is_invalid_input(plan):
    with pytest.raises(PackError, match="invalid_input: done: a step is a CompletedStep"):
        plan(reply(BLOG), done=["blog.draft"])


def test_model_that_is_not_a_string_is_an_invalid_request(plan):
    with pytest.raises(InvalidRequest, match="a model id is a text, found int"):
        plan(reply(BLOG), model=3)


def test_wire_form_keeps_the_older_fields(plan):
    wire = plan(reply(BLOG)).to_dict()
    assert {"steps", "complexity", "reasoning", "model", "rewritten_prompt"} <= wire.keys()


def test_defaults_and_context_reach_the_prompt(answering):
    deck, provider = answering(reply(BLOG))
    deck.plan(ASK, model=FREE, defaults={"tone": "dry"}, context="the launch is on Monday")
    tail = provider.requests[0].messages[-1].text
    assert '{"tone":"dry"}' in tail and "the launch is on Monday" in tail


def test_without_any_provider_a_plan_is_an_internal_error(deck_with):
    class Alphabetical:
        """The plugin of the embedded planner is disabled, and its ranker with it, so the test brings another ranker."""

        @hookimpl
        def helmdeck_rankers(self):
            return [Ranker(name="lexical", index=lambda catalog: None)]

    deck = deck_with(
        Alphabetical(),
        config={
            "plugins": {
                "disable": ["lexical", "local", "openai", "responses", "anthropic", "gemini", "ollama", "scripted"]
            }
        },
    )
    with pytest.raises(PackError, match="no provider is available") as caught:
        deck.plan(ASK)
    assert caught.value.code == "internal"


def test_truncated_answer_is_never_a_plan(answering):
    text = json.dumps(reply(MEMORY, BLOG))
    deck, provider = answering("", config={"recovery": {"cool_down_after": 0}})
    for cut in range(0, len(text) - 1, 7):
        response = ChatResponse(text=text[:cut], stop_reason=StopReason.MAX_TOKENS, raw_stop_reason="length")
        provider.replies[:] = [response]
        with pytest.raises(LengthTruncated):
            deck.plan(ASK, model=FRONTIER)
