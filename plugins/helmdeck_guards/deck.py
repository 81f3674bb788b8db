"""The guards for calls from Python."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any

from helmdeck_core import ChatDelta, ChatRequest, ChatResponse, Helmdeck
from helmdeck_guards.guards import Guards
from helmdeck_guards.settings import GuardSender
from helmdeck_guards.streaming import guarded_stream


class GuardedDeck:
    """Sends requests of a deck through the guards of its configuration.

    :param sender: who sends the requests, for the selection of guards.
    :raises ConfigError: with every mistake of ``[guards]``.
    """

    def __init__(self, deck: Helmdeck, sender: GuardSender | None = None) -> None:
        self.deck = deck
        self.guards: Guards = Guards(deck)
        self._sender = sender or GuardSender()

    async def acomplete(self, request: ChatRequest, **options: Any) -> ChatResponse:
        """Send a request like ``Helmdeck.acomplete``.

        :raises GuardBlocked: a guard blocks the request or the answer.
        """
        session = self.guards.session(self._sender, request.model, self.deck.runtime.emit)
        if session is None:
            return await self.deck.acomplete(request, **options)
        checked = await session.check_request(request)
        return await session.check_answer(await self.deck.acomplete(checked, **options))

    async def astream(
        self, request: ChatRequest, **options: Any
    ) -> AsyncGenerator[Sequence[ChatDelta] | ChatResponse, None]:
        """Send a request like ``Helmdeck.astream_batches``: yield the deltas in batches, and last the response.

        :raises GuardBlocked: a guard blocks the request or the answer.
        """
        session = self.guards.session(self._sender, request.model, self.deck.runtime.emit)
        if session is not None:
            request = await session.check_request(request)
        chunks = self.deck.astream_batches(request, **options)
        stream = guarded_stream(session, chunks) if session is not None else chunks
        try:
            async for chunk in stream:
                yield chunk
        finally:
            await stream.aclose()

    async def aclose(self) -> None:
        """Close what the guards opened; the deck stays open."""
        await self.guards.aclose()
