"""Compares what reaches the caller when an upstream fails in every way, with one fallback and default settings.

python -m benchmarks.faults                                  # Helmdeck alone, in real time: about a minute
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

from benchmarks.faults.cases import CASES
from benchmarks.faults.contestants import CONTESTANTS
from benchmarks.pages import write_between

ROOT = Path(__file__).resolve().parents[2]
WAYS = ("whole", "streamed")
TITLES = {"openai": "openai client", "litellm": "LiteLLM Router", "helmdeck": "Helmdeck"}


def measure(contestant: str, way: str, python: str) -> tuple[Mapping[str, Any], str]:
    """Return the rows of a contestant by case, and its version."""
    command = [python, "-m", "benchmarks.faults.contestants", contestant, way]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise SystemExit(f"{contestant} failed:\n{ran.stderr[-2000:]}")
    lines = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith('{"')]
    return {row["case"]: row for row in lines if "case" in row}, lines[-1]["version"]


def cell(row: Mapping[str, Any], is_answered: bool) -> str:
    """Return one cell of the table."""
    is_right = row["kind"] == "complete" if is_answered else bool(row["error"]) and row["error"] != "timeout"
    words = {"half": "half of the text", "wrong": "repeated or lost text", "nothing": ""}
    what = words.get(row["kind"], row["kind"])
    what = " ".join(filter(None, (what, f"`{row['error']}`" if row["error"] else "")))
    return f"{'✓' if is_right else '✗'} {what}, {row['seconds']:.1f} s, {row['requests']}"


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", help="interpreter with the packages openai and litellm")
    parser.add_argument("--write", type=Path, help="page with the markers of the tables")
    arguments = parser.parse_args()
    pythons = {name: arguments.python for name in ("openai", "litellm") if arguments.python}
    pythons["helmdeck"] = sys.executable
    versions = {}
    for way in WAYS:
        found = {}
        for name, python in pythons.items():
            found[name], versions[name] = measure(name, way, python)
        lines = [f"| first model | {' | '.join(TITLES[name] for name in found)} |", f"|---|{'---|' * len(found)}"]
        cells = {name: [cell(found[name][each], case.is_answered) for each, case in CASES.items()] for name in found}
        lines += [f"| {each} | {' | '.join(row)} |" for each, *row in zip(CASES, *cells.values(), strict=True)]
        right = [f"{sum(each.startswith('✓') for each in cells[name])} of {len(CASES)}" for name in found]
        table = "\n".join((*lines, f"| **right** | {' | '.join(right)} |"))
        print(f"{way}\n{table}\n")
        if arguments.write:
            write_between(arguments.write, way, table)
    summary = ", ".join(versions.values())
    print(summary)
    if arguments.write:
        write_between(arguments.write, "versions", f"Measured with {summary}.")


if __name__ == "__main__":
    assert set(TITLES) == set(CONTESTANTS)
    main()
