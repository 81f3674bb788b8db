"""Requests to pick a tool for, and catalogs of a given size for each of them.

A larger catalog is reduced: it keeps the right tools of the requests that share it, and as many others, drawn with a fixed seed, as fit.
A smaller one is filled up with packs of the other catalogs and then of the project's own; it stays smaller where even these are too
few. Pipelines fill no catalog up, since they refer to packs of their own.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from benchmarks.choice.requests import DRAWN, drawn
from benchmarks.first_use.data import load_catalogs, mcp_folder
from benchmarks.selection.data import data_folder
from benchmarks.selection.further import further_sets
from benchmarks.selection.own_sets import everyday_catalog, multilingual_requests
from helmdeck_core import Catalog, CatalogError
from helmdeck_selection import read_catalog

SIZES = (50, 200, 1000)
BLOCK = 3
"""Requests of one catalog in a row, so that a server's prefix cache serves most of them in every way."""

PUBLIC_SETS = ("metatool-dev", "sealtools-dev")
"""The data sets in the folder of ``BENCH_DATA`` that are used beside the project's own."""


class RequestsError(Exception):
    """A file of requests cannot be read; the message names the line."""


@attrs.frozen
class Labelled:
    """A request with the tools that are right, and the name of its catalog."""

    text: str
    tools: frozenset[str]
    catalog: str


@attrs.frozen
class Pool:
    """Requests and their catalogs by name."""

    requests: Sequence[Labelled]
    catalogs: Mapping[str, Catalog]


@attrs.frozen(eq=False)
class PickCase:
    """One request over one cut catalog.

    :ivar id: digest of the request and its catalog, the same in every run and for every size.
    :ivar source: the name of the whole catalog.
    """

    id: str
    text: str
    tools: frozenset[str]
    catalog: Catalog
    source: str


def read_requests(path: Path) -> Pool:
    """Read JSON lines ``{"request", "tools": [...], "catalog": PATH}``; paths are relative to the file, or else to the working directory.

    A request none of whose tools is in its catalog is an error, because no answer to it could be right.

    :raises RequestsError: with the number of the first line that cannot be read.
    """
    requests, catalogs = [], dict[str, Catalog]()
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise RequestsError(f"{path} cannot be read: {exc}") from exc
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            labelled, file = _labelled(line)
            if labelled.catalog not in catalogs:
                beside = path.parent / file
                catalogs[labelled.catalog] = _catalog(beside if beside.is_file() else Path(file))
            known = {entry.id for entry in catalogs[labelled.catalog].entries}
            if not labelled.tools & known:
                raise ValueError(f"the catalog {file} has no tool {', '.join(map(repr, sorted(labelled.tools)))}")
        except (OSError, ValueError, CatalogError) as exc:
            raise RequestsError(f"{path}, line {number}: {exc}") from exc
        requests.append(attrs.evolve(labelled, tools=labelled.tools & known))
    if not requests:
        raise RequestsError(f"{path} contains no request; each line is {{'request', 'tools', 'catalog'}} as JSON")
    return Pool(requests, catalogs)


def _labelled(line: str) -> tuple[Labelled, str]:
    try:
        row = json.loads(line)
    except ValueError as exc:
        raise ValueError(f"not JSON: {exc}") from exc
    if not isinstance(row, Mapping):
        raise ValueError("a line is one JSON object")
    text, tools, catalog = (row.get(key) for key in ("request", "tools", "catalog"))
    if not isinstance(text, str) or not text.strip():
        raise ValueError('"request" must be a non-empty string')
    if not isinstance(catalog, str) or not catalog:
        raise ValueError('"catalog" must be the path of a catalog file')
    names = [tools] if isinstance(tools, str) else tools
    if not isinstance(names, list) or not names or not all(isinstance(each, str) for each in names):
        raise ValueError('"tools" must be a list with the name of at least one tool')
    return Labelled(text, frozenset(names), catalog), catalog


def _catalog(path: Path) -> Catalog:
    return read_catalog(json.loads(path.read_text(encoding="utf-8")), str(path))


def own_catalogs() -> dict[str, Catalog]:
    """The catalogs of the project: what fills small catalogs up."""
    sets = {f"further/{each.name}": each.catalog for each in further_sets()}
    return {"everyday": everyday_catalog(), **sets, **load_catalogs(mcp_folder())}


def own_pool() -> Pool:
    """The project's own requests in English and Chinese, and those of ``BENCH_DATA`` where they are present.

    The requests of MetaTool on which the weights of the chooser ``logprobs`` were fitted, or first reported, are left out.
    """
    catalogs = {"everyday": everyday_catalog()}
    requests = [
        Labelled(each.text, frozenset(each.tools), "everyday")
        for each in multilingual_requests()
        if each.group in ("en", "zh")
    ]
    for each in further_sets():
        if each.name in ("apis", "chinese"):
            catalogs[each.name] = each.catalog
            requests += [Labelled(text, tools, each.name) for text, tools in each.requests]
    for name in PUBLIC_SETS:
        folder = data_folder() / name
        if (folder / "queries.jsonl").is_file():
            catalogs[name] = _catalog(folder / "catalog.json")
            rows = map(json.loads, (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines())
            seen = {each["id"] for each in drawn(DRAWN)} if name == "metatool-dev" else set[str]()
            requests += [Labelled(row["intent"], frozenset(row["gold"]), name) for row in rows if row["id"] not in seen]
    return Pool(requests, catalogs)


def sample(requests: Sequence[Labelled], most: int) -> list[Labelled]:
    """Return at most ``most`` requests: the catalogs in turn, requests with one right tool first, drawn by their digests.

    The order is that of the measurement: blocks of one catalog, and the catalogs in turn, so that a measurement that ends early
    has seen each of them.
    """
    by_catalog: dict[str, list[Labelled]] = {}
    for each in sorted(dict.fromkeys(requests), key=lambda each: (len(each.tools) > 1, _digest(each))):
        by_catalog.setdefault(each.catalog, []).append(each)
    chosen: dict[str, list[Labelled]] = {name: [] for name in sorted(by_catalog)}
    while len(by_catalog) and sum(map(len, chosen.values())) < most:
        for name in sorted(by_catalog):
            if sum(map(len, chosen.values())) < most:
                chosen[name].append(by_catalog[name].pop(0))
            if not by_catalog[name]:
                del by_catalog[name]
    placed = [(place // BLOCK, name, place, each) for name, found in chosen.items() for place, each in enumerate(found)]
    return [each for *_, each in sorted(placed, key=lambda row: row[:3])]


def _digest(each: Labelled) -> str:
    return hashlib.sha256(f"{each.catalog}\n{each.text}".encode()).hexdigest()


def pick_cases(pool: Pool, requests: Sequence[Labelled], size: int, fillers: Iterable[Catalog]) -> list[PickCase]:
    """Return the requests in their order, each with a catalog of ``size`` entries where there are enough."""
    others = list(fillers)
    cut: dict[Labelled, Catalog] = {}
    for name in dict.fromkeys(each.catalog for each in requests):
        mine = [each for each in requests if each.catalog == name]
        rest = [*(pool.catalogs[key] for key in sorted(pool.catalogs) if key != name), *others]
        for batch in _batches(mine, size):
            needed = frozenset[str]().union(*(each.tools for each in batch))
            cut |= dict.fromkeys(batch, sized(pool.catalogs[name], needed, size, rest))
    return [PickCase(_digest(each)[:12], each.text, each.tools, cut[each], each.catalog) for each in requests]


def _batches(requests: Sequence[Labelled], size: int) -> Iterator[list[Labelled]]:
    """Requests that can share one catalog of ``size``: their right tools fit into it together."""
    batch, needed = list[Labelled](), set[str]()
    for each in requests:
        if batch and len(needed | each.tools) > size:
            yield batch
            batch, needed = [], set()
        batch.append(each)
        needed |= each.tools
    if batch:
        yield batch


def sized(catalog: Catalog, needed: frozenset[str], size: int, fillers: Iterable[Catalog]) -> Catalog:
    """Return a catalog cut or filled up to ``size`` entries; ``needed`` stay, whatever the size."""
    chooser = random.Random(size)
    entries = list(catalog.entries)
    if len(entries) > size:
        spare = [entry.id for entry in entries if entry.id not in needed]
        kept = {*chooser.sample(spare, max(0, size - len(needed))), *needed}
        return Catalog(entry for entry in entries if entry.id in kept)
    found = {entry.id: entry for entry in entries}
    for other in fillers:
        new = [entry for entry in other.packs if entry.id not in found]
        chooser.shuffle(new)
        found |= {entry.id: entry for entry in new[: size - len(found)]}
    return Catalog(found.values())
