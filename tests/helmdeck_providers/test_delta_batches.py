"""Deltas that arrived together are delivered one by one, in order, and before a failure that followed them."""

import asyncio

import attrs
import pytest

from helmdeck_core import (
    BatchingProvider,
    ChatDelta,
    ChatRequest,
    ChatResponse,
    LengthTruncated,
    Message,
    PluginError,
    ProviderSpec,
    ProviderUnavailable,
    ResponseFormat,
    Role,
    StopReason,
    StreamingProvider,
    TextPart,
    ToolCallDelta,
    one_by_one,
)
from helmdeck_providers import together
from helmdeck_testing import StubProvider, make_deck, plugin_with

REQUEST = ChatRequest(model="bulk/x", messages=(Message(Role.USER, (TextPart("hello"),)),), max_tokens=100)
ANSWER = ChatResponse(text="so it is", stop_reason=StopReason.END_TURN)
SO, IT, IS, HM = ChatDelta("so"), ChatDelta(" it"), ChatDelta(" is"), ChatDelta(reasoning_content="hm")


class Bulk(StubProvider):
    """A provider whose batches are count."""

    def __init__(self, *batches):
        super().__init__(AssertionError("asked for a whole answer"))
        self._batches = batches
        self.is_closed = False

    def stream(self, request):
        return one_by_one(self.batches(request))

    async def batches(self, request):
        assert request.stream
        try:
            for batch in self._batches:
                if isinstance(batch, Exception):
                    raise batch
                yield batch
        finally:
            self.is_closed = True


def deck_with(provider, **config):
    spec = ProviderSpec(name="bulk", open=lambda settings, context: provider)
    return make_deck(plugin_with(helmdeck_providers=[spec]), config={"recovery": {"max_attempts": 1}, **config})


def streamed(provider, request=REQUEST, **config):
    """The deltas received, and last the response or the failure."""
    found = []

    async def run():
        async with deck_with(provider, **config) as deck:
            async for item in deck.astream(request):
                found.append(item)

    try:
        asyncio.run(run())
    except Exception as exc:
        found.append(exc)
    return found


def test_chunks_are_yielded_one_by_one_in_order():
    calls = [ChatDelta(tool_call=ToolCallDelta(0, "1", "look")), ChatDelta(tool_call=ToolCallDelta(0, arguments="{}"))]
    batches = ([HM, SO], [], (IT, IS, *calls), ANSWER)
    *pieces, response = streamed(Bulk(*batches))
    assert pieces == [HM, SO, IT, IS, *calls] and response.text == ANSWER.text
    with deck_with(Bulk(*batches)) as deck:
        *pieces, response = deck.stream(REQUEST)
    assert pieces == [HM, SO, IT, IS, *calls] and response.text == ANSWER.text


def test_batches_are_used_where_the_provider_has_them():
    provider = Bulk([SO], ANSWER)
    assert isinstance(provider, BatchingProvider) and isinstance(provider, StreamingProvider)
    provider.stream = None
    assert streamed(provider)[0] == SO


@pytest.mark.parametrize("has_batches", [True, False])
def test_single_chunk_is_yielded_without_delay(has_batches):
    async def run():
        more = asyncio.Event()

        class Drip(Bulk):
            async def batches(self, request):
                yield [SO]
                await more.wait()
                yield [IT]
                yield ANSWER

        drip = Drip()
        if not has_batches:
            drip.batches, drip.stream = None, lambda request: one_by_one(Drip.batches(drip, request))
        async with asyncio.timeout(60), deck_with(drip) as deck:
            pieces = deck.astream(REQUEST)
            assert await anext(pieces) == SO
            more.set()
            rest = [piece async for piece in pieces]
            return rest[0]

    assert asyncio.run(run()) == IT


def test_leaving_during_a_batch_closes_its_source():
    provider = Bulk([SO, IT, IS], ANSWER)

    async def run():
        async with deck_with(provider) as deck:
            pieces = deck.astream(REQUEST)
            assert await anext(pieces) == SO
            await pieces.aclose()
            return provider.is_closed

    assert asyncio.run(run())


THOUGHTS = [ChatDelta(reasoning_content=str(number) * 100) for number in range(9)]
WHITESPACE = [SO, *[ChatDelta(" " * 100)] * 20]
IN_JSON = attrs.evolve(REQUEST, response_format=ResponseFormat("json_object"))


@pytest.mark.parametrize(
    ("request_", "pieces", "cause", "count"),
    [
        (REQUEST, [*THOUGHTS, SO], "reasoning_overrun", 2),  # half of 100 tokens are 200 characters
        (IN_JSON, WHITESPACE, "whitespace_loop", None),
    ],
)
def test_limit_applies_within_a_batch(request_, pieces, cause, count):
    config = {
        "budgets": {"bulk/": {"is_hybrid_reasoning": True}},
        "recovery": {"max_attempts": 1, "think_share": 0.5},
    }
    *one_by_one, failure = streamed(Bulk(*([piece] for piece in pieces), ANSWER), request_, **config)
    *at_once, same = streamed(Bulk(pieces, ANSWER), request_, **config)
    assert isinstance(failure, LengthTruncated) and failure.sub_cause == same.sub_cause == cause
    assert one_by_one == at_once == pieces[: count or len(at_once)] and len(at_once) < len(pieces)


def test_reasoning_after_visible_output_in_a_batch_is_not_limited():
    batch = [ChatDelta(reasoning_content="1" * 100), SO, *(ChatDelta(reasoning_content="1" * 100) for _ in range(9))]
    *pieces, _ = streamed(Bulk(batch, ANSWER), budgets={"bulk/": {"is_hybrid_reasoning": True}})
    assert pieces == batch


@pytest.mark.parametrize("batch", [["so"], [SO, None], [ANSWER], "so", b"so", 5, {"text": "so"}])
def test_batch_with_invalid_items_is_a_plugin_error(batch):
    (failure,) = streamed(Bulk(batch, ANSWER))
    assert isinstance(failure, PluginError) and "ChatResponse" in str(failure)


def test_chunks_before_a_failure_are_yielded():
    *pieces, failure = streamed(Bulk([HM, SO], ProviderUnavailable("gone")))
    assert pieces == [HM, SO] and isinstance(failure, ProviderUnavailable)


def test_chunks_are_batched_and_the_error_follows():
    def pieces():
        yield SO
        yield IT
        raise ProviderUnavailable("gone")

    batches = together(pieces())
    assert next(batches) == [SO, IT]
    with pytest.raises(ProviderUnavailable):
        next(batches)
    assert list(together(iter([SO, IT]))) == [[SO, IT]]
    assert list(together([])) == []
