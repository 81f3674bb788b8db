"""Tables of seams by length of the overlap.

::

    python -m benchmarks.continuation.seam_table             # the open part
    python -m benchmarks.continuation.seam_table --held-out  # the other part; not to be looked at while rules change
    python -m benchmarks.continuation.seam_table --show 20   # also the first wrong merges
"""

from __future__ import annotations

import argparse
import collections
import difflib
from collections.abc import Callable, Iterable, Sequence

from benchmarks.continuation.joins import JOINS
from benchmarks.continuation.seams import KINDS, LENGTHS, PARTS, Case, changing, exact, legitimate, overlaps

Join = Callable[[str, str], str]
Table = tuple[str, Sequence[str], list[tuple[str, ...]]]


class Tally:
    """Sums over cases."""

    def __init__(self) -> None:
        self.cases = self.right = self.lossy = 0

    def add(self, *, is_right: bool, is_lossy: bool) -> None:
        """Count one case."""
        self.cases += 1
        self.right += is_right
        self.lossy += is_lossy

    @property
    def share(self) -> str:
        """Right merges in percent."""
        return f"{100 * self.right / self.cases:.1f}" if self.cases else ""


def joined(case: Case, join: Join) -> str:
    """Join all parts of a case."""
    text = case.first
    for more in case.more:
        text = join(text, more)
    return text


def loses(expected: str, merged: str) -> bool:
    """Whether a merge lost text."""
    if len(merged) < len(expected):
        return True
    rest = iter(merged)
    return not all(character in rest for character in expected)


def measure(
    cases: Iterable[Case], join: Join, show: Callable[[Case, str], None] | None = None
) -> dict[str, dict[str, Tally]]:
    """Count right merges by label and kind; the kind ``""`` is the sum."""
    sums: dict[str, dict[str, Tally]] = collections.defaultdict(lambda: collections.defaultdict(Tally))
    for case in cases:
        merged, expected = joined(case, join), case.document.text
        is_lossy = merged != expected and loses(expected, merged)
        for kind in (case.document.kind, ""):
            sums[case.label][kind].add(is_right=merged == expected, is_lossy=is_lossy)
        if show is not None and merged != expected:
            show(case, merged)
    return sums


def tables(part: str) -> list[Table]:
    """Return the tables of a part."""
    by_length = measure(overlaps(part), JOINS["helmdeck"])
    others = {name: measure(overlaps(part), JOINS[name]) for name in ("concatenation", "longest overlap")}
    rows = []
    for length in map(str, LENGTHS):
        tally = by_length[length]
        theirs = [other[length][""].share for other in others.values()]
        rows.append(
            (
                length,
                f"{tally[''].cases:,}",
                tally[""].share,
                *theirs,
                f"{tally[''].lossy}",
                *(tally[kind].share for kind in KINDS),
            )
        )
    found: list[Table] = [
        (f"Overlaps, {part}", ("characters", "cases", "helmdeck", *others, "with loss", *KINDS), rows)
    ]
    for title, make in (("Exact continuations", _exactly(part)), ("A model that changes", lambda: changing(part))):
        sums = {name: measure(make(), JOINS[name]) for name in ("helmdeck", "helmdeck, streamed", "longest overlap")}
        rows = []
        for label in sums["helmdeck"]:
            cells = [f"{sums['helmdeck'][label][''].cases:,}"]
            for each in sums.values():
                cells += [each[label][""].share, f"{each[label][''].lossy}"]
            rows.append((label, *cells))
        headings = ("", "cases", *(heading for name in sums for heading in (f"{name}, right %", "with loss")))
        found.append((f"{title}, {part}", headings, rows))
    return found


def _exactly(part: str) -> Callable[[], Iterable[Case]]:
    return lambda: [*exact(part), *(legitimate() if part == "open" else ())]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--show", type=int, default=0, help="print this many wrong merges")
    parser.add_argument("--kind", default="", help="of this kind alone")
    parser.add_argument("--label", default="", help="in rows that match this label alone")
    arguments = parser.parse_args()
    part = PARTS[arguments.held_out]
    if arguments.show:
        _show(part, arguments.show, arguments.kind, arguments.label)
        return
    for title, headings, rows in tables(part):
        print(f"\n{title}")
        for line in (headings, *rows):
            print(f"{line[0]:50}" + "".join(f"{cell:>11}" for cell in line[1:]))


def _show(part: str, most: int, kind: str, label: str) -> None:
    cases = [*overlaps(part), *exact(part), *legitimate(), *changing(part)]
    cases = [case for case in cases if kind in case.document.kind and (not label or case.label == label)]
    wrong: list[tuple[Case, str]] = []
    measure(cases, JOINS["helmdeck"], lambda case, merged: wrong.append((case, merged)))
    print(f"{len(wrong)} of {len(cases)}")
    for case, merged in wrong[:: max(1, len(wrong) // most)][:most]:
        expected = case.document.text
        at = next(iter(difflib.SequenceMatcher(None, expected, merged, autojunk=False).get_matching_blocks())).size
        loss = "LOSES" if loses(expected, merged) else "keeps"
        print(
            f"{loss} {case.document.kind} {case.label}: ...{case.first[-40:]!r} + {[more[:30] for more in case.more]!r}"
        )
        if len(case.more) > 1:
            print(f"    {merged[max(0, at - 30) : at + 30]!r}, expected {expected[max(0, at - 30) : at + 30]!r}")


if __name__ == "__main__":
    main()
