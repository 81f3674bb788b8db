"""Writes benchmark results to documentation pages."""

from __future__ import annotations

from pathlib import Path


def write_between(page: Path, name: str, text: str) -> None:
    """Put the text between the comments ``<!-- name -->`` and ``<!-- end of name -->``."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    whole = page.read_text(encoding="utf-8")
    head, _, rest = whole.partition(begin)
    page.write_text(f"{head}{begin}\n\n{text}\n\n{end}{rest.partition(end)[2]}", encoding="utf-8")


def run_section(module_docstring: str | None) -> str:
    """Return the section with the commands of a benchmark: the indented lines of its module's docstring."""
    commands = "\n".join(line.strip() for line in (module_docstring or "").splitlines() if line.startswith("    "))
    return f"## Run it\n\n```sh\n{commands}\n```\n"


def publish(page: Path, text: str, *, is_written: bool) -> None:
    """Print a page, and write it where ``--write`` asks for it."""
    print(text)
    if is_written:
        page.write_text(text, encoding="utf-8")
