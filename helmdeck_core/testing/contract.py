"""What every provider has to do, as tests: subclass ``ProviderContract`` in a test file, and pytest runs them.

::

    class TestAcme(ProviderContract):
        plugin = acme_provider
        name = "acme"
        dialect = ACME          # a helmdeck_core.testing.Dialect: how Acme's servers write
        environ = {"ACME_API_KEY": ProviderContract.SECRET}

The provider talks to a real server on the loopback, which fails in every mode.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar

import pytest

from helmdeck_core.domain.chat import (
    BatchingProvider,
    ChatDelta,
    ChatRequest,
    ChatResponse,
    Message,
    Provider,
    Role,
    StopReason,
    StreamingProvider,
    TextPart,
)
from helmdeck_core.domain.decode import DecodeFailed
from helmdeck_core.errors import CallFailed, LikelyTimeout, RateLimited
from helmdeck_core.gateway import Gateway
from helmdeck_core.runtime import Runtime
from helmdeck_core.testing.dialects.base import Dialect
from helmdeck_core.testing.failing import MODES, RETRY_AFTER_S, FailingServer
from helmdeck_core.testing.making import make_deck

_GONE_S = 5.0
"""How long a server waits to see that its client has gone; it sees it at its next piece."""

Act = Callable[[Provider, FailingServer], Awaitable[Any]]


class ProviderContract:
    """The contract.

    :cvar plugin: the plugin that contributes the provider; ``None`` for one that is built in.
    :cvar name: the provider's name.
    :cvar dialect: how its servers write.
    :cvar settings: further keys of ``[providers.NAME]``.
    :cvar streams: whether it can stream.
    :cvar environ: variables that are set while it runs, the key among them.
    """

    SECRET: ClassVar[str] = "kq7Zr0Wm4Xc9Tb2Ld8Gn5Vf1Hs6Jp3Ya"  # noqa: S105  # nobody's

    plugin: ClassVar[object] = None
    name: ClassVar[str]
    dialect: ClassVar[Dialect]
    settings: ClassVar[Mapping[str, Any]] = {}
    environ: ClassVar[Mapping[str, str]] = {}
    streams: ClassVar[bool] = True

    _server: ClassVar[FailingServer]
    _runtimes: ClassVar[dict[float, Runtime]]

    # -- how it is run -----------------------------------------------------------------------------------------

    @classmethod
    def setup_class(cls) -> None:
        """Start the server."""
        cls._server = FailingServer(cls.dialect, echo=cls.SECRET)
        cls._runtimes = {}

    @classmethod
    def teardown_class(cls) -> None:
        """Stop it."""
        cls._server.close()
        cls._server.raise_faults()

    @pytest.fixture(autouse=True)
    def _environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in self.environ.items():
            monkeypatch.setenv(name, value)

    def request(self, text: str = "say #0", **fields: Any) -> ChatRequest:
        """What is asked."""
        message = Message(Role.USER, (TextPart(text),))
        return ChatRequest(model=f"{self.name}/loopback", messages=(message,), max_tokens=256, **fields)

    def runtime(self, timeout_s: float = 30.0) -> Runtime:
        """A deck's runtime whose provider is connected with the server."""
        if timeout_s not in self._runtimes:
            plugins = () if self.plugin is None else (self.plugin,)
            given = {"base_url": self._server.base_url, "headers": {"x-tenant": self.SECRET}, "timeout_s": timeout_s}
            config = {"providers": {self.name: {**given, **self.settings}}}
            self._runtimes[timeout_s] = make_deck(*plugins, config=config).runtime
        return self._runtimes[timeout_s]

    def run(self, mode: str, act: Act, **settings: float) -> Any:
        """Let ``act`` use an open provider whose server is in a mode; return what it returns.

        :raises CallFailed: what ``act`` does not catch.
        """
        if mode in self.dialect.lacks:
            pytest.skip(f"{self.dialect.name} has no words for {mode}")
        self._server.mode = mode
        gateway = Gateway(self.runtime(**settings))

        async def main() -> Any:
            try:
                return await act(gateway.open_provider(self.name), self._server)
            finally:
                await gateway.aclose()

        return asyncio.run(main())

    def ask(self, mode: str, *, streams: bool, **settings: float) -> ChatResponse:
        """Ask once, whole or as a stream."""
        response = self.run(mode, lambda provider, _: _answer(provider, self.request(), streams), **settings)
        assert isinstance(response, ChatResponse)
        return response

    def failure(self, mode: str, *, streams: bool, **settings: float) -> CallFailed:
        """How a provider fails, or how its answer does, which was to hold an object of JSON."""
        try:
            response = self.ask(mode, streams=streams, **settings)
        except CallFailed as exc:
            return exc
        try:
            self.runtime().decoder.decode(response.text, dict, response.stop_reason)
        except DecodeFailed as exc:
            return exc.as_call("the answer cannot be used", response.text, raw_stop_reason=response.raw_stop_reason)
        raise AssertionError(f"{mode} came to an answer: {response}")

    @property
    def ways(self) -> tuple[bool, ...]:
        """Whether to stream: never, and if the provider can, always."""
        return (False, True) if self.streams else (False,)

    # -- the contract ------------------------------------------------------------------------------------------

    def test_a_good_answer_is_read_with_its_tokens_and_its_end(self) -> None:
        for streams in self.ways:
            response = self.ask("good", streams=streams)
            assert json.loads(response.text) == {"answer": "#0"}
            assert (response.stop_reason, response.strict_stop_reason) == (StopReason.END_TURN, StopReason.END_TURN)
            assert response.raw_stop_reason
            assert (response.usage.input_tokens, response.usage.output_tokens) == (5, 2)

    @pytest.mark.parametrize("mode", [name for name, each in MODES.items() if each.said is not None])
    def test_a_stream_comes_to_the_same_response_as_an_answer_in_one_piece(self, mode: str) -> None:
        if not self.streams:
            return
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

    def test_what_takes_too_long_is_a_timeout(self) -> None:
        for streams in self.ways:
            assert isinstance(self.failure("slow_think", streams=streams, timeout_s=0.2), LikelyTimeout)

    @pytest.mark.parametrize("mode", ["error_in_200", "rate_limited", "unavailable", "cut_body"])
    def test_no_secret_is_repeated(self, mode: str) -> None:
        for streams in self.ways:
            failure = self.failure(mode, streams=streams)
            said = (str(failure), repr(failure), json.dumps(failure.to_dict()), str(failure.__cause__))
            assert not [text for text in said if self.SECRET in text]

    def test_a_call_that_is_cancelled_closes_its_connection(self) -> None:
        async def act(provider: Provider, server: FailingServer) -> None:
            for streams in self.ways:
                server.arrived.clear()
                server.dropped.clear()
                call = asyncio.ensure_future(_answer(provider, self.request(), streams))
                await asyncio.to_thread(server.arrived.wait, _GONE_S)
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

        if self.streams:
            self.run("slow_think", act)

    def test_pieces_that_come_together_are_those_that_come_one_by_one(self) -> None:
        async def act(provider: Provider, _: FailingServer) -> None:
            if not isinstance(provider, BatchingProvider):
                return
            assert isinstance(provider, StreamingProvider)
            *batches, response = [item async for item in provider.batches(self.request())]
            *pieces, same = [item async for item in provider.stream(self.request())]
            assert isinstance(response, ChatResponse)
            assert isinstance(same, ChatResponse)
            assert [piece for batch in batches if not isinstance(batch, ChatResponse) for piece in batch] == pieces
            assert response.text == same.text

        if self.streams:
            self.run("good", act)

    def test_answers_to_many_requests_at_once_are_not_mixed_up(self) -> None:
        async def act(provider: Provider, _: FailingServer) -> list[ChatResponse]:
            asked = [(self.request(f"say #{number}"), streams) for number in range(1, 17) for streams in self.ways]
            return await asyncio.gather(*(_answer(provider, request, streams) for request, streams in asked))

        found = [json.loads(response.text)["answer"] for response in self.run("good", act)]
        assert found == [f"#{number}" for number in range(1, 17) for _ in self.ways]

    def test_it_can_be_closed_twice(self) -> None:
        async def act(provider: Provider, _: FailingServer) -> None:
            await _answer(provider, self.request(), False)
            await provider.aclose()
            await provider.aclose()

        self.run("good", act)


async def _answer(provider: Provider, request: ChatRequest, streams: bool) -> ChatResponse:
    if not streams:
        return await provider.complete(request)
    assert isinstance(provider, StreamingProvider)
    *deltas, response = [item async for item in provider.stream(request)]
    assert isinstance(response, ChatResponse)
    pieces = [each for each in deltas if isinstance(each, ChatDelta)]
    assert len(pieces) == len(deltas), "a response before the end"
    for field in ("text", "reasoning"):
        assert "".join(getattr(piece, field) for piece in pieces) == getattr(response, field)
    return response
