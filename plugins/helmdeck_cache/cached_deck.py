"""Calls of a deck that use response caches: ``acomplete``, ``aask``, ``astream``."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Sequence
from typing import Any, Final, TypeVar, Unpack, overload

import attrs

from helmdeck_cache.caches import ResponseCaches
from helmdeck_cache.flights import Flight
from helmdeck_cache.replay import answer_of, deltas_of, emit_reuse, replayed, stored_answer
from helmdeck_cache.request_keys import NotCacheable, problem_of, query_of, size_of
from helmdeck_cache.usable_answers import problem_of_answer
from helmdeck_cache.use import CacheOutcome, CacheUse
from helmdeck_core import (
    Answer,
    AnswerType,
    AskOptions,
    CachedAnswer,
    CacheMissed,
    CacheQuery,
    CallFailed,
    CallLimits,
    ChatDelta,
    ChatInput,
    ChatRequest,
    ChatResponse,
    Event,
    Helmdeck,
    one_by_one,
)

T = TypeVar("T")

INLINE_BYTES: Final = 50_000
"""Bytes of a request whose key is computed on the event loop, in less than a millisecond."""

SHARED: Final = "shared"
NO_LIMITS: Final = CallLimits()


@attrs.frozen(kw_only=True)
class _Found:
    """An answer without a request to a provider."""

    cache: str
    answer: CachedAnswer


@attrs.frozen(kw_only=True)
class _Ticket:
    """A call that makes a request.

    :ivar query: ``None`` for a call that uses no cache.
    :ivar flight: what equal calls wait for; ``None`` if they do not.
    :ivar limits: those of the call, less the seconds that it has waited.
    """

    limits: CallLimits
    query: CacheQuery | None = None
    flight: Flight | None = None


class CachedDeck:
    """A deck whose calls are answered from response caches.

    ::

        async with Helmdeck() as deck:
            cached = CachedDeck(deck)
            first = await cached.acomplete("Which port does HTTPS use?")
            again = await cached.acomplete("Which port does HTTPS use?")  # no request is sent
            assert again.cost_usd == 0.0

    The tenant of a call is its ``caller``, unless ``cache`` names another one. ``[cache] mode`` and its exceptions apply to the
    gateway; here, every call uses the caches, except with ``cache=None``.

    :param caches: the caches; by default those of the settings, which ``aclose`` closes.
    :raises ConfigError: with every mistake of ``[cache]``.
    """

    def __init__(self, deck: Helmdeck, caches: ResponseCaches | None = None) -> None:
        self.deck = deck
        self._has_own = caches is None
        self.caches: ResponseCaches = caches or ResponseCaches(deck.runtime)

    async def aclose(self) -> None:
        """Close the caches, unless they were passed; the deck stays open."""
        if self._has_own:
            await self.caches.aclose()

    async def acomplete(
        self,
        request: ChatRequest | ChatInput,
        *,
        cache: CacheUse | str | None = "",
        model: str | None = None,
        allows_empty: bool = False,
        allows_truncated: bool = True,
        caller: str = "local",
        limits: CallLimits = NO_LIMITS,
    ) -> ChatResponse:
        """Like ``Helmdeck.acomplete``.

        :param cache: the tenant, or how the call uses the caches; ``None`` for not at all. By default, the caller is the tenant.
        :raises CallFailed: the subclass of the cause.
        """
        options: Any = {"allows_empty": allows_empty, "allows_truncated": allows_truncated, "caller": caller}
        use = _use(cache, caller)
        if use is None:
            return await self.deck.acomplete(request, model=model, limits=limits, **options)
        request = self.deck.chat_request(request, model=model)
        start_s = time.monotonic()
        ticket = await self._board(request, use, limits, (allows_empty, allows_truncated))
        if isinstance(ticket, _Found):
            return self._reused(ticket, request, caller, start_s)
        with ticket.flight or contextlib.nullcontext():
            response = await self.deck.acomplete(request, limits=ticket.limits, **options)
            await self._keep(ticket, use, request, response)
        return response

    def astream(
        self,
        request: ChatRequest | ChatInput,
        *,
        cache: CacheUse | str | None = "",
        model: str | None = None,
        caller: str = "local",
        limits: CallLimits = NO_LIMITS,
        **options: Any,
    ) -> AsyncGenerator[ChatDelta | ChatResponse, None]:
        """Like ``Helmdeck.astream``; a stored answer is streamed too. Parameters are those of ``acomplete``."""
        chat = self.deck.chat_request(request, model=model)
        return one_by_one(self.astream_batches(chat, cache=cache, caller=caller, limits=limits, **options))

    async def astream_batches(
        self,
        request: ChatRequest,
        *,
        cache: CacheUse | str | None = "",
        caller: str = "local",
        limits: CallLimits = NO_LIMITS,
        **options: Any,
    ) -> AsyncGenerator[Sequence[ChatDelta] | ChatResponse, None]:
        """Like ``astream``, with the chunks that arrived together in one sequence."""
        use = _use(cache, caller)
        start_s = time.monotonic()
        ticket: _Found | _Ticket = _Ticket(limits=limits)
        if use is not None:
            variant = (bool(options.get("allows_empty")), options.get("allows_truncated", True))
            ticket = await self._board(request, use, limits, variant)
        if isinstance(ticket, _Found):
            response = self._reused(ticket, request, caller, start_s)
            for deltas in deltas_of(response):
                yield deltas
            yield response
            return
        with ticket.flight or contextlib.nullcontext():
            batches = self.deck.astream_batches(request, caller=caller, limits=ticket.limits, **options)
            async with contextlib.aclosing(batches):
                async for batch in batches:
                    if use is not None and isinstance(batch, ChatResponse):
                        await self._keep(ticket, use, request, batch)
                    yield batch

    @overload
    async def aask(
        self, request: ChatInput, *, cache: CacheUse | str | None = "", **options: Unpack[AskOptions]
    ) -> Answer[str]: ...
    @overload
    async def aask(
        self, request: ChatInput, type: type[T], *, cache: CacheUse | str | None = "", **options: Unpack[AskOptions]
    ) -> Answer[T]: ...
    @overload
    async def aask(
        self, request: ChatInput, type: object, *, cache: CacheUse | str | None = "", **options: Unpack[AskOptions]
    ) -> Answer[Any]: ...
    async def aask(
        self, request: ChatInput, type: Any = str, *, cache: CacheUse | str | None = "", **options: Unpack[AskOptions]
    ) -> Answer[Any]:
        """Like ``Helmdeck.aask``; the value of a stored answer is decoded again.

        Answers of a type that ``Helmdeck.decode`` does not accept, such as ``int``, are not stored.

        :raises TypeError: the type is not supported.
        :raises CallFailed: there is no usable answer; the subclass is the cause.
        """
        caller, limits = options.get("caller", "local"), options.get("limits", NO_LIMITS)
        use = _use(cache, caller)
        if use is None:
            return await self.deck.aask(request, type, **options)
        schema = self._schema_of(type)
        if schema is None and type is not str:
            self._skip(use, "type")
            return await self.deck.aask(request, type, **options)
        chat = self.deck.chat_request(request, **options)
        start_s = time.monotonic()
        ticket = await self._board(chat, use, limits, ("ask", schema, bool(options.get("partial"))))
        if isinstance(ticket, _Found):
            try:
                text = ticket.answer.response.text
                value = text if type is str else self.deck.decode(text, type).value
            except CallFailed:  # of a type with the same schema that accepts less
                self._skip(use, "type")
                return await self.deck.aask(request, type, **options)
            response = self._reused(ticket, chat, caller, start_s, pack="ask")
            return answer_of(self.deck, self._model(chat), response, value)
        options["limits"] = ticket.limits
        with ticket.flight or contextlib.nullcontext():
            answer: Answer[Any] = await self.deck.aask(request, type, **options)
            await self._keep(ticket, use, chat, attrs.evolve(answer.response, attempts=answer.attempts))
        return answer

    # -- one call --------------------------------------------------------------------------------------------

    async def _board(self, request: ChatRequest, use: CacheUse, limits: CallLimits, detail: Any) -> _Found | _Ticket:
        """Return an answer, or what a call needs that makes a request."""
        caches = self.caches
        if problem := problem_of(request, sampled=caches.settings.sampled):
            return self._skip(use, problem, limits)
        model = self._model(request)
        chain = (model, *(limits.fallbacks or ())) if caches.settings.fallbacks else (model,)
        arguments: Any = {"chain": chain, "max_age_s": use.max_age_s}
        try:
            if size_of(request) > INLINE_BYTES:
                query = await asyncio.to_thread(query_of, request, use.tenant, detail, **arguments)
            else:
                query = query_of(request, use.tenant, detail, **arguments)
        except NotCacheable as exc:
            return self._skip(use, str(exc), limits)
        if not use.reads:
            return self._missed(use, request, _Ticket(limits=limits, query=query), "refresh")
        if (found := await caches.find(query, self._emit)) is not None:
            return self._hit(use, *found)
        if not use.stores:
            return self._missed(use, request, _Ticket(limits=limits, query=query), "absent")
        wait_s, start_s = caches.settings.wait_s, time.monotonic()
        if limits.deadline_s:
            wait_s = min(wait_s, limits.deadline_s / 2)
        joined = await caches.flights.join(use.tenant, query.key, wait_s)
        if isinstance(joined, CachedAnswer):
            return self._hit(use, SHARED, joined)
        if limits.deadline_s:
            limits = attrs.evolve(limits, deadline_s=max(0.001, limits.deadline_s - (time.monotonic() - start_s)))
        return self._missed(use, request, _Ticket(limits=limits, query=query, flight=joined), "absent")

    def _skip(self, use: CacheUse, reason: str, limits: CallLimits = NO_LIMITS) -> _Ticket:
        self.caches.count(f"skipped_{reason}")
        use.outcome = CacheOutcome(status="skipped", reason=reason)
        return _Ticket(limits=limits)

    def _missed(self, use: CacheUse, request: ChatRequest, ticket: _Ticket, reason: str) -> _Ticket:
        self.caches.count("refreshed" if reason == "refresh" else "misses")
        use.outcome = CacheOutcome(status="refresh" if reason == "refresh" else "miss")
        if self.deck.runtime.sinks:
            self._emit(CacheMissed(model=request.model, reason=reason))
        return ticket

    def _hit(self, use: CacheUse, cache: str, answer: CachedAnswer) -> _Found:
        self.caches.count(SHARED if cache == SHARED else "hits")
        age_s = max(0.0, time.time() - answer.stored_s)
        use.outcome = CacheOutcome(status="shared" if cache == SHARED else "hit", cache=cache, age_s=age_s)
        return _Found(cache=cache, answer=answer)

    def _reused(self, found: _Found, request: ChatRequest, caller: str, start_s: float, pack: str = "") -> ChatResponse:
        latency_s = time.monotonic() - start_s
        if self.deck.runtime.sinks:
            call_id = emit_reuse(self._emit, found.answer, found.cache, request.model, pack, caller, latency_s)
            self.deck.report_texts(call_id, request, found.answer.response)
        return replayed(found.answer, latency_s)

    async def _keep(self, ticket: _Ticket, use: CacheUse, request: ChatRequest, response: ChatResponse) -> None:
        """Store an answer, and pass it on to the calls that wait for it, if it is usable."""
        if ticket.query is None or not use.stores:
            return
        requested = self._model(request)
        model = response.attempts[-1].model if response.attempts else requested
        is_fallback = model != requested and not self.caches.settings.fallbacks
        if problem := "fallback" if is_fallback else problem_of_answer(request, response):
            self.caches.count(f"not_stored_{problem}")
            if use.outcome is not None:
                use.outcome = attrs.evolve(use.outcome, reason=problem)
            return
        answer = stored_answer(response, model)
        if ticket.flight is not None:
            ticket.flight.end(answer)
        self.caches.count("stored")
        await self.caches.keep(ticket.query, answer, self._emit)

    def _emit(self, event: Event) -> None:
        self.deck.runtime.emit(event)

    def _model(self, request: ChatRequest) -> str:
        """The whole id of the requested model."""
        return self.deck.budget(request.model).budget.model

    def _schema_of(self, type: Any) -> Any:
        """The schema of a type whose answers ``Helmdeck.decode`` reads; ``None`` for another type."""
        if type is str:
            return None
        for kind in self.deck.runtime.contributions.values_of(AnswerType):
            if (found := kind.format_of(type)) is not None:
                return None if found.wraps and found.parse is not None and found.bare is None else found.schema
        return None


def _use(cache: CacheUse | str | None, caller: str) -> CacheUse | None:
    return CacheUse(tenant=cache or f"caller:{caller}") if isinstance(cache, str) else cache
