"""The order of a chain has the least expected cost, learns from outcomes, and keeps the floors of the operator."""

import collections
import itertools
import random

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmdeck_chains import (
    AdaptivePolicy,
    AdvisePolicy,
    ChainOptions,
    DataOptions,
    Learning,
    ModelEvidence,
    ModelOptions,
    best_order,
    expected_cost,
    kind_of,
    reservation_value,
)
from helmdeck_core import Attempt, ChainRequest, FailureClass, InvalidRequest
from tests.case_support import each_case

COST = st.floats(0.001, 10.0)
SHARE = st.floats(0.01, 0.99)
MODELS = st.integers(1, 5).flatmap(
    lambda n: st.tuples(*(st.lists(each, min_size=n, max_size=n) for each in (COST, SHARE, SHARE)))
)
PRICES = {"acme/cheap": 0.001, "acme/middle": 0.01, "acme/strong": 0.1, "local/lexical": 0.0}
CHAIN = ("acme/strong", "acme/middle", "acme/cheap", "local/lexical")
REQUEST = ChainRequest(models=CHAIN, pack="helmdeck.plan", answer="Plan", max_attempts=8)


def least_cost(costs, first, after):
    return min(expected_cost(order, costs, first, after) for order in itertools.permutations(range(len(costs))))


@given(MODELS)
@settings(max_examples=60, deadline=None)
def test_no_order_costs_less_than_the_chosen_one(figures):
    costs, first, after = figures
    chosen = expected_cost(best_order(costs, first, after), costs, first, after)
    assert chosen == pytest.approx(least_cost(costs, first, after), rel=1e-9)


@given(MODELS, st.floats(10.0, 1e6))
@settings(max_examples=40, deadline=None)
def test_order_of_independent_models_is_that_of_reservation_values(figures, reward):
    costs, shares, _ = figures
    by_value = sorted(range(len(costs)), key=lambda place: -reservation_value(costs[place], shares[place], reward))
    assert expected_cost(by_value, costs, shares, shares) == pytest.approx(least_cost(costs, shares, shares), rel=1e-6)


def make_policy(kind=AdaptivePolicy, **options):
    options = ChainOptions(**{"explore_usd_per_day": 0.0, "seed": 1, **options})
    return kind(options, Learning(options, lambda model, usage: PRICES[model]), clock=lambda: 0.0)


def call(policy, usable, request=REQUEST):
    """Make one call; ``usable`` are the models that answer. Return the models that were called."""
    order, attempts = policy.order(request), []
    for model in order.models:
        cause = None if model in usable else FailureClass.TRANSIENT_UNKNOWN
        attempts.append(
            Attempt(number=len(attempts) + 1, model=model, cause=cause, cost_usd=PRICES[model], latency_s=1.0)
        )
        if cause is None:
            break
    policy.record(order, attempts)
    return [each.model for each in attempts]


ALL = frozenset(CHAIN)
FINE = ("ask:text", "size0:catalog0", "ascii")


def evidence_of(outcomes, kind=FINE, **facts):
    evidence = ModelEvidence(0.001)
    for usable in outcomes:
        evidence.observe(kind, usable=int(usable), **facts)
    return evidence


@each_case("is_after", [False, True])
@each_case("outcomes", [[1], [1, 1], [0, 0, 0], [1, 0, 1, 1, 0], [1] * 60 + [0] * 20])
def test_attempt_counts_once_however_fine_its_kind_of_work_is(outcomes, is_after):
    fine, coarse = (evidence_of(outcomes, kind, is_after=is_after).estimate(kind) for kind in (FINE, ()))
    assert attrs.evolve(fine, seconds=0, p95_s=0, usd=0) == attrs.evolve(coarse, seconds=0, p95_s=0, usd=0)


@each_case(("outcomes", "least", "most"), [([1, 1], 0.85, 0.91), ([0, 0, 0], 0.28, 0.36)])
def test_few_attempts_leave_much_open(outcomes, least, most):
    estimate = evidence_of(outcomes).estimate(FINE)
    low, high = estimate.interval
    assert least < estimate.usable < most
    assert high - low > 0.4


@given(st.lists(st.booleans(), max_size=80), st.booleans())
@settings(max_examples=60, deadline=None)
def test_no_attempts_make_an_answer_certain_or_impossible(outcomes, is_after):
    for kind in (FINE, ("ask:text", "size1:catalog0", "ascii"), ("other",)):
        estimate = evidence_of(outcomes, is_after=is_after).estimate(kind)
        low, high = estimate.interval
        assert 0 < low < estimate.usable < high < 1
        assert 0 < estimate.after <= estimate.usable


def test_estimates_of_models_with_few_attempts_are_as_often_right_as_they_state():
    rng, stated = random.Random(5), collections.defaultdict(list)
    for _ in range(1_500):
        share, evidence = rng.betavariate(0.8 * 2, 0.2 * 2), ModelEvidence(0.001)
        for _ in range(8):
            estimate = evidence.estimate(FINE)
            stated[int(estimate.usable * 5)].append((estimate.usable, share))
            evidence.observe(FINE, usable=int(rng.random() < share))
    for pairs in stated.values():
        mean, actual = (sum(each) / len(pairs) for each in zip(*pairs, strict=True))
        assert mean == pytest.approx(actual, abs=0.05)


def test_other_kinds_of_work_count_for_few_attempts():
    evidence = evidence_of([0] * 100, ("ask:text", "size0:catalog0", "ascii"))
    other = ("ask:text", "size1:catalog0", "ascii")
    before = evidence.estimate(other).usable
    for _ in range(8):
        evidence.observe(other, usable=1)
    assert before < 0.1
    assert evidence.estimate(other).usable > 0.5


def test_details_have_the_interval_of_each_usable_share():
    policy = make_policy()
    call(policy, ALL)
    for row in policy.explain(REQUEST).details()["models"]:
        assert 0 < row["usable_low"] < row["usable"] < row["usable_high"] < 1


def test_broken_model_is_left_within_ten_calls_and_called_again_after_it_recovered():
    policy = make_policy()
    for _ in range(200):
        call(policy, ALL)
    broken = [call(policy, ALL - {"acme/cheap"})[0] for _ in range(300)]
    assert broken[0] == "acme/cheap"
    assert broken[10] == "acme/middle"
    assert 1 <= broken[10:].count("acme/cheap") <= 30, "it is tried now and then"
    recovered = [call(policy, ALL)[0] for _ in range(400)]
    assert recovered[-1] == "acme/cheap"


def test_kinds_of_work_have_their_own_order_and_unknown_kinds_borrow():
    policy = make_policy()
    plan, text = REQUEST, ChainRequest(models=CHAIN, pack="", answer="text", max_attempts=8)
    for _ in range(150):
        call(policy, ALL - {"acme/cheap"}, plan)
        call(policy, ALL, text)
    assert policy.order(plan).models[0] == "acme/middle"
    assert policy.order(text).models[0] == "acme/cheap"
    evidence = policy.learning.models["acme/cheap"]
    novel = kind_of(ChainRequest(models=CHAIN, pack="other"))
    assert (
        evidence.estimate(kind_of(plan)).usable
        < evidence.estimate(novel).usable
        < evidence.estimate(kind_of(text)).usable
    )


def test_failures_after_another_model_failed_do_not_count_as_first_attempts():
    policy = make_policy(AdvisePolicy)
    for number in range(200):
        call(policy, ALL if number % 2 else {"local/lexical"})
    estimate = policy.learning.models["acme/middle"].estimate(kind_of(REQUEST))
    assert estimate.after < 0.1 < estimate.usable


def test_last_resort_stays_last_and_data_rules_exclude_models():
    models = {"acme/": ModelOptions(tags=("cloud",)), "acme/middle": ModelOptions(tags=("eu",))}
    policy = make_policy(models=models, data={"helmdeck.plan": DataOptions(requires=("eu",))})
    assert policy.order(ChainRequest(models=CHAIN)).models[-1] == "local/lexical"
    assert policy.order(REQUEST).models == ("acme/middle",)
    closed = make_policy(data={"": DataOptions(requires=("on-premises",))})
    with pytest.raises(InvalidRequest, match="no model may receive this data"):
        closed.order(REQUEST)


def test_data_rules_hold_for_advice_also():
    policy = make_policy(
        AdvisePolicy, models={"acme/cheap": ModelOptions(tags=("us",))}, data={"": DataOptions(forbids=("us",))}
    )
    assert policy.order(REQUEST).models == ("acme/strong", "acme/middle", "local/lexical")


def test_slow_models_are_called_after_the_others():
    policy = make_policy(max_latency_s=30.0)
    order = policy.order(REQUEST)
    slow = Attempt(number=1, model="acme/cheap", cost_usd=0.001, latency_s=100.0)
    for _ in range(30):
        policy.record(order, [slow])
    assert policy.order(REQUEST).models == ("acme/middle", "acme/strong", "acme/cheap", "local/lexical")


def test_models_that_fit_into_the_attempts_are_expected_to_be_as_usable_as_the_configured_ones():
    policy = make_policy()
    request = ChainRequest(models=CHAIN[:3], max_attempts=1)
    for number in range(120):
        call(policy, {"acme/strong", "acme/middle" if number % 2 else ""}, ChainRequest(models=CHAIN[:3]))
    assert policy.order(request).models[0] == "acme/strong"


def test_exploration_stops_at_its_limit_and_is_the_same_for_a_seed():
    def firsts(**options):
        policy = make_policy(**options)
        return policy, [call(policy, ALL)[0] for _ in range(300)]

    policy, some = firsts(explore_usd_per_day=0.02)
    assert policy.explored_usd <= 0.02
    assert some == firsts(explore_usd_per_day=0.02)[1]
    assert set(firsts()[1]) == {"acme/cheap"}


def test_threshold_of_a_choice_follows_from_the_cost_of_the_rest_of_the_chain():
    assert make_policy().order(REQUEST).thresholds == ()
    cheap_errors, costly_errors = (make_policy(wrong_usd=usd).order(REQUEST).thresholds for usd in (0.02, 100.0))
    assert cheap_errors[0] < costly_errors[0] < 1.0
    assert costly_errors[-2:] == (0.0, 0.0), "nothing follows that could choose better"
    shown = make_policy(wrong_usd=100.0).explain(REQUEST).details()["models"]
    assert [each["accepted_from"] for each in shown] == [round(each, 4) for each in costly_errors[:-1]]


def test_order_explains_its_figures_and_what_would_change_it():
    details = make_policy().explain(REQUEST).details()
    assert [each["model"] for each in details["models"]] == ["acme/cheap", "acme/middle", "acme/strong"]
    assert details["models"][0]["usable"] == pytest.approx(0.8, abs=0.01)
    assert "acme/middle would be first if the usable share of acme/cheap were below" in details["would_change"]


@pytest.mark.parametrize(
    ("text", "script"), [("hello", "ascii"), ("Grüße", "latin"), ("привет", "cyrillic"), ("你好", "cjk")]
)
def test_kind_of_work_names_the_script_and_no_text(text, script):
    assert kind_of(ChainRequest(models=(), pack="p", sample=text))[-1] == script


def test_second_requests_are_sent_after_the_95th_percentile_and_for_at_most_a_twentieth_of_the_calls():
    policy = make_policy(hedges=True)
    assert policy.order(REQUEST).hedge is None, "too little is known"
    for _ in range(100):
        call(policy, ALL)
    hedge = policy.order(REQUEST).hedge
    assert 1.0 <= hedge.after_s < 2.0
    assert [hedge.take() for _ in range(7)] == [True] * 5 + [False] * 2
    assert make_policy().order(REQUEST).hedge is None


def test_a_model_without_a_known_price_is_not_called_before_one_that_is_configured_before_it():
    prices = {**PRICES, "acme/unlisted": None}
    options = ChainOptions(seed=1)
    policy = AdaptivePolicy(options, Learning(options, lambda model, usage: prices[model]), clock=lambda: 0.0)
    after = ChainRequest(models=("acme/cheap", "acme/unlisted"), pack="ask")
    before = ChainRequest(models=("acme/unlisted", "acme/cheap"), pack="ask")
    assert {policy.order(after).models[0] for _ in range(50)} == {"acme/cheap"}
    assert policy.explain(before).models[0] == "acme/unlisted"
    priced = make_policy(models={"acme/unlisted": ModelOptions(usd_per_s=1e-9)})
    priced.learning = Learning(priced.options, lambda model, usage: prices[model])
    assert priced.order(after).models[0] == "acme/unlisted"


REFUSED = (FailureClass.AUTH_FAILED, FailureClass.INVALID_REQUEST)


def refuse(policy, cause):
    """Make one call that ends at its first model; return the model."""
    order = policy.order(REQUEST)
    policy.record(order, (Attempt(number=1, model=order.models[0], cause=cause, latency_s=0.1),))
    return order.models[0]


@pytest.mark.parametrize("cause", REFUSED, ids=[each.value for each in REFUSED])
def test_a_model_that_ends_a_call_follows_the_others_for_a_while(cause):
    policy = make_policy()
    assert refuse(policy, cause) == "acme/cheap"
    assert policy.order(REQUEST).models == ("acme/middle", "acme/strong", "acme/cheap", "local/lexical")
    calls = [call(policy, ALL - {"acme/cheap"})[0] for _ in range(400)]
    assert "acme/cheap" not in calls[:200]
    assert "acme/cheap" in calls, "it is called again later"


def test_a_model_that_ended_a_call_and_answers_again_is_ordered_by_its_cost():
    policy = make_policy()
    refuse(policy, FailureClass.AUTH_FAILED)
    assert call(policy, {"acme/cheap"})[-1] == "acme/cheap"
    assert policy.order(REQUEST).models[0] == "acme/cheap"


def test_requests_that_are_invalid_say_nothing_about_a_model_that_has_answered():
    policy = make_policy()
    call(policy, ALL)
    before = policy.learning.models["acme/cheap"].estimate(kind_of(REQUEST))
    assert [refuse(policy, FailureClass.INVALID_REQUEST) for _ in range(20)] == ["acme/cheap"] * 20
    assert policy.learning.models["acme/cheap"].estimate(kind_of(REQUEST)) == before
    assert refuse(policy, FailureClass.AUTH_FAILED) == "acme/cheap"
    assert policy.order(REQUEST).models[0] == "acme/middle"


def test_second_requests_are_a_twentieth_of_the_own_calls_and_do_not_pile_up():
    policy = make_policy(hedges=True)
    policy.learning.calls = 100_000  # restored from the history, or of other processes
    call(policy, ALL)

    def takes(count):
        return sum(policy.order(REQUEST).hedge.take() for _ in range(count))

    for _ in range(59):
        call(policy, ALL)
    assert takes(100) == 3
    for _ in range(2_000):
        call(policy, ALL)
    assert takes(100) == 10
