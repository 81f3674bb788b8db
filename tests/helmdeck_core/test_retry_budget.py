"""The retry budget of a model: a share of its calls within ten seconds, and a minimum for few calls."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core.calls.retry_budget import MAX_MODELS, WINDOW_S, RetryBudget

MODEL = "a/one"


def taken(budget, count, now_s=0.0, model=MODEL):
    """How many of ``count`` retries are allowed."""
    return sum(budget.take(model, now_s) for _ in range(count))


def test_few_calls_may_be_retried_up_to_the_minimum():
    budget = RetryBudget(0.1, 3)
    budget.count_call(MODEL, 0.0)
    assert taken(budget, 9) == 3
    assert taken(budget, 9, model="a/two") == 3, "each model has a budget of its own"


def test_many_calls_may_be_retried_up_to_the_share():
    budget = RetryBudget(0.1, 3)
    for _ in range(640):
        budget.count_call(MODEL, 0.5)
    assert taken(budget, 640, 1.0) == 64


def test_calls_and_retries_of_more_than_ten_seconds_ago_do_not_count():
    budget = RetryBudget(0.1, 3)
    for _ in range(640):
        budget.count_call(MODEL, 0.5)
    assert taken(budget, 9, WINDOW_S + 1.0) == 3
    assert taken(budget, 9, WINDOW_S * 2.0 + 0.9) == 0
    assert taken(budget, 9, WINDOW_S * 2.0 + 1.0) == 3


def test_share_of_zero_without_a_minimum_allows_no_retry():
    assert taken(RetryBudget(0.0, 0), 5) == 0


def test_models_that_callers_invent_do_not_fill_the_memory():
    budget = RetryBudget(0.1, 3)
    for number in range(3 * MAX_MODELS):
        budget.count_call(f"a/{number}", 0.0)
    assert len(budget._windows) <= MAX_MODELS


@given(
    steps=st.lists(st.tuples(st.floats(0, 3), st.integers(0, 60), st.integers(0, 30)), max_size=40),
    share=st.floats(0, 1),
    minimum=st.integers(0, 12),
)
def test_retries_of_any_ten_seconds_stay_within_the_share_or_the_minimum(steps, share, minimum):
    budget, now_s, calls, retries = RetryBudget(share, minimum), 0.0, [], []
    for pause_s, new, wanted in steps:
        now_s += pause_s
        calls += [now_s] * new
        for _ in range(new):
            budget.count_call(MODEL, now_s)
        retries += [now_s] * taken(budget, wanted, now_s)
        # The window has whole seconds: this one, and the nine before it.
        start_s = int(now_s) - WINDOW_S + 1
        recent = [sum(start_s <= each for each in times) for times in (calls, retries)]
        assert recent[1] <= max(minimum, share * recent[0])
