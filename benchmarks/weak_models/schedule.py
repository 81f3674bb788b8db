"""Measures cells, each one way in one task, within a time that is shared out among them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from benchmarks.weak_models.results import Result, ResultFile
from benchmarks.weak_models.session import OUT_OF_TIME

LEAST_S = 3.0
"""Seconds without which no further case begins."""


@attrs.frozen(kw_only=True)
class Cell:
    """One way in one task.

    :ivar open: opens the way; the context manager yields a function from the position of a case and the run to a result.
    :ivar case_ids: ids of the cases by position, for the cases that were measured already.
    :ivar weight: its part of the time, compared with that of the others; a cell of weight 0 calls no model, and is always complete.
    :ivar rank: cells of a lower rank are measured first.
    """

    task: str
    way: str
    case_ids: Sequence[str]
    runs: int
    open: Callable[[], Any]
    weight: float = 1.0
    rank: int = 0


@attrs.define(kw_only=True)
class Schedule:
    """Measures cells one after another.

    Where the time is limited, a case that did not end in the time that was left for it is not counted: it says nothing about the way. So
    on a slow machine a cell may remain without a result.

    :ivar ends_at: when all must have ended, by ``time.monotonic``; ``None`` is no limit. The time that is left is shared out by
        weight, so what a cell does not use is left to the next ones.
    :ivar set_limit: receives the seconds of the next case.
    :ivar unavailable: reasons by way, for the ways that were left out.
    """

    results: ResultFile
    request_s: float
    set_limit: Callable[[float], None]
    ends_at: float | None = None
    unavailable: dict[str, str] = attrs.field(factory=dict)

    def run(self, cells: Sequence[Cell]) -> None:
        """Measure all cells."""
        weights = sum(cell.weight for cell in cells)
        for cell in sorted(cells, key=lambda cell: cell.rank):
            end = None
            if self.ends_at is not None and cell.weight:
                now = time.monotonic()
                end = now + max(0.0, self.ends_at - now) * cell.weight / weights
            weights -= cell.weight
            self._measure(cell, end)

    def _measure(self, cell: Cell, end: float | None) -> None:
        done = self.results.results
        todo = [
            (place, run)
            for run in range(1, cell.runs + 1)
            for place, case in enumerate(cell.case_ids)
            if (cell.task, cell.way, case, run) not in done
        ]
        if not todo:
            return
        title = f"{cell.task} {cell.way}"
        if self._limit(0.0, 0, end) < LEAST_S:  # opening a way takes time, too
            return
        try:
            with cell.open() as measure:
                self._cases(title, measure, todo, end)
        except Unavailable as exc:
            self.unavailable[cell.way] = str(exc)
            print(f"{title}: left out, {exc}", file=sys.stderr, flush=True)

    def _cases(
        self, title: str, measure: Callable[[int, int], Result], todo: Sequence[tuple[int, int]], end: float | None
    ) -> None:
        start, number, right, slowest = time.monotonic(), 0, 0, 0.0
        for place, run in todo:
            limit = self._limit(start, number, end)
            if limit < LEAST_S:
                break
            self.set_limit(limit)
            result = measure(place, run)
            if result.cause == OUT_OF_TIME and limit < self.request_s:
                break
            self.results.add(result)
            number, right, slowest = number + 1, right + result.right, max(slowest, result.seconds)
            _progress(f"{title}: {number} of {len(todo)}, {right} right, {_since(start)}", is_last=False)
        _progress(
            f"{title}: {number} of {len(todo)}, {right} right, {_since(start)}, slowest {slowest:.1f} s", is_last=True
        )

    def _limit(self, start: float, number: int, end: float | None) -> float:
        """Seconds of the next case: all that is left for the first one of a cell, for others what is left to the cell."""
        if end is None or self.ends_at is None:
            return self.request_s
        now = time.monotonic()
        if number == 0:
            return min(self.request_s, self.ends_at - now)
        mean = (now - start) / number
        return min(self.request_s, max(LEAST_S, end - now)) if now + mean <= end else 0.0


def _since(start: float) -> str:
    return f"{time.monotonic() - start:.0f} s"


class Unavailable(Exception):
    """A way cannot be measured here; the message is the reason."""


def _progress(line: str, *, is_last: bool) -> None:
    """Show one line that replaces itself; on something else than a terminal, only its last state."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="\n" if is_last else "", file=sys.stderr, flush=True)
    elif is_last:
        print(line, file=sys.stderr, flush=True)
