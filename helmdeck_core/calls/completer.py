"""Gets one whole answer from a model: sends, and has what was cut continued, within the limits of the turn."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

from helmdeck_core.calls.continuation.merge import Merger, SeamStream
from helmdeck_core.calls.continuation.turn import RequestGuard, SendRequest, ShapeCheck, Turn, TurnAction, TurnResult
from helmdeck_core.calls.provider_pool import ProviderPool
from helmdeck_core.config.precedence import matching_prefixes
from helmdeck_core.config.types import AgentConfig
from helmdeck_core.domain.chat import ChatDelta, ChatRequest, ChatResponse, StopReason
from helmdeck_core.domain.continuation import ContinuationLimits, TerminalReason
from helmdeck_core.domain.decode import StreamStripper
from helmdeck_core.domain.events import (
    CallRef,
    ContinuationAttempt,
    ContinuationTerminated,
    StopReasonObserved,
    ToolPayloadRepair,
)
from helmdeck_core.errors import CallFailed, InvalidRequest, LikelyTimeout
from helmdeck_core.resolve.runtime import Runtime

DEFAULT_MAX_TOKENS = 4_096
"""What a turn's budget is reckoned from where the request names no limit."""
KEPT_S = 0.05
"""Seconds before the end of an attempt at which its continuations end."""
BUDGET_FACTOR = 4
"""A turn may write this many times its first output limit."""


class Completer:
    """Sends requests over one gateway until their answers are whole.

    :param clock: seconds that only grow.
    """

    def __init__(self, runtime: Runtime, gateway: ProviderPool, clock: Callable[[], float] = time.monotonic) -> None:
        self._runtime = runtime
        self._gateway = gateway
        self._clock = clock
        self._merger = Merger(runtime.announcements)
        self._refusing: set[str] = set()

    async def complete(
        self,
        request: ChatRequest,
        judge: ShapeCheck,
        call: CallRef,
        until_s: float | None = None,
        *,
        first: ChatResponse | None = None,
        refuses: RequestGuard | None = None,
    ) -> ChatResponse:
        """Ask, and go on where the answer was cut.

        :param until_s: when the answer must be there, on the clock; what is there by then is kept.
        :param first: the answer to the request, where it came already.
        :param refuses: whether something else than the limits of the turn forbids a request.
        :raises CallFailed: the first request failed; a later one that fails leaves a partial answer.
        """
        response = first if first is not None else await self._gateway.complete(request)
        turn, step = self._begun(request, response, judge, call, refuses)
        if isinstance(step, TurnResult):
            return step.response
        async with contextlib.aclosing(self._going_on(turn, step, call, until_s, streams=False)) as batches:
            async for batch in batches:
                if isinstance(batch, ChatResponse):
                    response = batch
        return response

    def _begun(
        self, request: ChatRequest, first: ChatResponse, judge: ShapeCheck, call: CallRef, refuses: RequestGuard | None
    ) -> tuple[Turn, TurnAction]:
        turn = self.begin(request, judge, refuses)
        self.observe(request, first, call, 1)
        step = turn.feed(first)
        if isinstance(step, TurnResult):
            self._finished(request, step.response, call)
        return turn, step

    def begin(self, request: ChatRequest, judge: ShapeCheck, refuses: RequestGuard | None = None) -> Turn:
        """A turn for a request, with the limits of the deployment."""
        return Turn(
            request,
            limits_of(self._runtime.config.agent, self._runtime.weights, request),
            judge,
            self._runtime.texts,
            self._merger,
            # Looked up when an answer was cut, which few are.
            takes_native=lambda: request.model not in self._refusing and self._takes_native(request),
            refuses=refuses,
        )

    def observe(self, request: ChatRequest, response: ChatResponse, call: CallRef, iteration: int) -> None:
        """Tell why a model stopped."""
        if not self._runtime.sinks:
            return
        self._runtime.emit(
            StopReasonObserved(
                **call.place,
                provider=request.model.partition("/")[0],
                model=request.model,
                stop_reason=response.stop_reason,
                raw_stop_reason=response.raw_stop_reason,
                iteration=iteration,
            )
        )

    # -- going on ------------------------------------------------------------------------------------------

    async def continued(
        self,
        request: ChatRequest,
        first: ChatResponse,
        judge: ShapeCheck,
        call: CallRef,
        until_s: float | None = None,
        *,
        refuses: RequestGuard | None = None,
    ) -> AsyncGenerator[Sequence[ChatDelta] | ChatResponse, None]:
        """What completes an answer that came in pieces: further pieces without a seam, and last the whole response.

        Tool calls of continuations come with the response alone, for their pieces would be taken for those of the first.
        """
        turn, step = self._begun(request, first, judge, call, refuses)
        if isinstance(step, TurnResult):
            yield step.response
            return
        async with contextlib.aclosing(self._going_on(turn, step, call, until_s, streams=True)) as batches:
            async for batch in batches:
                yield batch

    async def _going_on(
        self, turn: Turn, step: TurnAction, call: CallRef, until_s: float | None, *, streams: bool
    ) -> AsyncGenerator[Sequence[ChatDelta] | ChatResponse, None]:
        """Send what the turn says until it is over: pieces, where they are wanted, and last the whole response."""
        start_s, iteration, model = self._clock(), 1, ""
        while isinstance(step, SendRequest):
            model, iteration = step.request.model, iteration + 1
            self.announce(step, call)
            part = _Part(self._merger.stream(turn.answer), self._runtime.decoder.stream(), is_silent=step.is_repair)
            try:
                if streams:
                    async with contextlib.aclosing(self._gateway.stream(step.request)) as batches:
                        while part.response is None:
                            async with asyncio.timeout(self._left_s(until_s)):
                                batch = await anext(batches)
                            if given := part.feed(batch):
                                yield given
                else:
                    async with asyncio.timeout(self._left_s(until_s)):
                        part.response = await self._gateway.complete(step.request)
            except TimeoutError:
                late = LikelyTimeout("the continuation did not come in time", sub_cause="deadline")
                step = turn.fail(late, part.shown)
            except CallFailed as exc:
                step = turn.fail(exc, part.shown) if part.shown else self.after_failure(turn, step, exc)
            else:
                self.observe(step.request, part.response, call, iteration)
                if streams and (rest := part.finish()):
                    yield (ChatDelta(rest),)
                step = turn.feed(part.response, part.shown if streams else None)
        self._terminated(model, step.response, call, self._clock() - start_s)
        yield step.response

    def _left_s(self, until_s: float | None) -> float | None:
        """Seconds for a continuation: a little less than the attempt has, so that what is there can be kept."""
        return None if until_s is None else max(0.0, until_s - self._clock() - KEPT_S)

    def announce(self, send: SendRequest, call: CallRef) -> None:
        """Tell that a continuation is asked for."""
        if send.is_repair or not self._runtime.sinks:
            return  # a repair is told with its outcome
        self._runtime.emit(
            ContinuationAttempt(
                **call.place,
                model=send.request.model,
                attempt_index=send.attempt,
                output_tokens=send.output_tokens,
                output_chars=send.output_chars,
                remaining_tokens=send.remaining_tokens,
                remaining_chars=send.remaining_chars,
                is_native=send.is_native,
            )
        )

    def after_failure(self, turn: Turn, send: SendRequest, failure: CallFailed) -> TurnAction:
        """What follows a continuation that failed: a model that does not take its own answer is asked with a hint."""
        if send.is_native and isinstance(failure, InvalidRequest) and self._runtime.texts["continuation.hint"]:
            self._refusing.add(send.request.model)
            return turn.without_native(send)
        return turn.fail(failure)

    def _takes_native(self, request: ChatRequest) -> bool:
        rows = self._runtime.native_continuations
        names = self._runtime.budgets.names(request.model)
        found = matching_prefixes(rows, names)
        row = rows[found[-1]].value if found else None
        return row is not None and row.is_taken and (row.takes_schema or request.response_format is None)

    # -- telling -------------------------------------------------------------------------------------------

    def _finished(self, request: ChatRequest, response: ChatResponse, call: CallRef) -> None:
        """Tell of an answer that stays cut without a continuation."""
        if not self._runtime.sinks:
            return
        if response.continuation is not None:
            self._terminated(request.model, response, call, 0.0)
        elif response.stop_reason is StopReason.MAX_TOKENS:
            reason = TerminalReason.NOT_CONTINUED
            self._runtime.emit(
                ContinuationTerminated(
                    **call.place, model=request.model, terminal_reason=reason, attempts=0, repairs=0, latency_s=0.0
                )
            )

    def _terminated(self, model: str, response: ChatResponse, call: CallRef, latency_s: float) -> None:
        record = response.continuation
        if record is None or not self._runtime.sinks:
            return
        if record.repairs:
            failed = record.terminal_reason is not TerminalReason.COMPLETED
            self._runtime.emit(
                ToolPayloadRepair(
                    **call.place,
                    model=model,
                    parse_issue=record.issue,
                    repair_attempts=record.repairs,
                    is_successful=not failed,
                )
            )
        self._runtime.emit(
            ContinuationTerminated(
                **call.place,
                model=model,
                terminal_reason=record.terminal_reason,
                attempts=record.attempts,
                repairs=record.repairs,
                dropped=record.dropped,
                latency_s=latency_s,
            )
        )


class _Part:
    """A continuation that arrives in pieces: what of it is given on.

    :param is_silent: nothing of it is: only its tool calls are wanted.
    """

    def __init__(self, seam: SeamStream, stripper: StreamStripper, *, is_silent: bool) -> None:
        self._seam = seam
        self._stripper = stripper
        self._is_silent = is_silent
        self._shown: list[str] = []
        self.response: ChatResponse | None = None

    @property
    def shown(self) -> str:
        """What was given on of the text."""
        return "".join(self._shown)

    def feed(self, batch: Sequence[ChatDelta] | ChatResponse) -> Sequence[ChatDelta]:
        """Take the next pieces, or the response; return what is given on of them."""
        if isinstance(batch, ChatResponse):
            self.response = batch
            return ()
        return [given for piece in batch if (given := self._given(piece)) is not None]

    def _given(self, piece: ChatDelta) -> ChatDelta | None:
        text = ""
        if piece.text and not self._is_silent:
            visible, _ = self._stripper.feed(piece.text)
            text = self._keep(self._seam.feed(visible))
        return ChatDelta(text, piece.reasoning_content) if text or piece.reasoning_content else None

    def finish(self) -> str:
        """Say that nothing follows; return what was held back."""
        if self._is_silent or self.response is None:
            return ""
        rest = self._seam.feed(self._stripper.finish()[0])
        return self._keep(rest + self._seam.finish(is_cut=self.response.stop_reason is StopReason.MAX_TOKENS))

    def _keep(self, text: str) -> str:
        if text:
            self._shown.append(text)
        return text


def limits_of(agent: AgentConfig, weights: Mapping[str, float], request: ChatRequest) -> ContinuationLimits:
    """The limits of a deployment for one request."""
    tokens = agent.continuation_max_total_completion_tokens
    return ContinuationLimits(
        max_attempts=agent.continuation_max_attempts,
        max_completion_tokens=tokens or BUDGET_FACTOR * (request.max_tokens or DEFAULT_MAX_TOKENS),
        max_output_chars=agent.continuation_max_output_chars,
        tool_repair_attempts=agent.continuation_tool_repair_attempts,
        max_thought_share=weights["continuation.max_thought_share"],
    )
