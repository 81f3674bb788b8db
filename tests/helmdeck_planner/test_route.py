"""helmdeck.route: the one entry that serves a request, with ids that exist."""

import pytest

from helmdeck_core import ConstrainedDeadlock, InvalidRequest, PackError, Ranker, RouteKind, hookimpl

FREE = "openrouter/openrouter/free"
FRONTIER = "openai/gpt-4o"
ASK = "research the topic and write a blog post"


def reply(kind="pack", entry_id="blog.draft", alternatives=(), gap=None, inputs=None):
    return {
        "recommendation": {"kind": kind, "id": entry_id, "suggested_inputs": inputs or {}, "why": "it fits"},
        "alternatives": list(alternatives),
        "gap_warning": gap,
        "reasoning": "because",
    }


@pytest.fixture
def route(answering):
    def run(answer, intent=ASK, model=FRONTIER, **options):
        deck, _ = answering(answer)
        return deck.route(intent, model=model, **options)

    return run


def test_a_request_that_a_pipeline_serves_is_routed_to_it_with_inputs_and_reason(route):
    result = route(reply("pipeline", "research-to-blog", inputs={"topic": "x"}))
    wire = result.to_dict()["recommendation"]
    assert wire == {"kind": "pipeline", "id": "research-to-blog", "suggested_inputs": {"topic": "x"}, "why": "it fits"}


@pytest.mark.parametrize("entry_id", ["espresso.brew", "", None])
def test_an_id_that_does_not_exist_becomes_none_with_a_warning_and_keeps_the_reasoning(route, entry_id):
    result = route(reply("pack", entry_id))
    assert (result.recommendation.kind, result.recommendation.id) == (RouteKind.NONE, "")
    assert result.gap_warning and result.reasoning == "because"


def test_a_warning_names_the_id_that_does_not_exist_and_the_nearest_ones(route):
    assert "'blog.drafts'" in (route(reply("pack", "blog.drafts")).gap_warning or "")
    assert "blog.draft" in (route(reply("pack", "blog.drafts")).gap_warning or "")


def test_a_valid_id_and_a_gap_from_the_model_are_both_kept(route):
    result = route(reply(gap="nothing prints the post"))
    assert result.recommendation.id == "blog.draft" and result.gap_warning == "nothing prints the post"


def test_a_kind_that_does_not_match_the_id_is_corrected(route):
    assert route(reply("pack", "research-to-blog")).recommendation.kind is RouteKind.PIPELINE
    assert route(reply("pipeline", "blog.draft")).recommendation.kind is RouteKind.PACK


def test_alternatives_that_do_not_exist_or_repeat_are_removed_and_at_most_three_stay(route):
    names = ["nope", "blog.draft", "image.generate", "image.generate", "web.search", "doc.parse", "fs.read"]
    result = route(reply(alternatives=[{"kind": "pack", "id": name, "why": "y"} for name in names]))
    assert [other.id for other in result.alternatives] == ["image.generate", "web.search", "doc.parse"]


def test_learned_defaults_appear_in_the_prompt(answering):
    deck, provider = answering(reply())
    deck.route(ASK, model=FREE, defaults={"tone": "dry"})
    assert '{"tone":"dry"}' in provider.requests[0].messages[-1].text


def test_a_route_follows_the_same_rules_of_catalog_cache_and_strict_json_as_a_plan(answering):
    deck, provider = answering(reply())
    assert deck.route(ASK, model=FREE).compaction is not None
    assert deck.route(ASK, model=FRONTIER).compaction is None
    small, large = provider.requests
    assert small.response_format is None and large.response_format.kind == "json_object"
    assert '{"packs":[' in small.messages[1].text and '{"packs":[' in large.messages[0].text


def test_a_reduced_catalog_is_reported_as_in_a_plan(route):
    wire = route(reply(), model=FREE).to_dict()["compaction"]
    assert wire["before_bytes"] > wire["after_bytes"] and "lexical.top_n" in wire["dropped"]


def test_a_blank_request_is_invalid_input(route):
    with pytest.raises(PackError, match=r"helmdeck\.route: invalid_input: intent is empty"):
        route(reply(), intent=" ")


def test_a_blank_model_is_invalid_input_with_a_pointer_to_the_list(route):
    with pytest.raises(InvalidRequest, match="helmdeck budgets"):
        route(reply(), model="")


def test_a_route_without_a_dispatcher_is_an_internal_error(deck_with):
    class NoRanker:
        """A ranker instead of the one in the plugin of the embedded planner."""

        @hookimpl
        def helmdeck_rankers(self):
            return [Ranker(name="lexical", index=lambda catalog: None)]

    deck = deck_with(
        NoRanker(),
        config={
            "plugins": {
                "disable": ["lexical", "local", "openai", "responses", "anthropic", "gemini", "ollama", "scripted"]
            }
        },
    )
    with pytest.raises(PackError, match="no provider is available") as caught:
        deck.route(ASK)
    assert caught.value.code == "internal"


def test_an_answer_without_a_recommendation_has_the_wrong_shape(route):
    with pytest.raises(ConstrainedDeadlock, match=r"helmdeck\.route: .*recommendation"):
        route({"alternatives": []})
