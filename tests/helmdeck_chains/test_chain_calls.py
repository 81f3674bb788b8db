"""Calls of a deck take the order of the policy once, and report how their attempts ended."""

from types import MappingProxyType

import pytest

from helmdeck_core import (
    ChainOrder,
    ChainOrdered,
    ChainPolicySpec,
    ConfigError,
    EventSink,
    FailureClass,
    PluginError,
    Usage,
)
from helmdeck_testing import Reply, scripted_provider
from tests.helmdeck_core.hooks_support import GOOD, contributing

PRICES = {
    f"{name}/any": {"input_cost_usd_per_mtok": usd, "output_cost_usd_per_mtok": usd}
    for name, usd in (("weak", 1.0), ("strong", 2.0))
}
CHAIN = {"fallback": {"weak/": ["strong/any", "local/lexical"]}, "budgets": PRICES}


def deck_of(deck_with, weak, strong, *plugins, **chains):
    events = []
    sink = contributing("helmdeck_event_sinks", EventSink(name="ours", handle=events.append))
    scripts = scripted_provider(weak, "weak"), scripted_provider(strong, "strong")
    deck = deck_with(sink, *scripts, *plugins, model="weak/any", config={**CHAIN, "chains": chains})
    return deck, events, scripts


def good(count):
    return [Reply(GOOD, usage=Usage(input_tokens=100, output_tokens=10))] * count


def test_adaptive_policy_calls_the_model_that_answers_first(deck_with):
    failing = [Reply("", usage=Usage(input_tokens=100, output_tokens=10))] * 40
    options = {"explore_usd_per_day": 0.0, "seed": 1}
    deck, events, (weak, _) = deck_of(deck_with, failing, good(20), policy="adaptive", options=options)
    models = [deck.plan("draft a post").model for _ in range(12)]
    assert models == ["strong/any"] * 12
    assert 1 <= len(weak.requests) < 12
    orders = [event for event in events if isinstance(event, ChainOrdered)]
    assert len(orders) == 12
    assert orders[0].models == ("weak/any", "strong/any", "local/lexical")
    assert orders[-1].models == ("strong/any", "weak/any", "local/lexical")
    assert [each["model"] for each in orders[-1].details["models"]] == ["strong/any", "weak/any"]


def test_advise_keeps_the_order_and_names_the_advised_one(deck_with):
    options = {"usd_per_s": 0.001}
    deck, events, (weak, _) = deck_of(deck_with, [Reply("")] * 24, good(12), policy="advise", options=options)
    for _ in range(12):
        deck.plan("draft a post")
    assert len(weak.requests) == 12
    last = [event for event in events if isinstance(event, ChainOrdered)][-1]
    assert last.models[0] == "weak/any"
    assert last.details["advised"][0] == "strong/any"


@pytest.mark.parametrize("chains", [{}, {"policy": "fixed"}])
def test_fixed_order_opens_no_policy(deck_with, chains):
    deck, events, _ = deck_of(deck_with, good(1), [], **chains)
    assert deck.plan("draft a post").model == "weak/any"
    assert not [event for event in events if isinstance(event, ChainOrdered)]


def test_unknown_policy_and_options_are_mistakes(deck_with):
    with pytest.raises(ConfigError, match=r"chains.policy: unknown chain policy .did you mean 'adaptive'"):
        deck_of(deck_with, [], [], policy="adaptiv")
    with pytest.raises(ConfigError, match="chains.options.usd_per_sec"):
        deck_of(deck_with, [], [], policy="adaptive", options={"usd_per_sec": 1})
    with pytest.raises(ConfigError, match=r"chains.options.wrong_usd: not above 0, found 0"):
        deck_of(deck_with, [], [], policy="adaptive", options={"wrong_usd": 0})
    with pytest.raises(ConfigError, match=r"chains.options.min_usable: not between 0 and 1, found 2"):
        deck_of(deck_with, [], [], policy="adaptive", options={"min_usable": 2})


class Policy:
    def __init__(self, models, thresholds=()):
        self.models, self.orders, self.recorded, self.is_closed = models, 0, [], False
        self.thresholds = thresholds

    def order(self, request):
        self.orders += 1
        self.request = request
        return ChainOrder(models=self.models, thresholds=self.thresholds, reason="ours")

    explain = order

    def record(self, order, attempts):
        self.recorded.append([(each.model, each.cause) for each in attempts])

    def close(self):
        self.is_closed = True


def ours(policy):
    spec = ChainPolicySpec(name="ours", open=lambda setup: policy)
    return contributing("helmdeck_chain_policies", spec)


def test_policy_of_a_plugin_orders_each_call_once_and_gets_all_attempts(deck_with):
    policy = Policy(("strong/any", "weak/any"))
    deck, _, _ = deck_of(deck_with, good(1), [Reply("")] * 3, ours(policy), policy="ours")
    assert deck.plan("draft a post").model == "weak/any"
    deck.close()
    assert policy.orders == 1
    assert policy.request.models == ("weak/any", "strong/any", "local/lexical")
    assert (policy.request.answer, policy.request.size_bytes) == ("plan", len("draft a post"))
    assert [model for model, _ in policy.recorded[0]] == ["strong/any", "weak/any"]
    assert policy.is_closed


FROZEN = MappingProxyType({"rates": MappingProxyType({"strong/any": 0.5})})


@pytest.mark.parametrize(
    ("details", "recorded"), [({}, {}), ({"details": lambda: FROZEN}, {"rates": {"strong/any": 0.5}})]
)
@pytest.mark.parametrize("sink", ["requests", "traces"])
def test_order_with_default_or_read_only_details_is_in_the_call_trace(deck_with, tmp_path, sink, details, recorded):
    class Brief(Policy):
        def order(self, request):
            return ChainOrder(models=self.models, **details)

    stored = {"url": f"sqlite:{tmp_path / 'calls.db'}"} if sink == "requests" else {"file": str(tmp_path / "calls.db")}
    config = {**CHAIN, "chains": {"policy": "ours"}, "events": {"sinks": [sink], "options": {sink: stored}}}
    scripts = scripted_provider([], "weak"), scripted_provider(good(1), "strong")
    deck = deck_with(*scripts, ours(Brief(("strong/any",))), model="weak/any", config=config)
    deck.plan("draft a post")
    (trace,) = deck.traces()
    deck.close()
    (order,) = [event for event in trace.events if event["event"] == "chain_ordered"]
    assert (order["models"], order["details"]) == (["strong/any"], recorded)


def test_policy_that_names_a_foreign_model_is_at_fault(deck_with):
    deck, _, _ = deck_of(deck_with, [], [], ours(Policy(("else/any",))), policy="ours")
    with pytest.raises(PluginError, match="ChainPolicySpec 'ours' ordered"):
        deck.plan("draft a post")


def test_policy_that_cannot_record_fails_no_call(deck_with):
    class Forgetful(Policy):
        def record(self, order, attempts):
            raise KeyError("no memory")

    deck, _, _ = deck_of(deck_with, [], good(1), ours(Forgetful(("strong/any",))), policy="ours")
    assert deck.plan("draft a post").model == "strong/any"


def test_unsure_plan_continues_with_the_next_model_and_is_kept_where_that_fails(deck_with):
    policy = Policy(("local/lexical", "strong/any"), (0.6, 0.0))
    strong = scripted_provider([*good(3), Reply("")], "strong")  # of each two, the first one narrows the selection
    config = {"fallback": {"local/": ["strong/any"]}, "chains": {"policy": "ours"}, "recovery": {"max_attempts": 2}}
    deck = deck_with(strong, ours(policy), model="local/lexical", config=config)
    assert deck.plan("search the web for tea").model == "local/lexical", "sure enough"
    answered, kept = deck.plan("make slides of it"), deck.plan("make slides of it")
    assert (answered.model, kept.model) == ("strong/any", "local/lexical")
    for plan in (answered, kept):
        assert plan.attempts[0].sub_cause == "unsure_answer"
    assert kept.steps[0].probability < 0.6
    assert {each.model for each in kept.attempts} == {"local/lexical", "strong/any"}
    causes = [cause for _, cause in policy.recorded[1]]
    assert (causes[0], causes[-1]) == (FailureClass.TRANSIENT_UNKNOWN, None)
