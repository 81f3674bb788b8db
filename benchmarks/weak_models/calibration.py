"""Calibrates the model with ``helmdeck calibrate``, and plans new requests with the budget that it proposes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import attrs

from benchmarks.weak_models.session import Found, Session
from benchmarks.weak_models.settings import COMMAND, environment_of
from helmdeck_core import CallLimits
from helmdeck_history.calibration.search import SIZES
from helmdeck_history.calibration.trials import Trial, TrialMaker
from helmdeck_selection import read_catalog

MOST_CALLS = 80
NEW_REQUESTS = 50
SEED = 20_261
"""Another seed than that of any calibration, so that the requests are new."""


def calibrate(session: Session, url: str) -> dict[str, Any]:
    """Run the command; return its JSON, or why there is none."""
    log = session.folder / "calibration.jsonl"
    command = [sys.executable, "-c", COMMAND, "calibrate", session.model_id, "--yes", "--json", "--fresh"]
    ran = subprocess.run(
        [*command, "--max-calls", str(MOST_CALLS), "--log", str(log)],
        env=environment_of(session.provider, url),
        cwd=session.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        found: Any = json.loads(ran.stdout)
    except ValueError:
        return {"failure": ran.stderr.strip().splitlines()[-1:]}
    return dict(found[0] if isinstance(found, list) else found)


@attrs.frozen
class TrialCase:
    """A new request over a catalog of the claimed size."""

    id: str
    trial: Trial


def cases(claimed: int | None) -> list[TrialCase]:
    """Return new requests over catalogs of the claimed size; of the smallest size if none was claimed."""
    maker = TrialMaker(seed=SEED)
    return [TrialCase(f"trial-{number}", maker.trial(claimed or SIZES[0])) for number in range(1, NEW_REQUESTS + 1)]


class Helped:
    """``deck.plan`` with the proposed budget."""

    def __init__(self, session: Session, row: Mapping[str, Any]) -> None:
        self._session, self._row = session, row

    def __call__(self, case: TrialCase) -> Found:
        """Return the steps of the plan."""
        catalog = read_catalog(json.loads(case.trial.catalog), "trial")
        with self._session.deck(catalog, **self._row) as deck:
            limits = CallLimits(deadline_s=self._session.request_s)
            plan = deck.plan(case.trial.request, model=self._session.model_id, limits=limits)
        return Found(value=[(step.tool, step.args) for step in plan.steps], answer=str(plan))


def judge(case: TrialCase, found: Found) -> dict[str, Any]:
    """Compare a plan with the trial's tool and argument."""
    if found.value is None:
        return {"cause": found.cause or "no answer"}
    problem = case.trial.problem(found.value)
    return {"valid": bool(found.value), "right": problem is None, "cause": (problem or "").replace("_", " ")}


def summary(found: Mapping[str, Any]) -> str:
    """Return in one sentence what the calibration found."""
    if "calls" not in found:
        return f"It ended without a result: {' '.join(map(str, found.get('failure', ())))}."
    claimed = found.get("claimed_bytes")
    what = f"catalogs of {claimed:,} bytes" if claimed else "no size that works"
    return f"It found {what}, with {found['calls']} calls: {found['conclusion']}."


def row_of(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the proposed budget row of a calibration; empty without one."""
    row = found.get("budget")
    return dict(row) if isinstance(row, Mapping) else {}
