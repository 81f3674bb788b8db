"""Draws horizontal bars as SVG; text is text, so that it can be read and searched."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

WIDTH, LABEL, BAR = 760, 210, 22
COLOURS = {False: "#7a9cc6", True: "#1f4e8c"}


def bars(rows: Sequence[tuple[str, int, bool]]) -> str:
    """One bar for each row: a label, a value, and whether it is emphasised."""
    height = 16 + len(rows) * BAR
    most = max(value for _, value, _ in rows)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for number, (label, value, is_emphasised) in enumerate(rows):
        y = 8 + number * BAR
        length = value / most * (WIDTH - LABEL - 80)
        lines.append(f'<text x="{LABEL - 8}" y="{y + 14}" text-anchor="end">{escape(label)}</text>')
        colour = COLOURS[is_emphasised]
        lines.append(f'<rect x="{LABEL}" y="{y + 3}" width="{length:.1f}" height="{BAR - 6}" fill="{colour}"/>')
        lines.append(f'<text x="{LABEL + length + 6:.1f}" y="{y + 14}">{value:,}</text>')
    return "\n".join([*lines, "</svg>", ""])
