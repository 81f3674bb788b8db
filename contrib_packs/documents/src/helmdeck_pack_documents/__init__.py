"""The pack ``doc.parse``: reads PDF, DOCX, HTML, Markdown and plain text as text, headings and tables."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import Pack, hookimpl
from helmdeck_pack_documents.parse import parse


@hookimpl
def helmdeck_packs() -> Sequence[Pack]:
    """The pack."""
    return (parse,)
