"""The retry budget of a model: a share of its calls within ten seconds, and a minimum for few calls."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core.calls.retry_budget import MAX_MODELS, WINDOW_S, RetryBudget

MODEL = "a/one"


def count_retries(budget, count, now_s=0.0, model=MODEL):
    """How many of ``count`` retries are allowed."""
    return sum(budget.take(model, now_s) for _ in range(count))


def test_few_calls_may_be_retried_up_to_the_minimum():
    budget = RetryBudget(0.1, 3)
    budget.count_call(MODEL, 0.0)
    assert count_retries(budget, 9) == 3
    assert count_retries(budget, 9, model="a/two") == 3, "each model has a budget of its own"


def test_many_calls_may_be_retried_up_to_the_share():
    budget = RetryBudget(0.1, 3)
    for _ in range(640):
        budget.count_call(MODEL, 1.5)
    assert count_retries(budget, 640, 1.9) == 64


def test_calls_before_the_provider_failed_are_no_reason_for_many_retries():
    budget = RetryBudget(0.1, 3)
    for _ in range(640):
        budget.count_call(MODEL, 0.9)
    assert count_retries(budget, 640, 1.0) == 3


def test_minimum_is_for_ten_seconds():
    budget = RetryBudget(0.1, 3)
    assert [count_retries(budget, 2, second) for second in (0.5, 5.5, 9.9, 10.0, 14.0, 15.0)] == [2, 1, 0, 2, 0, 1]


def test_share_of_zero_without_a_minimum_allows_no_retry():
    assert count_retries(RetryBudget(0.0, 0), 5) == 0


def test_models_that_callers_invent_do_not_fill_the_memory():
    budget = RetryBudget(0.1, 3)
    for number in range(3 * MAX_MODELS):
        budget.count_call(f"a/{number}", 0.0)
    assert len(budget._counts) <= MAX_MODELS


@given(
    steps=st.lists(st.tuples(st.floats(0, 3), st.integers(0, 60), st.integers(0, 30)), max_size=40),
    share=st.floats(0, 1),
    minimum=st.integers(0, 12),
)
def test_retries_of_every_second_stay_within_the_share_of_its_calls_or_the_minimum(steps, share, minimum):
    budget, now_s, calls, retries = RetryBudget(share, minimum), 0.0, Counter(), Counter()
    for pause_s, new, wanted in steps:
        now_s += pause_s
        for _ in range(new):
            budget.count_call(MODEL, now_s)
        calls[int(now_s)] += new
        retries[int(now_s)] += count_retries(budget, wanted, now_s)
    seconds = range(int(now_s) + 1)
    assert all(retries[second] <= max(minimum, share * calls[second]) for second in seconds)
    # Beyond the share, every ten seconds have the minimum at most.
    for start in seconds:
        window = range(start, start + WINDOW_S)
        assert sum(max(0, retries[each] - share * calls[each]) for each in window) <= minimum
