"""Lays out a deck: every text gets a size at which it fits, or continues on a further page. Sizes are in points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

import attrs

from helmdeck_pack_slides.deck import Chart, Deck, Slide
from helmdeck_pack_slides.rows import ChartData, RowsError, Table, chart_data
from helmdeck_pack_slides.table_layout import MAX_TABLE_PAGES, PageTable, split_text, table_pages
from helmdeck_pack_slides.text_fit import BOLD, LINE_HEIGHT, clean, is_right_to_left, text_height, wrap

WIDTH: Final = 960.0
HEIGHT: Final = 540.0
MAX_PAGES: Final = 300
MAX_POINTS: Final = 200
"""Points of a series; more are indistinguishable on a slide."""
MAX_SERIES: Final = 6
BULLET_GAP: Final = 0.45
"""Space between bullets as a multiple of the font size."""
INDENT: Final = 22.0
_TITLE_SIZES: Final = ((32.0, 2), (28.0, 2), (24.0, 3))
_BULLET_SIZES: Final = (28.0, 24.0, 22.0, 20.0, 18.0)
_SPLIT_SIZE: Final = 20.0


@attrs.frozen
class Box:
    """A rectangle on a slide."""

    x: float
    y: float
    width: float
    height: float


TITLE_BOX: Final = Box(54, 34, 852, 88)
BODY_BOX: Final = Box(54, 138, 852, 344)
LEFT_BOX: Final = Box(54, 138, 340, 344)
RIGHT_BOX: Final = Box(418, 132, 488, 360)
CENTRE_BOX: Final = Box(90, 110, 780, 300)
SUBTITLE_BOX: Final = Box(90, 420, 780, 60)
FOOTER_BOX: Final = Box(54, 500, 852, 20)


@attrs.frozen(kw_only=True)
class Page:
    """A slide as it is drawn.

    :ivar kind: ``cover`` is the first page, ``statement`` has only a title, which is large.
    :ivar text_box: of the bullets.
    """

    kind: Literal["cover", "statement", "content"] = "content"
    title: str
    title_size: float
    subtitle: str = ""
    bullets: tuple[str, ...] = ()
    size: float = 0.0
    text_box: Box = BODY_BOX
    table: PageTable | None = None
    chart: Chart | None = None
    data: ChartData | None = None
    chart_box: Box = BODY_BOX
    notes: str = ""

    @property
    def texts(self) -> list[str]:
        """The visible texts in the order of reading."""
        cells = [" | ".join(row) for row in self.table.rows] if self.table else []
        return [each for each in (self.title, self.subtitle, *self.bullets, *cells) if each]


def title_box(page: Page) -> Box:
    """Return where the title is."""
    return TITLE_BOX if page.kind == "content" else CENTRE_BOX


def accent_box(page: Page) -> Box:
    """Return the bar of the accent colour: below a title, or beside a large one, where its lines start."""
    box, is_reversed = title_box(page), is_right_to_left(page.title)
    if page.kind == "content":
        return Box(box.x + box.width - 64 if is_reversed else box.x, 128, 64, 3)
    return Box(box.x + box.width + 12 if is_reversed else box.x - 20, box.y, 8, box.height)


class TooManyPages(ValueError):
    """A deck that needs more than ``MAX_PAGES`` pages."""


def lay_out(deck: Deck, subtitle: str, tables: Sequence[Any]) -> tuple[list[Page], list[str]]:
    """Return the pages of a deck, and findings: what is left out or cannot be drawn.

    :param tables: rows, or objects with ``rows`` and ``heading``, each of which becomes a slide after the others.
    :raises TooManyPages: the deck needs more than ``MAX_PAGES``.
    """
    findings: list[str] = []
    slides = [*deck.slides, *_table_slides(tables, findings)]
    pages: list[Page] = []
    if title := clean(deck.title):
        pages.append(_cover(title, clean(subtitle)))
    for number, slide in enumerate(slides, 1):
        pages += _pages(slide, number, findings)
        if len(pages) > MAX_PAGES:
            detail = f"slide {number} of {len(slides)} ends after page {len(pages)}"
            raise TooManyPages(f"{detail}; a deck has at most {MAX_PAGES} pages")
    return pages, findings


def _table_slides(tables: Sequence[Any], findings: list[str]) -> Iterator[Slide]:
    for number, each in enumerate(tables, 1):
        rows = each.get("rows") if isinstance(each, dict) else each
        heading = each.get("heading") or each.get("title") if isinstance(each, dict) else ""
        if isinstance(rows, list) and rows:
            yield Slide(message=str(heading or f"Table {number}"), table=rows)
        else:
            findings.append(f"table {number}: it has no rows")


def _cover(title: str, subtitle: str) -> Page:
    found = _fitting(title, ((48.0, 3), (40.0, 4), (32.0, 5), (24.0, 7)), CENTRE_BOX.width)
    size, shown = found or (24.0, _shortened(title, CENTRE_BOX.width, 24.0, 7))
    small = _shortened(subtitle, SUBTITLE_BOX.width, 20.0, 2) if subtitle else ""
    return Page(kind="cover", title=shown, title_size=size, subtitle=small, notes="" if found else title)


def _pages(slide: Slide, number: int, findings: list[str]) -> list[Page]:
    message = clean(slide.message) or f"Slide {number}"
    bullets = [text for text in map(clean, slide.bullets) if text]
    data = None
    if slide.chart is not None:
        try:
            data = chart_data(slide.chart.rows, MAX_POINTS, MAX_SERIES)
        except RowsError as exc:
            findings.append(f"slide {number}: no chart: {exc}")
    tables: list[PageTable] = []
    if slide.table:
        try:
            tables, is_complete = table_pages(Table.of(slide.table), BODY_BOX.width, BODY_BOX.height)
        except RowsError as exc:
            findings.append(f"slide {number}: no table: {exc}")
        else:
            if not is_complete:
                findings.append(
                    f"slide {number}: its table has only the first {MAX_TABLE_PAGES} slides; the rest is left out"
                )
    large = _fitting(message, ((40.0, 4), (32.0, 6), (28.0, 8)), CENTRE_BOX.width)
    if not bullets and data is None and not tables and large:
        return [Page(kind="statement", title=message, title_size=large[0], notes=_notes(slide.notes))]
    suffix = " (99/99)"
    if _fitting(message + suffix, _TITLE_SIZES, TITLE_BOX.width) is None:
        bullets.insert(0, message)
        message = _shortened(message, TITLE_BOX.width, 24.0, 2)
    return _numbered(message, [*_bodies(slide, bullets, data), *({"table": table} for table in tables)], slide.notes)


def _bodies(slide: Slide, bullets: Sequence[str], data: ChartData | None) -> Iterator[dict[str, Any]]:
    chart = {"chart": slide.chart, "data": data} if data is not None else {}
    size = _bullet_size(bullets, LEFT_BOX) if chart else None
    if chart and bullets and size:
        yield {**chart, "chart_box": RIGHT_BOX, "bullets": tuple(bullets), "size": size, "text_box": LEFT_BOX}
        return
    if bullets and (size := _bullet_size(bullets, BODY_BOX)):
        yield {"bullets": tuple(bullets), "size": size}
    elif bullets:
        yield from ({"bullets": group, "size": _SPLIT_SIZE} for group in _groups(bullets, BODY_BOX))
    if chart:
        yield chart


def _numbered(message: str, bodies: Sequence[dict[str, Any]], notes: str) -> list[Page]:
    pages = []
    for number, body in enumerate(bodies or [{}], 1):
        title = f"{message} ({number}/{len(bodies)})" if len(bodies) > 1 else message
        fitted = _fitting(title, _TITLE_SIZES, TITLE_BOX.width)
        pages.append(
            Page(
                title=title,
                title_size=fitted[0] if fitted else 24.0,
                notes=_notes(notes) if number == 1 else "",
                **body,
            )
        )
    return pages


def _notes(text: str) -> str:
    return "\n".join(map(clean, text.splitlines())).strip()


def _fitting(text: str, sizes: Sequence[tuple[float, int]], width: float) -> tuple[float, str] | None:
    """Return the largest size at which a bold text has no more lines than given with it."""
    if len(text) > 1_000:
        return None
    return next(((size, text) for size, lines in sizes if len(wrap(text, width, size * BOLD)) <= lines), None)


def _shortened(text: str, width: float, size: float, lines: int) -> str:
    first, *rest = split_text(text[:1_000], width, size * BOLD, lines)
    if not rest and len(text) <= 1_000:
        return first
    words, _, last = first.rpartition(" ")
    return f"{words if words and len(last) < 30 else first[:-1]}…"


def _bullet_size(bullets: Sequence[str], box: Box) -> float | None:
    if sum(map(len, bullets)) > 3_000:
        return None
    return next((size for size in _BULLET_SIZES if _height(bullets, box, size) <= box.height), None)


def _height(bullets: Sequence[str], box: Box, size: float) -> float:
    return text_height(bullets, box.width - INDENT, size, BULLET_GAP)


def _groups(bullets: Sequence[str], box: Box) -> list[tuple[str, ...]]:
    """Share out bullets over pages evenly; a bullet that is longer than a page is split."""
    most = int(box.height // (_SPLIT_SIZE * LINE_HEIGHT))
    parts = [part for bullet in bullets for part in split_text(bullet, box.width - INDENT, _SPLIT_SIZE, most)]
    heights = [_height([part], box, _SPLIT_SIZE) for part in parts]

    def grouped(limit: float) -> list[tuple[str, ...]]:
        found: list[list[str]] = [[]]
        used = 0.0
        for part, height in zip(parts, heights, strict=True):
            needed = height + (_SPLIT_SIZE * BULLET_GAP if found[-1] else 0.0)
            if found[-1] and used + needed > limit:
                found.append([])
                used, needed = 0.0, height
            found[-1].append(part)
            used += needed
        return [tuple(group) for group in found]

    fullest = grouped(box.height)
    tries = (grouped(box.height * share / 10) for share in range(3, 10))
    return next((groups for groups in tries if len(groups) == len(fullest)), fullest)
