"""Reads Markdown (CommonMark and tables) and plain text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from helmdeck_pack_documents.document import Document, Refused

_TAG = re.compile(r"<[^<>]*>")
MAX_NESTING: Final = 20


def read_markdown(path: Path) -> Document:
    """Read a file; raises ``Refused`` if it is not UTF-8 text."""
    document = Document()
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable("table")
    items = 0
    rows: list[list[str]] | None = None
    heading = 0
    for token in parser.parse(_text(path)):
        if token.type == "heading_open":
            heading = int(token.tag[1])
        elif token.type in ("list_item_open", "list_item_close"):
            items += token.nesting
        elif token.type == "table_open":
            rows = []
        elif token.type == "table_close":
            document.table(rows or [])
            rows = None
        elif token.type == "tr_open" and rows is not None:
            rows.append([])
        elif token.type == "inline":
            text = _inline(token.children or ())
            if rows:
                rows[-1].append(text)
            elif heading:
                document.heading(heading, text)
                heading = 0
            elif items:
                document.item(text)
            else:
                document.paragraph(text)
        elif token.type in ("fence", "code_block"):
            document.code(token.content)
        elif token.type == "html_block":
            document.paragraph(_TAG.sub(" ", token.content))
    return document


def read_text(path: Path) -> Document:
    """Read a plain text file, whose paragraphs are separated by blank lines; raises ``Refused`` if it is not UTF-8 text."""
    document = Document()
    for paragraph in re.split(r"\n[ \t]*\n", _text(path)):
        document.paragraph(paragraph)
    return document


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as exc:
        raise Refused(f"it is not UTF-8 text ({exc.reason} at byte {exc.start:,})") from exc


def _inline(tokens: Sequence[Token]) -> str:
    parts = []
    for token in tokens:
        if token.type in ("softbreak", "hardbreak"):
            parts.append("\n")
        elif token.type in ("text", "code_inline", "image"):
            parts.append(token.content)
    return "".join(parts)
