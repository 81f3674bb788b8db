"""What each client does for one call; runs in the environment of that client, beside a bare request of the same bytes.

Times are of the processor, so that a busy machine changes them little; call and bare request take turns.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import json
import os
import statistics
import sys
import time
import tracemalloc
import warnings
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

# A separate distribution; if it is installed, the same code is found.
sys.path.append(str(Path(__file__).parents[2] / "contrib_transports" / "aiohttp" / "src"))

ASK = "draft a blog post about tea"
PATH = "/chat/completions"
ROUNDS = {1: 300, 64: 20}
"""Concurrent calls, and how often that many are made."""
BARE_ROUNDS = {1: 300, 64: 20, 256: 8}
"""The same for the libraries alone."""
WAITING = (1, 16, 64, 256)
"""Concurrent calls that wait for their responses."""

Call = Callable[[], Awaitable[Any]]
Calls = dict[str, tuple[Call, Call]]
"""Name to a call and the bare request of the same bytes."""


def bare(library: str, url: str) -> Callable[[bytes], Call]:
    """What makes a call that posts a body with a library and decodes the JSON of the response."""
    headers = {"content-type": "application/json"}
    module = importlib.import_module(library)
    if library == "aiohttp":
        session = module.ClientSession(connector=module.TCPConnector(limit=0))

        def with_session(body: bytes) -> Call:
            async def call() -> None:
                async with session.post(url + PATH, data=body, headers=headers) as response:
                    json.loads(await response.read())

            return call

        return with_session
    client = module.AsyncClient(limits=module.Limits(max_connections=None))

    def with_client(body: bytes) -> Call:
        async def call() -> None:
            response = await client.post(url + PATH, content=body, headers=headers)
            response.json()

        return call

    return with_client


TRANSPORTS = {"httpx": "httpx2", "aiohttp": "aiohttp"}
"""The transports, and the library that each is compared with."""


async def helmdeck(url: str) -> Calls:
    """``acomplete`` and ``aplan`` over both transports."""
    core, testing = importlib.import_module("helmdeck_core"), importlib.import_module("helmdeck_testing")
    budget = {"tier": "A", "input_tokens": 100_000}

    def deck_at(base_url: str, transport: str = "httpx", **config: Any) -> Any:
        given = {"providers": {"vllm": {"base_url": base_url}}, "budgets": {"vllm/": budget}}
        plugins = [importlib.import_module("helmdeck_transport_aiohttp")] if transport == "aiohttp" else []
        return testing.make_deck(*plugins, config={**given, "http": {"transport": transport}, **config})

    request = core.ChatRequest(
        model="vllm/fast", messages=(core.Message(core.Role.USER, (core.TextPart(ASK),)),), max_tokens=200
    )
    with testing.chat_server(lambda _: testing.completion("{}")) as server:
        async with deck_at(server.base_url, recovery={"max_attempts": 1}) as other:
            await other.acomplete(request)
            with contextlib.suppress(core.CallFailed):
                await other.aplan(ASK, model="vllm/fast")
        # As they were sent, to the byte.
        small, large = (
            json.dumps(each.body, ensure_ascii=False, separators=(",", ":")).encode() for each in server.requests[:2]
        )
    calls: Calls = {}
    for transport, library in TRANSPORTS.items():
        deck, post = deck_at(url, transport), bare(library, url)
        calls[f"deck.acomplete, {transport}"] = (functools.partial(deck.acomplete, request), post(small))
        calls[f"deck.aplan, {transport}"] = (functools.partial(deck.aplan, ASK, model="vllm/fast"), post(large))
    return calls


async def litellm(url: str) -> Calls:
    """``acompletion`` of the library and of its router."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    library: Any = importlib.import_module("litellm")
    library.suppress_debug_info = True
    messages = [{"role": "user", "content": ASK}]
    given = {"api_base": url, "api_key": "sk-none"}
    row = {"model_name": "fast", "litellm_params": {"model": "openai/fast", **given}}
    router = library.Router(model_list=[row], fallbacks=[], num_retries=0)
    post = bare("httpx", url)(json.dumps({"model": "fast", "messages": messages, "max_tokens": 200}).encode())
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
    messages = [{"role": "user", "content": ASK}]
    body = {"model": "fast", "messages": messages, "stream": False, "max_completion_tokens": 200}
    post = bare("httpx2", url)(json.dumps(body).encode())
    return {"pydantic_ai.Agent.run": (lambda: agent.run(ASK, model_settings={"max_tokens": 200}), post)}


CLIENTS: Mapping[str, Callable[[str], Awaitable[Calls]]] = {
    "helmdeck": helmdeck,
    "litellm": litellm,
    "pydantic_ai": pydantic_ai,
}


async def timed(call: Call, at_once: int) -> float:
    """Seconds of the processor per call."""
    start = time.process_time()
    if at_once == 1:
        await call()
    else:
        await asyncio.gather(*(call() for _ in range(at_once)))
    return (time.process_time() - start) / at_once


async def in_turns(calls: Mapping[str, Call], at_once: int, rounds: int) -> dict[str, list[float]]:
    """Seconds of the processor per call, by name; the calls take turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds + rounds // 10 + 1):
        for name, call in calls.items():
            seconds = await timed(call, at_once)
            if number > rounds // 10:  # the first ones open connections
                times[name].append(seconds)
    return times


async def compare(calls: Calls) -> None:
    """Print a line of JSON per call and number of concurrent calls."""
    for name, (call, post) in calls.items():
        for at_once, rounds in ROUNDS.items():
            times = await in_turns({"ours": call, "bare": post}, at_once, rounds)
            ours, alone = (statistics.median(column) for column in times.values())
            best = min(times["ours"]) / min(times["bare"])
            row = {"call": name, "at_once": at_once, "p50_us": ours * 1e6, "bare_us": alone * 1e6}
            print(json.dumps({**row, "ratio": ours / alone, "best": best}), flush=True)


async def libraries(url: str) -> None:
    """Print what a POST costs with each library alone."""
    body = json.dumps({"model": "fast", "messages": [{"role": "user", "content": ASK}], "max_tokens": 200}).encode()
    calls = {library: bare(library, url)(body) for library in ("httpx", "httpx2", "aiohttp")}
    for at_once, rounds in BARE_ROUNDS.items():
        times = await in_turns(calls, at_once, rounds)
        found = {library: statistics.median(column) * 1e6 for library, column in times.items()}
        print(json.dumps({"at_once": at_once, **found}), flush=True)


async def waiting(calls: Calls) -> None:
    """Print the same where all calls wait for their responses at once."""
    for name, (call, post) in calls.items():
        for at_once in WAITING:
            times = await in_turns({"ours": call, "bare": post}, at_once, 7)
            ours, alone = (statistics.median(column) * 1e6 for column in times.values())
            row = {"call": name, "at_once": at_once, "us": ours, "bare_us": alone}
            print(json.dumps({**row, "best": min(times["ours"]) / min(times["bare"])}), flush=True)


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
    """``clients.py NAME URL`` measures calls, with ``waiting`` behind it such that wait; ``memory`` and ``libraries`` are names, too."""
    warnings.simplefilter("ignore")
    name, url, *more = sys.argv[1:]

    async def run() -> None:
        if name == "memory":
            await memory(url, int(more[0]))
        elif name == "libraries":
            await libraries(url)
        elif more == ["waiting"]:
            await waiting(await CLIENTS[name](url.replace("/v1", "/v1/slow")))
        else:
            await compare(await CLIENTS[name](url))

    asyncio.run(run())


if __name__ == "__main__":
    main()
