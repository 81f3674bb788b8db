"""LiteLLM's own routing strategies over recorded outcomes; runs in LiteLLM's environment, without Helmdeck.

It reads lines of an input and an output file, separated by a tab, and answers each with ``done``. Deployments that failed within a
call are left out of the next choice, as its Router does for those in cooldown.
"""

from __future__ import annotations

import asyncio
import datetime
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

MAX_ATTEMPTS = 8
GROUP = "group"
MESSAGES = [{"role": "user", "content": "plan"}]


def main() -> int:
    """Serve until the end of the input; LiteLLM is imported once, which takes longer than its strategies."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    litellm: Any = importlib.import_module("litellm")
    for line in sys.stdin:
        run(litellm, *line.rstrip("\n").split("\t"))
        print("done", flush=True)
    return 0


def run(litellm: Any, source: str, target: str) -> None:
    """Run each strategy over the outcomes and write cost and usability of each call."""
    data = np.load(source)
    results = {}
    for name, module, handler in (
        ("cost-based", "lowest_cost", "LowestCostLoggingHandler"),
        ("latency-based", "lowest_latency", "LowestLatencyLoggingHandler"),
        ("usage-based", "lowest_tpm_rpm", "LowestTPMLoggingHandler"),
    ):
        strategy = getattr(importlib.import_module(f"litellm.router_strategy.{module}"), handler)
        cache = importlib.import_module("litellm.caching.caching").DualCache()
        cost, usable = follow(litellm, strategy(router_cache=cache), data)
        results[f"{name}.cost"], results[f"{name}.usable"] = cost, usable
    np.savez(target, **results)


def follow(litellm: Any, strategy: Any, data: Any) -> tuple[Any, Any]:
    """Make all calls in turn and report each success to the strategy."""
    names: Sequence[str] = [str(each) for each in data["models"]]
    deployments = [
        {
            "model_name": GROUP,
            "litellm_params": {
                "model": name,
                "input_cost_per_token": float(data["input_price"][place]) / 1e6,
                "output_cost_per_token": float(data["output_price"][place]) / 1e6,
            },
            "model_info": {"id": str(place)},
        }
        for place, name in enumerate(names)
    ]
    choose = chooser(strategy)
    usable, costs, seconds = data["usable"].tolist(), data["cost"].tolist(), data["seconds"].tolist()
    paid, answered = np.zeros(len(usable)), np.zeros(len(usable), dtype=bool)
    usage = litellm.Usage(prompt_tokens=2_000, completion_tokens=400, total_tokens=2_400)
    response = litellm.ModelResponse(usage=usage)
    start = datetime.datetime(2026, 1, 1)  # noqa: DTZ001 - the strategies compare naive times
    for call in range(len(usable)):
        left = list(deployments)
        for _ in range(min(MAX_ATTEMPTS, len(deployments))):
            chosen = choose(left)
            place = int(chosen["model_info"]["id"])
            paid[call] += costs[call][place]
            if usable[call][place]:
                answered[call] = True
                kwargs = {
                    "litellm_params": {"metadata": {"model_group": GROUP}, "model_info": chosen["model_info"]},
                }
                end = start + datetime.timedelta(seconds=seconds[call][place])
                strategy.log_success_event(kwargs, response, start, end)
                break
            left = [each for each in left if each is not chosen]
    return paid, answered


def chooser(strategy: Any) -> Callable[[Sequence[Any]], Any]:
    """Return the strategy's choice among deployments as a plain function."""
    if hasattr(strategy, "get_available_deployments"):
        return lambda left: strategy.get_available_deployments(GROUP, left, messages=MESSAGES)
    loop = asyncio.new_event_loop()
    return lambda left: loop.run_until_complete(
        strategy.async_get_available_deployments(GROUP, left, messages=MESSAGES, request_kwargs={})
    )


if __name__ == "__main__":
    raise SystemExit(main())
