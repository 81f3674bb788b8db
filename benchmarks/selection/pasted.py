"""Requests before, behind, inside and on both sides of pasted texts of many kinds, over the recorded catalogs of MCP servers.

::

    export MCP_TOOLS=/path/to/mcp-tools                    # recorded lists of tools
    python -m benchmarks.selection.pasted                  # the half whose failures may be read
    python -m benchmarks.selection.pasted --held-out       # only totals of the other half
    python -m benchmarks.selection.pasted --failures       # what was read instead of the request
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import fmean

import attrs

from benchmarks.selection import bm25
from benchmarks.selection.adapters import by_bm25
from benchmarks.selection.documents import half_of, pasted
from benchmarks.selection.own_sets import server_catalog
from helmdeck_selection.lexical.ranker import CatalogIndex
from helmdeck_selection.lexical.scores.word_scores import LexicalIndex

TOPS = (5, 12)
JOINTS = ("\n\n", "\n", "\n\n")


@attrs.frozen
class Case:
    """One text: where its request is, and what that needs.

    :ivar refers: the request refers to the text beside it.
    """

    language: str
    name: str
    half: str
    position: str
    text: str
    request: str
    needed: frozenset[str]
    refers: bool = False


def cases() -> Iterator[Case]:
    """Yield every text of both halves."""
    documents, requests = pasted()
    for number, (document, own, needed) in enumerate(documents):
        among = [row for row in requests if row[0] == document.language]
        first, second = among[number * 5 % len(among)], among[(number * 5 + 2) % len(among)]
        # People write English requests beside texts in other languages as well.
        english = [row for row in requests if row[0] == "en"]
        if number % 3 == 0:
            second = english[number * 7 % len(english)]
        text = document.text.replace("[here]\n", "")
        whole, halves = "\n".join(text.split("\n\n\n")), document.text.split("[here]\n")
        joint = JOINTS[number % len(JOINTS)]

        case = partial(Case, document.language, document.name, half_of(document))
        yield case("behind", f"{whole}{joint}{first[2]}", first[2], first[1])
        yield case("before", f"{second[2]}{joint}{whole}", second[2], second[1])
        yield case("behind", f"{whole}\n\n{own}", own, needed, True)
        yield case("before", f"{own}\n\n{whole}", own, needed, True)
        if len(halves) == 2:
            before, after = (part.strip("\n") for part in halves)
            yield case("inside", f"{before}\n\n{second[2]}\n\n{after}", second[2], second[1])
        else:
            yield case("both", f"{own}\n\n{whole}\n\n{first[2]}", f"{own} {first[2]}", needed | first[1], True)


def measure(half: str) -> list[tuple[Case, str, Sequence[str], Sequence[str]]]:
    """Return the cases of a half with what was read as the request, and the best tools of the ranker and of bm25s."""
    catalog = server_catalog()
    if catalog is None:
        raise SystemExit("the recorded lists of tools are missing: set MCP_TOOLS")
    index, reader, peer = (
        CatalogIndex(catalog, cache=False),
        LexicalIndex(catalog),
        by_bm25(catalog) if bm25.is_installed() else None,
    )
    found: list[tuple[Case, str, Sequence[str], Sequence[str]]] = []
    for case in cases():
        if case.half == half:
            read = " ".join(" ".join(reader.read(case.text).asking).split())
            ids = [catalog.entries[entry].id for entry, _ in index.rank(case.text).leading(max(TOPS))]
            found.append((case, read, ids, peer(case.text) if peer else ()))
    return found


def is_apart(case: Case, read: str) -> bool:
    """Whether exactly the request was read as the request."""
    return read == " ".join(case.request.split())


def table(found: Sequence[tuple[Case, str, Sequence[str], Sequence[str]]], of: Callable[[Case], str]) -> str:
    """Percent of texts that were read right, and of those whose tools are among the first."""
    groups: dict[str, list[tuple[Case, str, Sequence[str], Sequence[str]]]] = defaultdict(list)
    for row in found:
        groups[of(row[0])].append(row)
    groups["all"] = list(found)
    heads = [f"{name}: complete@{top}" for name in ("ranker", "bm25s") for top in TOPS]
    lines = ["| | texts | apart | " + " | ".join(heads) + " |", "|---|" + "--:|" * (2 + len(heads))]
    for name, rows in groups.items():
        shares = [fmean(is_apart(case, read) for case, read, *_ in rows)]
        shares += [
            fmean(case.needed <= set(row[place][:top]) for case, *row in rows) for place in (1, 2) for top in TOPS
        ]
        lines.append(f"| {name} | {len(rows)} | " + " | ".join(f"{100 * share:.1f}" for share in shares) + " |")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Read and rank requests beside pasted texts.")
    parser.add_argument("--held-out", action="store_true", help="the half of which only totals are read")
    parser.add_argument("--failures", action="store_true", help="print what was read instead of the request")
    options = parser.parse_args(argv)
    if options.held_out and options.failures:
        parser.error("failures of the half that is held out are not to be read")
    found = measure("held_out" if options.held_out else "fit")
    print(table(found, lambda case: case.position), "\n")
    print(table(found, lambda case: "refers" if case.refers else "does not refer"), "\n")
    print(table(found, lambda case: "en" if case.language == "en" else "others"))
    if options.failures:
        for case, read, *_ in found:
            if not is_apart(case, read):
                print(
                    f"\n{case.language}:{case.name} {case.position}\n  request {case.request}\n  read    {read[:400]}"
                )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
