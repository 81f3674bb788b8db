"""Finds finished calls and runs by their ids: stored traces, and the records of the run engine."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING, Any

import attrs

from helmdeck_core import Helmdeck
from helmdeck_core.cli import UsageError, make_deck, read_config, with_default_history

if TYPE_CHECKING:
    from helmdeck_core import CallTrace

LAST = "last"
TRACES = "traces"
REQUESTS = "requests"
"""The sinks that store traces: by default, and with the console of a gateway."""


def deck_with_traces(arguments: argparse.Namespace) -> Helmdeck:
    """Return a deck that reads stored traces; without a configured sink, those of the default files."""
    deck = make_deck(arguments)
    config = deck.runtime.config
    stores = tuple(name for name in (TRACES, REQUESTS) if name not in config.plugins.disable)
    if deck.stores_traces or not stores:
        return deck
    loaded = with_default_history(read_config(arguments))
    events = attrs.evolve(config.events, sinks=(*config.events.sinks, *stores))
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
