"""Prometheus metrics. ``[events] sinks = ["prometheus"]`` enables them; they need the extra ``prometheus``.

Each deck has its own registry. Requests, responses and callers are never labels. Model ids come from callers, so at most
``max_models`` of them are labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from helmdeck_core import (
    AnswerReused,
    Attempt,
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

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Counter, Histogram

OTHER = "other"
"""Label of all models beyond ``max_models``."""
MAX_MODEL_CHARS = 200
"""Longer model ids never become labels."""

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
            raise RuntimeError("prometheus-client is missing; pip install 'helmdeck[prometheus]'") from exc
        self.registry = CollectorRegistry()
        self._metrics = _Metrics(self.registry)
        self._max_models = max_models
        self._models: set[str] = set()

    def render(self) -> bytes:
        """Return all metrics in the Prometheus text format."""
        from prometheus_client import generate_latest

        return generate_latest(self.registry)

    def handle(self, event: Event) -> None:
        """Count an event."""
        metrics = self._metrics
        match event:
            case CatalogSelected():
                metrics.catalog_before.labels(event.tier.value).observe(event.record.before_bytes)
                metrics.catalog_after.labels(event.tier.value).observe(event.record.after_bytes)
                metrics.left_out.labels(event.tier.value).inc(event.record.left_out)
            case SelectionFiltered() | FilterFailed():
                result = "failed" if isinstance(event, FilterFailed) else "settled"
                metrics.filters.labels(*self._labels(event.filter_model), result).inc()
            case StopReasonObserved():
                metrics.stops.labels(*self._labels(event.model), event.stop_reason.value).inc()
            case StopReasonUnknown():
                metrics.unknown_stops.labels(*self._labels(event.model)).inc()
            case ContinuationAttempt():
                metrics.continuations.labels(*self._labels(event.model)).inc()
            case ContinuationTerminated():
                self._count_continuation(event)
            case ToolPayloadRepair():
                result = "repaired" if event.is_successful else "failed"
                metrics.tool_repairs.labels(*self._labels(event.model), result).inc()
            case ReasoningStripped():
                metrics.reasoning.labels(*self._labels(event.model)).inc(event.chars)
            case AttemptEnded():
                self._count_attempt(event.outcome)
            case CallFinished():
                self._count_finished(event)
            case ChainOrdered():
                metrics.chain_orders.labels(event.policy, *self._known_labels(event.models[0])).inc()
            case CallExhausted():
                metrics.calls.labels(event.pack, *self._known_labels(event.model), event.cause.value).inc()
                metrics.call_seconds.labels(event.pack, event.cause.value).observe(event.latency_s)
            case CallAborted():
                metrics.calls.labels(event.pack, *self._known_labels(event.model), "aborted").inc()
            case CooldownStarted():
                metrics.cooldowns.labels(event.provider, event.cause.value).inc()
            case InvariantRestored():
                metrics.restored.labels(event.plugin, event.step).inc()
            case HistoryFailed():
                metrics.history.inc()
            case GuardReported():
                metrics.guards.labels(event.guard, event.stage, event.outcome).inc()
            case AnswerReused():
                metrics.cache_lookups.labels(*self._labels(event.model), event.cache).inc()
                metrics.cache_saved.labels(*self._labels(event.model)).inc(event.saved_usd or 0.0)
            case CacheMissed():
                metrics.cache_lookups.labels(*self._known_labels(event.model), event.reason).inc()
            case CacheFailed():
                metrics.cache_failures.labels(event.cache, event.action).inc()
            case _:
                pass

    def _count_attempt(self, attempt: Attempt) -> None:
        metrics, labels = (
            self._metrics,
            self._labels(attempt.model) if attempt.is_sent else self._known_labels(attempt.model),
        )
        metrics.attempts.labels(*labels, attempt.cause.value if attempt.cause else "none").inc()
        if attempt.is_sent:
            metrics.attempt_seconds.labels(*labels).observe(attempt.latency_s)
        if attempt.continuations:
            metrics.continued_seconds.labels(*labels).observe(attempt.latency_s)
        for kind in ("input", "cached_input", "cache_write", "output", "reasoning"):
            if tokens := getattr(attempt.usage, f"{kind}_tokens"):
                metrics.tokens.labels(*labels, kind).inc(tokens)
        if attempt.cost_usd:
            metrics.cost.labels(*labels).inc(attempt.cost_usd)

    def _count_finished(self, event: CallFinished) -> None:
        metrics, labels = self._metrics, self._labels(event.model)
        metrics.calls.labels(event.pack, *labels, "answered").inc()
        metrics.call_seconds.labels(event.pack, "answered").observe(event.total_s)
        if event.model != event.requested_model:
            metrics.fallbacks.labels(*self._labels(event.requested_model)).inc()
        if event.saved_usd and event.saved_usd > 0:
            metrics.saved.labels(*labels).inc(event.saved_usd)
        for step in event.repairs:
            metrics.repairs.labels(step).inc()
        if event.downgrades:
            metrics.downgraded.labels(*labels).inc()

    def _count_continuation(self, event: ContinuationTerminated) -> None:
        metrics, labels = self._metrics, self._labels(event.model)
        if event.attempts:
            metrics.per_turn.labels(*labels).observe(event.attempts)
            metrics.turns.labels(*labels, event.terminal_reason.value).inc()
        elif event.terminal_reason is not TerminalReason.COMPLETED:
            metrics.exits.labels(*labels, event.terminal_reason.value).inc()

    # -- labels ------------------------------------------------------------------------------------------

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
