"""The pack ``chart.plot``: the inputs and the output of the built-in one, and PNG."""

import asyncio
from typing import Any, Final, Literal

import msgspec

from helmdeck_core import PackContext, PackError, PackErrorCode, safe_name
from helmdeck_pack_charts.rows import RowsError, read_rows, text_of
from helmdeck_runs import pack

NAME: Final = "chart.plot"


class Chart(msgspec.Struct, omit_defaults=True):
    """A picture: its file, size in pixels and alternative text."""

    image: str
    width: int
    height: int
    alt: str
    artifacts: list[dict[str, Any]]
    findings: list[str] = []


@pack(
    NAME,
    destructive=False,
    open_world=False,
    description="Draw a line, bar or scatter chart from rows. Axis units are guessed from headings.",
    metadata={
        "accepts": ["rows"],
        "produces": ["image"],
        "intent_keywords": ["plot", "make a chart", "graph of"],
    },
)
async def plot(
    context: PackContext,
    rows: list[Any],
    kind: Literal["line", "bar", "scatter"],
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    format: Literal["svg", "png"] = "svg",
) -> Chart:
    """Draw a chart. The first column is the x axis, every other column with numbers is a series.

    :param rows: objects, or lists of values whose first one holds the headings.
    :param title: left out: the headings.
    :param x_label: of the x axis, with its unit; left out: the heading of the first column.
    :param y_label: of the y axis, with its unit; left out: the heading of the only series, or the unit of all.
    :param format: svg keeps texts as text, png is a bitmap.
    """
    try:
        data = read_rows(rows)
    except RowsError as exc:
        raise PackError(NAME, PackErrorCode.INVALID_INPUT, f"rows: {exc}") from exc
    context.progress(f"drawing {len(data.labels):,} rows")
    names = ", ".join(name for name, _ in data.series)
    shown = text_of(title) or f"{names} by {data.x_heading}".removesuffix(" by ")
    from helmdeck_pack_charts import drawing  # the library takes a second to import

    labels = (text_of(x_label) or data.x_heading, text_of(y_label) or data.y_heading)
    picture, missing = await asyncio.to_thread(drawing.draw, data, kind, shown, *labels, format)
    media_type = "image/svg+xml" if format == "svg" else "image/png"
    artifact = context.artifacts.write(safe_name(shown, f".{format}", "chart"), picture, media_type)
    findings = [f"no installed font has {' '.join(missing[:20])}; fonts-noto-cjk has many"] if missing else []
    alt = f"Chart: {shown[:200]}"
    return Chart(str(artifact.path), drawing.WIDTH, drawing.HEIGHT, alt, [artifact.to_dict()], findings)
