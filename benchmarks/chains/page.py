"""Writes the page of the chains benchmark and its plots."""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.chains.replay import table
from benchmarks.pages import write_between

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "chains.md"
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 340, 56, 170, 16, 44
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#555555", "#17becf", "#8c564b")
REGRETTED = ("adaptive", "cheapest first", "epsilon-greedy", "difficulty threshold")
PLOTTED = ("adaptive", "cheapest first", "epsilon-greedy", "difficulty threshold", "random", "human")


def write_page(figures: Mapping[str, Any]) -> None:
    """Replace those tables and plots of the page whose figures are there."""
    if "replay" in figures:
        write_between(PAGE, "replay", table(figures["replay"]))
    if "advice" in figures:
        write_between(PAGE, "advice", advice(figures["advice"]))
    if "long" in figures:
        write_between(PAGE, "long", long_run(figures["long"]))
        fleets = [fleet for fleet in figures["long"].values() if not fleet["is_tuned"]]
        PAGE.with_name("chains-regret.svg").write_text(regret_plot(fleets), encoding="utf-8")
    if "fleets" not in figures:
        return
    fleets = figures["fleets"]
    write_between(PAGE, "ratios", ratios(fleets))
    write_between(PAGE, "policies", policies(fleets))
    write_between(PAGE, "goals", goals(figures))
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


def advice(found: Mapping[str, Mapping[str, float]]) -> str:
    """How good the intervals of the advice are."""
    lines = [
        "| held-out fleets | worlds | in the 90 % interval | not below its lower end | width, points | saving | estimate minus saving, points |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {name} | {each['worlds']} | {each['covered']:.0%} | {each['above_low']:.0%} | {100 * each['mean_width']:.0f} | "
        f"{each['mean_actual']:.0%} | {100 * each['mean_error']:+.1f} |"
        for name, each in found.items()
    ]
    return "\n".join(lines)


def long_run(fleets: Mapping[str, Any]) -> str:
    """The adaptive policy over 100,000 calls, and what it lost."""
    lines = [
        "| fleet | held out | seeds | all calls | after 10,000 | regret | regret of cheapest first | worst window, points |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name, fleet in fleets.items():
        row, rule = (fleet["policies"][policy] for policy in ("adaptive", "cheapest first"))
        lines.append(
            f"| {name} | {'' if fleet['is_tuned'] else 'yes'} | {row['seeds']} | {_cell(row['ratio_to_clairvoyant'])} | "
            f"{_cell(row['ratio_after_10000'])} | {row['regret'][-1]:,.0f} | {rule['regret'][-1]:,.0f} | "
            f"{_cell(row['worst_window'], '+.2f')} |"
        )
    calls = next(iter(fleets.values()))["policies"]["adaptive"]["calls"]
    return "\n".join([*lines, "", f"{calls:,} calls. Regret is in calls of the clairvoyant, in the mean of the seeds."])


def plot(fleets: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    """Draw the cost per usable answer relative to the clairvoyant one over the calls, each the mean of fleets."""
    curves = _means(fleets, names, "curve")
    highest = math.ceil(math.log2(max(max(curve) for curve in curves.values())))
    ticks = {2**power: f"{2**power} ×" for power in range(highest + 1)}
    calls = 500 * len(next(iter(curves.values())))
    return _drawn(curves, lambda value: max(math.log2(value), -0.1) / highest, ticks, calls, ".2f")


def regret_plot(fleets: Sequence[Mapping[str, Any]]) -> str:
    """Draw what policies cost more than the clairvoyant so far, in calls of the clairvoyant, each the mean of fleets."""
    curves = _means(fleets, REGRETTED, "regret")
    highest = max(max(curve) for curve in curves.values())
    step = 10 ** math.floor(math.log10(highest))
    ticks = {step * count: f"{step * count:,}" for count in range(int(highest / step) + 1)}
    calls = fleets[0]["policies"]["adaptive"]["calls"]
    return _drawn(curves, lambda value: max(value, 0.0) / highest, ticks, calls, ",.0f")


def _means(fleets: Sequence[Mapping[str, Any]], names: Sequence[str], figure: str) -> Mapping[str, Sequence[float]]:
    curves = {}
    for name in names:
        rows = [fleet["policies"][name][figure] for fleet in fleets]
        curves[name] = [sum(column) / len(column) for column in zip(*rows, strict=True)]
    return curves


def _drawn(
    curves: Mapping[str, Sequence[float]],
    height: Callable[[float], float],
    ticks: Mapping[float, str],
    calls: int,
    form: str,
) -> str:
    """Draw curves over calls.

    :param height: the height of a value, 0 to 1.
    """
    points = len(next(iter(curves.values())))

    def x(place: int) -> float:
        return LEFT + place / max(points - 1, 1) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return TOP + (1 - height(value)) * (HEIGHT - TOP - BOTTOM)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
    ]
    for value, label in ticks.items():
        lines.append(f'<path d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}" stroke="#dddddd"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{label}</text>')
    for share in range(5):
        place = round(share * (points - 1) / 4)
        shown = round((place + 1) / points * calls)
        lines.append(f'<text x="{x(place):.1f}" y="{HEIGHT - 26}" text-anchor="middle">{shown:,}</text>')
    lines.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">calls</text>')
    labels: list[float] = []
    for (name, curve), colour in sorted(zip(curves.items(), COLOURS, strict=False), key=lambda each: each[0][1][-1]):
        path = " ".join(f"{x(place):.1f},{y(value):.1f}" for place, value in enumerate(curve))
        lines.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        at = y(curve[-1]) + 4
        at = min(at, labels[-1] - 13) if labels else at
        labels.append(at)
        lines.append(f'<text x="{WIDTH - RIGHT + 8}" y="{at:.1f}" fill="{colour}">{name} {curve[-1]:{form}}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"
