"""What calls cost: from budgets, from sources of plugins, and what a limit does with it."""

import pytest

from helmdeck_core import (
    CallFinished,
    CallLimits,
    CostUnknown,
    LikelyTimeout,
    PriceSource,
    ProviderUnavailable,
    Usage,
    hookimpl,
)
from helmdeck_plugins import prices
from helmdeck_plugins.commands.results import footer
from helmdeck_testing import EventRecorder, Reply, make_deck, scripted_provider

GOOD = '{"steps":[{"tool":"blog.draft","args":{"brief":"b"}}]}'
USAGE = Usage(input_tokens=1_000_000, output_tokens=100_000, cached_input_tokens=400_000)
PRICES = {"input_cost_usd_per_mtok": 2.0, "output_cost_usd_per_mtok": 10.0, "cached_input_cost_usd_per_mtok": 0.5}


class Watching(EventRecorder):
    """Records events, and contributes prices by model."""

    def __init__(self, **costs):
        super().__init__()
        self.costs, self.asked = costs, []

    @hookimpl
    def helmdeck_prices(self):
        def cost(model, usage):
            self.asked.append(model)
            return self.costs.get(model)

        return [PriceSource(name="ours", cost_usd=cost)]


def deck_of(watching, *replies, budget=None, **config):
    script = scripted_provider(replies, "acme")
    return make_deck(script, watching, config={"budgets": {"acme/": budget or {}}, **config})


def test_prices_of_the_budget_count_cached_input_apart():
    watching = Watching()
    with deck_of(watching, Reply(GOOD, usage=USAGE), budget=PRICES) as deck:
        plan = deck.plan("draft a post", model="acme/x")
    assert plan.cost_usd == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 0.1 * 10) == plan.to_dict()["cost_usd"]
    (finished,) = watching.of(CallFinished)
    assert finished.cost_usd == plan.cost_usd and finished.saved_usd == pytest.approx(0.4 * 1.5)
    assert watching.asked == []


def test_a_source_is_asked_where_the_budget_has_no_prices():
    watching = Watching(**{"acme/x": 0.25})
    with deck_of(watching, Reply(GOOD, usage=USAGE)) as deck:
        assert deck.plan("draft a post", model="acme/x").cost_usd == 0.25


def test_all_attempts_are_paid_for():
    deck = deck_of(Watching(), Reply("", usage=USAGE), budget=PRICES)
    with deck, pytest.raises(LikelyTimeout) as caught:
        deck.plan("draft a post", model="acme/x")
    assert caught.value.attempts[0].cost_usd == pytest.approx(2.4)


def test_an_answer_that_breaks_off_is_paid_for_as_far_as_the_provider_said():
    watching = Watching()
    broken = ProviderUnavailable("the stream broke off", usage=USAGE)
    deck = deck_of(watching, broken, Reply(GOOD, usage=USAGE), budget=PRICES, recovery={"backoff_s": 0})
    with deck:
        plan = deck.plan("draft a post", model="acme/x")
    assert [attempt.cost_usd for attempt in plan.attempts] == [pytest.approx(2.4), pytest.approx(2.4)]
    assert plan.cost_usd == pytest.approx(4.8)
    assert [attempt.usage for attempt in plan.attempts] == [USAGE, USAGE]


def test_a_cost_limit_ends_a_call():
    chain = {"fallback": {"acme/": ["acme/y"]}}
    deck = deck_of(Watching(), Reply("", usage=USAGE), budget=PRICES, **chain)
    with deck, pytest.raises(LikelyTimeout) as caught:
        deck.plan("draft a post", model="acme/x", limits=CallLimits(max_cost_usd=2.0))
    assert caught.value.attempts[0].then == "given up: max_cost_usd 2 reached"


def test_a_cost_limit_says_once_that_it_cannot_count():
    watching = Watching()
    replies = [Reply(GOOD, usage=USAGE)] * 3
    with deck_of(watching, *replies, recovery={"max_cost_usd": 1.0}) as deck:
        plans = [deck.plan("draft a post", model="acme/x") for _ in range(3)]
    assert [plan.cost_usd for plan in plans] == [None] * 3
    assert watching.of(CostUnknown) == [CostUnknown(model="acme/x")]


def test_what_runs_in_this_process_costs_nothing():
    with make_deck() as deck:
        assert deck.budget("local/lexical").budget.output_cost_usd_per_mtok == 0.0


def test_the_table_of_the_package_knows_hosted_models_and_nothing_else():
    pytest.importorskip("genai_prices", reason="the extra 'prices' is not installed")
    usage = Usage(input_tokens=1_000, output_tokens=100, cached_input_tokens=10)
    assert 0 < prices.cost_usd("openai/gpt-4o", usage) < 0.1
    assert prices.cost_usd("gemini/gemini-2.5-pro", usage) > 0
    for unknown in ("acme/x", "openai/nobody-knows", "vllm/any", "odd", "my-openai/gpt-4o", "ollama-openai/gpt-4o"):
        assert prices.cost_usd(unknown, usage) is None
    assert prices.cost_usd("openai/gpt-4o", Usage(input_tokens=1, cached_input_tokens=5)) in (
        None,
        pytest.approx(0, abs=1),
    )


def test_the_figures_are_those_of_the_packages_table_tokens_times_price():
    pytest.importorskip("genai_prices", reason="the extra 'prices' is not installed")
    # Dollars per million tokens: 2.5 in, 1.25 from the cache, 10 out.
    usage = Usage(input_tokens=8_000, cached_input_tokens=6_000, output_tokens=500, reasoning_tokens=200)
    paid = (2_000 * 2.5 + 6_000 * 1.25 + 500 * 10) / 1e6
    for model in ("openai/gpt-4o", "openai-responses/gpt-4o", "openrouter/openai/gpt-4o"):
        assert prices.cost_usd(model, usage) == pytest.approx(paid)
    # 3 in, 0.3 from the cache, 3.75 into the cache, 15 out; the two caches are parts of all input.
    usage = Usage(input_tokens=10_000, cached_input_tokens=4_000, cache_write_tokens=1_000, output_tokens=100)
    paid = (5_000 * 3 + 4_000 * 0.3 + 1_000 * 3.75 + 100 * 15) / 1e6
    assert prices.cost_usd("anthropic/claude-sonnet-4-6", usage) == pytest.approx(paid)


def test_what_the_cache_saved_is_told_whoever_knows_the_price():
    def price(model, usage):
        return (usage.input_tokens - usage.cached_input_tokens) * 2e-6 + usage.cached_input_tokens * 5e-7

    class Source:
        @hookimpl
        def helmdeck_prices(self):
            return [PriceSource(name="ours", cost_usd=price)]

    for budget, saved in (({}, 0.6), (PRICES, 0.6), ({**PRICES, "cached_input_cost_usd_per_mtok": None}, None)):
        config = {"budgets": {"acme/": {name: value for name, value in budget.items() if value is not None}}}
        with make_deck(scripted_provider([Reply(GOOD, usage=USAGE)], "acme"), Source(), config=config) as deck:
            plan = deck.plan("draft a post", model="acme/x")
        assert plan.saved_usd == (None if saved is None else pytest.approx(saved))
        assert plan.to_dict().get("saved_usd") == plan.saved_usd
        shown = "\n".join(footer(plan))
        assert ("caching saved 0.600000" in shown) is (saved is not None)


def test_a_price_that_nobody_knows_is_not_shown_as_nothing():
    with deck_of(Watching(), Reply(GOOD, usage=USAGE)) as deck:
        plan = deck.plan("draft a post", model="acme/x")
    assert plan.cost_usd is None and "cost_usd" not in plan.to_dict()
    assert "dollars" not in "\n".join(footer(plan))
