"""How the contract of providers is run: a server that fails in the provider's dialect, and a provider connected with it."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar

import pytest

from helmdeck_core import (
    CallFailed,
    ChatDelta,
    ChatRequest,
    ChatResponse,
    DecodeFailed,
    Message,
    Provider,
    ProviderPool,
    Role,
    Runtime,
    StreamingProvider,
    TextPart,
    ToolCall,
)
from helmdeck_testing.deck_factory import make_deck
from helmdeck_testing.dialects.base import ServerFormat
from helmdeck_testing.fault_server import FailingServer

_TIMEOUT_S = 30.0
"""The provider's own limit where a test sets none."""
_LONGEST_S = 60.0
"""Seconds after which a test fails whose provider keeps to no limit."""

Act = Callable[[Provider, FailingServer], Awaitable[Any]]


class ContractBench:
    """What the tests of a contract stand on.

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
    dialect: ClassVar[ServerFormat]
    settings: ClassVar[Mapping[str, Any]] = {}
    environ: ClassVar[Mapping[str, str]] = {}
    streams: ClassVar[bool] = True

    _server: ClassVar[FailingServer]
    _runtimes: ClassVar[dict[tuple[tuple[str, float], ...], Runtime]]

    # -- how it is run -----------------------------------------------------------------------------------------

    @classmethod
    def setup_class(cls) -> None:
        """Start the server."""
        missing = [name for name in ("name", "dialect") if not hasattr(cls, name)]
        assert not missing, f"{cls.__name__} does not say its {' and its '.join(missing)}"
        told = base64.b64encode(f"Bearer {cls.SECRET}".encode()).decode()
        cls._server = FailingServer(cls.dialect, echo=f"{cls.SECRET} {told}")
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

    def runtime(self, **settings: float) -> Runtime:
        """A deck's runtime whose provider is connected with the server.

        :param settings: limits of ``[providers.NAME]``, such as ``timeout_s``.
        """
        key = tuple(sorted(settings.items()))
        if key not in self._runtimes:
            plugins = () if self.plugin is None else (self.plugin,)
            given = {"base_url": self._server.base_url, "headers": {"x-tenant": self.SECRET}, "timeout_s": _TIMEOUT_S}
            given |= settings
            config = {"providers": {self.name: {**given, **self.settings}}}
            self._runtimes[key] = make_deck(*plugins, config=config).runtime
        return self._runtimes[key]

    def run(self, mode: str, act: Act, **settings: float) -> Any:
        """Let ``act`` use an open provider whose server is in a mode; return what it returns.

        :raises CallFailed: what ``act`` does not catch.
        """
        if mode in self.dialect.lacks:
            pytest.skip(f"{self.dialect.name} has no words for {mode}")
        self._server.mode = mode
        gateway = ProviderPool(self.runtime(**settings))

        async def main() -> Any:
            try:
                return await act(gateway.open_provider(self.name), self._server)
            finally:
                await gateway.aclose()

        async def limited() -> Any:
            scope = asyncio.timeout(_LONGEST_S)
            try:
                async with scope:
                    return await main()
            except TimeoutError:
                assert not scope.expired(), f"{mode}: it does not come to an end within {_LONGEST_S:g} s"
                raise

        return asyncio.run(limited())

    def ask(self, mode: str, *, streams: bool, **settings: float) -> ChatResponse:
        """Ask once, whole or as a stream."""
        response = self.run(mode, lambda provider, _: answered(provider, self.request(), streams), **settings)
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


async def answered(provider: Provider, request: ChatRequest, streams: bool) -> ChatResponse:
    """Ask once, whole or as a stream, whose pieces have to sum to its response."""
    if not streams:
        return await provider.complete(request)
    assert isinstance(provider, StreamingProvider)
    *deltas, response = [item async for item in provider.stream(request)]
    assert isinstance(response, ChatResponse)
    pieces = [each for each in deltas if isinstance(each, ChatDelta)]
    assert len(pieces) == len(deltas), "a response before the end"
    for field in ("text", "reasoning"):
        assert "".join(getattr(piece, field) for piece in pieces) == getattr(response, field)
    grown: dict[int, list[str]] = {}
    for piece in pieces:
        if (part := piece.tool_call) is not None:
            call = grown.setdefault(part.index, ["", "", ""])
            call[:] = (call[0] or part.id, call[1] or part.name, call[2] + part.arguments)
    assert tuple(ToolCall(*grown[index]) for index in sorted(grown)) == response.tool_calls
    return response
