"""Draws a chart with matplotlib, without a window and without its global figures."""

from __future__ import annotations

import io
import math
import re
import textwrap
import threading
import warnings
from typing import Any, Final, Literal

import matplotlib as mpl
from matplotlib import font_manager
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from helmdeck_pack_charts.rows import Data

Kind = Literal["line", "bar", "scatter"]

WIDTH: Final = 1200
HEIGHT: Final = 675
_DPI: Final = 100
_COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#9A8700")
"""The palette of Okabe and Ito (2008), which people with any form of colour blindness can tell apart; its yellow is darker here."""
_MARKERS: Final = "os^DvPX*"
_HATCHES: Final = ("", "//", "..", "xx", "\\\\", "oo", "--", "++")
"""Series differ in their form as well as in colour, for prints in grey."""
_FONTS: Final = (
    "DejaVu Sans", "Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans Arabic", "Noto Sans Hebrew",
    "Noto Sans Devanagari", "Noto Sans Thai", "WenQuanYi Zen Hei", "Arial Unicode MS", "Microsoft YaHei", "Yu Gothic",
    "Malgun Gothic", "Hiragino Sans", "PingFang SC",
)  # fmt: skip
"""DejaVu Sans comes with matplotlib; the others are used for letters that it does not have, where they are installed."""
_MAX_TICKS: Final = 14
_GLYPH = re.compile(r"Glyph (\d+) ")

_LOCK = threading.Lock()
"""Settings of matplotlib and filters of warnings belong to the process."""


def draw(
    data: Data, kind: Kind, title: str, x_label: str, y_label: str, format: Literal["svg", "png"]
) -> tuple[bytes, list[str]]:
    """Return the picture, and the characters that no installed font has."""
    installed = set(font_manager.get_font_names())
    settings: Any = {
        "font.family": [font for font in _FONTS if font in installed],
        "font.size": 14,
        "text.parse_math": False,  # a dollar sign is a currency
        "svg.fonttype": "none",  # text stays text, in the fonts of the viewer
        "svg.hashsalt": "helmdeck",
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    file = io.BytesIO()
    with _LOCK, mpl.rc_context(settings), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure = Figure(
            figsize=(WIDTH / _DPI, HEIGHT / _DPI), dpi=_DPI, layout=ConstrainedLayoutEngine(w_pad=0.2, h_pad=0.2)
        )
        axes = figure.add_subplot()
        axes.grid(axis="y", color="#DDDDDD")
        axes.set_axisbelow(True)
        _plot(axes, data, kind)
        axes.set_title("\n".join(textwrap.wrap(title, 70, max_lines=2, placeholder=" …")), fontsize=18, pad=14)
        axes.set_xlabel(_short(x_label, 90))
        axes.set_ylabel(_short(y_label, 50))
        if len(data.series) > 1:
            figure.legend(loc="outside lower center", ncols=min(4, len(data.series)), frameon=False)
        metadata: dict[str, Any] = {"Date": None} if format == "svg" else {"Software": None}
        figure.savefig(file, format=format, metadata=metadata)
    codes = {int(found[1]) for each in caught if (found := _GLYPH.match(str(each.message)))}
    return file.getvalue(), [chr(code) for code in sorted(codes)] if format == "png" else []


def _plot(axes: Any, data: Data, kind: Kind) -> None:
    places: tuple[float, ...] = tuple(map(float, range(len(data.labels))))
    is_number = kind != "bar" and data.numbers is not None
    if is_number:
        assert data.numbers is not None
        places = data.numbers
    for number, (name, values) in enumerate(data.series):
        shared: dict[str, Any] = {"label": _short(name, 28), "color": _COLOURS[number]}
        if kind == "bar":
            width = 0.8 / len(data.series)
            offset = (number - (len(data.series) - 1) / 2) * width
            bars = [place + offset for place in places]
            axes.bar(bars, values, width, hatch=_HATCHES[number], edgecolor="white", **shared)
        elif kind == "line":
            marker = _MARKERS[number] if len(places) <= 60 else ""
            axes.plot(places, values, marker=marker, linewidth=2.5, **shared)
        else:
            axes.scatter(places, values, marker=_MARKERS[number], s=45, **shared)
    if kind == "bar":
        axes.axhline(0, color="#444444", linewidth=1)
    if not is_number:
        step = math.ceil(len(data.labels) / _MAX_TICKS)
        labels = [_short(label, 24) for label in data.labels[::step]]
        is_long = max(map(len, labels), default=0) * len(labels) > 90
        axes.set_xticks(places[::step], labels, rotation=30 if is_long else 0, ha="right" if is_long else "center")


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
