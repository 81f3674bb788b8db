"""The packs ``image.generate`` and ``chart.plot``: SVG files that are drawn without a model."""

import hashlib
import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from helmdeck_core import Pack, PackContext, PackError, PackErrorCode, hookimpl, safe_name
from helmdeck_runs.pack_builder.functions import pack
from helmdeck_runs.packs.svg import MEDIA_TYPE, clean, label, picture, tag, ticks, wrapped

WIDTH: Final = 1200
HEIGHT: Final = 630
_PALETTES: Final = (
    ("#12355b", "#420039", "#d72638", "#f2c14e"),
    ("#0b3954", "#087e8b", "#bfd7ea", "#ff5a5f"),
    ("#2d3047", "#419d78", "#e0a458", "#fff0d0"),
    ("#3d348b", "#7678ed", "#f7b801", "#f35b04"),
    ("#1b4332", "#2d6a4f", "#95d5b2", "#d8f3dc"),
)
MAX_POINTS: Final = 2_000
_UNIT = re.compile(r"\(([^()]{1,20})\)$")
MAX_SERIES: Final = 8
_SERIES_COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#9A8700")
"""The palette of Okabe and Ito (2008), which people with any form of colour blindness can tell apart; its yellow is darker here."""


class Image(msgspec.Struct, omit_defaults=True):
    """A picture: its file, size in pixels and alternative text."""

    image: str
    width: int
    height: int
    alt: str
    artifacts: list[dict[str, Any]]
    findings: list[str] = []


@pack(
    "image.generate",
    destructive=False,
    open_world=False,
    description="Create a picture from a written description. Styles range from flat illustration to photo; up to 2048 pixels "
    "a side.",
    metadata={
        "accepts": ["text"],
        "produces": ["image"],
        "intent_keywords": [
            "make an illustration",
            "generate an image",
            "draw a picture",
            "create artwork",
            "hero image",
        ],
        "limitations": ["Lettering inside pictures is unreliable"],
    },
)
async def generate(
    context: PackContext, prompt: str, style: Literal["illustration", "photo", "sketch"] = "illustration"
) -> Image:
    """Draw a card with the words of the description over shapes that are derived from it."""
    text = clean(prompt)
    if not text:
        raise PackError("image.generate", PackErrorCode.INVALID_INPUT, "prompt is empty")
    context.progress("drawing")
    alt = f"Abstract card with the title: {text[:200]}"
    data = picture(WIDTH, HEIGHT, alt, _card(text, style))
    findings = ["drawn as shapes and words; no model that paints is connected"]
    if style == "photo":
        findings.append("the renderer makes no photos; this is an illustration")
    artifact = context.artifacts.write(safe_name(text, ".svg", "image"), data, MEDIA_TYPE)
    return Image(str(artifact.path), WIDTH, HEIGHT, alt, [artifact.to_dict()], findings)


def _card(text: str, style: str) -> Iterator[str]:
    # The seed chooses colours and places; the same description gives the same picture.
    seeded = random.Random(hashlib.sha256(text.encode()).digest())  # noqa: S311
    dark, middle, bright, light = seeded.choice(_PALETTES)
    is_sketch = style == "sketch"
    yield tag("rect", width=WIDTH, height=HEIGHT, fill="#fbf8f1" if is_sketch else dark)
    for _ in range(14):
        x, y = seeded.uniform(0, WIDTH), seeded.uniform(0, HEIGHT)
        size, colour = seeded.uniform(40, 220), seeded.choice((middle, bright, light))
        paint = (
            {"fill": "none", "stroke": dark, "stroke_width": 3} if is_sketch else {"fill": colour, "fill_opacity": 0.35}
        )
        if seeded.random() < 0.5:
            yield tag("circle", cx=x, cy=y, r=size / 2, **paint)
        else:
            points = (
                (x + size * math.cos(angle), y + size * math.sin(angle))
                for angle in (seeded.uniform(0, math.tau) for _ in range(3))
            )
            yield tag("polygon", points=" ".join(f"{px:.1f},{py:.1f}" for px, py in points), **paint)
    lines = wrapped(text, 30, 4)
    top = HEIGHT / 2 - 36 * (len(lines) - 1)
    yield tag(
        "rect", x=60, y=top - 90, width=WIDTH - 120, height=72 * len(lines) + 76, rx=18, fill="#ffffff",
        fill_opacity=0.92,
    )  # fmt: skip
    for number, line in enumerate(lines):
        yield label(line, WIDTH / 2, top + 72 * number, 54, text_anchor="middle", fill=dark, font_weight="bold")


# -- charts ------------------------------------------------------------------------------------------------


@pack(
    "chart.plot",
    destructive=False,
    open_world=False,
    description="Draw a line, bar or scatter chart from rows. Axis units are guessed from headings.",
    metadata={
        "accepts": ["rows"],
        "produces": ["image"],
        "intent_keywords": ["plot", "make a chart", "graph of"],
    },
)
async def plot(context: PackContext, rows: list[Any], kind: Literal["line", "bar", "scatter"]) -> Image:
    """Draw a chart. The first column is the x axis, every other column with numbers is a series.

    :param rows: objects with the same keys, or lists of values whose first one holds the headings.
    """
    headings, table = _table(rows)
    series = [(name, column) for name, *column in zip(headings, *table, strict=True) if _is_numeric(column)]
    labels = [str(row[0]) for row in table]
    first, numbers = headings[0], [row[0] for row in table]
    drawn = [(name, column) for name, column in series if name != first] or series
    if not drawn:
        raise PackError("chart.plot", PackErrorCode.INVALID_INPUT, "rows: no column has numbers")
    if len(drawn) > MAX_SERIES:
        raise PackError("chart.plot", PackErrorCode.INVALID_INPUT, f"rows: more than {MAX_SERIES} columns of numbers")
    title = f"{', '.join(name for name, _ in drawn)} by {first}"
    xs = [float(each) for each in numbers] if kind != "bar" and _is_numeric(numbers) else None
    data = picture(
        WIDTH, HEIGHT, title, _chart(title, (first, _y_label([name for name, _ in drawn])), labels, xs, drawn, kind)
    )
    artifact = context.artifacts.write(safe_name(title, ".svg", "chart"), data, MEDIA_TYPE)
    return Image(str(artifact.path), WIDTH, HEIGHT, f"Chart: {clean(title)[:200]}", [artifact.to_dict()])


def _table(rows: Sequence[Any]) -> tuple[list[str], list[list[Any]]]:
    if len(rows) > MAX_POINTS:
        raise PackError("chart.plot", PackErrorCode.INVALID_INPUT, f"rows: at most {MAX_POINTS:,} rows are drawn")
    if rows and all(isinstance(row, Mapping) for row in rows):
        headings = [str(key) for key in rows[0]]
        table = [[row.get(key) for key in rows[0]] for row in rows]
    elif len(rows) > 1 and all(isinstance(row, list) and row and len(row) == len(rows[0]) for row in rows):
        headings, table = [str(each) for each in rows[0]], [list(row) for row in rows[1:]]
    else:
        raise PackError("chart.plot", PackErrorCode.INVALID_INPUT, "rows: neither objects nor lists of the same length")
    if len(set(headings)) < len(headings) or not headings:
        raise PackError("chart.plot", PackErrorCode.INVALID_INPUT, "rows: each heading occurs once")
    return headings, table


def _y_label(names: Sequence[str]) -> str:
    """The heading of the only series, or the unit of all, such as ``m`` of ``Spring (m)``."""
    if len(names) == 1:
        return names[0]
    units = {found[1] if (found := _UNIT.search(name)) else "" for name in names}
    return units.pop() if len(units) == 1 else ""


def _is_numeric(column: Sequence[Any]) -> bool:
    return all(isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x) for x in column)


def _chart(
    title: str,
    axes: tuple[str, str],
    labels: Sequence[str],
    xs: Sequence[float] | None,
    series: Sequence[tuple[str, Sequence[float]]],
    kind: str,
) -> Iterator[str]:
    left, right, top, bottom = 130.0, WIDTH - 40.0, 90.0, HEIGHT - 112.0
    values = [value for _, column in series for value in column]
    marks = ticks(
        min(0.0, *values) if kind == "bar" else min(values), max(0.0, *values) if kind == "bar" else max(values)
    )
    low, high = marks[0], marks[-1]

    def at(value: float) -> float:
        return bottom - (value - low) / (high - low) * (bottom - top)

    yield tag("rect", width=WIDTH, height=HEIGHT, fill="#ffffff")
    yield label(wrapped(title, 60, 1)[0], WIDTH / 2, 46, 28, text_anchor="middle", font_weight="bold")
    yield label(wrapped(axes[0], 80, 1)[0], (left + right) / 2, bottom + 56, 18, text_anchor="middle")
    turned = f"rotate(-90 34 {(top + bottom) / 2:g})"
    yield label(wrapped(axes[1], 40, 1)[0], 34, (top + bottom) / 2, 18, text_anchor="middle", transform=turned)
    for mark in marks:
        yield tag("line", x1=left, x2=right, y1=at(mark), y2=at(mark), stroke="#dddddd")
        yield label(f"{mark:g}", left - 12, at(mark) + 6, 18, text_anchor="end")
    step = (right - left) / max(len(labels), 1)
    places = [left + step * (number + 0.5) for number in range(len(labels))]
    if xs is not None:
        across = ticks(min(xs), max(xs), 8)
        places = [left + (x - across[0]) / (across[-1] - across[0]) * (right - left) for x in xs]
        named = [(left + (x - across[0]) / (across[-1] - across[0]) * (right - left), f"{x:g}") for x in across]
    else:
        every = math.ceil(len(labels) / 12)
        named = [
            (place, text)
            for number, (place, text) in enumerate(zip(places, labels, strict=True))
            if number % every == 0
        ]
    for place, text in named:
        yield label(wrapped(text, 14, 1)[0], place, bottom + 28, 18, text_anchor="middle")
    share = (right - left) / len(series)
    for number, (name, column) in enumerate(series):
        colour = _SERIES_COLOURS[number]
        points = [(x, at(value)) for x, value in zip(places, column, strict=True)]
        if kind == "bar":
            wide = step * 0.8 / len(series)
            for x, y in points:
                start, base = x - step * 0.4 + wide * number, at(max(low, 0.0))
                yield tag("rect", x=start, y=min(y, base), width=wide, height=abs(base - y), fill=colour)
        elif kind == "line":
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            yield tag("polyline", points=path, fill="none", stroke=colour, stroke_width=3)
        else:
            for x, y in points:
                yield tag("circle", cx=x, cy=y, r=5, fill=colour, fill_opacity=0.7)
        yield tag("rect", x=left + share * number, y=HEIGHT - 36, width=18, height=18, fill=colour)
        yield label(wrapped(name, int(share // 12), 1)[0], left + 26 + share * number, HEIGHT - 21, 18)


@hookimpl
def helmdeck_packs() -> Sequence[Pack]:
    """The packs."""
    return (generate, plot)
