"""Writes benchmark results to documentation pages."""

from __future__ import annotations

from pathlib import Path


def write_between(page: Path, name: str, text: str) -> None:
    """Put the text between the comments ``<!-- name -->`` and ``<!-- end of name -->``."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    whole = page.read_text(encoding="utf-8")
    head, _, rest = whole.partition(begin)
    page.write_text(f"{head}{begin}\n\n{text}\n\n{end}{rest.partition(end)[2]}", encoding="utf-8")
