"""What happens during a call, as typed values for event sinks. No event holds a prompt, an answer or a secret."""

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
    """An event, as sinks call it: the name of its class in small letters, such as ``stop_reason_observed``."""

    __slots__ = ()
    name: ClassVar[str]

    def __init_subclass__(cls) -> None:
        cls.name = re.sub(r"(?<=.)(?=[A-Z])", "_", cls.__name__).lower()


@attrs.frozen(kw_only=True)
class CallRef(EventBase):
    """Which call, and which attempt of it.

    :ivar call_id: the same for everything that belongs to one call.
    :ivar pack: the pack that asks.
    :ivar caller: who asks the pack.
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
    """A model is going to be called.

    :ivar model: the model that is asked for.
    :ivar parent: the call that this one helps, as a filter call does; empty for all others.
    """

    model: str
    parent: str = ""


@attrs.frozen(kw_only=True)
class CatalogSelected(CallRef):
    """A catalog was fitted to a model.

    :ivar model: the model that is asked.
    :ivar tier: the tier of its budget.
    :ivar record: sizes in bytes, and what was cut.
    :ivar confidence: 0 to 1; ``None`` when nothing had to be ranked.
    """

    model: str
    tier: Tier
    record: TrimRecord
    confidence: float | None = None


@attrs.frozen(kw_only=True)
class SelectionFiltered(CallRef):
    """A second call settled an unsure selection.

    :ivar model: the model that is asked next.
    :ivar filter_model: the model that was asked which entries are needed.
    :ivar picks: how many entries it named.
    :ivar kept: how many entries are sent.
    :ivar usage: tokens of the second call; they are also those of a ``CallFinished``.
    :ivar latency_s: seconds of the second call.
    """

    model: str
    filter_model: str
    picks: int
    kept: int
    usage: Usage
    latency_s: float


@attrs.frozen(kw_only=True)
class FilterFailed(CallRef):
    """The call that should have settled an unsure selection gave nothing; the selection stands as it was.

    :ivar model: the model that is asked next.
    :ivar filter_model: the model that was asked which entries are needed.
    :ivar detail: why it gave nothing.
    :ivar latency_s: seconds that were spent on it.
    """

    model: str
    filter_model: str
    detail: str
    latency_s: float


@attrs.frozen(kw_only=True)
class RequestSent(CallRef):
    """A request goes out, the first one of an attempt; what continues its answer has events of its own.

    :ivar model: the model that is asked.
    :ivar tier: the tier of its budget.
    :ivar variant: the prompt variant that asks; empty where the caller wrote the messages.
    :ivar input_tokens: the window of its budget.
    :ivar max_tokens: the output limit that is sent.
    :ivar max_catalog_bytes: the limit of its budget for catalogs; ``None`` is no limit.
    :ivar temperature: as it is sent.
    :ivar response_format: how the answer is constrained, as it is asked for; empty for not at all.
    :ivar changed: what is asked otherwise than the budget says, because of an attempt that failed.
    :ivar waited_s: seconds that were waited before.
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
    """An answer came with reasoning, which is no part of what is read.

    :ivar model: the model that was asked.
    :ivar chars: characters of reasoning, in the text and beside it.
    :ivar tokens: tokens of it, where the provider says so.
    """

    model: str
    chars: int
    tokens: int


@attrs.frozen(kw_only=True)
class InvariantRestored(EventBase):
    """A trim step cut a field of the dispatch graph, and the field was put back.

    :ivar step: the trim step's name.
    :ivar field: the path of the field in the entry.
    :ivar plugin: the plugin that the step belongs to.
    :ivar entry: the name or id of the entry.
    """

    step: str
    field: str
    plugin: str
    entry: str


@attrs.frozen(kw_only=True)
class StopReasonUnknown(EventBase):
    """A provider stopped for a reason that no table knows; sent once per provider, model and reason.

    :ivar provider: the first part of the model id.
    :ivar model: the model that was asked.
    :ivar raw: the provider's word.
    """

    provider: str
    model: str
    raw: str


@attrs.frozen(kw_only=True)
class StopReasonObserved(CallRef):
    """A model answered and said why it stopped; one for each answer of a turn.

    :ivar provider: the first part of the model id.
    :ivar model: the model that was asked.
    :ivar stop_reason: the reason in its context, normalised.
    :ivar raw_stop_reason: the provider's word for it.
    :ivar iteration: 1 for the first answer of an attempt; continuations count on.
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
    """One attempt of a call ended, and it is clear what follows.

    :ivar outcome: the attempt: who was asked, what was changed, how it ended, what it took and what is done next.
    """

    outcome: Attempt


@attrs.frozen(kw_only=True)
class CooldownStarted(EventBase):
    """A provider failed several times in a row; while it rests, other models of a chain are asked first.

    :ivar provider: the first part of the model ids.
    :ivar seconds: for how long.
    :ivar cause: how it failed last.
    """

    provider: str
    seconds: float
    cause: FailureClass


@attrs.frozen(kw_only=True)
class CostUnknown(EventBase):
    """A cost limit is set, and nobody knows what a model costs; sent once per model. Its calls are not counted.

    :ivar model: the model that was asked.
    """

    model: str


@attrs.frozen(kw_only=True)
class CallFinished(CallRef):
    """A model call gave a usable answer.

    :ivar model: the model that was asked.
    :ivar served_model: who answered, in the provider's words.
    :ivar variant: the prompt variant that asked.
    :ivar stop_reason: why the model stopped, normalised.
    :ivar raw_stop_reason: the provider's word for it.
    :ivar usage: tokens of the call.
    :ivar cached_cost_usd: what the cached input cost; ``None`` where the budget has no price.
    :ivar saved_usd: what the cached input would have cost more without the cache; ``None`` where a price is not known.
    :ivar cost_usd: what all attempts cost; ``None`` where a price is not known. A call that helped this one tells its own.
    :ivar latency_s: seconds of the call.
    :ivar decode_step: what gave the value.
    :ivar repairs: decode steps that changed what the model wrote.
    :ivar requested_model: the model that was asked for; another one than ``model`` where a fallback answered.
    :ivar downgrades: what was asked for and left out.
    :ivar unread: kinds of content in the answer that are neither text nor reasoning nor calls.
    :ivar constraint: what the answer was held to, such as ``json_schema ids``; empty where it is not known.
    :ivar total_s: seconds of the call with all its attempts and waits.
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
    """A model call ended without a usable answer, after everything that was tried.

    :ivar model: the model that was asked for.
    :ivar cause: the class of the failure.
    :ivar sub_cause: a finer cause under it.
    :ivar raw_stop_reason: the provider's word for why it stopped.
    :ivar raw_length: UTF-8 bytes of the answer's text.
    :ivar latency_s: seconds of the call with all its attempts.
    :ivar reason: why nothing more was tried.
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
    """A call ended although nothing was wrong with a model: its caller went away, or a plugin failed.

    :ivar model: the model that was asked for.
    :ivar error: the kind of the exception that ended it, such as ``CancelledError``.
    :ivar latency_s: seconds of the call with all its attempts.
    """

    model: str
    error: str
    latency_s: float


@attrs.frozen(kw_only=True)
class HistoryFailed(EventBase):
    """A record of a plan could not be kept; the plan itself is not affected.

    :ivar caller: whose plan it was.
    :ivar detail: the exception of the store.
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
