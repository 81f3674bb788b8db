"""Labelled requests, plain and beside documents, and catalogs of any size made from theirs."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from benchmarks.selection.documents import documents

ROOT = Path(__file__).resolve().parents[2]
JOINTS = ("\n\n", "\n", " ")

VARIANTS = {
    "plain": "the request alone",
    "paste": "behind an announcement of 1.5 KB",
    "after": "before an announcement",
    "fitted before": "behind one of the documents that the model is fitted on",
    "fitted after": "before such a document",
    "held out before": "behind a document that is held out",
    "held out after": "before such a document",
}


@attrs.frozen
class DataSet:
    """One catalog with its requests; ``pasted`` are the same requests behind an announcement, in the same order."""

    name: str
    catalog: Mapping[str, Any]
    plain: tuple[Mapping[str, Any], ...]
    pasted: tuple[Mapping[str, Any], ...]
    announcements: tuple[str, ...]

    def requests(self, variant: str, most: int) -> Iterator[tuple[str, frozenset[str]]]:
        """Text and needed tools of at most ``most`` requests, the same for every variant."""
        places = list(range(len(self.plain)))
        if len(places) > most:
            places = sorted(random.Random(5).sample(places, most))
        of = documents("held_out") if variant.startswith("held") else [*documents("older"), *documents("fit")]
        for place in places:
            request = self.plain[place]["intent"]
            announcement = self.announcements[place // len(JOINTS) % len(self.announcements)]
            text = {
                "plain": request,
                "paste": self.pasted[place]["intent"],
                "after": f"{request}{JOINTS[place % len(JOINTS)]}{announcement}",
                "before": f"{of[place * 7 % len(of)].text}{JOINTS[place % 2]}{request}",
                "after it": f"{request}{JOINTS[place % 2]}{of[place * 7 % len(of)].text}",
            }[{"before": "before", "after": "after it"}[variant.split()[-1]] if " " in variant else variant]
            yield text, frozenset(self.plain[place]["gold"])


def data_folder() -> Path:
    """Where the data sets are: ``BENCH_DATA``/tool-selection."""
    return Path(os.environ.get("BENCH_DATA", ROOT.parent / "shared" / "bench")) / "tool-selection"


def load(folder: Path) -> list[DataSet]:
    """Read every data set of a folder."""
    pastes = json.loads((folder / "pastes.json").read_text(encoding="utf-8"))
    announcements = tuple(pastes[name].strip() for name in sorted(pastes))
    return [
        DataSet(
            name=each.name,
            catalog=json.loads((each / "catalog.json").read_text(encoding="utf-8")),
            plain=_lines(each / "queries.jsonl"),
            pasted=_lines(each / "queries_paste.jsonl"),
            announcements=announcements,
        )
        for each in sorted(folder.iterdir())
        if (each / "queries.jsonl").is_file()
    ]


def _lines(path: Path) -> tuple[Mapping[str, Any], ...]:
    return tuple(json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())


def pooled(sets: list[DataSet], size: int) -> dict[str, Any]:
    """A catalog of any size: the tools of all sets, and the same again under other names when they are too few."""
    every = list({pack["name"]: pack for each in sets for pack in each.catalog["packs"]}.values())
    packs = [
        pack if number < len(every) else {**pack, "name": f"{pack['name']}{number // len(every)}"}
        for number, pack in ((number, every[number % len(every)]) for number in range(size))
    ]
    random.Random(2).shuffle(packs)
    return {"packs": packs, "pipelines": []}
