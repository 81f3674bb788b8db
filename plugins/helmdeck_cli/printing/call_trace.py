"""Call traces as text, for ``helmdeck explain --run``."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from helmdeck_cli.printing.wording import counted
from helmdeck_core import Helmdeck
from helmdeck_core.cli import UsageError, hanging, labelled, make_deck, read_config, table, with_default_history

if TYPE_CHECKING:
    from helmdeck_core import CallTrace

LAST = "last"
TRACES = "traces"
"""The sink that stores traces."""


def deck_with_traces(arguments: argparse.Namespace) -> Helmdeck:
    """Return a deck that reads stored traces; without a configured sink, those of the default file."""
    deck = make_deck(arguments)
    config = deck.runtime.config
    if deck.stores_traces or TRACES in config.plugins.disable:
        return deck
    loaded = with_default_history(read_config(arguments))
    events = attrs.evolve(config.events, sinks=(*config.events.sinks, TRACES))
    return Helmdeck(attrs.evolve(loaded, config=attrs.evolve(loaded.config, events=events)))


def find_trace(deck: Helmdeck, call_id: str) -> CallTrace | None:
    """Return the trace of a call by its id, or the most recent one for ``last``; ``None`` if it is not stored."""
    if call_id == LAST:
        return next(iter(deck.traces(1)), None)
    return deck.call_trace(call_id)


def find_run(deck: Helmdeck, run_id: str) -> Any:
    """Return the record of a run; ``None`` if it is not recorded."""
    return asyncio.run(_record(deck, run_id))


async def _record(deck: Helmdeck, run_id: str) -> Any:
    async with deck:
        return await deck.runs.record(run_id)


def missing_trace(deck: Helmdeck, arguments: argparse.Namespace) -> UsageError:
    """Return the error for an id that is neither that of a stored call nor of a recorded run."""
    recent = deck.traces(5)
    if not recent and TRACES not in read_config(arguments).config.events.sinks:
        return UsageError(
            'no call traces are stored; enable them in helmdeck.toml with [events] sinks = ["traces"], or for one command '
            "with HELMDECK_EVENTS__SINKS=traces"
        )
    ids = "; most recent: " + ", ".join(each.call_id for each in recent) if recent else "; none is stored yet"
    return UsageError(f"no trace of call {arguments.run!r} is stored, and no run has this id{ids}")


def trace_lines(trace: CallTrace) -> Iterator[str]:
    """The trace as text."""
    last = trace.events[-1]
    model = f" by {last['model']}" if trace.outcome == "answered" else ""
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


def _totals(trace: CallTrace) -> Iterator[str]:
    attempts = [event["outcome"] for event in trace.events if event["event"] == "attempt_ended"]
    last = trace.events[-1]
    costs = [attempt.get("cost_usd") for attempt in attempts if any(attempt.get("usage", {}).values())]
    known = [cost for cost in costs if cost is not None]
    tokens = {
        kind: sum(attempt.get("usage", {}).get(f"{kind}_tokens", 0) for attempt in attempts)
        for kind in ("input", "cached_input", "output")
    }
    totals = [f"{last.get('total_s', last.get('latency_s', 0.0)):.1f} s", _counted(len(attempts), "attempt")]
    if any(tokens.values()):
        totals.append(f"{tokens['input']:,} tokens in ({tokens['cached_input']:,} cached), {tokens['output']:,} out")
    yield labelled("usage", ", ".join(totals))
    if known:
        unknown = len(costs) - len(known)
        more = f", plus {_counted(unknown, 'attempt')} with an unknown price" if unknown else ""
        saved = f"; caching saved {last['saved_usd']:.6f}" if last.get("saved_usd") else ""
        yield labelled("cost", f"{sum(known):.6f} US dollars{more}{saved}")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


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
        yield f"{about}{outcome['cost_usd']:.6f} US dollars"
    yield f"then {outcome['then']}" if outcome.get("cause") and outcome.get("then") else ""


def _cause(facts: Mapping[str, Any]) -> str:
    return " / ".join(filter(None, (facts["cause"], facts.get("sub_cause"))))
