"""Pictures as SVG, drawn on the server. Colours are classes, so that the stylesheet decides them; each picture has a table beside it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Final

import attrs
from markupsafe import Markup, escape

from helmdeck_console.web.pages import duration

WIDTH: Final = 960
HEIGHT: Final = 220
LEFT: Final = 44
BOTTOM: Final = 24
TOP: Final = 8
FORMS: Final[Mapping[str, str]] = {"minute": "%H:%M", "day": "%m-%d %H:%M"}
"""How labels of times look without the script of the page."""

LETTER: Final = 6.6
"""Width of a letter of a label."""
COLORS: Final = 9
"""Classes of the stylesheet, ``c1`` to ``c9``, for causes; ``c0`` is a usable attempt."""


@attrs.frozen(kw_only=True)
class Bars:
    """Stacked bars over time.

    :ivar starts: the left edge of each bar in seconds since 1970 UTC.
    :ivar series: counts by name, one per bar.
    :ivar label_every_s: seconds between two labels of the horizontal axis.
    :ivar form: how the script of the page writes the labels in the reader's zone: ``minute`` or ``day``.
    """

    starts: Sequence[int]
    series: Mapping[str, Sequence[int]]
    label_every_s: int
    form: str
    title: str

    def svg(self) -> Markup:
        """Return the picture."""
        totals = [sum(values) for values in zip(*self.series.values(), strict=True)] if self.series else []
        top = _round_up(max(totals, default=0))
        height, width = HEIGHT - TOP - BOTTOM, WIDTH - LEFT
        step = width / max(1, len(self.starts))
        parts = [_axis(top, height, width)]
        offsets = [0.0] * len(self.starts)
        for number, values in enumerate(self.series.values()):
            color = f"c{(number - 1) % COLORS + 1 if number else 0}"
            rects = []
            for index, value in enumerate(values):
                if not value:
                    continue
                size = value / top * height
                offsets[index] += size
                x, y = LEFT + index * step, TOP + height - offsets[index]
                rects.append(
                    f'<rect x="{x + step * 0.08:.1f}" y="{y:.1f}" width="{step * 0.84:.1f}" height="{size:.1f}"/>'
                )
            parts.append(f'<g class="{color}">{"".join(rects)}</g>')
        for index, start in enumerate(self.starts):
            if start % self.label_every_s == 0:
                when = datetime.datetime.fromtimestamp(start, datetime.UTC)
                parts.append(
                    f'<text x="{LEFT + (index + 0.5) * step:.1f}" y="{HEIGHT - 7}" text-anchor="middle" '
                    f'data-time="{when.isoformat()}" data-form="{self.form}">{when.strftime(FORMS[self.form])} UTC</text>'
                )
        return _svg(self.title, parts)


def _axis(top: int, height: float, width: float) -> str:
    lines = []
    for share in (0, 0.5, 1):
        y = TOP + height * (1 - share)
        lines.append(f'<line class="grid" x1="{LEFT}" x2="{LEFT + width}" y1="{y:.1f}" y2="{y:.1f}"/>')
        lines.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_compact(top * share)}</text>')
    return "".join(lines)


def _compact(value: float) -> str:
    """A number that fits beside the axis."""
    for least, size, unit in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if value >= least:
            return f"{value / size:g}{unit}"
    return f"{value:,g}"


def _round_up(value: int) -> int:
    """The end of an axis: the next of 2, 4, 6, 10 and their multiples by ten."""
    scale = 1
    while scale * 10 < value:
        scale *= 10
    return next((each * scale for each in (2, 4, 6, 10) if each * scale >= value), 10 * scale)


def _svg(title: str, parts: Sequence[str], height: int = HEIGHT) -> Markup:
    content = Markup("".join(parts))  # noqa: S704 - numbers and escaped strings
    return Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, height, title, content
    )


@attrs.frozen(kw_only=True)
class TimelineBar:
    """A bar of a timeline.

    :ivar start_s: seconds since the start of the call.
    :ivar kind: a class of the stylesheet: ``ok``, ``bad``, ``wait`` or ``other``.
    """

    label: str
    start_s: float
    end_s: float
    kind: str


def timeline(bars: Sequence[TimelineBar], total_s: float, title: str) -> Markup:
    """Return a timeline with a row per bar."""
    row, labels = 26, [bar.label if len(bar.label) <= 28 else f"{bar.label[:27]}…" for bar in bars]
    left = 16 + LETTER * max(map(len, labels), default=0)
    total_s = max(total_s, 0.001, *(bar.end_s for bar in bars)) if bars else 1.0
    width = WIDTH - left - 70
    height = TOP + row * len(bars) + BOTTOM
    parts = []
    for share in (0, 0.25, 0.5, 0.75, 1):
        x = left + width * share
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{height - BOTTOM}"/>')
        parts.append(
            f'<text x="{x:.1f}" y="{height - 7}" text-anchor="middle">{duration(total_s * share * 1_000)}</text>'
        )
    for index, (bar, label) in enumerate(zip(bars, labels, strict=True)):
        y = TOP + index * row
        x, size = left + bar.start_s / total_s * width, max(2.0, (bar.end_s - bar.start_s) / total_s * width)
        parts.append(f'<text x="{left - 8:.1f}" y="{y + 17}" text-anchor="end">{escape(label)}</text>')
        parts.append(
            f'<rect class="{escape(bar.kind)}" x="{x:.1f}" y="{y + 4}" width="{size:.1f}" height="{row - 8}" rx="3"/>'
        )
        parts.append(f'<text x="{x + size + 6:.1f}" y="{y + 17}">{duration((bar.end_s - bar.start_s) * 1_000)}</text>')
    return _svg(title, parts, height)


@attrs.frozen(kw_only=True)
class CurvePoint:
    """A measured size.

    :ivar share: share of right plans, 0 to 1.
    :ivar bound: its lower bound.
    """

    size: int
    share: float
    bound: float
    is_claimed: bool = False


def curve(points: Sequence[CurvePoint], title: str) -> Markup:
    """Return the success rate by catalog size, with the lower bound of each."""
    height, width = HEIGHT - TOP - BOTTOM, WIDTH - LEFT - 20
    step = width / max(1, len(points))
    parts = [_axis(100, height, width)]
    places = [(LEFT + (index + 0.5) * step, point) for index, point in enumerate(points)]
    line = " ".join(f"{x:.1f},{TOP + height * (1 - point.share):.1f}" for x, point in places)
    parts.append(f'<polyline class="line" points="{line}"/>')
    for x, point in places:
        y, low = TOP + height * (1 - point.share), TOP + height * (1 - point.bound)
        parts.append(f'<line class="bound" x1="{x:.1f}" x2="{x:.1f}" y1="{y:.1f}" y2="{low:.1f}"/>')
        parts.append(f'<circle class="{"claimed" if point.is_claimed else "point"}" cx="{x:.1f}" cy="{y:.1f}" r="5"/>')
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 7}" text-anchor="middle">{point.size / 1024:.3g} KB</text>')
    return _svg(title, parts)
