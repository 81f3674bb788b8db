"""Prometheus metrics. ``[events] sinks = ["prometheus"]`` enables them; they need the extra ``prometheus``.

Each deck has its own registry. Requests, responses and callers are never labels. Model ids come from callers, so at most
``max_models`` of them are labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from helmdeck_core import (
    AnswerReused,
    AttemptEnded,
    CacheFailed,
    CacheMissed,
    CallAborted,
    CallExhausted,
    CallFinished,
    CatalogSelected,
    ChainOrdered,
    ContinuationAttempt,
    ContinuationTerminated,
    CooldownStarted,
    Event,
    EventSink,
    FilterFailed,
    GuardReported,
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
from helmdeck_telemetry.extras import missing_extra

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Counter, Histogram

OTHER = "other"
"""Label of all models beyond ``max_models``."""
MAX_MODEL_CHARS = 200
"""Longer model ids never become labels."""
MAX_CHILDREN = 10_000
"""Combinations of labels that are found without the library."""

SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300)
BYTES = (1_000, 2_500, 5_000, 10_000, 22_000, 35_000, 50_000, 100_000, 250_000, 1_000_000)
TIMES = (1, 2, 3, 5, 8)

_MODEL = ("provider", "model")


@hookimpl
def helmdeck_event_sinks() -> Sequence[EventSink]:
    """The Prometheus sink."""
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

    :param max_models: maximum number of models with their own label; all others are ``other``.
    :ivar registry: the registry that ``prometheus_client`` serves, pushes or writes.
    """

    def __init__(self, max_models: int = 100) -> None:
        try:
            from prometheus_client import CollectorRegistry
        except ImportError as exc:
            raise missing_extra("prometheus", "prometheus-client", "prometheus") from exc
        self.registry: CollectorRegistry = CollectorRegistry()
        self._metrics = _Metrics(self.registry)
        self._max_models = max_models
        self._models: set[str] = set()
        self._children: dict[tuple[str, tuple[str, ...]], Any] = {}
        self._counts: Mapping[type[Event], Callable[[Any], None]] = {
            CatalogSelected: self._count_catalog,
            SelectionFiltered: self._count_filter,
            FilterFailed: self._count_filter,
            StopReasonObserved: self._count_stop,
            StopReasonUnknown: self._count_unknown_stop,
            ContinuationAttempt: self._count_continuation,
            ContinuationTerminated: self._count_continued,
            ToolPayloadRepair: self._count_tool_repair,
            ReasoningStripped: self._count_reasoning,
            AttemptEnded: self._count_attempt,
            CallFinished: self._count_finished,
            ChainOrdered: self._count_order,
            CallExhausted: self._count_exhausted,
            CallAborted: self._count_aborted,
            CooldownStarted: self._count_cooldown,
            InvariantRestored: self._count_restored,
            HistoryFailed: self._count_history,
            GuardReported: self._count_guard,
            AnswerReused: self._count_reused,
            CacheMissed: self._count_missed,
            CacheFailed: self._count_cache_failure,
        }

    def render(self) -> bytes:
        """Return all metrics in the Prometheus text format."""
        from prometheus_client import generate_latest

        return generate_latest(self.registry)

    def handle(self, event: Event) -> None:
        """Count an event."""
        # A table instead of a match statement: most events are the last ones of its cases.
        if (count := self._counts.get(type(event))) is not None:
            count(event)

    def _count_catalog(self, event: CatalogSelected) -> None:
        child, tier = self._child, event.tier.value
        child("catalog_before", tier).observe(event.record.before_bytes)
        child("catalog_after", tier).observe(event.record.after_bytes)
        child("left_out", tier).inc(event.record.left_out)

    def _count_filter(self, event: SelectionFiltered | FilterFailed) -> None:
        result = "failed" if isinstance(event, FilterFailed) else "settled"
        self._child("filters", *self._labels(event.filter_model), result).inc()

    def _count_stop(self, event: StopReasonObserved) -> None:
        self._child("stops", *self._labels(event.model), event.stop_reason.value).inc()

    def _count_unknown_stop(self, event: StopReasonUnknown) -> None:
        self._child("unknown_stops", *self._labels(event.model)).inc()

    def _count_continuation(self, event: ContinuationAttempt) -> None:
        self._child("continuations", *self._labels(event.model)).inc()

    def _count_tool_repair(self, event: ToolPayloadRepair) -> None:
        result = "repaired" if event.is_successful else "failed"
        self._child("tool_repairs", *self._labels(event.model), result).inc()

    def _count_reasoning(self, event: ReasoningStripped) -> None:
        self._child("reasoning", *self._labels(event.model)).inc(event.chars)

    def _count_order(self, event: ChainOrdered) -> None:
        self._child("chain_orders", event.policy, *self._known_labels(event.models[0])).inc()

    def _count_exhausted(self, event: CallExhausted) -> None:
        self._child("calls", event.pack, *self._known_labels(event.model), event.cause.value).inc()
        self._child("call_seconds", event.pack, event.cause.value).observe(event.latency_s)

    def _count_aborted(self, event: CallAborted) -> None:
        self._child("calls", event.pack, *self._known_labels(event.model), "aborted").inc()

    def _count_cooldown(self, event: CooldownStarted) -> None:
        self._child("cooldowns", event.provider, event.cause.value).inc()

    def _count_restored(self, event: InvariantRestored) -> None:
        self._child("restored", event.plugin, event.step).inc()

    def _count_history(self, _: HistoryFailed) -> None:
        self._metrics.history.inc()

    def _count_guard(self, event: GuardReported) -> None:
        self._child("guards", event.guard, event.stage, event.outcome).inc()

    def _count_reused(self, event: AnswerReused) -> None:
        labels = self._labels(event.model)
        self._child("cache_lookups", *labels, event.cache).inc()
        self._child("cache_saved", *labels).inc(event.saved_usd or 0.0)

    def _count_missed(self, event: CacheMissed) -> None:
        self._child("cache_lookups", *self._known_labels(event.model), event.reason).inc()

    def _count_cache_failure(self, event: CacheFailed) -> None:
        self._child("cache_failures", event.cache, event.action).inc()

    def _count_attempt(self, event: AttemptEnded) -> None:
        attempt, child = event.outcome, self._child
        labels = self._labels(attempt.model) if attempt.is_sent else self._known_labels(attempt.model)
        child("attempts", *labels, attempt.cause.value if attempt.cause else "none").inc()
        if attempt.is_sent:
            child("attempt_seconds", *labels).observe(attempt.latency_s)
        if attempt.continuations:
            child("continued_seconds", *labels).observe(attempt.latency_s)
        for kind in ("input", "cached_input", "cache_write", "output", "reasoning"):
            if tokens := getattr(attempt.usage, f"{kind}_tokens"):
                child("tokens", *labels, kind).inc(tokens)
        if attempt.cost_usd:
            child("cost", *labels).inc(attempt.cost_usd)

    def _count_finished(self, event: CallFinished) -> None:
        child, labels = self._child, self._labels(event.model)
        child("calls", event.pack, *labels, "answered").inc()
        child("call_seconds", event.pack, "answered").observe(event.total_s)
        if event.model != event.requested_model:
            child("fallbacks", *self._labels(event.requested_model)).inc()
        if event.saved_usd and event.saved_usd > 0:
            child("saved", *labels).inc(event.saved_usd)
        for step in event.repairs:
            child("repairs", step).inc()
        if event.downgrades:
            child("downgraded", *labels).inc()

    def _count_continued(self, event: ContinuationTerminated) -> None:
        child, labels = self._child, self._labels(event.model)
        if event.attempts:
            child("per_turn", *labels).observe(event.attempts)
            child("turns", *labels, event.terminal_reason.value).inc()
        elif event.terminal_reason is not TerminalReason.COMPLETED:
            child("exits", *labels, event.terminal_reason.value).inc()

    # -- labels ------------------------------------------------------------------------------------------

    def _child(self, name: str, *labels: str) -> Any:
        """Return the part of a metric with the labels; found by the library, it takes three times as long."""
        child = self._children.get((name, labels))
        if child is None:
            child = getattr(self._metrics, name).labels(*labels)
            if len(self._children) < MAX_CHILDREN:
                self._children[name, labels] = child
        return child

    def _labels(self, model: str) -> tuple[str, str]:
        """Return provider and model of a request that was sent."""
        if model not in self._models and len(self._models) < self._max_models and _is_label(model):
            self._models.add(model)
        return self._known_labels(model)

    def _known_labels(self, model: str) -> tuple[str, str]:
        """Return provider and model of an id that may be arbitrary text."""
        return (model.partition("/")[0], model) if model in self._models else (OTHER, OTHER)


def _is_label(model: str) -> bool:
    """Reject lone surrogates: they would make the whole page unreadable."""
    return len(model) <= MAX_MODEL_CHARS and model.isprintable()


class _Metrics:
    """All metrics of one deck."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._add_calls()
        self._add_usage()
        self._add_catalogs()
        self._add_responses()
        self._add_faults()

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        from prometheus_client import Counter

        return Counter(f"helmdeck_{name}", text, labels, registry=self._registry)

    def _histogram(self, name: str, text: str, buckets: Sequence[float], *labels: str) -> Histogram:
        from prometheus_client import Histogram

        return Histogram(f"helmdeck_{name}", text, labels, buckets=buckets, registry=self._registry)

    def _add_calls(self) -> None:
        self.calls = self._counter(
            "calls_total", "Calls by outcome: answered, a failure cause, or aborted.", "pack", *_MODEL, "outcome"
        )
        self.call_seconds = self._histogram(
            "call_duration_seconds", "Duration of calls with all attempts and waits.", SECONDS, "pack", "outcome"
        )
        self.attempts = self._counter(
            "attempts_total", "Attempts by failure cause; none for successful ones.", *_MODEL, "cause"
        )
        self.attempt_seconds = self._histogram(
            "attempt_duration_seconds", "Duration of attempts that were sent.", SECONDS, *_MODEL
        )
        self.fallbacks = self._counter("fallbacks_total", "Calls that a fallback model answered.", *_MODEL)

        self.chain_orders = self._counter(
            "chain_orders_total", "Calls by the first model of the order of a chain policy.", "policy", *_MODEL
        )

    def _add_usage(self) -> None:
        self.tokens = self._counter(
            "tokens_total",
            "Tokens of all attempts; cached_input and cache_write are part of input, reasoning is part of output.",
            *_MODEL, "kind",
        )  # fmt: skip
        self.cost = self._counter("cost_usd_total", "US dollars of all attempts whose price is known.", *_MODEL)
        self.saved = self._counter(
            "cache_savings_usd_total", "US dollars that cached input would have cost more.", *_MODEL
        )

        self.cache_lookups = self._counter(
            "cache_lookups_total",
            "Calls that use response caches, by the cache with the answer, shared, absent or refresh.",
            *_MODEL, "result",
        )  # fmt: skip
        self.cache_saved = self._counter(
            "cached_answers_saved_usd_total", "US dollars that calls with a cached answer would have cost.", *_MODEL
        )
        self.cache_failures = self._counter("cache_failures_total", "Failures of response caches.", "cache", "action")

    def _add_catalogs(self) -> None:
        self.catalog_before = self._histogram(
            "catalog_full_bytes", "Size of catalogs before selection and trimming.", BYTES, "tier"
        )
        self.catalog_after = self._histogram("catalog_sent_bytes", "Size of catalogs as sent.", BYTES, "tier")
        self.left_out = self._counter("catalog_entries_left_out_total", "Catalog entries that were not sent.", "tier")
        self.filters = self._counter("filter_calls_total", "Filter calls of selections.", *_MODEL, "result")

    def _add_responses(self) -> None:
        self.stops = self._counter("stop_reasons_total", "Responses by stop reason.", *_MODEL, "reason")
        self.unknown_stops = self._counter(
            "unknown_stop_reasons_total", "Native stop reasons that no table lists.", *_MODEL
        )
        self.continuations = self._counter("continuations_total", "Continuation requests.", *_MODEL)
        self.per_turn = self._histogram("continuations_per_turn", "Continuations per continued turn.", TIMES, *_MODEL)
        self.turns = self._counter(
            "continued_turns_total", "Continued turns by terminal reason.", *_MODEL, "terminal_reason"
        )
        self.continued_seconds = self._histogram(
            "continued_turn_duration_seconds", "Duration of continued turns from the first request.", SECONDS, *_MODEL
        )
        self.exits = self._counter(
            "truncation_exits_total",
            "Truncated responses that were not continued, by terminal reason.",
            *_MODEL,
            "terminal_reason",
        )
        self.tool_repairs = self._counter(
            "tool_payload_repairs_total", "Turns whose tool calls were requested again.", *_MODEL, "result"
        )
        self.reasoning = self._counter(
            "reasoning_stripped_characters_total", "Characters of reasoning removed from responses.", *_MODEL
        )
        self.repairs = self._counter("repairs_total", "Responses that a decode step repaired.", "step")
        self.downgraded = self._counter(
            "downgrades_total", "Responses to requests with fields that were left out.", *_MODEL
        )

    def _add_faults(self) -> None:
        self.cooldowns = self._counter(
            "provider_cooldowns_total", "Cooldowns of failing providers.", "provider", "cause"
        )
        self.restored = self._counter(
            "invariants_restored_total", "Required fields that a trim step removed.", "plugin", "step"
        )
        self.guards = self._counter(
            "guard_reports_total",
            "Requests and answers in which a guard found something, or failed.",
            "guard",
            "stage",
            "outcome",
        )
        self.history = self._counter("history_failures_total", "Plans that could not be stored in the history.")
