"""Hedging: while the first model is slower than it usually is, a second call goes to the rest of the chain; the first answer wins.

Of a stream, the first chunk decides: nothing was passed on before it, so the caller sees one model alone. Both are one call: they
share its id, number their attempts in one sequence, and its end is reported once.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from typing import Any, TypeVar

import attrs

from helmdeck_core.calls.call import Call
from helmdeck_core.calls.operation import CallOptions, CallResult
from helmdeck_core.domain.chain_policies import Hedge
from helmdeck_core.domain.chat import ChatDelta
from helmdeck_core.errors import Attempt, CallFailed, FailureClass, total_cost

T = TypeVar("T")

Batches = AsyncGenerator[Sequence[ChatDelta] | CallResult[T], None]
"""The chunks of a call in batches, and last its result."""


async def run_hedged(
    call: Call[T],
    hedge: Hedge,
    options: CallOptions,
    run: Callable[[Call[T]], Awaitable[CallResult[T]]],
    second: Callable[[CallOptions], Call[T]],
) -> CallResult[T]:
    """Run a call, and a second one if the first is slow; cancel the one that is not needed, whose cost is part of the result.

    :param run: runs a call to its result.
    :param second: makes the second call.
    :raises CallFailed: both calls failed; the failure is that of the first one.
    """
    calls, tasks = [call], [asyncio.ensure_future(run(call))]
    with _one_end(calls):
        try:
            done, _ = await asyncio.wait(tasks, timeout=hedge.after_s)
            if done or not hedge.take():
                return await tasks[0]
            calls.append(_begin_second(call, second, _second_options(call, options, hedge.after_s)))
            tasks.append(asyncio.ensure_future(run(calls[1])))
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if (winner := _succeeded(tasks)) is None:
                await asyncio.wait(tasks)
                winner = _succeeded(tasks)
        finally:
            await _cancel(tasks)
        lost = _lost(call, calls, winner)
        with _adding(lost):
            result = tasks[winner or 0].result()
    return _with_lost(result, options, lost)


async def stream_hedged(
    call: Call[T],
    hedge: Hedge,
    options: CallOptions,
    stream: Callable[[Call[T]], Batches[T]],
    second: Callable[[CallOptions], Call[T]],
) -> Batches[T]:
    """Stream a call, or a second one whose first chunk is earlier than that of a slow first call; as ``run_hedged`` otherwise."""
    calls, readers = [call], [_Reader(stream(call))]
    lost: tuple[Attempt, ...] = ()
    with _one_end(calls):
        try:
            done, _ = await asyncio.wait([readers[0].first], timeout=hedge.first_token_s)
            if not done and hedge.take():
                calls.append(_begin_second(call, second, _second_options(call, options, hedge.first_token_s)))
                readers.append(_Reader(stream(calls[1])))
                firsts = [reader.first for reader in readers]
                await asyncio.wait(firsts, return_when=asyncio.FIRST_COMPLETED)
                if not any(reader.has_begun for reader in readers):
                    await asyncio.wait(firsts)
            winner = next((place for place, reader in enumerate(readers) if reader.has_begun), None)
            if len(readers) > 1:
                if winner is not None:
                    await _cancel([readers[1 - winner].task])
                lost = _lost(call, calls, winner)
            with _adding(lost):
                async with contextlib.aclosing(readers[winner or 0].batches()) as batches:
                    async for batch in batches:
                        yield _with_lost(batch, options, lost) if isinstance(batch, CallResult) else batch
                        del batch  # so that no traceback with variables shows the text
        finally:
            await _cancel([each for reader in readers for each in (reader.task, reader.first)])


class _Reader:
    """Reads a stream in a task of its own: its timeouts belong to one task.

    :ivar first: the first batch; ``None`` if the stream ends without one.
    """

    def __init__(self, stream: Batches[Any]) -> None:
        self._batches: asyncio.Queue[Any] = asyncio.Queue()
        self.task: asyncio.Future[None] = asyncio.ensure_future(self._read(stream))
        self.task.add_done_callback(lambda _: self._batches.put_nowait(None))
        self.first: asyncio.Future[Any] = asyncio.ensure_future(self._batches.get())

    async def _read(self, stream: Batches[Any]) -> None:
        async with contextlib.aclosing(stream) as batches:
            async for batch in batches:
                self._batches.put_nowait(batch)
                del batch  # so that no traceback with variables shows the text

    @property
    def has_begun(self) -> bool:
        """Whether a batch arrived."""
        return self.first.done() and self.first.result() is not None

    async def batches(self) -> Batches[Any]:
        """Yield the batches, and raise the failure of the stream."""
        batch = await self.first
        while batch is not None:
            yield batch
            batch = await self._batches.get()
        self.task.result()


def _second_options(call: Call[Any], options: CallOptions, waited_s: float | None) -> CallOptions:
    """The options of the second call: the rest of the chain, and what is left of the time."""
    assert call.order is not None
    deadline_s, models = options.limits.deadline_s, call.order.models
    left_s = None if deadline_s is None else max(deadline_s - (waited_s or 0.0), 0.0)
    rest = attrs.evolve(options.limits, fallbacks=models[2:], deadline_s=left_s)
    return attrs.evolve(options, model=models[1], limits=rest)


def _begin_second(call: Call[T], second: Callable[[CallOptions], Call[T]], options: CallOptions) -> Call[T]:
    """Return the second call; from now on, neither of the two may end the call alone."""
    call.log.reports_end = False
    return second(options)


@contextlib.contextmanager
def _one_end(calls: Sequence[Call[Any]]) -> Iterator[None]:
    """Report the end of a call, if neither of its two requests did."""
    try:
        yield
    except BaseException as error:
        if not any(each.log.reports_end for each in calls):
            calls[0].log.report_end(error)
        raise


@contextlib.contextmanager
def _adding(lost: Sequence[Attempt]) -> Iterator[None]:
    """Add the attempts of the other request to a failure."""
    try:
        yield
    except CallFailed as failure:
        if not lost:
            raise
        attempts = (*lost, *failure.attempts)
        whole = attrs.evolve(failure, attempts=attempts, cost_usd=total_cost(attempts))
    else:
        return
    raise whole


def _lost(first: Call[Any], calls: Sequence[Call[Any]], winner: int | None) -> tuple[Attempt, ...]:
    """The attempts of the call that is not needed; the policy learns of the cancelled one, which its call did not report.

    :param winner: which of the calls answers; ``None`` if both failed.
    """
    then = "" if winner is None else f"cancelled: {calls[winner].model} answered first"
    other = calls[1 - (winner or 0)]
    attempts = other.result.attempts if other.result else other.log.cancel(other.current, other.services.clock(), then)
    if winner is not None:
        calls[winner].log.reports_end = True
    cancelled = [attempt for attempt in attempts if attempt.cause is FailureClass.CANCELLED]
    first.services.chains.record(first.order, cancelled)
    return attempts


def _with_lost(result: CallResult[T], options: CallOptions, lost: Sequence[Attempt]) -> CallResult[T]:
    return attrs.evolve(result, model=options.model, attempts=(*lost, *result.attempts))


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
