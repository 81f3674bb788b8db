"""The console with the example day: everything is in memory and ends with the process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import attrs

from helmdeck_console.application import Console
from helmdeck_console.demo.example_day import TEAMS, example_traces
from helmdeck_console.sources import Sources
from helmdeck_console.web.access import Access
from helmdeck_core import Config, CooldownStarted, FailureClass, Helmdeck, LoadedConfig
from helmdeck_gateway import GatewayStore, KeyRecord, Limits, create_key, open_store, to_nusd
from helmdeck_telemetry import OperatorAction, RequestLog

SPENT_USD = {
    "search-prod": 61.20,
    "search-batch": 18.40,
    "helpdesk": 8.75,
    "notebooks": 4.10,
    "eval-runner": 28.90,
    "ci": 0.35,
}
LIMITS_USD = {"search-prod": 200.0, "search-batch": 20.0, "helpdesk": 50.0, "eval-runner": 30.0}


def example_console(now_s: float | None = None, count: int = 3_000) -> Console:
    """Return a console that shows the example day, without sign-in; it serves the loopback interface alone."""
    now = time.time() if now_s is None else now_s
    log = RequestLog.open("memory:")
    fill(log, now, count)
    store = open_store("memory:")
    asyncio.run(_add_keys(store, now))
    config = Config(model="local/lexical")
    deck = Helmdeck(LoadedConfig(attrs.evolve(config, history=attrs.evolve(config.history, url=None)), {}))
    sources = Sources(
        find_log=lambda: log, deck=deck, find_store=lambda: store, loaded=LoadedConfig(deck.runtime.config, {}), is_demo=True
    )  # fmt: skip
    return Console(sources, Access(lambda: store, open_role="admin", is_always_open=True))


def fill(log: RequestLog, now_s: float, count: int) -> None:
    """Add the example day to a log."""
    log.add(list(example_traces(now_s, count)))
    for model, seconds, cause in (
        ("workshop/qwen3-8b", 240.0, FailureClass.PROVIDER_UNAVAILABLE),
        ("google/gemini-2.5-flash", 35.0, FailureClass.RATE_LIMITED),
    ):
        event = CooldownStarted(provider=model.partition("/")[0], seconds=seconds, cause=cause, model=model)
        log.add_cooldown(event, now_s)
    for age_s, action, subject, detail in (
        (3 * 86_400, "key created", "eval-runner", "team research"),
        (5_400, "key revoked", "old-notebook", ""),
        (1_200, "configuration reloaded", "", ""),
    ):
        log.add_action(
            OperatorAction(
                time_us=int((now_s - age_s) * 1e6), actor="ada", action=action, subject=subject, detail=detail
            )
        )


async def _add_keys(store: GatewayStore, now_s: float) -> None:
    for team, names in TEAMS.items():
        for name in names:
            most = LIMITS_USD.get(name)
            limits = Limits(
                rate=600 if team == "search" else 60,
                concurrency=16 if team == "search" else None,
                month_nusd=to_nusd(most) if most else None,
            )
            models: Sequence[str] = ("openai/*", "mistral/*") if team == "support" else ()
            record = KeyRecord(
                name=name, id="", digest="", caller=team or "ci", limits=limits, models=tuple(models) or None,
                created_s=now_s - 40 * 86_400, expires_s=now_s + 20 * 86_400 if name == "eval-runner" else None, team=team,
            )  # fmt: skip
            made = await create_key(store, record)
            await store.admit(made.record.id, f"example-{name}", Limits(), 0, 60.0, now_s=now_s)
            await store.settle(made.record.id, f"example-{name}", to_nusd(SPENT_USD[name]))
    operator = KeyRecord(name="ada", id="", digest="", caller="ada", created_s=now_s - 90 * 86_400, role="admin")
    await create_key(store, operator)
