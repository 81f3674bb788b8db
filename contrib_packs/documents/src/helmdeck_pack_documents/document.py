"""The content of a document while it is read: blocks of text in their order, with headings and tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import attrs

MAX_TEXT_CHARS: Final = 2_000_000
MAX_CELLS: Final = 200_000

# A tab and a line break are whitespace; other control characters, soft hyphens and halves of characters have no meaning in a text.
_INVISIBLE = re.compile(r"[\xad\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufeff]")


class Refused(ValueError):
    """A document that cannot be read, or that exceeds a limit; the message is for the user."""


@attrs.define
class Document:
    """The content that was read so far.

    :ivar page: of what is added next, from 1; 0 for formats without pages.
    """

    title: str = ""
    page: int = 0
    pages: int = 0
    headings: list[dict[str, Any]] = attrs.Factory(list)
    tables: list[dict[str, Any]] = attrs.Factory(list)
    findings: list[str] = attrs.Factory(list)
    _blocks: list[tuple[str, str]] = attrs.Factory(list)
    _chars: int = 0
    _cells: int = 0

    def heading(self, level: int, text: str) -> None:
        """Add a heading of a level from 1 to 6."""
        text = one_line(text)
        if text:
            level = min(6, max(1, level))
            self.headings.append({"level": level, "text": text, **self._place()})
            self._add("heading", f"{'#' * level} {text}")

    def paragraph(self, text: str) -> None:
        """Add a paragraph; whitespace is collapsed."""
        self._add("paragraph", one_line(text))

    def item(self, text: str) -> None:
        """Add an item of a list."""
        text = one_line(text)
        if text:
            self._add("item", f"- {text}")

    def code(self, text: str) -> None:
        """Add lines that are kept as they are."""
        text = clean(text).strip("\n")
        if text.strip():
            self._add("code", f"```\n{text}\n```")

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """Add a table of which the first row has the headings; rows and columns without text are left out."""
        cells = [[one_line(cell) for cell in row] for row in rows]
        cells = [row for row in cells if any(row)]
        width = max(map(len, cells), default=0)
        cells = [[*row, *[""] * (width - len(row))] for row in cells]
        kept = [place for place in range(width) if any(row[place] for row in cells)]
        cells = [[row[place] for place in kept] for row in cells]
        if not cells:
            return
        if len(cells) == 1 or len(kept) == 1:  # a box around text, such as a code sample or a letterhead
            for row in cells:
                self.paragraph(" ".join(row))
            return
        self._cells += len(cells) * len(kept)
        if self._cells > MAX_CELLS:
            raise Refused(f"its tables have more than {MAX_CELLS:,} cells; {_ADVICE}")
        heading = self.headings[-1]["text"] if self.headings else ""
        self.tables.append({"heading": heading, "rows": cells, **self._place()})
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells]
        self._add("table", "\n".join([lines[0], "|" + "---|" * len(kept), *lines[1:]]))

    @property
    def text(self) -> str:
        """The text as Markdown: headings, list items, tables and paragraphs."""
        parts: list[str] = []
        before = ""
        for kind, block in self._blocks:
            parts += ["\n" if kind == before == "item" else "\n\n" if parts else "", block]
            before = kind
        return "".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return the output of the pack, without the path and the format."""
        first = next((each["text"] for each in self.headings if each["level"] == 1), "")
        return {
            "title": one_line(self.title) or first,
            "text": self.text,
            "headings": self.headings,
            "tables": self.tables,
            "pages": self.pages,
            "findings": self.findings,
        }

    def _place(self) -> dict[str, int]:
        return {"page": self.page} if self.page else {}

    def _add(self, kind: str, block: str) -> None:
        if not block:
            return
        self._chars += len(block)
        if self._chars > MAX_TEXT_CHARS:
            raise Refused(f"its text has more than {MAX_TEXT_CHARS:,} characters; {_ADVICE}")
        self._blocks.append((kind, block))


_ADVICE: Final = "read a part of it, with first_page and last_page for a PDF"


def clean(text: str) -> str:
    """Return a text without control characters."""
    return _INVISIBLE.sub("", text)


def one_line(text: str) -> str:
    """Return a text on one line, without control characters."""
    return " ".join(clean(text).split())
