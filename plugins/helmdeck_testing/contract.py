"""What every provider has to do, as tests: subclass ``ProviderContract`` in a test file, and pytest runs them.

::

    class TestAcme(ProviderContract):
        plugin = acme_provider
        name = "acme"
        dialect = ACME          # a helmdeck_testing.Dialect: how Acme's servers write
        environ = {"ACME_API_KEY": ProviderContract.SECRET}

The provider talks to a real server on the loopback, which fails in every mode.
"""

from __future__ import annotations

import asyncio
import json

import pytest

from helmdeck_core import (
    AuthFailed,
    BatchingProvider,
    CallFailed,
    ChatDelta,
    ChatResponse,
    LikelyTimeout,
    ListingProvider,
    ModelInfo,
    Provider,
    RateLimited,
    StopReason,
    StreamingProvider,
)
from helmdeck_core.redaction import Secrets
from helmdeck_testing.contract_requests import TOOL, RequestContract
from helmdeck_testing.contract_runner import Act, answered
from helmdeck_testing.dialects.base import ScriptedAnswer
from helmdeck_testing.fault_server import CALL, FAULT, MODELS, MODES, RETRY_AFTER_S, STATUSES, FailingServer

_GONE_S = 30.0
"""How long a server waits to see that its client has gone; it sees it at its next piece."""


class ProviderContract(RequestContract):
    """The contract: what is asked is in the class below, and what is answered here.

    :cvar plugin: the plugin that contributes the provider; ``None`` for one that is built in.
    :cvar name: the provider's name.
    :cvar dialect: how its servers write.
    :cvar settings: further keys of ``[providers.NAME]``.
    :cvar streams: whether it can stream.
    :cvar environ: variables that are set while it runs, the key among them as ``SECRET``.
    """

    # -- the contract ------------------------------------------------------------------------------------------

    def test_a_good_answer_is_read_with_its_tokens_and_its_end(self) -> None:
        for streams in self.ways:
            response = self.ask("good", streams=streams)
            assert json.loads(response.text) == {"answer": "#0"}
            assert (response.stop_reason, response.strict_stop_reason) == (StopReason.END_TURN, StopReason.END_TURN)
            assert response.raw_stop_reason
            assert (response.usage.input_tokens, response.usage.output_tokens) == (5, 2)

    def test_what_stands_beside_an_answer_is_kept(self) -> None:
        for streams in self.ways:
            response = self.ask("good", streams=streams)
            names_model = "loopback" in json.dumps(self.dialect.whole(ScriptedAnswer()))
            assert response.served_model == ("loopback" if names_model else "")
            assert response.quota.items() >= self.dialect.quota.items()
            assert response.request_id == next(iter(self.dialect.headers.values()), "")

    def test_input_that_was_read_from_a_cache_is_part_of_all_input(self) -> None:
        for streams in self.ways:
            usage = self.ask("cached", streams=streams).usage
            assert (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens) == (5, 3, 2)

    def test_a_call_of_a_tool_is_read_and_the_turn_ended_for_it(self) -> None:
        for streams in self.ways:
            response = self.run("tool_call", self._with_tools(streams=streams))
            (call,) = response.tool_calls
            assert (call.name, json.loads(call.arguments)) == (CALL.name, json.loads(CALL.arguments))
            assert call.id
            assert response.stop_reason is StopReason.TOOL_CALL

    def test_a_call_in_a_turn_that_was_cut_is_not_what_the_turn_ended_for(self) -> None:
        for streams in self.ways:
            response = self.run("tool_call_at_limit", self._with_tools(streams=streams))
            assert response.stop_reason is StopReason.MAX_TOKENS

    def test_a_word_that_nobody_knows_and_no_word_are_no_clean_end(self) -> None:
        for streams in self.ways:
            odd, none = (self.ask(mode, streams=streams) for mode in ("empty_error", "no_end"))
            assert {response.strict_stop_reason for response in (odd, none)} == {StopReason.UNKNOWN}
            assert odd.raw_stop_reason
            assert none.raw_stop_reason is None

    @pytest.mark.parametrize("mode", [name for name, each in MODES.items() if each.said and "tool" not in name])
    def test_streamed_and_whole_responses_are_equal(self, mode: str) -> None:
        self._skip_unless_it_streams()
        whole, streamed = (self.ask(mode, streams=streams) for streams in (False, True))
        for field in ("text", "reasoning", "stop_reason", "strict_stop_reason", "raw_stop_reason", "disposition"):
            assert getattr(streamed, field) == getattr(whole, field), field
        if MODES[mode].name != "no_end":  # what would have come with the end is missing
            assert streamed.usage == whole.usage

    @pytest.mark.parametrize("mode", [name for name, each in MODES.items() if each.cause and name != "slow_think"])
    def test_each_way_of_failing_has_its_cause(self, mode: str) -> None:
        for streams in self.ways:
            failure = self.failure(mode, streams=streams)
            wanted = self.dialect.causes.get(mode, MODES[mode].cause)
            assert failure.failure_class is wanted, f"{mode}, {streams=}: {failure}"
            if isinstance(failure, RateLimited):
                assert failure.retry_after_s == RETRY_AFTER_S
            if mode in STATUSES:
                assert (failure.status, FAULT in failure.detail) == (STATUSES[mode], True)
                assert failure.request_id == next(iter(self.dialect.headers.values()), "")

    def test_what_takes_too_long_is_a_timeout(self) -> None:
        for streams in self.ways:
            assert isinstance(self.failure("slow_think", streams=streams, timeout_s=0.2), LikelyTimeout)

    @pytest.mark.parametrize("mode", ["error_in_200", "rate_limited", "unavailable", "unauthorized", "cut_body"])
    def test_no_secret_is_repeated(self, mode: str) -> None:
        for streams in self.ways:
            failure = self.failure(mode, streams=streams)
            said = (str(failure), repr(failure), json.dumps(failure.to_dict()), str(failure.__cause__))
            # As it is, and as it comes back from servers that repeat a header in base64.
            assert not [text for text in said if Secrets((self.SECRET,)).are_in(text)]

    def test_a_call_that_is_cancelled_closes_its_connection(self) -> None:
        async def act(provider: Provider, server: FailingServer) -> None:
            for streams in self.ways:
                server.arrived.clear()
                server.dropped.clear()
                call = asyncio.ensure_future(answered(provider, self.request(), streams))
                assert await asyncio.to_thread(server.arrived.wait, _GONE_S), f"{streams=}: no request has arrived"
                call.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await call
                assert await asyncio.to_thread(server.dropped.wait, _GONE_S), f"{streams=}: it is still open"

        self.run("slow_think", act)

    def test_a_stream_that_is_left_early_closes_its_connection(self) -> None:
        async def act(provider: Provider, server: FailingServer) -> None:
            assert isinstance(provider, StreamingProvider)
            server.dropped.clear()
            items = provider.stream(self.request())
            assert isinstance(await anext(items), ChatDelta)
            await items.aclose()  # type: ignore[attr-defined]  # every generator has it
            assert await asyncio.to_thread(server.dropped.wait, _GONE_S)

        self._skip_unless_it_streams()
        self.run("slow_think", act)

    def test_batches_hold_the_same_deltas_as_the_stream(self) -> None:
        async def act(provider: Provider, _: FailingServer) -> None:
            if not isinstance(provider, BatchingProvider):
                pytest.skip(f"{self.name} streams one delta at a time")
            assert isinstance(provider, StreamingProvider)
            *batches, response = [item async for item in provider.batches(self.request())]
            *pieces, same = [item async for item in provider.stream(self.request())]
            assert isinstance(response, ChatResponse)
            assert isinstance(same, ChatResponse)
            assert [piece for batch in batches if not isinstance(batch, ChatResponse) for piece in batch] == pieces
            assert response.text == same.text

        self._skip_unless_it_streams()
        self.run("good", act)

    def test_answers_to_many_requests_at_once_are_not_mixed_up(self) -> None:
        async def act(provider: Provider, _: FailingServer) -> list[ChatResponse]:
            asked = [(self.request(f"say #{number}"), streams) for number in range(1, 17) for streams in self.ways]
            return await asyncio.gather(*(answered(provider, request, streams) for request, streams in asked))

        found = [json.loads(response.text)["answer"] for response in self.run("good", act)]
        assert found == [f"#{number}" for number in range(1, 17) for _ in self.ways]

    def test_an_answer_that_is_larger_than_it_may_be_is_cut_off(self) -> None:
        for streams in self.ways:
            with pytest.raises(CallFailed):
                self.ask("good", streams=streams, max_response_bytes=20)

    def test_models_are_listed_by_the_names_that_they_are_asked_for(self) -> None:
        async def act(provider: Provider, _: FailingServer) -> tuple[ModelInfo, ...] | None:
            return await provider.models() if isinstance(provider, ListingProvider) else None

        if self.dialect.models is None:
            pytest.skip(f"{self.dialect.name} does not say how models are listed")
        assert [model.id for model in self.run("good", act)] == [*MODELS]
        with pytest.raises(AuthFailed):
            self.run("unauthorized", act)

    def test_it_can_be_closed_twice(self) -> None:
        async def act(provider: Provider, _: FailingServer) -> None:
            await answered(provider, self.request(), False)
            await provider.aclose()
            await provider.aclose()

        self.run("good", act)

    def _skip_unless_it_streams(self) -> None:
        if not self.streams:
            pytest.skip(f"{self.name} does not stream")

    def _with_tools(self, *, streams: bool) -> Act:
        return lambda provider, _: answered(provider, self.request(tools=(TOOL,)), streams)
