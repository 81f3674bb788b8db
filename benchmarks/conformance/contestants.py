"""What each contestant does with one failing model and a good one behind it; runs in the environment of that contestant.

Each is set up as its own documentation says for models that stand in for each other, with one second for a request. For
every mode it is asked twice: with the good model behind, and alone, to see what its failure is called. Asked for is an
object, or a text in pieces.
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
PATIENCE_S = 25.0
"""After which a contestant is taken to wait for ever."""
GOOD = "good"
ASK = "How is the weather in Oslo?"
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "celsius": {"type": "integer"}},
    "required": ["city", "celsius"],
    "additionalProperties": False,
}

Ask = Callable[[tuple[str, ...]], Awaitable[Any]]
"""Takes the models, the first one first; returns the answer or raises."""


class Streamed(Exception):
    """What had come of a stream that broke; its cause is why."""


AskStream = Callable[[tuple[str, ...]], Awaitable[tuple[str, str | None]]]
"""The same for a text in pieces; returns it with the reason for its end, as far as that is told.

:raises Streamed: it broke off behind a part that was given on.
"""


def weather_type() -> Any:
    """A model of pydantic; all three peers want one."""
    return importlib.import_module("pydantic").create_model("Weather", city=(str, ...), celsius=(int, ...))


async def collected(pieces: AsyncIterator[str]) -> str:
    """A text of pieces.

    :raises Streamed: it broke off behind a part.
    """
    text = ""
    try:
        async for piece in pieces:
            text += piece
    except Exception as exc:
        if text:
            raise Streamed(text) from exc
        raise
    return text


def _router(url: str, models: tuple[str, ...]) -> Any:
    """LiteLLM's router with fallbacks; content policy has a list of its own."""
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
    """The same, which checks answers against the schema when it is told to."""
    return litellm_router(url, enable_json_schema_validation=True)


def litellm_stream(url: str) -> AskStream:
    """LiteLLM's router, in pieces."""

    async def ask(models: tuple[str, ...]) -> tuple[str, str | None]:
        reason = None

        async def pieces() -> AsyncIterator[str]:
            nonlocal reason
            messages = [{"role": "user", "content": ASK}]
            stream = await _router(url, models).acompletion(
                model=models[0], messages=messages, max_tokens=200, stream=True
            )
            async for chunk in stream:
                for choice in chunk.choices:
                    reason = choice.finish_reason or reason
                    yield choice.delta.content or ""

        return await collected(pieces()), reason

    return ask


def _chain(url: str, models: tuple[str, ...]) -> Any:
    """pydantic-ai's FallbackModel, which moves on for all that its capability ``ModelFallback`` moves on for unasked."""
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
    """pydantic-ai's agent, in pieces."""
    root = importlib.import_module("pydantic_ai")

    async def ask(models: tuple[str, ...]) -> tuple[str, str | None]:
        reason = None

        async def pieces() -> AsyncIterator[str]:
            nonlocal reason
            async with root.Agent(_chain(url, models)).run_stream(ASK, model_settings=_SETTINGS) as run:
                async for piece in run.stream_text(delta=True, debounce_by=None):
                    yield piece
                reason = run.response.finish_reason

        return await collected(pieces()), reason

    return ask


def instructor(url: str) -> Ask:
    """instructor, whose way to another model is a loop around it."""
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
    """Helmdeck with a fallback chain; a pack asks."""
    testing, core = importlib.import_module("helmdeck_testing"), importlib.import_module("helmdeck_core")
    msgspec = importlib.import_module("msgspec")
    weather = msgspec.defstruct("Weather", [("city", str), ("celsius", int)])

    class Weather:
        @core.hookimpl  # type: ignore[untyped-decorator]
        def helmdeck_packs(self) -> Any:
            return [core.Pack(name="weather.ask", version="1", description="Tells the weather.", run=run)]

        @core.hookimpl  # type: ignore[untyped-decorator]
        def helmdeck_prompt_variants(self) -> Any:
            tell = f"Answer with one JSON object of this schema: {json.dumps(SCHEMA)}"
            names = ("full_steps", "single_pick")
            return [
                core.PromptVariant(task="weather", variant=name, instructions=tell, render=lambda task: task.request)
                for name in names
            ]

    async def run(context: Any, given: Mapping[str, Any]) -> Any:
        question = core.Question(
            caller="weather.ask", task="weather", type=weather, request=given["ask"], needs_catalog=False
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
    """Helmdeck with a fallback chain, in pieces."""
    testing, core = importlib.import_module("helmdeck_testing"), importlib.import_module("helmdeck_core")

    async def ask(models: tuple[str, ...]) -> tuple[str, str | None]:
        first, *others = (f"llamacpp/{name}" for name in models)
        config: dict[str, Any] = {"providers": {"llamacpp": {"base_url": url, "timeout_s": TIMEOUT_S}}}
        config |= {"fallback": {first: others}} if others else {"recovery": {"max_attempts": 1}}
        message = core.Message(core.Role.USER, (core.TextPart(ASK),))
        request = core.ChatRequest(model=first, messages=(message,), max_tokens=200)
        reason = None

        async def pieces() -> AsyncIterator[str]:
            nonlocal reason
            async with testing.make_deck(config=config) as deck:
                async for piece in deck.astream(request):
                    if isinstance(piece, core.ChatDelta):
                        yield piece.text
                    else:
                        reason = str(piece.stop_reason)

        return await collected(pieces()), reason

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
LIBRARIES = ("litellm", "pydantic-ai-slim", "instructor", "openai")


def names_of(exc: BaseException | None) -> Iterator[str]:
    """What an exception is called, from the finest name on, and what it came from."""
    seen: list[BaseException] = []
    left = [exc]
    while left:
        each = left.pop(0)
        if each is None or each in seen or len(seen) > 20:
            continue
        seen.append(each)
        yield from (kind.__name__ for kind in type(each).__mro__)
        left += [*getattr(each, "exceptions", ()), each.__cause__, each.__context__]


async def tried(ask: Callable[[tuple[str, ...]], Awaitable[Any]], models: tuple[str, ...]) -> dict[str, Any]:
    """Ask once; the answer if it is one, or what the failure is called."""
    try:
        answer = await asyncio.wait_for(ask(models), PATIENCE_S)
    except TimeoutError as exc:
        names = list(names_of(exc))
        return {"failure": "waits for ever" if names[0] == "TimeoutError" else names[0], "names": names}
    except Streamed as exc:
        return {"failure": type(exc.__cause__).__name__, "names": list(names_of(exc.__cause__)), "shown": str(exc)}
    except Exception as exc:
        return {"failure": type(exc).__name__, "names": list(names_of(exc))}
    if isinstance(answer, tuple):
        text, reason = answer
        return {"answer": text, "reason": reason, "is_good": is_good(text)}
    return {"answer": answer, "is_good": is_good(answer)}


def is_good(answer: Any) -> bool:
    """Whether it is what the good model says."""
    try:
        value = json.loads(answer)
    except (TypeError, ValueError):
        return False
    return isinstance(value, dict) and set(value) == set(SCHEMA["properties"])  # type: ignore[call-overload]


def versions() -> dict[str, str]:
    """What stands in this environment."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def main() -> None:
    """``contestants.py NAME whole|streamed URL MODE...``: versions and a line of JSON per mode on the standard output."""
    warnings.simplefilter("ignore")
    name, way, url, *modes = sys.argv[1:]
    ask: Any = (STREAMS if way == "streamed" else CONTESTANTS)[name](url)
    print(json.dumps({"versions": versions()}))

    async def run() -> None:
        for mode in modes:
            chain = await tried(ask, (f"{name}-{way}:{mode}", GOOD))
            alone = await tried(ask, (f"{name}-{way}-alone:{mode}",))
            print(json.dumps({"mode": mode, "chain": chain, "alone": alone}), flush=True)

    asyncio.run(run())


if __name__ == "__main__":
    main()
