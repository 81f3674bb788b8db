"""The story of a call that is over: the second half of ``helmdeck explain``."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from helmdeck_core.cli.exits import UsageError

if TYPE_CHECKING:
    from helmdeck_core.deck.helmdeck import Helmdeck
    from helmdeck_core.domain.traces import CallTrace

LAST = "last"


def find(deck: Helmdeck, wanted: str) -> CallTrace:
    """The story of a call by its id, or of the last one.

    :raises UsageError: nothing is kept, or not this one.
    """
    if not deck.stores_traces:
        raise UsageError(
            'no stories of calls are kept; switch them on in helmdeck.toml: [events] sinks = ["runs"], or for one command '
            "with HELMDECK_EVENTS__SINKS=runs"
        )
    known = deck.runs(5)
    found = (known[0] if known else None) if wanted == LAST else deck.call_trace(wanted)
    if found is None:
        last = "; the last ones: " + ", ".join(story.call_id for story in known) if known else "; none is kept yet"
        raise UsageError(f"no call {wanted!r} is kept{last}")
    return found


def view(story: CallTrace) -> Iterator[str]:
    """The story for people."""
    from helmdeck_core.cli.results import fact
    from helmdeck_core.cli.tables import hanging, table

    last = story.events[-1]
    who = f" by {last['model']}" if story.outcome == "answered" else ""
    yield hanging("", f"{story.pack or 'a request'} for {story.caller}: {story.outcome}{who}")
    yield ""
    yield fact("run", story.call_id + (f", helping {story.parent}" if story.parent else ""))
    yield fact("began", time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(story.time)))
    yield fact("asked for", story.model)
    yield from _totals(story)
    yield ""
    rows = [
        (f"{event['at_s']:.3f} s", str(event.get("attempt", "")), event["event"], "; ".join(filter(None, said(event))))
        for event in story.events
    ]
    yield table(rows, ("at", "try", "event", "what"), right={0, 1})


def _totals(story: CallTrace) -> Iterator[str]:
    from helmdeck_core.cli.results import fact

    attempts = [event["outcome"] for event in story.events if event["event"] == "attempt_ended"]
    last = story.events[-1]
    costs = [attempt.get("cost_usd") for attempt in attempts if any(attempt.get("usage", {}).values())]
    known = [cost for cost in costs if cost is not None]
    tokens = {
        kind: sum(attempt.get("usage", {}).get(f"{kind}_tokens", 0) for attempt in attempts)
        for kind in ("input", "cached_input", "output")
    }
    spent = [f"{last.get('total_s', last.get('latency_s', 0.0)):.1f} s", _many(len(attempts), "attempt")]
    if any(tokens.values()):
        spent.append(f"{tokens['input']:,} tokens in ({tokens['cached_input']:,} from cache), {tokens['output']:,} out")
    yield fact("took", ", ".join(spent))
    if known:
        unknown = len(costs) - len(known)
        more = f", and {_many(unknown, 'attempt')} whose price is not known" if unknown else ""
        saved = f"; the cache saved {last['saved_usd']:.6f}" if last.get("saved_usd") else ""
        yield fact("cost", f"{sum(known):.6f} US dollars{more}{saved}")


def _many(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")


def said(event: Mapping[str, Any]) -> Iterator[str]:
    """What one event says, a few words each."""
    match event:
        case {"event": "call_started", "model": model}:
            yield f"asked for {model}"
        case {"event": "catalog_selected", "record": record}:
            yield from _selected(event, record)
        case {"event": "request_sent"}:
            yield from _sent(event)
        case {"event": "attempt_ended", "outcome": outcome}:
            yield from _ended(outcome)
        case {"event": "selection_filtered"}:
            yield f"{event['filter_model']} named {event['picks']} entries, {event['kept']} are sent"
        case {"event": "stop_reason_observed"}:
            yield f"{event['stop_reason']} ({event.get('raw_stop_reason')!r})"
        case {"event": "call_finished"}:
            yield f"answered by {event.get('served_model') or event['model']}"
            yield f"held to {event['constraint']}" if event.get("constraint") else ""
            yield "repaired: " + ", ".join(event["repairs"]) if event.get("repairs") else ""
            yield "left out: " + ", ".join(event["downgrades"]) if event.get("downgrades") else ""
            yield "not read: " + ", ".join(event["unread"]) if event.get("unread") else ""
        case {"event": "call_exhausted"}:
            yield f"{_cause(event)}: {event['reason']}"
        case _:
            for name, value in event.items():
                if name not in ("event", "at_s", "attempt", "provider"):
                    yield (
                        f"{name.replace('_', ' ')} {value:.3g}"
                        if isinstance(value, float)
                        else (f"{name.replace('_', ' ')} {value}")
                    )


def _selected(event: Mapping[str, Any], record: Mapping[str, Any]) -> Iterator[str]:
    before, after = record["before_bytes"], record["after_bytes"]
    yield f"tier {event['tier']}"
    yield f"{after:,} bytes, whole" if before == after else f"{before:,} -> {after:,} bytes"
    if record.get("left_out"):
        yield f"{record['kept_entries']} entries sent, {record['left_out']} left out"
    if event.get("confidence") is not None:
        yield f"confidence {event['confidence']:.2f}"
    yield ", ".join(record.get("dropped", ()))


def _sent(event: Mapping[str, Any]) -> Iterator[str]:
    yield event["model"]
    yield event.get("variant", "")
    yield f"window {event['input_tokens']:,} tokens"
    if event.get("max_tokens"):
        yield f"at most {event['max_tokens']:,} out"
    if event.get("max_catalog_bytes") is not None:
        yield f"catalogs of at most {event['max_catalog_bytes']:,} bytes"
    yield event.get("response_format", "")
    yield "changed: " + ", ".join(event["changed"]) if event.get("changed") else ""
    yield f"after {event['waited_s']:.1f} s of waiting" if event.get("waited_s") else ""


def _ended(outcome: Mapping[str, Any]) -> Iterator[str]:
    yield _cause(outcome) if outcome.get("cause") else ""
    yield f"HTTP {outcome['status']}" if outcome.get("status") else ""
    yield f"request id {outcome['request_id']}" if outcome.get("cause") and outcome.get("request_id") else ""
    yield f"{outcome['latency_s']:.3f} s"
    usage = outcome.get("usage", {})
    if any(usage.values()):
        yield f"{usage.get('input_tokens', 0):,} tokens in, {usage.get('output_tokens', 0):,} out"
    if outcome.get("requests"):
        yield f"{len(outcome['requests'])} requests"
    if outcome.get("cost_usd") is not None:
        about = "about " if outcome.get("is_estimated") else ""
        yield f"{about}{outcome['cost_usd']:.6f} US dollars"
    yield f"then {outcome['then']}" if outcome.get("cause") and outcome.get("then") else ""


def _cause(facts: Mapping[str, Any]) -> str:
    return " / ".join(filter(None, (facts["cause"], facts.get("sub_cause"))))
