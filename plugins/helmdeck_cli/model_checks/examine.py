"""Runs the probes of one model in order, within the time limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import attrs

from helmdeck_cli.model_checks.probes import FURTHER, PROBES, Probe
from helmdeck_cli.model_checks.results import Examination, Result, Verdict
from helmdeck_cli.model_checks.server_facts import context
from helmdeck_cli.model_checks.session import LIMIT_S, Session
from helmdeck_cli.model_checks.tool_choice import CATALOG, NAME, RESERVE_S, right_tools

if TYPE_CHECKING:
    from helmdeck_core import BudgetConfig, Config, Helmdeck

ALL_PROBES: Sequence[Probe] = (*PROBES, Probe(NAME, right_tools), *FURTHER)


def single_attempts(config: Config, model: str, budget: BudgetConfig) -> Config:
    """Return a configuration whose calls to a model are single attempts: no retry, fallback, continuation or history.

    :param budget: replaces the limits of the model, which would otherwise limit what is measured.

    >>> from helmdeck_cli import single_attempts
    >>> from helmdeck_core import BudgetConfig, Config
    >>> single_attempts(Config(), "acme/large", BudgetConfig()).recovery.max_attempts
    1
    """
    return attrs.evolve(
        config,
        model=model,
        budgets={**config.budgets, model: budget},
        fallback={},
        recovery=attrs.evolve(config.recovery, max_attempts=1, cool_down_after=0, deadline_s=0.0),
        agent=attrs.evolve(config.agent, continuation_max_attempts=0),
        history=attrs.evolve(config.history, url=None),
    )


def rank_config(config: Config) -> Config:
    """Return the configuration of a deck that ranks the tools of the probe.

    >>> from helmdeck_cli import rank_config, ranked_by
    >>> from helmdeck_core import Config, Helmdeck
    >>> with Helmdeck(rank_config(Config())) as deck:
    ...     print(len(deck.catalog))
    8
    """
    return attrs.evolve(
        config,
        model="local/lexical",
        catalog=attrs.evolve(config.catalog, mcp={}, sources=(str(CATALOG),)),
        history=attrs.evolve(config.history, url=None),
    )


def ranked_by(deck: Helmdeck) -> Callable[[str], str]:
    """Return a function from a request to the best entry of a deck's catalog; empty if none matches.

    >>> from helmdeck_cli import ranked_by
    >>> from helmdeck_core import Helmdeck
    >>> with Helmdeck(model="local/lexical") as deck:
    ...     print(ranked_by(deck)("draft a blog post"))
    blog.draft
    """

    def best(request: str) -> str:
        leading = deck.rank(request).leading(1)
        return deck.catalog.entries[leading[0][0]].id if leading else ""

    return best


async def examine(
    deck: Helmdeck,
    model: str,
    rank: Callable[[str], str],
    *,
    limit_s: float = LIMIT_S,
    clock: Callable[[], float] = time.monotonic,
    update: Callable[[str], None] = lambda _: None,
) -> Examination:
    """Examine a model.

    :param deck: a deck with ``single_attempts``.
    :param rank: the ranker alone; see ``ranked_by``.
    :param limit_s: seconds after which no probe is started.
    :param update: replaces the text of the progress line.
    """
    start = clock()
    headroom = deck.budget(model).budget.reasoning_headroom_tokens
    session = Session(deck, model, rank, limit_s=limit_s, clock=clock, headroom_tokens=headroom)
    results: list[Result] = []

    def add(result: Result) -> None:
        results.append(result)
        session.facts.update(result.facts)

    update(f"{model}: context window")
    add(await context(deck, model))
    stopped = ""
    for number, probe in enumerate(ALL_PROBES, 1):
        if not stopped and session.left_s < RESERVE_S:
            stopped = f"the limit of {limit_s:g} s was reached; --seconds raises it"
        if stopped:
            add(Result(probe.name, Verdict.NOT_TRIED, stopped))
            continue
        update(f"{model}: {probe.name}, {number} of {len(ALL_PROBES)}")
        add(await probe.run(session))
        if session.facts.get("is_final"):
            stopped = "the first request failed"
    return Examination(
        model=model,
        results=results,
        calls=session.calls,
        output_tokens=session.output_tokens,
        seconds=round(clock() - start, 1),
    )
