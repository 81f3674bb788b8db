"""What is known about each model and kind of work: how likely an attempt is usable, what it costs, and how long it takes.

Estimates borrow from coarse to fine: the estimate for all work is the prior of that for a task, and so on, with at most
``BORROWED`` pseudo-attempts (a hierarchical Beta distribution). A coarser estimate is that of the other kinds of work, so that each
attempt counts once. Three mechanisms let older evidence fade:

- each attempt multiplies the weight of the earlier ones of the same model and kind by ``DISCOUNT``;
- a filter with two states, up and down, per model: a model that is down has ``DOWN_FACTOR`` of its usable share. Outages are
  noticed within a few attempts, and while the model is not called, the filter returns to up, so that it is tried again;
- recent attempts that contradict the estimate replace it (``JUMP``).
"""

from __future__ import annotations

import math

import attrs

from helmdeck_chains.work import Kind

DISCOUNT = 0.997
"""Weight of the earlier attempts after each attempt: a window of about 330 attempts."""

RECENT_DISCOUNT = 0.92
"""The same for recent attempts: a window of about 12."""

COST_DISCOUNT = 0.98
"""The same for costs and times, whose changes are not detected otherwise."""

BORROWED = 4.0
"""Attempts that the estimate of the other kinds of work counts for at most."""

AFTER_ODDS = 0.8
"""The odds of a usable attempt after a failure of another model, relative to those without, before there is evidence."""

AFTER_BORROWED = 6.0
"""Attempts that these relative odds count for, and those of the other kinds of work."""

DOWN_FACTOR = 0.05
FAILS_PER_ATTEMPT = 2e-4
RECOVERS_PER_CALL = 0.004
"""Probabilities of the change from up to down per attempt, and from down to up per call of any model."""

UP_SHARE = 0.995
"""The probability of up that a model without attempts returns to."""

JUMP = 3.5
"""Standard errors by which recent attempts contradict the estimate."""

JUMP_AFTER = 30.0
"""Attempts from which an estimate is compared with the recent ones."""

TRUSTED = 10.0
"""Attempts at a kind of work after which its estimate counts as half certain."""

MAX_LOG_ODDS = 12.0
"""The largest certainty that a model is up or down."""

MIN_VARIANCE = 0.08
"""Variance of one attempt that is assumed at least, so that a single failure of a good model contradicts nothing."""

PRIOR_USABLE = 0.8
"""The usable share of a model without attempts: optimistic, so that it is tried where it would be the cheapest."""

PRIOR_ATTEMPTS = 2.0
PRIOR_SECONDS = 5.0
PRIOR_SPREAD = 0.8
"""Standard deviation of the logarithm of the seconds of an attempt, before there is evidence."""

TIMED_AFTER = 20.0
"""Attempts after which the 95th percentile of a time is known well enough."""

_P95 = 1.645
"""The quantile of 95 % of the normal distribution, and the ends of an interval of 90 %."""

_RECENT_ERROR = (1 - RECENT_DISCOUNT) / (1 + RECENT_DISCOUNT)


class Counts:
    """Discounted sums over attempts of one model at one kind of work."""

    __slots__ = ("attempts", "recent", "usable")

    def __init__(self) -> None:
        self.attempts: float = 0.0
        self.usable: float = 0.0
        self.recent: float = -1.0

    def add(self, usable: float, attempts: float, weight: float) -> None:
        """Add attempts, some of them usable; the earlier ones keep a share of their weight."""
        self.attempts = self.attempts * weight + attempts
        self.usable = self.usable * weight + usable
        share = usable / attempts if attempts else 0.0
        if self.recent < 0:
            self.recent = share
        self.recent += (1 - RECENT_DISCOUNT**attempts) * (share - self.recent)
        if self.attempts > JUMP_AFTER:
            mean = (self.usable + 1) / (self.attempts + 2)
            if abs(self.recent - mean) > JUMP * math.sqrt(max(mean * (1 - mean), MIN_VARIANCE) * _RECENT_ERROR):
                self.attempts = 1 / (1 - RECENT_DISCOUNT)
                self.usable = self.recent * self.attempts

    def without(self, finer: Counts | None) -> tuple[float, float]:
        """Return the attempts of the other kinds of work, and the usable ones, so that no attempt counts twice."""
        if finer is None:
            return self.attempts, self.usable
        # Those of the finer kind fade more slowly, as they have fewer later ones, so that the difference is approximate.
        attempts = max(self.attempts - finer.attempts, 0.0)
        return attempts, min(max(self.usable - finer.usable, 0.0), attempts)


class Times:
    """Discounted sums over logarithms of seconds."""

    __slots__ = ("log_s", "log_s2", "weight")

    def __init__(self) -> None:
        self.weight: float = 0.0
        self.log_s: float = 0.0
        self.log_s2: float = 0.0

    def add(self, seconds: float, count: int) -> None:
        """Add some attempts that took as long; the earlier ones keep a share of their weight."""
        kept, log_s = COST_DISCOUNT**count, math.log(seconds)
        self.weight = self.weight * kept + count
        self.log_s = self.log_s * kept + count * log_s
        self.log_s2 = self.log_s2 * kept + count * log_s * log_s

    def refine(self, mean: float, variance: float) -> tuple[float, float]:
        """Return mean and variance of the logarithm, where those of a coarser kind count for two attempts."""
        if not self.weight:
            return mean, variance
        own = self.log_s / self.weight
        spread = max(self.log_s2 / self.weight - own * own, 0.0)
        total = self.weight + 2.0
        return (self.log_s + 2.0 * mean) / total, (variance * 2.0 + spread * self.weight) / total


class Level:
    """The evidence about one model at one kind of work, coarse or fine."""

    __slots__ = ("after", "first", "first_token", "seconds", "usd", "usd_weight")

    def __init__(self) -> None:
        self.first: Counts = Counts()
        self.after: Counts = Counts()
        self.usd: float = 0.0
        self.usd_weight: float = 0.0
        self.seconds: Times = Times()
        self.first_token: Times = Times()


@attrs.frozen
class Estimate:
    """What is expected of an attempt of a model.

    :ivar usable: the probability that it is usable, if no other model failed before; ``error`` is its standard error.
    :ivar after: the same after another model failed.
    :ivar attempts: discounted attempts at the finest kind of work.
    :ivar usd: US dollars; ``None`` where the cost is unknown.
    :ivar seconds: the mean; ``p95_s``, the 95th percentile.
    """

    usable: float
    error: float
    after: float
    after_error: float
    attempts: float
    usd: float | None
    seconds: float
    p95_s: float

    @property
    def interval(self) -> tuple[float, float]:
        """The 90 % interval of ``usable``: Wilson's score interval, which contains neither 0 nor 1."""
        share, square = self.usable, _P95 * _P95
        count = max(share * (1 - share) / self.error**2 - 1, 1.0)
        centre = (share + square / (2 * count)) / (1 + square / count)
        margin = _P95 * math.sqrt(share * (1 - share) / count + square / (4 * count * count)) / (1 + square / count)
        return centre - margin, centre + margin


class ModelEvidence:
    """All evidence about one model.

    :param prior_usd: the expected US dollars of an attempt before there is evidence; ``None`` where the price is unknown.
    :ivar up: the probability that the model is up.
    """

    __slots__ = ("_cache", "_levels", "_prior_usable", "_seen", "prior_usd", "up")

    def __init__(self, prior_usd: float | None = None, prior_usable: float = PRIOR_USABLE) -> None:
        self.prior_usd: float | None = prior_usd
        self.up: float = UP_SHARE
        self._prior_usable = prior_usable
        self._levels: dict[Kind, Level] = {}
        self._cache: dict[Kind, Estimate] = {}
        self._seen = 0

    @property
    def has_answered(self) -> bool:
        """Whether an attempt was usable."""
        level = self._levels.get(())
        return level is not None and level.first.usable + level.after.usable > 0

    def advance(self, calls: int) -> float:
        """Return the probability that the model is up, at a number of calls of the deck."""
        if calls != self._seen:
            self.up = UP_SHARE + (self.up - UP_SHARE) * (1 - RECOVERS_PER_CALL) ** (calls - self._seen)
            self._seen = calls
        return self.up

    def observe(
        self,
        kind: Kind,
        *,
        usable: int,
        attempts: int = 1,
        usd: float | None = None,
        seconds: float | None = None,
        first_token_s: float | None = None,
        is_after: bool = False,
    ) -> None:
        """Add attempts of one kind of work.

        :param usable: the number of usable ones among ``attempts``.
        :param attempts: their number; 0 for one that was cancelled, of which only cost and time count.
        :param usd: US dollars of one attempt; ``None`` where the cost is unknown.
        :param seconds: of one attempt; ``first_token_s``, until its first token, where it was streamed.
        :param is_after: another model failed before.
        """
        estimate = self.estimate(kind)
        expected = estimate.after if is_after else estimate.usable
        # Failures at a kind of work that the model hardly tried may be due to the work, so they say less about an outage.
        trust = estimate.attempts / (estimate.attempts + TRUSTED)
        share = 1 - trust * (1 - self._filtered(expected, usable, attempts, trust))
        weight, timed = DISCOUNT**attempts, max(attempts, 1)
        for size in range(len(kind) + 1):
            level = self._levels.setdefault(kind[:size], Level())
            # What a model does while it is down says little about it when it is up.
            (level.after if is_after else level.first).add(usable * share, attempts * share, weight)
            if seconds is not None and seconds > 0:
                level.seconds.add(seconds, timed)
            if first_token_s is not None and first_token_s > 0:
                level.first_token.add(first_token_s, timed)
            if usd is not None:
                weight_s = COST_DISCOUNT**timed
                level.usd_weight = level.usd_weight * weight_s + timed
                level.usd = level.usd * weight_s + timed * usd
        self._cache.clear()

    def _filtered(self, expected: float, usable: int, attempts: int, trust: float) -> float:
        """Update the probability of up by attempts in any order; return it."""
        down = expected * DOWN_FACTOR
        before = min(self.up, 1 - FAILS_PER_ATTEMPT)
        gained = usable * math.log(expected / down) + (attempts - usable) * math.log((1 - expected) / (1 - down))
        odds = math.log(before / (1 - before)) + trust * gained
        self.up = 1 / (1 + math.exp(-max(-MAX_LOG_ODDS, min(odds, MAX_LOG_ODDS))))
        return self.up

    def estimate(self, kind: Kind) -> Estimate:
        """Return the estimate for a kind of work, as if the model is up."""
        found = self._cache.get(kind)
        if found is None:
            found = self._cache[kind] = self._estimated(kind)
        return found

    def first_token_p95_s(self, kind: Kind) -> float | None:
        """Return the 95th percentile of the seconds until the first token; ``None`` where too few attempts were streamed."""
        levels = [level for size in range(len(kind) + 1) if (level := self._levels.get(kind[:size])) is not None]
        if len(levels) <= len(kind) or levels[-1].first_token.weight < TIMED_AFTER:
            return None
        mean, variance = 0.0, PRIOR_SPREAD**2
        for level in levels:
            mean, variance = level.first_token.refine(mean, variance)
        return math.exp(mean + _P95 * math.sqrt(variance))

    def _estimated(self, kind: Kind) -> Estimate:
        usable, strength = self._prior_usable, PRIOR_ATTEMPTS
        usd, seconds, variance = self.prior_usd, math.log(PRIOR_SECONDS), PRIOR_SPREAD**2
        relative_odds = AFTER_ODDS
        attempts = after_attempts = 0.0
        for size in range(len(kind) + 1):
            level = self._levels.get(kind[:size])
            if level is None:
                attempts = after_attempts = 0.0
                continue
            finer = self._levels.get(kind[: size + 1]) if size < len(kind) else None
            attempts, first_usable = level.first.without(finer.first if finer else None)
            after_attempts, after_usable = level.after.without(finer.after if finer else None)
            usable = (first_usable + strength * usable) / (attempts + strength)
            if after_attempts:
                # A failure of another model changes the odds by a factor, which is learned from coarse to fine.
                expected = _with_odds(usable, relative_odds)
                share = (after_usable + AFTER_BORROWED * expected) / (after_attempts + AFTER_BORROWED)
                relative_odds = share * (1 - usable) / ((1 - share) * usable)
                if (
                    relative_odds > 1
                ):  # a request on which another model failed is not easier: the first attempt is as good
                    usable, relative_odds = share, 1.0
            if level.usd_weight:
                known = usd if usd is not None else level.usd / level.usd_weight
                usd = (level.usd + 2.0 * known) / (level.usd_weight + 2.0)
            seconds, variance = level.seconds.refine(seconds, variance)
            if size < len(kind):
                strength = min(strength + attempts, BORROWED)
        usable = min(usable, 0.999)
        after_share = _with_odds(usable, relative_odds)
        return Estimate(
            usable=usable,
            error=math.sqrt(usable * (1 - usable) / (attempts + strength + 1)),
            after=after_share,
            after_error=math.sqrt(after_share * (1 - after_share) / (after_attempts + attempts / 4 + strength + 1)),
            attempts=attempts + after_attempts,
            usd=usd,
            seconds=math.exp(seconds + variance / 2),
            p95_s=math.exp(seconds + _P95 * math.sqrt(variance)),
        )


def _with_odds(share: float, factor: float) -> float:
    """Return a probability whose odds are those of another one, times a factor."""
    return share * factor / (1 - share + share * factor)
