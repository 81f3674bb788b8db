"""Completes an answer that its output limit cut. It sends nothing and reads no clock.

Whoever drives a ``Turn`` sends what it says, feeds it what comes back, and ends with one response in which the parts are
one text. Tool calls are complete or they are not there: one request asks for a payload that was cut, and nothing of a
list that was cut is ever run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import attrs

from helmdeck_core.calls.continuation.merge import merge
from helmdeck_core.calls.continuation.repetition import longest_repetition, squashed
from helmdeck_core.domain.chat import (
    DISPOSITIONS,
    ChatRequest,
    ChatResponse,
    Disposition,
    Message,
    Role,
    StopReason,
    TextPart,
    ToolCall,
    Usage,
)
from helmdeck_core.domain.continuation import (
    TRANSITIONS,
    Continuation,
    ContinuationLimits,
    Shape,
    TerminalReason,
    Trigger,
    TurnState,
)
from helmdeck_core.domain.tool_calls import ToolCalls
from helmdeck_core.errors import CallFailed
from helmdeck_core.errors.attempts import AttemptRequest, FailureClass, RequestKind

CONTINUE_HINT = (
    "The output limit cut your last message. Go on with the very next character. Repeat nothing, announce nothing, and do "
    "not open a code block that is open already. If you were about to call a tool, send one complete call and nothing else."
)
REPAIR_HINT = (
    "Your last message ended before its tool call was complete, and nothing of it was run. Send the tool call once more, "
    "complete, and nothing else."
)
THOUGHT_SHARE = 0.5
"""When more of the output than this was thought, a larger limit helps more than going on."""

SAME_START = 6
"""An object that begins like the one that was cut, up to this many characters, is the same one written anew."""

_NOTICES: Mapping[TerminalReason, str] = {
    TerminalReason.RETRY_LIMIT: "the answer is cut: it was still not complete after {attempts} continuations",
    TerminalReason.BUDGET_EXHAUSTED: "the answer is cut: its budget of output is used up",
    TerminalReason.COST_LIMIT: "the answer is cut: what the call may cost is used up",
    TerminalReason.SAFETY_BLOCKED: "the answer is cut: the provider's safety filter stopped its continuation",
    TerminalReason.CONTEXT_WINDOW_EXCEEDED: "the answer is cut: with its continuation it does not fit the model's window",
    TerminalReason.PROVIDER_ERROR: "the answer is cut: its continuation failed ({cause})",
    TerminalReason.NO_PROGRESS: "the answer is cut: asked to go on, the model only repeated it, or wrote blanks",
    TerminalReason.UNKNOWN_STOP: "the answer is cut: its continuation stopped for a reason that is not known",
    TerminalReason.TOOL_REPAIR_FAILED: "the tool call was cut and did not come whole when it was asked for again; it was not run",
}
_FATAL: Mapping[StopReason, TerminalReason] = {
    StopReason.SAFETY_BLOCKED: TerminalReason.SAFETY_BLOCKED,
    StopReason.CONTEXT_WINDOW_EXCEEDED: TerminalReason.CONTEXT_WINDOW_EXCEEDED,
    StopReason.CANCELLED: TerminalReason.PROVIDER_ERROR,
}


class ShapeCheck(Protocol):
    """What is known of the answer that is wanted."""

    def visible(self, text: str) -> str:
        """The text without reasoning; empty where all of it is thought."""
        ...

    def shape(self, text: str) -> Shape:
        """What a text is, held against what was asked for."""
        ...

    def is_loop(self, text: str) -> bool:
        """Whether a text ends over and over, so that more of it is no better."""
        ...

    def tool_calls(self, response: ChatResponse) -> ToolCalls | None:
        """The calls of an answer; ``None`` where it can hold none."""
        ...


@attrs.frozen
class SendRequest:
    """Send a request to go on, or for tool calls alone.

    :ivar is_native: the last message is the unfinished answer itself; a refusal of that is no failure.
    :ivar left_tokens: output tokens that are left of the turn's budget before it.
    """

    request: ChatRequest
    attempt: int
    is_repair: bool = False
    is_native: bool = False
    tokens: int = 0
    chars: int = 0
    left_tokens: int = 0


@attrs.frozen
class TurnResult:
    """The turn is over.

    :ivar response: one response; with ``continuation`` where more than one answer went into it.
    """

    response: ChatResponse


TurnAction = SendRequest | TurnResult

RequestGuard = Callable[[ChatRequest, RequestKind, Usage], TerminalReason | None]
"""Takes a request, what it is for, and the tokens of the turn so far; says how the turn ends if it must not be sent."""


class Turn:
    """One answer and all that completes it.

    :param request: what was asked.
    :param guard: forbids a request for other reasons than the limits of the turn.
    :param takes_native: whether the model goes on with its own unfinished answer when that is the last message.
    :ivar state: where it stands; see ``TRANSITIONS``.
    :ivar path: all states so far.
    """

    def __init__(
        self,
        request: ChatRequest,
        limits: ContinuationLimits,
        check: ShapeCheck,
        *,
        takes_native: Callable[[], bool] = lambda: False,
        guard: RequestGuard | None = None,
    ) -> None:
        self.state = TurnState.REQUEST
        self.path = [self.state]
        self._request = request
        self._limits = limits
        self._check = check
        self._takes_native = takes_native
        self._guard = guard
        self._first: ChatResponse | None = None
        self._last: ChatResponse | None = None
        self._text = ""
        self._reasoning: list[str] = []
        self._usage = Usage()
        self._latency_s = 0.0
        self._calls: tuple[ToolCall, ...] = ()
        self._broken: tuple[str, ...] = ()
        self._issue = ""
        self._parts: list[int] = []
        self._more: list[AttemptRequest] = []
        self._dropped = 0
        self._attempts = self._repairs = 0
        self._has_stalled = False

    # -- what the driver says ------------------------------------------------------------------------------

    @property
    def answer(self) -> str:
        """What is there so far, without reasoning."""
        return self._check.visible(self._text)

    def feed(self, response: ChatResponse, shown: str | None = None) -> TurnAction:
        """Take an answer; return what to do.

        :param shown: what of a continuation was given on already, where it came as a stream; it stays as it is.
        """
        before = self.state
        self._move(Trigger.RESPONSE)
        is_first = self._first is None
        added = self._take(response, before, shown)
        trigger = self._evaluated(response)
        if trigger is Trigger.CUT and not is_first and self._check.is_loop(self._text):
            return self._partial(TerminalReason.NO_PROGRESS, Trigger.FATAL_LATER)
        if trigger is Trigger.CUT and not is_first and not added:
            # What has a form is asked for anew with more room by whoever reads it; here it would be paid for twice.
            if self._has_stalled or self._check.shape(self._text) is not Shape.TEXT:
                return self._partial(TerminalReason.NO_PROGRESS, Trigger.FATAL_LATER)
            self._has_stalled = True  # once more, with room for all that it says again
        if trigger is Trigger.FATAL and not is_first:
            return self._partial(_FATAL.get(response.stop_reason, TerminalReason.UNKNOWN_STOP), Trigger.FATAL_LATER)
        self._move(trigger)
        if self.state is TurnState.CONTINUE_PENDING:
            return self._continue(response, is_paused=trigger is Trigger.PAUSED)
        if self.state is TurnState.REPAIR_PENDING:
            return self._repair()
        return self._finished(TerminalReason.COMPLETED)

    def fail(self, failure: CallFailed, shown: str = "") -> TurnResult:
        """Take the failure of a request to go on: what is there is kept and marked.

        :param shown: what of the continuation was given on before it failed.
        :raises CallFailed: the failure, where nothing is there yet.
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
        """The tools have run: go on with a request that holds their results. What is counted goes on being counted."""
        self._move(Trigger.RESULTS)
        self._request = request
        self._first = self._last = None
        self._text, self._calls, self._broken = "", (), ()
        self._reasoning.clear()
        self._parts.clear()
        self._more.clear()

    def without_native(self, send: SendRequest) -> SendRequest:
        """The same continuation for a model that turns out not to take its own unfinished answer."""
        self._paid(self.state, cause=FailureClass.INVALID_REQUEST)
        self._takes_native = lambda: False
        return attrs.evolve(send, request=self._hinted(CONTINUE_HINT, send.request.max_tokens), is_native=False)

    # -- evaluating ------------------------------------------------------------------------------------------

    def _take(self, response: ChatResponse, state: TurnState, shown: str | None) -> int:
        """Add an answer to what is there; return how many characters it added."""
        self._last = response
        self._usage += response.usage
        self._latency_s += response.latency_s
        if response.reasoning:
            self._reasoning.append(response.reasoning)
        if self._first is None:
            self._first, self._text = response, response.text
            self._parts.append(len(response.text))
            return len(response.text)
        self._paid(state, usage=response.usage, latency_s=response.latency_s)
        if state is TurnState.REQUEST_REPAIR:
            self._parts.append(0)  # only its calls are wanted
            return 0
        visible = self._check.visible(response.text)
        if shown is None:
            added, dropped = self._joined(visible, response)
        else:
            added, dropped = shown, max(0, len(visible) - len(shown))
        self._dropped += dropped
        self._parts.append(len(added))
        self._text += added
        return len(added)

    def _paid(self, state: TurnState, **facts: Any) -> None:
        """Note a request behind the first one."""
        kind = RequestKind.REPAIR if state is TurnState.REQUEST_REPAIR else RequestKind.CONTINUATION
        self._more.append(AttemptRequest(kind=kind, **facts))

    def _joined(self, more: str, response: ChatResponse) -> tuple[str, int]:
        """What a continuation adds to the answer, and how many characters of it are dropped.

        Where the answer has a form, the form is the best witness: the join that makes it whole is the right one.
        """
        answer = self.answer
        merged = merge(answer, more, is_cut=_is_cut(response))
        if self._check.shape(self._text) is not Shape.CUT:
            return merged.added, merged.dropped
        for added in (merged.added, more, more[longest_repetition(answer, more) :]):
            if self._check.shape(self._text + added) is Shape.WHOLE:
                return added, len(more) - len(added)
        if squashed(more).startswith(squashed(answer)[:SAME_START]) and self._check.shape(more) is Shape.WHOLE:
            # The whole answer once more in other words: what was cut is left behind.
            dropped, self._text = len(self._text), ""
            return more, dropped
        return merged.added, merged.dropped

    def _evaluated(self, response: ChatResponse) -> Trigger:
        """What an answer means; a word of the provider that the answer itself belies does not count."""
        judged = self._check.tool_calls(response)
        if judged is not None and (judged.calls or judged.withheld or judged.broken or judged.is_cut):
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
        if judged.calls and not (judged.broken or judged.is_cut or judged.withheld):
            self._calls = tuple(found.call for found in judged.calls)
            return Trigger.TOOL_CALLS
        self._calls = ()
        self._broken = tuple(each.error for each in judged.broken)
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
        request = self._resumed(response, limit) if is_native else self._hinted(CONTINUE_HINT, limit)
        if self._guard is not None and (reason := self._guard(request, RequestKind.CONTINUATION, self._usage)):
            return self._partial(reason, Trigger.LIMIT)
        self._move(Trigger.UNDER_LIMITS)
        self._attempts += 1
        return self._send(request, self._attempts, is_native=is_native and not is_paused)

    def _repair(self) -> TurnAction:
        if self._repairs >= self._limits.tool_repair_attempts:
            return self._partial(TerminalReason.TOOL_REPAIR_FAILED, Trigger.LIMIT)
        if self._left() <= 0:
            return self._partial(TerminalReason.BUDGET_EXHAUSTED, Trigger.LIMIT)
        hint = " ".join([REPAIR_HINT, *(f"What was wrong: {error}." for error in self._broken[:3])])
        # The payload was too large for the limit once already.
        limit = min(2 * (self._request.max_tokens or self._left()), self._left())
        request = self._hinted(hint, limit, has_tools=True)
        if self._guard is not None and (reason := self._guard(request, RequestKind.REPAIR, self._usage)):
            return self._partial(reason, Trigger.LIMIT)
        self._move(Trigger.UNDER_LIMITS)
        self._repairs += 1
        return self._send(request, self._repairs, is_repair=True)

    def _send(
        self, request: ChatRequest, attempt: int, *, is_repair: bool = False, is_native: bool = False
    ) -> SendRequest:
        tokens = self._usage.output_tokens
        return SendRequest(request, attempt, is_repair, is_native, tokens, len(self._text), self._left())

    def _is_worth_it(self, response: ChatResponse) -> bool:
        """Whether going on can be cheaper than asking again."""
        shape, usage = self._check.shape(self._text), response.usage
        if shape is Shape.BROKEN or not self.answer.strip() or self._check.is_loop(self._text):
            return False
        return shape is Shape.TEXT or usage.reasoning_tokens <= THOUGHT_SHARE * usage.output_tokens

    def _left(self) -> int:
        return self._limits.max_completion_tokens - self._usage.output_tokens

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
        notice = _NOTICES.get(outcome, "").format(attempts=self._attempts, cause=cause)
        is_whole = outcome is TerminalReason.COMPLETED
        # An error in the middle leaves the reason of what is there; a call that did not come whole ends nothing.
        reason = (
            last
            if is_whole or outcome not in (TerminalReason.PROVIDER_ERROR, TerminalReason.TOOL_REPAIR_FAILED)
            else first
        )
        record = Continuation(
            outcome=outcome,
            attempts=self._attempts,
            repairs=self._repairs,
            parts=tuple(self._parts),
            dropped=self._dropped,
            notice=notice,
            cause=cause,
            issue=self._issue,
            requests=(
                AttemptRequest(kind=RequestKind.ANSWER, usage=first.usage, latency_s=first.latency_s),
                *self._more,
            ),
        )
        return TurnResult(
            attrs.evolve(
                last,
                text=self._text,
                reasoning="\n".join(self._reasoning),
                usage=self._usage,
                latency_s=self._latency_s,
                tool_calls=self._calls,
                stop_reason=reason.stop_reason,
                raw_stop_reason=reason.raw_stop_reason,
                strict_stop_reason=reason.strict_stop_reason,
                disposition=reason.disposition,
                downgrades=tuple(dict.fromkeys((*first.downgrades, *last.downgrades))),
                unread=tuple(dict.fromkeys((*first.unread, *last.unread))),
                continuation=record,
            )
        )

    def _with_found_calls(self, response: ChatResponse) -> ChatResponse:
        """The answer as it came; calls that it holds as text become calls."""
        if self.state is not TurnState.EXECUTE_TOOLS or response.tool_calls == self._calls:
            return response
        return attrs.evolve(response, tool_calls=self._calls, stop_reason=StopReason.TOOL_CALL)

    # -- requests ----------------------------------------------------------------------------------------------

    def _hinted(self, hint: str, max_tokens: int | None, *, has_tools: bool = False) -> ChatRequest:
        """The conversation with the answer so far and a hint; without a form that would start a new answer."""
        so_far = self.answer
        messages = [*self._request.messages]
        if so_far.strip():
            messages.append(Message(Role.ASSISTANT, (TextPart(so_far),)))
        messages.append(Message(Role.USER, (TextPart(hint),)))
        request = attrs.evolve(self._request, messages=tuple(messages), max_tokens=max_tokens, task=None)
        return request if has_tools else attrs.evolve(request, response_format=None)

    def _resumed(self, response: ChatResponse, max_tokens: int | None) -> ChatRequest:
        """The conversation that ends in the unfinished answer itself."""
        text = self.answer.rstrip()  # some models refuse blanks at the end
        message = Message(Role.ASSISTANT, (TextPart(text),), response.tool_calls, opaque=response.opaque)
        return attrs.evolve(
            self._request,
            messages=(*self._request.messages, message),
            max_tokens=max_tokens,
            response_format=None,
            continues=True,
            task=None,
        )

    def _move(self, trigger: Trigger) -> None:
        self.state = TRANSITIONS[self.state, trigger]
        self.path.append(self.state)


def _is_cut(response: ChatResponse) -> bool:
    return response.stop_reason is StopReason.MAX_TOKENS
