"""Curves as SVG, with text as text so that it can be read and searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 760, 360, 60, 20, 200, 50
COLOURS = ("#1f4e8c", "#c9803a", "#5f9e6e", "#8c4e6e", "#7a9cc6", "#6b6b6b")


def curves(rows: Mapping[str, Sequence[float]], x_label: str, y_label: str, marked: int = 12) -> str:
    """Draw one curve per row; its values, in percent, stand for 1, 2, 3 ... on the horizontal axis.

    :param marked: the value of the horizontal axis with a dashed line.
    """
    most = max(map(len, rows.values()))
    least = min(10 * int(min(map(min, rows.values())) // 10), 90)

    def x(place: float) -> float:
        return LEFT + (place - 1) / max(most - 1, 1) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return TOP + (100 - value) / (100 - least) * (HEIGHT - TOP - BOTTOM)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
    ]
    for value in range(least, 101, 10):
        lines.append(f'<path d="M{LEFT} {y(value):.1f}H{x(most):.1f}" stroke="#dddddd"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value}</text>')
    step = max(5, most // 50 * 5)
    for place in sorted({1, *range(step, most + 1, step), min(marked, most)}):
        lines.append(f'<text x="{x(place):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{place}</text>')
    if marked <= most:
        lines.append(f'<path d="M{x(marked):.1f} {TOP}V{y(least):.1f}" stroke="#999999" stroke-dasharray="3 3"/>')
    lines.append(f'<text x="{x(most / 2):.1f}" y="{HEIGHT - 12}" text-anchor="middle">{escape(x_label)}</text>')
    lines.append(
        f'<text transform="translate(16 {HEIGHT / 2:.0f}) rotate(-90)" text-anchor="middle">{escape(y_label)}</text>'
    )
    for number, (name, values) in enumerate(rows.items()):
        colour = COLOURS[number % len(COLOURS)]
        points = " ".join(f"{x(place):.1f},{y(value):.1f}" for place, value in enumerate(values, 1))
        lines.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        height = TOP + 14 + number * 18
        lines.append(f'<rect x="{WIDTH - RIGHT + 16}" y="{height - 9}" width="10" height="10" fill="{colour}"/>')
        lines.append(f'<text x="{WIDTH - RIGHT + 32}" y="{height}">{escape(name)}</text>')
    return "\n".join([*lines, "</svg>", ""])
