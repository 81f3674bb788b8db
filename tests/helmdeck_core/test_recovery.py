"""Failed calls in a whole deck: the next request, the fallback model, the recorded attempts."""

import asyncio
import pickle

import attrs
import pytest

from helmdeck_core import (
    AttemptEnded,
    AuthFailed,
    CallExhausted,
    CallFinished,
    CallLimits,
    ChatRequest,
    ConfigError,
    ConstrainedDeadlock,
    ContextWindowExceeded,
    CooldownStarted,
    InvalidRequest,
    LengthTruncated,
    LikelyTimeout,
    Message,
    NextModel,
    PluginError,
    ProviderUnavailable,
    QuotaExhausted,
    RateLimited,
    RecoveryRule,
    ResponseFormat,
    Role,
    SafetyFiltered,
    TextPart,
    TransientUnknown,
    Usage,
    hookimpl,
)
from helmdeck_core.calls.model_cooldowns import CircuitBreaker
from helmdeck_core.errors.attempts import MAX_LISTED_ATTEMPTS, MAX_SUMMARY_BYTES, summary
from helmdeck_testing import (
    EventRecorder,
    Fail,
    Reply,
    cut_json,
    empty_content_filter,
    empty_length,
    empty_stop,
    make_deck,
    scripted_provider,
    whitespace_loop,
)

ASK = "draft a blog post about our launch"
GOOD = '{"steps":[{"order":1,"tool":"blog.draft","args":{"brief":"b"},"rationale":"r"}],"complexity":"single-action","reasoning":"x"}'
CHAIN = {"a/": ["b/two", "local/lexical"]}


MADE = []


@pytest.fixture(autouse=True)
def closed():
    yield
    while MADE:
        MADE.pop().close()


def deck_of(*plugins, **options):
    MADE.append(make_deck(*plugins, **options))
    return MADE[-1]


class Stage:
    """A deck with two scripted providers; waits are kept and not waited for."""

    def __init__(self, a=(), b=(), fallback=None, budgets=None, beside=(), continuations=0, **recovery):
        self.a, self.b, self.recorder = scripted_provider(a, "a"), scripted_provider(b, "b"), EventRecorder()
        # Truncated answers are not continued here, so that only recovery acts.
        agent = {"continuation_max_attempts": continuations}
        config = {"recovery": recovery, "agent": agent, "fallback": fallback or {}, "budgets": budgets or {}}
        self.deck = deck_of(self.a, self.b, self.recorder, *beside, config=config)
        self.waits = []
        self.now = 1_000.0
        self.deck._engine.dispatcher.services.sleep = self.sleep
        self.deck._engine.dispatcher.services.clock = lambda: self.now

    async def sleep(self, seconds):
        self.waits.append(seconds)
        self.now += seconds

    def plan(self, **options):
        return self.deck.plan(ASK, model="a/one", **options)

    def fail(self, kind, **options):
        with pytest.raises(kind) as caught:
            self.plan(**options)
        return caught.value

    @property
    def sent(self):
        return [*self.a.requests, *self.b.requests]


# -- changed requests ----------------------------------------------------------------------------------------


def test_truncated_response_is_retried_with_a_larger_limit():
    stage = Stage([cut_json(), GOOD])
    plan = stage.plan()
    first, second = stage.a.requests
    assert second.max_tokens == 2 * first.max_tokens and second.messages == first.messages
    assert [str(attempt) for attempt in plan.attempts] == [
        "1. a/one: length_truncated/cut, then again",
        "2. a/one (output limit x2): answered",
    ]


def test_larger_limit_stays_within_the_window():
    budgets = {"a/": {"input_tokens": 16_000, "output_tokens": 12_000, "tier": "B"}}
    stage = Stage([cut_json(), GOOD], budgets=budgets)
    stage.plan()
    assert [request.max_tokens for request in stage.a.requests] == [12_000, 12_000]
    assert stage.a.requests[0].messages != stage.a.requests[1].messages, "a single step is requested instead"


def test_second_truncation_retries_with_single_pick():
    stage = Stage([cut_json(), cut_json(), GOOD], budgets={"a/": {"tier": "B"}})
    assert stage.plan().prompt_variant_used == "single_pick"


def test_single_pick_is_not_retried_with_single_pick():
    stage = Stage([cut_json(), cut_json()])
    failure = stage.fail(LengthTruncated)
    assert (
        len(stage.sent) == 2
        and "all retry variations are exhausted; no further model in [fallback]" in failure.attempts[-1].then
    )


@pytest.mark.parametrize("reply", [whitespace_loop(), "I would rather not.", '{"steps": 3}'])
def test_deadlock_retries_unconstrained_with_the_schema_in_the_prompt(reply):
    strict = {"a/": {"tier": "A", "wants_strict_json": True, "supports_prefix_cache": True}}
    stop = Reply(reply, "stop") if isinstance(reply, str) else Reply(reply.text, "stop")
    stage = Stage([stop, GOOD], budgets=strict)
    stage.plan()
    first, second = stage.a.requests
    assert first.response_format and second.response_format is None
    assert second.messages[0] == first.messages[0], "what is cached stays as it was"
    assert '"more_steps_likely"' in second.messages[-1].text and '"more_steps_likely"' not in first.messages[-1].text


STRICT = {"a/": {"tier": "A", "wants_strict_json": True}}
RAN_DRY = Reply('{"steps": [' + " " * 900, "length", usage=Usage(output_tokens=1_000))


@pytest.mark.parametrize(
    "reply",
    [whitespace_loop(), Reply("\n" * 900, "length"), Reply("\n" * 900, "stop")],
)
def test_endless_constrained_output_retries_unconstrained_once(reply):
    stage = Stage([reply] * 2, [GOOD], fallback=CHAIN, budgets=STRICT, continuations=3)
    plan = stage.plan()
    first, second = stage.a.requests
    assert plan.model == "b/two" and first.response_format and second.response_format is None
    assert second.max_tokens == first.max_tokens
    assert [attempt.continuations for attempt in plan.attempts] == [0, 0, 0]


def test_repetition_is_drawn_again_under_the_schema_before_it_is_dropped():
    looping = Reply('{"steps": [' + '"2026-09-30",\n    ' * 90, "length")
    stage = Stage([looping] * 3, [GOOD], fallback=CHAIN, budgets=STRICT)
    assert stage.plan().model == "b/two"
    first, again, free = stage.a.requests
    assert first.response_format and again.response_format and free.response_format is None
    assert "repeats itself" in again.messages[-1].text and "repeats itself" not in first.messages[-1].text


def test_endless_whitespace_is_reported_as_such():
    with pytest.raises(LengthTruncated, match="constrained decoding"):
        Stage([RAN_DRY] * 2, budgets=STRICT).plan()


def test_whitespace_does_not_answer_a_json_request():
    asked = attrs.evolve(written(), response_format=ResponseFormat("json_object"))
    stage = Stage([RAN_DRY], ['{"a": 1}'], fallback=CHAIN, continuations=3)
    assert stage.deck.complete(asked).text == '{"a": 1}'
    assert len(stage.a.requests) == 1, "it is neither continued nor changed"
    whole = '{"a": 1}' + "\n" * 900
    assert Stage([Reply(whole, "length")]).deck.complete(asked).text == whole
    assert Stage([RAN_DRY]).deck.complete(written()).text == RAN_DRY.text, "plain text may look as it likes"


def test_rejected_schema_is_dropped_but_not_from_a_written_request():
    refused = Fail("invalid_request", sub_cause="schema_refused")
    stage = Stage([refused, GOOD], budgets={"a/": {"tier": "A", "wants_strict_json": True}})
    stage.plan()
    first, second = stage.a.requests
    assert first.response_format.schema and second.response_format is None
    stage = Stage([refused, GOOD])
    with pytest.raises(InvalidRequest):
        stage.deck.complete(written())
    assert len(stage.a.requests) == 1


def test_exceeded_window_retries_with_half_the_catalog():
    stage = Stage([Fail("context_window_exceeded"), GOOD])
    plan = stage.plan()
    sizes = [len(request.messages[-1].text.encode()) for request in stage.a.requests]
    assert sizes[1] < 0.7 * sizes[0] and plan.compaction.after_bytes <= 5_000


def test_request_that_cannot_fit_falls_back_to_a_larger_model_only():
    stage = Stage([], [GOOD], fallback=CHAIN, budgets={"b/": {"tier": "A", "input_tokens": 200_000}})
    plan = stage.deck.plan("please summarise: " + "word " * 20_000, model="a/one")
    assert plan.model == "b/two" and [attempt.is_sent for attempt in plan.attempts] == [False, True]
    alone = Stage([])
    with pytest.raises(ContextWindowExceeded) as caught:
        alone.deck.plan("please summarise: " + "word " * 20_000, model="a/one")
    assert len(caught.value.attempts) == 1


# -- waiting -------------------------------------------------------------------------------------------------


def test_rate_limit_is_retried_after_the_wait():
    stage = Stage([Fail("rate_limited", retry_after_s=7.0), GOOD])
    assert stage.plan().attempts[1].waited_s == 7.0 and stage.waits == [7.0]


def test_busy_provider_is_retried_with_backoff():
    stage = Stage([Fail("provider_unavailable")] * 3)
    assert len(stage.fail(ProviderUnavailable).attempts) == 3
    first, second = stage.waits
    assert 0.25 <= first <= 0.75 and 0.5 <= second <= 1.5


def test_cancelled_call_ends_its_backoff():
    stage = Stage([Fail("rate_limited", retry_after_s=50.0)])

    async def run():
        is_waiting = asyncio.Event()

        async def sleep(seconds):
            is_waiting.set()
            await asyncio.Event().wait()  # only a cancellation ends it

        stage.deck._engine.dispatcher.services.sleep = sleep
        task = asyncio.create_task(stage.deck.aplan(ASK, model="a/one"))
        await is_waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert len(stage.a.requests) == 1


# -- other models --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    [empty_stop(), empty_length(), Reply("<think>hm</think>"), Reply("", None), Fail("quota_exhausted")],
)
def test_fallback_model_has_its_own_budget(reply):
    strict = {"b/": {"tier": "A", "wants_strict_json": True, "output_tokens": 777}}
    stage = Stage([reply] * 2, [GOOD], fallback=CHAIN, budgets=strict)
    plan = stage.plan()
    taken = stage.b.requests[0]
    assert (taken.model, taken.max_tokens, plan.prompt_variant_used) == ("b/two", 777, "full_steps")
    assert taken.response_format is not None and stage.a.requests[0].response_format is None
    assert (plan.model, plan.requested_model, plan.served_model) == ("b/two", "a/one", "two")
    wire = plan.to_dict()
    assert (wire["model"], wire["requested_model"]) == ("b/two", "a/one") and len(wire["attempts"]) >= 2


@pytest.mark.parametrize(
    "cause", ["auth_failed", "invalid_request", "safety_filtered", "cancelled", "artifact_invalid"]
)
def test_causes_without_a_remedy_are_raised_at_once(cause):
    stage = Stage([Fail(cause)], [], fallback=CHAIN)
    with pytest.raises(Exception, match="scripted failure") as caught:
        stage.plan()
    assert caught.value.failure_class == cause and len(stage.sent) == 1


def test_safety_filtered_response_is_never_retried():
    stage = Stage([empty_content_filter()], fallback=CHAIN)
    assert stage.fail(SafetyFiltered).attempts[0].then.startswith("stopped") and len(stage.sent) == 1


def test_fallback_chain_can_end_in_the_offline_planner():
    stage = Stage([empty_stop()], [Fail("quota_exhausted")], fallback=CHAIN)
    plan = stage.plan()
    assert plan.model == "local/lexical" and plan.steps[0].tool == "blog.draft"


def test_exhausted_chain_raises_the_last_error():
    stage = Stage([empty_stop()], [Fail("quota_exhausted")], fallback={"a/": ["b/two"]})
    failure = stage.fail(QuotaExhausted)
    assert [attempt.cause for attempt in failure.attempts] == ["likely_timeout", "quota_exhausted"]
    assert str(failure).startswith("helmdeck.plan: ") and failure.model == "b/two"


def test_longest_prefix_selects_the_fallback_chain():
    chains = {"": ["local/lexical"], "A/": ["b/two"]}
    assert Stage([empty_stop()], [GOOD], fallback=chains).plan().model == "b/two"
    stage = Stage([], [empty_stop()], fallback=chains)
    assert stage.deck.plan(ASK, model="b/x").model == "local/lexical"


def test_cause_outside_fallback_on_has_no_fallback():
    stage = Stage([Fail("quota_exhausted")], fallback=CHAIN, fallback_on=["rate_limited"])
    assert len(stage.fail(QuotaExhausted).attempts) == 1


def test_chain_calls_no_model_twice():
    stage = Stage([empty_stop()], [GOOD], fallback={"a/": ["a/one", "b/two"]})
    assert stage.plan().model == "b/two" and len(stage.a.requests) == 1


def test_pack_can_accept_an_empty_answer_as_final():
    from helmdeck_core import Question

    async def ask(stage):
        question = Question(
            caller="t",
            task="t",
            type=dict,
            request="r",
            model="a/one",
            instructions="i",
            needs_catalog=False,
            allows_empty=True,
        )
        await stage.deck._engine.ask(question)

    stage = Stage([empty_stop()], [GOOD], fallback=CHAIN)
    with pytest.raises(LikelyTimeout):
        asyncio.run(ask(stage))
    assert stage.b.requests == []


# -- requests that the caller wrote --------------------------------------------------------------------------


def written(text="hello", role=Role.USER):
    return ChatRequest(model="a/one", messages=(Message(role, (TextPart(text),)),))


def test_empty_answer_is_a_failure():
    assert Stage([empty_stop()], ["hi"], fallback=CHAIN).deck.complete(written()).text == "hi"
    with pytest.raises(LikelyTimeout):
        Stage([empty_stop()] * 2).deck.complete(written())


def test_empty_answer_is_valid_after_a_tool_result_or_when_allowed():
    assert Stage([empty_stop()], fallback=CHAIN).deck.complete(written(role=Role.TOOL)).text == ""
    assert Stage([empty_stop()], fallback=CHAIN).deck.complete(written(), allows_empty=True).text == ""


def talk(*roles):
    said = [Message(Role(role), (TextPart(f"{role} {number} " + "x" * 100),)) for number, role in enumerate(roles)]
    return ChatRequest(model="a/one", messages=tuple(said))


TALK = talk("system", *("user", "assistant") * 5, "user")
FULL = Fail("context_window_exceeded")


def test_oversized_conversation_drops_oldest_turns_and_reports_it():
    stage = Stage([FULL, FULL, "hi"], fallback=CHAIN)
    response = stage.deck.complete(TALK)
    kept = [[int(message.text.split()[1]) for message in request.messages] for request in stage.a.requests]
    assert kept == [list(range(12)), [0, *range(5, 12)], [0, *range(9, 12)]]
    assert response.text == "hi" and response.downgrades == ("8 oldest messages left out",)
    (finished,) = stage.recorder.of(CallFinished)
    assert finished.downgrades == response.downgrades
    assert stage.recorder.of(AttemptEnded)[1].outcome.changed == ("oldest turns removed, history x0.7",)


def test_oversized_streamed_conversation_drops_oldest_turns():
    stage = Stage([FULL, "hi"])
    *_, response = stage.deck.stream(TALK)
    assert response.downgrades == ("4 oldest messages left out",) and len(stage.a.requests) == 2


@pytest.mark.parametrize("request_", [TALK, talk("system", "user"), talk("user", "assistant", "tool")])
def test_conversation_that_cannot_be_shortened_is_not_sent_twice(request_):
    stage = Stage([FULL] * 9)
    with pytest.raises(ContextWindowExceeded) as caught:
        stage.deck.complete(request_)
    sent = [request.messages for request in stage.a.requests]
    assert len({len(each) for each in sent}) == len(sent) == len(caught.value.attempts)
    assert all(each[-1] == request_.messages[-1] for each in sent)
    assert len(sent) == (3 if request_ is TALK else 1)


def test_the_next_model_gets_the_whole_conversation_again():
    stage = Stage([FULL] * 9, ["hi"], fallback=CHAIN)
    response = stage.deck.complete(TALK)
    assert stage.b.requests[0].messages == TALK.messages and response.downgrades == ()


def test_drop_turns_false_keeps_all_turns():
    stage = Stage([FULL], ["hi"], fallback=CHAIN, drop_turns=False)
    assert stage.deck.complete(TALK).text == "hi" and len(stage.a.requests) == 1


def test_exceeded_window_prefers_a_larger_model():
    budgets = {"a/": {"input_tokens": 8_000}, "b/": {"input_tokens": 8_000}}
    chain = {"a/": ["b/two", "b/large"]}
    stage = Stage(
        [FULL], ["hi"], fallback=chain, drop_turns=False, budgets={**budgets, "b/large": {"input_tokens": 64_000}}
    )
    stage.deck.complete(TALK)
    assert [request.model for request in stage.b.requests] == ["b/large"]


def test_written_request_changes_only_its_model():
    stage = Stage([Reply("", "length")], ["hi"], fallback=CHAIN)
    assert stage.deck.complete(written()).text == "hi"
    assert len(stage.a.requests) == 1 and stage.b.requests[0].messages == written().messages


# -- limits --------------------------------------------------------------------------------------------------


def test_call_ends_at_its_deadline_whichever_models_hang(virtual_time):
    deck = deck_of(scripted_provider([Reply(GOOD, delay_s=600.0)] * 9), config={"fallback": {"": ["scripted/b"]}})
    with pytest.raises(LikelyTimeout) as caught:
        deck.plan(ASK, model="scripted/a", limits=CallLimits(deadline_s=15.0))
    assert virtual_time.passed_s == pytest.approx(15.0)
    assert [attempt.sub_cause for attempt in caught.value.attempts] == ["deadline_share", "deadline"]


def test_a_hanging_model_leaves_time_for_the_next_one(virtual_time):
    script = scripted_provider([Reply(GOOD, delay_s=600.0)])
    deck = deck_of(script, config={"fallback": {"": ["local/lexical"]}})
    assert deck.plan(ASK, model="scripted/a", limits=CallLimits(deadline_s=40.0)).model == "local/lexical"
    assert virtual_time.passed_s < 40.0


def test_no_request_after_max_attempts():
    stage = Stage([Fail("transient_unknown")] * 2, max_attempts=2)
    assert "stopped: max_attempts 2 reached" in str(stage.fail(TransientUnknown))


def test_a_caller_may_set_limits_for_one_call():
    stage = Stage([Fail("transient_unknown")] * 9)
    (attempt,) = stage.fail(TransientUnknown, limits=CallLimits(max_attempts=1)).attempts
    assert attempt.then == "stopped: max_attempts 1 reached"


# -- providers that rest -------------------------------------------------------------------------------------


def test_repeated_failures_open_the_circuit_and_use_fallbacks():
    # The last of the three opens the circuit, so it is not retried.
    stage = Stage([Fail("provider_unavailable")] * 5, [GOOD] * 4, fallback=CHAIN, cool_down_after=3, cool_down_s=30.0)
    assert [stage.plan().model for _ in range(3)] == ["b/two"] * 3
    (cooldown,) = stage.recorder.of(CooldownStarted)
    assert (cooldown.provider, cooldown.model, cooldown.seconds) == ("a", "a/one", 30.0)
    plan = stage.plan()
    assert plan.model == "b/two" and plan.attempts[0].changed == ("a/one passed over",) and len(stage.a.requests) == 5


def test_attempts_of_one_call_count_as_one_failure():
    stage = Stage([*[Fail("provider_unavailable")] * 3, GOOD], cool_down_after=2)
    stage.fail(ProviderUnavailable)
    assert stage.plan().model == "a/one" and not stage.recorder.of(CooldownStarted)


def test_model_is_called_again_after_its_cooldown():
    stage = Stage([*[Fail("provider_unavailable")] * 2, GOOD, GOOD], [GOOD] * 2, fallback=CHAIN, cool_down_after=1)
    assert stage.plan().model == "b/two"
    stage.now += 8.0
    assert stage.plan().model == "b/two" and len(stage.a.requests) == 2, "it was tested, and failed again"
    stage.now += 8.0
    assert [stage.plan().model for _ in range(2)] == ["a/one"] * 2


def test_one_call_at_a_time_tests_a_model_after_its_cooldown():
    breaker = CircuitBreaker(1, 8.0, 2)
    breaker.record_failure("a/one", 0.0)
    assert breaker.open_circuits(7.9) == {"a/one"} and not breaker.open_circuits(8.0)
    breaker.record_attempt("a/one", 8.0)
    assert breaker.open_circuits(8.0) == {"a/one"}
    breaker.record_success("a/one")
    assert not breaker.open_circuits(8.0)


def test_one_failing_model_does_not_exclude_the_others_of_its_provider():
    breaker = CircuitBreaker(1, 8.0, 2)
    breaker.record_failure("router/bad", 0.0)
    assert breaker.open_circuits(1.0) == {"router/bad"}
    breaker.record_failure("router/worse", 0.0)
    assert breaker.open_circuits(1.0) == {"router/bad", "router/worse", "router"}
    stage = Stage([Fail("provider_unavailable"), GOOD, GOOD], fallback={"a/": ["a/two"]}, cool_down_after=1)
    assert [stage.plan().model for _ in range(2)] == ["a/two"] * 2


def test_model_in_cooldown_is_called_when_no_other_is_left():
    stage = Stage([*[Fail("provider_unavailable")] * 3, GOOD], cool_down_after=1)
    stage.fail(ProviderUnavailable)
    assert stage.plan().model == "a/one"


# -- the attempts --------------------------------------------------------------------------------------------


def test_tokens_of_failed_attempts_are_counted_separately():
    replies = [Reply("", "stop", usage=Usage(input_tokens=100, output_tokens=5))]
    stage = Stage(replies, [Reply(GOOD, usage=Usage(input_tokens=70, output_tokens=9))], fallback=CHAIN)
    plan = stage.plan()
    assert plan.usage == Usage(input_tokens=70, output_tokens=9)
    assert plan.rejected_usage == Usage(input_tokens=100, output_tokens=5)
    assert plan.to_dict()["rejected_usage"]["input_tokens"] == 100


def test_every_attempt_is_an_event_of_the_same_call():
    stage = Stage([cut_json(), GOOD])
    stage.deck.plan(ASK, model="a/one", caller="ada")
    ended, (finished,) = stage.recorder.of(AttemptEnded), stage.recorder.of(CallFinished)
    assert [(event.attempt, event.outcome.cause, event.outcome.then) for event in ended] == [
        (1, "length_truncated", "again"),
        (2, None, "answered"),
    ]
    assert {event.call_id for event in ended} == {finished.call_id} and finished.attempt == 2
    assert {(event.pack, event.caller) for event in ended} == {("helmdeck.plan", "ada")}
    stage = Stage([Fail("quota_exhausted")])
    stage.fail(QuotaExhausted)
    (ended,), (exhausted,) = stage.recorder.of(AttemptEnded), stage.recorder.of(CallExhausted)
    assert ended.outcome.then.startswith("stopped") and exhausted.reason and exhausted.call_id == ended.call_id


def test_attempt_summary_is_bounded_and_contains_no_provider_text():
    secret = "sk-secret-word"
    fails = [Fail("likely_timeout", detail=f"{secret} {secret}", sub_cause="empty")] * 30
    chain = {"a/": [f"b/{'x' * 400}{number}" for number in range(20)]}
    stage = Stage(fails[:1], fails, fallback=chain, max_attempts=20)
    failure = stage.fail(LikelyTimeout)
    assert len(failure.attempts) == MAX_LISTED_ATTEMPTS and failure.attempts[0].number == 1
    assert failure.attempts[-1].number == 20 == failure.attempt
    assert secret not in summary(failure.attempts) and len(summary(failure.attempts).encode()) <= MAX_SUMMARY_BYTES
    assert pickle.loads(pickle.dumps(failure)).attempts == failure.attempts


def test_failure_as_plain_data_contains_its_attempts():
    import json

    stage = Stage([Fail("rate_limited", retry_after_s=1.0)] * 3)
    wire = stage.fail(RateLimited).to_dict()
    assert [attempt["cause"] for attempt in wire["attempts"]] == ["rate_limited"] * 3 and json.dumps(wire)


# -- rules and configuration -----------------------------------------------------------------------------------


class Stubborn:
    """A plugin with rules of its own."""

    def __init__(self, *rules):
        self.rules = rules

    @hookimpl
    def helmdeck_recovery_rules(self):
        return self.rules


def test_a_plugin_replaces_a_rule_by_its_name():
    moves_on = Stubborn(RecoveryRule(name="auth_failed", actions=(NextModel(),)))
    assert Stage([Fail("auth_failed")], [GOOD], fallback=CHAIN, beside=(moves_on,)).plan().model == "b/two"
    stage = Stage([Fail("auth_failed")], [GOOD], fallback=CHAIN)
    assert stage.fail(AuthFailed).model == "a/one"


def test_error_of_a_failing_rule_names_it():
    for decide in (lambda situation: 1 / 0, lambda situation: ["retry"]):
        rules = Stubborn(RecoveryRule(name="likely_timeout", decide=decide))
        with pytest.raises(
            PluginError, match="'stubborn-4' failed in helmdeck_recovery_rules: RecoveryRule 'likely_time"
        ):
            Stage([empty_stop()], beside=(rules,)).plan()


def test_rule_for_an_unknown_cause_is_rejected():
    with pytest.raises(PluginError, match=r"there is no cause 'likely_timout': safety_filtered"):
        Stage(beside=(Stubborn(RecoveryRule(name="likely_timout")),))


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"fallback": {"a/": ["unknown/x"]}}, "fallback.\"a/\": unknown provider in 'unknown/x'"),
        ({"fallback": {"a/": ["local"]}}, "not of the form provider/model"),
        ({"fallback": {"a/": ["local/lexical", "local/lexical"]}}, "a model is listed twice"),
        ({"fallback": {"a/x": ["A/X"]}}, "the model falls back to itself"),
        ({"recovery": {"fallback_on": ["rate_limit"]}}, "did you mean 'rate_limited'"),
        ({"recovery": {"max_attempts": 0}}, "no model would be called at 0"),
        ({"recovery": {"attempt_share": 1.5}}, "not a share"),
        ({"providers": {"local": {"first_token_timeout_s": 0}}}, "providers.local.first_token_timeout_s"),
        ({"budgets": {"local/": {"first_token_timeout_s": 0}}}, "first_token_timeout_s"),
    ],
)
def test_mistakes_of_the_configuration_are_found_when_a_deck_is_made(config, words):
    with pytest.raises(ConfigError) as caught:
        make_deck(config=config)
    assert words in str(caught.value)


def test_retry_counts_are_separate_per_model_of_a_chain():
    stage = Stage(["prose", "prose"], ["prose", GOOD], fallback=CHAIN)
    assert stage.plan().model == "b/two" and len(stage.sent) == 4


def test_unconstrained_deadlock_is_not_retried():
    from helmdeck_core import Question

    stage = Stage(["prose"])
    question = Question(
        caller="t", task="t", type=dict, request="r", model="a/one", instructions="i", needs_catalog=False
    )
    with pytest.raises(ConstrainedDeadlock):
        asyncio.run(stage.deck._engine.ask(question))
    assert len(stage.sent) == 1
