"""Runs the attack suite: what attackers and careless neighbours do, with a verdict for each case.

::

    python -m benchmarks.attacks                          # all cases, some eight minutes on two cores
    python -m benchmarks.attacks --quick                  # smaller sizes and counts, some two minutes
    python -m benchmarks.attacks --only door --name key   # the cases of a group whose name contains a text
    python -m benchmarks.attacks --json FILE              # the verdicts as JSON as well
    python -m benchmarks.attacks --write                  # write docs/benchmarks/attacks.md as well
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.attacks.cases import GROUPS
from benchmarks.attacks.page import write_page
from benchmarks.attacks.runner import Outcome, report_of, run_group, work

LONGEST_FIRST = sorted(GROUPS, key=lambda group: group not in ("upstream", "process", "stores", "tools"))
"""The order in which groups are started."""


def main(words: list[str] | None = None) -> int:
    """Run the suite; the exit code is 1 if a case is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the verdicts as JSON")
    parser.add_argument("--only", action="append", choices=GROUPS, metavar="GROUP", help=f"one of: {', '.join(GROUPS)}")
    parser.add_argument("--name", default="", help="run only cases whose name contains this text")
    parser.add_argument("--quick", action="store_true", help="smaller sizes and counts")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="groups at a time (2)")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks/attacks.md")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args(words)
    if arguments.worker:
        work(*arguments.worker, is_quick=arguments.quick)
        return 0
    start_s = time.monotonic()
    groups = sorted(arguments.only or GROUPS, key=LONGEST_FIRST.index)

    def run(group: str) -> list[Outcome]:
        return run_group(group, is_quick=arguments.quick, only=arguments.name, show=show)

    # Cases wait for deadlines of the gateway most of the time, and each has a gateway of its group.
    with ThreadPoolExecutor(arguments.jobs) as pool:
        outcomes = [outcome for found in pool.map(run, groups) for outcome in found]
    outcomes.sort(key=lambda outcome: GROUPS.index(outcome.case.group))
    report = {**report_of(outcomes), "is_quick": arguments.quick, "seconds": round(time.monotonic() - start_s, 1)}
    counts = ", ".join(f"{count} {kind}" for kind, count in report["counts"].items())
    print(f"{report['cases']} cases in {report['seconds']:.0f} s: {counts}")
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if arguments.write:
        write_page(outcomes, report)
    return 1 if report["broken"] else 0


def show(outcome: Outcome) -> None:
    """Print the verdict of a case."""
    verdict = outcome.verdict
    print(
        f"{verdict.kind:8} {outcome.case.group}: {outcome.case.name} ({outcome.seconds:.1f} s): {verdict.reason}",
        file=sys.stderr,
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
