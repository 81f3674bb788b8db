"""Events of a call, as typed values for event sinks. No event contains a prompt, an answer or a secret."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import attrs

from helmdeck_core.domain.catalog import TrimRecord
from helmdeck_core.domain.chat import StopReason, Usage
from helmdeck_core.domain.continuation import TerminalReason
from helmdeck_core.domain.models import Tier
from helmdeck_core.errors import Attempt, FailureClass


class EventBase:
    """An event; its ``name`` is that of its class in snake case, such as ``stop_reason_observed``."""

    __slots__ = ()
    name: ClassVar[str]

    def __init_subclass__(cls) -> None:
        cls.name = re.sub(r"(?<=.)(?=[A-Z])", "_", cls.__name__).lower()


@attrs.frozen(kw_only=True)
class CallRef(EventBase):
    """The call, and the attempt.

    :ivar call_id: the same for all events of one call.
    :ivar pack: the pack that calls the model.
    :ivar caller: the caller of the pack.
    :ivar attempt: 1 for the first.
    """

    call_id: str
    pack: str
    caller: str
    attempt: int = 1

    @property
    def place(self) -> dict[str, Any]:
        """These fields, for other events of the same attempt."""
        return {"call_id": self.call_id, "pack": self.pack, "caller": self.caller, "attempt": self.attempt}


@attrs.frozen(kw_only=True)
class CallStarted(CallRef):
    """A call starts.

    :ivar model: the requested model.
    :ivar parent: the call that this call belongs to, for a filter call; empty for all others.
    """

    model: str
    parent: str = ""


@attrs.frozen(kw_only=True)
class CatalogSelected(CallRef):
    """A catalog was trimmed and selected for a model.

    :ivar model: the model that is called.
    :ivar tier: the tier of its budget.
    :ivar record: sizes in bytes, and what was trimmed.
    :ivar confidence: 0 to 1; ``None`` if no ranking was needed.
    """

    model: str
    tier: Tier
    record: TrimRecord
    confidence: float | None = None


@attrs.frozen(kw_only=True)
class SelectionFiltered(CallRef):
    """A filter call reduced an unsure selection.

    :ivar model: the model that is called next.
    :ivar filter_model: the model of the filter call.
    :ivar picks: number of entries that it named.
    :ivar kept: number of entries that are sent.
    :ivar usage: tokens of the filter call; also reported by its own ``CallFinished``.
    :ivar latency_s: seconds of the filter call.
    """

    model: str
    filter_model: str
    picks: int
    kept: int
    usage: Usage
    latency_s: float


@attrs.frozen(kw_only=True)
class FilterFailed(CallRef):
    """A filter call failed; the ranked selection is used.

    :ivar model: the model that is called next.
    :ivar filter_model: the model of the filter call.
    :ivar detail: why it failed.
    :ivar latency_s: seconds of the filter call.
    """

    model: str
    filter_model: str
    detail: str
    latency_s: float


@attrs.frozen(kw_only=True)
class RequestSent(CallRef):
    """The first request of an attempt is sent; continuations have events of their own.

    :ivar model: the model that is called.
    :ivar tier: the tier of its budget.
    :ivar variant: the prompt variant; empty for messages of the caller.
    :ivar input_tokens: the context window of its budget.
    :ivar max_tokens: the output limit of the request.
    :ivar max_catalog_bytes: the catalog limit of its budget; ``None`` is no limit.
    :ivar temperature: the temperature of the request.
    :ivar response_format: the requested output constraint; empty for none.
    :ivar changed: how the request differs from what the budget says, because of a failed attempt.
    :ivar waited_s: seconds of backoff before it.
    """

    model: str
    tier: Tier
    variant: str
    input_tokens: int
    max_tokens: int | None
    max_catalog_bytes: int | None
    temperature: float | None
    response_format: str
    changed: tuple[str, ...]
    waited_s: float


@attrs.frozen(kw_only=True)
class ReasoningStripped(CallRef):
    """Reasoning was removed from an answer.

    :ivar model: the model that was called.
    :ivar chars: characters of reasoning, in the text and in fields of its own.
    :ivar tokens: reasoning tokens, if the provider reports them.
    """

    model: str
    chars: int
    tokens: int


@attrs.frozen(kw_only=True)
class InvariantRestored(EventBase):
    """A trim step removed a field of the dispatch graph, and the field was restored.

    :ivar step: the trim step's name.
    :ivar field: the path of the field in the entry.
    :ivar plugin: the plugin of the step.
    :ivar entry: the name or id of the entry.
    """

    step: str
    field: str
    plugin: str
    entry: str


@attrs.frozen(kw_only=True)
class StopReasonUnknown(EventBase):
    """A provider reported an unknown stop reason; sent once per provider, model and reason.

    :ivar provider: the first part of the model id.
    :ivar model: the model that was called.
    :ivar raw: the native stop reason.
    """

    provider: str
    model: str
    raw: str


@attrs.frozen(kw_only=True)
class StopReasonObserved(CallRef):
    """A response ended with a stop reason; sent for each response of a turn.

    :ivar provider: the first part of the model id.
    :ivar model: the model that was called.
    :ivar stop_reason: the normalised stop reason of the whole response.
    :ivar raw_stop_reason: the provider's native stop reason.
    :ivar iteration: 1 for the first response of an attempt, more for continuations.
    """

    provider: str
    model: str
    stop_reason: StopReason
    raw_stop_reason: str | None
    iteration: int


@attrs.frozen(kw_only=True)
class ContinuationAttempt(CallRef):
    """A truncated answer is going to be continued.

    :ivar model: the model that is called.
    :ivar attempt_index: 1 for the first continuation.
    :ivar output_tokens: output tokens of the turn so far.
    :ivar output_chars: characters of the answer so far.
    :ivar remaining_tokens: output tokens that the turn may still use.
    :ivar remaining_chars: characters that the answer may still grow by.
    :ivar is_native: the partial answer is sent as the last message (prefill), without a hint.
    """

    model: str
    attempt_index: int
    output_tokens: int
    output_chars: int
    remaining_tokens: int
    remaining_chars: int
    is_native: bool


@attrs.frozen(kw_only=True)
class ToolPayloadRepair(CallRef):
    """Truncated or malformed tool calls were requested again; none of them is executed before they are complete.

    :ivar model: the model that was called.
    :ivar parse_issue: what was wrong with them, such as ``cut`` or ``malformed``.
    :ivar repair_attempts: how many times they were requested again.
    :ivar is_successful: the calls are complete now.
    """

    model: str
    parse_issue: str
    repair_attempts: int
    is_successful: bool


@attrs.frozen(kw_only=True)
class ContinuationTerminated(CallRef):
    """The turn of a truncated answer ended, complete or not.

    :ivar model: the model that was called.
    :ivar terminal_reason: why the turn ended; ``not_continued`` when no continuation was requested.
    :ivar attempts: continuations that were requested.
    :ivar repairs: requests for tool calls alone.
    :ivar dropped: characters of continuations that repeated the answer or announced it.
    :ivar latency_s: seconds from the end of the first answer.
    """

    model: str
    terminal_reason: TerminalReason
    attempts: int
    repairs: int
    latency_s: float
    dropped: int = 0


@attrs.frozen(kw_only=True)
class AttemptEnded(CallRef):
    """One attempt of a call ended, and the recovery decision is made.

    :ivar outcome: the attempt: the model, changes, result, tokens, cost, and what follows.
    """

    outcome: Attempt


@attrs.frozen(kw_only=True)
class CooldownStarted(EventBase):
    """The circuit breaker of a provider opened after several failures in a row; fallback models are called first.

    :ivar provider: the first part of the model ids.
    :ivar seconds: duration of the cooldown.
    :ivar cause: the class of the last failure.
    """

    provider: str
    seconds: float
    cause: FailureClass


@attrs.frozen(kw_only=True)
class CostUnknown(EventBase):
    """A cost limit is configured, but the price of a model is unknown; sent once per model. Its calls are not counted.

    :ivar model: the model that was called.
    """

    model: str


@attrs.frozen(kw_only=True)
class CallFinished(CallRef):
    """A call returned a usable answer.

    :ivar model: the model that was called.
    :ivar served_model: the model that answered, as reported by the provider.
    :ivar variant: the prompt variant.
    :ivar stop_reason: the normalised stop reason.
    :ivar raw_stop_reason: the provider's native stop reason.
    :ivar usage: tokens of the call.
    :ivar cached_cost_usd: cost of the cached input; ``None`` if the budget has no price.
    :ivar saved_usd: savings by the prompt cache; ``None`` if a price is unknown.
    :ivar cost_usd: cost of all attempts, without filter calls; ``None`` if a price is unknown.
    :ivar latency_s: seconds of the call.
    :ivar decode_step: the decode step that gave the value.
    :ivar repairs: decode steps that repaired the answer.
    :ivar requested_model: the requested model; differs from ``model`` if a fallback model answered.
    :ivar downgrades: requested features that were not sent.
    :ivar unread: kinds of content that are neither text nor reasoning nor tool calls.
    :ivar constraint: the output constraint, such as ``json_schema ids``; empty if unknown.
    :ivar total_s: seconds of the call with all attempts and backoff.
    """

    model: str
    served_model: str
    variant: str
    stop_reason: StopReason
    raw_stop_reason: str | None
    usage: Usage
    cached_cost_usd: float | None
    saved_usd: float | None
    cost_usd: float | None
    latency_s: float
    decode_step: str
    repairs: tuple[str, ...]
    requested_model: str
    downgrades: tuple[str, ...]
    unread: tuple[str, ...] = ()
    total_s: float
    constraint: str = ""


@attrs.frozen(kw_only=True)
class CallExhausted(CallRef):
    """A call failed after all attempts.

    :ivar model: the requested model.
    :ivar cause: the class of the failure.
    :ivar sub_cause: a finer cause within the class.
    :ivar raw_stop_reason: the provider's native stop reason.
    :ivar raw_length: UTF-8 bytes of the answer's text.
    :ivar latency_s: seconds of the call with all attempts.
    :ivar reason: why no further attempt was made.
    """

    model: str
    cause: FailureClass
    sub_cause: str
    raw_stop_reason: str | None
    raw_length: int
    latency_s: float
    reason: str


@attrs.frozen(kw_only=True)
class CallAborted(CallRef):
    """A call ended without a model failure: it was cancelled, or a plugin failed.

    :ivar model: the requested model.
    :ivar error: the type of the exception, such as ``CancelledError``.
    :ivar latency_s: seconds of the call with all attempts.
    """

    model: str
    error: str
    latency_s: float


@attrs.frozen(kw_only=True)
class HistoryFailed(EventBase):
    """A plan could not be recorded; the plan itself is not affected.

    :ivar caller: the caller of the plan.
    :ivar detail: the exception of the history store.
    """

    caller: str
    detail: str


Event = (
    CallStarted
    | CatalogSelected
    | SelectionFiltered
    | FilterFailed
    | InvariantRestored
    | RequestSent
    | StopReasonObserved
    | StopReasonUnknown
    | ContinuationAttempt
    | ToolPayloadRepair
    | ContinuationTerminated
    | ReasoningStripped
    | AttemptEnded
    | CooldownStarted
    | CostUnknown
    | CallFinished
    | CallExhausted
    | CallAborted
    | HistoryFailed
)
