"""Draws two horizontal bars per setting as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

WIDTH, LABEL, BAR = 760, 260, 16
COLOURS = {"valid plans": "#7a9cc6", "finished runs": "#1f4e8c"}


def bars(rows: Sequence[tuple[str, float, float]]) -> str:
    """Two bars for each row: percent of valid plans and of finished runs."""
    height = 40 + len(rows) * (2 * BAR + 14)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for number, (name, colour) in enumerate(COLOURS.items()):
        x = LABEL + 120 * number
        lines.append(f'<rect x="{x}" y="10" width="12" height="12" fill="{colour}"/>')
        lines.append(f'<text x="{x + 18}" y="20">{name}</text>')
    for number, (label, *values) in enumerate(rows):
        y = 36 + number * (2 * BAR + 14)
        lines.append(f'<text x="{LABEL - 8}" y="{y + BAR + 4}" text-anchor="end">{escape(label)}</text>')
        for place, (value, colour) in enumerate(zip(values, COLOURS.values(), strict=True)):
            length = value / 100 * (WIDTH - LABEL - 60)
            top = y + place * BAR
            lines.append(f'<rect x="{LABEL}" y="{top}" width="{length:.1f}" height="{BAR - 3}" fill="{colour}"/>')
            lines.append(f'<text x="{LABEL + length + 6:.1f}" y="{top + 11}">{value:.1f} %</text>')
    return "\n".join([*lines, "</svg>", ""])
