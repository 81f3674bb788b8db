"""Writes pages as one HTML file: no scripts, nothing is loaded, and each slide scales with the window and prints on a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Final

from helmdeck_pack_slides.pages import (
    BULLET_GAP,
    FOOTER_BOX,
    HEIGHT,
    INDENT,
    SUBTITLE_BOX,
    WIDTH,
    Box,
    Page,
    accent_box,
    title_box,
)
from helmdeck_pack_slides.table_layout import PADDING, PageTable
from helmdeck_pack_slides.text_fit import LINE_HEIGHT, clean
from helmdeck_pack_slides.themes import Theme

_POLICY: Final = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def html_text(pages: Sequence[Page], title: str, theme: Theme, charts: Mapping[int, tuple[str, str]]) -> str:
    """Return the file.

    :param charts: by the index of their page, the ``data:`` URL of a picture and its alternative text.
    """
    slides = "\n".join(_slide(page, place, len(pages), charts.get(place - 1)) for place, page in enumerate(pages, 1))
    return f"""\
<!DOCTYPE html>
<html>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(clean(title))}</title>
<style>{_style(theme)}</style>
</head>
<body>
{slides}
</body>
</html>
"""


def _style(theme: Theme) -> str:
    return f"""
* {{ box-sizing: border-box; margin: 0; padding: 0; }}
body {{ background: #808890; font-family: "{theme.font}", "Liberation Sans", "DejaVu Sans", sans-serif; }}
section {{ margin: 1.5vw auto; width: min(96vw, 160vh); }}
.slide {{ aspect-ratio: {WIDTH:g} / {HEIGHT:g}; background: {theme.background}; color: {theme.text};
  container-type: inline-size; overflow: hidden; position: relative; }}
.slide > * {{ position: absolute; line-height: {LINE_HEIGHT}; overflow-wrap: anywhere; }}
.slide h1, .slide h2 {{ color: {theme.title}; display: flex; flex-direction: column; justify-content: center; }}
.content h2 {{ justify-content: end; }}
.bar {{ background: {theme.accent}; }}
.muted {{ color: {theme.muted}; }}
.number {{ text-align: right; }}
ul {{ list-style: none; }}
li {{ padding-inline-start: {_scaled(INDENT)}; position: relative; }}
li::before {{ color: {theme.accent}; content: "•"; inset-inline-start: 0; position: absolute; }}
li + li {{ margin-top: {BULLET_GAP}em; }}
table {{ border-collapse: collapse; table-layout: fixed; }}
th, td {{ padding: {_scaled(PADDING / 2)} {_scaled(PADDING)}; text-align: start; }}
th {{ background: {theme.accent}; color: {theme.on_accent}; }}
tr:nth-child(odd) td {{ background: {theme.band}; }}
td.figure, th.figure {{ text-align: right; }}
img {{ background: #fff; object-fit: contain; }}
details {{ background: #fff; color: #222; padding: 0.6em 1em; white-space: pre-line; }}
@page {{ margin: 0; size: {WIDTH / 72:.3f}in {HEIGHT / 72:.3f}in; }}
@media print {{
  body {{ background: none; }}
  section {{ break-after: page; margin: 0; width: 100vw; }}
  .slide {{ print-color-adjust: exact; -webkit-print-color-adjust: exact; }}
  details {{ display: none; }}
}}
"""


def _slide(page: Page, place: int, count: int, chart: tuple[str, str] | None) -> str:
    notes = f"\n<details><summary>Notes</summary>{escape(page.notes)}</details>" if page.notes else ""
    parts = "\n".join(_parts(page, place, count, chart))
    return f'<section>\n<div class="slide {page.kind}">\n{parts}\n</div>{notes}\n</section>'


def _parts(page: Page, place: int, count: int, chart: tuple[str, str] | None) -> Iterator[str]:
    head = "h1" if page.kind == "cover" else "h2"
    yield _element(head, title_box(page), escape(page.title), page.title_size)
    yield _element("div", accent_box(page), "", kind="bar")
    if page.subtitle:
        yield _element("p", SUBTITLE_BOX, escape(page.subtitle), 20, kind="muted")
    if page.bullets:
        items = "".join(f'<li dir="auto">{escape(bullet)}</li>' for bullet in page.bullets)
        yield _element("ul", page.text_box, items, page.size)
    if page.table:
        box = Box(page.text_box.x, page.text_box.y, sum(page.table.widths), sum(page.table.heights))
        yield _element("table", box, _table(page.table), page.table.size)
    if chart:
        source, description = chart
        yield _element("img", page.chart_box, "", more=f' src="{escape(source)}" alt="{escape(clean(description))}"')
    if page.kind != "cover":
        yield _element("p", FOOTER_BOX, f"{place} / {count}", 11, kind="muted number")


def _table(table: PageTable) -> str:
    columns = "".join(f'<col style="width: {100 * width / sum(table.widths):.3f}%">' for width in table.widths)
    rows = []
    for place, row in enumerate(table.rows):
        cell = "td" if place else "th"
        kinds = [' class="figure"' if is_figure else "" for is_figure in table.is_figure]
        cells = (f'<{cell}{kind} dir="auto">{escape(text)}</{cell}>' for kind, text in zip(kinds, row, strict=True))
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f"<colgroup>{columns}</colgroup>{''.join(rows)}"


def _element(name: str, box: Box, content: str, size: float = 0, *, kind: str = "", more: str = "") -> str:
    places = (
        ("left", box.x / WIDTH),
        ("top", box.y / HEIGHT),
        ("width", box.width / WIDTH),
        ("height", box.height / HEIGHT),
    )
    style = "; ".join(f"{key}: {100 * share:.3f}%" for key, share in places)
    style += f"; font-size: {_scaled(size)}" if size else ""
    shown = f' class="{kind}"' if kind else ""
    end = "" if name == "img" else f"{content}</{name}>"
    return f'<{name}{shown} dir="auto" style="{style}"{more}>{end}'


def _scaled(points: float) -> str:
    """Return a length that is a share of the width of the slide."""
    return f"{100 * points / WIDTH:.3f}cqw"
