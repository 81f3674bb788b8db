"""Valid plans and finished agent runs of a weak model, with and without recovery.

::

    python -m benchmarks.agent                   # print the tables, about a minute
    python -m benchmarks.agent --write           # write docs/benchmarks/agent.md and its plot as well
"""

from __future__ import annotations

import argparse
import asyncio
import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from benchmarks.agent.fleet import OUTPUT_TOKENS, REQUESTS, Intent, WeakModel, intents
from benchmarks.agent.plot import bars
from helmdeck_core import CallFailed, Entry, Helmdeck, Pack
from helmdeck_runs import Agent
from helmdeck_testing import chat_server, make_deck, plugin_with

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "agent.md"
PLOT = PAGE.with_suffix(".svg")

OFF = {
    "recovery": {"max_attempts": 1, "cool_down_after": 0},
    "agent": {"continuation_max_attempts": 0},
}
FALLBACK = {"fallback": {"weak/first": ["weak/second"]}}


@attrs.frozen
class Setting:
    """One row: a prompt variant, and whether recovery is on."""

    name: str
    variant: str
    config: Mapping[str, Any]


SETTINGS = (
    Setting("whole plan, no recovery", "full_steps", OFF),
    Setting("tier default (one step), no recovery", "single_pick", OFF),
    Setting("whole plan, everything on", "full_steps", FALLBACK),
    Setting("tier default (one step), everything on", "single_pick", FALLBACK),
)


@attrs.frozen(kw_only=True)
class Row:
    """What a setting achieved over all requests; tokens as the server counted them."""

    setting: Setting
    valid: int
    calls: int
    input_tokens: int
    output_tokens: int


def deck_for(setting: Setting, url: str) -> Helmdeck:
    """Return a deck whose packs do nothing, over the example catalog."""
    budget = {
        "tier": "C",
        "prompt_variant": setting.variant,
        "output_tokens": OUTPUT_TOKENS,
        "allows_llm_filter": False,
    }
    config = {
        "model": "weak/first",
        "providers": {"weak": {"kind": "openai", "base_url": url}},
        "budgets": {"weak": budget},
        **setting.config,
    }
    return make_deck(plugin_with(helmdeck_packs=[_pack(entry) for entry in _catalog()]), config=config)


@functools.cache
def _catalog() -> tuple[Entry, ...]:
    with make_deck() as deck:
        return deck.catalog.packs


def _pack(entry: Entry) -> Pack:
    async def run(*_: object) -> Mapping[str, Any]:
        return {"ok": True}

    return Pack(name=entry.id, version="1", description=entry.description, metadata=entry.metadata, run=run)


async def plans(deck: Helmdeck, requests: Sequence[Intent]) -> int:
    """Return how many requests end in a plan of existing tools that the request needs."""
    valid = 0
    for intent in requests:
        try:
            plan = await deck.aplan(intent.text)
        except CallFailed:
            continue
        tools = [step.tool for step in plan.steps]
        valid += bool(tools) and tools == list(intent.tools[: len(tools)])
    return valid


async def runs(deck: Helmdeck, requests: Sequence[Intent]) -> int:
    """Return how many requests an agent executes to the end: every tool once, in order."""
    done = 0
    for intent in requests:
        run = await Agent(deck, approve_all=True).arun(intent.text)
        tools = [step.entry_id for step in run.steps if step.output is not None]
        done += run.outcome.is_success and tools == list(intent.tools)
    return done


def measure(setting: Setting, work: Any) -> Row:
    """Run all requests with one setting."""
    with make_deck() as plain:
        requests = intents(plain.catalog)
    model = WeakModel(requests)
    with chat_server(model.answer) as server:

        async def main() -> int:
            async with deck_for(setting, server.base_url) as deck:
                valid: int = await work(deck, requests)
                return valid

        valid = asyncio.run(main())
    return Row(
        setting=setting,
        valid=valid,
        calls=model.calls,
        input_tokens=model.input_tokens,
        output_tokens=model.output_tokens,
    )


HEAD = f"""\
# Agent benchmark: a weak model

One free model answered six planning calls for the same kind of request: three plans were clean, two were truncated at 600 tokens,
and one call spent 423 tokens on reasoning and showed 71 characters. A loopback server imitates this mixture for {REQUESTS} requests
of two to four parts over the example catalog. Every call draws one of the six kinds, also a retry or a continuation. A whole plan
of the long kind has about 3,700 characters and does not fit into 600 tokens; one step of it does.

*No recovery* is one attempt without continuation. *Everything on* is the default configuration with a second weak model of the same
mixture as fallback. The embedded planner `local/lexical` is not used, since it would serve every request.

![Valid plans and finished runs in percent](agent.svg)
"""

NOTES = """\
Calls and tokens are per request; the tokens are those of all calls, failed ones included. With one step at a time, the first table
contains the first step of each request only. An agent run contains all steps, so it takes at least a call per step, about three.
A run is finished when every needed tool was executed once, in order.
"""

RUN = """\
## Run it

```sh
python -m benchmarks.agent --write          # about a minute; the draws are seeded
```
"""


def table(rows: Sequence[Row], valid: str) -> Iterator[str]:
    """The rows as Markdown."""
    yield f"| setting | {valid} | share | calls | input tokens | output tokens |"
    yield "|---|--:|--:|--:|--:|--:|"
    for row in rows:
        share = f"{row.valid / REQUESTS:.1%}"
        per = f"{row.input_tokens / REQUESTS:,.0f} | {row.output_tokens / REQUESTS:,.0f}"
        yield f"| {row.setting.name} | {row.valid} | {share} | {row.calls / REQUESTS:.2f} | {per} |"


def main() -> None:
    """Measure, print, and write the page if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    write = parser.parse_args().write
    planned = [measure(setting, plans) for setting in SETTINGS]
    executed = [measure(setting, runs) for setting in SETTINGS]
    first, second = "\n".join(table(planned, "valid plans")), "\n".join(table(executed, "finished"))
    text = f"## Valid plans\n\n{first}\n\n## Agent runs\n\n{second}\n\n{NOTES}"
    print(text)
    if write:
        PAGE.write_text(f"{HEAD}\n{text}\n{RUN}", encoding="utf-8")
        PLOT.write_text(
            bars(
                [
                    (p.setting.name, 100 * p.valid / REQUESTS, 100 * e.valid / REQUESTS)
                    for p, e in zip(planned, executed, strict=True)
                ]
            ),
            encoding="utf-8",
        )


if __name__ == "__main__":
    main()
