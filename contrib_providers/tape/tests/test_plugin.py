import asyncio
import json
import os
import pickle
import re
import subprocess
import sys

import attrs
import pytest

import helmdeck_provider_tape
from helmdeck_core import (
    CallFailed,
    ChatRequest,
    ChatResponse,
    FailureClass,
    HelmdeckError,
    ImagePart,
    InvalidRequest,
    Message,
    RateLimited,
    ResponseFormat,
    Role,
    StopReason,
    TextPart,
    ToolCall,
    ToolDefinition,
    Usage,
)
from helmdeck_provider_tape.exchange import FAILURES, FIELDS, Exchange, from_line, key_of, recorded, to_line
from helmdeck_provider_tape.tape import Tape, TapeWarning
from helmdeck_testing import Fail, Reply, completion, scripted_provider

MODEL = "tape/scripted/any"


def ask(text="hello", model=MODEL, **fields):
    return ChatRequest(model=model, messages=(Message(Role.USER, (TextPart(text),)),), **fields)


def played(deck, *requests):
    """Texts of responses and causes of failures, in order."""
    outcomes = []
    for request in requests:
        try:
            outcomes.append(deck.complete(request).text)
        except CallFailed as exc:
            outcomes.append(exc.failure_class.value)
    return outcomes


# -- recording and replaying -----------------------------------------------------------------------------------


def test_http_response_is_replayed_without_the_server(deck_with, chat_server, tape):
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 5}}
    server = chat_server(lambda body: {**completion("it rains"), "usage": usage, "model": "rain-1"})
    options = {
        "providers": {
            "tape": {"options": {"file": str(tape)}},
            "openai": {"base_url": server.base_url, "api_key": "env:OPENAI_API_KEY"},
        }
    }
    environ = {"OPENAI_API_KEY": "sk-very-secret"}

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "sk-very-secret")
        first = deck_with(helmdeck_provider_tape, config=options, environ=environ)
        recorded = first.complete(ask(model="tape/openai/gpt-4o"))
    first.close()
    server.close()

    options["providers"]["tape"]["options"]["mode"] = "replay"
    again = deck_with(helmdeck_provider_tape, config=options).complete(ask(model="tape/openai/gpt-4o"))
    assert (again.text, again.served_model, again.usage.cached_input_tokens) == ("it rains", "rain-1", 5)
    assert attrs.evolve(again, latency_s=0, attempts=()) == attrs.evolve(recorded, latency_s=0, attempts=())
    assert [request.body["model"] for request in server.requests] == ["gpt-4o"]
    assert server.requests[0].headers["authorization"] == "Bearer sk-very-secret"
    assert not re.search("secret|authorization|header|127.0.0.1", tape.read_text(), re.IGNORECASE)


def test_plan_is_replayed_without_its_provider(deck_on):
    wanted = '{"steps": [{"tool": "blog.draft", "args": {"brief": "x"}, "rationale": "asked for"}]}'
    plan = deck_on("record", wanted).plan("draft a blog post about x", model=MODEL)
    again = deck_on("replay").plan("draft a blog post about x", model=MODEL)
    assert again.steps == plan.steps
    assert [step.tool for step in again.steps] == ["blog.draft"]


def test_all_response_fields_are_replayed(deck_on):
    reply = Reply(
        "naïve \ud800 \U0001f600",
        "tool_calls",
        reasoning="hm",
        tool_calls=(ToolCall("1", "look", '{"at": 3}'),),
        usage=Usage(input_tokens=9, output_tokens=4, cached_input_tokens=2, reasoning_tokens=1),
        served_model="any-2026",
        quota={"x-ratelimit-remaining": "3"},
        request_id="req_1",
        downgrades=("response_format json_schema -> json_object",),
    )
    recorded = deck_on("record", reply).complete(ask())
    again = deck_on("replay").complete(ask())
    assert attrs.evolve(again, latency_s=0, attempts=()) == attrs.evolve(recorded, latency_s=0, attempts=())


@pytest.mark.parametrize("cause", list(FailureClass))
def test_failure_is_replayed(deck_on, cause):
    with pytest.raises(FAILURES[cause]) as live:
        deck_on("record", Fail(cause, status=418, retry_after_s=2.5, detail="so it is", sub_cause="why")).complete(
            ask()
        )
    with pytest.raises(FAILURES[cause]) as replayed:
        deck_on("replay").complete(ask())
    told = [attrs.evolve(each.value, latency_s=0.0, attempts=()).to_dict() for each in (live, replayed)]
    assert {**told[0], "call_id": ""} == {**told[1], "call_id": ""}


def test_equal_requests_replay_in_order_and_repeat_the_last(deck_on):
    assert played(deck_on("record", "one", Fail("rate_limited"), "three"), *[ask()] * 3) == [
        "one",
        "rate_limited",
        "three",
    ]
    assert played(deck_on("replay"), *[ask()] * 5) == ["one", "rate_limited", "three", "three", "three"]


def test_record_mode_always_calls_the_provider(deck_on):
    played(deck_on("record", "one"), ask())
    assert played(deck_on("record", "two"), ask()) == ["two"]
    assert played(deck_on("replay"), ask(), ask()) == ["one", "two"]


def test_auto_mode_calls_the_provider_only_for_new_requests(deck_on):
    assert played(deck_on("auto", "one", "two"), ask("a"), ask("b"), ask("a")) == ["one", "two", "one"]
    assert played(deck_on("auto", "three"), ask("b"), ask("c"), ask("a")) == ["two", "three", "one"]


def test_auto_mode_does_not_replay_failures(deck_on):
    """Otherwise a missing key would be replayed, and a retry would read its own recording."""
    assert played(deck_on("auto", Fail("rate_limited"), "one"), ask(), ask(), ask()) == ["rate_limited", "one", "one"]
    assert played(deck_on("auto"), ask(), ask(), ask()) == ["rate_limited", "one", "one"]


def test_streamed_and_whole_requests_have_one_key(deck_on):
    assert played(deck_on("auto", "one"), ask(stream=True), ask()) == ["one", "one"]


def test_wrapped_provider_gets_its_own_model_id(deck_with, tape):
    script = scripted_provider(["one"])
    deck = deck_with(helmdeck_provider_tape, script, config={"providers": {"tape": {"options": {"file": str(tape)}}}})
    deck.complete(ask(model="tape/scripted/vendor/model:free", stream=True))
    assert [(request.model, request.stream) for request in script.requests] == [("scripted/vendor/model:free", True)]


def test_concurrent_equal_requests_are_sent_once(deck_with, tape):
    # The shortest delay, so that the other requests start while one is in progress.
    script = scripted_provider([Reply("one", delay_s=1e-9), Reply("two", delay_s=1e-9)])
    config = {"providers": {"tape": {"options": {"file": str(tape)}}}}

    async def all_at_once():
        async with deck_with(helmdeck_provider_tape, script, config=config) as deck:
            return await asyncio.gather(*(deck.acomplete(ask(text)) for text in "abababab"))

    texts = [response.text for response in asyncio.run(all_at_once())]
    assert set(texts[::2]) | set(texts[1::2]) == {"one", "two"}
    assert len(set(texts[::2])) == len(set(texts[1::2])) == 1
    assert len(script.requests) == len(tape.read_text().splitlines()) == 2


# -- requests that are not on the tape -------------------------------------------------------------------------


def test_unknown_request_error_shows_the_nearest_recorded_one(deck_on):
    far, near = ask("about cats", max_tokens=100), ask("about the dogs of Paris, in short", max_tokens=100)
    played(deck_on("record", "one", "two"), far, near)
    with pytest.raises(InvalidRequest, match="the request is not on the tape") as failed:
        deck_on("replay").complete(ask("about the dogs of Rome, in short", max_tokens=200))
    assert "(line 2) differs in" in failed.value.detail
    assert "max_tokens: 200 in the request, 100 on the tape" in failed.value.detail
    assert re.search(
        r"messages\[0\]\.parts\[0\]\.text: .*Rome.* in the request, .*Paris.* on the tape", failed.value.detail
    )
    assert 'providers.tape.options.mode = "auto"' in failed.value.detail


def test_difference_names_fields_of_one_request_only(deck_on):
    played(deck_on("record", "one"), ask(stop=("END",)))
    with pytest.raises(InvalidRequest, match=r'stop\[0\]: "END" only on the tape') as failed:
        deck_on("replay").complete(ask(extra={"seed": 1}))
    assert "extra.seed: 1 only in the request" in failed.value.detail
    assert "[]" not in failed.value.detail


def test_empty_tape_is_reported(deck_on, tape):
    tape.parent.mkdir()
    tape.touch()
    with pytest.raises(InvalidRequest, match="the tape is empty"):
        deck_on("replay").complete(ask())


def test_integers_and_booleans_are_distinguished(deck_on):
    played(deck_on("record", "one"), ask(extra={"logprobs": 1}))
    with pytest.raises(InvalidRequest, match=r"extra\.logprobs: true in the request, 1 on the tape"):
        deck_on("replay").complete(ask(extra={"logprobs": True}))


@pytest.mark.parametrize(
    "changed",
    [
        {"model": "tape/scripted/other"},
        {"max_tokens": 5},
        {"temperature": 0.5},
        {"tools": (ToolDefinition("look", "", {}),)},
        {"tool_choice": "auto"},
        {"response_format": ResponseFormat("json_object")},
        {"stop": ("END",)},
        {"extra": {"seed": 1}},
        {"messages": (Message(Role.USER, (TextPart("hello"), ImagePart("image/png", b"\x89"))),)},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_every_request_field_is_part_of_the_key(changed):
    assert key_of(recorded(attrs.evolve(ask(), **changed))) != key_of(recorded(ask()))


def test_key_covers_all_fields_except_stream_and_task():
    assert {field.name for field in attrs.fields(ChatRequest)} - set(FIELDS) == {
        "keeps_limit",
        "stream",
        "task",
        "turn",
    }


# -- secrets ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["extra_headers", "Authorization", "api_key", "apiKey", "password", "access_token"])
def test_fields_with_secret_names_are_never_recorded(deck_on, tape, name):
    request = ask(extra={"mcp": [{name: {"any": "confidential"}}], "max_completion_tokens": 5})
    played(deck_on("record", "one"), request)
    assert "confidential" not in tape.read_text()
    assert '"max_completion_tokens":5' in tape.read_text()
    other = ask(extra={"mcp": [{name: "another value"}], "max_completion_tokens": 5})
    assert played(deck_on("replay"), other) == ["one"]


# -- the file --------------------------------------------------------------------------------------------------


def exchange(text="hello", answer="one"):
    return Exchange(recorded(ask(text)), ChatResponse(text=answer, stop_reason=StopReason.END_TURN))


def test_line_is_json_with_the_documented_fields(deck_on, tape):
    played(deck_on("record", "one", Fail("rate_limited")), ask(), ask())
    answered, failed = map(json.loads, tape.read_text().splitlines())
    assert list(answered) == ["key", "request", "response", "tape"]
    assert answered["tape"] == 1
    assert answered["request"]["model"] == "scripted/any"
    assert sorted(answered["request"]) == sorted(FIELDS)
    assert answered["key"] == failed["key"]
    assert failed["failure"]["cause"] == "rate_limited"


def test_tape_round_trips(tape):
    tape.parent.mkdir()
    Tape(tape).append(exchange())
    read = Tape(tape)
    read.refresh()
    assert [(take.line, to_line(take.exchange)) for take in read] == [(1, to_line(exchange()))]
    assert [take.exchange.outcome for take in read] == [exchange().outcome]


def test_truncated_last_line_is_reported_and_skipped(deck_on, tape):
    played(deck_on("record", "one", "two"), ask("a"), ask("b"))
    tape.write_bytes(tape.read_bytes()[:-20])
    with pytest.warns(TapeWarning, match=r"demo\.jsonl line 2: truncated"):
        assert played(deck_on("replay"), ask("a"), ask("b")) == ["one", "invalid_request"]


def test_recording_continues_after_a_truncated_line(deck_on, tape):
    played(deck_on("record", "one", "two"), ask("a"), ask("b"))
    tape.write_bytes(tape.read_bytes()[:-20])
    with pytest.warns(TapeWarning):
        played(deck_on("auto", "three"), ask("b"))
    assert played(deck_on("replay"), ask("a"), ask("b")) == ["one", "three"]


def test_last_line_without_line_break_is_complete(deck_on, tape):
    played(deck_on("record", "one"), ask("a"))
    tape.write_bytes(tape.read_bytes().rstrip(b"\n"))
    assert played(deck_on("auto", "two"), ask("a"), ask("b")) == ["one", "two"]
    tape.write_bytes(tape.read_bytes() + b"nonsense\n")
    with pytest.raises(HelmdeckError, match="line 3"):
        deck_on("replay").complete(ask())


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "Expecting"),
        ("[]", "not an exchange"),
        ('{"tape": 2}', "format 2; this version reads format 1"),
        ('{"tape": 1, "key": "", "request": {}, "response": {"text": 1}}', r"Expected `str`, got `int`"),
        ('{"tape": 1, "key": "", "request": {}, "failure": {"cause": "boredom"}}', "unknown cause 'boredom'"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_corrupt_line_error_names_file_and_line(deck_on, tape, line, why):
    played(deck_on("record", "one"), ask())
    good = tape.read_text()
    tape.write_text(f"{good}{line}\n{good}")
    with pytest.raises(HelmdeckError, match=rf"demo\.jsonl line 2: .*{why}"):
        deck_on("replay").complete(ask())


def test_edited_request_is_an_error(deck_on, tape):
    played(deck_on("record", "one"), ask("in Paris"))
    tape.write_text(tape.read_text().replace("Paris", "Rome"))
    with pytest.raises(HelmdeckError, match=r"line 1: .* may have been edited"):
        deck_on("replay").complete(ask("in Rome"))


def test_replaced_tape_is_read_again(deck_on, tape):
    deck = deck_on("auto", "one", "two", "three")
    played(deck, ask("a"), ask("b"))
    tape.write_text("")
    assert played(deck, ask("c")) == ["three"]
    assert len(tape.read_text().splitlines()) == 1


def test_exchange_recorded_by_another_deck_is_replayed(deck_on):
    one, other = deck_on("auto", "one"), deck_on("auto", "two")
    played(one, ask("a"))
    played(other, ask("b"))
    assert played(one, ask("b")) == ["two"]
    assert played(other, ask("a")) == ["one"]


WRITER = """
import pathlib, resource, sys
from helmdeck_core import ChatResponse, StopReason
from helmdeck_provider_tape.exchange import Exchange
from helmdeck_provider_tape.tape import Tape

path, name, count, largest = sys.argv[1:]
if int(largest):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(largest), resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
tape = Tape(pathlib.Path(path))
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(count)):
    answer = ChatResponse(text="x" * 10_000, stop_reason=StopReason.END_TURN)
    tape.append(Exchange({"model": f"{name} {number}"}, answer))
"""


def write(path, names, count, largest=0):
    """Let processes append ``count`` lines of some 10 KB each at once; return what they had to complain about.

    :param largest: the file cannot grow beyond this, in bytes.
    """
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    command = [sys.executable, "-c", WRITER, str(path)]
    writers = [
        subprocess.Popen([*command, name, str(count), str(largest)], env=environ, text=True, **pipes) for name in names
    ]
    assert [each.stdout.readline() for each in writers] == ["ready\n"] * len(writers)
    for each in writers:
        each.stdin.write("go\n")
        each.stdin.flush()
    return "".join(each.communicate()[1] for each in writers)


def test_two_processes_can_record_on_one_tape(tmp_path):
    path = tmp_path / "shared.jsonl"
    assert write(path, ["one", "other"], 200) == ""
    lines = path.read_bytes().splitlines()
    assert len({from_line(line).key for line in lines}) == len(lines) == 400


def test_full_disk_leaves_only_complete_lines(tmp_path):
    path = tmp_path / "full.jsonl"
    assert "OSError" in write(path, ["one"], 2, largest=15_000)
    assert [from_line(line).request for line in path.read_bytes().splitlines()] == [{"model": "one 0"}]


def test_replayed_failure_is_a_regular_exception():
    exchange = from_line(to_line(Exchange(recorded(ask()), RateLimited("busy", retry_after_s=1))))
    with pytest.raises(RateLimited) as first:
        exchange.play()
    with pytest.raises(RateLimited) as second:
        exchange.play()
    assert first.value is not second.value
    assert pickle.loads(pickle.dumps(exchange.outcome)).to_dict() == first.value.to_dict()


def test_failure_of_a_plugin_class_is_recorded_by_cause():
    @attrs.frozen
    class AcmeBusy(RateLimited):
        desk: int = 4

    back = from_line(to_line(Exchange(recorded(ask()), AcmeBusy("busy", retry_after_s=1)))).outcome
    assert type(back) is RateLimited
    assert back.to_dict() == RateLimited("busy", retry_after_s=1).to_dict()


# -- secrets ---------------------------------------------------------------------------------------------------


def test_no_secret_of_the_wrapped_provider_is_recorded(deck_with, chat_server, tape, monkeypatch):
    key, tenant = "kq7Zr0Wm4Xc9Tb2Ld8Gn5Vf1Hs6Jp3Ya", "Uu3Vv4Ww5Xx6Yy7Zz8Aa9Bb0"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    call = {"id": key, "function": {"name": "look", "arguments": json.dumps({"at": key, "for": tenant})}}
    message = {"content": f"it is {key} of {tenant}", "reasoning_content": key, "tool_calls": [call]}
    headers = {"x-ratelimit-owner": tenant, "set-cookie": f"session={key}", "x-request-id": key}
    answer = {"model": key, "choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": {}}
    server = chat_server(lambda body: (401 if "refuse" in str(body) else 200, headers, {**answer, "error": None}))
    options = {"base_url": server.base_url, "api_key": "env:OPENAI_API_KEY", "headers": {"x-tenant": tenant}}
    config = {"providers": {"tape": {"options": {"file": str(tape)}}, "openai": options}}
    extra = {"user": f"tenant {tenant}", "metadata": {"authorization": key, "note": f"mine is {key}"}}
    asked = [ask(f"{word}, my key is {key}", "tape/openai/any", extra=extra) for word in ("answer", "refuse")]
    with deck_with(helmdeck_provider_tape, config=config) as deck:
        assert played(deck, *asked) == [f"it is {key} of {tenant}", "auth_failed"]
        assert played(deck, asked[0]) == ["it is [redacted] of [redacted]"], "as it is on the tape"
    assert key in str(server.requests[0].body), "it was sent as it is"
    assert len(server.requests) == 2 and len(tape.read_text().splitlines()) == 2
    assert key not in tape.read_text() and tenant not in tape.read_text()


def test_short_key_within_the_request_text_is_kept(deck_with, chat_server, tape, monkeypatch):
    server = chat_server(lambda body: completion("passed"))
    config = {
        "providers": {
            "tape": {"options": {"file": str(tape)}},
            "openai": {"base_url": server.base_url, "api_key": "env:OPENAI_API_KEY"},
        }
    }
    for key in ("sk-0123456789abcdef", "test"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        with deck_with(helmdeck_provider_tape, config=config) as deck:
            assert played(deck, ask("is this a test?", "tape/openai/any")) == ["passed"]
    assert len(server.requests) == 1


def test_tape_is_readable_by_its_owner_only(deck_on, tape):
    before = os.umask(0o022)
    try:
        assert played(deck_on("auto", "one"), ask()) == ["one"]
    finally:
        os.umask(before)
    assert os.name != "posix" or tape.stat().st_mode & 0o777 == 0o600
