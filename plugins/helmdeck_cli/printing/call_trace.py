"""Call traces as text, for ``helmdeck explain --run``."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from helmdeck_cli.printing.wording import counted
from helmdeck_core.cli import hanging, labelled, table, usd_text

if TYPE_CHECKING:
    from helmdeck_core import CallTrace


def trace_lines(trace: CallTrace) -> Iterator[str]:
    """The trace as text."""
    model = f" by {name}" if (name := answering_model(trace)) else ""
    yield hanging("", f"{trace.pack or 'a request'} for {trace.caller}: {trace.outcome}{model}")
    yield ""
    yield labelled("call id", trace.call_id + (f", a helper of {trace.parent}" if trace.parent else ""))
    yield labelled("started", time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(trace.time)))
    yield labelled("model", trace.model)
    yield from _totals(trace)
    yield ""
    rows = [
        (
            f"{event['at_s']:.3f} s",
            str(event.get("attempt", "")),
            event["event"],
            "; ".join(filter(None, _details(event))),
        )
        for event in trace.events
    ]
    yield table(rows, ("time", "attempt", "event", "details"), right={0, 1})


@attrs.frozen(kw_only=True)
class TraceTotals:
    """What a call took, over all its attempts.

    :ivar cost_usd: US dollars of the attempts with a known price; ``None`` if there is none.
    :ivar unpriced: attempts whose price is unknown.
    """

    duration_s: float
    attempts: int
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int
    cost_usd: float | None
    unpriced: int


def trace_totals(trace: CallTrace) -> TraceTotals:
    """Return what the call of a trace took."""
    attempts = [event["outcome"] for event in trace.events if event["event"] == "attempt_ended"]
    last = trace.events[-1]
    costs = [attempt.get("cost_usd") for attempt in attempts if any(attempt.get("usage", {}).values())]
    known = [cost for cost in costs if cost is not None]
    return TraceTotals(
        duration_s=last.get("total_s", last.get("latency_s", 0.0)),
        attempts=len(attempts),
        cost_usd=sum(known) if known else None,
        unpriced=len(costs) - len(known),
        **{
            name: sum(attempt.get("usage", {}).get(name, 0) for attempt in attempts)
            for name in ("input_tokens", "cached_input_tokens", "output_tokens")
        },
    )


def answering_model(trace: CallTrace) -> str:
    """Return the model that answered the call of a trace; empty for a call that failed."""
    return trace.events[-1]["model"] if trace.outcome == "answered" else ""


def _totals(trace: CallTrace) -> Iterator[str]:
    totals = trace_totals(trace)
    shown = [f"{totals.duration_s:.1f} s", counted(totals.attempts, "attempt")]
    if totals.input_tokens or totals.output_tokens:
        tokens_in = f"{totals.input_tokens:,} tokens in ({totals.cached_input_tokens:,} cached)"
        shown.append(f"{tokens_in}, {totals.output_tokens:,} out")
    yield labelled("usage", ", ".join(shown))
    if totals.cost_usd is not None:
        more = f", plus {counted(totals.unpriced, 'attempt')} with an unknown price" if totals.unpriced else ""
        last = trace.events[-1]
        saved = f"; caching saved {last['saved_usd']:.6f}" if last.get("saved_usd") else ""
        yield labelled("cost", f"{usd_text(totals.cost_usd)}{more}{saved}")


def _details(event: Mapping[str, Any]) -> Iterator[str]:
    """The facts of one event, a few words each; empty strings are to be left out."""
    match event:
        case {"event": "call_started", "model": model}:
            yield f"model {model}"
        case {"event": "catalog_selected", "record": record}:
            yield from _selection(event, record)
        case {"event": "request_sent"}:
            yield from _request(event)
        case {"event": "attempt_ended", "outcome": outcome}:
            yield from _attempt(outcome)
        case {"event": "selection_filtered"}:
            yield f"{event['filter_model']} selected {counted(event['picks'], 'entry', 'entries')}, {event['kept']} sent"
        case {"event": "stop_reason_observed"}:
            yield f"{event['stop_reason']} ({event.get('raw_stop_reason')!r})"
        case {"event": "call_finished"}:
            yield f"answered by {event.get('served_model') or event['model']}"
            yield f"constrained by {event['constraint']}" if event.get("constraint") else ""
            yield "repaired: " + ", ".join(event["repairs"]) if event.get("repairs") else ""
            yield "downgraded: " + ", ".join(event["downgrades"]) if event.get("downgrades") else ""
            yield "not read: " + ", ".join(event["unread"]) if event.get("unread") else ""
        case {"event": "call_exhausted"}:
            yield f"{_cause(event)}: {event['reason']}"
        case _:
            for name, value in event.items():
                if name not in ("event", "at_s", "attempt", "provider"):
                    text = f"{value:.3g}" if isinstance(value, float) else value
                    yield f"{name.replace('_', ' ')} {text}"


def _selection(event: Mapping[str, Any], record: Mapping[str, Any]) -> Iterator[str]:
    before, after = record["before_bytes"], record["after_bytes"]
    yield f"tier {event['tier']}"
    yield f"{after:,} bytes, whole" if before == after else f"{before:,} -> {after:,} bytes"
    if record.get("left_out"):
        yield f"{counted(record['kept_entries'], 'entry', 'entries')} sent, {record['left_out']} left out"
    if event.get("confidence") is not None:
        yield f"confidence {event['confidence']:.2f}"
    yield ", ".join(record.get("dropped", ()))
    if steps := record.get("steps"):
        sizes = (f"{each['step']} {each['after_bytes']:,} ({each['entries']})" for each in steps)
        yield "bytes (entries) after each step: " + ", ".join(sizes)


def _request(event: Mapping[str, Any]) -> Iterator[str]:
    yield event["model"]
    yield event.get("variant", "")
    yield f"window {event['input_tokens']:,} tokens"
    if event.get("max_tokens"):
        yield f"at most {event['max_tokens']:,} out"
    if event.get("max_catalog_bytes") is not None:
        yield f"catalogs of at most {event['max_catalog_bytes']:,} bytes"
    yield event.get("response_format", "")
    yield "changed: " + ", ".join(event["changed"]) if event.get("changed") else ""
    yield f"after a backoff of {event['waited_s']:.1f} s" if event.get("waited_s") else ""


def _attempt(outcome: Mapping[str, Any]) -> Iterator[str]:
    yield _cause(outcome) if outcome.get("cause") else ""
    yield f"HTTP {outcome['status']}" if outcome.get("status") else ""
    yield f"request id {outcome['request_id']}" if outcome.get("cause") and outcome.get("request_id") else ""
    yield f"{outcome['latency_s']:.3f} s"
    usage = outcome.get("usage", {})
    if any(usage.values()):
        yield f"{usage.get('input_tokens', 0):,} tokens in, {usage.get('output_tokens', 0):,} out"
    if outcome.get("requests"):
        yield counted(len(outcome["requests"]), "request")
    if outcome.get("cost_usd") is not None:
        about = "about " if outcome.get("is_estimated") else ""
        yield about + usd_text(outcome["cost_usd"])
    yield f"then {outcome['then']}" if outcome.get("cause") and outcome.get("then") else ""


def _cause(facts: Mapping[str, Any]) -> str:
    return " / ".join(filter(None, (facts["cause"], facts.get("sub_cause"))))
