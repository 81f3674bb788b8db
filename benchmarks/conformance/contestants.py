"""Runs one contestant with a failing model, with and without a good fallback, in the contestant's environment.

Each contestant is configured for fallbacks as its documentation recommends, with a timeout of one second. Every mode runs
twice: with the fallback, and without it to see the name of the failure. The request is for an object, or for streamed text.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.metadata
import json
import os
import sys
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any

TIMEOUT_S = 1.0
MAX_WAIT_S = 25.0
"""Timeout after which a contestant is reported as waiting forever."""
GOOD = "good"
ASK = "How is the weather in Oslo?"
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "celsius": {"type": "integer"}},
    "required": ["city", "celsius"],
    "additionalProperties": False,
}

Ask = Callable[[tuple[str, ...]], Awaitable[Any]]
"""Takes the models in fallback order; returns the response or raises."""


class Streamed(Exception):
    """An interrupted stream with its partial text; the cause is chained."""


AskStream = Callable[[tuple[str, ...]], Awaitable[tuple[str, str | None]]]
"""The streaming variant; returns the text and the finish reason, if any.

:raises Streamed: the stream was interrupted after the first delta.
"""


def weather_type() -> Any:
    """Return a Pydantic model, which all three libraries require."""
    return importlib.import_module("pydantic").create_model("Weather", city=(str, ...), celsius=(int, ...))


async def collect(deltas: AsyncIterator[str]) -> str:
    """Join the deltas of a stream.

    :raises Streamed: the stream was interrupted after the first delta.
    """
    text = ""
    try:
        async for delta in deltas:
            text += delta
    except Exception as exc:
        if text:
            raise Streamed(text) from exc
        raise
    return text


def _router(url: str, models: tuple[str, ...]) -> Any:
    """LiteLLM's router with fallbacks; content-policy fallbacks are a separate list."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    litellm: Any = importlib.import_module("litellm")
    litellm.suppress_debug_info = True
    first, *others = models
    rows = [
        {"model_name": name, "litellm_params": {"model": f"openai/{name}", "api_base": url, "api_key": "sk-none"}}
        for name in models
    ]
    chain = [{first: others}] if others else []
    return litellm.Router(
        model_list=rows, fallbacks=chain, content_policy_fallbacks=chain, timeout=TIMEOUT_S, num_retries=1
    )


def litellm_router(url: str, **options: Any) -> Ask:
    """LiteLLM's router."""
    weather = weather_type()

    async def ask(models: tuple[str, ...]) -> Any:
        answer = await _router(url, models).acompletion(
            model=models[0],
            messages=[{"role": "user", "content": ASK}],
            response_format=weather,
            max_tokens=200,
            **options,
        )
        return answer.choices[0].message.content

    return ask


def litellm_validated(url: str) -> Ask:
    """LiteLLM's router with schema validation."""
    return litellm_router(url, enable_json_schema_validation=True)


def litellm_stream(url: str) -> AskStream:
    """LiteLLM's router, streamed."""

    async def ask(models: tuple[str, ...]) -> tuple[str, str | None]:
        reason = None

        async def deltas() -> AsyncIterator[str]:
            nonlocal reason
            messages = [{"role": "user", "content": ASK}]
            stream = await _router(url, models).acompletion(
                model=models[0], messages=messages, max_tokens=200, stream=True
            )
            async for chunk in stream:
                for choice in chunk.choices:
                    reason = choice.finish_reason or reason
                    yield choice.delta.content or ""

        return await collect(deltas()), reason

    return ask


def _chain(url: str, models: tuple[str, ...]) -> Any:
    """pydantic-ai's ``FallbackModel`` with the default causes of its capability ``ModelFallback``."""
    exceptions = importlib.import_module("pydantic_ai.exceptions")
    fallback = importlib.import_module("pydantic_ai.models.fallback").FallbackModel
    model = importlib.import_module("pydantic_ai.models.openai").OpenAIChatModel
    provider = importlib.import_module("pydantic_ai.providers.openai").OpenAIProvider(base_url=url, api_key="sk-none")
    causes = (exceptions.ModelAPIError, exceptions.ContentFilterError, exceptions.OutputTokenLimitExceeded)
    first, *others = (model(name, provider=provider) for name in models)
    return fallback(first, *others, fallback_on=causes) if others else first


_SETTINGS = {"timeout": TIMEOUT_S, "max_tokens": 200}


def pydantic_ai(url: str) -> Ask:
    """pydantic-ai's agent, with native structured output."""
    root, weather = importlib.import_module("pydantic_ai"), weather_type()

    async def ask(models: tuple[str, ...]) -> Any:
        agent = root.Agent(_chain(url, models), output_type=root.NativeOutput(weather))
        run = await agent.run(ASK, model_settings=_SETTINGS)
        return run.output.model_dump_json()

    return ask


def pydantic_ai_stream(url: str) -> AskStream:
    """pydantic-ai's agent, streamed."""
    root = importlib.import_module("pydantic_ai")

    async def ask(models: tuple[str, ...]) -> tuple[str, str | None]:
        reason = None

        async def deltas() -> AsyncIterator[str]:
            nonlocal reason
            async with root.Agent(_chain(url, models)).run_stream(ASK, model_settings=_SETTINGS) as run:
                async for delta in run.stream_text(delta=True, debounce_by=None):
                    yield delta
                reason = run.response.finish_reason

        return await collect(deltas()), reason

    return ask


def instructor(url: str) -> Ask:
    """The library instructor with a loop over the models, since it has no fallbacks."""
    library, openai = importlib.import_module("instructor"), importlib.import_module("openai")
    weather = weather_type()

    async def ask(models: tuple[str, ...]) -> Any:
        client = library.from_openai(
            openai.AsyncOpenAI(base_url=url, api_key="sk-none", timeout=TIMEOUT_S), mode=library.Mode.JSON_SCHEMA
        )
        failure: Exception = RuntimeError("no model")
        for name in models:
            try:
                found = await client.chat.completions.create(
                    model=name,
                    response_model=weather,
                    messages=[{"role": "user", "content": ASK}],
                    max_tokens=200,
                )
                return found.model_dump_json()
            except Exception as exc:
                failure = exc
        raise failure

    return ask


def helmdeck(url: str) -> Ask:
    """Helmdeck with a fallback chain, called by a pack."""
    testing, core = importlib.import_module("helmdeck_testing"), importlib.import_module("helmdeck_core")
    msgspec = importlib.import_module("msgspec")
    weather = msgspec.defstruct("Weather", [("city", str), ("celsius", int)])

    class Weather:
        @core.hookimpl  # type: ignore[untyped-decorator]
        def helmdeck_packs(self) -> Any:
            return [core.Pack(name="weather.ask", version="1", description="Returns the weather.", run=run)]

        @core.hookimpl  # type: ignore[untyped-decorator]
        def helmdeck_prompt_variants(self) -> Any:
            instructions = f"Answer with one JSON object of this schema: {json.dumps(SCHEMA)}"
            names = ("full_steps", "single_pick")
            return [
                core.PromptVariant(
                    task="weather", variant=name, instructions=instructions, render=lambda task: task.request
                )
                for name in names
            ]

    async def run(context: Any, arguments: Mapping[str, Any]) -> Any:
        question = core.Question(
            caller="weather.ask", task="weather", type=weather, request=arguments["ask"], needs_catalog=False
        )
        return msgspec.to_builtins((await context.ask(question)).value)

    async def ask(models: tuple[str, ...]) -> Any:
        first, *others = (f"llamacpp/{name}" for name in models)
        config: dict[str, Any] = {"providers": {"llamacpp": {"base_url": url, "timeout_s": TIMEOUT_S}}}
        config |= {"fallback": {first: others}} if others else {"recovery": {"max_attempts": 1}}
        async with testing.make_deck(Weather(), config=config) as deck:
            return json.dumps(await deck.arun("weather.ask", {"ask": ASK}, model=first))

    return ask


def helmdeck_stream(url: str) -> AskStream:
    """Helmdeck with a fallback chain, streamed."""
    testing, core = importlib.import_module("helmdeck_testing"), importlib.import_module("helmdeck_core")

    async def ask(models: tuple[str, ...]) -> tuple[str, str | None]:
        first, *others = (f"llamacpp/{name}" for name in models)
        config: dict[str, Any] = {"providers": {"llamacpp": {"base_url": url, "timeout_s": TIMEOUT_S}}}
        config |= {"fallback": {first: others}} if others else {"recovery": {"max_attempts": 1}}
        message = core.Message(core.Role.USER, (core.TextPart(ASK),))
        request = core.ChatRequest(model=first, messages=(message,), max_tokens=200)
        reason = None

        async def deltas() -> AsyncIterator[str]:
            nonlocal reason
            async with testing.make_deck(config=config) as deck:
                async for delta in deck.astream(request):
                    if isinstance(delta, core.ChatDelta):
                        yield delta.text
                    else:
                        reason = str(delta.stop_reason)

        return await collect(deltas()), reason

    return ask


CONTESTANTS: Mapping[str, Callable[[str], Ask]] = {
    "litellm": litellm_router,
    "litellm_validated": litellm_validated,
    "pydantic_ai": pydantic_ai,
    "instructor": instructor,
    "helmdeck": helmdeck,
}
STREAMS: Mapping[str, Callable[[str], AskStream]] = {
    "litellm": litellm_stream,
    "pydantic_ai": pydantic_ai_stream,
    "helmdeck": helmdeck_stream,
}
LIBRARIES = ("litellm", "pydantic-ai-slim", "instructor", "llm", "openai")


def names_of(exc: BaseException | None) -> Iterator[str]:
    """Yield the class names of an exception and its causes, most specific first."""
    seen: list[BaseException] = []
    left = [exc]
    while left:
        each = left.pop(0)
        if each is None or each in seen or len(seen) > 20:
            continue
        seen.append(each)
        yield from (kind.__name__ for kind in type(each).__mro__)
        left += [*getattr(each, "exceptions", ()), each.__cause__, each.__context__]


async def attempt(ask: Callable[[tuple[str, ...]], Awaitable[Any]], models: tuple[str, ...]) -> dict[str, Any]:
    """Call a contestant once; return its response or the name of its failure."""
    try:
        answer = await asyncio.wait_for(ask(models), MAX_WAIT_S)
    except TimeoutError as exc:
        names = list(names_of(exc))
        return {"failure": "waits forever" if names[0] == "TimeoutError" else names[0], "names": names}
    except Streamed as exc:
        return {"failure": type(exc.__cause__).__name__, "names": list(names_of(exc.__cause__)), "shown": str(exc)}
    except Exception as exc:
        return {"failure": type(exc).__name__, "names": list(names_of(exc))}
    if isinstance(answer, tuple):
        text, reason = answer
        return {"answer": text, "reason": reason, "is_good": is_good(text)}
    return {"answer": answer, "is_good": is_good(answer)}


def is_good(answer: Any) -> bool:
    """Whether it is the response of the good model."""
    try:
        value = json.loads(answer)
    except (TypeError, ValueError):
        return False
    return isinstance(value, dict) and set(value) == set(SCHEMA["properties"])  # type: ignore[call-overload]


def versions() -> dict[str, str]:
    """Return the versions of the installed libraries."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def main(contestants: Mapping[str, Callable[[str], Ask]] = CONTESTANTS) -> None:
    """``contestants.py NAME whole|streamed URL MODE...``: prints versions, then one JSON line per mode."""
    warnings.simplefilter("ignore")
    name, way, url, *modes = sys.argv[1:]
    ask: Any = (STREAMS if way == "streamed" else contestants)[name](url)
    print(json.dumps({"versions": versions()}))

    async def run() -> None:
        for mode in modes:
            chain = await attempt(ask, (f"{name}-{way}:{mode}", GOOD))
            alone = await attempt(ask, (f"{name}-{way}-alone:{mode}",))
            print(json.dumps({"mode": mode, "chain": chain, "alone": alone}), flush=True)

    asyncio.run(run())


if __name__ == "__main__":
    main()
