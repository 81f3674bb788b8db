"""Reads DOCX: headings and lists by their styles, and tables. Text boxes, notes and comments are left out."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import docx
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.exceptions import PackageNotFoundError
from docx.table import Table
from docx.text.paragraph import Paragraph
from lxml.etree import XMLSyntaxError

from helmdeck_pack_documents.document import Document, Refused

MAX_MEMBERS: Final = 5_000
MAX_UNPACKED_BYTES: Final = 200_000_000
CORE_PROPERTIES: Final = RELATIONSHIP_TYPE.CORE_PROPERTIES
_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)


def read_docx(path: Path) -> Document:
    """Read a file.

    :raises Refused: it is encrypted or malformed, or its parts are too large when unpacked.
    """
    check_archive(path)
    try:
        found = docx.Document(str(path))
    except (PackageNotFoundError, XMLSyntaxError, zipfile.BadZipFile, KeyError, ValueError) as exc:
        raise Refused(f"it is not a readable DOCX file ({type(exc).__name__}: {str(exc)[:200]})") from exc
    # The library makes up properties, with the title "Word Document", for a file without any, such as one of Google Docs.
    relations = found.part.package.rels.values() if found.part.package is not None else ()
    has_properties = any(each.reltype == CORE_PROPERTIES for each in relations)
    document = Document(title=(found.core_properties.title or "") if has_properties else "")
    for block in found.iter_inner_content():
        if isinstance(block, Table):
            document.table([[cell.text for cell in row.cells] for row in block.rows])
        elif isinstance(block, Paragraph):
            _add(document, block)
    return document


def is_docx(path: Path) -> bool:
    """Return whether a ZIP archive has the main part of a DOCX file; raises ``Refused`` for a damaged archive."""
    return any(member.filename in ("word/document.xml", "[Content_Types].xml") for member in _members(path))


def check_archive(path: Path) -> None:
    """Check the sizes that a ZIP archive declares; more than these are never unpacked.

    :raises Refused: the archive is malformed, encrypted or too large.
    """
    members = _members(path)
    unpacked = sum(member.file_size for member in members)
    if len(members) > MAX_MEMBERS or unpacked > MAX_UNPACKED_BYTES:
        limits = f"{MAX_MEMBERS:,} files and {MAX_UNPACKED_BYTES:,} bytes"
        raise Refused(f"unpacked, it has {len(members):,} files and {unpacked:,} bytes; at most {limits} are read")
    if any(member.flag_bits & 1 for member in members):
        raise Refused("it is encrypted with a password; save it without one")


def _members(path: Path) -> Sequence[zipfile.ZipInfo]:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.infolist()
    # The library raises NotImplementedError for archives of newer versions of the format.
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as exc:
        raise Refused(f"it is a damaged ZIP archive ({exc})") from exc


def _add(document: Document, paragraph: Paragraph) -> None:
    style: Any = paragraph.style
    name = str(getattr(style, "name", "") or "")
    heading = _HEADING.match(name)
    if heading:
        document.heading(int(heading[1]), paragraph.text)
    elif name == "Title":
        document.title = document.title or paragraph.text
        document.heading(1, paragraph.text)
    elif name.startswith("List") or paragraph.paragraph_format.element.xpath("./w:pPr/w:numPr"):
        document.item(paragraph.text)
    else:
        document.paragraph(paragraph.text)
