"""Sends the requests of one provider over several routes: chooses one, and moves on when it fails."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any, TypeVar

import attrs

from helmdeck_core import CallFailed, ChatRequest, ChatResponse, CooldownStarted, Event, Provider, ProviderSettings
from helmdeck_providers.routing import Choose, Routes
from helmdeck_providers.routing.key_cooldowns import Cooldowns, kind_of, summary

T = TypeVar("T")


LISTING = "models"
"""Stands for a model where models are listed: a key without that permission may still call them."""


def _model_of(request: ChatRequest | None) -> str:
    return LISTING if request is None else request.model


@attrs.frozen(eq=False)
class _Waiter:
    """A request that waits until one of its routes has room."""

    loop: asyncio.AbstractEventLoop
    granted: asyncio.Future[int | None]
    usable: Sequence[int]


class RouteChooser:
    """The routes of one provider: requests in flight and cooldowns. Shared by all event loops of a deck."""

    def __init__(self, routes: Routes, emit: Callable[[Event], None], choose: Choose) -> None:
        self.routes: tuple[ProviderSettings, ...] = tuple(routes)
        urls = [route.base_url for route in routes]
        self._servers = [urls.index(url) for url in urls]
        self.in_flight: list[int] = [0] * len(routes)
        self._emit = emit
        self._choose = choose
        self._cooldowns = Cooldowns()
        self._waiters: deque[_Waiter] = deque()
        self._lock = threading.Lock()

    def connect(self, providers: Sequence[Provider]) -> Provider:
        """Return the provider over the open providers of one event loop."""
        return RoutedProvider(self, providers)

    async def acquire(self, request: ChatRequest | None, failures: dict[int, CallFailed]) -> int:
        """Return the index of the route for a request, which counts as in flight until ``release``.

        If every route that could answer is busy up to its limit, wait for one.

        :param failures: the failures of the routes that were tried already.
        :raises CallFailed: no route is left.
        """
        model = _model_of(request)
        while True:
            with self._lock:
                usable, limited_for_s = self._usable(model, failures)
                free = [index for index in usable if self._has_room(index)]
                if free:
                    index = free[0] if len(free) == 1 else self._choose(self.routes, self.in_flight, free, request)
                    self.in_flight[index] += 1
                    return index
                if not usable:
                    break
                loop = asyncio.get_running_loop()
                waiter = _Waiter(loop, loop.create_future(), usable)
                self._waiters.append(waiter)
            if (granted := await self._wait(waiter)) is not None:
                return granted
        raise summary(list(failures.values()), limited_for_s, len(self.routes))

    def release(self, index: int) -> None:
        """End a request: its room goes to the first request that waits for it."""
        with self._lock:
            for waiter in tuple(self._waiters):
                if index in waiter.usable:
                    self._waiters.remove(waiter)
                    if self._grant(waiter, index):
                        return
            self.in_flight[index] -= 1

    def record_failure(self, index: int, model: str, failure: CallFailed) -> bool:
        """Start the cooldown of a route if its key or server caused the failure; return whether it did."""
        if kind_of(failure) is None:
            return False
        with self._lock:
            server = self._servers[index]
            seconds = self._cooldowns.start(index, server, model, failure, time.monotonic())
            while self._waiters:  # they may be waiting for this route: each chooses again
                self._grant(self._waiters.popleft(), None)
        if seconds is not None:
            self._report(index, seconds, failure)
        return True

    def _report(self, index: int, seconds: float, failure: CallFailed) -> None:
        """Emit the event, with nothing of the key but its position."""
        kind = "key" if len(set(self._servers)) == 1 else "route"
        self._emit(
            CooldownStarted(
                provider=self.routes[index].name,
                route=f"{kind} {index + 1} of {len(self.routes)}",
                seconds=seconds,
                cause=failure.failure_class,
            )
        )

    def record_success(self, index: int, model: str) -> None:
        """End the cooldowns of a route that answered."""
        with self._lock:
            self._cooldowns.end(index, self._servers[index], model)

    def _usable(self, model: str, failures: dict[int, CallFailed]) -> tuple[Sequence[int], float | None]:
        """The routes that may be tried, and the seconds until the first rate limit ends."""
        now_s, ready, cooling, waits = time.monotonic(), [], {}, []
        for index in range(len(self.routes)):
            cooldown = self._cooldowns.find(index, self._servers[index], model, now_s)
            if cooldown is not None and cooldown.is_requested:
                waits.append(cooldown.until_s - now_s)
            elif cooldown is not None:
                cooling[index] = cooldown.until_s
            elif index not in failures:
                ready.append(index)
        if not ready and not failures and cooling:
            # A cooldown of our own is a guess: if nothing else is left, the route that is the next to return is tried.
            first_s = min(cooling.values())
            ready = [index for index, until_s in cooling.items() if until_s == first_s]
        return ready, min(waits, default=None)

    def _has_room(self, index: int) -> bool:
        limit = self.routes[index].max_concurrent
        return limit is None or self.in_flight[index] < limit

    # -- waiting -------------------------------------------------------------------------------------------

    async def _wait(self, waiter: _Waiter) -> int | None:
        """Wait for room; return the route, or ``None`` to choose again."""
        try:
            return await waiter.granted
        except asyncio.CancelledError:
            with self._lock, contextlib.suppress(ValueError):
                self._waiters.remove(waiter)
            if (
                not waiter.granted.cancelled()
                and waiter.granted.done()
                and (index := waiter.granted.result()) is not None
            ):
                self.release(index)
            raise

    def _grant(self, waiter: _Waiter, index: int | None) -> bool:
        """Hand a route over to a request; return whether its event loop still runs."""
        try:
            waiter.loop.call_soon_threadsafe(self._deliver, waiter, index)
        except RuntimeError:  # the loop is closed
            return False
        return True

    def _deliver(self, waiter: _Waiter, index: int | None) -> None:
        if not waiter.granted.done():
            waiter.granted.set_result(index)
        elif index is not None:  # cancelled in the meantime
            self.release(index)


class RoutedProvider:
    """A provider over the open providers of all routes. It streams and lists models if they do."""

    def __init__(self, chooser: RouteChooser, providers: Sequence[Provider]) -> None:
        self._chooser = chooser
        self._providers = providers
        for name in ("batches", "stream"):
            if hasattr(providers[0], name):
                setattr(self, name, functools.partial(self._stream, name))
        if hasattr(providers[0], "models"):
            self.models = functools.partial(self._send, None, lambda provider: provider.models())

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Send a request over one route; if its key or server fails, over the next one.

        :raises CallFailed: no route is left, or the failure has nothing to do with the route.
        """
        return await self._send(request, lambda provider: provider.complete(request))

    async def aclose(self) -> None:
        """Close the providers of all routes."""
        async with contextlib.AsyncExitStack() as stack:
            for provider in self._providers:
                stack.push_async_callback(provider.aclose)

    async def _send(self, request: ChatRequest | None, send: Callable[[Any], Awaitable[T]]) -> T:
        model, chooser = _model_of(request), self._chooser
        failures: dict[int, CallFailed] = {}
        while True:
            index = await chooser.acquire(request, failures)
            try:
                result = await send(self._providers[index])
                chooser.record_success(index, model)
                return result
            except CallFailed as exc:
                if not chooser.record_failure(index, model, exc):
                    raise
                failures[index] = exc.with_traceback(None)  # its frames refer to this dictionary
            finally:
                chooser.release(index)

    async def _stream(self, method: str, request: ChatRequest) -> AsyncGenerator[Any, None]:
        """Stream over one route; it moves on only before the first chunk."""
        chooser, failures = self._chooser, dict[int, CallFailed]()
        while True:
            index, is_begun = await chooser.acquire(request, failures), False
            try:
                async with contextlib.aclosing(getattr(self._providers[index], method)(request)) as items:
                    async for item in items:
                        is_begun = True
                        yield item
                        del item  # so that no traceback with variables shows the text
                chooser.record_success(index, request.model)
                return
            except CallFailed as exc:
                if not chooser.record_failure(index, request.model, exc) or is_begun:
                    raise
                failures[index] = exc.with_traceback(None)
            finally:
                chooser.release(index)
