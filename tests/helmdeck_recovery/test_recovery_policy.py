"""The policy alone: scripts of outcomes in, steps out; no network, no clock, no waiting."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import (
    Budget,
    CallLimits,
    Disposition,
    FailureClass,
    NextModel,
    RecoveryRule,
    RequestChanges,
    Retry,
    Wait,
)
from helmdeck_core.calls.recovery_policy import (
    AttemptFailure,
    GiveUp,
    NextAttempt,
    RecoveryPolicy,
    RecoverySettings,
    rule_for,
)
from helmdeck_core.errors import FAILURES, Attempt
from helmdeck_core.hooks.calls import Contribution
from helmdeck_recovery.rules import helmdeck_recovery_rules
from tests.case_support import each_case

RULES = {rule.name: Contribution("recovery", rule) for rule in helmdeck_recovery_rules()}
CHAIN = ("a/one", "b/two", "local/last")
SURFACED = ("safety_filtered", "auth_failed", "invalid_request", "cancelled", "artifact_invalid")


def policy(chain=CHAIN, rules=RULES, fallback_on=None, **limits):
    limits = {"max_attempts": 8, "deadline_s": 300.0, **limits}
    return RecoveryPolicy(RecoverySettings(rules=rules, fallback_on=fallback_on), chain, CallLimits(**limits), 0.0)


def failed(ask, cause, *, fingerprint=None, cost=None, disposition=None, is_sent=True, hybrid=False, final="", **facts):
    failure = FAILURES[FailureClass(cause)]("it failed", model=ask.model, **facts)
    attempt = Attempt(number=1, model=ask.model, cause=failure.failure_class, cost_usd=cost, is_sent=is_sent)
    return AttemptFailure(
        failure=failure,
        attempt=attempt,
        budget=Budget(model=ask.model, is_hybrid_reasoning=hybrid),
        disposition=disposition,
        fingerprint=(str((ask.model, ask.changes)) if fingerprint is None else fingerprint) if is_sent else "",
        final_reason=final,
    )


def course(machine, *causes, **facts):
    """What the policy asks for while everything fails, the last cause again and again."""
    step, calls = machine.begin(0.0), []
    causes = list(causes)
    while isinstance(step, NextAttempt):
        calls.append(step)
        cause = causes.pop(0) if len(causes) > 1 else causes[0]
        step = machine.after_failure(failed(step, cause, **facts), 0.0)
        while isinstance(step, NextAttempt) and machine.is_repeat(str((step.model, step.changes))):
            step = machine.after_refusal(0.0)
    return calls, step


def models_of(calls):
    return [(ask.model, *ask.changed) for ask in calls]


# -- the default table ---------------------------------------------------------------------------------------


@each_case("cause", SURFACED)
def test_some_causes_are_raised_without_recovery(cause):
    calls, end = course(policy(), cause)
    assert models_of(calls) == [("a/one",)] and end == GiveUp("")


def test_truncation_retries_with_a_larger_limit_then_single_step_then_falls_back():
    calls, _ = course(policy(chain=CHAIN[:2]), "length_truncated")
    assert models_of(calls) == [
        ("a/one",), ("a/one", "output limit x2"), ("a/one", "output limit x2", "variant single_pick"),
        ("b/two",), ("b/two", "output limit x2"), ("b/two", "output limit x2", "variant single_pick"),
    ]  # fmt: skip


def test_deadlock_retries_once_unconstrained_then_falls_back():
    calls, _ = course(policy(chain=CHAIN[:2]), "constrained_deadlock")
    loose = "no strict JSON, schema in the prompt"
    assert models_of(calls) == [("a/one",), ("a/one", loose), ("b/two",), ("b/two", loose)]


@each_case(
    ("cause", "sub_cause"), [("likely_timeout", "timeout"), ("likely_timeout", "first_token"), ("quota_exhausted", "")]
)
def test_timeout_and_exhausted_quota_fall_back_without_a_retry(cause, sub_cause):
    calls, _ = course(policy(), cause, sub_cause=sub_cause)
    assert models_of(calls) == [(model,) for model in CHAIN] and not any(ask.wait_s for ask in calls)


@pytest.mark.parametrize("cause", ["rate_limited", "provider_unavailable"])
def test_failure_marked_as_not_retryable_falls_back(cause):
    calls, _ = course(policy(), cause, sub_cause="not_retryable", retry_after_s=1.0)
    assert models_of(calls) == [(model,) for model in CHAIN]


def test_oversized_response_is_not_retried():
    calls, _ = course(policy(), "transient_unknown", sub_cause="too_large")
    assert models_of(calls) == [(model,) for model in CHAIN]


OVERFULL = [
    (),
    ("oldest turns removed, history x0.7",),
    ("oldest turns removed, history x0.49",),
    ("oldest turns removed, history x0.34",),
    ("catalog x0.5", "oldest turns removed, history x0.34"),
]


def test_oversized_prompt_drops_turns_then_half_the_catalog_then_falls_back():
    calls, _ = course(policy(chain=CHAIN[:2], max_attempts=10), "context_window_exceeded")
    assert models_of(calls) == [(model, *each) for model in CHAIN[:2] for each in OVERFULL]


def test_dropping_turns_can_be_disabled():
    machine = RecoveryPolicy(RecoverySettings(rules=RULES, drops_turns=False), CHAIN[:1], CallLimits(), 0.0)
    assert models_of(course(machine, "context_window_exceeded")[0]) == [("a/one",), ("a/one", "catalog x0.5")]


@each_case(
    ("windows", "next_model"),
    [
        ({"a/one": 8, "b/two": 8, "local/last": 9}, "local/last"),
        ({"a/one": 8, "b/two": 9, "local/last": 99}, "b/two"),
        ({"a/one": 8, "b/two": 8, "local/last": 7}, "b/two"),
        ({"a/one": 8, "local/last": 9}, "b/two"),
        ({"b/two": 8, "local/last": 9}, "b/two"),
    ],
)
def test_oversized_prompt_prefers_a_model_with_a_larger_window(windows, next_model):
    machine = RecoveryPolicy(
        RecoverySettings(rules=RULES, drops_turns=False, window_of=windows.get), CHAIN, CallLimits(), 0.0
    )
    begun = machine.begin(0.0)
    moved = machine.after_failure(failed(begun, "context_window_exceeded", is_sent=False), 0.0)
    assert moved.model == next_model


def test_empty_answer_falls_back_and_the_last_model_gets_a_smaller_catalog_then_the_same_request():
    calls, _ = course(policy(chain=CHAIN[:2]), "likely_timeout", sub_cause="empty_though_finished")
    assert models_of(calls) == [("a/one",), ("b/two",), ("b/two", "catalog x0.5"), ("b/two", "catalog x0.5")]


@pytest.mark.parametrize("cause", ["provider_unavailable/unreachable", "transient_unknown"])
def test_unreachable_provider_falls_back_and_the_last_one_is_retried_with_backoff(cause):
    cause, _, sub_cause = cause.partition("/")
    calls, _ = course(policy(chain=CHAIN[:2]), cause, sub_cause=sub_cause)
    assert [ask.model for ask in calls] == ["a/one"] + ["b/two"] * 3
    assert [ask.wait_s for ask in calls] == [0.0, 0.0, 0.5, 1.0]


# -- hiccups ---------------------------------------------------------------------------------------------------

HICCUPS = [("provider_unavailable", ""), ("provider_unavailable", "disconnected"), ("likely_timeout", "upstream")]


@each_case(("cause", "sub_cause"), HICCUPS)
def test_single_failure_is_retried_on_the_same_model_and_the_second_one_falls_back(cause, sub_cause):
    calls, _ = course(policy(chain=CHAIN[:2]), cause, sub_cause=sub_cause)
    assert [(ask.model, ask.wait_s) for ask in calls] == [
        ("a/one", 0.0), ("a/one", 0.5), ("b/two", 0.0), ("b/two", 0.5), ("b/two", 1.0)
    ]  # fmt: skip
    assert [(ask.is_retry, ask.is_last) for ask in calls] == [
        (False, False), (True, False), (False, True), (True, True), (True, True)
    ]  # fmt: skip


@each_case(("retry_after_s", "waits"), [(0.0, [0, 0.0]), (1.0, [0, 1.0]), (2.0, [0, 2.0]), (2.1, [0]), (None, [0])])
def test_rate_limit_is_kept_exactly_within_the_patience(retry_after_s, waits):
    calls, _ = course(policy(chain=CHAIN[:2]), "rate_limited", retry_after_s=retry_after_s)
    assert [ask.wait_s for ask in calls if ask.model == "a/one"] == waits


def test_next_attempt_has_the_source_of_its_wait_or_the_reason_for_the_fallback():
    machine = policy()
    assert (
        machine.after_failure(failed(machine.begin(0.0), "rate_limited", retry_after_s=1.5), 0.0).reason
        == "Retry-After"
    )
    machine = policy()
    moved = machine.after_failure(failed(machine.begin(0.0), "rate_limited", retry_after_s=7.0), 0.0)
    assert (moved.model, moved.reason) == ("b/two", "a wait of 7 s is longer than patience_s 2")


def test_second_failure_of_another_cause_falls_back_as_well():
    machine = policy()
    again = machine.after_failure(failed(machine.begin(0.0), "rate_limited", retry_after_s=1.0), 0.0)
    assert again.model == "a/one"
    moved = machine.after_failure(failed(again, "provider_unavailable"), 1.0)
    assert (moved.model, moved.wait_s) == ("b/two", 0.0)


def test_hiccup_of_a_model_in_cooldown_is_not_retried():
    machine = policy()
    moved = machine.after_failure(failed(machine.begin(0.0), "provider_unavailable"), 0.0, {"a/one"})
    assert (moved.model, moved.reason) == ("b/two", "a/one is in cooldown")


def test_wait_that_leaves_no_time_until_the_deadline_is_not_made():
    machine = policy(deadline_s=1.0)
    assert machine.after_failure(failed(machine.begin(0.0), "rate_limited", retry_after_s=1.0), 0.2).model == "b/two"


def test_used_up_retry_budget_leads_to_the_fallback_and_without_one_to_the_failure():
    asked = []
    settings = RecoverySettings(rules=RULES, take_retry=lambda model, now_s: asked.append((model, now_s)))
    calls, end = course(RecoveryPolicy(settings, CHAIN[:2], CallLimits(), 0.0), "provider_unavailable")
    assert models_of(calls) == [("a/one",), ("b/two",)] and asked == [("a/one", 0.0), ("b/two", 0.0)]
    assert calls[1].reason == "the retry budget of a/one is used up" and "of b/two is used up" in end.reason


def test_rate_limit_without_an_alternative_is_kept_whatever_the_retry_budget():
    settings = RecoverySettings(rules=RULES, take_retry=lambda _model, _now_s: False)
    machine = RecoveryPolicy(settings, CHAIN[:1], CallLimits(), 0.0)
    assert [ask.wait_s for ask in course(machine, "rate_limited", retry_after_s=7.0)[0]] == [0.0, 7.0, 7.0]


def test_fallback_that_the_cause_excludes_is_no_reason_to_be_brief():
    machine = policy(fallback_on=("quota_exhausted",))
    assert machine.after_failure(failed(machine.begin(0.0), "rate_limited", retry_after_s=7.0), 0.0).wait_s == 7.0


def test_retry_after_is_honoured_within_the_deadline():
    calls, _ = course(policy(chain=CHAIN[:2]), "rate_limited", retry_after_s=7.0)
    assert [(ask.model, ask.wait_s) for ask in calls] == [
        ("a/one", 0),
        ("b/two", 0),
        ("b/two", 7.0),
        ("b/two", 7.0),
    ]
    calls, _ = course(policy(chain=CHAIN[:1], deadline_s=5.0), "rate_limited", retry_after_s=7.0)
    assert models_of(calls) == [("a/one",)]
    calls, _ = course(policy(chain=CHAIN[:1]), "rate_limited", retry_after_s=61.0)
    assert models_of(calls) == [("a/one",)], "no call waits longer than max_wait_s"


@each_case(
    ("disposition", "calls"),
    [
        (Disposition.RETRY, ["a/one", "a/one", "a/one", "b/two", "b/two", "b/two"]),
        (Disposition.STOP, ["a/one", "b/two"]),
        (Disposition.ACCOUNT, ["a/one", "b/two"]),
        (Disposition.RESUME, ["a/one", "b/two"]),
    ],
)
def test_unknown_stop_reason_follows_its_disposition(disposition, calls):
    stop = {"stop_reason": "Unknown", "raw_stop_reason": "odd", "disposition": disposition}
    found, _ = course(policy(chain=("a/one", "b/two")), "likely_timeout", **stop)
    assert [ask.model for ask in found] == calls


def test_closed_account_skips_all_models_of_the_provider():
    stop = {"stop_reason": "Unknown", "raw_stop_reason": "closed", "disposition": Disposition.ACCOUNT}
    found, _ = course(policy(chain=("a/one", "a/two", "b/three")), "likely_timeout", **stop)
    assert models_of(found) == [("a/one",), ("b/three", "a/two passed over")]


def test_most_specific_rule_applies():
    rules = {
        **RULES,
        "likely_timeout/only_reasoning": Contribution("x", RecoveryRule(name="likely_timeout/only_reasoning")),
    }
    failure = FAILURES[FailureClass.LIKELY_TIMEOUT]("x", sub_cause="only_reasoning")
    assert rule_for(rules, failure, None).name == "likely_timeout/only_reasoning"
    assert rule_for(rules, attrs.evolve(failure, sub_cause="empty"), None).name == "likely_timeout"


def test_rule_can_decide_by_context():
    seen = []

    def decide(situation):
        seen.append((situation.left_s, len(situation.attempts), situation.budget.model, situation.changes))
        return [NextModel()] if situation.failure.detail else []

    rules = {"likely_timeout": Contribution("x", RecoveryRule(name="likely_timeout", decide=decide))}
    assert len(course(policy(rules=rules), "likely_timeout")[0]) == 1
    assert len(course(policy(rules=rules), "likely_timeout", detail="x")[0]) == 3
    assert seen[0] == (300.0, 1, "a/one", RequestChanges())


# -- limits --------------------------------------------------------------------------------------------------


def test_limits_end_a_call_with_a_reason():
    assert course(policy(max_attempts=2), "likely_timeout")[1] == GiveUp("max_attempts 2 reached")
    assert course(policy(max_cost_usd=0.01), "likely_timeout", cost=0.02)[1] == GiveUp("max_cost_usd 0.01 reached")
    machine = policy(deadline_s=3.0)
    assert machine.after_failure(failed(machine.begin(0.0), "likely_timeout"), 3.0) == GiveUp("the deadline is over")


def test_spent_budget_allows_free_models_only():
    free = {"local/last"}.__contains__
    machine = RecoveryPolicy(RecoverySettings(rules=RULES, is_free=free), CHAIN, CallLimits(max_cost_usd=0.01), 0.0)
    begun = machine.begin(0.0)
    assert begun.left_usd == 0.01
    assert machine.after_failure(failed(begun, "likely_timeout", cost=0.004), 0.0).left_usd == pytest.approx(0.006)
    machine = RecoveryPolicy(RecoverySettings(rules=RULES, is_free=free), CHAIN, CallLimits(max_cost_usd=0.01), 0.0)
    calls, _ = course(machine, "constrained_deadlock", cost=0.02)
    assert models_of(calls) == [("a/one",), ("local/last", "b/two passed over")]


def test_side_calls_count_against_the_budget():
    machine = policy(max_cost_usd=0.01)
    outcome = failed(machine.begin(0.0), "likely_timeout", cost=0.004)
    helper = Attempt(number=1, model="a/small", cost_usd=0.006, purpose="selection")
    assert machine.after_failure(attrs.evolve(outcome, side_attempts=(helper,)), 0.0) == GiveUp(
        "max_cost_usd 0.01 reached"
    )
    assert machine.attempts == (helper, outcome.attempt)


def test_refused_fallback_continues_the_chain_and_later_actions_apply_to_the_failed_model():
    machine = policy()
    moved = machine.after_failure(failed(machine.begin(0.0), "length_truncated", sub_cause="reasoning_overrun"), 0.0)
    assert moved.model == "b/two"
    moved = machine.after_refusal(0.0, reason="too dear")
    assert (moved.model, moved.notes) == ("local/last", ("b/two passed over",))
    again = machine.after_refusal(0.0, reason="too dear")
    assert models_of([again]) == [("a/one", "variant single_pick")]
    assert machine.after_refusal(0.0) == GiveUp(
        "too dear; no further model in [fallback]; all retry variations are exhausted"
    )


def test_attempt_leaves_time_for_fallbacks():
    machine = policy(deadline_s=100.0)
    first = machine.begin(0.0)
    assert first.until_s == 60.0
    second = machine.after_failure(failed(first, "likely_timeout"), 60.0)
    assert second.until_s == 84.0
    assert machine.after_failure(failed(second, "likely_timeout"), 84.0).until_s == 100.0


def test_fallback_on_restricts_fallbacks_to_its_causes():
    assert len(course(policy(fallback_on=("rate_limited",)), "likely_timeout", sub_cause="timeout")[0]) == 1
    calls, _ = course(policy(fallback_on=("likely_timeout",)), "likely_timeout", sub_cause="timeout")
    assert models_of(calls) == [(model,) for model in CHAIN]


def test_models_and_providers_in_cooldown_are_skipped_while_others_are_left():
    assert policy().begin(0.0, {"a/one"}).model == "b/two" and policy().begin(0.0, {"a/two"}).model == "a/one"
    assert policy().begin(0.0, {"a"}) == attrs.evolve(policy().begin(0.0), model="b/two", notes=("a/one passed over",))
    assert policy().begin(0.0, {"a", "b", "local"}).model == "a/one"
    machine = policy()
    assert machine.after_failure(failed(machine.begin(0.0), "likely_timeout"), 0.0, {"b"}).model == "local/last"


def test_retry_without_an_effective_change_is_skipped():
    stop = {"stop_reason": "Unknown", "raw_stop_reason": "odd", "disposition": Disposition.RETRY}
    machine = policy()
    again = machine.after_failure(failed(machine.begin(0.0), "likely_timeout", fingerprint="x", **stop), 0.0)
    assert (again.model, again.changed, machine.is_repeat("x")) == ("a/one", (), False)
    changed = machine.after_failure(failed(again, "likely_timeout", fingerprint="x", **stop), 0.0)
    assert changed.changed and machine.is_repeat("x") and not machine.is_repeat("y")


@each_case("cause", ["length_truncated", "constrained_deadlock", "context_window_exceeded", "likely_timeout"])
def test_unchanged_request_is_a_repeat_only_after_a_cause_that_it_meets_again(cause):
    rules = {cause: Contribution("t", RecoveryRule(name=cause, actions=(Retry(), NextModel())))}
    machine = policy(rules=rules)
    machine.after_failure(failed(machine.begin(0.0), cause, fingerprint="sent"), 0.0)
    assert machine.is_repeat("sent") is (cause != "likely_timeout")
    assert not machine.is_repeat("other")


def test_unsendable_request_falls_back_without_a_retry():
    calls, _ = course(policy(), "context_window_exceeded", is_sent=False)
    assert models_of(calls) == [(model,) for model in CHAIN]


def test_final_failure_is_raised_without_recovery():
    assert len(course(policy(), "likely_timeout", final="so it is")[0]) == 1


# -- for every script ------------------------------------------------------------------------------------------

OUTCOMES = st.tuples(
    st.sampled_from([cause.value for cause in FailureClass]),
    st.one_of(st.none(), st.floats(0, 1e9)),  # retry_after_s
    st.floats(0, 200),  # seconds of the attempt
    st.one_of(st.none(), st.floats(0, 1)),  # cost
    st.one_of(st.none(), st.sampled_from(list(Disposition))),
    st.booleans(),  # hybrid
)
ACTIONS = st.one_of(
    st.builds(NextModel, other_provider=st.booleans(), larger_window=st.booleans()),
    st.builds(
        Retry,
        times=st.integers(1, 9),
        wait=st.sampled_from(list(Wait)),
        changes=st.builds(
            RequestChanges,
            output_factor=st.sampled_from([1.0, 2.0]),
            catalog_factor=st.sampled_from([1.0, 0.5]),
            history_factor=st.sampled_from([1.0, 0.7]),
            strict_json=st.booleans(),
            variant=st.sampled_from([None, "single_pick"]),
        ),
    ),
)
HOSTILE = st.fixed_dictionaries({cause.value: st.lists(ACTIONS, max_size=4) for cause in FailureClass}).map(
    lambda table: {
        name: Contribution("x", RecoveryRule(name=name, actions=tuple(each))) for name, each in table.items()
    }
)


def test_fallbacks_of_a_call_replace_the_configured_ones(deck_with):
    runtime = deck_with(config={"fallback": {"groq/": ["mistral/m"]}}).runtime
    assert runtime.chain("groq/m") == ("groq/m", "mistral/m")
    assert runtime.chain("groq/m", ("local/lexical", "groq/m")) == ("groq/m", "local/lexical")
    assert runtime.chain("groq/m", ()) == ("groq/m",)
    outer = CallLimits(max_attempts=2, fallbacks=("a/b",))
    assert CallLimits(deadline_s=1).within(outer).fallbacks == ("a/b",)
    assert CallLimits(fallbacks=()).within(outer) == CallLimits(max_attempts=2, fallbacks=())


@given(
    outcomes=st.lists(OUTCOMES, min_size=1, max_size=40),
    rules=st.one_of(st.just(RULES), HOSTILE),
    chain=st.lists(st.sampled_from(["a/1", "a/2", "b/1", "local/x"]), min_size=1, max_size=4, unique=True),
    max_attempts=st.integers(1, 12),
    deadline_s=st.one_of(st.none(), st.floats(0, 100)),
    max_cost=st.one_of(st.none(), st.floats(0, 2)),
    ignores_changes=st.booleans(),
)
def test_every_call_ends_within_its_limits_without_repeating_failing_requests(
    outcomes, rules, chain, max_attempts, deadline_s, max_cost, ignores_changes
):
    limits = CallLimits(max_attempts=max_attempts, deadline_s=deadline_s, max_cost_usd=max_cost)
    machine = RecoveryPolicy(RecoverySettings(rules=rules), chain, limits, 0.0)
    now, cost, sent, doomed, steps = 0.0, 0.0, [], set(), 0
    step = machine.begin(now)
    while isinstance(step, NextAttempt):
        steps += 1
        assert steps < 1_000
        request = str((step.model, None if ignores_changes else step.changes))
        if machine.is_repeat(request):
            step = machine.after_refusal(now)
            continue
        cause, retry_after, took, paid, disposition, hybrid = outcomes[len(sent) % len(outcomes)]
        assert request not in doomed, "a request that was truncated or had no variation left is never sent again"
        assert not sent or max_cost is None or cost < max_cost
        assert not sent or deadline_s is None or now + step.wait_s < deadline_s
        now += step.wait_s
        if step.until_s is not None:
            assert step.until_s <= deadline_s + 1e-6
            took = min(took, max(0.0, step.until_s - now))
        now += took
        cost += paid or 0.0
        sent.append(cause)
        if cause in ("length_truncated", "constrained_deadlock") or (cause == "likely_timeout" and hybrid):
            doomed.add(request)
        word = {"stop_reason": "Unknown", "raw_stop_reason": "odd"} if disposition else {}
        outcome = failed(
            step, cause, fingerprint=request, cost=paid, disposition=disposition, hybrid=hybrid,
            retry_after_s=retry_after, **word,
        )  # fmt: skip
        step = machine.after_failure(outcome, now)
        if rules is RULES and cause in SURFACED and not disposition:
            assert isinstance(step, GiveUp)
    assert len(sent) <= max_attempts and len(machine.attempts) == len(sent)
    assert isinstance(step, GiveUp)
