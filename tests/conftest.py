"""What several test modules need: decks whose providers answer with texts that the test wrote down."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import aiohttp  # noqa: F401  # what importing a library takes is not a call's time
import httpx2  # noqa: F401
import pytest

from helmdeck_core import ChatRequest, ChatResponse, Helmdeck, ProviderSpec, StopReason, hookimpl
from helmdeck_core.resolve.transports import TransportChooser

FREE = "openrouter/openrouter/free"
"""Tier C: 10,000 bytes of catalog, one step at a time."""
FRONTIER = "openai/gpt-4o"
"""Tier A: the whole catalog, strict JSON, prefix cache."""


class Answering:
    """A plugin whose providers answer from a list and remember what they were asked."""

    def __init__(self, *replies: Any, names: tuple[str, ...] = ("openrouter", "openai", "google", "fake")) -> None:
        self.replies = list(replies)
        self.names = names
        self.requests: list[ChatRequest] = []

    @hookimpl
    def helmdeck_providers(self) -> list[ProviderSpec]:
        return [ProviderSpec(name=name, open=lambda settings, context: self) for name in self.names]

    async def complete(self, request: ChatRequest) -> ChatResponse:
        self.requests.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, BaseException):
            raise reply
        if isinstance(reply, ChatResponse):
            return reply
        text = reply if isinstance(reply, str) else json.dumps(reply)
        return ChatResponse(text=text, stop_reason=StopReason.END_TURN, raw_stop_reason="stop", served_model="served")

    async def aclose(self) -> None:
        pass


@pytest.fixture
def answering(deck_with: Callable[..., Helmdeck]) -> Callable[..., tuple[Helmdeck, Answering]]:
    """Make a deck whose providers give the replies in order, the last one again and again.

    Nothing is asked before the one call that a test is about, unless it is about that: ``filters=True``. Nobody waits.
    """

    def make(
        *replies: Any,
        beside: tuple[object, ...] = (),
        config: Mapping[str, Any] | None = None,
        filters: bool = False,
        **options: Any,
    ) -> tuple[Helmdeck, Answering]:
        provider = Answering(*replies)
        config = dict(config or {})
        if not filters:
            config["selection"] = {"filter": False, **config.get("selection", {})}
        config["recovery"] = {"backoff_s": 0, "max_wait_s": 0, **config.get("recovery", {})}
        return deck_with(provider, *beside, config=config, **options), provider

    return make


@pytest.fixture(params=["httpx", "aiohttp"])
def transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test once for each built-in transport: every deck and every provider of the test uses it.

    Tests over HTTP ask for it with ``usefixtures("transport")``.
    """
    name: str = request.param
    monkeypatch.setattr(TransportChooser, "name_of", lambda self, provider: name)
    return name
