"""Sends one request to its provider, and checks and times the response."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from typing import TypeGuard

import attrs

from helmdeck_core.calls.operation import copy_response
from helmdeck_core.calls.provider_pool import ProviderPool
from helmdeck_core.calls.schema_fallback import SchemaFallback
from helmdeck_core.domain.chat import ChatDelta, ChatRequest, ChatResponse, ToolCallDelta
from helmdeck_core.domain.constraints import Constraint
from helmdeck_core.domain.models import ModelId
from helmdeck_core.domain.providers import Provider
from helmdeck_core.errors import SCHEMA_REFUSED, CallFailed, HelmdeckError, Usage
from helmdeck_core.hooks.type_check import misfit

Chunks = AsyncGenerator[Sequence[ChatDelta] | ChatResponse, None]
"""The chunks of a response in batches, and last the whole response."""


class ProviderClient:
    """Sends requests over a pool of providers."""

    def __init__(self, pool: ProviderPool) -> None:
        self.pool = pool
        self._registry = pool.registry
        self._schema_fallback = SchemaFallback()

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Send one request.

        :raises CallFailed: the subclass of the cause, with model, provider and latency filled in.
        :raises PluginError: the provider raised something else.
        """
        name = ModelId.provider_of(request.model)
        provider = self._provider(name, request)
        request = self._schema_fallback.adapt(request)
        start = time.perf_counter()
        try:
            return _checked(await provider.complete(request), start)
        except BaseException as exc:
            failure = self._failure(exc, name, request, start)
        raise failure

    async def stream(self, request: ChatRequest) -> Chunks:
        """Send one request: yield the chunks as they arrive in batches of any size, and last the whole response.

        A provider that cannot stream gives its response as one batch. Closing the iterator closes the connection.

        :raises CallFailed: as for ``complete``, also between chunks.
        :raises PluginError: the provider raised something else, or ended the stream without a response.
        """
        name = ModelId.provider_of(request.model)
        provider = self._provider(name, request)
        open_stream: Callable[[ChatRequest], AsyncGenerator[object, None]] | None
        open_stream = getattr(provider, "batches", None) or getattr(provider, "stream", None)
        if open_stream is None:
            response = await self.complete(request)
            yield list(_chunks_of(response))
            yield response
            return
        request = self._schema_fallback.adapt(request)
        start = time.perf_counter()
        try:
            async with contextlib.aclosing(open_stream(attrs.evolve(request, stream=True))) as items:
                async for item in items:
                    if not _is_batch(item):
                        yield _checked(item, start)
                        return
                    yield (item,) if isinstance(item, ChatDelta) else item
                    del item  # so that no traceback with variables shows the text
            raise TypeError("the stream ended without a ChatResponse")
        except GeneratorExit:
            raise
        except BaseException as exc:
            failure = self._failure(exc, name, request, start)
        raise failure

    def can_stream(self, model: str) -> bool:
        """Whether the provider of a model streams."""
        provider = self.pool.open_provider(ModelId.provider_of(model))
        return hasattr(provider, "batches") or hasattr(provider, "stream")

    def constraint(self, request: ChatRequest) -> Constraint | None:
        """Return how the response to a request would be constrained; ``None`` where the provider does not report it.

        No request is sent and no connection is opened.

        :raises InvalidRequest: there is no such provider, or one of its settings is invalid.
        """
        name = self._registry.check(request.model).provider
        return self._constraint(name, self._schema_fallback.adapt(request))

    def _provider(self, name: str, request: ChatRequest) -> Provider:
        if name not in self._registry.names:
            self._registry.check(request.model)
        return self.pool.open_provider(name)

    def _constraint(self, name: str, request: ChatRequest) -> Constraint | None:
        spec = self._registry.contribution(name).value
        if request.response_format is None:
            return Constraint()
        if spec.constrain is None:
            return None
        try:
            return spec.constrain(self._registry.settings(name)[0], request)
        except BaseException as exc:
            failure = self._registry.wrap_error(exc, name, "cannot report the constraint on an answer:")
        raise failure

    def _failure(self, exc: BaseException, provider: str, request: ChatRequest, start: float) -> BaseException:
        """The exception of a provider with model, provider and latency."""
        if not isinstance(exc, CallFailed):
            return self._registry.wrap_error(exc, provider, "raised")
        if exc.sub_cause == SCHEMA_REFUSED:
            with contextlib.suppress(HelmdeckError):  # the provider's failure counts, not one of reading its constraint
                self._schema_fallback.record_failure(request, exc, self._constraint(provider, request))
        latency_s = exc.latency_s or time.perf_counter() - start
        usage = exc.usage.plausible() if isinstance(exc.usage, Usage) else Usage()
        return attrs.evolve(exc, model=exc.model or request.model, provider=provider, latency_s=latency_s, usage=usage)


def _chunks_of(response: ChatResponse) -> Iterator[ChatDelta]:
    """A whole response as the chunks of a stream."""
    if response.reasoning_content:
        yield ChatDelta(reasoning_content=response.reasoning_content)
    if response.text:
        yield ChatDelta(text=response.text)
    for index, call in enumerate(response.tool_calls):
        yield ChatDelta(tool_call=ToolCallDelta(index, call.id, call.name, call.arguments))


def _is_batch(item: object) -> TypeGuard[ChatDelta | Sequence[ChatDelta]]:
    return isinstance(item, ChatDelta) or (isinstance(item, (list, tuple)) and set(map(type, item)) <= {ChatDelta})


def _checked(response: object, start: float) -> ChatResponse:
    """Reject a value that is not a valid response, before other code fails on it; correct impossible numbers."""
    if not isinstance(response, ChatResponse):
        raise TypeError(f"not a ChatResponse: returned {type(response).__name__}")
    if (problem := misfit(response)) is not None:
        raise TypeError(f"not a ChatResponse: {problem}")
    usage, latency_s = response.usage.plausible(), response.latency_s
    if usage is response.usage and 0.0 < latency_s < math.inf:
        return response
    latency_s = latency_s if 0.0 < latency_s < math.inf else time.perf_counter() - start
    return copy_response(response, usage=usage, latency_s=latency_s)
