"""Runs a calibration: trials until the search is done, then probes, within limits of calls, cost and time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import attrs
import msgspec

from helmdeck_core import Attempt, CallFailed, CallLimits, Entry, FailureClass, Helmdeck
from helmdeck_history.calibration.log import CalibrationLog, LogMismatch, ProbeLine, TrialLine
from helmdeck_history.calibration.probes import PROBES, Probe
from helmdeck_history.calibration.search import CalibrationSearch, SizeCounts
from helmdeck_history.calibration.trials import TrialMaker

INSTRUCTIONS = """\
You choose the next step of a task. The catalog below lists every tool with its arguments. Choose the one tool that does what the \
request says, and fill its arguments from the request. Answer with one JSON object and nothing else:
{"steps": [{"tool": "<name from the catalog>", "args": {"<argument>": "<value>"}}]}"""

TRIAL_DEADLINE_S = 180.0
"""Seconds of one trial; a plan that takes longer is of no use to a caller."""

NO_EVIDENCE = (
    FailureClass.RATE_LIMITED,
    FailureClass.PROVIDER_UNAVAILABLE,
    FailureClass.TRANSIENT_UNKNOWN,
)
"""Causes that say nothing about the model: the trial is made again after a wait."""

FATAL = (
    FailureClass.AUTH_FAILED,
    FailureClass.QUOTA_EXHAUSTED,
    FailureClass.INVALID_REQUEST,
    FailureClass.CANCELLED,
)
"""Causes that end a calibration: no further trial can succeed."""

MAX_WAITS = 6
"""Failures without evidence in a row after which a calibration ends."""

MAX_WAIT_S = 60.0


class _Step(msgspec.Struct):
    tool: str
    args: dict[str, Any] = msgspec.field(default_factory=dict)


class _Steps(msgspec.Struct):
    steps: list[_Step]


@attrs.frozen(kw_only=True)
class Limits:
    """Limits of one run.

    :ivar max_calls: maximum number of calls, those of earlier runs of the same log included.
    :ivar max_cost_usd: maximum cost in US dollars, likewise; ``None`` is no limit.
    :ivar max_seconds: maximum time of this run in seconds; a trial begins only if a typical one still ends in time. ``None`` is no limit.
    """

    max_calls: int = 150
    max_cost_usd: float | None = None
    max_seconds: float | None = None


@attrs.frozen(kw_only=True)
class Outcome:
    """The result of a calibration.

    :ivar claimed: the largest catalog in bytes that passed; ``None`` if none did.
    :ivar counts: trials by size.
    :ivar probes: results by probe.
    :ivar cost_usd: US dollars of all calls with a known price; ``None`` if no price is known.
    :ivar stopped: why the run ended before it was complete; empty if it is complete.
    """

    model: str
    claimed: int | None
    counts: tuple[SizeCounts, ...]
    probes: Mapping[str, Mapping[str, Any]]
    calls: int
    cost_usd: float | None
    median_latency_s: float
    stopped: str = ""


class Calibration:
    """One calibration of one model over a log.

    :param deck: a deck whose calls are single attempts; see ``calibration_config``.
    :param entries: entries of a user's catalog that fill the prompts.
    :param maker: makes the trials; else one with ``entries`` and the seed of the log.
    :param on_progress: called before each call with the search and the number of calls so far.
    :param clock: returns seconds; their differences are latencies, and count towards the time limit.
    """

    def __init__(
        self,
        deck: Helmdeck,
        model: str,
        log: CalibrationLog,
        *,
        entries: Sequence[Entry] = (),
        limits: Limits = Limits(),
        probes: Sequence[Probe] = PROBES,
        on_progress: Callable[[Calibration], None] | None = None,
        maker: TrialMaker | None = None,
        wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.model = model
        self.search: CalibrationSearch = CalibrationSearch()
        self.calls: int = 0
        self.probe: str = ""
        self._deck = deck
        self._log = log
        self._limits = limits
        self._probes = probes
        self._on_progress = on_progress
        self._wait = wait
        self._clock = clock
        self._start = clock()
        self._results: dict[str, Mapping[str, Any]] = {}
        self._costs: list[float] = []
        self._latencies: list[float] = []
        for line in log.lines:
            self._check(line)
            self._replay(line)
        # Trials of an earlier run must not occur again: another seed per resumed position gives other numbers.
        self._maker = maker or TrialMaker(entries, seed=log.header.seed + len(log.lines))

    def _check(self, line: TrialLine | ProbeLine) -> None:
        """Check that a recorded trial is the one that was due; it is not where two runs wrote one log, or where it was edited.

        :raises LogMismatch: it is not.
        """
        if isinstance(line, TrialLine) and line.size != self.search.size:
            due = "no trial" if self.search.size is None else f"a trial of {self.search.size:,} bytes"
            raise LogMismatch(
                f"the log of {self.model} has a trial of {line.size:,} bytes where {due} was due, as if two runs had written it; "
                f"--fresh replaces it"
            )

    def _replay(self, line: TrialLine | ProbeLine) -> None:
        self._count(line.cost_usd)
        if isinstance(line, ProbeLine):
            self.calls += line.calls - 1
            self._results[line.name] = line.result
        else:
            self.search.record(line.cause)
            self._latencies.append(line.latency_s)

    def _count(self, cost_usd: float | None) -> None:
        self.calls += 1
        if cost_usd is not None:
            self._costs.append(cost_usd)

    async def run(self) -> Outcome:
        """Run what is left.

        :raises CallFailed: no further trial can succeed, such as without a valid key; the log keeps what was done.
        """
        stopped, waits = "", 0
        while not self.search.is_done and not stopped:
            stopped = self._limit_reached()
            if not stopped:
                waits = await self._trial(waits)
        for probe in () if stopped else self._probes:
            if probe.name not in self._results and not stopped:
                stopped = self._limit_reached(probe.calls)
                if not stopped:
                    await self._run_probe(probe)
        return self.outcome(stopped)

    def outcome(self, stopped: str = "") -> Outcome:
        """Return the result so far; one that is not complete is stopped by an interruption, if by nothing else."""
        if not stopped and not (self.search.is_done and all(probe.name in self._results for probe in self._probes)):
            stopped = "an interruption"
        return Outcome(
            model=self.model,
            claimed=self.search.claimed,
            counts=self.search.counts(),
            probes=dict(self._results),
            calls=self.calls,
            cost_usd=sum(self._costs) if self._costs else None,
            median_latency_s=self._typical_s(),
            stopped=stopped,
        )

    def _limit_reached(self, calls: int = 1) -> str:
        limits = self._limits
        if self.calls + calls > limits.max_calls:
            return f"the limit of {limits.max_calls} calls (--max-calls)"
        if limits.max_cost_usd is not None and sum(self._costs) >= limits.max_cost_usd:
            return f"the cost limit of {limits.max_cost_usd:g} US dollars (--max-cost)"
        if limits.max_seconds is not None and self._clock() - self._start + self._typical_s() > limits.max_seconds:
            return f"the time limit of {limits.max_seconds:g} seconds (--seconds)"
        return ""

    def _typical_s(self) -> float:
        """Median seconds of a trial so far; 0 without one."""
        ordered = sorted(self._latencies)
        return ordered[len(ordered) // 2] if ordered else 0.0

    def _left(self) -> CallLimits:
        most = self._limits.max_cost_usd
        left = None if most is None else max(0.0, most - sum(self._costs))
        return CallLimits(max_attempts=1, deadline_s=TRIAL_DEADLINE_S, max_cost_usd=left)

    async def _trial(self, waits: int) -> int:
        """One trial; returns the number of failures without evidence in a row."""
        size = self.search.size
        assert size is not None
        trial = self._maker.trial(size)
        self._report()
        start = self._clock()
        cause: str | None
        attempts: Sequence[Attempt]
        try:
            answer = await self._deck.aask(
                trial.request,
                _Steps,
                system=f"{INSTRUCTIONS}\n\nCATALOG\n{trial.catalog}",
                model=self.model,
                limits=self._left(),
            )
        except CallFailed as exc:
            if exc.failure_class in FATAL:
                raise
            if exc.failure_class in NO_EVIDENCE:
                if waits + 1 >= MAX_WAITS:
                    raise
                await self._wait(min(MAX_WAIT_S, max(exc.retry_after_s or 0.0, 2.0**waits)))
                return waits + 1
            cause, attempts = "/".join(filter(None, (exc.failure_class.value, exc.sub_cause))), exc.attempts
        else:
            cause = trial.problem([(step.tool, step.args) for step in answer.value.steps])
            attempts = answer.attempts
        latency_s = self._clock() - start
        costs = [each.cost_usd for each in attempts if each.cost_usd is not None]
        line = TrialLine(size, cause, round(latency_s, 3), sum(costs) if costs else None)
        self._log.append(line)
        self._replay(line)
        return 0

    async def _run_probe(self, probe: Probe) -> None:
        self.probe = probe.name
        self._report()
        result, costs = await probe.run(self._deck, self.model, self._left())
        line = ProbeLine(probe.name, probe.calls, result, sum(costs) if costs else None)
        self._log.append(line)
        self._replay(line)

    def _report(self) -> None:
        if self._on_progress is not None:
            self._on_progress(self)
