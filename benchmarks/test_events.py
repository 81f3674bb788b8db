"""Cost of event sinks: one call to a provider that responds at once, without sinks and with each sink."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from helmdeck_core import (
    ChatRequest,
    ChatResponse,
    EventSink,
    Helmdeck,
    Message,
    ProviderSpec,
    Role,
    StopReason,
    TextPart,
    hookimpl,
)
from helmdeck_testing import make_deck

REQUEST = ChatRequest(model="quick/one", messages=(Message(Role.USER, (TextPart("hello"),)),))
CALLS = 100

SINKS: Mapping[str, Sequence[str]] = {
    "off": [],
    "a sink that does nothing": ["idle"],
    "prometheus": ["prometheus"],
    "otel without an SDK": ["otel"],
    "traces in memory": ["traces"],
    "traces in a file": ["traces"],
}


class Quick:
    """A provider that answers at once, and a sink that does nothing."""

    answer = ChatResponse(text="hello", stop_reason=StopReason.END_TURN, raw_stop_reason="stop")

    @hookimpl
    def helmdeck_providers(self) -> list[ProviderSpec]:
        """The provider."""
        return [ProviderSpec(name="quick", open=lambda *_: self)]

    @hookimpl
    def helmdeck_event_sinks(self) -> list[EventSink]:
        """The sink."""
        return [EventSink(name="idle", open=lambda: self)]

    def handle(self, event: object) -> None:
        """Do nothing."""

    async def complete(self, request: ChatRequest) -> ChatResponse:  # noqa: ARG002
        """Answer."""
        return self.answer

    async def aclose(self) -> None:
        """Do nothing."""


async def _calls(deck: Helmdeck) -> ChatResponse:
    for _ in range(CALLS - 1):
        await deck.acomplete(REQUEST)
    return await deck.acomplete(REQUEST)


@pytest.mark.parametrize("case", SINKS)
def test_calls(benchmark: Any, case: str, tmp_path: Any) -> None:
    benchmark.group = f"events: {CALLS} calls"
    file = str(tmp_path / "traces.db") if case == "traces in a file" else ""
    events = {"sinks": list(SINKS[case]), "options": {"traces": {"file": file}}}
    with make_deck(Quick(), config={"events": events}) as deck:
        assert benchmark(lambda: asyncio.run(_calls(deck))).text == "hello"
