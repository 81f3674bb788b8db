"""Hooks for models, providers and budgets, each used as a third party would use it."""

import pytest

from helmdeck_core import (
    Budget,
    BudgetRow,
    ChatRequest,
    ChatResponse,
    ConfigError,
    ErrorRuleSet,
    Message,
    NativeContinuation,
    PluginError,
    ProviderSpec,
    Role,
    StopReason,
    StopReasonTable,
    TextPart,
    Tier,
    TierDefaults,
    hookimpl,
)
from helmdeck_testing import Fail, Reply, StubProvider, plugin_with, scripted_provider
from tests.helmdeck_core.hooks_support import GOOD, contributing


def test_helmdeck_native_continuations_say_who_takes_an_unfinished_answer(deck_with):
    script = scripted_provider([Reply("ha", "length"), Reply("lf")])
    row = NativeContinuation(prefix="scripted/", evidence="seen")
    deck = deck_with(contributing("helmdeck_native_continuations", row), script)
    messages = (Message(Role.USER, (TextPart("go"),)),)
    assert deck.complete(ChatRequest(model="scripted/any", messages=messages)).text == "half"
    assert script.requests[1].continues


def test_helmdeck_transports_serve_the_providers_that_choose_them(deck_with):
    from helmdeck_core import TransportSpec, WholeResponse

    class Canned:
        def __init__(self, settings):
            opened.append(settings.base_url)

        async def send(self, method, url, headers, body):
            text = b'{"choices": [{"message": {"content": "canned"}, "finish_reason": "stop"}]}'
            return WholeResponse(200, {"Content-Type": "application/json"}, text)

        async def aclose(self):
            opened.append("closed")

    opened = []
    plugin = contributing("helmdeck_transports", TransportSpec(name="canned", open=Canned, order=99))
    config = {"providers": {"vllm": {"base_url": "http://models.example/v1", "transport": "canned"}}}
    deck = deck_with(plugin, config=config)
    request = ChatRequest(model="vllm/any", messages=(Message(Role.USER, (TextPart("go"),)),))
    assert deck.complete(request).text == "canned"
    deck.close()
    assert opened == ["http://models.example/v1", "closed"]


def test_helmdeck_routers_choose_the_key_of_a_request(deck_with, monkeypatch):
    from helmdeck_core import ProviderSpec, RouterSpec

    monkeypatch.setenv("KEY_A", "first-key")
    monkeypatch.setenv("KEY_B", "second-key")
    made = []

    def open_router(routes, emit):
        made.append([route.weight for route in routes])
        return lambda providers: providers[-1]

    class Echo(StubProvider):
        def __init__(self, settings):
            super().__init__(settings.api_key())

    acme = plugin_with(
        helmdeck_providers=[ProviderSpec(name="echo", open=lambda settings, context: Echo(settings))],
        helmdeck_routers=[RouterSpec(name="last", open=open_router, order=-1)],
    )
    routes = [{"api_key": "env:KEY_A", "weight": 3}, {"api_key": "env:KEY_B"}]
    request = ChatRequest(model="echo/any", messages=(Message(Role.USER, (TextPart("go"),)),))
    for routing in ({}, {"routing": "last"}):  # the lowest order is the default
        assert (
            deck_with(acme, config={"providers": {"echo": {"routes": routes, **routing}}}).complete(request).text
            == "second-key"
        )
    assert made == [[3.0, 1.0]] * 2


def test_helmdeck_chain_policies_order_the_models_of_a_call(deck_with):
    from helmdeck_core import ChainOrder, ChainPolicySpec

    class Reversed:
        def order(self, request):
            return ChainOrder(models=request.models[::-1])

        def record(self, order, attempts):
            self.recorded = [attempt.model for attempt in attempts]

        def close(self):
            self.recorded.append("closed")

    policy = Reversed()
    acme = contributing("helmdeck_chain_policies", ChainPolicySpec(name="acme", open=lambda setup: policy, order=-1))
    config = {"fallback": {"weak/": ["scripted/any"]}}
    deck = deck_with(acme, scripted_provider([GOOD]), scripted_provider([GOOD], "weak"), config=config)
    assert deck.plan("draft a post", model="weak/any").model == "scripted/any"
    deck.close()
    assert policy.recorded == ["scripted/any", "closed"]


def test_routes_without_a_contributed_router_are_a_mistake(deck_with):
    config = {"providers": {"openai": {"api_keys": ["env:KEY_A"]}}, "plugins": {"disable": ["routing"]}}
    with pytest.raises(ConfigError, match="providers.openai.routing: unknown routing"):
        deck_with(config=config)


def test_helmdeck_prices_say_what_a_call_cost(deck_with):
    from helmdeck_core import PriceSource, Usage
    from helmdeck_testing import Reply, scripted_provider

    source = PriceSource(name="ours", cost_usd=lambda model, usage: usage.output_tokens * 0.5)
    script = scripted_provider([Reply(GOOD, usage=Usage(output_tokens=3))] * 2, "acme")
    deck = deck_with(contributing("helmdeck_prices", source), script)
    assert deck.plan("draft a post", model="acme/any").cost_usd == 1.5
    wrong = contributing("helmdeck_prices", PriceSource(name="ours", cost_usd=lambda model, usage: "much"))
    script = scripted_provider([Reply(GOOD, usage=Usage(output_tokens=3))] * 2, "acme")
    with pytest.raises(PluginError, match="PriceSource 'ours' raised TypeError: a cost is a number"):
        deck_with(wrong, script).plan("draft a post", model="acme/y")


def test_helmdeck_recovery_rules_say_what_is_tried_after_a_failure(deck_with):
    from helmdeck_core import NextModel, RecoveryRule

    rule = RecoveryRule(name="auth_failed", actions=(NextModel(),))
    script = scripted_provider([Fail("auth_failed")])
    deck = deck_with(
        contributing("helmdeck_recovery_rules", rule), script, config={"fallback": {"scripted/": ["local/lexical"]}}
    )
    assert deck.plan("draft a post", model="scripted/any").model == "local/lexical"


def test_helmdeck_providers_serves_models_under_its_name(deck_with):
    parrot = ProviderSpec(name="parrot", open=lambda settings, context: StubProvider(GOOD))
    deck = deck_with(contributing("helmdeck_providers", parrot))
    assert deck.plan("draft a post", model="parrot/any").steps[0].tool == "blog.draft"


def test_helmdeck_stop_reasons_teaches_a_wire_format(deck_with):
    table = StopReasonTable(name="acme", reasons={"Enough": StopReason.MAX_TOKENS})
    deck = deck_with(contributing("helmdeck_stop_reasons", table))
    assert deck.runtime.normalise_stop("ENOUGH", "acme") is StopReason.MAX_TOKENS
    assert deck.runtime.normalise_stop("enough", "") is StopReason.MAX_TOKENS
    assert deck.runtime.normalise_stop("enough", "another") is StopReason.UNKNOWN
    assert deck.runtime.normalise_stop(None, "acme") is StopReason.UNKNOWN


def test_helmdeck_error_rules_reach_the_providers_that_they_name(deck_with):
    class Provider:
        def __init__(self, settings):
            opened[settings.name] = [rules.name for rules in settings.error_rules]

        async def complete(self, request):
            return ChatResponse(text="done", stop_reason=StopReason.END_TURN)

        async def aclose(self):
            pass

    opened = {}
    specs = [ProviderSpec(name=name, open=lambda settings, _: Provider(settings)) for name in ("acme", "other")]
    rules = [ErrorRuleSet(name="late", order=1), ErrorRuleSet(name="named", providers=("acme",))]
    deck = deck_with(contributing("helmdeck_providers", *specs), contributing("helmdeck_error_rules", *rules))
    for name in ("acme", "other"):
        deck.complete(ChatRequest(model=f"{name}/any", messages=(Message(Role.USER, (TextPart("go"),)),)))
    assert opened == {"acme": ["named", "late"], "other": ["late"]}


def test_helmdeck_budget_rows_adds_models(deck_with):
    row = BudgetRow(prefix="acme/", budget=Budget(model="", output_tokens=77))
    assert deck_with(contributing("helmdeck_budget_rows", row)).budget("acme/x").budget.output_tokens == 77


def test_helmdeck_tier_defaults_replace_one_tier_and_leave_the_others(deck_with):
    ours = TierDefaults(tier=Tier.C, max_catalog_bytes=9_000, prompt_variant="full_steps", max_entries=7)
    deck = deck_with(
        contributing("helmdeck_tier_defaults", ours),
        config={"budgets": {"acme/": {"tier": "C"}, "own/": {"tier": "B"}}},
    )
    assert deck.budget("acme/x").prompt_variant == "full_steps"
    assert deck.runtime.selection(Tier.C, "acme/x").max_entries == 7
    assert deck.budget("openrouter/openrouter/free").budget.max_catalog_bytes == 10_000, "a row's own limit stays"
    assert deck.budget("own/x").budget.max_catalog_bytes == 22_000
    moved = deck_with(
        contributing("helmdeck_tier_defaults", ours), config={"budgets": {"openai/gpt-4o": {"tier": "C"}}}
    )
    found = moved.budget("openai/gpt-4o")
    assert (found.budget.max_catalog_bytes, found.asks_for_json) == (9_000, True)


def test_without_tier_defaults_no_tier_has_a_limit(deck_with):
    deck = deck_with(config={"plugins": {"disable": ["budgets"]}})
    assert deck.runtime.selection(Tier.C, "any/x").max_entries == 0
    assert deck.plan("draft a post").prompt_variant_used == "full_steps"


def test_helmdeck_model_budget_answers_before_the_built_in_and_once_per_model(deck_with):
    asked = []

    class Acme:
        @hookimpl
        def helmdeck_model_budget(self, model_id, table):
            asked.append(model_id)
            return Budget(model=model_id, output_tokens=5) if model_id == "acme/x" else None

    deck = deck_with(Acme())
    assert [deck.budget(" acme/x ").budget.output_tokens for _ in range(3)] == [5, 5, 5]
    assert asked == ["acme/x"]
