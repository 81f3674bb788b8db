"""The scripted provider, as a test's helper and from the configuration, and the loopback servers."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from helmdeck_core import (
    CallFailed,
    ChatRequest,
    CompletedStep,
    FailureClass,
    InvalidRequest,
    Message,
    PluginError,
    QuotaExhausted,
    RateLimited,
    Role,
    SafetyFiltered,
    StopReason,
    TextPart,
    ToolCall,
    TransientUnknown,
    Usage,
)
from helmdeck_testing import (
    Fail,
    RepliesExhausted,
    Reply,
    Scripted,
    completion,
    cut_json,
    draft_in_reasoning,
    empty_content_filter,
    empty_length,
    empty_stop,
    error_in_200,
    scripted_provider,
    weak_model_server,
    whitespace_loop,
)
from helmdeck_testing import chat_server as serving
from tests.case_support import each_case


def asking(text="hello", model="scripted/any", **fields):
    return ChatRequest(model=model, messages=(Message(Role.USER, (TextPart(text),)),), **fields)


def ask(*replies, **fields):
    return asyncio.run(Scripted(replies).complete(asking(**fields)))


# -- replies --------------------------------------------------------------------------------------------------


NOT_CONTINUED = {"agent": {"continuation_max_attempts": 0}}
"""Truncated responses are not continued, so that each request receives the next reply."""


def test_replies_are_returned_in_order_and_requests_recorded(deck_with):
    script = scripted_provider(["one", Reply("two", stop_reason="length")])
    deck = deck_with(script, model="scripted/any", config=NOT_CONTINUED)
    answers = [deck.complete(asking(text)) for text in ("first", "second")]
    assert [(a.text, a.stop_reason, a.raw_stop_reason) for a in answers] == [
        ("one", StopReason.END_TURN, "stop"),
        ("two", StopReason.MAX_TOKENS, "length"),
    ]
    assert [request.messages[0].text for request in script.requests] == ["first", "second"]
    assert script.left == 0


def test_every_model_name_is_served(deck_with):
    deck = deck_with(scripted_provider(["one", "two"]))
    assert deck.complete(asking(model="scripted/a")).served_model == "a"
    assert deck.complete(asking(model="scripted/b/c")).served_model == "b/c"


def test_two_scripts_can_be_used_together(deck_with):
    deck = deck_with(scripted_provider(["one"], name="first"), scripted_provider(["two"], name="second"))
    assert deck.complete(asking(model="second/x")).text == "two"
    assert deck.complete(asking(model="first/x")).text == "one"


def test_a_plan_can_be_scripted(deck_with):
    plan = {"steps": [{"order": 1, "tool": "blog.publish", "args": {}}], "reasoning": "as asked"}
    deck = deck_with(scripted_provider([json.dumps(plan)]), model="scripted/any")
    assert [step.tool for step in deck.plan("publish the post").steps] == ["blog.publish"]


def test_exhausted_script_raises_and_no_fallback_hides_it(deck_with):
    deck = deck_with(scripted_provider(["only"]))
    deck.complete(asking())
    with pytest.raises(RepliesExhausted, match="has 1 replies, but request 2, for 'scripted/any'") as caught:
        deck.complete(asking())
    assert not isinstance(caught.value, CallFailed)
    assert isinstance(caught.value, PluginError)


def test_reply_can_be_a_function_of_the_request():
    assert ask(lambda request: request.messages[0].text.upper(), text="loud").text == "LOUD"


def test_response_has_all_fields_of_the_reply():
    calls = (ToolCall("1", "look", "{}"),)
    given = Reply("t", "stop", "why", calls, Usage(output_tokens=3), "m-1", 0.0, {"x-ratelimit-remaining": "1"}, ("d",))
    response = ask(given)
    assert (response.text, response.reasoning_content, response.tool_calls, response.served_model) == (
        "t",
        "why",
        calls,
        "m-1",
    )
    assert (response.usage.output_tokens, dict(response.quota_metadata), response.downgrades) == (
        3,
        {"x-ratelimit-remaining": "1"},
        ("d",),
    )
    assert (response.stop_reason, response.strict_stop_reason) == (StopReason.TOOL_CALL, StopReason.END_TURN)


def test_other_native_stop_reasons_are_looked_up_in_the_deck(deck_with):
    script = scripted_provider([Reply("x", "MAX_TOKENS"), Reply("x", "quantum_halt"), Reply("x", None)])
    deck = deck_with(script, config=NOT_CONTINUED)
    found = [deck.complete(asking()).stop_reason for _ in range(3)]
    assert found == [StopReason.MAX_TOKENS, StopReason.UNKNOWN, StopReason.UNKNOWN]


def test_delayed_response_can_be_cancelled():
    async def run():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await Scripted([Reply("late", delay_s=60.0)]).complete(asking())

    asyncio.run(run())


def test_invalid_reply_is_named():
    with pytest.raises(TypeError, match="unexpected reply of type int"):
        ask(7)


# -- failures -------------------------------------------------------------------------------------------------


@each_case("cause", list(FailureClass))
def test_every_cause_can_be_raised_by_name(cause):
    with pytest.raises(CallFailed) as caught:
        ask(Fail(cause.value, retry_after_s=2.0, status=400, detail="d", sub_cause="s"))
    found = caught.value
    assert found.failure_class is cause
    assert (found.retry_after_s, found.status, found.detail, found.sub_cause) == (2.0, 400, "d", "s")


def test_unknown_cause_is_rejected_with_the_valid_ones():
    with pytest.raises(ValueError, match=r"unknown cause 'rate_limit'; causes: safety_filtered, .*rate_limited"):
        Fail("rate_limit")


def test_custom_exception_is_raised_with_its_fields(deck_with):
    mine = QuotaExhausted("no credit", detail="top up")
    deck = deck_with(scripted_provider([mine, mine]))
    for _ in range(2):
        with pytest.raises(QuotaExhausted, match="top up") as caught:
            deck.complete(asking())
        assert caught.value.model == "scripted/any"
    assert mine.model == ""


@each_case(
    ("mode", "text", "stop_reason"),
    [
        (empty_stop, "", StopReason.END_TURN),
        (empty_content_filter, "", StopReason.SAFETY_BLOCKED),
        (empty_length, "", StopReason.MAX_TOKENS),
        (draft_in_reasoning, "", StopReason.END_TURN),
    ],
)
def test_empty_answer_has_the_stop_reason_of_its_mode(mode, text, stop_reason):
    response = ask(mode())
    assert (response.text, response.stop_reason) == (text, stop_reason)


def test_draft_is_only_in_the_reasoning():
    assert '"steps"' in ask(draft_in_reasoning()).reasoning_content


@pytest.mark.parametrize(("reason", "expected"), [("length", StopReason.MAX_TOKENS), ("stop", StopReason.END_TURN)])
def test_truncated_json_ends_at_the_limit_with_any_stop_reason(reason, expected):
    response = ask(cut_json(reason), max_tokens=77)
    assert (response.stop_reason, response.usage.output_tokens) == (expected, 77)
    with pytest.raises(json.JSONDecodeError):
        json.loads(response.text)


def test_whitespace_loop_is_an_open_bracket_and_whitespace():
    assert ask(whitespace_loop()).text.strip() == "{"


def test_error_in_200_is_raised_as_by_a_real_provider():
    with pytest.raises(TransientUnknown) as caught:
        ask(error_in_200())
    assert (caught.value.status, caught.value.sub_cause) == (200, "error_in_200")


def test_the_helpers_do_not_import_pytest_which_imports_none_of_them_for_a_session():
    look = "[getattr(t, name) for name in dir(t)]"  # as pytest does with each plugin
    use = "t.Scripted, t.make_deck, t.chat_server"
    code = f"import sys, helmdeck_testing as t; {look}; print('pluggy' in sys.modules); {use}; print('pytest' in sys.modules)"
    path = ":".join(entry for entry in sys.path if entry)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": path}, check=True
    )
    assert done.stdout.split() == ["False", "False"]


# -- from the configuration -----------------------------------------------------------------------------------


def configured(deck_with, **options):
    return deck_with(
        config={
            "providers": {"scripted": {"options": options}},
            "recovery": {"max_attempts": 1},
            "agent": {"continuation_max_attempts": 0},
        }
    )


def test_replies_are_read_from_the_configuration(deck_with):
    deck = configured(
        deck_with,
        replies=[
            "hello",
            {"fail": "rate_limited", "retry_after_s": 2.0},
            {"text": "half", "stop_reason": "length", "usage": {"output_tokens": 5}},
            {"mode": "empty_content_filter"},
        ],
    )
    assert deck.complete(asking()).text == "hello"
    with pytest.raises(RateLimited) as caught:
        deck.complete(asking())
    assert caught.value.retry_after_s == 2.0
    third = deck.complete(asking())
    assert (third.text, third.stop_reason, third.usage.output_tokens) == ("half", StopReason.MAX_TOKENS, 5)
    with pytest.raises(SafetyFiltered):
        deck.complete(asking())
    with pytest.raises(RepliesExhausted):
        deck.complete(asking())


def test_replies_are_read_from_a_file(deck_with, tmp_path):
    file = tmp_path / "replies.jsonl"
    file.write_text('"hello"\n\n{"text": "bye", "stop_reason": null}\n', encoding="utf-8")
    deck = configured(deck_with, file=str(file))
    assert deck.complete(asking()).text == "hello"
    assert deck.complete(asking()).stop_reason is StopReason.UNKNOWN


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({}, "has no replies.*providers.scripted.options.replies"),
        ({"reply": ["x"]}, "options.reply: unknown option .did you mean 'replies'"),
        ({"replies": "x"}, "replies cannot be used.*not a list"),
        ({"replies": ["x", 7]}, r"replies\.1 cannot be used.*not a string"),
        ({"replies": [{"fail": "rate_limit"}]}, r"replies\.0\.cause cannot be used.*allowed: safety_filtered, "),
        ({"replies": [{"mode": "explode"}]}, "unknown mode; modes: empty_stop"),
        ({"replies": [{"txt": "x"}]}, "replies.0.txt: unknown option .did you mean 'text'"),
        ({"replies": [{"text": 5}]}, "replies.0.text: not a string"),
        ({"replies": [{"text": "x", "usage": {"tokens": 5}}]}, "tokens"),
        ({"file": "/no/such/file"}, "cannot be read"),
        ({"file": 5}, "file: not a string"),
    ],
)
def test_mistake_in_the_script_names_its_location(deck_with, options, complaint):
    deck = deck_with(config={"providers": {"scripted": {"options": options}}}) if options else deck_with()
    with pytest.raises(InvalidRequest, match=complaint):
        deck.complete(asking())


def test_invalid_json_line_names_its_number(deck_with, tmp_path):
    file = tmp_path / "replies.jsonl"
    file.write_text('"hello"\nhello\n', encoding="utf-8")
    with pytest.raises(InvalidRequest, match=r"replies\.jsonl:2 cannot be used.*not JSON"):
        configured(deck_with, file=str(file)).complete(asking())


# -- the loopback servers -------------------------------------------------------------------------------------


def post(url, body):
    sent = urllib.request.Request(url, json.dumps(body).encode(), {"X-Mine": "1"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(sent) as response:
        return response.status, dict(response.headers), json.loads(response.read())


def test_server_responds_and_records(chat_server):
    server = chat_server(lambda body: (202, {"X-Yours": "2"}, {"echo": body["n"]}))
    status, headers, body = post(f"{server.base_url}/chat/completions", {"n": 1})
    assert (status, headers["x-yours"], body) == (202, "2", {"echo": 1})
    [recorded] = server.requests
    assert (recorded.method, recorded.path, recorded.body) == ("POST", "/v1/chat/completions", {"n": 1})
    assert recorded.headers["x-mine"] == "1"


def test_exception_of_the_answer_function_reaches_the_test():
    with pytest.raises(KeyError, match="missing"):  # noqa: PT012, SIM117  # the client's own error comes first
        with serving(lambda body: body["missing"]) as server:
            with pytest.raises(urllib.error.HTTPError) as caught:
                post(server.base_url, {})
            caught.value.close()


CATALOG = {
    "packs": [{"name": "blog.draft"}, {"name": "memory.store"}],
    "pipelines": [{"id": "blog-all", "name": "All of it"}],
}


def prompting(server, *, done="", padding="", catalog=CATALOG):
    user = f"CATALOG\n{json.dumps(catalog)}\n\n{done}REQUEST\n<request>\nwrite{padding}\n</request>"
    body = {"messages": [{"role": "system", "content": "plan"}, {"role": "user", "content": user}]}
    _, _, answer = post(f"{server.base_url}/chat/completions", body)
    [choice] = answer["choices"]
    return choice["message"]["content"], choice["finish_reason"]


def test_weak_model_answers_a_small_prompt_with_the_next_step():
    with weak_model_server(["memory.store", "not.there", "blog.draft"]) as server:
        first = json.loads(prompting(server)[0])
        assert (first["steps"][0]["tool"], first["more_steps_likely"]) == ("memory.store", True)
        second = json.loads(prompting(server, done='DONE (already run)\n1. memory.store -> "ok"\n\n')[0])
        assert (second["steps"][0]["tool"], second["more_steps_likely"]) == ("blog.draft", False)
        third = json.loads(prompting(server, done="DONE\n1. memory.store\n2. blog.draft\n\n")[0])
        assert (third["steps"], third["more_steps_likely"]) == ([], False)


def test_weak_model_plans_a_pipeline_by_id():
    with weak_model_server(["blog-all"]) as server:
        [step] = json.loads(prompting(server)[0])["steps"]
        assert (step["tool"], step["args"]) == ("helmdeck__pipeline-run", {"id": "blog-all"})
        done = "DONE\n1. helmdeck__pipeline-run\n\n"
        assert json.loads(prompting(server, done=done)[0])["steps"] == []


def test_list_in_the_request_does_not_count_as_done():
    with weak_model_server(["memory.store"]) as server:
        answer, _ = prompting(server, padding="\nDONE\n1. memory.store\n")
        assert json.loads(answer)["steps"][0]["tool"] == "memory.store"


def test_weak_model_returns_an_empty_clean_end_above_its_limit():
    with weak_model_server(["blog.draft"]) as server:
        assert prompting(server, padding="x" * 14_000) == ("", "stop")
        assert prompting(server, padding="x" * 12_000)[0] != ""


def test_weak_model_can_have_a_custom_answer():
    with weak_model_server(max_prompt_bytes=500, answer=lambda prompt: f"{len(prompt)}") as server:
        assert prompting(server)[0].isdigit()


def test_deck_plans_step_by_step_with_a_weak_model(deck_with):
    wanted = [entry.id for entry in deck_with().catalog.packs][:2]
    done: list[CompletedStep] = []
    with weak_model_server(wanted) as server:
        table = {"kind": "vllm", "base_url": server.base_url}
        deck = deck_with(config={"providers": {"openrouter": table}}, model="openrouter/openrouter/free")
        for _ in wanted:
            plan = deck.plan(f"use {wanted[0]} and then {wanted[1]}", done=done)
            done.append(CompletedStep(plan.steps[0].tool))
    assert [step.tool for step in done] == wanted


def test_completion_has_the_format_of_chat_completions():
    body = completion("hi", None, prompt_tokens=3)
    assert body["choices"][0] == {"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": None}
    assert body["usage"] == {"prompt_tokens": 3}
