"""Runs one contestant through all cases at once, with its default settings and one fallback, in its own environment."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.metadata
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from benchmarks.faults.cases import CASES, FIRST_KEY, SECOND_KEY, Case
from benchmarks.faults.upstream import ANSWER, Upstream

LIMIT_S = 30.0
ASK = "When is the tide?"

Ask = Callable[[bool], AsyncIterator[str]]
"""Takes whether to stream; yields the text."""


@contextlib.asynccontextmanager
async def openai(primary: str, _fallback: str, case: Case) -> AsyncIterator[Ask]:
    """The client of the package openai, which retries and has no fallback."""
    library: Any = importlib.import_module("openai")
    async with library.AsyncOpenAI(base_url=primary, api_key=_keys(case)[0]) as client:
        create = client.chat.completions.create
        yield lambda streams: _texts(create(model="m", messages=_messages(case), stream=streams))


@contextlib.asynccontextmanager
async def litellm(primary: str, fallback: str, case: Case) -> AsyncIterator[Ask]:
    """LiteLLM's Router with a fallback."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    library: Any = importlib.import_module("litellm")
    library.suppress_debug_info = True
    rows = [
        {"model_name": name, "litellm_params": {"model": "openai/m", "api_base": url, "api_key": key}}
        for name, url, keys in (("primary", primary, _keys(case)), ("backup", fallback, ("sk-none",)))
        for key in keys
    ]
    router = library.Router(model_list=rows, fallbacks=[{"primary": ["backup"]}] if case.fallback else [])
    yield lambda streams: _texts(router.acompletion(model="primary", messages=_messages(case), stream=streams))


def _messages(case: Case) -> list[dict[str, str]]:
    return [{"role": "user", "content": ASK + " " * case.size}]


def _keys(case: Case) -> Sequence[str]:
    return (FIRST_KEY, SECOND_KEY) if case.key_fault else ("sk-none",)


async def _texts(answering: Awaitable[Any]) -> AsyncIterator[str]:
    """The text of a chat completion, in the form of the package openai."""
    answer = await answering
    if hasattr(answer, "choices"):
        yield answer.choices[0].message.content or ""
        return
    async for chunk in answer:
        for choice in chunk.choices:
            yield choice.delta.content or ""


@contextlib.asynccontextmanager
async def helmdeck(primary: str, fallback: str, case: Case) -> AsyncIterator[Ask]:
    """A deck with a fallback."""
    core: Any = importlib.import_module("helmdeck_core")
    text = core.TextPart(_messages(case)[0]["content"])
    request = core.ChatRequest(model=_model(case), messages=(core.Message(core.Role.USER, (text,)),))
    async with _deck(primary, fallback, case) as deck:

        async def ask(streams: bool) -> AsyncIterator[str]:
            if not streams:
                yield (await deck.acomplete(request)).text
                return
            async for item in deck.astream(request):
                if isinstance(item, core.ChatDelta):
                    yield item.text

        yield ask


@contextlib.asynccontextmanager
async def gateway(primary: str, fallback: str, case: Case) -> AsyncIterator[Ask]:
    """The gateway with a fallback, and a client without retries."""
    aiohttp: Any = importlib.import_module("aiohttp")
    server_module: Any = importlib.import_module("helmdeck_gateway.http_server.server")
    live_module: Any = importlib.import_module("helmdeck_gateway.http_server.live_gateway")
    gateways: Any = importlib.import_module("helmdeck_gateway")
    async with _deck(primary, fallback, case) as deck:
        listener = server_module.Address(port=0).listen()
        server = server_module.http_server(live_module.LiveGateway(gateways.Gateway(deck)))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1/chat/completions"
        async with aiohttp.ClientSession() as session:

            async def ask(streams: bool) -> AsyncIterator[str]:
                body = {"model": _model(case), "messages": _messages(case), "stream": streams}
                async with session.post(url, json=body) as response:
                    if not streams or response.status != 200:
                        yield _checked(await response.json())["choices"][0]["message"]["content"]
                        return
                    async for line in response.content:
                        if line.startswith(b"data: {"):
                            for choice in _checked(json.loads(line[6:])).get("choices", ()):
                                yield choice["delta"].get("content") or ""

            try:
                yield ask
            finally:
                server.should_exit = True
                await serving


class GatewayError(Exception):
    """An error of the gateway; its code is shown."""


def _checked(body: Any) -> Any:
    if "error" in body:
        raise type(body["error"]["code"], (GatewayError,), {})()
    return body


def _deck(primary: str, fallback: str, case: Case) -> Any:
    """A deck with default settings and the fallback of the case."""
    make_deck: Any = importlib.import_module("helmdeck_testing").make_deck
    # Models of vLLM are known to take prefill.
    providers: dict[str, dict[str, Any]] = {
        "first": {"kind": "openai", "base_url": primary},
        "vllm": {"base_url": primary},
        "backup": {"kind": "openai", "base_url": fallback},
    }
    if case.key_fault:
        variables = {f"BENCHMARK_{number}": key for number, key in enumerate(_keys(case))}
        os.environ.update(variables)
        providers["first"]["api_keys"] = [f"env:{name}" for name in variables]
        providers["first"]["routing"] = "in-order"  # the one that fails is first
    chain = {"": ["backup/m"]} if case.fallback else {}
    return make_deck(config={"providers": providers, "fallback": chain, "events": {"sinks": ["gateway"]}})


def _model(case: Case) -> str:
    return "first/m" if case.prefill_status is None else "vllm/m"


Contestant = Callable[[str, str, Case], contextlib.AbstractAsyncContextManager[Ask]]
"""Takes both base URLs and the case; opens a client."""

CONTESTANTS: dict[str, tuple[Contestant, str]] = {
    "openai": (openai, "openai"),
    "litellm": (litellm, "litellm"),
    "helmdeck": (helmdeck, "helmdeck"),
    "gateway": (gateway, "helmdeck"),
}
"""By name: the function, and the distribution whose version is reported."""


async def outcome(
    contestant: Contestant, name: str, case: Case, streams: bool, ready: asyncio.Barrier
) -> dict[str, Any]:
    """Run one case.

    :param ready: all cases start when all clients exist, whose imports and set-up are not part of a case.
    """
    text, error = "", ""
    async with (
        Upstream(
            case.primary,
            prefill_status=case.prefill_status or 200,
            key_faults={FIRST_KEY: case.key_fault} if case.key_fault else None,
        ) as one,
        Upstream(case.fallback or ("good",)) as two,
        contestant(case.base_url(one.base_url), two.base_url, case) as ask,
    ):
        await ready.wait()
        start_s = time.monotonic()
        try:
            async with asyncio.timeout(LIMIT_S):
                for _ in range(case.calls):
                    text = ""
                    async for part in ask(streams):
                        text += part
        except TimeoutError:
            error = "timeout"
        except Exception as exc:
            error = type(exc).__name__
        seconds = time.monotonic() - start_s
        requests = len(one.requests) + len(two.requests)
        is_home = bool(one.requests and not two.requests)
        is_early = one.first_pause_s < case.least_s
    is_whole, is_begun = text == ANSWER and not error, ANSWER.startswith(text)
    kind = "complete" if is_whole else "nothing" if not text else "half" if is_begun else "wrong"
    facts = {"is_home": is_home, "is_early": is_early}
    return {"case": name, "kind": kind, "error": error, "seconds": seconds, "requests": requests, **facts}


async def main(name: str, streams: bool) -> None:
    """Print one line of JSON per case, and last the version."""
    contestant, distribution = CONTESTANTS[name]
    await outcome(contestant, "none", CASES["none"], streams, asyncio.Barrier(1))  # lazy imports
    ready = asyncio.Barrier(len(CASES))
    rows = await asyncio.gather(*(outcome(contestant, each, case, streams, ready) for each, case in CASES.items()))
    for row in rows:
        print(json.dumps(row))
    print(json.dumps({"version": f"{distribution} {importlib.metadata.version(distribution)}"}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2] == "streamed"))
