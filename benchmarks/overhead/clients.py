"""What each client does for one call; runs in the environment of that client, beside a bare request of the same bytes."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import os
import statistics
import sys
import time
import tracemalloc
import warnings
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

ASK = "draft a blog post about tea"
PATH = "/chat/completions"
ROUNDS = {1: 300, 64: 14}
"""Calls at once, and how often that many are made."""
WAITING = (1, 16, 64, 256)
"""Calls that wait for their answers at once."""

Call = Callable[[], Awaitable[Any]]
Calls = dict[str, tuple[Call, Call]]
"""Name to a call and the bare request of the same bytes."""


class Bare:
    """A client that posts bytes and decodes the response back."""

    def __init__(self, library: str, url: str) -> None:
        self.client = importlib.import_module(library).AsyncClient()
        self._url = url + PATH

    def post(self, body: bytes) -> Call:
        """A call that posts a body."""

        async def call() -> None:
            answer = await self.client.post(self._url, content=body, headers={"content-type": "application/json"})
            answer.json()

        return call


async def helmdeck(url: str) -> Calls:
    """``acomplete`` and ``aplan`` of one deck."""
    core, testing = importlib.import_module("helmdeck_core"), importlib.import_module("helmdeck_testing")
    bare = Bare("httpx", url)
    budget = {"tier": "A", "input_tokens": 100_000}
    deck = testing.make_deck(config={"providers": {"vllm": {"base_url": url}}, "budgets": {"vllm/": budget}})
    request = core.ChatRequest(
        model="vllm/fast", messages=(core.Message(core.Role.USER, (core.TextPart(ASK),)),), max_tokens=200
    )
    with testing.chat_server(lambda _: testing.completion("{}")) as server:
        other = testing.make_deck(
            config={
                "providers": {"vllm": {"base_url": server.base_url}},
                "budgets": {"vllm/": budget},
                "recovery": {"max_attempts": 1},
            }
        )
        async with other:
            await other.acomplete(request)
            with contextlib.suppress(core.CallFailed):
                await other.aplan(ASK, model="vllm/fast")
        # As they were sent, to the byte.
        small, large = (
            json.dumps(each.body, ensure_ascii=False, separators=(",", ":")).encode() for each in server.requests[:2]
        )
    return {
        "deck.acomplete": (lambda: deck.acomplete(request), bare.post(small)),
        "deck.aplan": (lambda: deck.aplan(ASK, model="vllm/fast"), bare.post(large)),
    }


async def litellm(url: str) -> Calls:
    """``acompletion`` of the library and of its router."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    library: Any = importlib.import_module("litellm")
    library.suppress_debug_info = True
    bare = Bare("httpx", url)
    messages = [{"role": "user", "content": ASK}]
    given = {"api_base": url, "api_key": "sk-none"}
    row = {"model_name": "fast", "litellm_params": {"model": "openai/fast", **given}}
    router = library.Router(model_list=[row], fallbacks=[], num_retries=0)
    post = bare.post(json.dumps({"model": "fast", "messages": messages, "max_tokens": 200}).encode())
    return {
        "litellm.acompletion": (
            lambda: library.acompletion(model="openai/fast", messages=messages, max_tokens=200, **given),
            post,
        ),
        "litellm.Router": (lambda: router.acompletion(model="fast", messages=messages, max_tokens=200), post),
    }


async def pydantic_ai(url: str) -> Calls:
    """An agent without tools that requires a text."""
    model = importlib.import_module("pydantic_ai.models.openai").OpenAIChatModel
    provider = importlib.import_module("pydantic_ai.providers.openai").OpenAIProvider(base_url=url, api_key="sk-none")
    agent = importlib.import_module("pydantic_ai").Agent(model("fast", provider=provider))
    bare = Bare("httpx2", url)
    messages = [{"role": "user", "content": ASK}]
    body = {"model": "fast", "messages": messages, "stream": False, "max_completion_tokens": 200}
    post = bare.post(json.dumps(body).encode())
    return {"pydantic_ai.Agent.run": (lambda: agent.run(ASK, model_settings={"max_tokens": 200}), post)}


CLIENTS: Mapping[str, Callable[[str], Awaitable[Calls]]] = {
    "helmdeck": helmdeck,
    "litellm": litellm,
    "pydantic_ai": pydantic_ai,
}


async def timed(call: Call, at_once: int) -> float:
    """Seconds per call."""
    start = time.perf_counter()
    if at_once == 1:
        await call()
    else:
        await asyncio.gather(*(call() for _ in range(at_once)))
    return (time.perf_counter() - start) / at_once


async def compare(calls: Calls) -> None:
    """Print a line of JSON per call and number at once; call and bare request take turns."""
    for name, pair in calls.items():
        for at_once, rounds in ROUNDS.items():
            times: list[list[float]] = [[], []]
            for number in range(rounds + rounds // 10):
                for column, call in zip(times, pair, strict=True):
                    seconds = await timed(call, at_once)
                    if number >= rounds // 10:  # the first ones open connections
                        column.append(seconds)
            ours, bare = (statistics.median(column) for column in times)
            best = min(times[0]) / min(times[1])
            row = {"call": name, "at_once": at_once, "p50_us": ours * 1e6, "bare_us": bare * 1e6}
            print(json.dumps({**row, "ratio": ours / bare, "best": best}), flush=True)


async def waiting(calls: Calls) -> None:
    """Print the processor's time for a call, where all of them wait for their answers at once."""
    for name, pair in calls.items():
        for at_once in WAITING:
            times: list[list[float]] = [[], []]
            for number in range(8):
                for column, call in zip(times, pair, strict=True):
                    start = time.process_time()
                    await asyncio.gather(*(call() for _ in range(at_once)))
                    if number:  # the first ones open connections
                        column.append((time.process_time() - start) / at_once)
            ours, bare = (statistics.median(column) * 1e6 for column in times)
            row = {"call": name, "at_once": at_once, "us": ours, "bare_us": bare}
            print(json.dumps({**row, "best": min(times[0]) / min(times[1])}), flush=True)


async def memory(url: str, count: int) -> None:
    """Print what stays allocated after many calls."""
    for name, (call, _) in (await helmdeck(url)).items():
        for _ in range(500):
            await call()
        tracemalloc.start()
        held = []
        for _ in range(5):
            for _ in range(count // 5):
                await call()
            held.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        print(json.dumps({"call": name, "held_bytes": held}), flush=True)


def main() -> None:
    """``clients.py NAME URL`` measures calls, with ``waiting`` behind it such that wait; ``memory`` is a name, too."""
    warnings.simplefilter("ignore")
    name, url, *more = sys.argv[1:]

    async def run() -> None:
        if name == "memory":
            await memory(url, int(more[0]))
        elif more == ["waiting"]:
            await waiting(await CLIENTS[name](url.replace("/v1", "/v1/slow")))
        else:
            await compare(await CLIENTS[name](url))

    asyncio.run(run())


if __name__ == "__main__":
    main()
