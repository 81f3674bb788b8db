"""The requests of the experiment: the ranker's best candidates of each, and which one is right."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from benchmarks.selection.data import data_folder
from helmdeck_core import Catalog
from helmdeck_selection import LexicalIndex, load_catalog_file

SEED = 11
CANDIDATES = 8
DRAWN = 400
"""Requests of MetaTool that the benchmark draws: the weights of the product are fitted on one half of them."""


@attrs.frozen
class Choice:
    """One request.

    :ivar names: the ranker's first candidates, best first.
    :ivar texts: name and description of each.
    :ivar scores: the ranker's score of each.
    :ivar right: the place of the right tool among the candidates; ``None`` if it is not one of them.
    """

    id: str
    request: str
    names: tuple[str, ...]
    texts: tuple[str, ...]
    scores: tuple[float, ...]
    right: int | None


def catalog_of(name: str) -> Catalog:
    """The catalog of a data set."""
    return load_catalog_file(Path(data_folder()) / name / "catalog.json")


def labelled(data_set: str) -> list[Mapping[str, Any]]:
    """The requests of a data set that need one tool."""
    lines = (data_folder() / data_set / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    return [each for each in map(json.loads, lines) if each["n_gold"] == 1]


def drawn(count: int, data_set: str = "metatool-dev") -> list[Mapping[str, Any]]:
    """Return ``count`` requests that need one tool, the same ones in every run."""
    single = labelled(data_set)
    return random.Random(SEED).sample(single, min(count, len(single)))


def choices(count: int, data_set: str = "metatool-dev") -> list[Choice]:
    """Return ``count`` drawn requests with the ranker's first candidates for them."""
    catalog = catalog_of(data_set)
    index = LexicalIndex(catalog)
    found = []
    for each in drawn(count, data_set):
        leading = index.rank(each["intent"]).leading(CANDIDATES)
        entries = [catalog.entries[place] for place, _ in leading]
        names = tuple(entry.id for entry in entries)
        texts = tuple(f"{entry.id}: {' '.join(entry.description.split())[:160]}" for entry in entries)
        right = names.index(each["gold"][0]) if each["gold"][0] in names else None
        found.append(Choice(each["id"], each["intent"], names, texts, tuple(score for _, score in leading), right))
    return found
