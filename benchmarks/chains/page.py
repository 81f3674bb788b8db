"""Writes the page of the chains benchmark and its plots."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.pages import write_between

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "chains.md"
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 340, 56, 170, 16, 44
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#555555", "#17becf", "#8c564b")
PLOTTED = ("adaptive", "cheapest first", "epsilon-greedy", "difficulty threshold", "random", "human")


def write_page(figures: Mapping[str, Any]) -> None:
    """Replace the tables of the page, and write the plots."""
    fleets = figures["fleets"]
    write_between(PAGE, "ratios", ratios(fleets))
    write_between(PAGE, "policies", policies(fleets))
    write_between(PAGE, "goals", goals(figures))
    write_between(PAGE, "advice", advice(figures["advice"]))
    for kind, is_steady in (("steady", True), ("changing", False)):
        chosen = [fleet for fleet in fleets.values() if fleet["is_steady"] is is_steady]
        PAGE.with_name(f"chains-{kind}.svg").write_text(plot(chosen, PLOTTED), encoding="utf-8")


def _cell(row: Mapping[str, float] | None, form: str = ".3f") -> str:
    return "–" if row is None else f"{row['mean']:{form}} ({row['q05']:{form}} to {row['q95']:{form}})"


def ratios(fleets: Mapping[str, Any]) -> str:
    """The adaptive policy by fleet."""
    lines = [
        "| fleet | held out | all calls | after 1,000 | after 10,000 | cheaper than the human | usable | worst window, points |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name, fleet in fleets.items():
        row = fleet["policies"]["adaptive"]
        lines.append(
            f"| {name} | {'' if fleet['is_tuned'] else 'yes'} | {_cell(row['ratio_to_clairvoyant'])} | "
            f"{_cell(row.get('ratio_after_1000'))} | {_cell(row.get('ratio_after_10000'))} | "
            f"{_cell(row['saving_over_human'], '.0%')} | {row['usable_share']['mean']:.2%} | {_cell(row['worst_window'], '+.2f')} |"
        )
    return "\n".join(lines)


def policies(fleets: Mapping[str, Any]) -> str:
    """All policies: the mean of the fleets' ratios, by kind of fleet."""
    names = list(next(iter(fleets.values()))["policies"])
    lines = ["| policy | steady fleets | changing fleets | worst fleet | usable |", "|---|--:|--:|--:|--:|"]
    for name in names:
        rows = [(fleet["is_steady"], fleet["policies"][name]) for fleet in fleets.values()]
        means = [row["ratio_to_clairvoyant"]["mean"] for _, row in rows]
        steady = [mean for mean, (is_steady, _) in zip(means, rows, strict=True) if is_steady]
        changing = [mean for mean, (is_steady, _) in zip(means, rows, strict=True) if not is_steady]
        usable = min(row["usable_share"]["mean"] for _, row in rows)
        lines.append(
            f"| {name} | {sum(steady) / len(steady):.3f} | {sum(changing) / len(changing):.3f} | {max(means):.3f} | {usable:.2%} |"
        )
    return "\n".join(lines)


def goals(figures: Mapping[str, Any]) -> str:
    """The goals, and the figures of fleets that were held out."""
    fleets = [fleet for fleet in figures["fleets"].values() if not fleet["is_tuned"]]
    own = [(fleet["is_steady"], fleet["policies"]["adaptive"]) for fleet in fleets]

    def worst(field: str, is_steady: bool) -> float | None:
        values = [row[field]["mean"] for steady, row in own if steady is is_steady and field in row]
        return max(values) if values else None

    savings = sorted(row["saving_over_human"]["mean"] for _, row in own)
    windows = min(row["worst_window"]["q05"] for _, row in own)
    rows: Sequence[tuple[str, str, float | None, str]] = (
        ("steady, after 1,000 calls, worst fleet", "≤ 1.10", worst("ratio_after_1000", True), ".3f"),
        ("steady, after 10,000 calls, worst fleet", "≤ 1.05", worst("ratio_after_10000", True), ".3f"),
        ("changing, worst fleet", "≤ 1.25", worst("ratio_to_clairvoyant", False), ".3f"),
        ("cheaper than the human's order, median fleet", "≥ 40 %", savings[len(savings) // 2], ".0%"),
        ("usable share below fixed in the worst window, points", "≥ -0.5", windows, "+.2f"),
    )
    lines = ["| goal | limit | measured |", "|---|--:|--:|"]
    lines += [
        f"| {name} | {limit} | {'–' if value is None else format(value, form)} |" for name, limit, value, form in rows
    ]
    times = figures["decision_us"]
    lines.append(
        f"| decision for 3, 5 and 12 models, median | ≤ 50 µs | {', '.join(f'{us:.0f}' for us in times.values())} µs |"
    )
    sizes = next(iter(figures["fleets"].values()))["policies"]["adaptive"]
    note = f"{sizes['calls']:,} calls and {sizes['seeds']} seeds for each fleet; Python {platform.python_version()}."
    return "\n".join(lines) + f"\n\nFleets that were held out, {note}"


def advice(found: Mapping[str, float]) -> str:
    """How good the intervals of the advice are."""
    return (
        f"In {found['worlds']} held-out steady worlds, 1,500 calls in the human's order were recorded, and the advised orders were then applied "
        f"to the same requests. The 90 % interval contained the actual saving in {found['covered']:.0%} of the worlds, and its lower end was "
        f"not above it in {found['above_low']:.0%}. The mean saving was {found['mean_actual']:.0%}; the estimate was "
        f"{100 * found['mean_error']:+.1f} points off in the mean, with a mean interval of {100 * found['mean_width']:.0f} points."
    )


def plot(fleets: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    """Draw the cost per usable answer relative to the clairvoyant one over the calls, each the mean of fleets."""
    curves = {}
    for name in names:
        rows = [fleet["policies"][name]["curve"] for fleet in fleets]
        curves[name] = [sum(column) / len(column) for column in zip(*rows, strict=True)]
    points = len(next(iter(curves.values())))
    highest = math.ceil(math.log2(max(max(curve) for curve in curves.values())))

    def x(place: int) -> float:
        return LEFT + place / max(points - 1, 1) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return TOP + (1 - max(math.log2(value), -0.1) / highest) * (HEIGHT - TOP - BOTTOM)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
    ]
    for power in range(highest + 1):
        lines.append(f'<path d="M{LEFT} {y(2**power):.1f}H{WIDTH - RIGHT}" stroke="#dddddd"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{y(2**power) + 4:.1f}" text-anchor="end">{2**power} ×</text>')
    for share in range(5):
        place = round(share * (points - 1) / 4)
        lines.append(f'<text x="{x(place):.1f}" y="{HEIGHT - 26}" text-anchor="middle">{(place + 1) * 500:,}</text>')
    lines.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">calls</text>')
    labels: list[float] = []
    for (name, curve), colour in sorted(zip(curves.items(), COLOURS, strict=False), key=lambda each: each[0][1][-1]):
        path = " ".join(f"{x(place):.1f},{y(value):.1f}" for place, value in enumerate(curve))
        lines.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        at = y(curve[-1]) + 4
        at = min(at, labels[-1] - 13) if labels else at
        labels.append(at)
        lines.append(f'<text x="{WIDTH - RIGHT + 8}" y="{at:.1f}" fill="{colour}">{name} {curve[-1]:.2f}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"
