"""The contract test suite for providers: subclass ``ProviderContract`` in a test file, and pytest runs it.

::

    class TestAcme(ProviderContract):
        plugin = acme_provider
        name = "acme"
        server_format = ACME          # a helmdeck_testing.ServerFormat: the responses of Acme's servers
        environ = {"ACME_API_KEY": ProviderContract.SECRET}

The provider connects to a real server on the loopback interface, which fails in every mode.
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
    Secrets,
    StopReason,
    StreamingProvider,
)
from helmdeck_testing.fault_server import CALL, FAULT, MODELS, MODES, RETRY_AFTER_S, STATUSES, FailingServer
from helmdeck_testing.provider_contract_requests import TOOL, RequestContract
from helmdeck_testing.provider_contract_runner import Act, answered
from helmdeck_testing.server_formats.base import ScriptedAnswer

_DISCONNECT_TIMEOUT_S = 30.0
"""Time for the server to notice a closed connection, which it does at the next chunk."""


class ProviderContract(RequestContract):
    """The contract test suite. Tests of responses are here, tests of requests in the base class.

    :cvar plugin: the plugin that contributes the provider; ``None`` for one that is built in.
    :cvar name: the provider's name.
    :cvar server_format: the response format of its servers.
    :cvar settings: more keys of ``[providers.NAME]``.
    :cvar streams: whether the provider can stream.
    :cvar environ: environment variables during the tests; the key is ``SECRET``.
    """

    # -- the contract ------------------------------------------------------------------------------------------

    def test_response_has_text_usage_and_stop_reason(self) -> None:
        for streams in self.ways:
            response = self.ask("good", streams=streams)
            assert json.loads(response.text) == {"answer": "#0"}
            assert (response.stop_reason, response.strict_stop_reason) == (StopReason.END_TURN, StopReason.END_TURN)
            assert response.raw_stop_reason
            assert (response.usage.input_tokens, response.usage.output_tokens) == (5, 2)

    def test_response_has_served_model_quota_and_request_id(self) -> None:
        for streams in self.ways:
            response = self.ask("good", streams=streams)
            names_model = "loopback" in json.dumps(self.server_format.whole(ScriptedAnswer()))
            assert response.served_model == ("loopback" if names_model else "")
            assert response.quota_metadata.items() >= self.server_format.quota.items()
            assert response.request_id == next(iter(self.server_format.headers.values()), "")

    def test_cached_input_tokens_are_part_of_input_tokens(self) -> None:
        for streams in self.ways:
            usage = self.ask("cached", streams=streams).usage
            assert (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens) == (5, 3, 2)

    def test_tool_call_is_parsed_and_is_the_stop_reason(self) -> None:
        for streams in self.ways:
            response = self.run("tool_call", self._with_tools(streams=streams))
            (call,) = response.tool_calls
            assert (call.name, json.loads(call.arguments)) == (CALL.name, json.loads(CALL.arguments))
            assert call.id
            assert response.stop_reason is StopReason.TOOL_CALL

    def test_tool_call_in_a_truncated_turn_is_not_the_stop_reason(self) -> None:
        for streams in self.ways:
            response = self.run("tool_call_at_limit", self._with_tools(streams=streams))
            assert response.stop_reason is StopReason.MAX_TOKENS

    def test_unknown_or_missing_stop_reason_is_not_a_clean_end(self) -> None:
        for streams in self.ways:
            unknown, missing = (self.ask(mode, streams=streams) for mode in ("empty_error", "no_end"))
            assert {response.strict_stop_reason for response in (unknown, missing)} == {StopReason.UNKNOWN}
            assert unknown.raw_stop_reason
            assert missing.raw_stop_reason is None

    @pytest.mark.parametrize("mode", [name for name, each in MODES.items() if each.answer and "tool" not in name])
    def test_streamed_and_whole_responses_are_equal(self, mode: str) -> None:
        self._require_streams()
        whole, streamed = (self.ask(mode, streams=streams) for streams in (False, True))
        for field in (
            "text",
            "reasoning_content",
            "stop_reason",
            "strict_stop_reason",
            "raw_stop_reason",
            "disposition",
        ):
            assert getattr(streamed, field) == getattr(whole, field), field
        if MODES[mode].name != "no_end":  # usage would have arrived with the end
            assert streamed.usage == whole.usage

    @pytest.mark.parametrize("mode", [name for name, each in MODES.items() if each.cause and name != "slow_think"])
    def test_each_failure_mode_has_its_failure_class(self, mode: str) -> None:
        for streams in self.ways:
            failure = self.failure(mode, streams=streams)
            expected = self.server_format.causes.get(mode, MODES[mode].cause)
            assert failure.failure_class is expected, f"{mode}, {streams=}: {failure}"
            if isinstance(failure, RateLimited):
                assert failure.retry_after_s == RETRY_AFTER_S
            if mode in STATUSES:
                assert (failure.status, FAULT in failure.detail) == (STATUSES[mode], True)
                assert failure.request_id == next(iter(self.server_format.headers.values()), "")

    def test_slow_response_is_a_timeout(self) -> None:
        for streams in self.ways:
            assert isinstance(self.failure("slow_think", streams=streams, timeout_s=0.2), LikelyTimeout)

    @pytest.mark.parametrize("mode", ["error_in_200", "rate_limited", "unavailable", "unauthorized", "cut_body"])
    def test_failures_contain_no_secret(self, mode: str) -> None:
        for streams in self.ways:
            failure = self.failure(mode, streams=streams)
            texts = (str(failure), repr(failure), json.dumps(failure.to_dict()), str(failure.__cause__))
            # Plain, and in base64, as from servers that repeat a header.
            assert not [text for text in texts if Secrets((self.SECRET,)).are_in(text)]

    def test_cancelled_call_closes_its_connection(self) -> None:
        async def act(provider: Provider, server: FailingServer) -> None:
            for streams in self.ways:
                server.arrived.clear()
                server.dropped.clear()
                call = asyncio.ensure_future(answered(provider, self.request(), streams))
                assert await asyncio.to_thread(server.arrived.wait, _DISCONNECT_TIMEOUT_S), (
                    f"{streams=}: no request has arrived"
                )
                call.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await call
                assert await asyncio.to_thread(server.dropped.wait, _DISCONNECT_TIMEOUT_S), (
                    f"{streams=}: the connection is still open"
                )

        self.run("slow_think", act)

    def test_closed_stream_closes_its_connection(self) -> None:
        async def act(provider: Provider, server: FailingServer) -> None:
            assert isinstance(provider, StreamingProvider)
            server.dropped.clear()
            items = provider.stream(self.request())
            assert isinstance(await anext(items), ChatDelta)
            await items.aclose()  # type: ignore[attr-defined]  # all generators have it
            assert await asyncio.to_thread(server.dropped.wait, _DISCONNECT_TIMEOUT_S)

        self._require_streams()
        self.run("slow_think", act)

    def test_batches_and_stream_yield_the_same_deltas(self) -> None:
        async def act(provider: Provider, _: FailingServer) -> None:
            if not isinstance(provider, BatchingProvider):
                pytest.skip(f"{self.name} has no batches")
            assert isinstance(provider, StreamingProvider)
            *batches, response = [item async for item in provider.batches(self.request())]
            *pieces, same = [item async for item in provider.stream(self.request())]
            assert isinstance(response, ChatResponse)
            assert isinstance(same, ChatResponse)
            assert [piece for batch in batches if not isinstance(batch, ChatResponse) for piece in batch] == pieces
            assert response.text == same.text

        self._require_streams()
        self.run("good", act)

    def test_concurrent_requests_get_their_own_responses(self) -> None:
        async def act(provider: Provider, _: FailingServer) -> list[ChatResponse]:
            requests = [(self.request(f"say #{number}"), streams) for number in range(1, 17) for streams in self.ways]
            return await asyncio.gather(*(answered(provider, request, streams) for request, streams in requests))

        answers = [json.loads(response.text)["answer"] for response in self.run("good", act)]
        assert answers == [f"#{number}" for number in range(1, 17) for _ in self.ways]

    def test_response_above_max_response_bytes_fails(self) -> None:
        for streams in self.ways:
            with pytest.raises(CallFailed):
                self.ask("good", streams=streams, max_response_bytes=20)

    def test_model_list_has_the_names_used_in_requests(self) -> None:
        async def act(provider: Provider, _: FailingServer) -> tuple[ModelInfo, ...] | None:
            return await provider.models() if isinstance(provider, ListingProvider) else None

        if self.server_format.models is None:
            pytest.skip(f"{self.server_format.name} has no model list")
        assert [model.id for model in self.run("good", act)] == [*MODELS]
        with pytest.raises(AuthFailed):
            self.run("unauthorized", act)

    def test_close_is_idempotent(self) -> None:
        async def act(provider: Provider, _: FailingServer) -> None:
            await answered(provider, self.request(), False)
            await provider.aclose()
            await provider.aclose()

        self.run("good", act)

    def _require_streams(self) -> None:
        if not self.streams:
            pytest.skip(f"{self.name} does not stream")

    def _with_tools(self, *, streams: bool) -> Act:
        return lambda provider, _: answered(provider, self.request(tools=(TOOL,)), streams)
