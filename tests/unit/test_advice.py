"""What failures say to whoever reads them: hints and next actions by the finest cause, facts, and why nothing more was tried."""

import ast
import json
from pathlib import Path

import pytest

from helmdeck_core import FAILURES, CallFailed, ChatRequest, Disposition, FailureClass, Message, Role, TextPart, Usage
from helmdeck_core.cli import failure_lines
from helmdeck_core.errors.attempts import NO_RULE, Attempt
from helmdeck_core.errors.hints import ANY_PROVIDER, FINER
from helmdeck_testing import Fail, Reply, completion, cut_json, draft_in_reasoning, make_deck, scripted_provider

ROOT = Path(__file__).resolve().parents[2]
CLASSES = {cls.__name__: cls for cls in FAILURES.values()}
SAYS_NO_MORE = {"error_in_200"}
"""Finer causes that only tell where an error stood; what helps is the cause's."""


def written():
    """Every finer cause that stands in the code beside its class."""
    for path in [*(ROOT / "helmdeck_core").rglob("*.py"), *(ROOT / "plugins").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
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
        deck.plan("draft a post about tea", model="a/one", **options)
    return caught.value


def test_every_finer_cause_in_the_code_has_advice_of_its_own():
    found = set(written())
    assert len(found) > 12
    assert [
        f"{cls.failure_class}/{finer}"
        for cls, finer in found
        if finer not in {*FINER.get(cls.failure_class, {}), *SAYS_NO_MORE}
    ] == []


@pytest.mark.parametrize("cls", FAILURES.values(), ids=lambda cls: cls.__name__)
def test_advice_is_said_of_the_provider_that_failed(cls):
    for finer in ("", *FINER.get(cls.failure_class, {})):
        told = cls("x", "acme/one", provider="acme", sub_cause=finer).advice()
        assert all(told) and ANY_PROVIDER not in " ".join(told)
        if ANY_PROVIDER in cls("x", sub_cause=finer).advice()[1]:
            assert "providers.acme" in told[1]


def test_an_answer_that_filled_the_window_is_not_said_to_lack_an_output_limit():
    failure = fail([Reply('{"steps": [', "model_context_window_exceeded")] * 3)
    assert failure.failure_class is FailureClass.LENGTH_TRUNCATED
    assert "context window was full" in failure.advice()[0] and "output_tokens" not in failure.advice()[1]


@pytest.mark.parametrize("stop", ["stop", "length"])
@pytest.mark.parametrize(
    "thought", [{"reasoning": "hm, " * 20}, {"usage": Usage(output_tokens=90, reasoning_tokens=90)}]
)
def test_thoughts_that_come_beside_the_text_count_as_thoughts(stop, thought):
    failure = fail([Reply("", stop, **thought)] * 3)
    assert failure.sub_cause == "only_reasoning" and "thought and gave no answer" in str(failure)


def test_a_request_of_ones_own_that_gets_only_thoughts_says_so_too():
    request = ChatRequest(model="a/one", messages=(Message(Role.USER, (TextPart("hi"),)),))
    with make_deck(scripted_provider([draft_in_reasoning()], "a")) as deck, pytest.raises(CallFailed) as caught:
        deck.complete(request)
    assert caught.value.sub_cause == "only_reasoning"
    with make_deck(scripted_provider([Reply("")], "a")) as deck, pytest.raises(CallFailed) as caught:
        deck.complete(request)
    assert caught.value.sub_cause == "empty_though_finished"


def test_a_cut_answer_tells_its_tokens_beside_the_limit():
    once = {"recovery": {"max_attempts": 1}, "agent": {"continuation_max_attempts": 0}}
    failure = fail([cut_json()], config={**once, "budgets": {"a/": {"output_tokens": 321}}})
    assert "321 of at most 321 tokens out" in str(failure)
    wire = json.loads(json.dumps(failure.to_dict()))
    assert (wire["usage"], wire["max_tokens"]) == ({"output_tokens": 321}, 321)


def test_what_was_thought_is_told_apart():
    assert "90 tokens out, 80 of them thought" in str(
        CallFailed("x", usage=Usage(output_tokens=90, reasoning_tokens=80))
    )


def test_an_answer_without_a_reason_is_said_to_have_none():
    failure = fail([Reply("", None)])
    assert "no stop reason, 0 bytes" in str(failure) and "None" not in str(failure)


# -- the trail -----------------------------------------------------------------------------------------------


def test_an_attempt_tells_its_status_and_what_it_took():
    attempt = Attempt(
        number=2, model="a/one", cause=FailureClass.PROVIDER_UNAVAILABLE, status=503, latency_s=12.3, then="again"
    )
    assert str(attempt) == "2. a/one: provider_unavailable, HTTP 503 after 12.3 s, then again"


def test_an_attempt_that_was_not_sent_says_so_as_data():
    assert Attempt(number=1, model="a/one", is_sent=False).to_dict()["is_sent"] is False


def test_the_attempts_of_a_failure_say_how_long_was_waited(virtual_time):
    failure = fail([Fail("provider_unavailable", status=503, retry_after_s=0.1)] * 3)
    assert [attempt.then for attempt in failure.attempts[:2]] == ["again after 0.1 s"] * 2
    assert failure.attempts[0].status == 503


def test_a_call_that_is_not_tried_again_says_why():
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
        assert then.startswith("given up: ") and reason in then, then
        # That nothing helps with a cause is what the cause says already.
        assert str(failure).endswith(then) == (reason != NO_RULE), str(failure)


# -- the provider's own name for a request -------------------------------------------------------------------


ERROR = {"error": {"message": "no"}}


@pytest.mark.parametrize("header", ["X-Request-Id", "request-id", "x-amzn-RequestId"])
@pytest.mark.parametrize(
    "answer", [(503, ERROR), (200, ERROR), (200, "<html>"), (200, completion("")), (200, completion("{"))]
)
def test_the_name_of_the_request_is_told_whatever_the_header_is_called(chat_server, header, answer):
    status, body = answer
    server = chat_server(lambda _: (status, {header: "req_42"}, body))
    config = {"providers": {"vllm": {"base_url": server.base_url}}, "recovery": {"max_attempts": 1}}
    with make_deck(config=config) as deck, pytest.raises(CallFailed) as caught:
        deck.plan("draft a post about tea", model="vllm/any")
    assert caught.value.request_id == caught.value.attempts[0].request_id == "req_42"
    assert "request id req_42" in str(caught.value)


def test_a_name_that_holds_a_secret_is_not_told(chat_server):
    server = chat_server(lambda _: (503, {"x-request-id": "for kq7Zr0Wm4Xc9Tb2L"}, ERROR))
    provider = {"base_url": server.base_url, "api_key": "env:VLLM_KEY"}
    environ, recovery = {"VLLM_KEY": "kq7Zr0Wm4Xc9Tb2L"}, {"max_attempts": 1}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_KEY", environ["VLLM_KEY"])
        with (
            make_deck(config={"providers": {"vllm": provider}, "recovery": recovery}) as deck,
            pytest.raises(CallFailed) as caught,
        ):
            deck.plan("draft a post about tea", model="vllm/any")
    assert caught.value.request_id == "for [redacted]"


# -- on the command line -------------------------------------------------------------------------------------


def shown(failure, code=12):
    return "\n".join(failure_lines(failure, code))


def test_what_the_model_said_is_shown_where_one_is_told_to_read_it():
    failure = fail([Reply("I'm sorry, but I can't help with that.")] * 2)
    assert "read what it says" in failure.advice()[1]
    assert "response    starts with: I'm sorry, but I can't help with that." in shown(failure)


def test_one_attempt_has_a_trail_too_unless_nothing_was_sent():
    once = fail([Reply("")])
    assert "attempts    1. a/one: likely_timeout/empty_though_finished, then given up" in shown(once)
    assert "tried" not in shown(fail([], config={"budgets": {"a/": {"input_tokens": 300}}}))


def test_a_cause_is_not_said_again_as_detail():
    assert "detail" not in shown(fail([cut_json()] * 12))
    assert "detail      the answer has the wrong shape at $.steps" in shown(fail([Reply('{"steps": 3}')] * 2))
