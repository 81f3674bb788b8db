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
MESSAGES = [{"role": "user", "content": ASK}]

Ask = Callable[[bool], AsyncIterator[str]]
"""Takes whether to stream; yields the text."""


@contextlib.asynccontextmanager
async def openai(primary: str, _fallback: str, case: Case) -> AsyncIterator[Ask]:
    """The client of the package openai, which retries and has no fallback."""
    library: Any = importlib.import_module("openai")
    async with library.AsyncOpenAI(base_url=primary, api_key=_keys(case)[0]) as client:
        yield lambda streams: _texts(client.chat.completions.create(model="m", messages=MESSAGES, stream=streams))


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
    router = library.Router(model_list=rows, fallbacks=[{"primary": ["backup"]}])
    yield lambda streams: _texts(router.acompletion(model="primary", messages=MESSAGES, stream=streams))


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
    model = "first/m" if case.prefill_status is None else "vllm/m"
    request = core.ChatRequest(model=model, messages=(core.Message(core.Role.USER, (core.TextPart(ASK),)),))
    async with make_deck(config={"providers": providers, "fallback": {"": ["backup/m"]}}) as deck:

        async def ask(streams: bool) -> AsyncIterator[str]:
            if not streams:
                yield (await deck.acomplete(request)).text
                return
            async for item in deck.astream(request):
                if isinstance(item, core.ChatDelta):
                    yield item.text

        yield ask


Contestant = Callable[[str, str, Case], contextlib.AbstractAsyncContextManager[Ask]]
"""Takes both base URLs and the case; opens a client."""

CONTESTANTS: dict[str, tuple[Contestant, str]] = {
    "openai": (openai, "openai"),
    "litellm": (litellm, "litellm"),
    "helmdeck": (helmdeck, "helmdeck"),
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
        Upstream(case.fallback) as two,
        contestant(one.base_url, two.base_url, case) as ask,
    ):
        await ready.wait()
        start_s = time.monotonic()
        try:
            async with asyncio.timeout(LIMIT_S):
                async for part in ask(streams):
                    text += part
        except TimeoutError:
            error = "timeout"
        except Exception as exc:
            error = type(exc).__name__
        seconds = time.monotonic() - start_s
        requests = len(one.requests) + len(two.requests)
    is_whole, is_begun = text == ANSWER and not error, ANSWER.startswith(text)
    kind = "complete" if is_whole else "nothing" if not text else "half" if is_begun else "wrong"
    return {"case": name, "kind": kind, "error": error, "seconds": seconds, "requests": requests}


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
