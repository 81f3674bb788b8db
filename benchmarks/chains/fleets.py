"""Simulated fleets: models with prices, usable shares by kind of work, and what changes over time. Everything is drawn from a seed."""

# ruff: noqa: ARG001  # all changes take the same arguments

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

KINDS = 6
HARD_SHARE = 0.25
"""Share of requests on which all models fail more often, in fleets with correlated failures."""

PHASE = 250
"""Calls between possible changes."""

LIST: Sequence[tuple[str, str, float, float]] = (
    # provider and model of genai-prices, overall usable share, seconds
    ("openai", "gpt-5-nano", 0.70, 6.0),
    ("groq", "llama-3.1-8b-instant", 0.55, 0.8),
    ("groq", "openai/gpt-oss-20b", 0.72, 1.2),
    ("mistral", "ministral-8b-latest", 0.58, 1.0),
    ("google", "gemini-2.0-flash-lite", 0.70, 1.2),
    ("groq", "gemma2-9b-it", 0.50, 0.9),
    ("groq", "meta-llama/llama-4-scout-17b-16e-instruct", 0.68, 1.0),
    ("openai", "gpt-4.1-nano", 0.64, 1.5),
    ("google", "gemini-2.0-flash", 0.84, 1.6),
    ("deepseek", "deepseek-chat", 0.88, 9.0),
    ("mistral", "mistral-small-latest", 0.76, 2.0),
    ("openai", "gpt-4o-mini", 0.82, 2.5),
    ("groq", "openai/gpt-oss-120b", 0.85, 1.8),
    ("groq", "qwen/qwen3-32b", 0.80, 2.2),
    ("groq", "llama-3.3-70b-versatile", 0.78, 1.5),
    ("openai", "gpt-4.1-mini", 0.90, 3.0),
    ("openai", "gpt-5-mini", 0.93, 8.0),
    ("anthropic", "claude-haiku-4-5", 0.95, 3.5),
    ("mistral", "mistral-large-latest", 0.92, 5.0),
    ("openai", "gpt-4.1", 0.96, 5.0),
    ("google", "gemini-2.5-pro", 0.97, 9.0),
    ("anthropic", "claude-sonnet-4-0", 0.98, 7.0),
)
"""Overall usable shares are assumptions in the order of public leaderboards. By kind of work they spread as widely as those of
docs/benchmarks/weak-models.md, where one model is usable in 0 % to 100 % of the cases, depending on the task and the prompt."""

STRONG = 17
"""The first strong model of the list; every chain has one."""

CLOSE = range(2, 15)
"""Models whose prices are within a factor of about five, so that their usable shares decide."""


@functools.cache
def prices() -> Sequence[tuple[float, float]]:
    """US dollars per million input and output tokens of the list, from genai-prices."""
    import genai_prices

    def each(provider: str, model: str) -> tuple[float, float]:
        found = []
        for usage in (genai_prices.Usage(input_tokens=10_000), genai_prices.Usage(output_tokens=10_000)):
            price = genai_prices.calc_price(usage, model_ref=model, provider_id=provider)
            found.append(float(price.total_price) * 100)
        return found[0], found[1]

    return [each(provider, model) for provider, model, _, _ in LIST]


@attrs.frozen(kw_only=True)
class World:
    """One fleet over time, with one outcome for each call and model, so that all policies meet the same.

    :ivar kinds: the kind of work of each call.
    :ivar easy: probability of a usable answer, by phase, model and kind, for a request that is not hard; ``hard``, for one that is.
    :ivar usable: by call and model; ``cost_usd`` and ``seconds`` also.
    :ivar mean_cost: expected cost by phase, model and kind.
    :ivar published: the overall usable share of each model as a human reads it beforehand.
    :ivar difficulty: a score of each request as a trained classifier might give it.
    """

    name: str
    models: Sequence[str]
    kinds: NDArray[np.int64]
    easy: Floats
    hard: Floats
    hard_share: float
    usable: NDArray[np.bool_]
    cost_usd: Floats
    seconds: Floats
    mean_cost: Floats
    mean_seconds: Floats
    published: Floats
    difficulty: Floats
    list_cost: Floats

    @property
    def calls(self) -> int:
        """The number of calls."""
        return len(self.kinds)


@attrs.frozen(kw_only=True)
class Fleet:
    """How worlds of one sort are drawn.

    :ivar size: the number of models.
    :ivar correlation: how much less likely a hard request is to be answered, in logits.
    :ivar spread: how much usable shares differ by kind of work, in logits.
    :ivar is_close: all models but the strong one have similar prices.
    :ivar change: changes usable shares and prices over the phases, in place: by phase, model and kind; and by phase and model.
    :ivar usd_per_s: the price of a second.
    :ivar is_steady: nothing changes.
    """

    name: str
    size: int
    correlation: float = 0.0
    spread: float = 1.6
    is_close: bool = False
    change: Callable[[np.random.Generator, Floats, Floats, Floats], None] | None = None
    usd_per_s: float = 0.0

    @property
    def is_steady(self) -> bool:
        """Whether nothing changes over time."""
        return self.change is None


def _phases(rng: np.random.Generator, count: int, lowest: int, highest: int) -> list[int]:
    """Starts of phases with some distance."""
    starts, at = [], int(rng.integers(lowest, highest))
    while at < count:
        starts.append(at)
        at += int(rng.integers(lowest, highest))
    return starts


def _steps(rng: np.random.Generator, logits: Floats, prices_: Floats, seconds: Floats) -> None:
    """Now and then, the usable shares of one model change for good."""
    for start in _phases(rng, len(logits), 12, 28):
        model = int(rng.integers(logits.shape[1]))
        logits[start:, model] += rng.choice((-2.0, 1.5)) * rng.uniform(0.6, 1.4)
    np.clip(logits, -3.0, 4.5, out=logits)


def _slow(rng: np.random.Generator, logits: Floats, prices_: Floats, seconds: Floats) -> None:
    """Usable shares wander."""
    walk = np.cumsum(rng.normal(0.0, 0.12, logits.shape[:2]), axis=0)
    logits += np.clip(walk, -2.0, 1.5)[:, :, None]


def _outages(rng: np.random.Generator, logits: Floats, prices_: Floats, seconds: Floats) -> None:
    """Each model is down now and then, for 250 to 1,500 calls."""
    for model in range(logits.shape[1]):
        for start in _phases(rng, len(logits), 20, 60):
            logits[start : start + int(rng.integers(1, 7)), model] = -5.0


def _together(rng: np.random.Generator, logits: Floats, prices_: Floats, seconds: Floats) -> None:
    """The cheaper half is down at the same time, as models of one provider are."""
    half = logits.shape[1] // 2
    for start in _phases(rng, len(logits), 20, 50):
        logits[start : start + int(rng.integers(1, 5)), :half] = -5.0


def _prices(rng: np.random.Generator, logits: Floats, prices_: Floats, seconds: Floats) -> None:
    """Prices change."""
    for start in _phases(rng, len(logits), 15, 35):
        prices_[start:, int(rng.integers(logits.shape[1]))] *= rng.choice((0.3, 0.5, 2.0, 4.0))


def _cold(rng: np.random.Generator, logits: Floats, prices_: Floats, seconds: Floats) -> None:
    """The cheapest models are local, and start cold: slow and half as usable for a phase."""
    for start in _phases(rng, len(logits), 8, 20):
        seconds[start, :2] *= 10
        logits[start, :2] -= 1.5


def _flips(rng: np.random.Generator, logits: Floats, prices_: Floats, seconds: Floats) -> None:
    """An adversary breaks the cheapest model for 250 calls in every 1,000, and the next one at another time."""
    for start in range(2, len(logits), 4):
        logits[start : start + 1, 0] = -4.0
        logits[start + 2 : start + 3, 1] = -4.0


FLEETS: Sequence[Fleet] = (
    Fleet(name="steady, 3 models", size=3, correlation=1.0),
    Fleet(name="steady, 5 models, similar prices", size=5, correlation=1.0, is_close=True),
    Fleet(name="steady, 8 models, similar prices", size=8, correlation=1.0, is_close=True),
    Fleet(name="steady, 12 models", size=12, correlation=1.0),
    Fleet(name="correlated failures, 6 models", size=6, correlation=3.0, is_close=True),
    Fleet(name="alike at all work, 6 models", size=6, spread=0.5, correlation=1.0, is_close=True),
    Fleet(name="seconds count, 5 models", size=5, correlation=1.0, usd_per_s=0.0005),
    Fleet(name="step changes, 5 models", size=5, correlation=1.0, change=_steps, is_close=True),
    Fleet(name="slow drift, 6 models, similar prices", size=6, correlation=1.0, change=_slow, is_close=True),
    Fleet(name="outages, 6 models", size=6, correlation=1.0, change=_outages, is_close=True),
    Fleet(name="joint outages, 8 models", size=8, correlation=1.0, change=_together),
    Fleet(name="price changes, 6 models", size=6, correlation=1.0, change=_prices, is_close=True),
    Fleet(name="cold starts, 4 models", size=4, correlation=1.0, change=_cold, usd_per_s=0.0005),
    Fleet(name="adversary, 5 models", size=5, change=_flips, is_close=True),
)

TUNED = FLEETS[1::2]
"""Fleets on which constants were chosen, with other seeds; the rest are held out."""


def world(fleet: Fleet, seed: int, calls: int) -> World:
    """Draw a world."""
    rng = np.random.default_rng((seed, FLEETS.index(fleet)))
    others = list(CLOSE) if fleet.is_close else list(range(STRONG))
    chosen = np.sort(rng.choice(others, fleet.size - 1, replace=False))
    chosen = np.append(chosen, int(rng.integers(STRONG, len(LIST))))
    by_input, by_output = (np.array([prices()[each][side] for each in chosen]) for side in (0, 1))
    overall = np.array([LIST[each][2] for each in chosen])
    phases = -(-calls // PHASE)
    base = np.log(overall / (1 - overall)) + rng.normal(0, 0.3, fleet.size)
    ability = base[:, None] + rng.normal(0, fleet.spread, (fleet.size, KINDS)) * (1.2 - overall)[:, None] * 2
    logits = np.repeat(ability[None], phases, axis=0)
    price = np.ones((phases, fleet.size))
    seconds = np.repeat(np.array([LIST[each][3] for each in chosen])[None], phases, axis=0)
    if fleet.change is not None:
        fleet.change(rng, logits, price, seconds)
    hard_share = HARD_SHARE if fleet.correlation else 0.0
    easy = 1 / (1 + np.exp(-logits - fleet.correlation * hard_share))
    hard = 1 / (1 + np.exp(-logits + fleet.correlation * (1 - hard_share)))
    kinds = rng.choice(KINDS, calls, p=np.array((30, 25, 20, 12, 8, 5)) / 100)
    phase = np.arange(calls) // PHASE
    is_hard = rng.random(calls) < hard_share
    # Tokens: a prompt with a catalog or a document by kind, and its spread.
    size = np.array((1_500, 3_000, 2_000, 8_000, 5_000, 16_000), dtype=float)
    output = np.array((250, 400, 600, 300, 800, 500), dtype=float)
    tokens = rng.lognormal(-0.08, 0.4, calls)
    each_input = (size[:, None] * by_input[None] + output[:, None] * by_output[None]) / 1e6  # by kind and model
    mean_cost = each_input.T[None] * price[:, :, None]
    cost = each_input[kinds] * tokens[:, None] * price[phase] * rng.lognormal(-0.02, 0.2, (calls, fleet.size))
    time_s = seconds[phase] * rng.lognormal(-0.08, 0.4, (calls, fleet.size))
    chance = np.where(is_hard[:, None], hard[phase, :, kinds], easy[phase, :, kinds])
    mean_seconds = np.repeat(seconds[:, :, None], KINDS, axis=2)
    difficulty = is_hard + rng.normal(0, 0.8, calls) + (1 - ability.mean(axis=0))[kinds] * 0.5
    return World(
        name=fleet.name,
        models=[f"{LIST[each][0]}/{LIST[each][1]}" for each in chosen],
        kinds=kinds,
        easy=easy,
        hard=hard,
        hard_share=hard_share,
        usable=rng.random((calls, fleet.size)) < chance,
        cost_usd=cost + fleet.usd_per_s * time_s,
        seconds=time_s,
        mean_cost=mean_cost + fleet.usd_per_s * mean_seconds,
        mean_seconds=mean_seconds,
        published=np.clip(overall + rng.normal(0, 0.02, fleet.size), 0, 0.99),
        difficulty=difficulty,
        list_cost=each_input.mean(axis=0) + fleet.usd_per_s * seconds[0],
    )
