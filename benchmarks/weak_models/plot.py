"""Two plots as SVG: the right tool by catalog size, and answers by cause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape

from benchmarks.weak_models.report import SIZES, TITLES
from benchmarks.weak_models.results import interval

WIDTH, HEIGHT, LEFT, BOTTOM = 760, 320, 60, 50
LINES: Mapping[str, str] = {"helped": "#1f4e8c", "ranker": "#2a8c6e", "raw": "#c0392b", "llama_json_schema": "#c77f1e"}
COLOURS = ("#1f4e8c", "#c0392b", "#c77f1e", "#8e6bbf", "#7f8c8d", "#5dade2", "#a04000", "#b7950b")
OTHER = "other"
MOST_CAUSES = 6


def _head(height: int, title: str) -> list[str]:
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="18" font-size="13">{escape(title)}</text>',
    ]


def by_size(found: Mapping[str, Any], title: str) -> str:
    """Percent of right tools for each catalog size, with intervals, one line for each way."""
    sizes = [task for task in SIZES if task in found]
    step = (WIDTH - LEFT - 240) / max(1, len(sizes) - 1)

    def y(share: float) -> float:
        return 40 + (1 - share) * (HEIGHT - 40 - BOTTOM)

    lines = _head(HEIGHT, title)
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        lines.append(f'<line x1="{LEFT}" x2="{WIDTH - 220}" y1="{y(share):.1f}" y2="{y(share):.1f}" stroke="#dddddd"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{y(share) + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    for place, task in enumerate(sizes):
        label = f"{int(task.removeprefix('pick_')):,} tools"
        lines.append(f'<text x="{LEFT + 10 + place * step:.1f}" y="{HEIGHT - 24}" text-anchor="middle">{label}</text>')
    for number, (way, colour) in enumerate(LINES.items()):
        points = []
        for place, task in enumerate(sizes):
            sums = found[task].get(way)
            if sums and sums["n"]:
                x = LEFT + 10 + place * step + 4 * number
                low, high = interval(sums["right"], sums["n"], sums["requests"])
                points.append((x, y(sums["right"] / sums["n"])))
                lines.append(
                    f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y(low):.1f}" y2="{y(high):.1f}" stroke="{colour}" opacity="0.5"/>'
                )
        path = " ".join(f"{x:.1f},{height:.1f}" for x, height in points)
        lines.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{path}"/>')
        lines += [f'<circle cx="{x:.1f}" cy="{height:.1f}" r="3.5" fill="{colour}"/>' for x, height in points]
        lines.append(f'<rect x="{WIDTH - 205}" y="{44 + 20 * number}" width="12" height="12" fill="{colour}"/>')
        lines.append(f'<text x="{WIDTH - 187}" y="{54 + 20 * number}">{escape(TITLES[way])}</text>')
    return "\n".join([*lines, "</svg>", ""])


def by_cause(found: Mapping[str, Any], title: str) -> str:
    """One bar for each size and way: right answers, then failures by cause, in percent."""
    bars = [
        (f"{int(task.removeprefix('pick_')):,}: {TITLES[way]}", found[task][way])
        for task in SIZES
        if task in found
        for way in TITLES
        if way in found[task] and found[task][way]["n"]
    ]
    totals: dict[str, int] = {}
    for _, sums in bars:
        for cause, count in sums["causes"].items():
            totals[cause] = totals.get(cause, 0) + count
    shown = sorted(totals, key=lambda cause: (-totals[cause], cause))[:MOST_CAUSES]
    names = ["right", *shown, *([OTHER] if len(totals) > len(shown) else [])]
    colours = dict(zip(names, COLOURS, strict=False))
    top, left = 40 + 16 * ((len(names) + 2) // 3), 230
    lines = _head(top + 20 * len(bars) + 14, title)
    for number, name in enumerate(names):
        x, y = LEFT + 230 * (number % 3), 30 + 16 * (number // 3)
        lines.append(f'<rect x="{x}" y="{y}" width="11" height="11" fill="{colours[name]}"/>')
        lines.append(f'<text x="{x + 16}" y="{y + 10}">{escape(name)}</text>')
    for number, (label, sums) in enumerate(bars):
        y, end = top + 20 * number, float(left)
        lines.append(f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">{escape(label)}</text>')
        parts = {"right": sums["right"], **{name: sums["causes"].get(name, 0) for name in shown}}
        parts[OTHER] = sums["n"] - sum(parts.values())
        for name, count in parts.items():
            length = count / sums["n"] * (WIDTH - left - 20)
            if count > 0:
                lines.append(
                    f'<rect x="{end:.1f}" y="{y}" width="{length:.1f}" height="15" fill="{colours.get(name, "#555555")}"/>'
                )
            end += length
    return "\n".join([*lines, "</svg>", ""])
