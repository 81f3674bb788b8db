"""Writes events as log lines: INFO for what an operator acts on, WARNING for what a plugin or a provider did wrong.

What always happens, such as a request that goes out, is a line of the level DEBUG.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from helmdeck_core import (
    AttemptEnded,
    CallAborted,
    CallExhausted,
    CallFinished,
    CallStarted,
    CatalogSelected,
    ContinuationAttempt,
    ContinuationTerminated,
    CooldownStarted,
    CostUnknown,
    Event,
    EventSink,
    FilterFailed,
    HistoryFailed,
    InvariantRestored,
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
    """The sink; it is left out while no application has enabled log lines."""
    return (EventSink(name="log", handle=write, is_active=is_enabled),)


def write(event: Event) -> None:
    """Write one event."""
    level, message = line_of(event)
    logger().bind(**dict(_flat(_facts(event)))).log(level, message)


def _facts(event: Event) -> Mapping[str, Any]:
    """What a line says beside its text; of an attempt only what there is, for most of its fields are about rare things."""
    facts = event_data(event)
    if isinstance(event, AttemptEnded):
        usual = {"number": event.attempt, "is_sent": True}
        told = event.outcome.to_dict().items()
        facts = {**facts, "outcome": {name: value for name, value in told if usual.get(name) != value}}
    return facts


def line_of(event: Event) -> tuple[str, str]:
    """The level and the text of an event's line."""
    match event:
        case CatalogSelected() if event.record.dropped:
            return INFO, "the catalog was reduced to fit the model"
        case CatalogSelected():
            return DEBUG, "the whole catalog is sent"
        case SelectionFiltered():
            return INFO, "a second call settled the selection"
        case FilterFailed():
            return WARNING, "the filter call gave nothing; the selection by rank stands"
        case InvariantRestored():
            return WARNING, "a trim step cut a field of the dispatch graph; it was put back"
        case StopReasonUnknown():
            return WARNING, "an unknown stop reason"
        case StopReasonObserved():
            return DEBUG, "a model stopped"
        case ContinuationAttempt():
            return INFO, "an answer was cut; the model is asked to go on"
        case ContinuationTerminated():
            return _terminated(event)
        case ToolPayloadRepair() if event.is_successful:
            return INFO, "tool calls came cut or unreadable; asked for again, they came whole"
        case ToolPayloadRepair():
            return WARNING, "tool calls came cut or unreadable; none of them is run"
        case ReasoningStripped():
            return DEBUG, "reasoning was taken out of an answer"
        case HistoryFailed():
            return WARNING, "a plan could not be recorded"
        case AttemptEnded() if event.outcome.cause is not None:
            return INFO, "an attempt of a model call gave nothing usable"
        case AttemptEnded():
            return DEBUG, "an attempt of a model call gave the answer"
        case CooldownStarted():
            return WARNING, "a provider failed several times in a row and is left alone for a while"
        case CostUnknown():
            return WARNING, "the cost limit does not count a model whose price nobody knows"
        case CallExhausted():
            return WARNING, "a model call gave nothing usable"
        case CallAborted():
            return INFO, "a model call ended in the middle"
        case CallStarted():
            return DEBUG, "a model call begins"
        case RequestSent():
            return DEBUG, "a request is sent"
        case CallFinished():
            return DEBUG, "a model call was answered"


def _terminated(event: ContinuationTerminated) -> tuple[str, str]:
    if event.terminal_reason is TerminalReason.COMPLETED:
        return INFO, "an answer that was cut is whole now"
    if event.terminal_reason is TerminalReason.NOT_CONTINUED:
        return INFO, "an answer reached the output limit and is not continued"
    return WARNING, "an answer was cut and stays so"


def _flat(facts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What stands in a record or an attempt stands in the line itself, where it can be searched for."""
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from _flat(value)
        else:
            yield name, round(value, 6 if name.endswith("_usd") else 3) if isinstance(value, float) else value
