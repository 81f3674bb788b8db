"""Calls and their records, each made through a deck: chosen model, attempts, events and hints."""

import asyncio
import json

import pytest

from helmdeck_core import (
    FAILURES,
    AttemptEnded,
    CallFailed,
    ChatRequest,
    CooldownStarted,
    FailureClass,
    InvalidRequest,
    Message,
    Pack,
    PackErrorCode,
    ProviderSpec,
    ProviderUnavailable,
    RateLimited,
    Role,
    TerminalReason,
    TextPart,
    ToolCall,
    ToolDefinition,
    Usage,
    hookimpl,
)
from helmdeck_core.config.load import load_config
from helmdeck_testing import (
    OPENAI_CHAT,
    EventRecorder,
    Fail,
    Reply,
    Scripted,
    completion,
    make_deck,
    plugin_with,
    scripted_provider,
)

GOOD = '{"steps": [{"tool": "blog.draft", "args": {"brief": "tea"}}]}'


def outcome_of(script, *beside, config=None, text="hi", model="a/one", **more):
    """The outcome of a custom request, and the waits before its attempts; no call waits."""
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    with make_deck(script, *beside, config=config) as deck:
        deck._engine.dispatcher.services.sleep = sleep
        try:
            came = deck.complete(ChatRequest(model=model, messages=(Message(Role.USER, (TextPart(text),)),), **more))
        except CallFailed as exc:
            came = exc
    return came, waits


# -- which model -----------------------------------------------------------------------------------------------


def test_default_model_is_called():
    script = scripted_provider([GOOD, GOOD], "a")
    with make_deck(script, config={"model": "a/mine"}) as deck:
        assert deck.plan("draft a blog post about tea").model == "a/mine"
        assert deck.plan("draft a blog post about tea", model="a/other").model == "a/other"


@pytest.mark.parametrize("empty", ["", "  "])
def test_empty_model_setting_is_ignored(tmp_path, empty):
    path = tmp_path / "helmdeck.toml"
    path.write_text(f'model = "{empty}"')
    assert load_config(file=path).config.model == "local/lexical"
    path.write_text('model = "file/m"')
    loaded = load_config(file=path, environ={"HELMDECK_MODEL": empty, "HELMDECK_RECOVERY__DEADLINE_S": empty})
    assert (loaded.config.model, loaded.origins["model",], loaded.mistakes) == ("file/m", "helmdeck.toml", ())


@pytest.mark.parametrize("model", ["unknown/x", "gpt-4o"])
def test_unknown_provider_is_an_invalid_request_with_a_pointer(model):
    with make_deck() as deck, pytest.raises(InvalidRequest) as caught:
        deck.plan("draft a blog post about tea", model=model)
    assert caught.value.code is PackErrorCode.INVALID_INPUT
    assert "`helmdeck budgets` lists" in caught.value.detail


def test_misspelt_provider_gets_a_suggestion():
    came, _ = outcome_of(scripted_provider([]), model="opanai/gpt-4o")
    assert "did you mean 'openai'?" in came.headline and "openai, ollama-openai, ollama and" in came.detail


def test_a_pack_sees_why_the_model_stopped():
    from helmdeck_core import Question

    class Packs:
        @hookimpl
        def helmdeck_packs(self):
            async def run(context, value):
                answer = await context.ask(Question(caller="t", task="t", type=dict, request="x", instructions="i"))
                return {"stop": answer.response.stop_reason.value, "raw": answer.response.raw_stop_reason}

            return [Pack(name="t.it", version="1", description="x.", run=run)]

    with make_deck(Packs(), scripted_provider([Reply("{}", "length")], "a")) as deck:
        assert deck.run("t.it", {}, model="a/one") == {"stop": "MaxTokens", "raw": "length"}


# -- waits -----------------------------------------------------------------------------------------------------


def test_backoff_grows_with_jitter():
    found = [outcome_of(scripted_provider([Fail("provider_unavailable")] * 3, "a"))[1] for _ in range(5)]
    assert all(0.25 <= first <= 0.75 and 0.5 <= second <= 1.5 for first, second in found)
    assert len({tuple(each) for each in found}) == 5


@pytest.mark.parametrize("told_s", [0.01, 4.0])
def test_retry_after_is_honoured_exactly(told_s):
    _, waits = outcome_of(scripted_provider([Fail("rate_limited", retry_after_s=told_s)] * 3, "a"))
    assert waits == [told_s, told_s]


# -- providers that rest ---------------------------------------------------------------------------------------


def test_only_consecutive_failures_open_the_circuit():
    down, recorder = Fail("provider_unavailable"), EventRecorder()
    script = scripted_provider([down, down, "hi"] * 3, "a")
    with make_deck(script, recorder, config={"recovery": {"backoff_s": 0}}) as deck:
        request = ChatRequest(model="a/one", messages=(Message(Role.USER, (TextPart("hi"),)),))
        assert [deck.complete(request).text for _ in range(3)] == ["hi"] * 3
    assert not [event for event in recorder.events if isinstance(event, CooldownStarted)]


# -- records ---------------------------------------------------------------------------------------------------


def test_every_attempt_is_recorded_with_its_facts(chat_server):
    answers = iter(
        [(503, {}, {"error": {"message": "down"}}), (200, {}, completion("thé", prompt_tokens=3, completion_tokens=2))]
    )
    server, recorder = chat_server(lambda _: next(answers)), EventRecorder()
    config = {"providers": {"vllm": {"base_url": server.base_url}}}
    came, _ = outcome_of(recorder, config=config, model="vllm/any")
    first, second = (event for event in recorder.events if isinstance(event, AttemptEnded))
    assert first.call_id == second.call_id != ""
    assert (first.outcome.status, first.outcome.cause, first.outcome.is_sent) == (503, "provider_unavailable", True)
    assert first.outcome.latency_s > 0 < second.outcome.latency_s
    assert (second.outcome.raw_stop_reason, second.outcome.raw_length) == ("stop", len("thé".encode()))
    assert second.outcome.usage == Usage(input_tokens=3, output_tokens=2) == came.usage


def test_unusable_response_records_its_length():
    recorder = EventRecorder()
    script = scripted_provider([Reply('{"a" "é"}', "odd")] * 3, "a")
    with make_deck(script, recorder, config={"recovery": {"max_attempts": 1}}) as deck, pytest.raises(CallFailed):
        deck.plan("draft a blog post about tea", model="a/one")
    (ended,) = (event for event in recorder.events if isinstance(event, AttemptEnded))
    assert (ended.outcome.raw_length, ended.outcome.raw_stop_reason) == (10, "odd")


# -- what may help ---------------------------------------------------------------------------------------------


def test_transient_failures_are_retryable():
    passing = {cause for cause, cls in FAILURES.items() if cls.retryable}
    assert passing == {
        FailureClass.LENGTH_TRUNCATED, FailureClass.CONSTRAINED_DEADLOCK, FailureClass.LIKELY_TIMEOUT,
        FailureClass.RATE_LIMITED, FailureClass.PROVIDER_UNAVAILABLE, FailureClass.TRANSIENT_UNKNOWN,
    }  # fmt: skip


def test_a_provider_that_takes_too_long_is_a_timeout_for_the_pack(failing_server):
    server = failing_server(OPENAI_CHAT, "slow_think")
    config = {"providers": {"vllm": {"base_url": server.base_url, "timeout_s": 0.1}}}
    came, _ = outcome_of(scripted_provider([]), config=config, model="vllm/any")
    assert (came.code, came.retryable, came.sub_cause) == (PackErrorCode.TIMEOUT, True, "timeout")


@pytest.mark.parametrize("kind", [RateLimited, ProviderUnavailable])
def test_transient_failure_is_not_a_pack_error(kind):
    wire = json.loads(json.dumps(kind("x").to_dict()))
    assert (wire["retryable"], wire["class"]) == (True, kind.__name__)


# -- limits of continuation --------------------------------------------------------------------------------------


def part(text, tokens=10):
    return Reply(text, "length", usage=Usage(output_tokens=tokens))


def test_default_is_three_continuations():
    script = scripted_provider([part(f"{word} " * 9) for word in ("one", "two", "three", "four", "five")], "a")
    came, _ = outcome_of(script, max_tokens=1000)
    assert came.continuation.terminal_reason is TerminalReason.RETRY_LIMIT and len(script.requests) == 4


def test_default_output_limit_is_120_000_characters():
    text = "".join(f"{number:,} is a number. " for number in range(20_000))
    for size, requests in ((119_000, 2), (121_000, 1)):
        script = scripted_provider([part(text[:size]), Reply(" The end.")], "a")
        came, _ = outcome_of(script, max_tokens=1000)
        assert len(script.requests) == requests
        assert (came.continuation is None or came.continuation.terminal_reason is TerminalReason.BUDGET_EXHAUSTED) is (
            requests == 1
        )


@pytest.mark.parametrize("repairs", [0, 1, 2])
def test_number_of_tool_repairs_is_configurable(repairs):
    cut = Reply("", "length", tool_calls=(ToolCall("1", "search", '{"q": "te'),), usage=Usage(output_tokens=5))
    script = scripted_provider([cut] * 4, "a")
    tool = ToolDefinition("search", "Searches.", {"type": "object"})
    config = {"agent": {"continuation_tool_repair_attempts": repairs}, "recovery": {"max_attempts": 1}}
    came, _ = outcome_of(script, config=config, tools=(tool,), max_tokens=1000)
    assert len(script.requests) == 1 + repairs
    assert came.tool_calls == () if not isinstance(came, CallFailed) else True


# -- models that there are -------------------------------------------------------------------------------------

NO_SUCH_MODEL = (404, {}, {"error": {"message": "The model `gpt-4o-mni` does not exist", "code": "model_not_found"}})


def listing(*names):
    """A server that serves these models and receives a request for another."""

    def answer(body):
        if body:
            return NO_SUCH_MODEL
        return {"data": [{"id": name} for name in names]}

    return answer


def test_unknown_model_is_reported_with_the_nearest_listed_ones(chat_server):
    server = chat_server(listing("gpt-4o", "gpt-4o-mini", "whisper-1", "tts-1"))
    config = {"providers": {"vllm": {"base_url": server.base_url}}}
    came, _ = outcome_of(scripted_provider([]), config=config, model="vllm/gpt-4o-mni")
    assert (came.failure_class, came.sub_cause) == (FailureClass.INVALID_REQUEST, "not_found")
    assert "does not exist; of the 4 models that it lists, the nearest: gpt-4o-mini, gpt-4o" in came.detail
    assert [request.method for request in server.requests] == ["POST", "GET"]


def test_only_model_of_a_server_is_named(chat_server):
    config = {"providers": {"vllm": {"base_url": chat_server(listing("qwen3-8b")).base_url}}}
    came, _ = outcome_of(scripted_provider([]), config=config, model="vllm/gpt-4o-mni")
    assert came.detail.endswith("the only model that it lists: qwen3-8b")


@pytest.mark.parametrize("names", [[], ["gpt-4o-mni"]])
def test_unhelpful_model_list_is_not_quoted(chat_server, names):
    server = chat_server(listing(*names))
    came, _ = outcome_of(
        scripted_provider([]), config={"providers": {"vllm": {"base_url": server.base_url}}}, model="vllm/gpt-4o-mni"
    )
    assert came.detail == "The model `gpt-4o-mni` does not exist"


def test_model_list_that_times_out_is_left_out_of_the_error(virtual_time):
    class Silent(Scripted):
        has_listed = False

        async def models(self):
            self.has_listed = True
            await asyncio.sleep(600)

    silent = Silent([Fail("invalid_request", sub_cause="not_found")])
    spec = ProviderSpec(name="a", open=lambda settings, context: silent)
    came, _ = outcome_of(
        plugin_with(helmdeck_providers=[spec]), config={"recovery": {"deadline_s": 2.0}}, model="a/one"
    )
    assert came.sub_cause == "not_found" and "lists" not in came.detail
    assert silent.has_listed and virtual_time.passed_s == 2.0


def test_a_deck_lists_the_models_of_a_provider(failing_server):
    server = failing_server(OPENAI_CHAT)
    with make_deck(config={"providers": {"vllm": {"base_url": server.base_url}}}) as deck:
        assert [model.id for model in deck.models("vllm")] == ["loopback", "other/second"]
        assert deck.models("local") == ()
        server.mode = "unauthorized"
        with pytest.raises(CallFailed) as caught:
            deck.models("vllm")
        assert caught.value.failure_class is FailureClass.AUTH_FAILED
        with pytest.raises(InvalidRequest, match="there is no provider 'unknown'"):
            deck.models("unknown")


# -- whether it is all -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "is_complete"),
    [
        (Reply("all of it"), True),
        (Reply("half of", "odd"), False),
        (Reply("half of", "content_filter"), False),
        (Reply("", tool_calls=(ToolCall("1", "search", "{}"),)), True),
    ],
)
def test_response_of_unknown_completeness_is_not_complete(reply, is_complete):
    tool = ToolDefinition("search", "Searches.", {"type": "object"})
    request = ChatRequest(model="a/one", messages=(Message(Role.USER, (TextPart("hi"),)),), tools=(tool,))
    with make_deck(scripted_provider([reply] * 2, "a")) as deck:
        *_, streamed = deck.stream(request)
        assert (deck.complete(request).is_complete, streamed.is_complete) == (is_complete, is_complete)


def test_only_a_completed_response_is_complete():
    config = {"agent": {"continuation_max_attempts": 1}}
    cut, _ = outcome_of(scripted_provider([part("one two "), part("three ")], "a"), config=config, max_tokens=1000)
    whole, _ = outcome_of(scripted_provider([part("one two "), Reply("three.")], "a"), config=config, max_tokens=1000)
    assert (cut.is_complete, whole.is_complete) == (False, True)
