"""The tasks: their ways, cases and sizes, as cells of a schedule."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from benchmarks.weak_models import long_output, picking, plans, typed
from benchmarks.weak_models.cases import SIZES, Pool, own_catalogs, pick_cases, sample
from benchmarks.weak_models.peer_process import NotInstalled
from benchmarks.weak_models.results import Result
from benchmarks.weak_models.schedule import Cell, Unavailable
from benchmarks.weak_models.session import TEMPERATURE, Session, opened
from helmdeck_core import ConfigError

Judge = Callable[[Any, Any], Mapping[str, Any]]


@attrs.frozen(kw_only=True)
class Sizes:
    """How much is measured.

    :ivar requests: requests among 50 tools; larger catalogs get a quarter of them.
    :ivar runs: runs of ``pick`` and ``typed``; the others, which take longer, have one.
    :ivar request_s: seconds of one case at most.
    :ivar most: cases of one way in one task at most, by way, for the ways that take long and have clear results; ``peers`` are all ways
        without an entry.
    """

    requests: int
    texts: int
    plans: int
    outputs: int
    runs: int
    request_s: float
    most: Mapping[str, int] = attrs.field(factory=dict)

    def requests_of(self, catalog: int) -> int:
        """Return how many requests are measured over catalogs of a size."""
        return self.requests if catalog == SIZES[0] else math.ceil(self.requests / 4)


WHOLE = Sizes(
    requests=320, texts=100, plans=60, outputs=40, runs=1, request_s=120.0,
    most={"helped": 320, "ranker": 320, "logprobs": 320, "raw": 15, "uncut": 10, "typed_gguf": 3, "peers": 15},
)  # fmt: skip
"""Different requests tell more than further runs of the same ones, which hardly differ at a low temperature."""

QUICK = Sizes(
    requests=120, texts=25, plans=0, outputs=0, runs=1, request_s=30.0,
    most={"helped": 120, "ranker": 120, "logprobs": 120, "raw": 4, "typed_gguf": 1, "peers": 4},
)  # fmt: skip
"""Other programs have clear results after a few requests, and most of them read the whole catalog, which takes 10 to 30 seconds."""


@attrs.frozen(kw_only=True)
class Task:
    """One task.

    :ivar cases: values with an ``id``.
    :ivar ways: makes each way for a session.
    :ivar judge: what to set in a result for a case and what was found.
    :ivar most: see ``Sizes``.
    :ivar weight: part of a limited time of each way, compared with those of other tasks.
    :ivar rank: tasks of a lower rank are measured first, within each rank of ways.
    """

    name: str
    cases: Sequence[Any]
    ways: Mapping[str, Callable[[Session], Any]]
    judge: Judge
    runs: int
    most: Mapping[str, int] = attrs.field(factory=dict)
    temperature: float = TEMPERATURE
    weight: float = 1.0
    rank: int = 0

    def cells(self, session: Session, chosen: Sequence[str] | None) -> list[Cell]:
        """Return a cell for each way, or for each chosen one."""
        return [self._cell(session, way) for way in self.ways if chosen is None or way in chosen]

    def _cell(self, session: Session, way: str) -> Cell:
        @contextlib.contextmanager
        def open_way() -> Iterator[Callable[[int, int], Result]]:
            try:
                with opened(self.ways[way], session) as do:
                    yield lambda place, run: self._measure(session, way, do, self.cases[place], run)
            except NotInstalled as exc:
                raise Unavailable(f"not installed: {exc}") from exc
            except ConfigError as exc:
                raise Unavailable(f"not in this version: {exc}") from exc

        most = self.most.get(way, self.most.get("peers", len(self.cases)))
        ids = [case.id for case in self.cases[:most]]
        weight, rank = (
            self.weight * WEIGHTS.get(way, PEER_WEIGHT),
            self.rank + RANKS.get(f"{self.name} {way}", RANKS.get(way, PEER_RANK)),
        )
        return Cell(task=self.name, way=way, case_ids=ids, runs=self.runs, open=open_way, weight=weight, rank=rank)

    def _measure(self, session: Session, way: str, do: Any, case: Any, run: int) -> Result:
        if hasattr(do, "prepare"):
            do.prepare(case)
        return session.measure(
            self.name, way, case.id, run, lambda: do(case), lambda found: self.judge(case, found), self.temperature
        )


TASKS = ("pick", "typed", "plan", "long", "calibrate")
FIRST = ("ranker", "helped", "logprobs")
"""The ways of Helmdeck, which are measured first, and last once more if time is left."""

WEIGHTS: Mapping[str, float] = {"ranker": 0.0, "helped": 8.0, "logprobs": 8.0, "raw": 1.0, "uncut": 1.0}
PEER_WEIGHT = 0.5
"""Parts of a limited time by way."""

RANKS: Mapping[str, int] = {
    **dict.fromkeys(FIRST, 0), "raw": 10, "uncut": 10, "pick_200 raw": 25, "llama_json_schema": 30, "typed_gguf": 40
}  # fmt: skip
PEER_RANK = 20
"""The order of the ways, over all tasks, or of one way in one task: what takes long for each case comes last."""


def make_tasks(names: Sequence[str], pool: Pool, sizes: Sizes) -> list[Task]:
    """Return the tasks by name."""
    found: list[Task] = []
    if "pick" in names:
        fillers = list(own_catalogs().values())
        found += [
            Task(
                name=f"pick_{size}",
                cases=pick_cases(pool, sample(pool.requests, sizes.requests_of(size)), size, fillers),
                ways=picking.WAYS,
                judge=picking.judge,
                runs=sizes.runs,
                most=sizes.most,
                weight=3.0 if size == SIZES[0] else 1.0,
                rank=2 * place,
            )
            for place, size in enumerate(SIZES)
        ]
    others = (
        Task(
            name="typed",
            cases=typed.load()[: sizes.texts],
            ways=typed.WAYS,
            judge=typed.judge,
            runs=sizes.runs,
            most=sizes.most,
            weight=0.8,
            rank=1,
        ),
        Task(
            name="plan",
            cases=plans.load()[: sizes.plans],
            ways=plans.WAYS,
            judge=plans.judge,
            runs=1,
            most={**sizes.most, "raw": 8} if sizes.most else {},
            rank=6,
        ),
        Task(
            name="long",
            cases=long_output.load()[: sizes.outputs],
            ways=long_output.WAYS,
            judge=long_output.judge,
            runs=1,
            most={**sizes.most, "raw": sizes.outputs} if sizes.most else {},
            temperature=0.0,
            rank=7,
        ),
    )
    return [*found, *(task for task in others if task.name in names and task.cases)]
