"""Text that several commands print: sizes, trim records, and the footer of plans and routes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from helmdeck_cli.printing.wording import counted
from helmdeck_core.cli import CURRENCY, attempt_lines, cost_text, labelled

if TYPE_CHECKING:
    from helmdeck_core import BudgetLookup, Choice, Contribution, Plan, Route, TrimRecord


def trim_text(record: TrimRecord) -> str:
    """The size of a catalog before and after trimming."""
    if record.after_bytes == record.before_bytes:
        text = f"{record.after_bytes:,} bytes"
    else:
        text = f"{record.before_bytes:,} -> {record.after_bytes:,} bytes (-{record.reduction:.0%})"
    if record.left_out:
        text += f"; {counted(record.kept_entries, 'entry', 'entries')} sent, {record.left_out} left out"
    return text


def price_text(lookup: BudgetLookup) -> str:
    """The prices of a model and their source; ``unknown`` if there is none."""
    budget = lookup.budget
    names = {what: f"{what.replace(' ', '_')}_cost_usd_per_mtok" for what in ("input", "cached input", "output")}
    prices = {what: price for what, name in names.items() if (price := getattr(budget, name)) is not None}
    known = [f"{price:g} {what}" for what, price in prices.items()]
    sources = dict.fromkeys(lookup.sources[names[what]] for what in prices)
    return f"{CURRENCY} per million tokens: {', '.join(known)} ({'; '.join(sources)})" if known else "unknown"


def replacement_lines(contributions: Iterable[Contribution[Any]]) -> Iterator[str]:
    """One line for each value that replaces the built-in value of the same name."""
    from helmdeck_core import value_name

    for each in contributions:
        if each.replaced is not None:
            text = f"{value_name(each.value)!r} of {each.hook}: plugin {each.plugin} replaces {each.replaced}"
            yield labelled("replaced", text)


def choice_text(choice: Choice) -> str:
    """Who chose the tool, how probable the choice is, and the probabilities of the others."""
    listed = list(choice.probabilities.items())[:3]
    shares = ", ".join(f"{entry_id} {share:.0%}" for entry_id, share in listed)
    sure = "" if choice.is_sure else "unsure, "
    return f"{sure}by {choice.chooser}: {choice.reason}" + (f"; {shares}" if shares else "")


def footer(result: Plan | Route) -> Iterable[str]:
    """The selection, usage, cost and attempts of a result, one labelled paragraph each."""
    record = result.compaction
    if record is None:
        yield labelled("catalog", "sent whole")
    else:
        yield labelled("catalog", trim_text(record))
        yield labelled("trimmed", ", ".join(record.dropped) or "nothing")
    if (choice := result.choice) is not None:
        yield labelled("choice", choice_text(choice))
    if (call := result.filter) is not None:
        outcome = (
            f"selected {counted(len(call.picks), 'entry', 'entries')}" if call.picks else f"failed: {call.failure}"
        )
        yield labelled("filter", f"the filter call to {call.model} {outcome}")
    yield labelled("usage", ", ".join(_usage(result)))
    if result.served_model and result.served_model not in (result.model, result.model.partition("/")[2]):
        yield labelled("served by", result.served_model)
    if result.requested_model and result.requested_model != result.model:
        yield labelled("requested", f"{result.requested_model}; {result.model} was used as fallback")
    # The line about the filter call already covers its attempts.
    yield from attempt_lines(attempt for attempt in result.attempts[:-1] if attempt.cause or not attempt.purpose)
    if result.repairs:
        yield labelled("repaired", f"the response was not clean JSON and was repaired: {', '.join(result.repairs)}")
    if result.downgrades:
        yield labelled("downgraded", ", ".join(result.downgrades))
    for notice in result.notices:
        yield labelled("notice", notice)


def _usage(result: Plan | Route) -> Iterable[str]:
    usage = result.usage
    yield f"{result.latency_s:.1f} s"
    if usage.input_tokens or usage.output_tokens:
        cached = f" ({usage.cached_input_tokens:,} cached)" if usage.cached_input_tokens else ""
        reasoning = f" ({usage.reasoning_tokens:,} reasoning)" if usage.reasoning_tokens else ""
        yield f"{usage.input_tokens:,} tokens in{cached}, {usage.output_tokens:,} out{reasoning}"
    if result.cost_usd:
        saved = f" (caching saved {result.saved_usd:.6f})" if result.saved_usd else ""
        yield cost_text(result.cost_usd, result.attempts) + saved
