"""Reads HTML: headings, lists, tables and paragraphs, without scripts, styles and navigation."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import attrs
from lxml import etree

from helmdeck_pack_documents.document import Document, Refused

_SKIPPED: Final = frozenset("script style template noscript svg nav footer iframe head select button".split())
_INLINE: Final = frozenset(
    "a abbr b bdi bdo big br cite code data del dfn em font i img ins kbd label mark q s samp small span strike strong sub sup time "
    "tt u var wbr".split()
)
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
MAX_SPAN: Final = 50


def read_html(path: Path) -> Document:
    """Read a file. Nothing that it refers to is loaded.

    :raises Refused: it has no content.
    """
    data = path.read_bytes()
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        encoding = None  # what the page declares
    else:
        encoding = "utf-8"
    # Without huge_tree, everything after the first place that is nested 256 levels deep is left out.
    parser = etree.HTMLParser(encoding=encoding, no_network=True, remove_comments=True, remove_pis=True, huge_tree=True)
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as exc:
        memory = "or reading it needs more memory than [packs.options.doc] max_memory_bytes"
        raise Refused(f"it is not a readable HTML page ({str(exc)[:200]}), {memory}") from exc
    if root is None:
        raise Refused("it is empty")
    if any("depth" in each.message for each in parser.error_log):
        raise Refused(
            "its elements are nested too deeply: the parser stops there, and the text after that place would be lost"
        )
    document = Document(title=root.findtext(".//title") or "")
    _Walk(document).run(root)
    return document


@attrs.define
class _Grid:
    """A table that is being read.

    :ivar spans: rows that a cell above still reaches into, by column.
    """

    rows: list[list[str]] = attrs.Factory(list)
    spans: dict[int, int] = attrs.Factory(dict)
    _new_spans: dict[int, int] = attrs.Factory(dict)

    def start_row(self) -> None:
        """Begin a row."""
        self.end_row()
        self.rows.append([])

    def add_cell(self, text: str, columns: int, depth: int) -> None:
        """Add a cell that spans columns and rows; its text is in the first ones."""
        if not self.rows:
            self.rows.append([])
        self._skip_spans()
        row = self.rows[-1]
        for number in range(columns):
            if depth > 1:
                self._new_spans[len(row)] = depth - 1
            row.append("" if number else text)

    def end_row(self) -> None:
        """Complete a row; cells that span rows count from the next one."""
        if self.rows:
            self._skip_spans()
        self.spans.update(self._new_spans)
        self._new_spans.clear()

    def _skip_spans(self) -> None:
        row = self.rows[-1]
        while self.spans.get(len(row), 0) > 0:
            self.spans[len(row)] -= 1
            row.append("")


@attrs.define
class _Walk:
    """Walks a tree without recursion; a page may be nested deeply."""

    document: Document
    _texts: list[str] = attrs.Factory(list)
    _items: int = 0
    _headings: int = 0
    _tables: int = 0
    _cells: int = 0
    _grid: _Grid = attrs.Factory(_Grid)

    def run(self, root: Any) -> None:
        walk: Any = etree.iterwalk(root, events=("start", "end"))
        for event, element in walk:
            if event == "start":
                if element.tag in _SKIPPED:
                    walk.skip_subtree()
                    continue
                self._start(element)
                self._texts.append(element.text or "")
            else:
                if element.tag not in _SKIPPED:
                    self._end(element)
                self._texts.append(element.tail or "")
        self._flush()

    def _start(self, element: Any) -> None:
        tag = element.tag
        if tag == "br":
            self._texts.append("\n")
        elif tag not in _INLINE:
            self._flush()
        self._items += tag == "li"
        self._headings += tag in _HEADINGS
        if tag == "table":
            if not self._tables:
                self._grid = _Grid()
            self._tables += 1
        elif self._tables == 1 and tag == "tr":
            self._grid.start_row()
        elif self._tables == 1 and tag in ("td", "th"):
            self._cells += 1
            self._texts.clear()

    def _end(self, element: Any) -> None:
        tag = element.tag
        if self._tables == 1 and tag in ("td", "th"):
            self._cells -= 1
            self._grid.add_cell(self._consumed_text(), _span(element, "colspan"), _span(element, "rowspan"))
        elif tag == "table":
            self._tables -= 1
            if not self._tables:
                self._grid.end_row()
                self._texts.clear()
                self.document.table(self._grid.rows)
        elif tag in _HEADINGS and not self._cells:
            self.document.heading(_HEADINGS[tag], self._consumed_text())
        elif tag == "pre" and not self._cells:
            self.document.code(self._consumed_text())
        elif tag not in _INLINE:
            self._flush()
        self._items -= tag == "li"
        self._headings -= tag in _HEADINGS

    def _flush(self) -> None:
        if self._cells or self._headings:
            self._texts.append(" ")
        elif self._items:
            self.document.item(self._consumed_text())
        else:
            self.document.paragraph(self._consumed_text())

    def _consumed_text(self) -> str:
        text = "".join(self._texts)
        self._texts.clear()
        return text


def _span(element: Any, name: str) -> int:
    value = element.get(name, "1").strip()
    return max(1, min(MAX_SPAN, int(value))) if value.isascii() and value.isdigit() and len(value) < 9 else 1
