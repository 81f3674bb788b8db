"""Runs each group in a process of its own, kills the process of a case that exceeds its deadline, and continues after it."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs

from benchmarks.attacks.cases import Case, Stage, Verdict, broken

ROOT = Path(__file__).resolve().parents[2]
CLEANUP_S = 30.0


@attrs.frozen
class Outcome:
    """A case with its verdict and the seconds that it took."""

    case: Case
    verdict: Verdict
    seconds: float


def cases_of(group: str) -> list[Case]:
    """The cases of a group, with unique names."""
    cases: list[Case] = importlib.import_module(f"benchmarks.attacks.{group}").SUITE.cases
    names = [case.name for case in cases]
    if len(set(names)) < len(names):
        raise ValueError(f"group {group}: a name occurs twice among {sorted(names)}")
    return cases


def run_group(group: str, *, is_quick: bool, only: str, show: Callable[[Outcome], None]) -> list[Outcome]:
    """Run the cases whose name contains a text, in order."""
    left = [case for case in cases_of(group) if only in case.name]
    outcomes: list[Outcome] = []
    while left:
        for outcome in _run_process(group, left, is_quick):
            outcomes.append(outcome)
            show(outcome)
        done = {outcome.case.name for outcome in outcomes}
        left = [case for case in left if case.name not in done]
    return outcomes


def _run_process(group: str, cases: Sequence[Case], is_quick: bool) -> Iterator[Outcome]:
    """Yield outcomes until all cases are done or the process has ended; the case it ended in is broken."""
    with new_folder() as folder:
        names = json.dumps([case.name for case in cases])
        command = [sys.executable, "-m", "benchmarks.attacks", "--worker", group, names, folder]
        worker = subprocess.Popen(
            command + ["--quick"] * is_quick, cwd=ROOT, env=clean_environment(Path(folder)), stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=True, text=True,
        )  # fmt: skip
        assert worker.stdout is not None
        try:
            for case in cases:
                start_s = time.monotonic()
                line, has_ended = _line_within(worker, case.deadline_s)
                seconds = time.monotonic() - start_s
                if line:
                    found = json.loads(line)
                    yield Outcome(case, Verdict(found["kind"], found["reason"]), seconds)
                    continue
                code = worker.wait() if has_ended else None
                why = (
                    f"ended the attacking process with {code}" if has_ended else f"no end within {case.deadline_s:g} s"
                )
                yield Outcome(case, broken(why), seconds)
                return
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.wait(CLEANUP_S)
        finally:
            with contextlib.suppress(ProcessLookupError):  # with everything that it has started
                os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()
            worker.stdout.close()


@contextlib.contextmanager
def new_folder() -> Iterator[str]:
    """A temporary folder, which is removed however deep it is."""
    folder = tempfile.mkdtemp(prefix="attacks-")
    try:
        yield folder
    finally:
        subprocess.run(["rm", "-rf", folder], check=False)


def _line_within(worker: subprocess.Popen[str], seconds: float) -> tuple[str, bool]:
    """The next line, and whether the process has ended without one."""
    assert worker.stdout is not None
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.append(worker.stdout.readline()), daemon=True)  # type: ignore[union-attr]
    reader.start()
    reader.join(seconds)
    return (found[0] if found else ""), bool(found and not found[0])


def clean_environment(home: Path, **more: str) -> dict[str, str]:
    """The environment of this process without settings, keys and proxies, and with another home."""
    words = ("HELMDECK_", "_KEY", "_TOKEN", "PROXY", "_proxy", "XDG_")
    kept = {name: value for name, value in os.environ.items() if not any(word in name for word in words)}
    path = f"{ROOT}:{ROOT / 'plugins'}"
    kept_for_tests = {name: os.environ[name] for name in os.environ if name.startswith("HELMDECK_TEST_")}
    return {**kept, **kept_for_tests, "HOME": str(home), "PYTHONPATH": path, **more}


def work(group: str, names: str, folder: str, *, is_quick: bool) -> None:
    """Run the named cases within this process; a line of JSON for each goes to standard output."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)  # nothing else may write there
    by_name = {case.name: case for case in cases_of(group)}
    stage = Stage(is_quick, Path(folder))
    try:
        for name in json.loads(names):
            print(json.dumps(attrs.asdict(_verdict_of(by_name[name], stage))), file=out)
    finally:
        stage.close()


def _verdict_of(case: Case, stage: Stage) -> Verdict:
    try:
        return case.run(stage)
    except Exception as exc:
        stage.close()  # a server that may have ended is started again for the next case
        return broken(" ".join(f"no verdict: {type(exc).__name__}: {exc}".split())[:400])


def report_of(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The outcomes as JSON: counts, and the cases by verdict."""
    report: dict[str, Any] = {"cases": len(outcomes), "counts": {}, "held": [], "degraded": [], "broken": []}
    for outcome in outcomes:
        report[outcome.verdict.kind].append(
            {
                "name": outcome.case.name,
                "reason": outcome.verdict.reason,
                "group": outcome.case.group,
                "reference": outcome.case.reference,
                "seconds": round(outcome.seconds, 2),
            }
        )
    report["counts"] = {kind: len(report[kind]) for kind in ("held", "degraded", "broken")}
    return report
