"""Continuation of truncated answers: the state machine of a turn, its limits, and its record."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Protocol

import attrs

from helmdeck_core.domain.patterns import pattern_problem
from helmdeck_core.errors import AttemptRequest


class TurnState(enum.StrEnum):
    """The state of a turn."""

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
    """The trigger of a state transition."""

    RESPONSE = "response"
    """The provider answered."""
    ERROR = "error"
    """The call failed."""
    ENDED = "ended"
    """The stop reason is a clean end, and the answer is not truncated."""
    WHOLE = "whole payload"
    """The output limit was reached, but the requested value is complete."""
    TOOL_CALLS = "tool calls"
    """The turn ended for tool calls, and all of them are complete."""
    CUT = "cut"
    """The answer was truncated at the output limit, whatever stop reason the provider reports."""
    PAUSED = "paused"
    """The provider paused the turn and expects it to be sent back."""
    CUT_TOOL_CALLS = "cut tool calls"
    """Tool calls are incomplete or malformed, or the stop reason is not tool calls."""
    FATAL = "blocked, overfull, cancelled or unknown"
    """The answer cannot be continued, and there is no earlier part of it."""
    FATAL_LATER = "the same, with an answer so far"
    UNDER_LIMITS = "under limits"
    LIMIT = "limit reached"
    NOT_WORTH_IT = "asking again is cheaper"
    """There is no usable text, or most of the output is reasoning."""
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
"""Every allowed transition. The diagram in the documentation is generated from it."""


class Shape(enum.StrEnum):
    """How the text of an answer relates to the requested value."""

    TEXT = "text"
    """Plain text: only the stop reason shows whether it is complete."""
    WHOLE = "whole"
    """The requested value is complete."""
    CUT = "cut"
    """The text ends inside the requested value and can be continued."""
    BROKEN = "broken"
    """No continuation can make it the requested value."""


class TerminalReason(enum.StrEnum):
    """How a continued turn ended."""

    COMPLETED = "completed"
    RETRY_LIMIT = "retry_limit"
    BUDGET_EXHAUSTED = "budget_exhausted"
    COST_LIMIT = "cost_limit"
    """The continuation would exceed the cost limit of the call."""
    SAFETY_BLOCKED = "safety_blocked"
    CONTEXT_WINDOW_EXCEEDED = "context_window_exceeded"
    PROVIDER_ERROR = "provider_error"
    NO_PROGRESS = "no_progress"
    """The continuation only repeats the answer, or is whitespace."""
    UNKNOWN_STOP = "unknown_stop"
    TOOL_REPAIR_FAILED = "tool_repair_failed"
    NOT_CONTINUED = "not_continued"
    """The truncated answer was not continued, because it is complete as it is, or because a retry is cheaper."""


@attrs.frozen(kw_only=True)
class ContinuationLimits:
    """Limits of one turn with all its continuations.

    :ivar max_attempts: maximum number of continuations.
    :ivar max_completion_tokens: maximum output tokens of the turn, those of the first answer included.
    :ivar max_output_chars: characters of the answer after which it is not continued.
    :ivar tool_repair_attempts: maximum number of requests for truncated tool calls; counted separately.
    :ivar max_thought_share: an answer with a schema is not continued when more of its output tokens than this were
        reasoning, 0 to 1; a larger limit helps it more.
    """

    max_attempts: int = 3
    max_completion_tokens: int = 16_384
    max_output_chars: int = 120_000
    tool_repair_attempts: int = 1
    max_thought_share: float = 1.0


class ToolTurn:
    """Carries the counters of a turn from a request to the one with the results of its tool calls, ``before`` to this."""

    def __init__(self, before: ToolTurn | None = None) -> None:
        self.before: Any = before.turn if before is not None and before.has_calls else None
        self.turn: Any = None

    @property
    def has_calls(self) -> bool:
        """Whether the response has tool calls that may be executed."""
        return self.turn is not None and self.turn.state is TurnState.EXECUTE_TOOLS


@attrs.frozen(kw_only=True)
class Continuation:
    """How a truncated answer was completed.

    :ivar terminal_reason: why the turn ended.
    :ivar attempts: continuations that were requested.
    :ivar repairs: requests for tool calls alone.
    :ivar parts: characters that each response added, in order.
    :ivar models: the model that wrote each part, where a stream was interrupted and continued; otherwise empty.
    :ivar dropped: characters of continuations that repeated the answer or announced it.
    :ivar notice: explanation of a partial answer; empty for a complete one.
    :ivar cause: the class of the failure that ended the turn, if any.
    :ivar issue: what was wrong with tool calls that were requested again, such as ``cut`` or ``malformed``.
    :ivar requests: all requests of the turn, the first one included; their total cost is that of the attempt.
    """

    terminal_reason: TerminalReason
    attempts: int = 0
    repairs: int = 0
    parts: tuple[int, ...] = ()
    models: tuple[str, ...] = ()
    dropped: int = 0
    notice: str = ""
    cause: str = ""
    issue: str = ""
    requests: tuple[AttemptRequest, ...] = ()

    @property
    def is_partial(self) -> bool:
        """Whether the answer is incomplete."""
        return self.terminal_reason is not TerminalReason.COMPLETED

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain data, without empty fields and without the requests, which are part of an attempt."""
        wire = attrs.asdict(self, filter=lambda field, value: field.name != "requests" and value not in ("", 0, ()))
        return {**wire, "terminal_reason": self.terminal_reason.value, "parts": list(self.parts)}


@attrs.frozen(kw_only=True)
class NativeContinuation:
    """Whether models support prefill: a partial answer as the last message, which they continue.

    :ivar prefix: prefix of model ids; the longest matching one applies.
    :ivar is_taken: ``False`` for models without prefill although a shorter prefix has it.
    :ivar takes_schema: whether prefill works together with constrained decoding.
    :ivar evidence: the source of this information.
    """

    prefix: str
    is_taken: bool = True
    takes_schema: bool = False
    evidence: str = ""
    order: int = 0

    @property
    def name(self) -> str:
        """The prefix; contributing the same prefix again replaces the row."""
        return self.prefix


@attrs.frozen(kw_only=True)
class ContinuationAnnouncement:
    r"""How models announce a continuation in one language, as in "Sure, here is the rest:".

    An announcement is a first line that ends in punctuation and either starts with a phrase, or starts with an opener and
    contains a phrase of any language. All words are case-insensitive regular expressions for whole words.

    :ivar language: BCP 47 tag, such as ``nl``; contributing the same tag again replaces the words.
    :ivar openers: words that a reply starts with, such as ``sure`` or ``here``.
    :ivar phrases: words for continuing, such as ``continu\w*`` or ``the rest``.
    :ivar unspaced_phrases: phrases of languages without spaces; matched anywhere in a short first line that ends in a
        colon or a full stop.
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


@attrs.frozen
class Merged:
    """A truncated answer joined with its continuation.

    :ivar text: the joined text.
    :ivar added: the new part of the continuation; ``text`` ends with it.
    :ivar dropped: number of removed characters of the continuation.
    :ivar kinds: kinds of the removed text, such as ``announcement``.
    :ivar is_restart: the continuation is the whole answer again and replaces it.
    """

    text: str
    added: str
    dropped: int = 0
    kinds: tuple[str, ...] = ()
    is_restart: bool = attrs.field(default=False, kw_only=True)


class MergeStream(Protocol):
    """Joins a continuation that arrives in chunks."""

    def feed(self, chunk: str) -> str:
        """Process the next chunk; return the text that is certain to be new."""
        ...

    def finish(self, *, is_truncated: bool = False) -> str:
        """End the stream; return the text that was held back."""
        ...


class ContinuationMerger(Protocol):
    """Joins truncated answers with their continuations; both are visible text."""

    def merge(self, answer: str, more: str, *, is_truncated: bool = False) -> Merged:
        """Join an answer with its continuation; the answer itself is not changed.

        :param is_truncated: whether the continuation is truncated too.
        """
        ...

    def alternatives(self, answer: str, more: str) -> tuple[Merged, ...]:
        """Return other joins, best first. A structured answer takes the first one that completes it."""
        ...

    def stream(self, answer: str) -> MergeStream:
        """Join a continuation that arrives in chunks; the answer is not released again."""
        ...


@attrs.frozen(kw_only=True)
class ContinuationMergerSpec:
    """A way to join continuations. A deck uses the one with the lowest ``order``.

    :ivar open: makes the merger, once per deck; should import its modules itself, to keep start-up fast.
    """

    name: str
    open: Callable[[Sequence[ContinuationAnnouncement]], ContinuationMerger]
    order: int = 0
