"""Gets one whole response from a model: sends the request, and continues a truncated response within the turn's limits."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import functools
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

import attrs

from helmdeck_core.calls.answer_shape import reaches_own_limit
from helmdeck_core.calls.continuation.requests import with_hint, with_prefill
from helmdeck_core.calls.continuation.turn import (
    RequestGuard,
    SendRequest,
    ShapeCheck,
    Turn,
    TurnAction,
    TurnResult,
)
from helmdeck_core.calls.model_text import tokens_of
from helmdeck_core.calls.operation import copy_response
from helmdeck_core.calls.provider_client import Chunks, ProviderClient
from helmdeck_core.calls.visible_text import VisibleText, read_aside
from helmdeck_core.config.precedence import matching_prefixes
from helmdeck_core.config.types import AgentConfig
from helmdeck_core.domain.chat import ChatDelta, ChatRequest, ChatResponse, StopReason
from helmdeck_core.domain.continuation import (
    Continuation,
    ContinuationLimits,
    MergeStream,
    NativeContinuation,
    TerminalReason,
)
from helmdeck_core.domain.events import (
    CallRef,
    ContinuationAttempt,
    ContinuationTerminated,
    StopReasonObserved,
    ToolPayloadRepair,
)
from helmdeck_core.domain.models import ModelId
from helmdeck_core.errors import CallFailed, InvalidRequest, LikelyTimeout
from helmdeck_core.resolve.runtime import Runtime

DEFAULT_MAX_TOKENS = 4_096
"""The output limit that a turn's budget is derived from where the request has none."""
RESERVED_S = 0.05
"""Seconds before the end of an attempt at which its continuations end, so that the partial response can be kept."""
BUDGET_FACTOR = 4
"""A turn may write this many times its first output limit."""


@attrs.frozen
class TurnSetup:
    """What the turn of one attempt is made with.

    :ivar until_s: when the response must be complete, on the clock; a partial response is kept.
    :ivar guard: forbids a continuation for other reasons than the limits of the turn.
    """

    check: ShapeCheck
    call: CallRef
    until_s: float | None
    guard: RequestGuard


class Completer:
    """Completes responses over one client.

    :param clock: a monotonic clock in seconds.
    """

    def __init__(self, runtime: Runtime, client: ProviderClient, clock: Callable[[], float] = time.monotonic) -> None:
        self._runtime = runtime
        self._client = client
        self._clock = clock
        self._without_native: set[str] = set()

    async def complete(self, request: ChatRequest, setup: TurnSetup, first: ChatResponse | None = None) -> ChatResponse:
        """Send a request and continue its response where it is truncated.

        :param first: the response to the request, where it arrived already.
        :raises CallFailed: the first request failed; if a later one fails, the response is partial.
        """
        response = first if first is not None else await self._client.complete(request)
        if setup.check.is_complete(response):
            self._emit_stop_reason(request, response, setup.call, 1)
            return response
        turn, action = await self._evaluate(request, response, setup)
        if isinstance(action, TurnResult):
            return action.response
        start_s, number = self._clock(), 1
        while isinstance(action, SendRequest):
            number += 1
            action = await self._continue(turn, action, setup, number)
        self._emit_terminated(request.model, action.response, setup.call, self._clock() - start_s)
        return action.response

    async def continue_stream(self, request: ChatRequest, first: ChatResponse, setup: TurnSetup) -> Chunks:
        """Continue a streamed response: yield its further chunks without a seam, and last the whole response.

        Tool calls of continuations come with the whole response only; their chunks would be mistaken for the first ones.
        """
        if reaches_own_limit(self._runtime, request, first) and not first.tool_calls:
            self._emit_stop_reason(request, first, setup.call, 1)
            yield first
            return
        turn, action = await self._evaluate(request, first, setup)
        start_s, number, is_continued = self._clock(), 1, isinstance(action, SendRequest)
        while isinstance(action, SendRequest):
            number += 1
            part = self.part_after(turn.answer, action.request, is_silent=action.is_repair)
            async with contextlib.aclosing(self._continue_in_chunks(turn, action, part, setup, number)) as steps:
                async for chunks in steps:
                    yield chunks
            assert part.action is not None
            action = part.action
        if is_continued:
            self._emit_terminated(request.model, action.response, setup.call, self._clock() - start_s)
        yield action.response

    def resume(self, request: ChatRequest, so_far: str) -> ChatRequest:
        """Return the request that continues an interrupted answer, within the output limit of a caller that keeps it."""
        if request.keeps_limit and request.max_tokens is not None:
            request = attrs.evolve(request, max_tokens=max(1, request.max_tokens - tokens_of(so_far)))
        if self._takes_native(request):
            return with_prefill(request, so_far)
        return with_hint(request, so_far, self._runtime.texts["continuation.hint"])

    async def stream_resumed(self, request: ChatRequest, resumed: Callable[[], ChatRequest]) -> Chunks:
        """Stream a continuation; a model that rejects prefill gets a hint.

        :param resumed: makes the request again.
        """
        while True:
            try:
                async with contextlib.aclosing(self._client.stream(request)) as batches:
                    async for batch in batches:
                        yield batch
                        del batch  # so that no traceback with variables shows the text
                return
            except InvalidRequest:
                if not (request.continues and self.refuse_native(request)):
                    raise
            request = resumed()

    def can_resume(self, request: ChatRequest) -> bool:
        """Whether an interrupted answer can be continued."""
        return bool(self._runtime.texts["continuation.hint"]) or self._takes_native(request)

    def refuse_native(self, request: ChatRequest) -> bool:
        """Remember that a model rejects prefill; return whether a hint can be sent instead."""
        self._without_native.add(request.model)
        return bool(self._runtime.texts["continuation.hint"])

    def part_after(self, so_far: str, request: ChatRequest, *, is_silent: bool = False) -> StreamedPart:
        """Return the filter of a streamed part that continues a text.

        :param is_silent: nothing is passed on, because only the tool calls are wanted.
        """
        # After prefill the model is past its reasoning; it did not see whitespace at the end, and may repeat it.
        unseen = _end_whitespace(so_far) if request.continues else ""
        starts = not request.continues and self._runtime.budgets.find(request.model).budget.starts_in_reasoning
        visible = VisibleText(self._runtime.decoder, starts_in_reasoning=starts)
        return StreamedPart(self._runtime.merger.stream(so_far), visible, unseen, is_silent=is_silent)

    # -- one continuation ----------------------------------------------------------------------------------

    async def _continue(self, turn: Turn, send: SendRequest, setup: TurnSetup, number: int) -> TurnAction:
        """Send a continuation whole; return what the turn does next."""
        self._emit_continuation(send, setup.call)
        try:
            async with asyncio.timeout(self._left_s(setup.until_s)):
                response = await self._client.complete(send.request)
        except (TimeoutError, CallFailed) as exc:
            return self._after_failure(turn, send, exc, "")
        self._emit_stop_reason(send.request, response, setup.call, number)
        if send.request.continues and (start := _common_start(_end_whitespace(turn.answer), response.text)):
            response = copy_response(response, text=response.text[start:])
        return await read_aside(response.text, turn.feed, response)

    async def _continue_in_chunks(
        self, turn: Turn, send: SendRequest, part: StreamedPart, setup: TurnSetup, number: int
    ) -> AsyncGenerator[Sequence[ChatDelta], None]:
        """Stream a continuation; what the turn does next stays with the part."""
        self._emit_continuation(send, setup.call)
        try:
            async with contextlib.aclosing(self._client.stream(send.request)) as batches:
                while part.response is None:
                    async with asyncio.timeout(self._left_s(setup.until_s)):
                        batch = await anext(batches)
                    if chunks := part.feed(batch):
                        yield chunks
        except (TimeoutError, CallFailed) as exc:
            part.action = self._after_failure(turn, send, exc, part.shown)
            return
        self._emit_stop_reason(send.request, part.response, setup.call, number)
        if rest := part.finish():
            yield (ChatDelta(rest),)
        part.action = await read_aside(part.response.text, turn.feed, part.response, part.shown)

    async def _evaluate(self, request: ChatRequest, first: ChatResponse, setup: TurnSetup) -> tuple[Turn, TurnAction]:
        """Start a turn with its first response, or continue the one whose tool calls were executed."""
        before = request.turn.before if request.turn is not None else None
        native = functools.partial(self._takes_native, request)
        if before is not None:
            turn = copy.copy(before)
            turn.bind(setup.check, native, setup.guard)
            turn.results(request)
        else:
            limits = limits_of(self._runtime.config.agent, self._runtime.weights, request)
            texts, merger = self._runtime.texts, self._runtime.merger
            turn = Turn(request, limits, setup.check, texts, merger, takes_native=native, guard=setup.guard)
        if request.turn is not None:
            request.turn.turn = turn
        self._emit_stop_reason(request, first, setup.call, 1)
        action = await read_aside(first.text, turn.feed, first)
        if isinstance(action, TurnResult):
            self._emit_terminated(request.model, action.response, setup.call, 0.0)
        return turn, action

    def _after_failure(self, turn: Turn, send: SendRequest, error: TimeoutError | CallFailed, shown: str) -> TurnAction:
        """Decide after a failed continuation: a model that rejects its own response as last message gets a hint instead."""
        if isinstance(error, TimeoutError):
            error = LikelyTimeout("the continuation did not come in time", sub_cause="deadline")
        elif send.is_native and not shown and isinstance(error, InvalidRequest) and self.refuse_native(send.request):
            return turn.without_native(send)
        return turn.fail(error, shown)

    def _left_s(self, until_s: float | None) -> float | None:
        return None if until_s is None else max(0.0, until_s - self._clock() - RESERVED_S)

    def _takes_native(self, request: ChatRequest) -> bool:
        if request.model in self._without_native:
            return False
        rows = self._runtime.contributed(NativeContinuation)
        prefixes = matching_prefixes(rows, self._runtime.budgets.names(request.model))
        row = rows[prefixes[-1]].value if prefixes else None
        return row is not None and row.is_taken and (row.takes_schema or request.response_format is None)

    # -- events --------------------------------------------------------------------------------------------

    def _emit_stop_reason(self, request: ChatRequest, response: ChatResponse, call: CallRef, iteration: int) -> None:
        if not self._runtime.sinks:
            return
        self._runtime.emit(
            StopReasonObserved(
                **call.place,
                provider=ModelId.provider_of(request.model),
                model=request.model,
                stop_reason=response.stop_reason,
                raw_stop_reason=response.raw_stop_reason,
                iteration=iteration,
            )
        )

    def _emit_continuation(self, send: SendRequest, call: CallRef) -> None:
        if send.is_repair or not self._runtime.sinks:
            return  # a repair is reported with its outcome
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

    def _emit_terminated(self, model: str, response: ChatResponse, call: CallRef, latency_s: float) -> None:
        if not self._runtime.sinks:
            return
        record = response.continuation
        if record is None and response.stop_reason is StopReason.MAX_TOKENS:
            record = Continuation(terminal_reason=TerminalReason.NOT_CONTINUED)
        if record is None:
            return
        if record.repairs:
            self._runtime.emit(
                ToolPayloadRepair(
                    **call.place,
                    model=model,
                    parse_issue=record.issue,
                    repair_attempts=record.repairs,
                    is_successful=record.terminal_reason is TerminalReason.COMPLETED,
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


class StreamedPart:
    """A continuation that is streamed: filters what is passed on of it.

    :param unseen: whitespace before the part, of which a repetition is dropped.
    :param is_silent: nothing is passed on, because only the tool calls are wanted.
    :ivar action: what the turn does after it.
    """

    def __init__(self, seam: MergeStream, visible: VisibleText, unseen: str = "", *, is_silent: bool) -> None:
        self._seam = seam
        self._unseen = unseen
        self._visible = visible
        self._is_silent = is_silent
        self._shown: list[str] = []
        self._reasoning: list[str] = []
        self.response: ChatResponse | None = None
        self.action: TurnAction | None = None

    @property
    def shown(self) -> str:
        """The text that was passed on."""
        return "".join(self._shown)

    @property
    def reasoning(self) -> str:
        """The reasoning that was passed on."""
        return "".join(self._reasoning)

    def feed(self, batch: Sequence[ChatDelta] | ChatResponse) -> Sequence[ChatDelta]:
        """Take the next chunks, or the response; return the chunks to pass on."""
        if isinstance(batch, ChatResponse):
            self.response = batch
            return ()
        return [chunk for delta in self._visible.feed(batch) if (chunk := self._filter(delta)) is not None]

    def _filter(self, delta: ChatDelta) -> ChatDelta | None:
        text = ""
        self._reasoning.append(delta.reasoning_content)
        if delta.text and not self._is_silent:
            text = self._without_unseen(delta.text) if self._unseen else delta.text
            text = self._pass_on(self._seam.feed(text))
        return ChatDelta(text, delta.reasoning_content) if text or delta.reasoning_content else None

    def _without_unseen(self, text: str) -> str:
        start = _common_start(self._unseen, text)
        self._unseen = self._unseen[start:] if start == len(text) else ""
        return text[start:]

    def finish(self) -> str:
        """End the continuation; return the text that was held back."""
        if self._is_silent or self.response is None:
            return ""
        stop = self.response.stop_reason
        rest = self._seam.feed("".join(delta.text for delta in self._visible.finish(stop)))
        return self._pass_on(rest + self._seam.finish(is_truncated=stop is StopReason.MAX_TOKENS))

    def _pass_on(self, text: str) -> str:
        if text:
            self._shown.append(text)
        return text


def _end_whitespace(text: str) -> str:
    """Return the whitespace at the end of a text."""
    return text[len(text.rstrip()) :]


def _common_start(one: str, other: str) -> int:
    """Return how many characters two texts start with in common."""
    return next(
        (at for at, (mine, theirs) in enumerate(zip(one, other, strict=False)) if mine != theirs),
        min(len(one), len(other)),
    )


def limits_of(agent: AgentConfig, weights: Mapping[str, float], request: ChatRequest) -> ContinuationLimits:
    """Return the limits of a deployment for one request."""
    tokens = agent.continuation_max_total_completion_tokens
    tokens = tokens or BUDGET_FACTOR * (request.max_tokens or DEFAULT_MAX_TOKENS)
    if request.keeps_limit and request.max_tokens is not None:
        tokens = min(tokens, request.max_tokens)
    return ContinuationLimits(
        max_attempts=agent.continuation_max_attempts,
        max_completion_tokens=tokens,
        max_output_chars=agent.continuation_max_output_chars,
        tool_repair_attempts=agent.continuation_tool_repair_attempts,
        max_thought_share=weights["continuation.max_thought_share"],
    )
