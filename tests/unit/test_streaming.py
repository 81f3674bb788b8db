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
    LengthTruncated,
    LikelyTimeout,
    Message,
    PluginError,
    ProviderSpec,
    ProviderUnavailable,
    ResponseFormat,
    Role,
    StopReason,
    TextPart,
    ToolCall,
    hookimpl,
)
from helmdeck_testing import (
    Fail,
    Reply,
    StubProvider,
    empty_stop,
    endless_thinking,
    make_deck,
    no_end,
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


def test_visible_chunks_are_not_repeated(deck_of):
    deck = deck_of([Reply("one two three four five six", piece_chars=4, breaks_after=3)], ["never asked"])
    pieces, failure = streamed(deck)
    assert isinstance(failure, ProviderUnavailable) and text(pieces) == "one two thre"
    assert deck.b.requests == [] and "given on already" in failure.attempts[0].then


def test_stream_without_an_end_signal_is_not_complete(deck_of):
    pieces, response = streamed(deck_of([no_end()]))
    assert text(pieces) == response.text and response.stop_reason is StopReason.UNKNOWN


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


def test_only_reasoning_models_are_streamed_for_the_watchdog(deck_of):
    deck = deck_of([GOOD, GOOD], budgets=THINKS)
    deck.plan(ASK, model="a/one")
    assert deck.a.requests[0].stream is True
    deck = deck_of([GOOD])
    deck.plan(ASK, model="a/one")
    assert deck.a.requests[0].stream is False


@pytest.mark.parametrize("reply", ["prose", Reply(GOOD, breaks_after=3), Reply(GOOD[:-9], "length")])
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
