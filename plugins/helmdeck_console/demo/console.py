"""The console with the example day: everything is in memory and ends with the process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from helmdeck_console.application import Console
from helmdeck_console.demo.example_day import MODELS, TEAMS, example_traces
from helmdeck_console.sources import Sources
from helmdeck_console.web.access import Access
from helmdeck_core import BudgetConfig, Config, CooldownStarted, FailureClass, Helmdeck, LoadedConfig, Tier
from helmdeck_gateway import GatewayStore, KeyRecord, Limits, Node, Open, create_key, open_store, to_nusd
from helmdeck_history import Outcome, SizeCounts
from helmdeck_telemetry import OperatorAction, RecordedTexts, RequestLog

SPENT_USD = {
    "search-prod": 61.20,
    "search-batch": 18.40,
    "helpdesk": 8.75,
    "notebooks": 4.10,
    "eval-runner": 28.90,
    "ci": 0.35,
}
LIMITS_USD = {"search-prod": 200.0, "search-batch": 20.0, "helpdesk": 50.0, "eval-runner": 30.0}


WITH_TEXTS = 100
"""The newest calls, whose texts are shown."""
REQUEST = """[system]
Choose one entry of the catalog for the next step.
[user]
remember this, draft a blog post about it, and make an illustration"""
ANSWER = '{"steps": [{"tool": "blog.draft", "args": {"brief": "Gannet 2 is released"}}]}'

EVIDENCE = {
    "workshop/qwen3-8b": "calibrated by workshop/qwen3-8b: 30 of 30 plans right at 11,264 bytes (at least 92 %, one-sided 95 %); 58 calls",
    "mistral/mistral-small-latest": "29 of 30 plans right at 22 KB, measured with the own catalog",
}
"""The evidence of measured budgets."""

TRIALS = ((4_096, 3, 3), (8_192, 4, 4), (11_264, 30, 30), (16_384, 14, 11), (22_528, 3, 1), (32_768, 2, 0))
"""The calibration of the example: bytes of the catalog, trials, right plans."""


def _calibration(deck: Helmdeck, model: str) -> Outcome | None:  # noqa: ARG001 - as for recorded calibrations
    if model != "workshop/qwen3-8b":
        return None
    counts = tuple(
        SizeCounts(
            size=size, trials=trials, successes=right, causes={"wrong tool": trials - right} if right < trials else {}
        )
        for size, trials, right in TRIALS
    )
    return Outcome(model=model, claimed=11_264, counts=counts, probes={}, calls=58, cost_usd=None, median_latency_s=5.8)


def example_console(now_s: float | None = None, count: int = 3_000) -> Console:
    """Return a console that shows the example day, without sign-in; it serves the loopback interface alone."""
    now = time.time() if now_s is None else now_s
    log = RequestLog.open("memory:")
    fill(log, now, count)
    store = open_store("memory:")
    asyncio.run(_add_keys(store, now))
    # The budgets of the example, whose models are called nowhere.
    budgets = {
        model.name: BudgetConfig(
            tier=Tier(model.tier),
            max_catalog_bytes=model.max_catalog_bytes or 0,
            input_cost_usd_per_mtok=model.prices[0] if model.prices else None,
            output_cost_usd_per_mtok=model.prices[1] if model.prices else None,
            evidence=EVIDENCE.get(model.name),
        )
        for model in MODELS
    }
    loaded = LoadedConfig(Config(model="local/lexical", budgets=budgets), {("budgets",): "the example"})
    deck = Helmdeck(loaded)
    sources = Sources(
        find_log=lambda: log, deck=deck, find_store=lambda: store, loaded=loaded, calibration=_calibration, is_demo=True
    )  # fmt: skip
    return Console(sources, Access(lambda: store, open_role="admin", is_always_open=True))


def fill(log: RequestLog, now_s: float, count: int) -> None:
    """Add the example day to a log."""
    traces = list(example_traces(now_s, count))
    log.add(traces)
    log.add_texts(
        [
            RecordedTexts(
                call_id=each.call_id,
                attempt=event["attempt"],
                request=REQUEST,
                answer="" if event["outcome"].get("cause") else ANSWER,
            )
            for each in traces[-WITH_TEXTS:]
            for event in each.events
            if event["event"] == "attempt_ended"
        ]
    )
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
            await store.admit([Node(made.record.id)], Open(f"example-{name}"), 60.0, now_s=now_s)
            await store.settle([made.record.id], f"example-{name}", to_nusd(SPENT_USD[name]))
    operator = KeyRecord(name="ada", id="", digest="", caller="ada", created_s=now_s - 90 * 86_400, role="admin")
    await create_key(store, operator)
