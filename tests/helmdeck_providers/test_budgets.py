"""The built-in budget rows and their lookup, through a real deck."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helmdeck_core import Budget, BudgetRow, Tier, hookimpl
from helmdeck_testing import make_deck
from tests.case_support import each_case

DECK = make_deck()


@each_case(
    ("model", "tier", "input_tokens", "output_tokens", "cap"),
    [
        ("anthropic/claude-opus-4", "A", 200_000, 8_000, None),
        ("anthropic/claude-3.7-sonnet", "A", 200_000, 8_000, None),
        ("openai/gpt-4o-mini", "A", 100_000, 4_000, None),
        ("openai/gpt-5", "A", 1_050_000, 4_000, None),
        ("google/gemini-2.5-flash", "A", 1_050_000, 2_500, None),
        ("openrouter/meta-llama/llama-3.3-70b-instruct", "B", 32_000, 2_000, 22_000),
        ("openrouter/google/gemma-2-9b-it", "B", 16_000, 1_500, 12_000),
        ("openrouter/deepseek/deepseek-v4-pro", "B", 1_000_000, 2_000, 22_000),
        ("openrouter/openrouter/free", "C", 16_000, 1_500, 10_000),
        ("openrouter/moonshotai/kimi-k2.6", "C", 256_000, 1_500, 10_000),
    ],
)
def test_known_models_get_their_row_and_keep_the_callers_id(model, tier, input_tokens, output_tokens, cap):
    budget = DECK.budget(model).budget
    found = (budget.model, budget.tier, budget.input_tokens, budget.output_tokens, budget.max_catalog_bytes)
    assert found == (model, Tier(tier), input_tokens, output_tokens, cap)


@pytest.mark.parametrize("model", ["", "unknown/knows-this", "x"])
def test_unknown_model_gets_the_weakest_tier(model):
    looked_up = DECK.budget(model)
    budget = looked_up.budget
    assert looked_up.is_fallback
    assert (budget.tier, budget.input_tokens, budget.output_tokens, budget.max_catalog_bytes) == (
        Tier.C,
        16_000,
        1_500,
        10_000,
    )


def test_fallback_row_only_allows_the_filter_pass():
    budget = DECK.budget("unknown/knows").budget
    assert budget.allows_llm_filter
    assert not (budget.is_hybrid_reasoning or budget.wants_strict_json or budget.supports_prefix_cache)


@each_case(
    ("model", "flag"),
    [
        ("anthropic/claude-3.7-sonnet", "is_hybrid_reasoning"),
        ("openrouter/moonshotai/kimi-k2", "is_hybrid_reasoning"),
        ("openai/o3-mini", "wants_strict_json"),
        ("openrouter/mistralai/mistral-large", "wants_strict_json"),
        ("openrouter/deepseek/deepseek-chat", "supports_prefix_cache"),
        ("google/gemini-2.5-pro", "supports_prefix_cache"),
        ("openrouter/deepseek/deepseek-v4-pro", "allows_llm_filter"),
    ],
)
def test_families_have_their_capability_flags(model, flag):
    assert getattr(DECK.budget(model).budget, flag)


def test_only_tier_a_rows_have_no_catalog_cap():
    for looked_up in DECK.budgets():
        assert (looked_up.budget.max_catalog_bytes is None) == (looked_up.budget.tier is Tier.A), looked_up.row


def test_every_row_has_evidence():
    assert all(looked_up.budget.evidence for looked_up in DECK.budgets())


@pytest.mark.parametrize("spelling", ["  openai/gpt-4o  ", "OpenAI/GPT-4o", "OPENAI/GPT-4O"])
def test_surrounding_whitespace_and_case_are_ignored(spelling):
    assert DECK.budget(spelling).row == "openai/gpt-4o"


def test_provider_aliases_are_resolved():
    for provider in ("gemini", "vertex", "google"):
        assert DECK.budget(f"{provider}/gemini-2.5-pro").row == "google/gemini-2.5-pro"


@each_case(
    "model",
    [
        "openrouter/meta-llama/llama-3.3-70b-instruct:free",
        "openrouter/mistralai/mistral-7b:free",
        "gemini/gemini-2.5-flash:free",
        "openai/gpt-5:FREE",
    ],
)
def test_free_suffix_never_raises_the_tier(model):
    found = DECK.budget(model)
    assert (found.budget.tier, found.budget.max_catalog_bytes, found.prompt_variant) == (Tier.C, 10_000, "single_pick")


@each_case(
    "model",
    [
        "deepseek/deepseek-r1",
        "openai/o1",
        "openai/o4-mini",
        "x/qwq-32b",
        "y/claude-thinking",
        "openrouter/openai/gpt-oss-120b",
    ],
)
def test_reasoning_model_names_set_the_flag_and_headroom(model):
    budget = DECK.budget(model).budget
    assert budget.is_hybrid_reasoning
    assert budget.max_tokens > budget.output_tokens


@each_case("model", ["openai/gpt-4o", "x/photo3", "x/r10", "x/solo1"])
def test_similar_names_do_not_set_the_flag(model):
    assert not DECK.budget(model).budget.is_hybrid_reasoning


@each_case(
    ("model", "row", "tier"),
    [
        ("anthropic/claude-3-5-sonnet-20241022", "anthropic/claude-3.5-sonnet", "A"),
        ("anthropic/claude-3-5-sonnet", "anthropic/claude-3.5-sonnet", "A"),
        ("anthropic/claude-3-7-sonnet-20250219", "anthropic/claude-3.7-sonnet", "A"),
        ("anthropic/claude-sonnet-4-20250514", "anthropic/claude-sonnet-", "A"),
        ("anthropic/claude-3-opus-20240229", "anthropic/claude-3-", "A"),
        ("openai/gpt-4.1", "openai/gpt-4.1", "A"),
        ("openai/o1", "openai/o1", "A"),
        ("openai/o4-mini-2025-04-16", "openai/o4-mini", "A"),
        ("deepseek/deepseek-reasoner", "deepseek/", "B"),
        ("mistral/mistral-large-latest", "mistralai/", "B"),
        ("xai/grok-4", "x-ai/grok-", "B"),
        ("openrouter/minimax/minimax-m2", "minimax/", "C"),
        ("openai-responses/gpt-5", "openai/gpt-5", "A"),
    ],
)
def test_models_in_common_use_have_a_row(model, row, tier):
    found = DECK.budget(model)
    assert (found.row, found.budget.tier) == (row, Tier(tier))


@each_case(
    ("model", "row"),
    [
        ("openrouter/meta-llama/llama-3-70b-instruct", "meta-llama/llama-3-70b"),
        ("a-router-of-tomorrow/openai/gpt-4o", "openai/gpt-4o"),
        ("azure/gpt-4o", "openai/gpt-4o"),
        ("groq/llama-3.3-70b-versatile", "meta-llama/llama-3.3-70b"),
        ("groq/gemma2-9b-it", "google/gemma-2-"),
        ("together/meta-llama/Llama-3.3-70B-Instruct-Turbo", "meta-llama/llama-3.3-70b"),
        ("fireworks/accounts/fireworks/models/llama-v3p3-70b-instruct", "meta-llama/llama-3.3-70b"),
        ("fireworks/accounts/fireworks/models/deepseek-v3p2", "deepseek/deepseek-v3.2"),
        ("huggingface/Qwen/Qwen2.5-72B-Instruct", "qwen/qwen-2.5-"),
        ("bedrock/us.anthropic.claude-3-5-sonnet-20241022-v2:0", "anthropic/claude-3.5-sonnet"),
        ("bedrock/us-gov.anthropic.claude-sonnet-4-20250514-v1:0", "anthropic/claude-sonnet-"),
        ("bedrock/anthropic.claude-3-haiku-20240307-v1:0", "anthropic/claude-3-"),
        ("bedrock/us.meta.llama3-3-70b-instruct-v1:0", "meta-llama/llama-3.3-70b"),
        (
            "bedrock/arn:aws:bedrock:us-east-1:12:inference-profile/us.anthropic.claude-opus-4-1-20250805-v1:0",
            "anthropic/claude-opus-",
        ),
        ("vertex/claude-3-5-sonnet-v2@20241022", "anthropic/claude-3.5-sonnet"),
        ("vertex/meta/llama-3.3-70b-instruct-maas", "meta-llama/llama-3.3-70b"),
    ],
)
def test_route_gets_the_row_of_its_model(model, row):
    assert DECK.budget(model).row == row


def test_row_of_a_route_outranks_that_of_its_model():
    assert DECK.budget("openrouter/google/gemini-2.5-flash").budget.output_tokens == 4_000
    assert DECK.budget("google/gemini-2.5-flash").budget.output_tokens == 2_500


@each_case(
    ("model", "tier"),
    [
        ("openai/gpt-5-nano", "B"),
        ("openrouter/openai/gpt-5-nano", "B"),
        ("gemini/gemini-2.5-flash-lite", "B"),
        ("groq/llama-3.1-8b-instant", "C"),
        ("bedrock/meta.llama3-8b-instruct-v1:0", "C"),
        ("groq/deepseek-r1-distill-llama-70b", "C"),
        ("groq/openai/gpt-oss-20b", "C"),
        ("openrouter/x-ai/grok-4-fast:free", "C"),
        ("openrouter/minimax/minimax-m2:free", "C"),
    ],
)
def test_small_and_free_variants_do_not_get_the_tier_of_their_family(model, tier):
    assert DECK.budget(model).budget.tier is Tier(tier)


@each_case("model", ["groq/compound", "azure/my-deployment", "mine/local/lexical", "mine/scripted/x", "x/a.b"])
def test_route_to_an_unknown_model_gets_the_fallback(model):
    assert DECK.budget(model).is_fallback


def test_price_of_a_row_is_not_the_price_of_a_route():
    assert DECK.budget("openai/gpt-4o").budget.cached_input_cost_usd_per_mtok is not None
    assert DECK.budget("mine/gpt-4o").budget.cached_input_cost_usd_per_mtok is None


def test_server_of_ones_own_gets_no_larger_window_than_the_fallback():
    assert DECK.budget("groq/llama-3.3-70b-versatile").budget.input_tokens == 32_000
    assert DECK.budget("ollama/llama3.3:70b").budget.input_tokens == 16_000
    assert DECK.budget("ollama/llama3.3:70b").budget.tier is Tier.B


def test_router_has_its_own_row():
    assert DECK.budget("openrouter/auto").row == "openrouter/auto"


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.text(max_size=60))
def test_look_up_never_raises(text):
    assert DECK.budget(text).budget.tier in Tier


def test_each_field_names_its_source(deck_with):
    deck = deck_with(config={"budgets": {"openai/gpt-4o": {"input_tokens": 50_000}}})
    looked_up = deck.budget("openai/gpt-4o-mini")
    assert looked_up.budget.input_tokens == 50_000
    assert "budgets" in looked_up.sources["input_tokens"] and "openai/gpt-4o" in looked_up.sources["input_tokens"]
    assert looked_up.sources["tier"] == "row 'openai/gpt-4o' of plugin 'budgets'"


def test_a_deployment_adds_a_row(deck_with):
    deck = deck_with(config={"budgets": {"acme/": {"tier": "B", "input_tokens": 64_000}}})
    looked_up = deck.budget("acme/large")
    assert (looked_up.budget.tier, looked_up.budget.input_tokens, looked_up.row) == (Tier.B, 64_000, "acme/")
    assert any(each.row == "acme/" for each in deck.budgets())


def test_overridden_tier_brings_its_own_cap(deck_with):
    deck = deck_with(
        config={"budgets": {"acme/": {"tier": "A"}, "openai/gpt-4o": {"tier": "C", "max_catalog_bytes": 8_000}}}
    )
    assert deck.budget("acme/x").budget.max_catalog_bytes is None
    assert deck.budget("acme/x").sources["max_catalog_bytes"] == "default of tier A"
    assert deck.budget("openai/gpt-4o").budget.max_catalog_bytes == 8_000


def test_configured_cap_of_zero_is_no_limit(deck_with):
    deck = deck_with(config={"budgets": {"openrouter/openrouter/free": {"max_catalog_bytes": 0}}})
    assert deck.budget("openrouter/openrouter/free").budget.max_catalog_bytes is None


def test_longer_prefix_override_wins_per_field(deck_with):
    deck = deck_with(config={"budgets": {"a/": {"tier": "B", "output_tokens": 1}, "a/b": {"output_tokens": 2}}})
    budget = deck.budget("a/b-c").budget
    assert (budget.tier, budget.output_tokens) == (Tier.B, 2)


def test_fallback_override_does_not_affect_known_models(deck_with):
    deck = deck_with(config={"budgets": {"fallback": {"input_tokens": 9_000}}})
    assert deck.budget("unknown/knows").budget.input_tokens == 9_000
    assert deck.budget("openrouter/openrouter/free").budget.input_tokens == 16_000


def test_plugin_row_joins_the_table_and_longest_prefix_wins(deck_with):
    class Acme:
        @hookimpl
        def helmdeck_budget_rows(self):
            return [BudgetRow(prefix="openai/gpt-4o-tuned", budget=Budget(model="", tier=Tier.B, evidence="ours"))]

    deck = deck_with(Acme())
    assert deck.budget("openai/gpt-4o-tuned-7").budget.evidence == "ours"
    assert deck.budget("openai/gpt-4o").budget.tier is Tier.A


def test_built_in_rows_are_the_same_objects_for_every_deck():
    first, second = (make_deck().runtime.contributions.values_of(BudgetRow) for _ in range(2))
    assert first
    assert all(one is other for one, other in zip(first, second, strict=True))
