"""Counts requests and retries while a provider is down for ten seconds under the calls of 64 callers.

python -m benchmarks.retry_storm                                               # about two minutes
python -m benchmarks.retry_storm --write docs/benchmarks/retry-storms.md
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.faults.upstream import ANSWER, Upstream
from benchmarks.pages import write_between
from helmdeck_core import CallFailed, ChatRequest, Helmdeck, Message, Role, TextPart
from helmdeck_testing import make_deck

CALLERS = 64
PAUSE_S = 0.5
"""The mean pause of a caller between two calls."""
DOWN_S, UP_S, END_S = 5.0, 15.0, 28.0
"""When the provider goes down, when it is up again, and when the run ends, in seconds from its start."""
NO_BUDGET = {"retry_share": 1.0, "retry_minimum": 1_000_000}
SETTINGS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "fallback": ("503", {}),
    "no fallback": ("503", {}),
    "no fallback, 503 with Retry-After 1": ("503, Retry-After 1", {}),
    "no fallback, no retry budget": ("503", NO_BUDGET),
}
"""Name to the fault while the provider is down, and the settings of ``[recovery]``."""


class Done(NamedTuple):
    """One call.

    :ivar start_s: when it started, from the start of the run; ``end_s`` likewise.
    :ivar sent: requests to the provider.
    :ivar outcome: ``home``, ``fallback`` or ``failed``.
    """

    start_s: float
    end_s: float
    sent: int
    outcome: str


async def one_call(deck: Helmdeck, begun_s: float) -> Done:
    """Make one call."""
    request = ChatRequest(model="first/m", messages=(Message(Role.USER, (TextPart("When is the tide?"),)),))
    start_s = time.monotonic() - begun_s
    try:
        response = await deck.acomplete(request)
        attempts, outcome = response.attempts, "home" if response.attempts[-1].model == "first/m" else "fallback"
        assert response.text == ANSWER
    except CallFailed as exc:
        attempts, outcome = exc.attempts, "failed"
    sent = sum(each.model == "first/m" and each.is_sent for each in attempts)
    return Done(start_s, time.monotonic() - begun_s, sent, outcome)


async def caller(deck: Helmdeck, begun_s: float, done: list[Done], number: int) -> None:
    """Call again and again until the end."""
    pauses = random.Random(number)
    await asyncio.sleep(pauses.uniform(0.0, PAUSE_S))
    while time.monotonic() - begun_s < END_S:
        done.append(await one_call(deck, begun_s))
        await asyncio.sleep(pauses.uniform(0.5, 1.5) * PAUSE_S)


async def run(name: str) -> tuple[Sequence[Done], Sequence[float]]:
    """Return the calls, and when the provider got its requests."""
    fault, recovery = SETTINGS[name]
    async with Upstream() as one, Upstream() as two:
        providers = {
            each: {"kind": "openai", "base_url": server.base_url} for each, server in (("first", one), ("backup", two))
        }
        chain = {"first/": ["backup/m"]} if name.startswith("fallback") else {}
        async with make_deck(config={"providers": providers, "fallback": chain, "recovery": recovery}) as deck:
            await one_call(deck, time.monotonic())  # imports
            one.times_s.clear()
            begun_s, offset_s = time.monotonic(), asyncio.get_running_loop().time()
            done: list[Done] = []
            callers = [asyncio.create_task(caller(deck, begun_s, done, number)) for number in range(CALLERS)]
            await asyncio.sleep(DOWN_S)
            one.faults = [fault]
            await asyncio.sleep(UP_S - DOWN_S)
            one.faults = ["good"]
            await asyncio.gather(*callers)
            return done, [each - offset_s for each in one.times_s]


def phases(name: str, done: Sequence[Done], arrivals: Sequence[float]) -> Iterable[str]:
    """Yield one row per phase."""
    for phase, start_s, end_s in (("up", 0.0, DOWN_S), ("down", DOWN_S, UP_S), ("up again", UP_S, END_S)):
        calls = [each for each in done if start_s <= each.start_s < end_s]
        seconds = end_s - start_s
        yield (
            f"| {name} | {phase} | "
            + " | ".join(row(calls, [each for each in arrivals if start_s <= each < end_s], seconds))
            + " |"
        )


def row(calls: Sequence[Done], arrivals: Sequence[float], seconds: float) -> Iterable[str]:
    """Yield the figures of some calls."""
    retries = sum(max(0, each.sent - 1) for each in calls)
    yield f"{len(calls):,}"
    yield f"{len(arrivals):,}"
    yield f"{len(arrivals) / seconds:.0f}"
    yield f"{max((sum(start <= each < start + 1 for each in arrivals) for start in map(int, arrivals)), default=0)}"
    yield f"{retries:,}"
    yield f"{100 * retries / max(1, len(calls)):.1f} %"
    for outcome in ("home", "fallback", "failed"):
        yield f"{sum(each.outcome == outcome for each in calls):,}"


def recovery_s(done: Sequence[Done]) -> float | None:
    """Seconds after which the provider, up again, answers nine of ten calls of a second; ``None`` if it does not."""
    for tenths in range(round((END_S - UP_S) * 10) - 10):
        start_s = UP_S + tenths / 10
        window = [each.outcome for each in done if start_s <= each.end_s < start_s + 1]
        if window and window.count("home") >= 0.9 * len(window):
            return tenths / 10
    return None


def by_second(done: Sequence[Done], arrivals: Sequence[float]) -> Iterable[str]:
    """Yield calls, requests and retries per second around the time in which the provider is down."""
    yield "| second | calls | requests to the provider | attempts per call | retries | by the provider | by the fallback | failed |"
    yield "|--:|--:|--:|--:|--:|--:|--:|--:|"
    for second in range(int(DOWN_S) - 1, int(END_S)):
        calls = [each for each in done if second <= each.start_s < second + 1]
        requests = sum(second <= each < second + 1 for each in arrivals)
        retries = sum(max(0, each.sent - 1) for each in calls)
        attempts = sum(each.sent for each in calls) / max(1, len(calls))
        outcomes = [sum(each.outcome == outcome for each in calls) for outcome in ("home", "fallback", "failed")]
        cells = [second, len(calls), requests, f"{attempts:.2f}", retries, *outcomes]
        yield f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="page with the markers of the tables")
    arguments = parser.parse_args()
    rows = [
        "| setting | provider | calls | requests | per second | most in a second | retries | share of calls | by the provider | by the fallback | failed |"
    ]
    rows.append("|---|---|" + "--:|" * 9)
    recoveries, seconds = [], ""
    for name in SETTINGS:
        done, arrivals = asyncio.run(run(name))
        rows += phases(name, done, arrivals)
        found_s = recovery_s(done)
        recoveries.append(f"| {name} | {'not within the run' if found_s is None else f'{found_s:.1f} s'} |")
        seconds = seconds or "\n".join(by_second(done, arrivals))
    tables = {
        "phases": "\n".join(rows),
        "recovery": "\n".join(
            ("| setting | nine of ten calls answered by the provider after |", "|---|--:|", *recoveries)
        ),
        "seconds": seconds,
    }
    for name, text in tables.items():
        print(f"{name}\n{text}\n")
        if arguments.write:
            write_between(arguments.write, name, text)


if __name__ == "__main__":
    main()
