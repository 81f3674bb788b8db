"""``helmdeck keys calls``: the calls of one key, from the stored traces of the gateway on this host."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

import attrs

from helmdeck_cli import positive_number
from helmdeck_core.cli import CURRENCY, ExitCode, note, show, show_json, table
from helmdeck_gateway.commands.key_options import configure_name
from helmdeck_gateway.commands.key_store import find_key

if TYPE_CHECKING:
    from helmdeck_core import CallTrace, Helmdeck
    from helmdeck_gateway.stores.records import KeyRecord

DEFAULT_LIMIT = 20
FIRST_READ = 200
"""Traces that are read at first; four times as many in each further round, until there are enough of the key."""


def configure_calls(parser: argparse.ArgumentParser) -> None:
    """Add the name and the number of calls."""
    configure_name(parser)
    parser.add_argument(
        "--limit",
        metavar="N",
        type=positive_number,
        default=DEFAULT_LIMIT,
        help=f"show at most so many calls, the most recent ones; default: {DEFAULT_LIMIT}",
    )
    parser.epilog = "The calls are those of stored traces on this host; `helmdeck explain --run ID` shows one. Embeddings have none."


def show_calls(arguments: argparse.Namespace) -> int:
    """List the most recent calls of a key."""
    from helmdeck_cli import deck_with_traces  # here and below, because it imports a deck

    key = find_key(arguments)
    calls = _calls_of(deck_with_traces(arguments), key, arguments.limit)
    if arguments.json:
        show_json({"key": key.name, "calls": [_call_data(each) for each in calls]})
    elif not calls:
        note(f"no call of the key {key.name!r} is stored on this host; a gateway with --no-traces stores none")
    else:
        headings = ("time (UTC)", "model", "outcome", "tokens in", "out", CURRENCY, "call id")
        show(table([_row(each) for each in calls], headings, right={3, 4, 5}))
    return ExitCode.OK


def _calls_of(deck: Helmdeck, key: KeyRecord, limit: int) -> list[CallTrace]:
    """The most recent calls of a key, newest first; those of a revoked key of the same name are older than the key."""
    count = FIRST_READ
    while True:
        traces = deck.traces(count)
        found = [each for each in traces if each.time >= key.created_s and _key_name(each) == key.name]
        if len(found) >= limit or len(traces) < count:
            return found[:limit]
        count *= 4


def _key_name(trace: CallTrace) -> str:
    """The name of the key whose request made a call; empty for none."""
    return next((str(each.get("key", "")) for each in trace.events if each["event"] == "request_received"), "")


def _call_data(trace: CallTrace) -> dict[str, Any]:
    """A call as plain data."""
    from helmdeck_cli import answering_model, trace_totals
    from helmdeck_gateway.accounts.node_fields import iso

    return {
        "call_id": trace.call_id,
        "time": iso(int(trace.time)),  # the second that the table shows
        "model": answering_model(trace) or trace.model,
        "outcome": trace.outcome,
        **attrs.asdict(trace_totals(trace)),
    }


def _row(trace: CallTrace) -> tuple[str, ...]:
    from helmdeck_cli import answering_model, trace_totals

    totals = trace_totals(trace)
    has_usage = totals.input_tokens or totals.output_tokens
    return (
        time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(trace.time)),
        answering_model(trace) or trace.model,
        trace.outcome,
        f"{totals.input_tokens:,}" if has_usage else "",
        f"{totals.output_tokens:,}" if has_usage else "",
        "" if totals.cost_usd is None else f"{totals.cost_usd:.6f}",
        trace.call_id,
    )
