"""Compares what reaches the caller when an upstream fails in every way, with one fallback and default settings.

python -m benchmarks.faults                                  # the library and the gateway, in real time: about two minutes
python -m benchmarks.faults --python PATH --write PAGE.md    # also openai and LiteLLM, installed for that interpreter
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.faults.cases import CASES, Case
from benchmarks.faults.contestants import CONTESTANTS
from benchmarks.pages import write_between

ROOT = Path(__file__).resolve().parents[2]
WAYS = ("whole", "streamed")
TITLES = {"openai": "openai client", "litellm": "LiteLLM Router", "helmdeck": "Helmdeck", "gateway": "gateway"}
DOORS = {"library, whole": ("helmdeck", "whole"), "library, streamed": ("helmdeck", "streamed")}
DOORS |= {"gateway, whole": ("gateway", "whole"), "gateway, streamed": ("gateway", "streamed")}


def measure(contestant: str, way: str, python: str) -> tuple[Mapping[str, Any], str]:
    """Return the rows of a contestant by case, and its version."""
    command = [python, "-m", "benchmarks.faults.contestants", contestant, way]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise SystemExit(f"{contestant} failed:\n{ran.stderr[-2000:]}")
    lines = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith('{"')]
    return {row["case"]: row for row in lines if "case" in row}, lines[-1]["version"]


def is_right(row: Mapping[str, Any], case: Case) -> bool:
    """Whether the outcome is the best that is possible."""
    if not case.is_answered:
        return bool(row["error"]) and row["error"] != "timeout"
    return row["kind"] == "complete" and (row["is_home"] or not case.is_home) and not row["is_early"]


def cell(row: Mapping[str, Any], case: Case) -> str:
    """Return one cell of the table."""
    words = {"half": "half of the text", "wrong": "repeated or lost text", "nothing": ""}
    what = words.get(row["kind"], row["kind"])
    what = " ".join(filter(None, (what, f"`{row['error']}`" if row["error"] else "")))
    where = "" if row["is_home"] or row["kind"] != "complete" else " by the fallback"
    early = " too early" if row["is_early"] else ""
    return f"{'✓' if is_right(row, case) else '✗'} {what}{where}{early}, {row['seconds']:.1f} s, {row['requests']}"


def table(columns: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """Return the cells by case and column, and how many are right."""
    lines = [f"| first model | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
    for name, case in CASES.items():
        lines.append(f"| {name} | {' | '.join(cell(rows[name], case) for rows in columns.values())} |")
    right = [
        f"{sum(is_right(rows[name], case) for name, case in CASES.items())} of {len(CASES)}"
        for rows in columns.values()
    ]
    return "\n".join((*lines, f"| **right** | {' | '.join(right)} |"))


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", help="interpreter with the packages openai and litellm")
    parser.add_argument("--write", type=Path, help="page with the markers of the tables")
    arguments = parser.parse_args()
    pythons = {name: arguments.python for name in ("openai", "litellm") if arguments.python}
    pythons |= {"helmdeck": sys.executable, "gateway": sys.executable}
    found: dict[tuple[str, str], Mapping[str, Mapping[str, Any]]] = {}
    versions = {}
    for name, python in pythons.items():
        for way in WAYS:
            found[name, way], versions[name] = measure(name, way, python)
    tables = {"doors": table({title: found[door] for title, door in DOORS.items()})}
    if arguments.python:
        peers = ("openai", "litellm", "helmdeck")
        tables |= {way: table({TITLES[name]: found[name, way] for name in peers}) for way in WAYS}
    for name, text in tables.items():
        print(f"{name}\n{text}\n")
        if arguments.write:
            write_between(arguments.write, name, text)
    summary = ", ".join(dict.fromkeys(versions.values()))
    print(summary)
    if arguments.write:
        write_between(arguments.write, "versions", f"Measured with {summary}.")


if __name__ == "__main__":
    assert set(TITLES) == set(CONTESTANTS)
    main()
