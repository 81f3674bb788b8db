"""Decides how a truncated response is continued. It performs no I/O and reads no clock.

The driver of a ``Turn`` sends the requests that it returns and feeds it the responses; the result is one response with one
text. Truncated tool calls are never executed: they are requested once more, and a truncated list of calls is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import attrs

from helmdeck_core.calls.continuation.requests import with_hint, with_prefill
from helmdeck_core.calls.model_text import tokens_of
from helmdeck_core.domain.chat import (
    DISPOSITIONS,
    ChatRequest,
    ChatResponse,
    Disposition,
    StopReason,
    ToolCall,
    Usage,
)
from helmdeck_core.domain.continuation import (
    TRANSITIONS,
    Continuation,
    ContinuationLimits,
    ContinuationMerger,
    Shape,
    TerminalReason,
    Trigger,
    TurnState,
)
from helmdeck_core.domain.texts import NOTICE
from helmdeck_core.domain.tool_calls import ToolCalls
from helmdeck_core.errors import AttemptRequest, CallFailed, FailureClass, RequestKind

_FATAL: Mapping[StopReason, TerminalReason] = {
    StopReason.SAFETY_BLOCKED: TerminalReason.SAFETY_BLOCKED,
    StopReason.CONTEXT_WINDOW_EXCEEDED: TerminalReason.CONTEXT_WINDOW_EXCEEDED,
    StopReason.CANCELLED: TerminalReason.PROVIDER_ERROR,
}


class ShapeCheck(Protocol):
    """Compares responses with what was requested."""

    def is_complete(self, response: ChatResponse) -> bool:
        """Whether a response needs no further evaluation: plain text that ended by itself."""
        ...

    def visible(self, text: str) -> str:
        """Return the text without reasoning; empty where all of it is reasoning."""
        ...

    def shape(self, text: str) -> Shape:
        """Return how a text relates to what was requested."""
        ...

    def document_shape(self, text: str) -> Shape:
        """Return how complete the JSON document is that a plain text starts with; ``TEXT`` for any other text."""
        ...

    def is_loop(self, text: str) -> bool:
        """Whether a text ends in a loop, so that a continuation would not help."""
        ...

    def tool_calls(self, response: ChatResponse) -> ToolCalls | None:
        """Return the tool calls of a response; ``None`` where it cannot contain any."""
        ...


@attrs.frozen
class SendRequest:
    """Send a continuation, or a request for tool calls alone.

    :ivar is_native: the last message is the truncated response itself; a model that rejects it gets a hint instead.
    :ivar remaining_tokens: output tokens that the turn may still use; characters likewise.
    """

    request: ChatRequest
    attempt: int
    is_repair: bool = False
    is_native: bool = False
    output_tokens: int = 0
    output_chars: int = 0
    remaining_tokens: int = 0
    remaining_chars: int = 0


@attrs.frozen
class TurnResult:
    """The turn is over.

    :ivar response: one response; with ``continuation`` where it was joined from several.
    """

    response: ChatResponse


TurnAction = SendRequest | TurnResult

RequestGuard = Callable[[ChatRequest, RequestKind, Usage], TerminalReason | None]
"""Takes a request, its kind and the usage of the turn so far; returns how the turn ends if it must not be sent."""


class Turn:
    """One response and its continuations.

    :param request: the first request.
    :param texts: hints and notices by name; see ``PromptText``.
    :param merger: joins the response with its continuations.
    :param guard: forbids a request for other reasons than the limits of the turn.
    :param takes_native: whether the model continues its own truncated response when that is the last message.
    :ivar state: the current state; see ``TRANSITIONS``.
    :ivar path: all states so far.
    """

    def __init__(
        self,
        request: ChatRequest,
        limits: ContinuationLimits,
        check: ShapeCheck,
        texts: Mapping[str, str],
        merger: ContinuationMerger,
        *,
        takes_native: Callable[[], bool] = lambda: False,
        guard: RequestGuard | None = None,
    ) -> None:
        self.state: TurnState = TurnState.REQUEST
        self.path: list[TurnState] = [self.state]
        self._request = request
        self._limits = limits
        self._texts = texts
        self._merger = merger
        self.bind(check, takes_native, guard)
        self._first: ChatResponse | None = None
        self._last: ChatResponse | None = None
        self._text = ""
        self._reasoning: list[str] = []
        self._usage = self._before = Usage()
        self._latency_s = 0.0
        self._calls: tuple[ToolCall, ...] = ()
        self._broken: tuple[str, ...] = ()
        self._withheld: tuple[str, ...] = ()
        self._issue = ""
        self._parts: list[int] = []
        self._more: list[AttemptRequest] = []
        self._dropped = 0
        self._attempts = self._repairs = 0
        self._has_stalled = self._is_in_document = self._is_announcement = False

    def bind(self, check: ShapeCheck, takes_native: Callable[[], bool], guard: RequestGuard | None) -> None:
        """Set what depends on the call; a request with tool results is another call."""
        self._check, self._takes_native, self._guard = check, takes_native, guard or _allow

    # -- driver --------------------------------------------------------------------------------------------

    @property
    def answer(self) -> str:
        """The text so far, without reasoning."""
        return self._check.visible(self._text)

    def feed(self, response: ChatResponse, shown: str | None = None) -> TurnAction:
        """Take a response; return what to do next.

        :param shown: the text of a streamed continuation that was passed on already; it is kept as it is.
        """
        before = self.state
        self._move(Trigger.RESPONSE)
        is_first = self._first is None
        added = self._take(response, before, shown)
        response = self._last = self._corrected(response)
        trigger = self._evaluated(response)
        if trigger is Trigger.CUT and not is_first and self._check.is_loop(self._text):
            return self._partial(TerminalReason.NO_PROGRESS, Trigger.FATAL_LATER)
        if trigger is Trigger.CUT and not is_first and not added:
            # A structured response is requested again with more room by the recovery; here it would be paid for twice.
            if self._has_stalled or self._check.shape(self._text) is not Shape.TEXT:
                return self._partial(TerminalReason.NO_PROGRESS, Trigger.FATAL_LATER)
            self._has_stalled = True  # once more, with room for the repeated text
        if trigger is Trigger.FATAL and not is_first:
            return self._partial(_FATAL.get(response.stop_reason, TerminalReason.UNKNOWN_STOP), Trigger.FATAL_LATER)
        self._move(trigger)
        if self.state is TurnState.CONTINUE_PENDING:
            return self._continue(response, is_paused=trigger is Trigger.PAUSED)
        if self.state is TurnState.REPAIR_PENDING:
            return self._repair()
        return self._finished(TerminalReason.COMPLETED)

    def fail(self, failure: CallFailed, shown: str = "") -> TurnResult:
        """Take the failure of a continuation: the text so far is kept and marked as partial.

        :param shown: the text of the continuation that was passed on before it failed.
        :raises CallFailed: the failure, without any text so far.
        """
        self._paid(self.state, usage=failure.usage, latency_s=failure.latency_s, cause=failure.failure_class)
        self._usage += failure.usage
        self._move(Trigger.ERROR)
        if shown:
            self._text += shown
            self._parts.append(len(shown))
        if self.state is TurnState.ABORT:
            raise failure
        return self._finished(TerminalReason.PROVIDER_ERROR, cause=failure.failure_class.value)

    def results(self, request: ChatRequest) -> None:
        """Continue the turn with a request that contains tool results. Counters and limits carry over."""
        self.path = [*self.path]  # lists are replaced, so that a copy of the turn can be continued instead of it
        self._move(Trigger.RESULTS)
        self._request = request
        self._first = self._last = None
        self._text, self._calls, self._broken = "", (), ()
        self._is_in_document = False
        self._reasoning, self._parts, self._more = [], [], []
        self._before, self._latency_s, self._dropped = self._usage, 0.0, 0

    def without_native(self, send: SendRequest) -> SendRequest:
        """Return the same continuation with a hint, for a model that rejects its own truncated response as last message."""
        self._paid(self.state, cause=FailureClass.INVALID_REQUEST)
        self._takes_native = lambda: False
        return attrs.evolve(
            send, request=self._hinted(self._texts["continuation.hint"], send.request.max_tokens), is_native=False
        )

    # -- evaluating ------------------------------------------------------------------------------------------

    def _take(self, response: ChatResponse, state: TurnState, shown: str | None) -> int:
        """Add a response to the text so far; return how many characters it added."""
        self._last = response
        self._usage += response.usage
        self._latency_s += response.latency_s
        if response.reasoning_content:
            self._reasoning.append(response.reasoning_content)
        if self._first is None:
            self._first, self._text = response, response.text
            self._parts.append(len(response.text))
            return len(response.text)
        self._paid(state, usage=response.usage, latency_s=response.latency_s)
        if state is TurnState.REQUEST_REPAIR:
            self._parts.append(0)  # only its calls are wanted
            return 0
        document = self._check.document_shape(self._text)
        # A continuation that makes the document invalid does not end it.
        self._is_in_document = document is Shape.CUT or (self._is_in_document and document is not Shape.WHOLE)
        visible = self._check.visible(response.text)
        if shown is None:
            added, dropped = self._joined(visible, response)
        else:
            added, dropped = shown, max(0, len(visible) - len(shown))
        self._dropped += dropped
        # Words about a continuation without one: "I am sorry, I cannot continue."
        is_dropped = not added and bool(visible.strip())
        self._is_announcement = is_dropped and "repetition" not in self._merger.merge(self.answer, visible).kinds
        self._parts.append(len(added))
        self._text += added
        return len(added)

    def _paid(self, state: TurnState, **facts: Any) -> None:
        """Record a request after the first one."""
        kind = RequestKind.REPAIR if state is TurnState.REQUEST_REPAIR else RequestKind.CONTINUATION
        self._more.append(AttemptRequest(kind=kind, **facts))

    def _joined(self, more: str, response: ChatResponse) -> tuple[str, int]:
        """What a continuation adds to the text, and how many characters of it are dropped.

        For a structured response and a JSON document the join that makes it complete is the right one.
        """
        answer = self.answer
        merged = self._merger.merge(answer, more, is_truncated=response.stop_reason is StopReason.MAX_TOKENS)
        shape = self._check.document_shape if self._is_in_document else self._check.shape
        if shape(self._text) is not Shape.CUT:
            return merged.added, merged.dropped
        for join in (merged, *self._merger.alternatives(answer, more)):
            kept = "" if join.is_restart else self._text
            if shape(kept + join.added) is Shape.WHOLE:
                dropped = len(self._text) if join.is_restart else join.dropped
                self._text = kept
                return join.added, dropped
        return merged.added, merged.dropped

    def _corrected(self, response: ChatResponse) -> ChatResponse:
        """The response; truncated where it ends cleanly although nothing continues the answer, or its JSON document is incomplete."""
        if response.stop_reason is not StopReason.END_TURN:
            return response
        is_open = self._is_in_document and self._check.document_shape(self._text) is not Shape.WHOLE
        is_truncated = is_open or self._is_announcement
        return attrs.evolve(response, stop_reason=StopReason.MAX_TOKENS, disposition=None) if is_truncated else response

    def _evaluated(self, response: ChatResponse) -> Trigger:
        """What a response means; a stop reason that contradicts the response is ignored."""
        judged = self._check.tool_calls(response)
        if judged is not None and (judged.calls or judged.withheld or judged.broken or judged.is_truncated):
            return self._with_calls(response, judged)
        if self.path[-2] is TurnState.REQUEST_REPAIR:
            return Trigger.CUT_TOOL_CALLS
        disposition = response.disposition or DISPOSITIONS[response.stop_reason]
        if response.stop_reason in (StopReason.END_TURN, StopReason.TOOL_CALL):
            return Trigger.CUT if self._check.shape(self._text) is Shape.CUT else Trigger.ENDED
        if response.stop_reason is StopReason.MAX_TOKENS:
            return Trigger.WHOLE if self._check.shape(self._text) is Shape.WHOLE else Trigger.CUT
        return Trigger.PAUSED if disposition is Disposition.RESUME else Trigger.FATAL

    def _with_calls(self, response: ChatResponse, judged: ToolCalls) -> Trigger:
        if judged.calls and not (judged.broken or judged.is_truncated or judged.withheld):
            self._calls = tuple(found.call for found in judged.calls)
            return Trigger.TOOL_CALLS
        self._calls = ()
        self._broken = tuple(each.error for each in judged.broken)
        self._withheld = tuple(
            f"{found.call.name}({found.call.arguments})" for found in (*judged.calls, *judged.withheld)
        )
        self._issue = self._issue or next((each.problem for each in judged.broken), "cut")
        if response.stop_reason in (StopReason.SAFETY_BLOCKED, StopReason.CANCELLED):
            return Trigger.FATAL
        return Trigger.CUT_TOOL_CALLS

    # -- acting ----------------------------------------------------------------------------------------------

    def _continue(self, response: ChatResponse, *, is_paused: bool) -> TurnAction:
        if not is_paused and not self._is_worth_it(response):
            self._move(Trigger.NOT_WORTH_IT)
            return self._finished(TerminalReason.COMPLETED)
        if self._attempts >= self._limits.max_attempts:
            return self._partial(TerminalReason.RETRY_LIMIT, Trigger.LIMIT)
        if self._left() <= 0 or len(self._text) >= self._limits.max_output_chars:
            return self._partial(TerminalReason.BUDGET_EXHAUSTED, Trigger.LIMIT)
        limit = min(self._request.max_tokens or self._left(), self._left())
        if self._has_stalled:
            limit = self._left()
        is_native = is_paused or self._takes_native()
        hint = self._texts["continuation.hint"]
        if not (is_native or hint):
            self._move(Trigger.NOT_WORTH_IT)
            return self._finished(TerminalReason.COMPLETED)
        request = self._resumed(response, limit) if is_native else self._hinted(hint, limit)
        if forbidden := self._guard(request, RequestKind.CONTINUATION, self._usage - self._before):
            return self._partial(forbidden, Trigger.LIMIT)
        self._move(Trigger.UNDER_LIMITS)
        self._attempts += 1
        return self._send(request, self._attempts, is_native=is_native and not is_paused)

    def _repair(self) -> TurnAction:
        hint, error = self._texts["continuation.repair_hint"], self._texts["continuation.repair_error"]
        if self._repairs >= self._limits.tool_repair_attempts or not hint:
            return self._partial(TerminalReason.TOOL_REPAIR_FAILED, Trigger.LIMIT)
        if self._left() <= 0:
            return self._partial(TerminalReason.BUDGET_EXHAUSTED, Trigger.LIMIT)
        # The model does not see its complete calls either, and would leave them out.
        calls = (
            self._texts["continuation.repair_calls"].format(calls="; ".join(self._withheld)) if self._withheld else ""
        )
        hint = " ".join(filter(None, [hint, calls, *(error.format(error=each) for each in self._broken[:3])]))
        # The payload exceeded the limit before.
        limit = min(2 * (self._request.max_tokens or self._left()), self._left())
        request = self._hinted(hint, limit, has_tools=True)
        if forbidden := self._guard(request, RequestKind.REPAIR, self._usage - self._before):
            return self._partial(forbidden, Trigger.LIMIT)
        self._move(Trigger.UNDER_LIMITS)
        self._repairs += 1
        return self._send(request, self._repairs, is_repair=True)

    def _send(
        self, request: ChatRequest, attempt: int, *, is_repair: bool = False, is_native: bool = False
    ) -> SendRequest:
        tokens, chars, most = self._usage.output_tokens, len(self._text), self._limits.max_output_chars
        return SendRequest(request, attempt, is_repair, is_native, tokens, chars, self._left(), max(0, most - chars))

    def _is_worth_it(self, response: ChatResponse) -> bool:
        """Whether a continuation can be cheaper than a retry."""
        shape, usage = self._check.shape(self._text), response.usage
        if shape is Shape.BROKEN or not self.answer.strip() or self._check.is_loop(self._text):
            return False
        return shape is Shape.TEXT or usage.reasoning_tokens <= self._limits.max_thought_share * usage.output_tokens

    def _left(self) -> int:
        return self._limits.max_completion_tokens - (self._usage.output_tokens or tokens_of(self._text))

    def _partial(self, outcome: TerminalReason, trigger: Trigger) -> TurnResult:
        self._move(trigger)
        return self._finished(outcome)

    def _finished(self, outcome: TerminalReason, cause: str = "") -> TurnResult:
        if self.state is TurnState.ABORT_PARTIAL:
            self._move(Trigger.NOTICE)
        first, last = self._first, self._last
        assert first is not None
        assert last is not None
        if first is last and outcome is TerminalReason.COMPLETED:
            return TurnResult(self._with_found_calls(first))
        # After a provider error or a failed repair, the stop reason of the first response still holds.
        is_failed = outcome in (TerminalReason.PROVIDER_ERROR, TerminalReason.TOOL_REPAIR_FAILED)
        reason = first if is_failed else last
        return TurnResult(
            attrs.evolve(
                last,
                text=self._text,
                reasoning_content="\n".join(self._reasoning),
                usage=self._usage - self._before,
                latency_s=self._latency_s,
                tool_calls=self._calls,
                stop_reason=reason.stop_reason,
                raw_stop_reason=reason.raw_stop_reason,
                strict_stop_reason=reason.strict_stop_reason,
                disposition=reason.disposition,
                downgrades=tuple(dict.fromkeys((*first.downgrades, *last.downgrades))),
                unread=tuple(dict.fromkeys((*first.unread, *last.unread))),
                continuation=self._record(first, outcome, cause),
            )
        )

    def _record(self, first: ChatResponse, outcome: TerminalReason, cause: str) -> Continuation:
        answer = AttemptRequest(kind=RequestKind.ANSWER, usage=first.usage, latency_s=first.latency_s)
        return Continuation(
            terminal_reason=outcome,
            attempts=self._attempts,
            repairs=self._repairs,
            parts=tuple(self._parts),
            dropped=self._dropped,
            notice=self._texts.get(NOTICE + outcome.value, "").format(attempts=self._attempts, cause=cause),
            cause=cause,
            issue=self._issue,
            requests=(answer, *self._more),
        )

    def _with_found_calls(self, response: ChatResponse) -> ChatResponse:
        """The response as it is; tool calls in its text become tool calls."""
        if self.state is not TurnState.EXECUTE_TOOLS or response.tool_calls == self._calls:
            return response
        return attrs.evolve(response, tool_calls=self._calls, stop_reason=StopReason.TOOL_CALL)

    # -- requests ----------------------------------------------------------------------------------------------

    def _hinted(self, hint: str, max_tokens: int | None, *, has_tools: bool = False) -> ChatRequest:
        request = attrs.evolve(self._request, max_tokens=max_tokens, task=None)
        continued = with_hint(request, self.answer, hint)
        return attrs.evolve(continued, response_format=request.response_format) if has_tools else continued

    def _resumed(self, response: ChatResponse, max_tokens: int | None) -> ChatRequest:
        request = attrs.evolve(self._request, max_tokens=max_tokens, task=None)
        return with_prefill(request, self.answer, response.tool_calls, response.opaque)

    def _move(self, trigger: Trigger) -> None:
        self.state = TRANSITIONS[self.state, trigger]
        self.path.append(self.state)


def _allow(request: ChatRequest, kind: RequestKind, used: Usage) -> None:
    """The default guard, which forbids nothing."""
