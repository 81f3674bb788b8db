"""Messages of failures: hints and next actions by sub-cause, facts of the call, and why no further attempt was made."""

import ast
import json
from pathlib import Path

import pytest

from helmdeck_core import FAILURES, CallFailed, ChatRequest, Disposition, FailureClass, Message, Role, TextPart, Usage
from helmdeck_core.calls.attempt_log import NO_RULE
from helmdeck_core.calls.watchdog import silence_failure
from helmdeck_core.cli import failure_lines
from helmdeck_core.errors import Attempt
from helmdeck_core.errors.hints import ANY_PROVIDER, hints
from helmdeck_testing import Fail, Reply, completion, cut_json, draft_in_reasoning, make_deck, scripted_provider
from tests.case_support import each_case

ROOT = Path(__file__).resolve().parents[2]
CLASSES = {cls.__name__: cls for cls in FAILURES.values()}
FACTS = {"at_limit", "below_limit", "within_a_second", "no_stop_reason", "stop_reason", "window_full"}
ADVISED = {(rule.cause, finer) for rule in hints() for finer in rule.sub_causes}


def sub_causes_in_source():
    """Every sub-cause in the source, with its class."""
    for path in [*(ROOT / "helmdeck_core").rglob("*.py"), *(ROOT / "plugins").rglob("*.py")]:
        source = path.read_text(encoding="utf-8")
        # Parsing every module takes a second.
        tree = ast.parse(source if "sub_cause" in source or "Cause(" in source else "")
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            named = [word.value for word in node.keywords if word.arg == "sub_cause"]
            name = node.func.id
            if name == "Cause" and len(node.args) == 2 and isinstance(node.args[0], ast.Name):
                name, named = node.args[0].id, [node.args[1]]
            if name in CLASSES:
                yield from ((CLASSES[name], each.value) for each in named if isinstance(each, ast.Constant))


def fail(replies, *, config=None, **options):
    deck = make_deck(scripted_provider(replies, "a"), config={"recovery": {"backoff_s": 0}, **(config or {})})
    with deck, pytest.raises(CallFailed) as caught:
        deck.plan("draft a blog post about tea", model="a/one", **options)
    return caught.value


def test_every_sub_cause_in_the_source_has_advice():
    found = set(sub_causes_in_source())
    assert len(found) > 12
    assert [f"{cls.failure_class}/{finer}" for cls, finer in found if (cls.failure_class, finer) not in ADVISED] == []


@each_case("cls", FAILURES.values(), ids=lambda cls: cls.__name__)
def test_advice_names_the_provider_that_failed(cls):
    for finer in ("", *(finer for cause, finer in ADVISED if cause == cls.failure_class)):
        advice = cls("x", "acme/one", provider="acme", sub_cause=finer).advice()
        assert all(advice) and ANY_PROVIDER not in " ".join(advice)
        if ANY_PROVIDER in cls("x", sub_cause=finer).advice()[1]:
            assert "providers.acme" in advice[1]


def test_rules_name_classes_and_facts_and_every_class_has_a_general_rule_last():
    for rule in hints():
        assert rule.cause in set(FailureClass) and set(rule.when) <= FACTS
    for cause in FailureClass:
        general = [not rule.sub_causes and not rule.when for rule in hints() if rule.cause == cause]
        assert general.count(True) == 1 and general[-1], cause


def test_no_rule_is_hidden_by_an_earlier_one():
    for index, rule in enumerate(hints()):
        for finer in rule.sub_causes or ("",):
            first = next(each for each in hints() if each.matches(rule.cause, finer, rule.when))
            assert first is rule or set(first.when) - {"below_limit", "window_full"} == set(), (index, rule)


def test_full_context_window_does_not_advise_a_higher_output_limit():
    failure = fail([Reply('{"steps": [', "model_context_window_exceeded")] * 3)
    assert failure.failure_class is FailureClass.LENGTH_TRUNCATED
    assert "context window was full" in failure.advice()[0] and "output_tokens" not in failure.advice()[1]


@pytest.mark.parametrize("stop", ["stop", "length"])
@pytest.mark.parametrize(
    "reasoning", [{"reasoning": "hm, " * 20}, {"usage": Usage(output_tokens=90, reasoning_tokens=90)}]
)
def test_reasoning_outside_the_text_counts_as_reasoning(stop, reasoning):
    failure = fail(
        [Reply("", stop, **reasoning)] * 3,
        config={"budgets": {"a/": {"output_tokens": 90}}, "recovery": {"max_attempts": 1}},
    )
    assert failure.sub_cause == "only_reasoning" and "reasoning" in failure.hint


def test_completion_with_only_reasoning_has_the_sub_cause_only_reasoning():
    request = ChatRequest(model="a/one", messages=(Message(Role.USER, (TextPart("hi"),)),))
    with make_deck(scripted_provider([draft_in_reasoning()] * 2, "a")) as deck, pytest.raises(CallFailed) as caught:
        deck.complete(request)
    assert caught.value.sub_cause == "only_reasoning"
    with make_deck(scripted_provider([Reply("")] * 2, "a")) as deck, pytest.raises(CallFailed) as caught:
        deck.complete(request)
    assert caught.value.sub_cause == "empty_though_finished"


def test_truncated_answer_reports_its_tokens_and_the_limit():
    once = {"recovery": {"max_attempts": 1}, "agent": {"continuation_max_attempts": 0}}
    failure = fail([cut_json()], config={**once, "budgets": {"a/": {"output_tokens": 321}}})
    assert "321 of at most 321 output tokens" in str(failure)
    wire = json.loads(json.dumps(failure.to_dict()))
    assert (wire["usage"], wire["max_tokens"]) == ({"output_tokens": 321}, 321)


def test_reasoning_tokens_are_reported_separately():
    assert "90 output tokens, 80 of them reasoning" in str(
        CallFailed("x", usage=Usage(output_tokens=90, reasoning_tokens=80))
    )


def test_message_says_when_there_is_no_stop_reason():
    failure = fail([Reply("", None)] * 3)
    assert "no stop reason, 0 bytes" in str(failure) and "None" not in str(failure)


# -- attempts ------------------------------------------------------------------------------------------------


def test_attempt_shows_its_status_and_duration():
    attempt = Attempt(
        number=2, model="a/one", cause=FailureClass.PROVIDER_UNAVAILABLE, status=503, latency_s=12.3, then="again"
    )
    assert str(attempt) == "2. a/one: provider_unavailable, HTTP 503 after 12.3 s, then again"


def test_unsent_attempt_is_marked_in_the_data():
    assert Attempt(number=1, model="a/one", is_sent=False).to_dict()["is_sent"] is False


def test_attempts_show_the_backoff(virtual_time):
    failure = fail([Fail("provider_unavailable", status=503, retry_after_s=0.1)] * 3)
    assert [attempt.then for attempt in failure.attempts[:2]] == ["again after 0.1 s (Retry-After)"] * 2
    assert failure.attempts[0].status == 503


def test_message_says_why_no_further_attempt_was_made():
    reasons = {
        "a wait of 90 s is longer than max_wait_s 60": ({}, Fail("rate_limited", retry_after_s=90)),
        "is longer than what is left of the deadline": (
            {"recovery": {"deadline_s": 5}},
            Fail("rate_limited", retry_after_s=30),
        ),
        "fallback_on does not name quota_exhausted": (
            {"recovery": {"fallback_on": ["rate_limited"]}, "fallback": {"a/": ["local/lexical"]}},
            Fail("quota_exhausted"),
        ),
        "no further model in [fallback]": ({}, Fail("quota_exhausted")),
        "no model of another provider in [fallback]": (
            {"fallback": {"a/": ["a/two"]}},
            Reply("", "odd", disposition=Disposition.ACCOUNT),
        ),
        NO_RULE: ({}, Fail("auth_failed")),
    }
    for reason, (config, reply) in reasons.items():
        failure = fail([reply], config=config)
        then = failure.attempts[-1].then
        assert then.startswith("stopped: ") and reason in then, then
        # The cause alone implies that no rule applies, so the message does not repeat it.
        assert str(failure).endswith(then) == (reason != NO_RULE), str(failure)


# -- request ids ----------------------------------------------------------------------------------------------


ERROR = {"error": {"message": "no"}}


@pytest.mark.parametrize("header", ["X-Request-Id", "request-id", "x-amzn-RequestId"])
@pytest.mark.parametrize(
    "answer", [(503, ERROR), (200, ERROR), (200, "<html>"), (200, completion("")), (200, completion("{"))]
)
def test_request_id_is_read_from_every_known_header(chat_server, header, answer):
    status, body = answer
    server = chat_server(lambda _: (status, {header: "req_42"}, body))
    config = {"providers": {"vllm": {"base_url": server.base_url}}, "recovery": {"max_attempts": 1}}
    with make_deck(config=config) as deck, pytest.raises(CallFailed) as caught:
        deck.plan("draft a blog post about tea", model="vllm/any")
    assert caught.value.request_id == caught.value.attempts[0].request_id == "req_42"
    assert "request id req_42" in str(caught.value)


def test_secret_in_a_request_id_is_redacted(chat_server):
    server = chat_server(lambda _: (503, {"x-request-id": "for kq7Zr0Wm4Xc9Tb2L"}, ERROR))
    provider = {"base_url": server.base_url, "api_key": "env:VLLM_KEY"}
    environ, recovery = {"VLLM_KEY": "kq7Zr0Wm4Xc9Tb2L"}, {"max_attempts": 1}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_KEY", environ["VLLM_KEY"])
        with (
            make_deck(config={"providers": {"vllm": provider}, "recovery": recovery}) as deck,
            pytest.raises(CallFailed) as caught,
        ):
            deck.plan("draft a blog post about tea", model="vllm/any")
    assert caught.value.request_id == "for [redacted]"


# -- on the command line -------------------------------------------------------------------------------------


def shown(failure, code=12):
    return "\n".join(failure_lines(failure, code))


def test_answer_is_shown_when_the_advice_is_to_read_it():
    failure = fail([Reply("I'm sorry, but I can't help with that.")] * 2)
    assert "read the answer" in failure.advice()[1]
    assert "response    starts with: I'm sorry, but I can't help with that." in shown(failure)


def test_single_attempt_is_listed_unless_no_request_was_sent():
    once = fail([Reply("")], config={"recovery": {"max_attempts": 1}})
    assert "attempts    1. a/one: likely_timeout/empty_though_finished, then stopped" in shown(once)
    assert "tried" not in shown(fail([], config={"budgets": {"a/": {"input_tokens": 300}}}))


def test_cause_is_not_repeated_as_detail():
    assert "detail" not in shown(fail([cut_json()] * 12))
    assert "detail      the answer has the wrong shape at $.steps" in shown(fail([Reply('{"steps": 3}')] * 2))


def test_advice_after_silence_between_tokens_names_the_limit_that_was_exceeded():
    failure = silence_failure("a/m", 1.0, 12.0, is_first=False)
    assert "see first_token_timeout_s" in failure.detail
    assert "the detail names" in failure.advice()[1]
    assert "idle_timeout_s" not in failure.advice()[1]
