"""Counts events for Prometheus. ``[events] sinks = ["prometheus"]`` switches it on; it needs the extra ``prometheus``.

Every deck has a registry of its own. Of a request, an answer or a caller nothing is a label, and of model ids only as
many as ``max_models`` says: they come from callers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from helmdeck_core import (
    Attempt,
    AttemptEnded,
    CallAborted,
    CallExhausted,
    CallFinished,
    CatalogSelected,
    ContinuationAttempt,
    ContinuationTerminated,
    CooldownStarted,
    Event,
    EventSink,
    FilterFailed,
    HistoryFailed,
    InvariantRestored,
    ReasoningStripped,
    SelectionFiltered,
    StopReasonObserved,
    StopReasonUnknown,
    TerminalReason,
    ToolPayloadRepair,
    hookimpl,
)

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

OTHER = "other"
"""The label of models beyond those that are kept apart."""
LONGEST_MODEL = 200
"""Characters of a model id; a longer one is nobody's."""

SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300)
BYTES = (1_000, 2_500, 5_000, 10_000, 22_000, 35_000, 50_000, 100_000, 250_000, 1_000_000)
TIMES = (1, 2, 3, 5, 8)


@hookimpl
def helmdeck_event_sinks() -> Sequence[EventSink]:
    """The sink."""
    return (
        EventSink(
            name="prometheus",
            open=PrometheusSink,
            options={"max_models": 100},
            summary="counters and histograms for Prometheus",
        ),
    )


class PrometheusSink:
    """Metrics of one deck.

    :param max_models: models that are kept apart; all others are ``other``.
    :ivar registry: what ``prometheus_client`` serves, pushes or writes.
    """

    def __init__(self, max_models: int = 100) -> None:
        try:
            from prometheus_client import CollectorRegistry
        except ImportError as exc:
            raise RuntimeError("prometheus-client is missing; pip install 'helmdeck[prometheus]'") from exc
        self.registry = CollectorRegistry()
        self._metrics = _Metrics(self.registry)
        self._max_models = max_models
        self._models: set[str] = set()

    def render(self) -> bytes:
        """Everything that was counted, in the text format that Prometheus scrapes."""
        from prometheus_client import generate_latest

        return generate_latest(self.registry)

    def handle(self, event: Event) -> None:
        """Count an event."""
        count = self._metrics
        match event:
            case CatalogSelected():
                count.catalog_before.labels(event.tier.value).observe(event.record.before_bytes)
                count.catalog_after.labels(event.tier.value).observe(event.record.after_bytes)
                count.left_out.labels(event.tier.value).inc(event.record.left_out)
            case SelectionFiltered() | FilterFailed():
                result = "failed" if isinstance(event, FilterFailed) else "settled"
                count.filters.labels(*self._who(event.filter_model), result).inc()
            case StopReasonObserved():
                count.stops.labels(*self._who(event.model), event.stop_reason.value).inc()
            case StopReasonUnknown():
                count.unknown_stops.labels(*self._who(event.model)).inc()
            case ContinuationAttempt():
                count.continuations.labels(*self._who(event.model)).inc()
            case ContinuationTerminated():
                self._terminated(event)
            case ToolPayloadRepair():
                result = "repaired" if event.is_successful else "failed"
                count.tool_repairs.labels(*self._who(event.model), result).inc()
            case ReasoningStripped():
                count.reasoning.labels(*self._who(event.model)).inc(event.chars)
            case AttemptEnded():
                self._attempt(event.outcome)
            case CallFinished():
                self._answered(event)
            case CallExhausted():
                count.calls.labels(event.pack, *self._known(event.model), event.cause.value).inc()
                count.call_seconds.labels(event.pack, event.cause.value).observe(event.latency_s)
            case CallAborted():
                count.calls.labels(event.pack, *self._known(event.model), "aborted").inc()
            case CooldownStarted():
                count.rests.labels(event.provider, event.cause.value).inc()
            case InvariantRestored():
                count.restored.labels(event.plugin, event.step).inc()
            case HistoryFailed():
                count.history.inc()
            case _:
                pass

    def _attempt(self, attempt: Attempt) -> None:
        count, who = self._metrics, self._who(attempt.model) if attempt.is_sent else self._known(attempt.model)
        count.attempts.labels(*who, attempt.cause.value if attempt.cause else "none").inc()
        if attempt.is_sent:
            count.attempt_seconds.labels(*who).observe(attempt.latency_s)
        if attempt.continuations:
            count.continued_seconds.labels(*who).observe(attempt.latency_s)
        for kind in ("input", "cached_input", "cache_write", "output", "reasoning"):
            if tokens := getattr(attempt.usage, f"{kind}_tokens"):
                count.tokens.labels(*who, kind).inc(tokens)
        if attempt.cost_usd:
            count.cost.labels(*who).inc(attempt.cost_usd)

    def _answered(self, event: CallFinished) -> None:
        count, who = self._metrics, self._who(event.model)
        count.calls.labels(event.pack, *who, "answered").inc()
        count.call_seconds.labels(event.pack, "answered").observe(event.total_s)
        if event.model != event.requested_model:
            count.taken_over.labels(*self._who(event.requested_model)).inc()
        if event.saved_usd and event.saved_usd > 0:
            count.saved.labels(*who).inc(event.saved_usd)
        for step in event.repairs:
            count.repairs.labels(step).inc()
        if event.downgrades:
            count.downgraded.labels(*who).inc()

    def _terminated(self, event: ContinuationTerminated) -> None:
        count, who = self._metrics, self._who(event.model)
        if event.attempts:
            count.per_turn.labels(*who).observe(event.attempts)
            count.turns.labels(*who, event.terminal_reason.value).inc()
        elif event.terminal_reason is not TerminalReason.COMPLETED:
            count.exits.labels(*who, event.terminal_reason.value).inc()

    # -- labels ------------------------------------------------------------------------------------------

    def _who(self, model: str) -> tuple[str, str]:
        """Provider and model of one that was really asked."""
        if model not in self._models and len(self._models) < self._max_models and _is_label(model):
            self._models.add(model)
        return self._known(model)

    def _known(self, model: str) -> tuple[str, str]:
        """Provider and model of one that may be no more than somebody's text."""
        return (model.partition("/")[0], model) if model in self._models else (OTHER, OTHER)


def _is_label(model: str) -> bool:
    """A lone surrogate would make the whole page unreadable, and no model has one."""
    return len(model) <= LONGEST_MODEL and model.isprintable()


class _Metrics:
    """What is counted."""

    def __init__(self, registry: CollectorRegistry) -> None:
        from prometheus_client import Counter, Histogram

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"helmdeck_{name}", text, labels, registry=registry)

        def histogram(name: str, text: str, buckets: Sequence[float], *labels: str) -> Histogram:
            return Histogram(f"helmdeck_{name}", text, labels, buckets=buckets, registry=registry)

        who = ("provider", "model")
        self.calls = counter(
            "calls_total", "Calls by how they ended: answered, a cause, or aborted.", "pack", *who, "outcome"
        )
        self.call_seconds = histogram(
            "call_duration_seconds", "Time of calls with all attempts and waits.", SECONDS, "pack", "outcome"
        )
        self.attempts = counter(
            "attempts_total", "Attempts by cause of failure; none for those that gave the answer.", *who, "cause"
        )
        self.attempt_seconds = histogram("attempt_duration_seconds", "Time of attempts that were sent.", SECONDS, *who)
        self.taken_over = counter("fallbacks_total", "Calls that another model answered than the one asked for.", *who)
        self.tokens = counter(
            "tokens_total",
            "Tokens of all attempts; cached_input and cache_write are part of input, reasoning is part of output.",
            *who, "kind",
        )  # fmt: skip
        self.cost = counter("cost_usd_total", "US dollars of all attempts whose price is known.", *who)
        self.saved = counter("cache_savings_usd_total", "US dollars that cached input would have cost more.", *who)
        self.catalog_before = histogram(
            "catalog_full_bytes", "Catalogs before they were fitted to a model.", BYTES, "tier"
        )
        self.catalog_after = histogram("catalog_sent_bytes", "Catalogs as they were sent.", BYTES, "tier")
        self.left_out = counter("catalog_entries_left_out_total", "Entries of catalogs that were not sent.", "tier")
        self.filters = counter("filter_calls_total", "Second calls that were to settle a selection.", *who, "result")
        self.stops = counter("stop_reasons_total", "Answers by why the model stopped.", *who, "reason")
        self.unknown_stops = counter("unknown_stop_reasons_total", "Words for stop reasons that no table knows.", *who)
        self.continuations = counter("continuations_total", "Continuations that were triggered.", *who)
        self.per_turn = histogram("continuations_per_turn", "Continuation attempts per continued turn.", TIMES, *who)
        self.turns = counter("continued_turns_total", "Continued turns by terminal reason.", *who, "terminal_reason")
        self.continued_seconds = histogram(
            "continued_turn_duration_seconds",
            "End-to-end latency of continued turns, from the first request on.",
            SECONDS,
            *who,
        )
        self.exits = counter(
            "truncation_exits_total",
            "Truncated answers without a continuation, by terminal reason.",
            *who,
            "terminal_reason",
        )
        self.tool_repairs = counter(
            "tool_payload_repairs_total", "Turns whose tool calls were asked for again.", *who, "result"
        )
        self.reasoning = counter(
            "reasoning_stripped_characters_total", "Characters of reasoning taken out of answers.", *who
        )
        self.repairs = counter("repairs_total", "Answers that a decode step had to repair.", "step")
        self.downgraded = counter("downgrades_total", "Answers to requests of which something was left out.", *who)
        self.rests = counter(
            "provider_rests_total", "Times that a failing provider was left alone.", "provider", "cause"
        )
        self.restored = counter(
            "invariants_restored_total", "Fields that a trim step cut and must not.", "plugin", "step"
        )
        self.history = counter("history_failures_total", "Records of plans that could not be kept.")
