"""Cost of calls: prices from budgets and plugins, and cost limits."""

import pytest

from helmdeck_cli.printing.results import footer
from helmdeck_core import (
    CallFinished,
    CallLimits,
    CostUnknown,
    LikelyTimeout,
    ModelFigures,
    PluginError,
    PriceSource,
    ProviderUnavailable,
    Tier,
    Usage,
    hookimpl,
)
from helmdeck_providers import price_lists as prices
from helmdeck_testing import EventRecorder, Reply, make_deck, scripted_provider

GOOD = '{"steps":[{"tool":"blog.draft","args":{"brief":"b"}}]}'
USAGE = Usage(input_tokens=1_000_000, output_tokens=100_000, cached_input_tokens=400_000)
PRICES = {"input_cost_usd_per_mtok": 2.0, "output_cost_usd_per_mtok": 10.0, "cached_input_cost_usd_per_mtok": 0.5}


class PriceRecorder(EventRecorder):
    """Records events, and contributes prices by model."""

    def __init__(self, **costs):
        super().__init__()
        self.costs, self.priced_models = costs, []

    @hookimpl
    def helmdeck_prices(self):
        def cost(model, usage):
            self.priced_models.append(model)
            return self.costs.get(model)

        return [PriceSource(name="ours", cost_usd=cost)]


def deck_of(recorder, *replies, budget=None, **config):
    script = scripted_provider(replies, "acme")
    return make_deck(script, recorder, config={"budgets": {"acme/": budget or {}}, **config})


def test_budget_prices_cached_input_separately():
    recorder = PriceRecorder()
    with deck_of(recorder, Reply(GOOD, usage=USAGE), budget=PRICES) as deck:
        plan = deck.plan("draft a post", model="acme/x")
    assert plan.cost_usd == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 0.1 * 10) == plan.to_dict()["cost_usd"]
    (finished,) = recorder.of(CallFinished)
    assert finished.cost_usd == plan.cost_usd and finished.saved_usd == pytest.approx(0.4 * 1.5)
    assert recorder.priced_models == []


def test_price_source_is_used_if_the_budget_has_no_prices():
    recorder = PriceRecorder(**{"acme/x": 0.25})
    with deck_of(recorder, Reply(GOOD, usage=USAGE)) as deck:
        assert deck.plan("draft a post", model="acme/x").cost_usd == 0.25


def test_cost_includes_failed_attempts():
    deck = deck_of(PriceRecorder(), Reply("", usage=USAGE), budget=PRICES, recovery={"max_attempts": 1})
    with deck, pytest.raises(LikelyTimeout) as caught:
        deck.plan("draft a post", model="acme/x")
    assert caught.value.attempts[0].cost_usd == pytest.approx(2.4)


def test_truncated_stream_is_charged_by_its_reported_usage():
    recorder = PriceRecorder()
    broken = ProviderUnavailable("the connection was closed", usage=USAGE)
    deck = deck_of(recorder, broken, Reply(GOOD, usage=USAGE), budget=PRICES, recovery={"backoff_s": 0})
    with deck:
        plan = deck.plan("draft a post", model="acme/x")
    assert [attempt.cost_usd for attempt in plan.attempts] == [pytest.approx(2.4), pytest.approx(2.4)]
    assert plan.cost_usd == pytest.approx(4.8)
    assert [attempt.usage for attempt in plan.attempts] == [USAGE, USAGE]


def test_cost_limit_ends_the_call():
    chain = {"fallback": {"acme/": ["acme/y"]}}
    deck = deck_of(PriceRecorder(), Reply("", usage=USAGE), budget=PRICES, **chain)
    with deck, pytest.raises(LikelyTimeout) as caught:
        deck.plan("draft a post", model="acme/x", limits=CallLimits(max_cost_usd=2.0))
    assert caught.value.attempts[0].then == "stopped: max_cost_usd 2 reached"


def test_unknown_cost_with_a_limit_is_reported_once():
    recorder = PriceRecorder()
    replies = [Reply(GOOD, usage=USAGE)] * 3
    with deck_of(recorder, *replies, recovery={"max_cost_usd": 1.0}) as deck:
        plans = [deck.plan("draft a post", model="acme/x") for _ in range(3)]
    assert [plan.cost_usd for plan in plans] == [None] * 3
    assert recorder.of(CostUnknown) == [CostUnknown(model="acme/x")]


def test_embedded_models_are_free():
    with make_deck() as deck:
        assert deck.budget("local/lexical").budget.output_cost_usd_per_mtok == 0.0


def test_price_package_covers_hosted_models_only():
    pytest.importorskip("genai_prices", reason="the extra 'prices' is not installed")
    usage = Usage(input_tokens=1_000, output_tokens=100, cached_input_tokens=10)
    assert 0 < prices.cost_usd("openai/gpt-4o", usage) < 0.1
    assert prices.cost_usd("gemini/gemini-2.5-pro", usage) > 0
    for unknown in ("acme/x", "openai/unknown", "vllm/any", "odd", "my-openai/gpt-4o", "ollama-openai/gpt-4o"):
        assert prices.cost_usd(unknown, usage) is None
    assert prices.cost_usd("openai/gpt-4o", Usage(input_tokens=1, cached_input_tokens=5)) in (
        None,
        pytest.approx(0, abs=1),
    )


def test_cost_is_tokens_times_the_price_of_the_package():
    pytest.importorskip("genai_prices", reason="the extra 'prices' is not installed")
    # US dollars per million tokens: 2.5 input, 1.25 cached input, 10 output.
    usage = Usage(input_tokens=8_000, cached_input_tokens=6_000, output_tokens=500, reasoning_tokens=200)
    paid = (2_000 * 2.5 + 6_000 * 1.25 + 500 * 10) / 1e6
    for model in ("openai/gpt-4o", "openai-responses/gpt-4o", "openrouter/openai/gpt-4o"):
        assert prices.cost_usd(model, usage) == pytest.approx(paid)
    # 3 input, 0.3 cache read, 3.75 cache write, 15 output; input includes both cache counters.
    usage = Usage(input_tokens=10_000, cached_input_tokens=4_000, cache_write_tokens=1_000, output_tokens=100)
    paid = (5_000 * 3 + 4_000 * 0.3 + 1_000 * 3.75 + 100 * 15) / 1e6
    assert prices.cost_usd("anthropic/claude-sonnet-4-6", usage) == pytest.approx(paid)


def test_cache_savings_are_reported_for_every_price_source():
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


class Listing:
    """Contributes a price list with one model, and records what is looked up in it."""

    def __init__(self, listed="acme/x", **figures):
        self.listed, self.figures, self.expected = listed, figures, []

    @hookimpl
    def helmdeck_prices(self):
        def figures(model):
            self.expected.append(model)
            return ModelFigures(listed_as="acme's x", **self.figures) if model == self.listed else None

        return [PriceSource(name="ours", cost_usd=lambda model, usage: None, figures=figures)]


def listing_deck(listing, **config):
    return make_deck(listing, config={"plugins": {"disable": ["prices"]}, **config})


def test_window_and_prices_of_a_model_without_a_row_are_listed_with_their_source():
    with listing_deck(Listing(input_tokens=90_000, **PRICES)) as deck:
        found = deck.budget("acme/x")
    assert found.is_fallback and found.budget.tier is Tier.C
    assert found.budget.input_tokens == 90_000
    assert [getattr(found.budget, name) for name in PRICES] == list(PRICES.values())
    for name in ("input_tokens", *PRICES):
        assert found.sources[name] == "price source 'ours': acme's x"
    assert found.sources["output_tokens"] == "fallback row of plugin 'budgets'"


def test_listed_prices_replace_an_incomplete_row_as_a_whole_and_leave_its_window():
    with listing_deck(Listing("openai/gpt-4o", input_tokens=7, **PRICES)) as deck:
        budget = deck.budget("openai/gpt-4o").budget
    assert [getattr(budget, name) for name in PRICES] == list(PRICES.values())
    assert budget.input_tokens == 100_000


def test_wrong_figures_are_the_fault_of_their_plugin():
    class Wrong:
        @hookimpl
        def helmdeck_prices(self):
            return [PriceSource(name="ours", cost_usd=lambda model, usage: None, figures=lambda model: 3)]

    with listing_deck(Wrong()) as deck, pytest.raises(PluginError, match="not ModelFigures: returned int"):
        deck.budget("acme/x")


def test_configured_figures_outrank_listed_ones():
    budgets = {"acme/": {"input_tokens": 5_000, "output_cost_usd_per_mtok": 3.0}}
    with listing_deck(Listing(input_tokens=90_000, **PRICES), budgets=budgets) as deck:
        budget = deck.budget("acme/x").budget
    assert (budget.input_tokens, budget.output_cost_usd_per_mtok, budget.input_cost_usd_per_mtok) == (5_000, 3.0, 2.0)


def test_calls_are_priced_by_the_source_and_load_no_price_list_for_a_known_model():
    listing = Listing("acme/x", **PRICES)
    script = scripted_provider([Reply(GOOD, usage=USAGE)], "acme")
    config = {"budgets": {"acme/": {}}, "plugins": {"disable": ["prices"]}}
    with make_deck(script, listing, config=config) as deck:
        assert deck.plan("draft a post", model="acme/x").cost_usd is None
        assert listing.expected == ["acme/x"], "the window of a model without a row"
        assert deck.budget("openai/gpt-4o") and listing.expected[-1] == "openai/gpt-4o"
        deck.runtime.budgets.find("openai/gpt-5")
        assert "openai/gpt-5" not in listing.expected


@pytest.mark.parametrize("by_input", [0.0, 0.1, 0.5, 2.0])
def test_cached_input_never_costs_more_than_other_input(by_input):
    prices = {"input_cost_usd_per_mtok": by_input, "output_cost_usd_per_mtok": 0.0}
    with make_deck(config={"budgets": {"openai/gpt-4o": prices}}) as deck:
        for lists_prices in (True, False):
            budget = deck.runtime.budgets.find("openai/gpt-4o", lists_prices=lists_prices).budget
            assert budget.cached_input_cost_usd_per_mtok <= by_input
            whole = deck.runtime.pricer.cost_usd(budget, "openai/gpt-4o", Usage(input_tokens=1_000_000))
            cached = Usage(input_tokens=1_000_000, cached_input_tokens=1_000_000)
            assert deck.runtime.pricer.cost_usd(budget, "openai/gpt-4o", cached) <= whole
            assert deck.runtime.pricer.saved_usd(budget, "openai/gpt-4o", cached) >= 0


def test_every_hosted_row_has_three_prices_with_the_package():
    pytest.importorskip("genai_prices", reason="the extra 'prices' is not installed")
    with make_deck() as deck:
        found = [
            each for each in deck.budgets() if each.row and not each.row.startswith("openrouter/") and "/" in each.row
        ]
        priced = [tuple(getattr(each.budget, name) for name in PRICES) for each in found]
    without = [each.row for each, prices in zip(found, priced, strict=True) if None in prices]
    assert not without
    assert all(cached <= by_input for by_input, _, cached in priced)


def test_package_names_the_listed_model_and_never_prices_a_server_of_ones_own():
    pytest.importorskip("genai_prices", reason="the extra 'prices' is not installed")
    with make_deck() as deck:
        assert (
            deck.budget("azure/gpt-4o").sources["input_cost_usd_per_mtok"]
            == "price source 'genai-prices': azure/gpt-4o"
        )
        prefix = deck.budget("anthropic/claude-opus-").sources["input_cost_usd_per_mtok"]
        assert "the most expensive of" in prefix
        assert deck.budget("perplexity/sonar-pro").budget.input_tokens > 16_000
        for own in ("mine/gpt-4o", "vllm/meta-llama/llama-3.3-70b", "ollama/llama3.3:70b"):
            assert deck.budget(own).budget.input_cost_usd_per_mtok is None


def test_unknown_price_is_not_shown_as_zero():
    with deck_of(PriceRecorder(), Reply(GOOD, usage=USAGE)) as deck:
        plan = deck.plan("draft a post", model="acme/x")
    assert plan.cost_usd is None and "cost_usd" not in plan.to_dict()
    assert "dollars" not in "\n".join(footer(plan))
