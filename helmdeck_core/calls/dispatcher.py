"""Runs calls: the one loop over attempts, whole and streamed."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from helmdeck_core.calls.call import Call
from helmdeck_core.calls.call_services import CallServices
from helmdeck_core.calls.chain_orders import open_chain_orders
from helmdeck_core.calls.completer import Completer
from helmdeck_core.calls.hedged_call import Batches, run_hedged, stream_hedged
from helmdeck_core.calls.model_cooldowns import CircuitBreaker
from helmdeck_core.calls.model_health import ModelHealth
from helmdeck_core.calls.operation import CallOptions, CallResult, Operation
from helmdeck_core.calls.provider_client import Chunks, ProviderClient
from helmdeck_core.calls.recovery_policy import RecoverySettings, WaitPolicy
from helmdeck_core.calls.retry_budget import RetryBudget
from helmdeck_core.calls.shared_waits import SharedWaits
from helmdeck_core.domain.chain_policies import Hedge
from helmdeck_core.domain.chat import ChatResponse
from helmdeck_core.domain.recovery_actions import RecoveryRule
from helmdeck_core.resolve.runtime import Runtime

T = TypeVar("T")


class Dispatcher:
    """Runs calls over one client."""

    def __init__(
        self,
        runtime: Runtime,
        client: ProviderClient,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        config = runtime.config.recovery
        self._runtime = runtime
        waits = WaitPolicy(
            backoff_s=config.backoff_s,
            max_wait_s=config.max_wait_s,
            patience_s=config.patience_s,
            attempt_share=config.attempt_share,
        )
        rules = runtime.contributed(RecoveryRule)
        budget = RetryBudget(config.retry_share, config.retry_minimum)
        self.services: CallServices = CallServices(
            runtime=runtime,
            client=client,
            completer=Completer(runtime, client, clock),
            health=ModelHealth(
                breaker=CircuitBreaker(
                    config.cool_down_after, config.cool_down_s, runtime.weights["cooldown.provider_models"]
                ),
                waits=SharedWaits(self._now_s, self._sleep, jitter, config.max_wait_s),
                budget=budget,
                limits=waits,
                clock=self._now_s,
                sleep=self._sleep,
                emit=runtime.emit,
                rules=rules,
            ),
            recovery=RecoverySettings(
                rules=rules,
                waits=waits,
                fallback_on=config.fallback_on,
                drops_turns=config.drop_turns,
                is_free=self._is_free,
                window_of=self._window_of,
                jitter=jitter,
                take_retry=budget.take,
            ),
            chains=open_chain_orders(runtime),
            think_share=config.think_share,
            clock=clock,
            sleep=sleep,
        )

    async def run(self, operation: Operation[T], options: CallOptions) -> CallResult[T]:
        """Run a call to its result.

        :raises CallFailed: the last failure, with all attempts.
        """
        call = Call(self.services, operation, options)
        hedge = _hedge(call, options)
        if hedge is None or hedge.after_s is None:
            return await self._run(call)
        second = functools.partial(Call, self.services, operation, first=call)
        return await run_hedged(call, hedge, options, self._run, second)

    async def _run(self, call: Call[T]) -> CallResult[T]:
        with call:
            for attempt in call.attempts():
                with attempt:
                    with call.time_limit(attempt):
                        await call.prepare(attempt)
                        if attempt.response is None:
                            attempt.response = await call.complete(attempt)
                    await call.read(attempt)
        return call.result if call.result is not None else await call.fail()

    async def stream(
        self, operation: Operation[T], options: CallOptions, convert: Callable[[CallResult[T]], ChatResponse]
    ) -> Chunks:
        """Run a call: yield the chunks in batches, and last the response. An interrupted text is continued.

        :param convert: makes the response of the result.

        :raises CallFailed: the last failure; chunks may have been yielded before.
        """
        call = Call(self.services, operation, options, streams=True)
        hedge = _hedge(call, options)
        if hedge is None or hedge.first_token_s is None:
            source = self._batches(call)
        else:
            second = functools.partial(Call, self.services, operation, streams=True, first=call)
            source = stream_hedged(call, hedge, options, self._batches, second)
        async with contextlib.aclosing(source) as batches:
            async for batch in batches:
                yield convert(batch) if isinstance(batch, CallResult) else batch
                del batch  # so that no traceback with variables shows the text

    async def _batches(self, call: Call[T]) -> Batches[T]:
        with call:
            for attempt in call.attempts():
                async with contextlib.aclosing(call.stream(attempt)) as batches:
                    async for batch in batches:
                        yield batch
                        del batch  # so that no traceback with variables shows the text
        yield call.result if call.result is not None else await call.fail()

    # Through the services, whose clock and sleep can be replaced.
    def _now_s(self) -> float:
        return self.services.clock()

    def _sleep(self, seconds: float) -> Awaitable[None]:
        return self.services.sleep(seconds)

    def _window_of(self, model: str) -> int | None:
        lookup = self._runtime.budgets.find(model)
        return None if lookup.is_fallback else lookup.budget.input_tokens

    def _is_free(self, model: str) -> bool:
        return self._runtime.pricer.is_free(self._runtime.budgets.find(model).budget, model)


def _hedge(call: Call[Any], options: CallOptions) -> Hedge | None:
    """The second request of a call; a call with a cost limit has none."""
    return None if call.order is None or options.limits.max_cost_usd is not None else call.order.hedge
