"""Writes events as log lines: INFO for operators, WARNING for faults of plugins and providers, DEBUG for routine events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from helmdeck_core import (
    AnswerReused,
    AttemptEnded,
    CacheFailed,
    CacheMissed,
    CallAborted,
    CallExhausted,
    CallFinished,
    CallStarted,
    CatalogSelected,
    CatalogSourceFailed,
    ChainOrdered,
    ContinuationAttempt,
    ContinuationTerminated,
    CooldownStarted,
    CostUnknown,
    Event,
    EventSink,
    FailureClass,
    FilterFailed,
    HistoryFailed,
    InvariantRestored,
    ModelUnknown,
    ProviderNotice,
    ReasoningStripped,
    RequestSent,
    SelectionFiltered,
    StopReasonObserved,
    StopReasonUnknown,
    TerminalReason,
    ToolPayloadRepair,
    event_data,
    hookimpl,
)
from helmdeck_core.log import is_enabled, logger

DEBUG, INFO, WARNING = "DEBUG", "INFO", "WARNING"


@hookimpl
def helmdeck_event_sinks() -> Sequence[EventSink]:
    """The log sink, inactive until the application enables logging."""
    return (
        EventSink(name="log", summary="writes calls and failures as log lines", handle=write, is_active=is_enabled),
    )


def write(event: Event) -> None:
    """Write one event."""
    level, message = line_of(event)
    logger().bind(**dict(_flattened(_fields(event)))).log(level, message)


def _fields(event: Event) -> dict[str, Any]:
    """Return the structured fields of a line; fields of an attempt with their usual value are left out."""
    fields = event_data(event)
    if isinstance(event, AttemptEnded):
        usual = {"number": event.attempt, "is_sent": True}
        outcome = event.outcome.to_dict().items()
        fields = {**fields, "outcome": {name: value for name, value in outcome if usual.get(name) != value}}
    if isinstance(event, CatalogSelected):
        fields["record"].pop("steps", None)  # call traces have the size after each step
    return fields


def line_of(event: Event) -> tuple[str, str]:
    """Return level and message of an event."""
    match event:
        case CatalogSelected() if event.record.dropped:
            return INFO, "the catalog was reduced to fit the model"
        case CatalogSelected():
            return DEBUG, "the complete catalog was sent"
        case SelectionFiltered():
            return INFO, "the filter call reduced the selection"
        case FilterFailed():
            return WARNING, "the filter call failed; the ranked selection is used"
        case InvariantRestored():
            return WARNING, "a trim step removed a required field; the field was restored"
        case StopReasonUnknown():
            return WARNING, "unknown stop reason"
        case StopReasonObserved():
            return DEBUG, "stop reason received"
        case ContinuationAttempt():
            return INFO, "a truncated response is continued"
        case ContinuationTerminated():
            return _terminated(event)
        case ToolPayloadRepair() if event.is_successful:
            return INFO, "malformed or truncated tool calls were repaired by a second request"
        case ToolPayloadRepair():
            return WARNING, "malformed or truncated tool calls could not be repaired; none of them is executed"
        case ReasoningStripped():
            return DEBUG, "reasoning was removed from a response"
        case HistoryFailed():
            return WARNING, "a plan could not be stored in the history"
        case CatalogSourceFailed():
            return WARNING, "a catalog source has a problem"
        case AttemptEnded() if event.outcome.cause is not None:
            return INFO, "an attempt of a model call failed"
        case AttemptEnded():
            return DEBUG, "an attempt of a model call succeeded"
        case CooldownStarted() if event.route and event.cause in (
            FailureClass.AUTH_FAILED,
            FailureClass.QUOTA_EXHAUSTED,
        ):
            return WARNING, "a key of a provider was rejected or has no quota left; the others are used"
        case CooldownStarted() if event.route:
            return INFO, "a key or server of a provider is not used until its cooldown ends"
        case CooldownStarted():
            return WARNING, "a model failed repeatedly; its circuit is open until the cooldown ends"
        case CostUnknown():
            return WARNING, "the cost limit ignores a model without a known price"
        case ModelUnknown():
            return WARNING, "a model without a budget row has the limits of unknown models"
        case ProviderNotice():
            return WARNING, "the settings of a provider need attention"
        case CallExhausted():
            return WARNING, "a model call failed"
        case CallAborted():
            return INFO, "a model call was aborted"
        case CallStarted():
            return DEBUG, "a model call started"
        case ChainOrdered():
            return DEBUG, "a chain policy ordered the models of a call"
        case RequestSent():
            return DEBUG, "a request was sent"
        case AnswerReused():
            return DEBUG, "a call was answered from a response cache"
        case CacheMissed():
            return DEBUG, "no response cache has an answer"
        case CacheFailed():
            return WARNING, "a response cache failed; it is not used for a while"
        case CallFinished():
            return DEBUG, "a model call finished"
        case _:  # an event that a plugin defines
            return DEBUG, str(event.name).replace("_", " ")


def _terminated(event: ContinuationTerminated) -> tuple[str, str]:
    if event.terminal_reason is TerminalReason.COMPLETED:
        return INFO, "a truncated response was completed"
    if event.terminal_reason is TerminalReason.NOT_CONTINUED:
        return INFO, "a response reached the output limit and is not continued"
    return WARNING, "a truncated response could not be completed"


def _flattened(fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Return nested fields as fields of the line, so that they can be searched for."""
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield from _flattened(value)
        else:
            yield name, round(value, 6 if name.endswith("_usd") else 3) if isinstance(value, float) else value
