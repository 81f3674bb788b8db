"""Creates OpenTelemetry spans, one per call and one per attempt. ``[events] sinks = ["otel"]`` enables it.

It needs the extra ``otel``, which is only the API: the application configures an SDK and an exporter; without them
nothing is recorded. A process without an application of its own, such as ``helmdeck serve``, sends spans to ``endpoint`` with the
extra ``otlp``. Names follow the semantic conventions for generative AI. Token usage is recorded on attempts only, so
that it is not counted twice.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from helmdeck_core import (
    TRACE_CONTEXT,
    Attempt,
    AttemptEnded,
    CallAborted,
    CallExhausted,
    CallFinished,
    CallStarted,
    CatalogSelected,
    Event,
    EventSink,
    FilterFailed,
    RequestSent,
    SecretRef,
    SelectionFiltered,
    event_data,
    hookimpl,
)
from helmdeck_telemetry.extras import missing_extra

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

PROVIDERS: Mapping[str, str] = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "google": "gcp.gemini",
    "mistral": "mistral_ai",
    "responses": "openai",
    "vertex": "gcp.vertex_ai",
    "xai": "x_ai",
}
"""Helmdeck's provider names to those of the conventions, where they differ."""

MAX_OPEN_CALLS = 10_000
"""Maximum number of calls with open spans."""
CLOSE_S = 3.0
"""Seconds that closing waits for the collector."""


@hookimpl
def helmdeck_event_sinks() -> Sequence[EventSink]:
    """The OpenTelemetry sink."""
    return (
        EventSink(
            name="otel",
            open=OtelSink,
            options={"endpoint": ""},
            summary="OpenTelemetry spans with the conventions for generative AI",
        ),
    )


class _OpenCall:
    """A running call: its span, and those of its attempts under way, by number, with the time of their request."""

    def __init__(self, span: Span) -> None:
        self.span = span
        self.attempts: dict[int, tuple[Span, int]] = {}


class OtelSink:
    """Spans of one deck.

    A call's span is a child of the span that is current when the call starts, else of the one that the client of a server
    names in ``traceparent``.

    :param endpoint: the URL of a collector for OTLP over HTTP, such as ``http://localhost:4318/v1/traces``, or a reference to it:
        ``env:NAME`` or ``file:PATH``; empty: the provider that the application has configured. Headers, such as one with a key, are
        those of ``OTEL_EXPORTER_OTLP_HEADERS``.
    """

    def __init__(self, endpoint: str = "") -> None:
        try:
            from opentelemetry import trace
            from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
        except ImportError as exc:
            raise missing_extra("otel", "opentelemetry-api", "otel") from exc
        self._trace = trace
        self._propagator = TraceContextTextMapPropagator()
        kind, _, target = endpoint.partition(":")
        url = (SecretRef(kind, target).read() or "") if kind in ("env", "file") else endpoint
        self._exporting = _provider(url) if url else None
        self._tracer = (self._exporting or trace.get_tracer_provider()).get_tracer("helmdeck")
        self._open: dict[str, _OpenCall] = {}

    def handle(self, event: Event) -> None:
        """Start, end or annotate a span."""
        call = self._open.get(getattr(event, "call_id", ""))
        match event:
            case CallStarted():
                self._start_call(event)
            case _ if call is None:
                pass
            case RequestSent():
                self._start_attempt(call, event)
            case AttemptEnded():
                self._end_attempt(call, event.outcome)
            case CallFinished():
                call.span.set_attributes(
                    {
                        "gen_ai.response.model": _text(event.served_model) or _name(event.model),
                        "helmdeck.attempts": event.attempt,
                        **_without_none(
                            {"helmdeck.cost_usd": event.cost_usd, "helmdeck.cache_savings_usd": event.saved_usd}
                        ),
                        **_flat(
                            "helmdeck", {"model": event.model, "repairs": event.repairs, "downgrades": event.downgrades}
                        ),
                    }
                )
                self._end(event.call_id)
            case CallExhausted():
                self._fail(call.span, event.cause.value, event.sub_cause)
                call.span.set_attributes({"helmdeck.attempts": event.attempt, "helmdeck.reason": event.reason})
                self._end(event.call_id)
            case CallAborted():
                for span in (*(span for span, _ in call.attempts.values()), call.span):
                    self._fail(span, event.error, "")
                self._end(event.call_id)
            case _:
                self._annotate(call, event)

    def close(self) -> None:
        """Send the spans of calls that have ended, within a few seconds."""
        exporting, self._exporting = self._exporting, None
        if exporting is not None:
            thread = threading.Thread(target=exporting.shutdown, name="helmdeck-otlp", daemon=True)
            thread.start()
            thread.join(CLOSE_S)

    # -- spans -------------------------------------------------------------------------------------------

    def _start_call(self, event: CallStarted) -> None:
        parent = self._open.get(event.parent)
        span = self._tracer.start_span(
            _text(event.pack) or "helmdeck.complete",
            context=self._trace.set_span_in_context(parent.span) if parent else self._remote_parent(),
            attributes={
                "gen_ai.request.model": _name(event.model),
                "helmdeck.call_id": event.call_id,
                **_flat("helmdeck", {"requested_model": event.model, "pack": event.pack, "caller": event.caller}),
            },
        )
        if len(self._open) >= MAX_OPEN_CALLS:
            self._end(next(iter(self._open)))
        self._open[event.call_id] = _OpenCall(span)

    def _remote_parent(self) -> Context | None:
        """The span of the client that the running request names; ``None`` without one, or if the application has a span."""
        carrier = TRACE_CONTEXT.get()
        if not carrier or self._trace.get_current_span().get_span_context().is_valid:
            return None
        return self._propagator.extract(carrier)

    def _start_attempt(self, call: _OpenCall, event: RequestSent) -> None:
        sent_ns = time.time_ns()
        provider = event.model.partition("/")[0]
        limits = _without_none(
            {
                "gen_ai.request.max_tokens": event.max_tokens,
                "gen_ai.request.temperature": event.temperature,
                "helmdeck.max_catalog_bytes": event.max_catalog_bytes,
            }
        )
        span = self._tracer.start_span(
            f"chat {_name(event.model)}",
            context=self._trace.set_span_in_context(call.span),
            kind=self._trace.SpanKind.CLIENT,
            start_time=sent_ns,
            attributes={
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": PROVIDERS.get(provider, provider),
                "gen_ai.request.model": _name(event.model),
                "gen_ai.output.type": "json" if event.response_format else "text",
                "helmdeck.call_id": event.call_id,
                "helmdeck.attempt": event.attempt,
                "helmdeck.tier": event.tier.value,
                **limits,
                **_flat("helmdeck", {"variant": event.variant, "changed": event.changed}),
            },
        )
        call.attempts[event.attempt] = span, sent_ns
        if TRACE_CONTEXT.get():  # the provider's span is a child of the attempt
            carrier: dict[str, str] = {}
            self._propagator.inject(carrier, self._trace.set_span_in_context(span))
            TRACE_CONTEXT.set(carrier)

    def _end_attempt(self, call: _OpenCall, attempt: Attempt) -> None:
        span, sent_ns = call.attempts.pop(attempt.number, (None, 0))
        if span is None:  # nothing was sent, for example because the prompt does not fit
            cause = attempt.cause.value if attempt.cause else ""
            call.span.add_event("attempt_not_sent", _flat("", {"model": attempt.model, "cause": cause}))
            return
        usage = {
            "gen_ai.usage.input_tokens": attempt.usage.input_tokens,
            "gen_ai.usage.output_tokens": attempt.usage.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": attempt.usage.cached_input_tokens,
            "gen_ai.usage.cache_creation.input_tokens": attempt.usage.cache_write_tokens,
            "gen_ai.usage.reasoning.output_tokens": attempt.usage.reasoning_tokens,
        }
        response: dict[str, Any] = {name: tokens for name, tokens in usage.items() if tokens}
        if attempt.served_model:
            response["gen_ai.response.model"] = _text(attempt.served_model)
        if attempt.stop_reason:
            response["gen_ai.response.finish_reasons"] = (_text(attempt.raw_stop_reason or attempt.stop_reason),)
        span.set_attributes(
            {**response, **_without_none({"helmdeck.cost_usd": attempt.cost_usd, "helmdeck.then": attempt.then})}
        )
        if attempt.cause is not None:
            self._fail(span, attempt.cause.value, attempt.sub_cause)
        # A failed attempt is reported only after the recovery decision, which may be later than its end.
        span.end(min(sent_ns + int(attempt.latency_s * 1e9), time.time_ns()))

    def _annotate(self, call: _OpenCall, event: Event) -> None:
        """Add an event without a duration to the current span."""
        fields = event_data(event)
        name = fields.pop("event")
        for known in ("call_id", "pack", "caller", "attempt"):
            fields.pop(known, None)
        # These belong to the next attempt, and the previous one may not be reported yet.
        belongs_to_next = isinstance(event, CatalogSelected | SelectionFiltered | FilterFailed)
        span, _ = call.attempts.get(getattr(event, "attempt", 0), (call.span, 0))
        (call.span if belongs_to_next else span).add_event(name, _flat("", fields))

    def _fail(self, span: Span, cause: str, sub_cause: str) -> None:
        span.set_status(self._trace.StatusCode.ERROR, cause)
        span.set_attributes({"error.type": cause, **_flat("helmdeck", {"sub_cause": sub_cause})})

    def _end(self, call_id: str) -> None:
        call = self._open.pop(call_id)
        for span, _ in call.attempts.values():
            span.end()
        call.span.end()


def _provider(url: str) -> TracerProvider:
    """Return a provider that sends spans to a collector, in batches and in a thread of its own."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as exc:
        raise missing_extra("otel", "opentelemetry-exporter-otlp-proto-http", "otlp") from exc
    provider = TracerProvider(resource=Resource.create({"service.name": "helmdeck"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=url)))
    return provider


def _name(model: str) -> str:
    """Return the model id without its provider."""
    return _text(model.partition("/")[2] or model)


def _text(value: str) -> str:
    """Replace lone surrogates, which exporters cannot encode."""
    return value.encode("utf-8", "replace").decode()


def _without_none(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}


def _flat(prefix: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields as attributes: mappings become dotted names, empty values are left out."""
    attributes: dict[str, Any] = {}
    for name, value in fields.items():
        key = f"{prefix}.{name}" if prefix else name
        if isinstance(value, Mapping):
            attributes |= _flat(key, value)
        elif isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
            attributes[key] = [_text(json.dumps(each)) for each in value]
        elif value is not None and value not in ("", (), []):
            attributes[key] = _text(value) if isinstance(value, str) else value
    return attributes
