"""The attempts of a call, read from its trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from helmdeck_console.web.charts import TimelineBar
from helmdeck_core import CallTrace

BYTES_PER_TOKEN: Final = 3.5
"""Bytes of a JSON catalog per token, for estimates."""

_IN_ATTEMPTS: Final = frozenset(
    (
        "call_started", "request_received", "catalog_selected", "request_sent", "stop_reason_observed", "attempt_ended",
        "continuation_attempt", "continuation_terminated", "tool_payload_repair", "reasoning_stripped", "selection_filtered",
        "filter_failed", "stream_started",
    )
)  # fmt: skip


@attrs.frozen(kw_only=True)
class TrimView:
    """A step of trimming: bytes of the catalog before and after it, and its entries after it; ``None`` for what is unknown."""

    step: str
    before: int | None
    after: int | None
    entries: int | None

    @property
    def removed(self) -> int | None:
        """Bytes that the step removed; below 0 where it restored fields."""
        return None if self.before is None or self.after is None else self.before - self.after

    @property
    def saved_tokens(self) -> float | None:
        """About how many tokens the step saved."""
        return None if self.removed is None else self.removed / BYTES_PER_TOKEN


@attrs.define(kw_only=True)
class AttemptView:
    """An attempt as a page shows it; the parts are plain data of the events, and may be empty.

    :ivar sent: the event ``request_sent``: model, tier, budget, variant and changes.
    :ivar selection: the record of the catalog: bytes before and after, trimmed parts, entries.
    :ivar outcome: the result: cause, decision, usage, cost.
    :ivar stops: the observed stop reasons.
    :ivar steps: further steps as text: continuations with their seams, repairs, filter calls, removed reasoning.
    """

    number: int
    sent: Mapping[str, Any] = attrs.field(factory=dict)
    selection: Mapping[str, Any] = attrs.field(factory=dict)
    confidence: float | None = None
    outcome: Mapping[str, Any] = attrs.field(factory=dict)
    stops: list[Mapping[str, Any]] = attrs.field(factory=list)
    steps: list[str] = attrs.field(factory=list)
    first_chunk_s: float | None = None
    start_s: float = 0.0
    end_s: float = 0.0

    @property
    def model(self) -> str:
        """The model that was called."""
        return str(self.sent.get("model") or self.outcome.get("model") or "")

    @property
    def trimming(self) -> tuple[TrimView, ...]:
        """The steps that trimmed the catalog; empty for one that was sent whole, and for records without sizes."""
        found: list[TrimView] = []
        before = _whole(self.selection.get("before_bytes"))
        for each in self.selection.get("steps") or ():
            if isinstance(each, Mapping):  # a long list ends with a text
                after = _whole(each.get("after_bytes"))
                entries = _whole(each.get("entries"))
                found.append(TrimView(step=str(each.get("step", "")), before=before, after=after, entries=entries))
                before = after
        return tuple(found)

    @property
    def labels(self) -> tuple[str, ...]:
        """What else is known about the selection, such as an unsure ranking."""
        steps = {each.step for each in self.trimming}
        return tuple(label for label in map(str, self.selection.get("dropped") or ()) if label not in steps)

    @property
    def cause(self) -> str:
        """Why it failed, with the finer cause; empty for a usable answer."""
        return " / ".join(str(each) for each in (self.outcome.get("cause"), self.outcome.get("sub_cause")) if each)


def attempts_of(trace: CallTrace) -> tuple[AttemptView, ...]:
    """Return the attempts of a call in order."""
    found: dict[int, AttemptView] = {}
    for event in trace.events:
        number = event.get("attempt")
        if not isinstance(number, int) or event.get("event") in ("call_started", "request_received"):
            continue
        at_s = float(event.get("at_s", 0.0))
        view = found.setdefault(number, AttemptView(number=number, start_s=at_s, end_s=at_s))
        view.end_s = max(view.end_s, at_s)
        _add(view, event)
    return tuple(view for _, view in sorted(found.items()) if view.sent or view.outcome)


def _add(view: AttemptView, event: Mapping[str, Any]) -> None:
    match event.get("event"):
        case "request_sent":
            view.sent = event
            view.start_s = float(event.get("at_s", view.start_s))
        case "catalog_selected":
            view.selection, view.confidence = event.get("record") or {}, event.get("confidence")
        case "stop_reason_observed":
            view.stops.append(event)
        case "stream_started":
            view.first_chunk_s = event.get("first_chunk_s")
        case "attempt_ended":
            view.outcome = event.get("outcome") or {}
        case "continuation_attempt":
            kind = "with the partial answer as a prefix" if event.get("is_native") else "with a hint"
            view.steps.append(
                f"Continuation {event.get('attempt_index')}, {kind}, after {_n(event, 'output_chars')} characters "
                f"({_n(event, 'output_tokens')} tokens); {_n(event, 'remaining_tokens')} tokens left"
            )
        case "continuation_terminated":
            view.steps.append(
                f"Turn ended: {event.get('terminal_reason')}; {_n(event, 'attempts')} continuations, {_n(event, 'repairs')} "
                f"repairs, {_n(event, 'dropped')} characters of overlap removed at the seams"
            )
        case "tool_payload_repair":
            result = "complete" if event.get("is_successful") else "still incomplete"
            view.steps.append(
                f"Tool calls were {event.get('parse_issue')}; {_n(event, 'repair_attempts')} repair requests: {result}"
            )
        case "reasoning_stripped":
            view.steps.append(f"Removed {_n(event, 'chars')} characters of reasoning")
        case "selection_filtered":
            view.steps.append(
                f"Filter call to {event.get('filter_model')}: {_n(event, 'picks')} entries named, {_n(event, 'kept')} sent"
            )
        case "filter_failed":
            view.steps.append(f"Filter call to {event.get('filter_model')} failed: {event.get('detail')}")
        case _:
            pass


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _n(event: Mapping[str, Any], name: str) -> str:
    value = event.get(name, 0)
    return f"{value:,}" if isinstance(value, int) else str(value)


def bars_of(attempts: Sequence[AttemptView]) -> list[TimelineBar]:
    """Return the bars of a timeline: backoff and attempts."""
    bars = []
    for each in attempts:
        waited_s = float(each.sent.get("waited_s") or 0.0)
        if waited_s:
            bars.append(
                TimelineBar(label="backoff", start_s=max(0.0, each.start_s - waited_s), end_s=each.start_s, kind="wait")
            )
        kind = "bad" if each.cause else "ok" if each.outcome else "other"
        bars.append(
            TimelineBar(label=f"{each.number}. {each.model}", start_s=each.start_s, end_s=each.end_s, kind=kind)
        )
    return bars


def notes_of(trace: CallTrace) -> tuple[Mapping[str, Any], ...]:
    """Return the events that belong to no attempt, as plain data."""
    return tuple(event for event in trace.events if event.get("event") not in _IN_ATTEMPTS)
