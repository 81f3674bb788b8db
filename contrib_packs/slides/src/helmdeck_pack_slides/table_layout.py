"""Lays out a table: the widths of columns, the size of the font, and the rows of each page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from helmdeck_pack_slides.rows import Table, shown
from helmdeck_pack_slides.text_fit import BOLD, LINE_HEIGHT, text_width, wrap

MAX_COLUMNS: Final = 8
"""More columns continue on a further page, with the first column repeated."""

MAX_TABLE_PAGES: Final = 12
"""Pages of one table; the rest of a larger one is left out, which is a finding."""

SIZES: Final = (18.0, 16.0, 14.0, 12.0)
PADDING: Final = 7.0
"""Points beside the text of a cell; half of it above and below."""

_FIGURE = re.compile(r"[-+−(]?[$€£¥]?\s?\d[\d.,'\s]*\)?\s?[%$€£¥]?")


@attrs.frozen
class PageTable:
    """A table, or a part of one, that fits on a page; sizes are in points.

    :ivar rows: the texts of the cells, the head first.
    :ivar is_figure: for each column, whether it has figures, which are aligned to the right.
    """

    widths: tuple[float, ...]
    heights: tuple[float, ...]
    rows: tuple[tuple[str, ...], ...]
    size: float
    is_figure: tuple[bool, ...]


def table_pages(table: Table, width: float, height: float) -> tuple[list[PageTable], bool]:
    """Return the pages of a table, and whether they have all of it.

    :param width: of a page in points.
    :param height: of a page in points.
    """
    texts = [tuple(map(shown, record)) for record in table.records]
    texts = [record for record in texts if any(record)]
    # Rows that cannot fit are not measured: a page has fewer than 100 rows at the smallest size.
    kept = texts[: MAX_TABLE_PAGES * 100]
    parts = [
        _part(table.headings, kept, columns, width, height) for columns in _columns(len(table.headings), _widest(width))
    ]
    pages: list[PageTable] = []
    # The columns that belong together stay together: all parts of the first rows come first.
    for number in range(max(map(len, parts))):
        pages += [part[number] for part in parts if number < len(part)]
    is_complete = len(pages) <= MAX_TABLE_PAGES and len(kept) == len(texts)
    return pages[:MAX_TABLE_PAGES], is_complete


def _widest(width: float) -> int:
    return min(MAX_COLUMNS, max(2, int(width // 80)))


def _columns(count: int, most: int) -> list[list[int]]:
    if count <= most:
        return [list(range(count))]
    rest = list(range(1, count))
    groups = -(-len(rest) // (most - 1))
    each = -(-len(rest) // groups)
    return [[0, *rest[at : at + each]] for at in range(0, len(rest), each)]


def _part(
    headings: Sequence[str], texts: Sequence[tuple[str, ...]], columns: Sequence[int], width: float, height: float
) -> list[PageTable]:
    head = tuple(headings[column] for column in columns)
    records = [tuple(record[column] for column in columns) for record in texts]
    is_figure = tuple(
        any(cells) and all(not cell or _FIGURE.fullmatch(cell) for cell in cells)
        for cells in ([record[place] for record in records] for place in range(len(columns)))
    )
    for size in SIZES:
        widths = _widths(head, records, width, size)
        heights = [_row_height(row, widths, size, BOLD if not at else 1.0) for at, row in enumerate([head, *records])]
        if sum(heights) <= height:
            return [PageTable(tuple(widths), tuple(heights), (head, *records), size, is_figure)]
    size = SIZES[-2] if len(columns) <= 5 else SIZES[-1]
    widths = _widths(head, records, width, size)
    head, top = _short_head(head, widths, size, height / 3)
    pages: list[PageTable] = []
    rows, heights, used = [head], [top], top
    for record in _short_records(records, widths, size, height - top):
        needed = _row_height(record, widths, size)
        if used + needed > height and len(rows) > 1:
            pages.append(PageTable(tuple(widths), tuple(heights), tuple(rows), size, is_figure))
            rows, heights, used = [head], [top], top
        rows.append(record)
        heights.append(needed)
        used += needed
    return [*pages, PageTable(tuple(widths), tuple(heights), tuple(rows), size, is_figure)]


def _widths(head: Sequence[str], records: Sequence[Sequence[str]], width: float, size: float) -> list[float]:
    """Share out the width: narrow columns get what they want, and the wide ones share the rest."""
    wanted = []
    for place, heading in enumerate(head):
        cells = (text_width(record[place][:200], size) for record in records)
        wanted.append(max(text_width(heading[:60], size * BOLD), max(cells, default=0.0)) + 2 * PADDING)
    if sum(wanted) <= width:
        return [want * width / sum(wanted) for want in wanted]
    widths = [0.0] * len(wanted)
    left, waiting = width, sorted(range(len(wanted)), key=wanted.__getitem__)
    while waiting:
        place = waiting.pop(0)
        widths[place] = min(wanted[place], left / (len(waiting) + 1))
        left -= widths[place]
    return widths


def _row_height(row: Sequence[str], widths: Sequence[float], size: float, factor: float = 1.0) -> float:
    lines = max(len(wrap(cell, width - 2 * PADDING, size * factor)) for cell, width in zip(row, widths, strict=True))
    return lines * size * LINE_HEIGHT + PADDING


def _short_head(
    head: tuple[str, ...], widths: Sequence[float], size: float, height: float
) -> tuple[tuple[str, ...], float]:
    """Shorten headings that would fill the page; the head of a table is repeated on each page."""
    most = max(1, int((height - PADDING) // (size * LINE_HEIGHT)))
    found = []
    for cell, width in zip(head, widths, strict=True):
        lines = wrap(cell, width - 2 * PADDING, size * BOLD)
        found.append(cell if len(lines) <= most else f"{' '.join(lines[:most])[:-1]}…")
    return tuple(found), _row_height(found, widths, size, BOLD)


def _short_records(
    records: Sequence[tuple[str, ...]], widths: Sequence[float], size: float, height: float
) -> Iterator[tuple[str, ...]]:
    """Yield the records; one that is higher than a page continues in further rows."""
    most = max(1, int((height - PADDING) // (size * LINE_HEIGHT)))
    for record in records:
        if _row_height(record, widths, size) <= height:
            yield record
            continue
        cells = [split_text(cell, width - 2 * PADDING, size, most) for cell, width in zip(record, widths, strict=True)]
        for number in range(max(map(len, cells))):
            yield tuple(cell[number] if number < len(cell) else "" for cell in cells)


def split_text(text: str, width: float, size: float, most: int) -> list[str]:
    """Split a text into parts of at most ``most`` lines, between words if it has any."""
    parts: list[str] = []
    # Most characters are wider than a quarter of the size: a longer prefix is not measured.
    longest = max(1, int(most * width / size * 4))
    while text:
        low, high = 1, min(len(text), longest)
        while low < high:  # the longest prefix that fits
            middle = (low + high + 1) // 2
            low, high = (middle, high) if len(wrap(text[:middle], width, size)) <= most else (low, middle - 1)
        if low < len(text) and (space := text.rfind(" ", 0, low + 1)) > 0:
            low = space
        parts.append(text[:low].strip())
        text = text[low:].strip()
    return parts
