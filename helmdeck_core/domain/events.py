"""Typed events of model calls, for event sinks. No event contains a prompt, a response or a secret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from helmdeck_core.domain.catalog import TrimRecord
from helmdeck_core.domain.chat import StopReason, Usage
from helmdeck_core.domain.continuation import TerminalReason
from helmdeck_core.domain.event_base import CallRef as CallRef
from helmdeck_core.domain.event_base import EventBase as EventBase
from helmdeck_core.domain.guards import GuardReported
from helmdeck_core.domain.models import Tier
from helmdeck_core.domain.response_caches import AnswerReused, CacheFailed, CacheMissed
from helmdeck_core.errors import Attempt, FailureClass


@attrs.frozen(kw_only=True)
class CallStarted(CallRef):
    """A call starts.

    :ivar model: the requested model.
    :ivar parent: the id of the call that this call is a helper of, such as a filter call; empty otherwise.
    """

    model: str
    parent: str = ""


@attrs.frozen(kw_only=True)
class ChainOrdered(CallRef):
    """A chain policy ordered the models of a call.

    :ivar policy: the name of the policy.
    :ivar models: the models in the order in which they are called.
    :ivar reason: the reason of the order in one line.
    :ivar details: figures of each model, the expected cost in US dollars, and what would have changed the order.
    """

    policy: str
    models: tuple[str, ...]
    reason: str
    details: Mapping[str, Any]


@attrs.frozen(kw_only=True)
class CatalogSelected(CallRef):
    """A catalog was trimmed and selected for a model.

    :ivar model: the model to be called.
    :ivar tier: the tier of its budget.
    :ivar record: sizes in bytes, and the trimmed parts.
    :ivar confidence: confidence of the ranking, 0 to 1; ``None`` without a ranking.
    """

    model: str
    tier: Tier
    record: TrimRecord
    confidence: float | None = None


@attrs.frozen(kw_only=True)
class SelectionFiltered(CallRef):
    """A filter call narrowed an unsure selection.

    :ivar model: the model to be called next.
    :ivar filter_model: the model of the filter call.
    :ivar picks: number of entries that it named.
    :ivar kept: number of entries in the prompt.
    :ivar usage: tokens of the filter call; its own ``CallFinished`` reports them too.
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
    """A filter call failed; the unsure selection is used unchanged.

    :ivar model: the model to be called next.
    :ivar filter_model: the model of the filter call.
    :ivar detail: the reason.
    :ivar latency_s: seconds of the filter call.
    """

    model: str
    filter_model: str
    detail: str
    latency_s: float


@attrs.frozen(kw_only=True)
class RequestSent(CallRef):
    """The first request of an attempt is sent. Continuations have their own events.

    :ivar model: the called model.
    :ivar tier: the tier of its budget.
    :ivar variant: the prompt variant; empty if the caller wrote the messages.
    :ivar input_tokens: context window by its budget, in tokens.
    :ivar max_tokens: output limit of the request, in tokens.
    :ivar max_catalog_bytes: catalog limit of its budget, in bytes; ``None`` is no limit.
    :ivar temperature: temperature of the request.
    :ivar response_format: requested constraint of the response; empty for none.
    :ivar changed: changes of the request after a failed attempt.
    :ivar waited_s: seconds of backoff before the request.
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
    """Reasoning was removed from a response.

    :ivar model: the called model.
    :ivar chars: characters of reasoning, inside the text and in separate fields.
    :ivar tokens: reasoning tokens, if the provider reports them.
    """

    model: str
    chars: int
    tokens: int


@attrs.frozen(kw_only=True)
class InvariantRestored(EventBase):
    """A trim step removed a field that plans need to name entries, and the field was restored.

    :ivar step: the name of the trim step.
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
    """A stop reason is in no table; sent once per provider, model and reason.

    :ivar provider: the first part of the model id.
    :ivar model: the called model.
    :ivar raw: the native stop reason.
    """

    provider: str
    model: str
    raw: str


@attrs.frozen(kw_only=True)
class StopReasonObserved(CallRef):
    """A response arrived with its stop reason; sent for every response of a turn.

    :ivar provider: the first part of the model id.
    :ivar model: the called model.
    :ivar stop_reason: normalised reason, adjusted to the content of the response.
    :ivar raw_stop_reason: the native stop reason.
    :ivar iteration: 1 for the first response of an attempt; continuations increment it.
    """

    provider: str
    model: str
    stop_reason: StopReason
    raw_stop_reason: str | None
    iteration: int


@attrs.frozen(kw_only=True)
class ContinuationAttempt(CallRef):
    """A continuation of a truncated answer is requested.

    :ivar model: the model that is called.
    :ivar attempt_index: 1 for the first continuation.
    :ivar output_tokens: output tokens of the turn so far.
    :ivar output_chars: characters of the answer so far.
    :ivar remaining_tokens: remaining output tokens of the turn.
    :ivar remaining_chars: remaining characters of the answer.
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
    """Truncated or malformed tool calls were requested again; incomplete calls are never executed.

    :ivar model: the called model.
    :ivar parse_issue: the problem, such as ``cut`` or ``malformed``.
    :ivar repair_attempts: number of repair requests.
    :ivar is_successful: the calls are complete.
    """

    model: str
    parse_issue: str
    repair_attempts: int
    is_successful: bool


@attrs.frozen(kw_only=True)
class ContinuationTerminated(CallRef):
    """The turn of a truncated answer ended, complete or not.

    :ivar model: the called model.
    :ivar terminal_reason: why the turn ended; ``not_continued`` when no continuation was requested.
    :ivar attempts: number of requested continuations.
    :ivar repairs: number of requests for tool calls only.
    :ivar dropped: removed characters: overlaps and announcements of continuations.
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
    """An attempt ended, and the recovery decision is made.

    :ivar outcome: the attempt: model, request changes, result, usage and next action.
    """

    outcome: Attempt


@attrs.frozen(kw_only=True)
class CooldownStarted(EventBase):
    """A circuit opened. During the cooldown, other models of a fallback chain, or other routes, are called first.

    :ivar provider: the first part of the model id; with several models in cooldown, all its models are.
    :ivar seconds: duration of the cooldown.
    :ivar cause: class of the last failure.
    :ivar model: the model, or ``""`` for an API key or server of the provider.
    :ivar route: the key or server by its position in the configuration, such as ``key 2 of 3``; ``""`` for a model.
    """

    provider: str
    seconds: float
    cause: FailureClass
    model: str = ""
    route: str = ""


@attrs.frozen(kw_only=True)
class CostUnknown(EventBase):
    """A cost limit is set, but a model has no known price, so its calls do not count; sent once per model.

    :ivar model: the called model.
    """

    model: str


@attrs.frozen(kw_only=True)
class ModelUnknown(EventBase):
    """No budget row applies to a model, so its calls have the limits of unknown models; sent once per model.

    :ivar model: the called model.
    :ivar notice: the limits, and the line of the configuration that sets them.
    """

    model: str
    notice: str


@attrs.frozen(kw_only=True)
class ProviderNotice(EventBase):
    """The settings of a provider need attention, such as a key that is sent unencrypted; sent once when it is opened.

    :ivar provider: the provider.
    :ivar notice: the problem, and the setting that solves it.
    """

    provider: str
    notice: str


@attrs.frozen(kw_only=True)
class CallFinished(CallRef):
    """A call succeeded.

    :ivar model: the model that answered.
    :ivar served_model: the provider's name for it.
    :ivar variant: the prompt variant.
    :ivar stop_reason: the normalised stop reason.
    :ivar raw_stop_reason: the native stop reason.
    :ivar usage: tokens of the successful attempt.
    :ivar cached_cost_usd: cost of cached input tokens in US dollars; ``None`` if the budget has no price.
    :ivar saved_usd: US dollars saved by cached input tokens; ``None`` if a price is unknown.
    :ivar cost_usd: US dollars of all attempts, without helper calls; ``None`` if a price is unknown.
    :ivar latency_s: seconds of the successful attempt.
    :ivar decode_step: the decode step that returned the value.
    :ivar repairs: decode steps that repaired the response.
    :ivar requested_model: the requested model; it differs from ``model`` if a fallback answered.
    :ivar downgrades: unsupported parts of the request that were left out.
    :ivar unread: content types of the response other than text, reasoning and tool calls.
    :ivar constraint: applied constraint of the response, such as ``json_schema ids``; empty if unknown.
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
    :ivar cause: the failure class.
    :ivar sub_cause: a more specific cause.
    :ivar raw_stop_reason: the native stop reason.
    :ivar raw_length: length of the response text in UTF-8 bytes.
    :ivar latency_s: seconds of the call with all attempts.
    :ivar reason: why there was no further attempt.
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
    """A call ended for a reason other than a model failure: it was cancelled, or a plugin failed.

    :ivar model: the requested model.
    :ivar error: class name of the exception, such as ``CancelledError``.
    :ivar latency_s: seconds of the call with all attempts.
    """

    model: str
    error: str
    latency_s: float


@attrs.frozen(kw_only=True)
class HistoryFailed(EventBase):
    """A plan could not be recorded; the plan itself is not affected.

    :ivar caller: the caller of the plan.
    :ivar detail: the exception of the store.
    """

    caller: str
    detail: str


@attrs.frozen(kw_only=True)
class CatalogSourceFailed(EventBase):
    """A catalog source has a problem, such as a server that cannot be reached; other sources are not affected.

    :ivar source: the name of the source, such as ``mcp``.
    :ivar detail: the problem, with the server that has it.
    """

    source: str
    detail: str


Event = (
    CallStarted
    | ChainOrdered
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
    | ModelUnknown
    | ProviderNotice
    | CallFinished
    | CallExhausted
    | CallAborted
    | HistoryFailed
    | CatalogSourceFailed
    | GuardReported
    | AnswerReused
    | CacheMissed
    | CacheFailed
)
