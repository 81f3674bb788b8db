"""The search for the largest catalog that a model handles: locate by bisection, then confirm by a sequential test.

Sans-IO: ``CalibrationSearch.size`` is the catalog size of the next trial, and ``record`` takes its outcome.

The test is Wald's sequential probability ratio test (A. Wald, Sequential Tests of Statistical Hypotheses, 1945) of the success
rate 0.98 against 0.80: 15 successes in a row accept a size, and two failures among the first trials reject it.
Trials must be independent, so a prompt is never repeated.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import attrs

SIZES: tuple[int, ...] = tuple(int(4_096 * 2 ** (step / 2)) for step in range(13))
"""Catalog sizes in bytes: 4 to 256 KB, each 1.4 times the last."""

GOOD, BAD = 0.98, 0.80
"""Success rates of a size that is accepted, and of one that is rejected."""

WRONG_ACCEPT, WRONG_REJECT = 0.05, 0.01
"""Probabilities of accepting a bad size and of rejecting a good one in one test. The second is smaller, because a model that
declines slowly would otherwise be rejected at sizes that it handles; it costs a fifth more trials there."""

LOCATED_AFTER = 3
"""Successes in a row after which bisection goes up; one failure goes down."""

MAX_TRIALS = 60
"""Trials of one test; an undecided test rejects, since too small a claim does less harm than too large a one."""

_STEP = {True: math.log(GOOD / BAD), False: math.log((1 - GOOD) / (1 - BAD))}
_ACCEPT = math.log((1 - WRONG_REJECT) / WRONG_ACCEPT)
_REJECT = math.log(WRONG_REJECT / (1 - WRONG_ACCEPT))


def wilson_bound(successes: int, trials: int, z: float = 1.645) -> float:
    """Return the lower end of Wilson's score interval of a success rate; 0 without trials.

    :param z: the quantile; the default is one-sided 95 %.
    """
    if not trials:
        return 0.0
    rate, square = successes / trials, z * z
    centre = rate + square / (2 * trials)
    margin = z * math.sqrt(rate * (1 - rate) / trials + square / (4 * trials * trials))
    return max(0.0, (centre - margin) / (1 + square / trials))


@attrs.define
class SequentialTest:
    """One sequential test of one size."""

    successes: int = 0
    trials: int = 0

    def record(self, success: bool) -> None:
        """Count a trial."""
        self.trials += 1
        self.successes += success

    @property
    def verdict(self) -> bool | None:
        """``True`` if the size is accepted, ``False`` if it is rejected, ``None`` while undecided."""
        ratio = self.successes * _STEP[True] + (self.trials - self.successes) * _STEP[False]
        if ratio >= _ACCEPT:
            return True
        if ratio <= _REJECT or self.trials >= MAX_TRIALS:
            return False
        return None


@attrs.frozen
class SizeCounts:
    """Trials of one size.

    :ivar causes: failed trials by cause.
    """

    size: int
    trials: int
    successes: int
    causes: Mapping[str, int]

    @property
    def bound(self) -> float:
        """Lower bound of the success rate, one-sided 95 %."""
        return wilson_bound(self.successes, self.trials)


class CalibrationSearch:
    """Finds the largest size that passes; deterministic for a sequence of outcomes, so that a log of outcomes resumes it.

    :param sizes: catalog sizes in bytes, rising.
    """

    def __init__(self, sizes: Sequence[int] = SIZES) -> None:
        if not sizes or sorted(set(sizes)) != list(sizes):
            raise ValueError("sizes must be rising and not empty")
        self.sizes: tuple[int, ...] = tuple(sizes)
        self._outcomes: dict[int, Counter[str]] = {}
        # Bisection: the largest size that was located, and the smallest that failed.
        self._low, self._high = -1, len(self.sizes)
        self._streak = 0
        self._place = (self._low + self._high) // 2
        self._test: SequentialTest | None = None
        self._accepted: int | None = None
        self._rejected: set[int] = set()
        self.is_done: bool = False

    @property
    def size(self) -> int | None:
        """The catalog size of the next trial in bytes; ``None`` when the search is done."""
        return None if self.is_done else self.sizes[self._place]

    @property
    def phase(self) -> str:
        """``locate``, ``confirm`` or ``done``."""
        return "done" if self.is_done else "locate" if self._test is None else "confirm"

    @property
    def claimed(self) -> int | None:
        """The largest accepted size in bytes; ``None`` if none was accepted so far."""
        return None if self._accepted is None else self.sizes[self._accepted]

    def counts(self) -> tuple[SizeCounts, ...]:
        """Return the trials of every size that was tried, by size."""
        return tuple(
            SizeCounts(
                self.sizes[place], counter.total(), counter[""], {cause: n for cause, n in counter.items() if cause}
            )
            for place, counter in sorted(self._outcomes.items())
        )

    def record(self, cause: str | None) -> None:
        """Take the outcome of a trial of ``size``.

        :param cause: the cause of a failed trial; ``None`` is a success.
        :raises ValueError: the search is done.
        """
        if self.is_done:
            raise ValueError("the search is done; no trial was due")
        self._outcomes.setdefault(self._place, Counter())[cause or ""] += 1
        if self._test is None:
            self._locate(cause is None)
        else:
            self._confirm(self._test, cause is None)

    def _locate(self, success: bool) -> None:
        self._streak = self._streak + 1 if success else 0
        if success and self._streak < LOCATED_AFTER:
            return
        if success:
            self._low = self._place
        else:
            self._high = self._place
        self._streak = 0
        if self._high - self._low > 1:
            self._place = (self._low + self._high) // 2
        else:
            # A size that failed once while locating may still be reliable; the one below it comes first.
            self._start_test(max(self._low, 0))

    def _start_test(self, place: int) -> None:
        self._place, self._test = place, SequentialTest()

    def _confirm(self, test: SequentialTest, success: bool) -> None:
        test.record(success)
        verdict = test.verdict
        if verdict is None:
            return
        if not verdict:
            self._rejected.add(self._place)
            if self._accepted is not None or self._place == 0:
                self.is_done = True
            else:
                self._start_test(self._place - 1)
            return
        self._accepted = self._place
        if self._place + 1 in self._rejected or self._place + 1 == len(self.sizes):
            self.is_done = True
        else:
            self._start_test(self._place + 1)
