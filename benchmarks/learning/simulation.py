"""Thirty days of a caller: repeated, rephrased, related and novel requests, habits that change, plans that are sometimes wrong.

A *lookalike* is the novel request that shares most words with a habit and needs none of its tools.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from benchmarks.selection.data import DataSet
from helmdeck_core import Catalog, PlanRecord, RecordedStep, Weight, intent_sha
from helmdeck_core.context.history_prior import with_prior
from helmdeck_history.sketch import key_of, sketch
from helmdeck_history.stores.databases import open_sqlite
from helmdeck_selection import weights as selection
from helmdeck_selection.lexical.scores.word_scores import LexicalIndex

DAYS, PER_DAY, HABITS, TOP = 30, 12, 12, 12
SHARES: Mapping[str, float] = {"repeated": 0.35, "rephrased": 0.2, "related": 0.15, "novel": 0.2, "lookalike": 0.1}
KINDS = tuple(SHARES)
DRIFT_DAYS = 10
"""Days after which half of the habits are replaced."""
LARGE_SHARE = 0.4
"""Share of the plans by a model that is shown the whole catalog; the others choose among the first ``TOP``."""
WRONG_SHARE = 0.1
"""Share of the plans with one wrong tool among the first ``TOP`` instead of a needed one."""

OPENINGS = ("please ", "could you ", "I need you to ", "now ", "hey, ", "for today: ", "")
ENDINGS = ("", " please", " as usual", ", thanks", " for me", " today")
DAY_S = 86_400.0


@attrs.frozen
class Outcome:
    """One request: how it came about, and whether all needed tools were among the first ``TOP``."""

    day: int
    kind: str
    without: bool
    with_history: bool


def simulate(data: DataSet, seed: int, weights: Mapping[str, float] | None = None) -> list[Outcome]:
    """Simulate one caller over one catalog.

    :param weights: weights of the prior; the built-in ones by default.
    """
    chosen = weights or {each.name: each.value for each in selection.helmdeck_weights() if isinstance(each, Weight)}
    rng, model = random.Random(seed), random.Random(seed + 1_000)  # so that the requests do not depend on the plans
    index = LexicalIndex(Catalog.from_data(data.catalog, data.name))
    place_of = {entry.id: place for place, entry in enumerate(index.entries)}
    key, found = key_of(f"benchmark {seed}"), []
    start = time.time() - DAYS * DAY_S
    with tempfile.TemporaryDirectory() as folder:
        store = open_sqlite(Path(folder) / "history.db", DAYS + 10)
        for number, (day, kind, text, needed) in enumerate(_requests(data, rng)):
            now = start + (day + number % PER_DAY / PER_DAY) * DAY_S
            parts = sketch(text, key)
            learned = store.weights("caller", intent_sha(text), parts, now)
            ranking = index.rank(text)
            planned = {place_of[tool]: weight / (weight + 1) for tool, weight in learned.items() if tool in place_of}
            before, after = (
                [index.entries[place].id for place, _ in each.leading(TOP)]
                for each in (ranking, with_prior(ranking, planned, chosen))
            )
            found.append(Outcome(day, kind, needed <= set(before), needed <= set(after)))
            store.add(_record(text, parts, now, _plan(model, sorted(needed), after)))
        store.close()
    return found


def _requests(data: DataSet, rng: random.Random) -> Iterator[tuple[int, str, str, frozenset[str]]]:
    """Day, kind, text and needed tools of each request."""
    unused = [(line["intent"], frozenset(line["gold"])) for line in data.plain]
    rng.shuffle(unused)
    by_tools = defaultdict(list)
    for text, needed in unused:
        by_tools[needed].append(text)
    habits = [unused.pop() for _ in range(HABITS)]
    for day in range(DAYS):
        if day and day % DRIFT_DAYS == 0:
            for place in rng.sample(range(HABITS), HABITS // 2):
                habits[place] = unused.pop() if unused else habits[place]
        for _ in range(PER_DAY):
            (kind,) = rng.choices(KINDS, list(SHARES.values()))
            text, needed = rng.choice(habits)
            others = [each for each in by_tools[needed] if each != text]
            if kind == "novel" and unused:
                text, needed = unused.pop()
            elif kind == "lookalike" and unused:
                place = max(range(len(unused)), key=lambda at: _likeness(unused[at], habits))
                text, needed = unused.pop(place)
            elif kind == "related" and others:
                text = rng.choice(others)
            elif kind != "repeated":
                kind, text = "rephrased", rephrased(text, rng)
            yield day, kind, text, needed


def _likeness(request: tuple[str, frozenset[str]], habits: Sequence[tuple[str, frozenset[str]]]) -> float:
    """How much of its words a request shares with the most similar habit that needs none of its tools."""
    words = set(request[0].casefold().split())
    shares = (
        len(words & (other := set(text.casefold().split()))) / len(words | other)
        for text, needed in habits
        if not needed & request[1]
    )
    return max(shares, default=0.0)


def rephrased(text: str, rng: random.Random) -> str:
    """The request with another opening and ending, some words left out, and two neighbours exchanged."""
    words = text.split()
    kept = [word for word in words if len(words) < 6 or rng.random() > 0.12]
    if len(kept) > 3:
        place = rng.randrange(len(kept) - 1)
        kept[place], kept[place + 1] = kept[place + 1], kept[place]
    return f"{rng.choice(OPENINGS)}{' '.join(kept)}{rng.choice(ENDINGS)}"


def _plan(rng: random.Random, needed: Sequence[str], shown: Sequence[str]) -> list[str]:
    tools = list(needed) if rng.random() < LARGE_SHARE else [tool for tool in needed if tool in shown]
    if tools and rng.random() < WRONG_SHARE:
        tools[rng.randrange(len(tools))] = rng.choice(shown)
    return tools


def _record(text: str, parts: tuple[int, ...], now: float, tools: Sequence[str]) -> PlanRecord:
    return PlanRecord(
        caller="caller",
        intent_sha=intent_sha(text),
        outcome="planned" if tools else "gap",
        model="simulated/model",
        duration_s=0.0,
        time=now,
        steps=tuple(RecordedStep(order, tool, "") for order, tool in enumerate(tools, 1)),
        sketch=parts,
    )
