"""Opens and closes providers: one instance per provider and event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Callable, Sequence

from helmdeck_core.calls.provider_registry import ProviderRegistry
from helmdeck_core.domain.chat import Disposition, StopReason
from helmdeck_core.domain.events import ProviderNotice
from helmdeck_core.domain.providers import Provider
from helmdeck_core.resolve.runtime import Runtime

CLOSE_S = 5.0
"""Seconds that a provider has to close: a command, and a server that stops, end afterwards."""


class ProviderPool:
    """The open providers of one deck; also the context that providers are opened with."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.registry: ProviderRegistry = ProviderRegistry(runtime)
        # An open provider belongs to one event loop; a deck may be used from several. Providers hold their loop, so weak
        # keys would never expire; those of closed loops are dropped when a new loop appears.
        self._open: dict[asyncio.AbstractEventLoop, dict[str, Provider]] = {}
        self._closers: dict[asyncio.AbstractEventLoop, AsyncGenerator[None, None]] = {}
        self._lock = threading.Lock()
        self._announced: set[str] = set()
        self._routers: dict[str, Callable[[Sequence[Provider]], Provider]] = {}

    def open_provider(self, name: str) -> Provider:
        """Return the provider of that name, opening it at the first use.

        :raises InvalidRequest: there is none of that name.
        """
        providers = self._open_here()
        if name not in providers:
            if name not in self.registry.names:
                raise self.registry.unknown(name)
            providers[name] = self._open_new(name)
        return providers[name]

    def _open_new(self, name: str) -> Provider:
        if name not in self._announced:
            self._announced.add(name)
            for notice in self.registry.notices(name):
                self._runtime.emit(ProviderNotice(provider=name, notice=notice))
        spec = self.registry.contribution(name).value
        try:
            settings = self.registry.settings(name)
            providers = [spec.open(each, self) for each in settings]
            if (routing := self.registry.router_spec(name)) is None:
                return providers[0]
            with self._lock:  # one router for all event loops
                if name not in self._routers:
                    self._routers[name] = routing.open(settings, self._runtime.emit)
            return self._routers[name](providers)
        except BaseException as exc:
            failure = self.registry.wrap_error(exc, name, "cannot be opened:")
        raise failure

    def normalise_stop(self, raw: str | None, wire_format: str) -> StopReason:
        """Look a native stop reason up; part of ``ProviderContext``."""
        return self._runtime.normalise_stop(raw, wire_format)

    def disposition_of(self, raw: str | None, reason: StopReason, wire_format: str) -> Disposition:
        """Return what can be done about the way a turn ended; part of ``ProviderContext``."""
        return self._runtime.disposition_of(raw, reason, wire_format)

    def without_secrets(self, provider: str, text: str) -> str:
        """Return a text without the key and headers of a provider; part of ``ProviderContext``.

        Secrets of fewer than eight characters stay, so that recordings do not differ by key.
        """
        return self.registry.redact_text(provider, text)

    async def aclose(self) -> None:
        """Close the providers of the running loop, all of them even if one fails.

        :raises PluginError: one failed.
        """
        loop = asyncio.get_running_loop()
        with self._lock:
            providers, closer = self._open.pop(loop, {}), self._closers.pop(loop, None)
        async with contextlib.AsyncExitStack() as stack:
            if closer is not None:
                stack.push_async_callback(closer.aclose)
            for name, provider in providers.items():
                stack.push_async_callback(self._close, name, provider)

    async def _close(self, name: str, provider: Provider) -> None:
        limit = asyncio.timeout(CLOSE_S)
        try:
            async with limit:
                return await provider.aclose()
        except BaseException as exc:
            # Not a variable of its own: the exception holds secrets, and loggers write the variables of frames.
            failure = self.registry.wrap_error(
                TimeoutError(f"it takes longer than {CLOSE_S:g} s") if limit.expired() else exc,
                name,
                "cannot be closed:",
            )
        raise failure

    def _open_here(self) -> dict[str, Provider]:
        """The open providers of the running loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._open:
            closer = self._close_at_loop_end(loop)
            with self._lock:
                self._open = {each: providers for each, providers in self._open.items() if not each.is_closed()}
                self._closers = {each: closer for each, closer in self._closers.items() if each in self._open}
                self._open[loop], self._closers[loop] = {}, closer
            with contextlib.suppress(StopIteration):  # it does not wait before it yields
                closer.asend(None).send(None)
        return self._open[loop]

    async def _close_at_loop_end(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[None, None]:
        """Close the providers of a loop that ends without ``aclose``: a loop closes its async generators first."""
        try:
            yield
        finally:
            if self._closers.pop(loop, None) is not None:
                await self.aclose()
