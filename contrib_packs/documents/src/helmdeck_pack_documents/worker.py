"""The process that reads one document: JSON on standard input and on standard output. A crash of a parser ends only this process."""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from helmdeck_pack_documents.document import Document, Refused

_ZIP: Final = b"PK\x03\x04"
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_SUFFIXES: Final = {
    ".htm": "html", ".html": "html", ".xhtml": "html", ".md": "markdown", ".markdown": "markdown", ".txt": "text",
}  # fmt: skip
KNOWN: Final = "PDF, DOCX, HTML, Markdown and plain text"


def main() -> None:
    """Read the document of the request, and write it, or the reason why it cannot be read."""
    warnings.simplefilter("ignore")
    logging.disable()
    output, sys.stdout = sys.stdout, sys.stderr  # what a parser prints is not the result
    try:
        result = read(json.load(sys.stdin))
    except Refused as exc:
        result = {"problem": str(exc)}
    except MemoryError:
        result = {"problem": "reading it needs more memory than [packs.options.doc] max_memory_bytes"}
    except RecursionError:
        result = {"problem": "its parts are nested too deeply"}
    except Exception as exc:  # parsers raise anything for damaged files
        result = {"problem": f"it is damaged ({type(exc).__name__}: {str(exc)[:200]})"}
    json.dump(result, output)
    output.flush()


def read(request: Mapping[str, Any]) -> dict[str, Any]:
    """Read a document.

    :raises Refused: it cannot be read, or exceeds a limit.
    """
    path = Path(request["path"])
    kind = format_of(path, request["name"])
    first, last, most = request["first_page"], request.get("last_page"), request["max_pages"]
    if kind != "pdf" and (first > 1 or last is not None):
        raise Refused("first_page and last_page are for PDF; other formats have no fixed pages")

    def pdf() -> Document:
        from helmdeck_pack_documents.pdf_file import read_pdf

        return read_pdf(path, first, last, most)

    def docx() -> Document:
        from helmdeck_pack_documents.docx_file import read_docx

        return read_docx(path)

    def html() -> Document:
        from helmdeck_pack_documents.html_page import read_html

        return read_html(path)

    def markdown() -> Document:
        from helmdeck_pack_documents.markdown_text import read_markdown

        return read_markdown(path)

    def text() -> Document:
        from helmdeck_pack_documents.markdown_text import read_text

        return read_text(path)

    # A library is imported for its format only: together they take a second.
    readers: Mapping[str, Callable[[], Document]] = {
        "pdf": pdf, "docx": docx, "html": html, "markdown": markdown, "text": text,
    }  # fmt: skip
    found = readers[kind]().to_dict()
    if not found["text"]:
        found["findings"].append("the document has no text")
    return {"format": kind, **found}


def format_of(path: Path, name: str) -> str:
    """Return the format by the content, and by the suffix of the name for formats of text.

    :raises Refused: the format is not supported.
    """
    with path.open("rb") as file:
        start = file.read(4_096)
    suffix = Path(name).suffix.lower()
    if b"%PDF-" in start[:1_024]:
        return "pdf"
    if start.startswith(_ZIP):
        from helmdeck_pack_documents.docx_file import is_docx

        if is_docx(path):
            return "docx"
        raise Refused(f"it is a ZIP archive and not a DOCX file; {KNOWN} are read")
    if start.startswith(_OLE):
        raise Refused("it is a file of an older Word, or encrypted with a password; save it as DOCX without one")
    if start.lstrip()[:200].lower().startswith((b"<!doctype html", b"<html")):
        return "html"
    if suffix in (".pdf", ".docx"):
        raise Refused(f"it is not a {suffix[1:].upper()} file: its first bytes are {start[:8]!r}")
    if suffix not in _SUFFIXES:
        raise Refused(f"the format {suffix or 'without a suffix'!r} is not supported; {KNOWN} are read")
    if b"\0" in start:
        raise Refused(f"it is not text, although its name ends with {suffix}")
    return _SUFFIXES[suffix]
