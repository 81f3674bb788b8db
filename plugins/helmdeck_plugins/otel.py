"""Makes spans for OpenTelemetry, one per call and one per attempt. ``[events] sinks = ["otel"]`` switches it on.

It needs the extra ``otel``, which is the interface alone: the application sets up an SDK and where it exports to; without
one nothing is recorded. Names are those of the semantic conventions for generative AI. Tokens stand on the attempts only,
so that they are not counted twice.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from helmdeck_core import (
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
    SelectionFiltered,
    event_data,
    hookimpl,
)

if TYPE_CHECKING:
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
"""What the conventions call a provider, where it is not what we call it."""

MOST_OPEN = 10_000
"""Calls that are followed at the same time."""


@hookimpl
def helmdeck_event_sinks() -> Sequence[EventSink]:
    """The sink."""
    return (EventSink(name="otel", open=OtelSink, summary="spans for OpenTelemetry, by its names for generative AI"),)


class _Open:
    """A call that runs: its span, and that of its present attempt."""

    def __init__(self, span: Span) -> None:
        self.span = span
        self.attempt: Span | None = None
        self.sent_ns = 0


class OtelSink:
    """Spans of one deck, below whatever span is current where a call begins."""

    def __init__(self) -> None:
        try:
            from opentelemetry import trace
        except ImportError as exc:
            raise RuntimeError("opentelemetry-api is missing; pip install 'helmdeck[otel]'") from exc
        self._trace = trace
        self._tracer = trace.get_tracer("helmdeck")
        self._open: dict[str, _Open] = {}

    def handle(self, event: Event) -> None:
        """Begin, end or annotate a span."""
        found = self._open.get(getattr(event, "call_id", ""))
        match event:
            case CallStarted():
                self._begin(event)
            case _ if found is None:
                pass
            case RequestSent():
                self._send(found, event)
            case AttemptEnded():
                self._attempted(found, event.outcome)
            case CallFinished():
                found.span.set_attributes(
                    {
                        "gen_ai.response.model": _text(event.served_model) or _name(event.model),
                        "helmdeck.attempts": event.attempt,
                        **_known({"helmdeck.cost_usd": event.cost_usd, "helmdeck.cache_savings_usd": event.saved_usd}),
                        **_flat(
                            "helmdeck", {"model": event.model, "repairs": event.repairs, "downgrades": event.downgrades}
                        ),
                    }
                )
                self._end(event.call_id)
            case CallExhausted():
                self._fail(found.span, event.cause.value, event.sub_cause)
                found.span.set_attributes({"helmdeck.attempts": event.attempt, "helmdeck.reason": event.reason})
                self._end(event.call_id)
            case CallAborted():
                for span in filter(None, (found.attempt, found.span)):
                    self._fail(span, event.error, "")
                self._end(event.call_id)
            case _:
                self._annotate(found, event)

    # -- spans -------------------------------------------------------------------------------------------

    def _begin(self, event: CallStarted) -> None:
        parent = self._open.get(event.parent)
        span = self._tracer.start_span(
            _text(event.pack) or "helmdeck.complete",
            context=self._trace.set_span_in_context(parent.span) if parent else None,
            attributes={
                "gen_ai.request.model": _name(event.model),
                "helmdeck.call_id": event.call_id,
                **_flat("helmdeck", {"requested_model": event.model, "pack": event.pack, "caller": event.caller}),
            },
        )
        if len(self._open) >= MOST_OPEN:
            self._end(next(iter(self._open)))
        self._open[event.call_id] = _Open(span)

    def _send(self, found: _Open, event: RequestSent) -> None:
        found.sent_ns = time.time_ns()
        provider = event.model.partition("/")[0]
        asked = _known(
            {
                "gen_ai.request.max_tokens": event.max_tokens,
                "gen_ai.request.temperature": event.temperature,
                "helmdeck.max_catalog_bytes": event.max_catalog_bytes,
            }
        )
        found.attempt = self._tracer.start_span(
            f"chat {_name(event.model)}",
            context=self._trace.set_span_in_context(found.span),
            kind=self._trace.SpanKind.CLIENT,
            start_time=found.sent_ns,
            attributes={
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": PROVIDERS.get(provider, provider),
                "gen_ai.request.model": _name(event.model),
                "gen_ai.output.type": "json" if event.response_format else "text",
                "helmdeck.call_id": event.call_id,
                "helmdeck.attempt": event.attempt,
                "helmdeck.tier": event.tier.value,
                **asked,
                **_flat("helmdeck", {"variant": event.variant, "changed": event.changed}),
            },
        )

    def _attempted(self, found: _Open, attempt: Attempt) -> None:
        span = found.attempt
        if span is None:  # nothing was sent, for instance because the prompt cannot fit
            cause = attempt.cause.value if attempt.cause else ""
            found.span.add_event("attempt_not_sent", _flat("", {"model": attempt.model, "cause": cause}))
            return
        usage = {
            "gen_ai.usage.input_tokens": attempt.usage.input_tokens,
            "gen_ai.usage.output_tokens": attempt.usage.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": attempt.usage.cached_input_tokens,
            "gen_ai.usage.cache_creation.input_tokens": attempt.usage.cache_write_tokens,
            "gen_ai.usage.reasoning.output_tokens": attempt.usage.reasoning_tokens,
        }
        answer: dict[str, Any] = {name: tokens for name, tokens in usage.items() if tokens}
        if attempt.served_model:
            answer["gen_ai.response.model"] = _text(attempt.served_model)
        if attempt.stop_reason:
            answer["gen_ai.response.finish_reasons"] = (_text(attempt.raw_stop_reason or attempt.stop_reason),)
        span.set_attributes(
            {**answer, **_known({"helmdeck.cost_usd": attempt.cost_usd, "helmdeck.then": attempt.then})}
        )
        if attempt.cause is not None:
            self._fail(span, attempt.cause.value, attempt.sub_cause)
        # Of a failed attempt we hear when it is clear what follows, which may be a while after it ended.
        span.end(min(found.sent_ns + int(attempt.latency_s * 1e9), time.time_ns()))
        found.attempt = None

    def _annotate(self, found: _Open, event: Event) -> None:
        """What has no length in time is an event of the span that it happened in."""
        facts = event_data(event)
        name = facts.pop("event")
        for known in ("call_id", "pack", "caller", "attempt"):
            facts.pop(known, None)
        # While the next attempt is prepared, the one before is not told of yet.
        prepares = isinstance(event, CatalogSelected | SelectionFiltered | FilterFailed)
        (found.span if prepares or found.attempt is None else found.attempt).add_event(name, _flat("", facts))

    def _fail(self, span: Span, cause: str, sub_cause: str) -> None:
        span.set_status(self._trace.StatusCode.ERROR, cause)
        span.set_attributes({"error.type": cause, **_flat("helmdeck", {"sub_cause": sub_cause})})

    def _end(self, call_id: str) -> None:
        found = self._open.pop(call_id)
        if found.attempt is not None:
            found.attempt.end()
        found.span.end()


def _name(model: str) -> str:
    """The model without its provider."""
    return _text(model.partition("/")[2] or model)


def _text(value: str) -> str:
    """A text that every exporter can encode, which one with a lone surrogate is not."""
    return value.encode("utf-8", "replace").decode()


def _known(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if value is not None}


def _flat(above: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts as attributes: mappings become dotted names, what is empty is left out."""
    found: dict[str, Any] = {}
    for name, value in facts.items():
        key = f"{above}.{name}" if above else name
        if isinstance(value, Mapping):
            found |= _flat(key, value)
        elif value is not None and value not in ("", (), []):
            found[key] = _text(value) if isinstance(value, str) else value
    return found
