"""Generates the reference pages and the output on the other pages.

::

    python docs/generate.py           # lists stale pages; exit code 1 if there are any
    python docs/generate.py --write   # updates them

A test checks that no page is stale.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent


def pages() -> Iterator[tuple[Path, str]]:
    """Yield every generated page with its expected text."""
    import consoles
    import reference_pages

    for name, render in reference_pages.REFERENCE.items():
        yield DOCS / "reference" / name, render()
    for path in written_by_hand():
        try:
            text = consoles.render(path.read_text(encoding="utf-8"))
        except ValueError as exc:
            raise SystemExit(f"{path.relative_to(ROOT)}: {exc}") from exc
        yield path, text


def written_by_hand() -> list[Path]:
    """Return the pages with hand-written text and generated output."""
    return [
        ROOT / "README.md",
        *sorted([*DOCS.glob("*.md"), *DOCS.glob("how-to/*.md"), *DOCS.glob("coming-from/*.md")]),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description="Generate the reference and the output in the documentation, or check them."
    )
    parser.add_argument("--write", action="store_true", help="update stale pages")
    arguments = parser.parse_args(argv)
    stale = [(path, text) for path, text in pages() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path, text in stale:
        if arguments.write:
            path.write_text(text, encoding="utf-8")
        print(f"{'wrote' if arguments.write else 'not up to date:'} {path.relative_to(ROOT)}")
    return 0 if arguments.write or not stale else 1


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "plugins")]
    sys.exit(main())
