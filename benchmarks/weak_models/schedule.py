"""Measures cells, each one way in one task, within a time that is shared out among them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from benchmarks.weak_models.results import Result, ResultFile
from benchmarks.weak_models.session import OUT_OF_TIME

LEAST_CASE_S = 5.0
"""Seconds that a case gets at least, however little time is left."""


@attrs.frozen(kw_only=True)
class Cell:
    """One way in one task.

    :ivar open: opens the way; the context manager yields a function from the position of a case and the run to a result.
    :ivar case_ids: ids of the cases by position, for the cases that were measured already.
    :ivar weight: its part of the time, compared with that of the others.
    """

    task: str
    way: str
    case_ids: Sequence[str]
    runs: int
    open: Callable[[], Any]
    weight: float = 1.0


@attrs.define(kw_only=True)
class Schedule:
    """Measures cells one after another.

    :ivar ends_at: when all must have ended, by ``time.monotonic``; ``None`` is no limit. The time that is left is shared out by
        weight, so what a cell does not use goes to the next ones.
    :ivar set_limit: told the seconds of the next case.
    """

    results: ResultFile
    request_s: float
    set_limit: Callable[[float], None]
    ends_at: float | None = None
    unavailable: dict[str, str] = attrs.field(factory=dict)

    def run(self, cells: Sequence[Cell]) -> None:
        """Measure all cells."""
        left = sum(cell.weight for cell in cells)
        for cell in cells:
            end = None
            if self.ends_at is not None:
                now = time.monotonic()
                end = now + max(0.0, self.ends_at - now) * cell.weight / left
            left -= cell.weight
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
            now = time.monotonic()
            limit = self.request_s
            if end is not None:
                # The first case may take twice the cell's time; another one begins only if it is likely to fit.
                if number and now + (now - start) / number > end:
                    break
                limit = min(limit, max(LEAST_CASE_S, end - now if number else 2 * (end - now)))
            self.set_limit(limit)
            result = measure(place, run)
            if number and result.cause == OUT_OF_TIME and limit < self.request_s:
                break  # ended by the time of the cell, which says nothing about the way
            self.results.add(result)
            number, right, slowest = number + 1, right + result.right, max(slowest, result.seconds)
            _progress(
                f"{title}: {number} of {len(todo)}, {right} right, {time.monotonic() - start:.0f} s", is_last=False
            )
        line = f"{title}: {number} of {len(todo)}, {right} right, {time.monotonic() - start:.0f} s, slowest {slowest:.1f} s"
        _progress(line, is_last=True)


class Unavailable(Exception):
    """A way cannot be measured here; the message is the reason."""


def _progress(line: str, *, is_last: bool) -> None:
    """Show one line that replaces itself; on something else than a terminal, only its last state."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="\n" if is_last else "", file=sys.stderr, flush=True)
    elif is_last:
        print(line, file=sys.stderr, flush=True)
