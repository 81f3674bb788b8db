"""Runs the provider contract: a server that fails in the provider's format, and a provider connected to it."""

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
    ProviderSpec,
    Role,
    Runtime,
    StreamingProvider,
    TextPart,
    ToolCall,
)
from helmdeck_testing.deck_factory import make_deck
from helmdeck_testing.fault_server import FailingServer
from helmdeck_testing.server_formats.base import ServerFormat

_TIMEOUT_S = 30.0
"""The provider's timeout if a test sets none."""
_MAX_TEST_S = 60.0
"""A test fails after this time if the provider ignores its timeout."""

Act = Callable[[Provider, FailingServer], Awaitable[Any]]


class ContractBench:
    """Server and provider for the tests of the contract.

    :cvar plugin: the plugin that contributes the provider; ``None`` for one that is built in.
    :cvar name: the provider's name.
    :cvar server_format: the response format of its servers.
    :cvar settings: more keys of ``[providers.NAME]``.
    :cvar streams: whether the provider can stream.
    :cvar environ: environment variables during the tests, including the key.
    """

    SECRET: ClassVar[str] = "kq7Zr0Wm4Xc9Tb2Ld8Gn5Vf1Hs6Jp3Ya"  # noqa: S105  # for tests only

    plugin: ClassVar[object] = None
    name: ClassVar[str]
    server_format: ClassVar[ServerFormat]
    settings: ClassVar[Mapping[str, Any]] = {}
    environ: ClassVar[Mapping[str, str]] = {}
    streams: ClassVar[bool] = True

    _server: ClassVar[FailingServer]
    _runtimes: ClassVar[dict[tuple[tuple[str, float], ...], Runtime]]

    # -- setup -------------------------------------------------------------------------------------------------

    @classmethod
    def setup_class(cls) -> None:
        """Start the server."""
        missing = [name for name in ("name", "server_format") if not hasattr(cls, name)]
        assert not missing, f"{cls.__name__} has no {' and no '.join(missing)}"
        encoded = base64.b64encode(f"Bearer {cls.SECRET}".encode()).decode()
        cls._server = FailingServer(cls.server_format, echo=f"{cls.SECRET} {encoded}")
        cls._runtimes = {}

    @classmethod
    def teardown_class(cls) -> None:
        """Stop the server."""
        cls._server.close()
        cls._server.raise_faults()

    @pytest.fixture(autouse=True)
    def _environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in self.environ.items():
            monkeypatch.setenv(name, value)

    def request(self, text: str = "say #0", **fields: Any) -> ChatRequest:
        """Return a request."""
        message = Message(Role.USER, (TextPart(text),))
        return ChatRequest(model=f"{self.name}/loopback", messages=(message,), max_tokens=256, **fields)

    def runtime(self, **settings: float) -> Runtime:
        """Return the runtime of a deck whose provider is connected to the server.

        :param settings: limits of ``[providers.NAME]``, such as ``timeout_s``.
        """
        key = tuple(sorted(settings.items()))
        if key not in self._runtimes:
            plugins = () if self.plugin is None else (self.plugin,)
            given = {"base_url": self._server.base_url, "headers": {"x-tenant": self.SECRET}, "timeout_s": _TIMEOUT_S}
            given |= settings
            kind = str(self.settings.get("kind") or self.name)
            # The default key is not sent to another host.
            spec = make_deck(*plugins).runtime.contributed(ProviderSpec)[kind].value
            # The default key of another host is sent only where it is written out.
            given |= {"api_key": spec.api_key} if spec.api_key and spec.base_url else {}
            config = {"providers": {self.name: {**given, **self.settings}}}
            self._runtimes[key] = make_deck(*plugins, config=config).runtime
        return self._runtimes[key]

    def run(self, mode: str, act: Act, **settings: float) -> Any:
        """Call ``act`` with an open provider whose server is in a mode; return its result.

        :raises CallFailed: if ``act`` does not catch it.
        """
        if mode in self.server_format.lacks:
            pytest.skip(f"{self.server_format.name} does not support the mode {mode}")
        self._server.mode = mode
        gateway = ProviderPool(self.runtime(**settings))

        async def main() -> Any:
            try:
                return await act(gateway.open_provider(self.name), self._server)
            finally:
                await gateway.aclose()

        async def limited() -> Any:
            scope = asyncio.timeout(_MAX_TEST_S)
            try:
                async with scope:
                    return await main()
            except TimeoutError:
                assert not scope.expired(), f"{mode}: no result within {_MAX_TEST_S:g} s"
                raise

        return asyncio.run(limited())

    def ask(self, mode: str, *, streams: bool, **settings: float) -> ChatResponse:
        """Send one request, whole or streamed."""
        response = self.run(mode, lambda provider, _: answered(provider, self.request(), streams), **settings)
        assert isinstance(response, ChatResponse)
        return response

    def failure(self, mode: str, *, streams: bool, **settings: float) -> CallFailed:
        """Return the failure of a call, or of decoding its response as a JSON object."""
        try:
            response = self.ask(mode, streams=streams, **settings)
        except CallFailed as exc:
            return exc
        try:
            self.runtime().decoder.decode(response.text, dict, response.stop_reason)
        except DecodeFailed as exc:
            return exc.as_call("the answer cannot be used", response.text, raw_stop_reason=response.raw_stop_reason)
        raise AssertionError(f"{mode} did not fail: {response}")

    @property
    def ways(self) -> tuple[bool, ...]:
        """The values of ``streams`` to test with."""
        return (False, True) if self.streams else (False,)


async def answered(provider: Provider, request: ChatRequest, streams: bool) -> ChatResponse:
    """Send one request, whole or streamed; the deltas of a stream must add up to its response."""
    if not streams:
        return await provider.complete(request)
    assert isinstance(provider, StreamingProvider)
    *deltas, response = [item async for item in provider.stream(request)]
    assert isinstance(response, ChatResponse)
    pieces = [each for each in deltas if isinstance(each, ChatDelta)]
    assert len(pieces) == len(deltas), "a response before the end"
    for field in ("text", "reasoning_content"):
        assert "".join(getattr(piece, field) for piece in pieces) == getattr(response, field)
    calls: dict[int, list[str]] = {}
    for piece in pieces:
        if (part := piece.tool_call) is not None:
            call = calls.setdefault(part.index, ["", "", ""])
            call[:] = (call[0] or part.id, call[1] or part.name, call[2] + part.arguments)
    assert tuple(ToolCall(*calls[index]) for index in sorted(calls)) == response.tool_calls
    return response
