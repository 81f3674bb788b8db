"""Reads PDF: lines in reading order, headings by the size of their font, and tables with ruling lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
import pdfplumber
from pdfminer.layout import LTChar, LTCurve, LTFigure, LTLine, LTRect, LTTextBox, LTTextLine
from pdfminer.pdfdocument import PDFEncryptionError, PDFPasswordIncorrect
from pdfplumber.utils.exceptions import PdfminerException

from helmdeck_pack_documents.document import Document, Refused, one_line

_BULLET = re.compile(r"[•●▪◦‣∙·–*-]\s+|\d{1,2}[.)]\s+")
_BULLETS: Final = "•●▪◦‣∙"
_DIGITS = re.compile(r"\d+")

HEADING_SCALE: Final = 1.12
"""A heading has a font that is larger than that of the body by this factor, or it is bold and short."""
MAX_HEADING_CHARS: Final = 160
MAX_BOLD_CHARS: Final = 80
MAX_EDGES: Final = 4_000
"""Lines of a page in which tables are searched; a map or a plot has more."""


@attrs.define
class _Line:
    page: int
    box: int
    top: float
    text: str
    size: float
    is_bold: bool
    table: list[list[str]] | None = None


def read_pdf(path: Path, first: int, last: int | None, max_pages: int) -> Document:
    """Read pages of a PDF.

    :param first: the first page, from 1.
    :param last: the last page; ``None`` is the last one of the file.
    :raises Refused: it is encrypted or malformed, or too many pages are requested.
    """
    try:
        with pdfplumber.open(path, laparams={"boxes_flow": 0.5}) as pdf:
            count = len(pdf.pages)
            selected = pdf.pages[first - 1 : last]
            _check(count, first, len(selected), max_pages)
            lines: list[_Line] = []
            empty = []
            for page in selected:
                found = list(_lines_of(page))
                lines += found
                if not found:
                    empty.append(page.page_number)
                page.close()
    except PdfminerException as exc:
        raise _refusal(exc.args[0] if exc.args else exc) from exc
    except (PDFEncryptionError, PDFPasswordIncorrect) as exc:
        raise _refusal(exc) from exc
    document = Document(pages=count)
    _fill(document, _without_furniture(lines, len(selected)))
    if empty:
        document.findings.append(f"pages without text: {_ranges(empty)}; scanned pages need doc.ocr")
    return document


def _check(count: int, first: int, selected: int, max_pages: int) -> None:
    if count == 0:
        raise Refused("it has no pages, or its table of pages is damaged")
    if selected == 0:
        raise Refused(f"first_page {first} is after the last page, {count:,}")
    if selected > max_pages:
        detail = f"it has {count:,} pages, of which {selected:,} are requested; at most {max_pages:,} are read"
        raise Refused(f"{detail}: set first_page and last_page, or raise [packs.options.doc] max_pages")


def _refusal(exc: Any) -> Refused:
    if isinstance(exc, (PDFEncryptionError, PDFPasswordIncorrect)):
        return Refused("it is encrypted with a password; save it without one")
    return Refused(f"it is not a readable PDF ({type(exc).__name__}: {str(exc)[:200]})")


def _lines_of(page: Any) -> Iterator[_Line]:
    base = float(page.height) + float(page.mediabox[1])
    found = _tables(page)
    waiting = sorted(found, key=lambda table: table.bbox[1])
    for number, box in enumerate(_boxes(page.layout)):
        for line in box:
            if not isinstance(line, LTTextLine):
                continue
            top, bottom = base - line.y1, base - line.y0
            middle = ((line.x0 + line.x1) / 2, (top + bottom) / 2)
            if any(x0 <= middle[0] <= x1 and y0 <= middle[1] <= y1 for x0, y0, x1, y1 in (each.bbox for each in found)):
                continue
            while waiting and waiting[0].bbox[3] <= top:
                yield _table_line(page, waiting.pop(0))
            chars = [char for char in line if isinstance(char, LTChar) and not char.get_text().isspace()]
            text = one_line(line.get_text())
            if chars and text:
                size, font = Counter((round(char.size, 1), char.fontname) for char in chars).most_common(1)[0][0]
                yield _Line(page.page_number, number, top, text, size, "bold" in font.lower())
    for table in waiting:
        yield _table_line(page, table)


def _boxes(container: Any) -> Iterator[LTTextBox]:
    for element in container:
        if isinstance(element, LTTextBox):
            yield element
        elif isinstance(element, LTFigure):
            yield from _boxes(element)


def _tables(page: Any) -> Sequence[Any]:
    edges = sum(isinstance(element, (LTRect, LTLine, LTCurve)) for element in page.layout)
    if not 0 < edges <= MAX_EDGES:
        return []
    return [table for table in page.find_tables() if len(table.rows) > 1 and len(table.cells) > 3]


def _table_line(page: Any, table: Any) -> _Line:
    rows = [[cell or "" for cell in row] for row in table.extract()]
    return _Line(page.page_number, -1, table.bbox[1], "", 0.0, is_bold=False, table=rows)


def _without_furniture(lines: Sequence[_Line], pages: int) -> list[_Line]:
    """Leave out page numbers and running titles: lines at the same height of most pages that differ in digits only."""
    if pages < 3:
        return list(lines)
    seen = {(_place(line), line.page) for line in lines if line.table is None}
    counts = Counter(place for place, _ in seen)
    return [line for line in lines if line.table is not None or counts[_place(line)] <= pages / 2]


def _place(line: _Line) -> tuple[int, str]:
    return round(line.top / 4), _DIGITS.sub("#", line.text)


def _fill(document: Document, lines: Sequence[_Line]) -> None:
    chars = Counter[float]()
    for line in lines:
        chars[line.size] += len(line.text)
    body = chars.most_common(1)[0][0] if chars else 0.0
    sizes = sorted({line.size for line in lines if _is_heading(line, body)}, reverse=True)
    levels = {size: min(level, 4) for level, size in enumerate(sizes, 1)}
    is_marked = False  # the bullet of this paragraph is a line of its own
    for group in _groups(lines, body):
        document.page = group[0].page
        if group[0].table is not None:
            document.table(group[0].table)
            continue
        text = _joined(group)
        if _is_heading(group[0], body) and len(text) <= MAX_HEADING_CHARS:
            document.heading(levels[group[0].size], text)
        elif text in _BULLETS:
            is_marked = True
            continue
        elif is_marked or (_BULLET.match(text) and text[0] in f"{_BULLETS}-–*"):
            document.item(_BULLET.sub("", text, count=1))
        else:
            document.paragraph(text)
        is_marked = False


def _is_heading(line: _Line, body: float) -> bool:
    if line.table is not None or not any(map(str.isalpha, line.text)):
        return False
    is_large = line.size >= body * HEADING_SCALE and len(line.text) <= MAX_HEADING_CHARS
    is_bold = line.is_bold and line.size >= body and len(line.text) <= MAX_BOLD_CHARS
    return is_large or (is_bold and not line.text.endswith((".", ":", ",", ";")))


def _groups(lines: Sequence[_Line], body: float) -> Iterator[list[_Line]]:
    """Yield the lines of each paragraph, heading, list item or table."""
    group: list[_Line] = []
    for line in lines:
        if group:
            last = group[-1]
            is_same = (
                (line.page, line.box) == (last.page, last.box)
                and line.table is None
                and abs(line.size - last.size) < 0.6
                and _is_heading(line, body) == _is_heading(group[0], body)
                and not _BULLET.match(line.text)
            )
            if not is_same:
                yield group
                group = []
        group.append(line)
    if group:
        yield group


def _joined(lines: Sequence[_Line]) -> str:
    text = lines[0].text
    for line in lines[1:]:
        # A hyphen at the end of a line divides a word if the next line continues in lower case.
        if text.endswith("-") and line.text[:1].islower() and text[-2:-1].isalpha():
            text = text[:-1] + line.text
        else:
            text = f"{text} {line.text}"
    return text


def _ranges(numbers: Sequence[int]) -> str:
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    shown = [str(low) if low == high else f"{low}-{high}" for low, high in parts]
    return ", ".join(shown[:20]) + (" …" if len(shown) > 20 else "")
