"""Writes pages as PPTX: titles are title placeholders, tables and charts can be edited, fonts are not embedded."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from pptx import Presentation
from pptx.chart import data as chart_values
from pptx.dml import color as colours
from pptx.enum.chart import XL_CHART_TYPE, XL_LEGEND_POSITION, XL_MARKER_STYLE
from pptx.enum.shapes import MSO_SHAPE
from pptx.enum.text import MSO_ANCHOR, MSO_AUTO_SIZE, PP_ALIGN
from pptx.oxml.ns import qn
from pptx.util import Pt

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
from helmdeck_pack_slides.rows import number, shown
from helmdeck_pack_slides.table_layout import PADDING
from helmdeck_pack_slides.text_fit import LINE_HEIGHT, clean, is_right_to_left
from helmdeck_pack_slides.themes import Theme

_TITLE_ONLY: Final = 5
_BLANK_STYLE: Final = "{2D5ABB26-0587-4C30-8999-92F81FD0307C}"
"""The table style "No Style, No Grid": colours are those of the theme, cell by cell."""


def pptx_bytes(pages: Sequence[Page], title: str, theme: Theme) -> bytes:
    """Return a PPTX file with one slide per page."""
    deck = Presentation()
    deck.slide_width, deck.slide_height = Pt(WIDTH), Pt(HEIGHT)
    deck.core_properties.title = clean(title)[:255]
    deck.core_properties.author = ""
    deck.core_properties.last_modified_by = ""
    deck.core_properties.created = deck.core_properties.modified = datetime.now(UTC).replace(tzinfo=None)
    writer = _Writer(deck, theme)
    for place, page in enumerate(pages, 1):
        writer.add(page, place, len(pages))
    file = io.BytesIO()
    deck.save(file)
    return file.getvalue()


class _Writer:
    def __init__(self, deck: Any, theme: Theme) -> None:
        self._deck = deck
        self._theme = theme
        background = deck.slide_master.background.fill
        background.solid()
        background.fore_color.rgb = _colour(theme.background)

    def add(self, page: Page, place: int, count: int) -> None:
        slide = self._deck.slides.add_slide(self._deck.slide_layouts[_TITLE_ONLY])
        theme = self._theme
        title = slide.shapes.title
        _place(title, title_box(page))
        frame = _frame(title.text_frame, MSO_ANCHOR.BOTTOM if page.kind == "content" else MSO_ANCHOR.MIDDLE)
        self._text(frame.paragraphs[0], page.title, page.title_size, theme.title, is_bold=True)
        self._bar(slide, accent_box(page))
        if page.subtitle:
            self._paragraphs(slide, SUBTITLE_BOX, [page.subtitle], 20.0, theme.muted)
        if page.bullets:
            self._paragraphs(slide, page.text_box, page.bullets, page.size, theme.text, has_bullets=True)
        if page.table:
            self._table(slide, page)
        if page.chart and page.data:
            self._chart(slide, page)
        if page.kind != "cover":
            self._paragraphs(slide, FOOTER_BOX, [f"{place} / {count}"], 11.0, theme.muted, align=PP_ALIGN.RIGHT)
        if page.notes:
            slide.notes_slide.notes_text_frame.text = page.notes

    def _bar(self, slide: Any, box: Box) -> None:
        bar = slide.shapes.add_shape(MSO_SHAPE.RECTANGLE, *map(Pt, (box.x, box.y, box.width, box.height)))
        bar.fill.solid()
        bar.fill.fore_color.rgb = _colour(self._theme.accent)
        bar.line.fill.background()
        bar.shadow.inherit = False

    def _paragraphs(
        self,
        slide: Any,
        box: Box,
        texts: Sequence[str],
        size: float,
        colour: str,
        *,
        has_bullets: bool = False,
        align: Any = None,
    ) -> None:
        shape = slide.shapes.add_textbox(*map(Pt, (box.x, box.y, box.width, box.height)))
        frame = _frame(shape.text_frame, MSO_ANCHOR.TOP)
        for number_, text in enumerate(texts):
            paragraph = frame.paragraphs[0] if number_ == 0 else frame.add_paragraph()
            self._text(paragraph, text, size, colour, align=align)
            if number_:
                paragraph.space_before = Pt(size * BULLET_GAP)
            if has_bullets:
                self._bullet(paragraph)

    def _text(
        self, paragraph: Any, text: str, size: float, colour: str, *, is_bold: bool = False, align: Any = None
    ) -> None:
        run = paragraph.add_run()
        run.text = text
        font = run.font
        font.size, font.bold, font.name = Pt(size), is_bold, self._theme.font
        font.color.rgb = _colour(colour)
        paragraph.line_spacing = Pt(size * LINE_HEIGHT)
        is_reversed = is_right_to_left(text)
        paragraph.alignment = align or (PP_ALIGN.RIGHT if is_reversed else PP_ALIGN.LEFT)
        if is_reversed:
            _properties(paragraph).set("rtl", "1")

    def _bullet(self, paragraph: Any) -> None:
        properties = _properties(paragraph)
        properties.set("marL", str(Pt(INDENT)))  # the side where lines start, also from right to left
        properties.set("indent", str(-Pt(INDENT)))
        colour = properties.makeelement(qn("a:buClr"), {})
        colour.append(colour.makeelement(qn("a:srgbClr"), {"val": self._theme.accent.lstrip("#")}))
        properties.append(colour)
        properties.append(properties.makeelement(qn("a:buFont"), {"typeface": self._theme.font}))
        properties.append(properties.makeelement(qn("a:buChar"), {"char": "•"}))

    def _table(self, slide: Any, page: Page) -> None:
        assert page.table is not None
        data, theme, box = page.table, self._theme, page.text_box
        size = (len(data.rows), len(data.widths))
        frame = slide.shapes.add_table(*size, *map(Pt, (box.x, box.y, sum(data.widths), sum(data.heights))))
        frame.table._tbl.tblPr.find(qn("a:tableStyleId")).text = _BLANK_STYLE  # noqa: SLF001  # has no public name
        table = frame.table
        for column, width in zip(table.columns, data.widths, strict=True):
            column.width = Pt(width)
        for place, (row, height) in enumerate(zip(data.rows, data.heights, strict=True)):
            table.rows[place].height = Pt(height)
            for column_place, text in enumerate(row):
                cell = table.cell(place, column_place)
                cell.margin_left = cell.margin_right = Pt(PADDING)
                cell.margin_top = cell.margin_bottom = Pt(PADDING / 2)
                cell.vertical_anchor = MSO_ANCHOR.MIDDLE
                cell.fill.solid()
                fill = theme.accent if place == 0 else theme.band if place % 2 == 0 else theme.background
                cell.fill.fore_color.rgb = _colour(fill)
                align = PP_ALIGN.RIGHT if data.is_figure[column_place] else None
                colour = theme.text if place else theme.on_accent
                self._text(cell.text_frame.paragraphs[0], text, data.size, colour, is_bold=not place, align=align)

    def _chart(self, slide: Any, page: Page) -> None:
        assert page.chart is not None
        assert page.data is not None
        chart, data, box = page.chart, page.data, page.chart_box
        is_scatter = chart.kind == "scatter"
        values = _untyped(chart_values).XyChartData() if is_scatter else _untyped(chart_values).CategoryChartData()
        if not is_scatter:
            values.categories = [shown(each) for each in data.x]
        for name, column in data.series:
            if not is_scatter:
                values.add_series(clean(name), column)
                continue
            series = values.add_series(clean(name))
            for place, (x, y) in enumerate(zip(data.x, column, strict=True), 1):
                if y is not None:
                    series.add_data_point(place if number(x) is None else number(x), y)
        kind = {
            "bar": XL_CHART_TYPE.COLUMN_CLUSTERED,
            "line": XL_CHART_TYPE.LINE_MARKERS,
            "scatter": XL_CHART_TYPE.XY_SCATTER,
        }[chart.kind]
        frame = slide.shapes.add_chart(kind, *map(Pt, (box.x, box.y, box.width, box.height)), values)
        self._style(frame.chart, chart.kind, data.x_heading, page)

    def _style(self, drawn: Any, kind: str, x_heading: str, page: Page) -> None:
        assert page.chart is not None
        assert page.data is not None
        theme, series = self._theme, page.data.series
        drawn.has_title = False
        drawn.font.size, drawn.font.name = Pt(13), theme.font
        drawn.font.color.rgb = _colour(theme.muted)
        drawn.has_legend = len(series) > 1
        if drawn.has_legend:
            drawn.legend.position = XL_LEGEND_POSITION.BOTTOM
            drawn.legend.include_in_layout = False
        y_label = page.chart.y_label or (series[0][0] if len(series) == 1 else "")
        for axis, label in ((drawn.category_axis, page.chart.x_label or x_heading), (drawn.value_axis, y_label)):
            axis.format.line.color.rgb = _colour(theme.muted)
            axis.has_title = bool(clean(label))
            if axis.has_title:
                text = axis.axis_title.text_frame
                text.text = clean(label)[:120]
                font = text.paragraphs[0].runs[0].font
                font.size, font.bold, font.name = Pt(13), False, theme.font
                font.color.rgb = _colour(theme.muted)
        drawn.value_axis.major_gridlines.format.line.color.rgb = _colour(theme.band)
        drawn.category_axis.has_major_gridlines = False
        if kind == "bar":
            drawn.plots[0].gap_width, drawn.plots[0].overlap = 60, 0
        for place, each in enumerate(drawn.plots[0].series):
            colour = _colour(theme.series[place % len(theme.series)])
            if kind == "bar":
                each.format.fill.solid()
                each.format.fill.fore_color.rgb = colour
                each.invert_if_negative = False
                continue
            each.marker.style, each.marker.size = XL_MARKER_STYLE.CIRCLE, 7
            each.marker.format.fill.solid()
            each.marker.format.fill.fore_color.rgb = colour
            each.marker.format.line.color.rgb = colour
            if kind == "line":
                each.smooth = False
                each.format.line.color.rgb = colour
                each.format.line.width = Pt(2.5)
            else:
                each.format.line.fill.background()


def _frame(frame: Any, anchor: Any) -> Any:
    frame.word_wrap = True
    frame.auto_size = MSO_AUTO_SIZE.NONE
    frame.vertical_anchor = anchor
    frame.margin_left = frame.margin_right = frame.margin_top = frame.margin_bottom = 0
    return frame


def _place(shape: Any, box: Box) -> None:
    shape.left, shape.top, shape.width, shape.height = map(Pt, (box.x, box.y, box.width, box.height))


def _properties(paragraph: Any) -> Any:
    return paragraph._p.get_or_add_pPr()  # noqa: SLF001  # direction and bullets have no public name


def _colour(value: str) -> Any:
    return _untyped(colours).RGBColor.from_string(value.lstrip("#").upper())


def _untyped(module: Any) -> Any:
    """Return a module of python-pptx whose functions have no annotations."""
    return module
