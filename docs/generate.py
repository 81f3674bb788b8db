"""Writes what can be written from code: the reference pages, and the output that the other pages show.

::

    python docs/generate.py           # names what is not up to date, and ends with 1 if anything is
    python docs/generate.py --write   # brings it up to date

A test compares, so that neither can drift from the code.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent


def pages() -> Iterator[tuple[Path, str]]:
    """Every page that is written or checked, with the text that it should have."""
    import consoles
    import reference_pages

    for name, render in reference_pages.REFERENCE.items():
        yield DOCS / "reference" / name, render()
    for path in written_by_hand():
        yield path, consoles.render(path.read_text(encoding="utf-8"))


def written_by_hand() -> list[Path]:
    """The pages whose text is written and whose output is generated."""
    return sorted([*DOCS.glob("*.md"), *DOCS.glob("how-to/*.md")])


def main(argv: Sequence[str] | None = None) -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser(description="Write the generated parts of the documentation, or compare them.")
    parser.add_argument("--write", action="store_true", help="write what is not up to date")
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
