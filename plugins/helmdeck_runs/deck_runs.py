"""The run engine of a deck."""

from __future__ import annotations

from helmdeck_core import Helmdeck
from helmdeck_runs.runs import RunEngine


def runs_of(deck: Helmdeck) -> RunEngine:
    """Return the run engine of a deck."""
    engine: RunEngine = deck.runs
    return engine
