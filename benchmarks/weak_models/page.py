"""Writes the page: a section for each measured model, a table of all of them, and two plots."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.pages import write_between
from benchmarks.weak_models import plot, report
from benchmarks.weak_models.report import TASK_TITLES

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "benchmarks" / "weak-models.md"
RESULTS = Path(__file__).with_name("results")
MAIN = "smollm2"
"""The model of the first paragraph and of the plots."""


def save(name: str, found: Mapping[str, Any]) -> None:
    """Keep the sums of a model, which fill a column of the page; tasks and ways without a result keep their earlier ones."""
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / f"{name}.json"
    earlier = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    ways = {
        task: {**earlier.get(task, {}), **{way: sums for way, sums in found[task].items() if sums.get("n", 1)}}
        for task in (*TASK_TITLES, "comparisons")
        if task in found
    }
    text = json.dumps({**earlier, **found, **ways}, indent=1, ensure_ascii=False)
    file.write_text(text + "\n", encoding="utf-8")


def load() -> dict[str, Any]:
    """Return the sums of all measured models by name, that of the first paragraph first."""
    paths = sorted(RESULTS.glob("*.json"), key=lambda path: (path.stem != MAIN, path.stem))
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def write(page: Path = PAGE) -> None:
    """Write the page and its plots from the saved sums."""
    reports = load()
    found = reports[MAIN]
    title = found["model"].removesuffix(".gguf")
    sections = {
        "summary": report.summary(title, found),
        "setup": report.setup_text(found),
        "picks": report.pick_table(found),
        "sets": report.set_table(reports),
        "typed": report.typed_table(found),
        "plans": report.plan_table(found),
        "long": report.long_table(found),
        "calibration": report.calibration_text(found),
        "causes": report.cause_table(found),
        "models": report.models_table(reports),
    }
    for name, text in sections.items():
        write_between(page, name, text)
    (page.parent / "weak-models-sizes.svg").write_text(
        plot.by_size(found, f"Right tool, {title}: percent by catalog size, with 95 % intervals"), encoding="utf-8"
    )
    (page.parent / "weak-models-causes.svg").write_text(
        plot.by_cause(found, f"Answers by cause, {title}: one tool of 50, 200 and 1,000"), encoding="utf-8"
    )
