"""What plans and routes have in common when people read them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from helmdeck_core.cli.tables import hanging
from helmdeck_core.domain.catalog import TrimRecord
from helmdeck_core.domain.plans import Plan, Route
from helmdeck_core.errors import Attempt, CallFailed

LABEL = 12
"""Columns of the labels below a result."""


def fact(label: str, text: str) -> str:
    """One labelled paragraph."""
    return hanging(f"{label:<{LABEL}}", text)


def size(count: int) -> str:
    """Bytes for people."""
    return f"{count:,} bytes"


def trimming(record: TrimRecord) -> str:
    """What was cut from a catalog, in a sentence."""
    if record.after_bytes == record.before_bytes:
        text = size(record.after_bytes)
    else:
        text = f"{record.before_bytes:,} -> {size(record.after_bytes)} (-{record.reduction:.0%})"
    if record.left_out:
        text += f"; {record.kept_entries} entries sent, {record.left_out} left out"
    return text


def failure(error: CallFailed, code: int) -> Iterable[str]:
    """What is behind the headline of a failed call, a labelled paragraph each."""
    sub = f" / {error.sub_cause}" if error.sub_cause else ""
    yield fact("cause", f"{error.failure_class.value}{sub} (exit code {code})")
    if facts := error.facts():
        yield fact("call", ", ".join(facts))
    if error.call_id:
        yield fact("run", error.call_id)
    if error.detail:
        yield fact("detail", error.detail)
    if error.excerpt:
        length = f"{error.raw_length:,} bytes, " if error.raw_length and not error.stop_reason else ""
        yield fact("answer", f"{length}starts with: {error.excerpt}")
    if any(attempt.is_sent for attempt in error.attempts):
        for label, attempt in zip(_labels("tried"), error.attempts, strict=False):
            yield fact(label, str(attempt))
    if error.cost_usd:
        yield fact("cost", dollars(error.cost_usd, error.attempts))
    hint, next_action = error.advice()
    yield fact("hint", hint)
    yield fact("next", next_action)


def dollars(cost: float, attempts: Iterable[Attempt]) -> str:
    """A cost for people, and whether a part of it is reckoned."""
    about = "about " if any(attempt.is_estimated for attempt in attempts) else ""
    return f"{about}{cost:.6f} US dollars"


def _labels(first: str) -> Iterator[str]:
    """A label on the first paragraph of several that belong together."""
    yield first
    yield from itertools.repeat("")


def footer(result: Plan | Route) -> Iterable[str]:
    """What the answer cost, and what led to it."""
    record = result.compaction
    if record is None:
        yield fact("catalog", "sent whole")
    else:
        yield fact("catalog", trimming(record))
        yield fact("cut", ", ".join(record.dropped) or "nothing")
    if (call := result.filter) is not None:
        found = f"named {len(call.picks)} entries" if call.picks else f"gave nothing: {call.failure}"
        yield fact("filter", f"{call.model} was asked first which entries are needed and {found}")
    usage = result.usage
    spent = [f"{result.latency_s:.1f} s"]
    if usage.input_tokens or usage.output_tokens:
        cached = f" ({usage.cached_input_tokens:,} from cache)" if usage.cached_input_tokens else ""
        thought = f" ({usage.reasoning_tokens:,} thought)" if usage.reasoning_tokens else ""
        spent.append(f"{usage.input_tokens:,} tokens in{cached}, {usage.output_tokens:,} out{thought}")
    if result.cost_usd:
        saved = f" (the cache saved {result.saved_usd:.6f})" if result.saved_usd else ""
        spent.append(dollars(result.cost_usd, result.attempts) + saved)
    yield fact("usage", ", ".join(spent))
    if result.served_model and result.served_model not in (result.model, result.model.partition("/")[2]):
        yield fact("served by", result.served_model)
    if result.requested_model and result.requested_model != result.model:
        yield fact("asked for", f"{result.requested_model}; {result.model} took over")
    # What the line about the filter call says is not said twice.
    tried = [attempt for attempt in result.attempts[:-1] if attempt.cause or not attempt.purpose]
    for label, attempt in zip(_labels("tried"), tried, strict=False):
        yield fact(label, str(attempt))
    if result.repairs:
        yield fact("repaired", f"the answer was not clean JSON and was repaired: {', '.join(result.repairs)}")
    if result.downgrades:
        yield fact("downgraded", ", ".join(result.downgrades))
