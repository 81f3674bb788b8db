"""Streams: fallback and its limits, text that is never repeated, and reasoning that exceeds its limit."""

import asyncio
import contextlib
import itertools

import attrs
import pytest

from helmdeck_core import (
    CallLimits,
    ChatDelta,
    ChatRequest,
    ChatResponse,
    ConstrainedDeadlock,
    LengthTruncated,
    LikelyTimeout,
    Message,
    NativeContinuation,
    PluginError,
    ProviderSpec,
    ProviderUnavailable,
    ResponseFormat,
    Role,
    StopReason,
    TextPart,
    ToolCall,
    ToolCallDelta,
    ToolDefinition,
    hookimpl,
)
from helmdeck_testing import (
    Fail,
    Reply,
    StubProvider,
    empty_stop,
    endless_thinking,
    make_deck,
    plugin_with,
    scripted_provider,
)

ASK = "draft a blog post"
GOOD = '{"steps":[{"order":1,"tool":"blog.draft","args":{"brief":"b"},"rationale":"r"}],"complexity":"single-action","reasoning":"x"}'
REQUEST = ChatRequest(model="a/one", messages=(Message(Role.USER, (TextPart("hello"),)),), max_tokens=1_000)
THINKS = {"a/": {"is_hybrid_reasoning": True}}


@pytest.fixture
def deck_of():
    with contextlib.ExitStack() as stack:

        def make(a=(), b=(), beside=(), **config):
            script_a, script_b = scripted_provider(a, "a"), scripted_provider(b, "b")
            config = {"fallback": {"a/": ["b/two"]}, **config}
            deck = stack.enter_context(make_deck(script_a, script_b, *beside, config=config))
            deck.a, deck.b = script_a, script_b
            return deck

        yield make


class StreamsOnly(StubProvider):
    """A provider that fails where a whole answer is requested."""

    def __init__(self):
        super().__init__(AssertionError("asked for a whole answer"))


def providing(name, provider):
    """A plugin that contributes the provider under a name."""
    return plugin_with(helmdeck_providers=[ProviderSpec(name=name, open=lambda settings, context: provider)])


def streamed(deck, request=REQUEST, **options):
    """The deltas, and the response or the failure that ended them."""
    pieces = []

    async def run():
        async for piece in deck.astream(request, **options):
            pieces.append(piece)

    try:
        asyncio.run(run())
    except Exception as exc:
        return pieces, exc
    return pieces[:-1], pieces[-1]


def text(pieces):
    return "".join(piece.text for piece in pieces)


def test_chunks_add_up_to_the_response(deck_of):
    calls = (ToolCall("1", "look", '{"at": 1}'),)
    deck = deck_of([Reply("a longer answer than one piece", reasoning="because of this", tool_calls=calls)])
    pieces, response = streamed(deck)
    assert isinstance(response, ChatResponse) and text(pieces) == response.text and len(pieces) > 3
    assert "".join(piece.reasoning_content for piece in pieces) == response.reasoning_content
    assert [piece.tool_call.name for piece in pieces if piece.tool_call] == ["look"]
    assert deck.a.requests[0].stream is True


def test_blocking_stream_yields_the_same_chunks(deck_of):
    deck = deck_of([Reply("a longer answer than one piece")])
    *pieces, response = deck.stream(REQUEST)
    assert text(pieces) == response.text
    deck = deck_of([Reply("a longer answer than one piece")])
    pieces = deck.stream(REQUEST)
    assert isinstance(next(pieces), ChatDelta)
    pieces.close()


def test_non_streaming_provider_gives_one_chunk(deck_of):
    whole = StubProvider(ChatResponse(text="all of it", reasoning_content="hm", stop_reason=StopReason.END_TURN))
    pieces, response = streamed(
        deck_of(beside=(providing("whole", whole),)), ChatRequest(model="whole/x", messages=REQUEST.messages)
    )
    assert pieces == [ChatDelta(reasoning_content="hm"), ChatDelta(text="all of it")] and response.text == "all of it"


@pytest.mark.parametrize(
    "reply",
    [
        empty_stop(),
        Fail("quota_exhausted"),
        Reply("<think>let me see", "stop", breaks_after=1),
        Reply("x", reasoning="y" * 40, breaks_after=1),
    ],
)
def test_fallback_applies_before_the_first_visible_chunk(deck_of, reply):
    deck = deck_of([reply] * 3, ["from the other one"], recovery={"backoff_s": 0})
    pieces, response = streamed(deck)
    assert response.text == "from the other one" and text(pieces).endswith(response.text)


WHOLE = "one two three four five six"
BROKEN = Reply(WHOLE, piece_chars=4, breaks_after=3)
SO_FAR, REST = "one two thre", "e four five six"


def continued(deck, request=REQUEST, **options):
    """The response to a request whose stream was interrupted, with the text that the reader saw."""
    pieces, response = streamed(deck, request, **options)
    assert isinstance(response, ChatResponse), response
    assert text(pieces) == response.text
    return response


@pytest.mark.parametrize("more", [REST, WHOLE, "thre" + REST])
@pytest.mark.parametrize("broken", [BROKEN, Reply(SO_FAR, None)], ids=["reset", "no end mark"])
def test_interrupted_stream_is_continued_by_the_same_model_without_repetition(deck_of, broken, more):
    response = continued(deck := deck_of([broken, more]))
    assert response.text == WHOLE and response.is_complete and deck.b.requests == []
    assert response.continuation.models == ("a/one", "a/one")
    assert response.continuation.parts == (len(SO_FAR), len(REST))
    assert [attempt.cause for attempt in response.attempts] == ["provider_unavailable", None]
    *_, so_far, hint = deck.a.requests[1].messages
    assert (so_far.role, so_far.text, hint.role) == (Role.ASSISTANT, SO_FAR, Role.USER)


def test_interrupted_stream_is_continued_along_the_chain(deck_of):
    deck = deck_of([BROKEN, Fail("provider_unavailable")], [REST])
    response = continued(deck)
    assert response.text == WHOLE and response.continuation.models == ("a/one", "b/two")
    assert [attempt.model for attempt in response.attempts] == ["a/one", "a/one", "b/two"]


def test_every_model_may_write_a_part(deck_of):
    filler = Reply("word " * 200, breaks_after=60)
    deck = deck_of([filler, Reply("more " * 200, breaks_after=50)], [Reply("end.")])
    response = continued(deck)
    assert response.continuation.models == ("a/one", "a/one", "b/two") and response.text.endswith("end.")
    assert sum(response.continuation.parts) == len(response.text)


def test_stream_that_no_model_can_continue_is_an_error(deck_of):
    pieces, failure = streamed(deck_of([BROKEN] * 9, fallback={}, recovery={"backoff_s": 0}))
    assert isinstance(failure, ProviderUnavailable) and text(pieces) == SO_FAR
    assert len(failure.attempts) == 4


@pytest.mark.parametrize("cause", ["safety_filtered", "auth_failed", "invalid_request"])
def test_stream_that_ends_with_a_final_cause_is_not_continued(deck_of, cause):
    class Ends(StreamsOnly):
        async def stream(self, request):
            yield ChatDelta(text="half ")
            raise Fail(cause).to_exception()

    deck = deck_of(b=["never"], beside=(providing("ends", Ends()),), fallback={"ends/": ["b/two"]})
    _, failure = streamed(deck, attrs.evolve(REQUEST, model="ends/x"))
    assert failure.failure_class == cause and deck.b.requests == []


def test_interrupted_tool_call_comes_whole_with_the_response(deck_of):
    call = ToolCall("1", "look", '{"at": "the sea"}')

    class Breaks(StreamsOnly):
        async def stream(self, request):
            yield ChatDelta(text="I look.")
            yield ChatDelta(tool_call=ToolCallDelta(0, "0", "look", '{"at": "the'))
            raise Fail("provider_unavailable").to_exception()

    deck = deck_of(b=[Reply(tool_calls=(call,))], beside=(providing("breaks", Breaks()),), fallback={"": ["b/two"]})
    tool = ToolDefinition("look", "Looks.", {"type": "object"})
    pieces, response = streamed(deck, attrs.evolve(REQUEST, model="breaks/x", tools=(tool,)))
    assert response.tool_calls == (call,) and response.text == text(pieces) == "I look."
    assert [piece.tool_call.arguments for piece in pieces if piece.tool_call] == ['{"at": "the']


def test_whole_call_that_is_streamed_is_continued_as_well(deck_of):
    deck = deck_of([BROKEN, REST])
    assert deck.complete(REQUEST).text == WHOLE


def test_whole_call_for_json_starts_again(deck_of):
    request = attrs.evolve(REQUEST, response_format=ResponseFormat("json_object"))
    deck = deck_of([Reply('{"a": 1, "b": 2}', piece_chars=4, breaks_after=2)] * 2, ['{"c": 3}'])
    assert deck.complete(request).text == '{"c": 3}' and len(deck.a.requests) == 2
    assert deck.b.requests[0].messages == request.messages


def test_streamed_json_is_continued_to_a_complete_value(deck_of):
    request = attrs.evolve(REQUEST, response_format=ResponseFormat("json_object"))
    broken = Reply('{"a": 1, "b": 2}', piece_chars=4, breaks_after=2)
    assert continued(deck_of([broken, ' "b": 2}']), request).text == '{"a": 1, "b": 2}'
    _, failure = streamed(deck_of([broken, "I am sorry."]), request)
    assert isinstance(failure, ConstrainedDeadlock)


LIST = Reply('["Paris", "Lon', stop_reason="length")


@pytest.mark.parametrize("streams", [False, True])
def test_json_list_that_a_continuation_leaves_open_is_not_complete(deck_of, streams):
    deck = deck_of([LIST, 'don", "Ber', "lin and", " more"], fallback={})
    response = streamed(deck)[1] if streams else deck.complete(REQUEST)
    assert response.text == '["Paris", "London", "Berlin and more'
    assert not response.is_complete and response.stop_reason is StopReason.MAX_TOKENS
    assert response.raw_stop_reason == "stop"


def test_question_whose_json_list_stays_open_fails_as_truncated(deck_of):
    deck = deck_of([LIST, *['don", "Ber'] * 20], fallback={})
    with pytest.raises(LengthTruncated) as caught:
        deck.ask("a JSON list of cities", model="a/one")
    assert caught.value.partial.text.startswith('["Paris", "London", "Ber')


def test_prefill_is_used_where_supported_and_replaced_by_a_hint_where_it_is_rejected(deck_of):
    native = plugin_with(helmdeck_native_continuations=[NativeContinuation(prefix="a/")])
    deck = deck_of([BROKEN, REST], beside=(native,))
    assert continued(deck).text == WHOLE and deck.a.requests[1].continues
    deck = deck_of([BROKEN, Fail("invalid_request"), REST, BROKEN, REST], beside=(native,))
    assert [continued(deck).text for _ in range(2)] == [WHOLE] * 2
    assert [request.continues for request in deck.a.requests] == [False, True, False, False, False]


@pytest.mark.parametrize("more", [" three four five six", "three four five six"])
def test_prefill_without_trailing_whitespace_gives_no_double_whitespace(deck_of, more):
    native = plugin_with(helmdeck_native_continuations=[NativeContinuation(prefix="a/")])
    deck = deck_of([Reply(WHOLE, piece_chars=4, breaks_after=2), more], beside=(native,))
    assert continued(deck).text == WHOLE and deck.a.requests[1].messages[-1].text == "one two"


# -- silence -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("streams", [False, True])
def test_silent_model_costs_less_than_15_seconds_where_a_fallback_exists(virtual_time, deck_of, streams):
    deck = deck_of([Reply("late", delay_s=600.0)], ["from b"])
    response = streamed(deck)[1] if streams else asyncio.run(deck.acomplete(REQUEST))
    assert response.text == "from b" and virtual_time.passed_s == 12.0
    assert response.attempts[0].sub_cause == "first_token"


def test_stalled_stream_is_continued(virtual_time, deck_of):
    class Stalls(StreamsOnly):
        async def stream(self, request):
            yield ChatDelta(text=SO_FAR)
            await asyncio.sleep(600.0)

    deck = deck_of(b=[REST], beside=(providing("stalls", Stalls()),), fallback={"": ["b/two"]})
    response = continued(deck, attrs.evolve(REQUEST, model="stalls/x"))
    assert response.text == WHOLE and virtual_time.passed_s == 24.0
    assert [attempt.sub_cause for attempt in response.attempts] == ["idle", "idle", ""]


@pytest.mark.parametrize(
    ("config", "limit_s"),
    [
        ({"fallback": {}}, None),
        ({"budgets": THINKS}, 60.0),
        ({"providers": {"a": {"first_token_timeout_s": 3.0}}}, 3.0),
        ({"providers": {"a": {"first_token_timeout_s": 3.0}}, "budgets": {"a/": {"first_token_timeout_s": 4.0}}}, 4.0),
        ({"fallback": {}, "budgets": {"a/": {"first_token_timeout_s": 4.0}}}, 4.0),
    ],
)
def test_limit_of_silence_is_that_of_the_model_its_provider_or_its_tier(virtual_time, deck_of, config, limit_s):
    deck = deck_of([Reply("late", delay_s=100.0)] * 2, ["from b"], **config)
    pieces, response = streamed(deck)
    if limit_s is None:
        assert text(pieces) == "late"
    else:
        assert virtual_time.passed_s == limit_s
        assert isinstance(response, LikelyTimeout) or response.attempts[0].sub_cause == "first_token"


def test_slow_stream_is_not_silent(virtual_time, deck_of):
    deck = deck_of([Reply("word " * 20, piece_delay_s=11.0)], ["never"])
    assert text(streamed(deck)[0]) == "word " * 20 and deck.b.requests == []


def test_model_that_may_write_a_tool_call_may_pause_after_its_first_token(virtual_time, deck_of):
    tool = ToolDefinition("look", "Looks.", {"type": "object"})
    deck = deck_of([Reply("I look it up now.", piece_delay_s=11.9, tool_calls=(ToolCall("1", "look", "{}"),))], ["x"])
    assert streamed(deck, attrs.evolve(REQUEST, tools=(tool,)))[1].tool_calls


def test_provider_that_cannot_stream_has_no_limit_for_the_first_token(virtual_time, deck_of):
    class Slow(StubProvider):
        async def complete(self, request):
            await asyncio.sleep(40.0)
            return ChatResponse(text="slow", stop_reason=StopReason.END_TURN)

    deck = deck_of(b=["never"], beside=(providing("slow", Slow()),), fallback={"": ["b/two"]})
    assert asyncio.run(deck.acomplete(attrs.evolve(REQUEST, model="slow/x"))).text == "slow"


def test_a_stream_ends_at_the_deadline(virtual_time, deck_of):
    deck = deck_of([Reply("word " * 1_000, piece_delay_s=5.0)], fallback={})
    pieces, failure = streamed(deck, limits=CallLimits(deadline_s=42.0))
    assert isinstance(failure, LikelyTimeout) and len(pieces) == 8
    assert virtual_time.passed_s == pytest.approx(42.0)


def test_closing_the_iterator_closes_the_stream(deck_of):
    closed = []

    class Endless(StreamsOnly):
        async def stream(self, request):
            try:
                while True:
                    yield ChatDelta(text="x")
            finally:
                closed.append(request.model)

    deck = deck_of(beside=(providing("endless", Endless()),))
    request = ChatRequest(model="endless/x", messages=REQUEST.messages)

    async def run():
        pieces = deck.astream(request)
        await anext(pieces)
        await pieces.aclose()

    asyncio.run(run())
    assert closed == ["endless/x"]


@pytest.mark.parametrize("pieces", [[ChatDelta(text="x")], ["x"]])
def test_error_of_an_invalid_stream_names_the_provider(deck_of, pieces):
    class Odd(StreamsOnly):
        async def stream(self, request):
            for piece in pieces:
                yield piece

    _, failure = streamed(
        deck_of(beside=(providing("odd", Odd()),)), ChatRequest(model="odd/x", messages=REQUEST.messages)
    )
    assert isinstance(failure, PluginError) and "ChatResponse" in str(failure)


# -- thinking ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "streams"),
    [({"fallback": {}}, False), ({}, True), ({"fallback": {}, "budgets": THINKS}, True)],
    ids=["alone", "with a fallback", "reasoning"],
)
def test_whole_calls_are_streamed_where_a_stream_may_be_stopped(deck_of, config, streams):
    deck = deck_of([GOOD], **config)
    deck.plan(ASK, model="a/one")
    assert deck.a.requests[0].stream is streams


@pytest.mark.parametrize("reply", ["prose", Reply(GOOD[:-9], "length")])
def test_watched_stream_that_was_not_shown_can_be_retried(deck_of, reply):
    deck = deck_of([reply] * 9, [GOOD], budgets=THINKS, recovery={"backoff_s": 0})
    assert deck.plan(ASK, model="a/one").model == "b/two"
    assert len(deck.a.requests) > 1


@pytest.mark.parametrize("reply", [Reply(reasoning="hm, " * 9_000), Reply("<think>" + "hm, " * 9_000)])
def test_reasoning_beyond_its_token_share_falls_back(deck_of, reply):
    plan = deck_of([reply], [GOOD], budgets=THINKS).plan(ASK, model="a/one")
    first = plan.attempts[0]
    assert plan.model == "b/two" and (first.cause, first.sub_cause) == ("length_truncated", "reasoning_overrun")
    deck = deck_of([reply] * 2, budgets=THINKS, fallback={})
    with pytest.raises(LengthTruncated, match="tokens of reasoning and no answer"):
        deck.plan(ASK, model="a/one")


def test_reasoning_beyond_its_time_share_falls_back(virtual_time, deck_of):
    deck = deck_of([endless_thinking()], [GOOD], budgets=THINKS)
    plan = deck.plan(ASK, model="a/one", limits=CallLimits(deadline_s=1.0))
    first = plan.attempts[0]
    assert plan.model == "b/two" and (first.cause, first.sub_cause) == ("likely_timeout", "reasoning_overrun")
    assert virtual_time.passed_s < 1.0


def test_reasoning_within_its_share_is_not_stopped(deck_of):
    deck = deck_of([Reply(f"<think>{'hm, ' * 500}</think>{GOOD}", reasoning="so " * 500)], budgets=THINKS)
    assert deck.plan(ASK, model="a/one").model == "a/one"


def test_visible_output_may_use_the_whole_time(virtual_time, deck_of):
    words = "word " * 40
    deck = deck_of(
        [Reply(words, piece_chars=4, piece_delay_s=0.01)], budgets=THINKS, fallback={}, recovery={"think_share": 0.1}
    )
    assert deck.complete(REQUEST, limits=CallLimits(deadline_s=5.0)).text == words


# -- endless whitespace ----------------------------------------------------------------------------------------

FORMED = attrs.evolve(REQUEST, response_format=ResponseFormat("json_object"))


class Spinning(StreamsOnly):
    """A provider that writes a prefix and then whitespace, for ever or for a while."""

    def __init__(self, begin, count=1_000_000, end=""):
        super().__init__()
        self.pieces = itertools.chain([begin], itertools.repeat("\n  ", count), [end])
        self.left = count
        self.is_closed = False

    async def stream(self, request):
        try:
            for piece in self.pieces:
                self.left -= 1
                yield ChatDelta(text=piece)
            yield ChatResponse(text="", stop_reason=StopReason.END_TURN)
        finally:
            self.is_closed = True

    @hookimpl
    def helmdeck_providers(self):
        return [ProviderSpec(name="spinning", open=lambda settings, context: self)]


SPINS = {"fallback": {"spinning/": ["b/two"]}, "budgets": {"spinning/": {"is_hybrid_reasoning": True}}}


@pytest.mark.parametrize("begin", ["", "{", '{"steps": [', "<think>so</think>{"])
def test_endless_whitespace_is_stopped_before_the_output_limit(deck_of, begin):
    spinning = Spinning(begin)
    plan = deck_of(b=[GOOD], beside=(spinning,), **SPINS).plan(ASK, model="spinning/x")
    assert spinning.is_closed and spinning.left > 999_000
    assert (plan.attempts[0].cause, plan.attempts[0].sub_cause) == ("length_truncated", "whitespace_loop")


def test_complete_value_before_endless_whitespace_is_the_answer(deck_of):
    deck = deck_of(beside=(Spinning(GOOD),), **SPINS)
    assert deck.plan(ASK, model="spinning/x").steps[0].tool == "blog.draft"


def test_json_stream_with_endless_whitespace_fails_unless_it_was_complete(deck_of):
    pieces, failure = streamed(deck_of(beside=(Spinning("{"),)), attrs.evolve(FORMED, model="spinning/x"))
    assert isinstance(failure, LengthTruncated) and failure.sub_cause == "whitespace_loop"
    assert text(pieces).strip() == "{" and len(text(pieces)) < 2_000
    pieces, response = streamed(deck_of(beside=(Spinning('{"a": 1}'),)), attrs.evolve(FORMED, model="spinning/x"))
    assert text(pieces) == response.text and response.text.strip() == '{"a": 1}'


def test_whitespace_in_plain_text_is_not_stopped(deck_of):
    pieces, _ = streamed(deck_of(beside=(Spinning("a", 900, "b"),)), attrs.evolve(REQUEST, model="spinning/x"))
    assert text(pieces).split() == ["a", "b"]
    pieces, _ = streamed(deck_of(beside=(Spinning("{", 90, "}"),)), attrs.evolve(FORMED, model="spinning/x"))
    assert text(pieces).split() == ["{", "}"]
