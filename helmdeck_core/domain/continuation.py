"""Continuing answers that were cut: the states, what moves a turn from one to the next, its limits, and its record."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import attrs

from helmdeck_core.domain.patterns import pattern_problem
from helmdeck_core.errors import AttemptRequest


class TurnState(enum.StrEnum):
    """Where a turn stands."""

    REQUEST = "Request"
    EVALUATE_STOP = "EvaluateStop"
    EXECUTE_TOOLS = "ExecuteTools"
    CONTINUE_PENDING = "ContinuePending"
    REQUEST_CONTINUATION = "RequestContinuation"
    REPAIR_PENDING = "RepairPending"
    REQUEST_REPAIR = "RequestRepair"
    ABORT_PARTIAL = "AbortPartial"
    ABORT = "Abort"
    COMPLETE = "Complete"


class Trigger(enum.StrEnum):
    """What moves a turn on."""

    RESPONSE = "response"
    """The provider answered."""
    ERROR = "error"
    """The call failed."""
    ENDED = "ended"
    """The model says that it is done, and what it wrote does not say otherwise."""
    WHOLE = "whole payload"
    """The limit was reached, but what was asked for is there."""
    TOOL_CALLS = "tool calls"
    """The turn ended for tool calls, and all of them are complete."""
    CUT = "cut"
    """The output limit cut the answer, whatever the provider calls it."""
    PAUSED = "paused"
    """The provider wants the same turn sent back."""
    CUT_TOOL_CALLS = "cut tool calls"
    """Tool calls that are incomplete, unreadable, or in an answer that did not end for them."""
    FATAL = "blocked, overfull, cancelled or unknown"
    """Nothing can be added, and nothing was kept so far."""
    FATAL_LATER = "the same, with an answer so far"
    UNDER_LIMITS = "under limits"
    LIMIT = "limit reached"
    NOT_WORTH_IT = "asking again is cheaper"
    """Nothing usable was written, or most of the output was thought."""
    RESULTS = "tool results appended"
    NOTICE = "partial answer with notice"


_S, _T = TurnState, Trigger

TRANSITIONS: Final[Mapping[tuple[TurnState, Trigger], TurnState]] = MappingProxyType(
    {
        (_S.REQUEST, _T.RESPONSE): _S.EVALUATE_STOP,
        (_S.REQUEST, _T.ERROR): _S.ABORT,
        (_S.EVALUATE_STOP, _T.ENDED): _S.COMPLETE,
        (_S.EVALUATE_STOP, _T.WHOLE): _S.COMPLETE,
        (_S.EVALUATE_STOP, _T.TOOL_CALLS): _S.EXECUTE_TOOLS,
        (_S.EVALUATE_STOP, _T.CUT): _S.CONTINUE_PENDING,
        (_S.EVALUATE_STOP, _T.PAUSED): _S.CONTINUE_PENDING,
        (_S.EVALUATE_STOP, _T.CUT_TOOL_CALLS): _S.REPAIR_PENDING,
        (_S.EVALUATE_STOP, _T.FATAL): _S.ABORT,
        (_S.EVALUATE_STOP, _T.FATAL_LATER): _S.ABORT_PARTIAL,
        (_S.CONTINUE_PENDING, _T.UNDER_LIMITS): _S.REQUEST_CONTINUATION,
        (_S.CONTINUE_PENDING, _T.LIMIT): _S.ABORT_PARTIAL,
        (_S.CONTINUE_PENDING, _T.NOT_WORTH_IT): _S.ABORT,
        (_S.REQUEST_CONTINUATION, _T.RESPONSE): _S.EVALUATE_STOP,
        (_S.REQUEST_CONTINUATION, _T.ERROR): _S.ABORT_PARTIAL,
        (_S.REPAIR_PENDING, _T.UNDER_LIMITS): _S.REQUEST_REPAIR,
        (_S.REPAIR_PENDING, _T.LIMIT): _S.ABORT_PARTIAL,
        (_S.REQUEST_REPAIR, _T.RESPONSE): _S.EVALUATE_STOP,
        (_S.REQUEST_REPAIR, _T.ERROR): _S.ABORT_PARTIAL,
        (_S.EXECUTE_TOOLS, _T.RESULTS): _S.REQUEST,
        (_S.ABORT_PARTIAL, _T.NOTICE): _S.COMPLETE,
    }
)
"""The machine: what is not in it cannot happen. The diagram of the documentation is made from it."""


class Shape(enum.StrEnum):
    """What a text is, held against what was asked for."""

    TEXT = "text"
    """Plain text: only the model can say whether it is all."""
    WHOLE = "whole"
    """All that was asked for is there."""
    CUT = "cut"
    """It ends in the middle of what was asked for, and could be completed."""
    BROKEN = "broken"
    """Nothing that is added makes it what was asked for."""


class TerminalReason(enum.StrEnum):
    """How a continued turn ended."""

    COMPLETED = "completed"
    RETRY_LIMIT = "retry_limit"
    BUDGET_EXHAUSTED = "budget_exhausted"
    COST_LIMIT = "cost_limit"
    """What it would cost is more than the call may."""
    SAFETY_BLOCKED = "safety_blocked"
    CONTEXT_WINDOW_EXCEEDED = "context_window_exceeded"
    PROVIDER_ERROR = "provider_error"
    NO_PROGRESS = "no_progress"
    """The model only repeated what was there, or wrote nothing but blanks."""
    UNKNOWN_STOP = "unknown_stop"
    TOOL_REPAIR_FAILED = "tool_repair_failed"
    NOT_CONTINUED = "not_continued"
    """It was cut and is left so, because it is whole as it is, or because asking again is cheaper."""


@attrs.frozen(kw_only=True)
class ContinuationLimits:
    """What bounds one turn with all its continuations.

    :ivar max_attempts: continuations at most.
    :ivar max_completion_tokens: output tokens of the turn at most, the first answer's included.
    :ivar max_output_chars: characters of the answer at which nothing more is asked for.
    :ivar tool_repair_attempts: how often tool calls that were cut are asked for once more; counted on its own.
    :ivar max_thought_share: an answer with a schema is not continued when more of its output tokens than this were
        reasoning, 0 to 1; a larger limit helps it more.
    """

    max_attempts: int = 3
    max_completion_tokens: int = 16_384
    max_output_chars: int = 120_000
    tool_repair_attempts: int = 1
    max_thought_share: float = 1.0


@attrs.frozen(kw_only=True)
class Continuation:
    """What was done to complete an answer.

    :ivar terminal_reason: why the turn ended.
    :ivar attempts: continuations that were asked for.
    :ivar repairs: requests for tool calls alone.
    :ivar parts: characters that each answer added; the first one's first.
    :ivar dropped: characters of continuations that repeated the answer or announced it.
    :ivar notice: what is to be said beside a partial answer; empty for a whole one.
    :ivar cause: the class of the failure that ended it, where one did.
    :ivar issue: what was wrong with tool calls that were asked for again: ``cut``, ``malformed`` and the like.
    :ivar requests: everything that was sent for it, the first request included; what it cost stands in the attempt.
    """

    terminal_reason: TerminalReason
    attempts: int = 0
    repairs: int = 0
    parts: tuple[int, ...] = ()
    dropped: int = 0
    notice: str = ""
    cause: str = ""
    issue: str = ""
    requests: tuple[AttemptRequest, ...] = ()

    @property
    def is_partial(self) -> bool:
        """The answer is not whole."""
        return self.terminal_reason is not TerminalReason.COMPLETED

    def to_dict(self) -> dict[str, Any]:
        """The record as plain data; what is empty is left out, and so are the requests, which are part of an attempt."""
        wire = attrs.asdict(self, filter=lambda field, value: field.name != "requests" and value not in ("", 0, ()))
        return {**wire, "terminal_reason": self.terminal_reason.value, "parts": list(self.parts)}


@attrs.frozen(kw_only=True)
class NativeContinuation:
    """Whether models take their own unfinished answer as the last message and go on with it.

    :ivar prefix: start of model ids, or a whole one; the longest that fits decides.
    :ivar is_taken: ``False`` for models that refuse it although a shorter prefix says that they take it.
    :ivar takes_schema: they also take it beside constrained output.
    :ivar evidence: where this is known from.
    """

    prefix: str
    is_taken: bool = True
    takes_schema: bool = False
    evidence: str = ""
    order: int = 0

    @property
    def name(self) -> str:
        """The prefix; contributing the same one again replaces the row."""
        return self.prefix


@attrs.frozen(kw_only=True)
class ContinuationAnnouncement:
    r"""How models announce in one language that they continue, as in "Sure, here is the rest:".

    An announcement is a first line that ends in punctuation and either starts with a phrase, or starts with an opener and
    contains a phrase of any language. All words are regular expressions, matched as whole words, letter case ignored.

    :ivar language: BCP 47 tag, such as ``nl``; contributing the same tag again replaces the words.
    :ivar openers: words that a reply starts with, such as ``sure`` or ``here``.
    :ivar phrases: words for continuing, such as ``continu\w*`` or ``the rest``.
    :ivar unspaced_phrases: the same for languages that are written without spaces; found anywhere in a short first line
        that ends in a colon or a full stop.
    """

    language: str
    openers: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    unspaced_phrases: tuple[str, ...] = ()
    order: int = 0

    @property
    def name(self) -> str:
        """The language tag."""
        return self.language

    @property
    def problem(self) -> str:
        """Why the value cannot be used; empty if it can."""
        return pattern_problem(*self.openers, *self.phrases, *self.unspaced_phrases)
