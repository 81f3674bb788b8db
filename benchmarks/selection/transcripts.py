"""Requests before, behind and inside of transcripts and dialogues with speaker labels.

::

    export BENCH_DATA=/path/to/bench                       # the parent directory of tool-selection
    python -m benchmarks.selection.transcripts             # the half that the weights were not fitted on
    python -m benchmarks.selection.transcripts --fitted    # the other half
    python -m benchmarks.selection.transcripts --write     # write docs/benchmarks/selection-transcripts.md as well
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import attrs

from benchmarks.pages import publish, run_section
from benchmarks.selection.data import data_folder, load
from benchmarks.selection.documents import conversations, multiline, requests
from benchmarks.selection.documents.dialogues import KINDS, dialogues
from helmdeck_core import Catalog
from helmdeck_selection.lexical.ranker import CatalogIndex
from helmdeck_selection.lexical.scores.word_scores import LexicalIndex

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "selection-transcripts.md"
TOP = 12
POSITIONS = ("alone", "behind", "before", "inside")
JOINTS = ("\n\n", "\n", " ")

HEAD = """\
# Transcript benchmark

A person pastes a chat, an interview, a ticket or subtitles together with a request, and people in the pasted text ask for things as
well. This page ranks labelled requests of four public catalogs behind, before and inside of {count} transcripts of twelve kinds in six
languages (German, English, Spanish, French, Japanese, Chinese). A seeded script makes them from conversations that were written for
this project (`benchmarks/selection/documents/dialogues`). The conversations below were not used to fit the weights; of each kind, one
style (such as `SPEAKER_00 [0.00 - 2.90]` for speakers) was not used either.

The requests of the user, and those of people in English transcripts, are of the data sets of the [ranking benchmark](selection.md),
which the weights were fitted on as well. The totals of this page were read after each of about twenty fits and means of them; no text of this half was. Before
the turns of transcripts were features, the totals were 71.9 behind, 71.9 before and 66.7 inside; for English 64.2, 64.2 and 49.2.
Before texts with turns had weights of their own, they were 87.8, 90.0 and 93.9; for English 72.5, 80.0 and 87.5. A third of the
requests behind and before a transcript are in the line of its last or first sentence, where no line break separates the two.

"Complete" is the share of requests whose needed tools are all among the first twelve entries. "Apart" is the share of texts of which
exactly the request is read as the request.
"""


OTHERS = """\
## Other conversations

60 whole texts in other formats and words, each with one request before, behind, inside or around the conversation
(`benchmarks/selection/documents/conversations`): mail threads with replies above, below and between quotes, issue threads, exports of
messengers, meetings, IRC, podcasts, subtitles, forums and chats with assistants. They were written before the weights of texts with
turns and are not used to fit any; a hash of the name picks the half. Before these weights, 39.3 (11 of 28) and 53.1 (17 of 32) were
read right: a text below 400 characters was never separated.

{table}
"""


@attrs.frozen
class Row:
    """One ranked text."""

    position: str
    kind: str
    style: str
    language: str
    is_complete: bool
    is_apart: bool


def place(document: str, request: str, position: str, number: int) -> str:
    """Return a text with a request at a position of a document."""
    joint = JOINTS[number % 3]
    if position == "alone":
        return request
    if position == "behind":
        return f"{document}{joint}{request}"
    if position == "before":
        return f"{request}{joint}{document}"
    joint = "\n\n" if "\n\n" in document else "\n"
    parts = document.split(joint)
    middle = len(parts) // 2
    return "\n\n".join([joint.join(parts[:middle]), request, joint.join(parts[middle:])])


def own_asks(split: str) -> dict[str, list[str]]:
    """Return our own requests of one line by language; those of ``held_out`` were never fitted on."""
    rows = [*requests(), *multiline("fit")] if split == "fit" else multiline("held_out")
    found: dict[str, list[str]] = {}
    for language, text in rows:
        if "\n" not in text and len(text) < 200:
            found.setdefault(language, []).append(text)
    return found


def measure(split: str, step: int = 1) -> list[Row]:
    """Rank a request beside each document of a split, at each position.

    :param step: only every so-manieth document.
    """
    sets = load(data_folder())
    catalogs = [Catalog.from_data(each.catalog, each.name) for each in sets]
    indexes = [CatalogIndex(catalog, cache=False) for catalog in catalogs]
    readers = [LexicalIndex(catalog) for catalog in catalogs]
    found = []
    # The requests of people in a transcript are for other tools of the same catalog.
    asks = [{**own_asks(split), "en": [row["intent"] for row in each.plain[1::2]]} for each in sets]
    made = list(zip(*(dialogues(split, each) for each in asks), strict=True))
    for number, documents in enumerate(made[::step]):
        at = number % len(sets)
        language, name, document = documents[at]
        request = sets[at].plain[number * 26 % len(sets[at].plain) & ~1]
        kind, style, _ = name.split("-")
        for position in POSITIONS:
            text = place(document, request["intent"], position, number)
            ids = [catalogs[at].entries[entry].id for entry, _ in indexes[at].rank(text).leading(TOP)]
            read = " ".join(" ".join(readers[at].read(text).asking).split())
            is_apart = position == "alone" or read == " ".join(request["intent"].split())
            found.append(Row(position, kind, style, language, set(request["gold"]) <= set(ids), is_apart))
    return found


def other_conversations() -> str:
    """Percent of the conversations in which exactly the request is read as the request, by half and language."""
    metatool = next(each for each in load(data_folder()) if each.name.startswith("metatool"))
    reader = LexicalIndex(Catalog.from_data(metatool.catalog, metatool.name))
    lines = ["| half | texts | apart | English | other languages |", "|---|--:|--:|--:|--:|"]
    for split, name in (("fit", "failures were read"), ("held_out", "only totals were read")):
        right: dict[bool, list[bool]] = defaultdict(list)
        for document, request in conversations(split):
            read = " ".join(" ".join(reader.read(document.text).asking).split())
            right[document.language == "en"].append(read == " ".join(request.split()))
        every = [*right[True], *right[False]]
        lines.append(f"| {name} | {len(every)} | {_share(every)} | {_share(right[True])} | {_share(right[False])} |")
    return "\n".join(lines)


def _share(right: Sequence[bool]) -> str:
    return f"{100 * fmean(right):.1f} ({sum(right)} of {len(right)})"


def table(rows: Sequence[Row], of: str) -> str:
    """Percent of rows by a field and the position."""
    groups: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        groups[getattr(row, of)][row.position].append(row)
    for row in rows:
        groups["all"][row.position].append(row)
    head = " | ".join(f"{position}: complete | apart" if position != "alone" else position for position in POSITIONS)
    lines = [f"| | texts | {head} |", "|---|--:|" + "--:|" * (2 * len(POSITIONS) - 1)]
    for name, by_position in groups.items():
        cells = [f"{len(by_position['behind'])}"]
        for position in POSITIONS:
            own = by_position[position]
            cells.append(f"{100 * fmean(row.is_complete for row in own):.1f}")
            if position != "alone":
                cells.append(f"{100 * fmean(row.is_apart for row in own):.1f}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables; with ``--write``, write the page."""
    parser = argparse.ArgumentParser(description="Rank requests beside transcripts.")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    parser.add_argument("--fitted", action="store_true", help="the documents that the weights were fitted on")
    parser.add_argument("--step", type=int, default=1, help="only every so-manieth document")
    options = parser.parse_args(argv)
    rows = measure("fit" if options.fitted else "held_out", options.step)
    unseen = {styles[-1].__name__ for styles in KINDS.values()}
    parts = [
        HEAD.format(count=len(rows) // len(POSITIONS)),
        f"## By kind\n\n{table(rows, 'kind')}\n",
        f"## By language\n\n{table(rows, 'language')}\n",
        f"## Styles that were not fitted on\n\n{table([row for row in rows if row.style in unseen], 'kind')}\n",
    ]
    parts.append(OTHERS.format(table=other_conversations()))
    page = "\n".join([*parts, run_section(__doc__)])
    publish(PAGE, page, is_written=options.write)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
