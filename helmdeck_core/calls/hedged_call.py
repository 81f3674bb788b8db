"""Hedging: while the first model is slower than it usually is, a second call goes to the rest of the chain; the first answer wins."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import attrs

from helmdeck_core.calls.call import Call
from helmdeck_core.calls.operation import CallOptions, CallResult

T = TypeVar("T")


async def run_hedged(
    call: Call[T],
    options: CallOptions,
    run: Callable[[Call[T]], Awaitable[CallResult[T]]],
    second: Callable[[CallOptions], Call[T]],
) -> CallResult[T]:
    """Run a call, and a second one if the first is slow; cancel the one that is not needed, whose cost is part of the result.

    :param run: runs a call to its result.
    :param second: makes the second call.
    :raises CallFailed: both calls failed; the failure is that of the first one.
    """
    order, limits, calls = call.order, options.limits, [call]
    assert order is not None
    assert order.hedge is not None
    tasks = [asyncio.ensure_future(run(call))]
    try:
        done, _ = await asyncio.wait(tasks, timeout=order.hedge.after_s)
        if done or not order.hedge.take():
            return await tasks[0]
        left_s = None if limits.deadline_s is None else max(limits.deadline_s - order.hedge.after_s, 0.0)
        rest = attrs.evolve(limits, fallbacks=order.models[2:], deadline_s=left_s)
        calls.append(second(attrs.evolve(options, model=order.models[1], limits=rest, parent=call.ref.call_id)))
        tasks.append(asyncio.ensure_future(run(calls[1])))
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if (winner := _succeeded(tasks)) is None:
            await asyncio.wait(tasks)
            winner = _succeeded(tasks) or 0
    finally:
        await _cancel(tasks)
    result = tasks[winner].result()
    lost = calls[1 - winner].cancelled_attempt(f"cancelled: {result.prepared.request.model} answered first")
    if lost is None:
        return result
    call.services.chains.record(order, [lost])
    return attrs.evolve(result, model=options.model, attempts=(lost, *result.attempts))


def _succeeded(tasks: Sequence[asyncio.Future[Any]]) -> int | None:
    """The first task with a result."""
    ends = (
        place for place, task in enumerate(tasks) if task.done() and not task.cancelled() and task.exception() is None
    )
    return next(ends, None)


async def _cancel(tasks: Sequence[asyncio.Future[Any]]) -> None:
    """Cancel what still runs, and wait until its connections are closed."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not log it
