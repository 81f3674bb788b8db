"""What reading a stream takes beside a bare read of the same bytes; runs in the environment of the library that reads.

python -m benchmarks.overhead.streams helmdeck|litellm|pydantic_ai|first|drip URL    # prints lines of JSON
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
import time
import warnings
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

for _folder in ("contrib_providers/bedrock", "contrib_providers/cohere", "contrib_transports/aiohttp"):
    # Separate distributions; if they are installed, the same code is found.
    sys.path.append(str(Path(__file__).parents[2] / _folder / "src"))

PIECES = 10_000
FEW = 20
"""Chunks of a stream whose first delta is timed."""
ROUNDS = 15
FIRST_ROUNDS = 400
DRIPPED = 200
DRIP_S = 0.005
AT_ONCE = 24
"""Chunks of a slow stream, seconds between them, and number of concurrent streams."""

_PIECE_CHARS = 12
_KEYS = (
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "CO_API_KEY",
    "OPENAI_API_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
)
_ASK = "tea"


class Wire(NamedTuple):
    """One wire format.

    :ivar provider: who speaks it.
    :ivar path: path of streaming requests, including the model if it is part of the path.
    :ivar home: where its server format is defined, and the name there.
    """

    provider: str
    path: str
    home: tuple[str, str] = ("helmdeck_testing", "SERVER_FORMATS")


_CONTRIB = "contrib_providers.{}.tests.test_contract"
WIRES: Mapping[str, Wire] = {
    "openai-chat": Wire("vllm", "/chat/completions"),
    "openai-responses": Wire("openai-responses", "/responses"),
    "anthropic": Wire("anthropic", "/messages"),
    "gemini": Wire("gemini", "/models/{model}:streamGenerateContent"),
    "ollama": Wire("ollama", "/api/chat"),
    "cohere": Wire("cohere", "/v2/chat", (_CONTRIB.format("cohere"), "COHERE")),
    "bedrock": Wire("bedrock", "/model/{model}/converse-stream", (_CONTRIB.format("bedrock"), "CONVERSE")),
}
"""By the names of the wire formats."""


def written(name: str, kind: str, pieces: int) -> list[bytes]:
    """Return the bytes of a response: the head, then one chunk per event.

    :param kind: ``reasoning``, which is followed by a word, or anything else for text.
    """
    wire, answer_type = WIRES[name], importlib.import_module("helmdeck_testing").ScriptedAnswer
    found = getattr(importlib.import_module(wire.home[0]), wire.home[1])
    server_format = found[name] if wire.home[1] == "SERVER_FORMATS" else found
    text = "".join(f" word{number:07}" for number in range(pieces))
    assert len(text) == pieces * _PIECE_CHARS
    events = server_format.events(
        answer_type(reasoning=text, text="so") if kind == "reasoning" else answer_type(text=text)
    )
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {server_format.content_type}\r\ntransfer-encoding: chunked\r\n\r\n"
    return [head.encode(), *(b"%x\r\n%b\r\n" % (len(data), data) for data in events), b"0\r\n\r\n"]


Way = Callable[[], Awaitable[int]]
"""Reads a stream once; returns the number of deltas, byte chunks or lines."""


def bare(library: str, url: str, name: str = "openai-chat", model: str = f"text-pieces-{PIECES}") -> Callable[[], Any]:
    """What requests a stream without anything around it."""
    module = importlib.import_module(library)
    body = json.dumps({"model": model, "stream": True}).encode()
    place = url + WIRES[name].path.format(model=model)
    if library == "aiohttp":
        session = module.ClientSession()
        return lambda: session.post(place, data=body)
    client = module.AsyncClient()
    return lambda: client.stream("POST", place, content=body)


def of_bytes(ask: Callable[[], Any], how: str = "aiter_bytes") -> Way:
    """The baseline: a bare read."""

    async def read() -> int:
        count = 0
        async with ask() as answer:
            async for _ in getattr(getattr(answer, "content", answer) if how.startswith("iter") else answer, how)():
                count += 1
        return count

    return read


def of_lines(ask: Callable[[], Any], decode: Callable[[str], Any]) -> Way:
    """A typical hand-written client."""

    async def read() -> int:
        count = 0
        async with ask() as answer:
            async for line in answer.aiter_lines():
                if line.startswith("data: {"):
                    decode(line[6:])
                    count += 1
        return count

    return read


def of_events(ask: Callable[[], Any], decode: Callable[[bytes], Any]) -> Way:
    """The least that a client does that returns events: cuts what has arrived and decodes it."""

    async def read() -> int:
        count, rest = 0, b""
        async with ask() as answer:
            async for chunk in answer.content.iter_any():
                *events, rest = (rest + chunk).split(b"\n\n")
                for event in events:
                    if event.startswith(b"data: {"):
                        decode(event[6:])
                        count += 1
        return count

    return read


def deck_and_request(
    url: str, name: str = "openai-chat", model: str = f"text-pieces-{PIECES}", transport: str = "httpx"
) -> tuple[Any, Any]:
    """A deck, and a request for a stream."""
    core, testing = importlib.import_module("helmdeck_core"), importlib.import_module("helmdeck_testing")
    os.environ.update(dict.fromkeys(_KEYS, "none"))
    plugins = [importlib.import_module(f"helmdeck_provider_{name}")] if name in ("cohere", "bedrock") else []
    plugins += [importlib.import_module("helmdeck_transport_aiohttp")] if transport == "aiohttp" else []
    options: dict[str, Any] = {"options": {"region": "eu-north-1"}} if name == "bedrock" else {}
    provider = WIRES[name].provider
    config = {"providers": {provider: {"base_url": url, **options}}, "http": {"transport": transport}}
    deck = testing.make_deck(*plugins, config=config)
    messages = (core.Message(core.Role.USER, (core.TextPart(_ASK),)),)
    return deck, core.ChatRequest(model=f"{provider}/{model}", messages=messages)


def of_deck(deck: Any, request: Any) -> Way:
    """``deck.astream``."""

    async def read() -> int:
        count = 0
        async for _ in deck.astream(request):
            count += 1
        return count

    return read


def of_waiting(deck: Any, request: Any) -> Way:
    """``deck.stream``, in its own thread."""
    return lambda: asyncio.to_thread(lambda: sum(1 for _ in deck.stream(request)))


async def compare(ways: Mapping[str, Way], **about: str) -> None:
    """Read one stream in every way, in turns, and print seconds of the processor and of the clock."""
    times: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    counted: dict[str, int] = {}
    for number in range(ROUNDS + 1):
        for way, read in ways.items():
            start, start_cpu = time.perf_counter(), time.process_time()
            counted[way] = await read()
            if number:  # the first rounds open connections
                times[way].append((time.process_time() - start_cpu, time.perf_counter() - start))
    print(json.dumps({**about, "counted": counted, "times": times}), flush=True)


async def helmdeck(url: str) -> None:
    """All wire formats; of one of them, other ways to read it as well."""
    for name in WIRES:
        for kind in ("text", "reasoning"):
            model = f"{kind}-pieces-{PIECES}"
            ask, over_aiohttp = bare("httpx2", url, name, model), bare("aiohttp", url, name, model)
            ways = {"aiter_bytes": of_bytes(ask), "iter_any": of_bytes(over_aiohttp, "iter_any")}
            for transport in ("httpx", "aiohttp"):
                ways[f"deck.astream, {transport}"] = of_deck(*deck_and_request(url, name, model, transport))
            if model == f"text-pieces-{PIECES}" and name == "openai-chat":
                ways |= {
                    "deck.stream, httpx": of_waiting(*deck_and_request(url, name, model)),
                    "iter_chunks": of_bytes(over_aiohttp, "iter_chunks"),
                    "iter_any, msgspec": of_events(over_aiohttp, importlib.import_module("msgspec").json.decode),
                    "aiter_lines": of_bytes(ask, "aiter_lines"),
                    "aiter_lines, msgspec": of_lines(ask, importlib.import_module("msgspec").json.decode),
                }
            await compare(ways, wire_format=name, kind=kind)


async def litellm(url: str) -> None:
    """``acompletion`` of the library, streamed."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    library: Any = importlib.import_module("litellm")
    library.suppress_debug_info = True
    messages = [{"role": "user", "content": _ASK}]
    options = {"api_base": url, "api_key": "sk-none", "stream": True}

    async def read() -> int:
        count = 0
        async for _ in await library.acompletion(model=f"openai/text-pieces-{PIECES}", messages=messages, **options):
            count += 1
        return count

    await compare({"aiter_bytes": of_bytes(bare("httpx", url)), "litellm.acompletion": read})


async def pydantic_ai(url: str) -> None:
    """An agent without tools, streamed."""
    model = importlib.import_module("pydantic_ai.models.openai").OpenAIChatModel
    provider = importlib.import_module("pydantic_ai.providers.openai").OpenAIProvider(base_url=url, api_key="sk-none")
    agent = importlib.import_module("pydantic_ai").Agent(model(f"text-pieces-{PIECES}", provider=provider))

    async def read() -> int:
        count = 0
        async with agent.run_stream(_ASK) as result:
            async for _ in result.stream_text(delta=True, debounce_by=None):
                count += 1
        return count

    await compare({"aiter_bytes": of_bytes(bare("httpx2", url)), "pydantic_ai.Agent.run_stream": read})


async def first(url: str) -> None:
    """Print the seconds until the first bytes of a short stream, and until its first piece, in turns."""
    ask, (deck, request) = (
        bare("httpx2", url, model=f"text-pieces-{FEW}"),
        deck_and_request(url, model=f"text-pieces-{FEW}"),
    )
    found: dict[str, list[float]] = {"aiter_bytes": [], "deck.astream": []}

    async def bytes_alone() -> float:
        start, took = time.perf_counter(), 0.0
        async with ask() as answer:
            async for _ in answer.aiter_bytes():
                took = took or time.perf_counter() - start
        return took

    async def pieces() -> float:
        start, took = time.perf_counter(), 0.0
        async for _ in deck.astream(request):
            took = took or time.perf_counter() - start
        return took

    for number in range(FIRST_ROUNDS + FIRST_ROUNDS // 10):
        for column, timed in zip(found.values(), (bytes_alone, pieces), strict=True):
            took = await timed()
            if number >= FIRST_ROUNDS // 10:
                column.append(took)
    print(json.dumps(found), flush=True)


async def drip(url: str) -> None:
    """Print the CPU seconds per event of several slow concurrent streams."""
    ask, (deck, request) = (
        bare("httpx2", url, model=f"drip-pieces-{DRIPPED}"),
        deck_and_request(url, model=f"drip-pieces-{DRIPPED}"),
    )
    found: dict[str, list[float]] = {"aiter_bytes": [], "deck.astream": []}
    for number in range(ROUNDS // 3 + 1):
        for column, read in zip(found.values(), (of_bytes(ask), of_deck(deck, request)), strict=True):
            start = time.process_time()
            counted = await asyncio.gather(*(read() for _ in range(AT_ONCE)))
            if number:
                column.append((time.process_time() - start) / sum(counted))
    print(json.dumps(found), flush=True)


def main() -> None:
    """Run one measurement."""
    warnings.simplefilter("ignore")
    name, url = sys.argv[1:]
    asyncio.run({each.__name__: each for each in (helmdeck, litellm, pydantic_ai, first, drip)}[name](url))


if __name__ == "__main__":
    main()
