"""Recorded runs of pipelines and agents, as text or data. The records are those of ``helmdeck_runs``."""

from __future__ import annotations

import time
from typing import Any

from helmdeck_core.cli import clean, labelled, show, show_json, table


def started_text(record: Any) -> str:
    """Return when a run started, in UTC."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(record.time))


def run_data(record: Any) -> dict[str, Any]:
    """Return a run as plain data, without what it executes."""
    run = {name: value for name, value in record.run.to_dict().items() if name not in ("definition", "done", "key")}
    wire: dict[str, Any] = {**run, "state": record.state.value, "started": record.time, "duration_s": record.duration_s}
    if record.output is not None:
        wire["output"] = record.output
    if record.failure is not None:
        wire["failure"] = dict(record.failure)
    return wire


def show_run(record: Any, *, as_json: bool) -> None:
    """Print a run with its steps.

    :param record: a ``RunRecord``.
    """
    steps = [step for step in record.steps if not step.id.startswith("_")]
    if as_json:
        shown_steps = [{"id": step.id, **_facts(step), "duration_s": step.duration_s} for step in steps]
        show_json({**run_data(record), "steps": shown_steps})
        return
    show(f"{record.run.id}: {clean(record.run.name)}: {record.state.value}")
    show("")
    show(labelled("started", f"{started_text(record)} UTC, {record.duration_s:.1f} s"))
    if record.run.resumes:
        show(labelled("resumes", record.run.resumes))
    if record.failure is not None:
        show(labelled("failure", clean(str(record.failure.get("message", "")))))
    rows = []
    for step in steps:
        facts = _facts(step)
        cost = facts.get("cost_usd")
        row = (step.id, str(facts.get("pack", "")), facts["state"], str(facts.get("attempts", "")))
        rows.append((*map(clean, row), f"{step.duration_s:.3f} s", "" if cost is None else f"{cost:.6f}"))
    if rows:
        show("")
        show(table(rows, ("step", "pack", "state", "attempts", "time", "US dollars"), right={3, 4, 5}))


def _facts(step: Any) -> dict[str, Any]:
    """The facts about a step; its state is the cause after a failure."""
    facts = dict(step.failure or (step.result if isinstance(step.result, dict) else {}))
    return {**facts, "state": str(facts.get("cause", "failed")) if step.failure is not None else "succeeded"}
