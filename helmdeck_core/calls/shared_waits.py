"""Shared waits: when a provider asks for a wait before the next request, all calls of the deck to the model keep it.

After the wait one call tests the model. The others wait for its verdict, and then start one after the other within a second.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Mapping

import attrs

from helmdeck_core.domain.models import ModelId
from helmdeck_core.errors import CallFailed

SPREAD_S = 1.0
"""Within this time the calls that waited start; within the wait itself if that was shorter."""
MAX_MODELS = 1_000
"""Models that are remembered; model ids come from callers."""
WAITED = "shared_wait"
"""Sub-cause where no request is sent because of the ``Retry-After`` of another call."""


@attrs.define(eq=False)
class _Wait:
    """A wait, and then the test of the model.

    :ivar named_until_s: the end that the provider named; ``until_s`` is the same or earlier.
    :ivar kind: the failure class with which the provider asked for it.
    :ivar tester: the call that tests the model, since ``tested_s``; ``None`` before.
    :ivar waiting: the calls that wait for the verdict.
    """

    until_s: float
    named_until_s: float
    seconds: float
    kind: type[CallFailed]
    tester: object = None
    tested_s: float = 0.0
    waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = attrs.field(factory=list)


@attrs.frozen(kw_only=True)
class WaitLimits:
    """How long a call may wait.

    :ivar until_s: the end of the wait that the provider asked for, on the clock.
    :ivar verdict_s: seconds for the verdict of the call that tests the model. If it takes longer, the model is answering: a limit
        that is still exceeded is reported at once.
    """

    until_s: float
    verdict_s: float


class SharedWaits:
    """The waits of one deck by model; thread-safe.

    :param clock: a monotonic clock in seconds.
    :param jitter: returns random numbers from 0 to 1.
    :param max_wait_s: a longer wait ends after this time with a test, since the limit may be lifted earlier.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        jitter: Callable[[], float],
        max_wait_s: float,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._jitter = jitter
        self._max_wait_s = max_wait_s
        self._waits: dict[str, _Wait] = {}
        self._lock = threading.Lock()

    @property
    def is_empty(self) -> bool:
        """Whether no model is waited for."""
        return not self._waits

    def applies_to(self, model: str) -> bool:
        """Whether a call to a model may have to wait."""
        return model in self._waits

    def start(self, model: str, failure: CallFailed, now_s: float) -> None:
        """Start a wait, if the failure asks for one; the calls that wait for a verdict wait on."""
        if not failure.retry_after_s:
            return
        seconds = min(failure.retry_after_s, self._max_wait_s)
        new = _Wait(now_s + seconds, now_s + failure.retry_after_s, seconds, type(failure))
        with self._lock:
            self._forget_old(now_s)
            before = self._waits.get(model)
            if before is None:
                self._waits[model] = new
                return
            if new.until_s > before.until_s:
                before.until_s, before.named_until_s, before.seconds = new.until_s, new.named_until_s, seconds
            before.kind, before.tester = new.kind, None
            self._wake(before)

    def _forget_old(self, now_s: float) -> None:
        """Forget waits that ended long ago, of models that are not called any more."""
        self._waits = {
            model: wait
            for model, wait in self._waits.items()
            if wait.waiting or wait.until_s + self._max_wait_s >= now_s
        }
        if len(self._waits) >= MAX_MODELS:
            self._waits.clear()

    def left(self, now_s: float) -> Mapping[str, float]:
        """Return the seconds that are left, by model."""
        if not self._waits:
            return {}
        with self._lock:
            return {model: wait.until_s - now_s for model, wait in self._waits.items() if wait.until_s > now_s}

    async def enter(self, model: str, call: object, limits: WaitLimits, begin_s: float = 0.0) -> None:
        """Return when a call may be sent to a model.

        :param call: must call ``leave`` with its outcome.
        :param begin_s: until when the call has waited already; timers may be a little early.
        :raises CallFailed: it may not be sent in time; of the class with which the provider asked for the wait.
        """
        spread_s, is_tested = 0.0, False
        while (wait := self._waits.get(model)) is not None or spread_s:
            now_s = max(self._clock(), begin_s)
            if wait is None:
                pause_s, spread_s = self._jitter() * spread_s, 0.0
                await self._sleep(pause_s)
            elif wait.until_s > now_s and wait.named_until_s > limits.until_s:
                raise _refusal(wait, model, wait.named_until_s - now_s)
            elif wait.until_s > now_s:
                begin_s = wait.until_s
                await self._sleep(begin_s - now_s)
                spread_s = min(SPREAD_S, wait.seconds)
            elif is_tested or (verdict := self._test(wait, call, now_s)) is None:
                return
            elif await _in_time(verdict, limits.verdict_s):
                spread_s = min(SPREAD_S, wait.seconds)
            else:
                is_tested = True
                await self._sleep(self._jitter() * min(SPREAD_S, wait.seconds))

    def leave(self, model: str, call: object, *, has_verdict: bool) -> None:
        """Report that the call that tests a model is over: other calls may be sent, or, without a verdict, one of them tests it."""
        wait = self._waits.get(model)
        if wait is None or wait.tester is not call:
            return
        with self._lock:
            wait.tester = None
            if has_verdict:
                self._waits.pop(model, None)
            self._wake(wait)

    def _test(self, wait: _Wait, call: object, now_s: float) -> asyncio.Future[None] | None:
        """Let a call test the model; if another one does, return what ends with its verdict."""
        with self._lock:
            # A test without an end is one whose event loop has stopped.
            if wait.tester in (None, call) or now_s > wait.tested_s + self._max_wait_s:
                wait.tester, wait.tested_s = call, now_s
                return None
            loop = asyncio.get_running_loop()
            verdict = loop.create_future()
            wait.waiting.append((loop, verdict))
            return verdict

    def _wake(self, wait: _Wait) -> None:
        waiting, wait.waiting = wait.waiting, []
        for loop, verdict in waiting:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(_end, verdict)


def _end(verdict: asyncio.Future[None]) -> None:
    if not verdict.done():
        verdict.set_result(None)


async def _in_time(verdict: asyncio.Future[None], seconds: float) -> bool:
    """Wait for a verdict; return whether it came."""
    try:
        async with asyncio.timeout(seconds):
            await verdict
    except TimeoutError:
        return False
    return True


def _refusal(wait: _Wait, model: str, left_s: float) -> CallFailed:
    """The failure of a call that is not sent."""
    return wait.kind(
        "the provider requires a wait before the next request",
        model=model,
        provider=ModelId.provider_of(model),
        sub_cause=WAITED,
        retry_after_s=left_s,
        detail=f"Retry-After of another call, with {left_s:.1f} s left; no request was sent",
    )
