"""Runs one peer in the peer's own environment: reads one job per line as JSON, and writes one result per line.

    peers.py NAME URL MODEL

    peers.py typed_gguf GGUF FOLDER

A job is ``{"messages", "tools"}``, ``{"text", "schema"}``, or ``{"text", "tools", "threads"}`` for typed-gguf; the result is ``{"name"}`` or ``{"value"}``,
or ``{"failure", "message"}``. This module imports nothing of the project, which is not installed there.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Literal

TIMEOUT_S = 600.0
"""The proxy ends what takes too long, in the same way for every peer."""

KEY = "sk-none"
Peer = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def openai_tools(url: str, model: str) -> Peer:
    """The openai SDK with native tools and ``tool_choice="required"``."""
    client = importlib.import_module("openai").OpenAI(base_url=url, api_key=KEY, timeout=TIMEOUT_S)

    def call(job: Mapping[str, Any]) -> Mapping[str, Any]:
        answer = client.chat.completions.create(
            model=model,
            messages=job["messages"],
            tools=job["tools"],
            tool_choice="required",
            max_tokens=job["max_tokens"],
        )
        (choice,) = answer.choices
        calls = choice.message.tool_calls or []
        if not calls:
            return {"failure": "no tool call", "message": choice.message.content or ""}
        arguments = json.loads(calls[0].function.arguments or "{}")
        return {"name": calls[0].function.name, "arguments": arguments}

    return call


def instructor(url: str, model: str) -> Peer:
    """The library instructor in the mode that its documentation names for servers with schemas."""
    library, openai = importlib.import_module("instructor"), importlib.import_module("openai")
    client = library.from_openai(
        openai.OpenAI(base_url=url, api_key=KEY, timeout=TIMEOUT_S), mode=library.Mode.JSON_SCHEMA
    )

    def call(job: Mapping[str, Any]) -> Mapping[str, Any]:
        found = client.chat.completions.create(
            model=model,
            response_model=model_of(job["schema"]),
            messages=[{"role": "user", "content": job["text"]}],
            max_tokens=job["max_tokens"],
        )
        return {"value": found.model_dump(mode="json")}

    return call


def pydantic_ai(url: str, model: str) -> Peer:
    """pydantic-ai's agent with native structured output."""
    root = importlib.import_module("pydantic_ai")
    provider = importlib.import_module("pydantic_ai.providers.openai").OpenAIProvider(base_url=url, api_key=KEY)
    chat = importlib.import_module("pydantic_ai.models.openai").OpenAIChatModel(model, provider=provider)

    def call(job: Mapping[str, Any]) -> Mapping[str, Any]:
        agent = root.Agent(chat, output_type=root.NativeOutput(model_of(job["schema"])))
        run = agent.run_sync(job["text"], model_settings={"timeout": TIMEOUT_S, "max_tokens": job["max_tokens"]})
        return {"value": run.output.model_dump(mode="json")}

    return call


def outlines(url: str, model: str) -> Peer:
    """The library outlines over the server's API."""
    library, openai = importlib.import_module("outlines"), importlib.import_module("openai")
    chat = library.from_openai(openai.OpenAI(base_url=url, api_key=KEY, timeout=TIMEOUT_S), model)

    def call(job: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"value": json.loads(chat(job["text"], model_of(job["schema"]), max_tokens=job["max_tokens"]))}

    return call


def typed_gguf(gguf: str, libraries: str) -> Peer:
    """The library typed-gguf: one choice among all tools with their descriptions, from the file of the model, in this process.

    :param libraries: the folder of llama.cpp's shared libraries.
    """
    schema, decide, session = (
        importlib.import_module(f"typed_gguf.{name}") for name in ("schema", "engine.decide", "engine.session")
    )
    handle = session.open_model(gguf, runtime_dir=libraries, fit_disabled=True).__enter__()

    def call(job: Mapping[str, Any]) -> Mapping[str, Any]:
        question = {"type": "choice", "instructions": job["instructions"], "criteria": job["tools"]}
        request = schema.parse_request(
            {"state": job["text"], "questions": {"tool": question}, "options": {"threads": job["threads"]}}
        )
        plan = decide.plan_context(request, handle)
        with session.ModelSession(handle, plan) as live:
            answer = decide.DecisionEngine(live).decide(request, plan=plan).answers["tool"]
        name = answer.get("choice")
        if name is None:
            return {"failure": str(answer.get("reliability") or "no choice"), "message": json.dumps(answer)[:300]}
        return {"name": name, "probabilities": answer["probabilities"]}

    return call


PEERS: Mapping[str, Callable[[str, str], Peer]] = {
    "openai_tools": openai_tools,
    "instructor": instructor,
    "pydantic_ai": pydantic_ai,
    "outlines": outlines,
    "typed_gguf": typed_gguf,
}
LIBRARIES = ("openai", "instructor", "pydantic-ai-slim", "outlines", "typed-gguf")
_SCALARS: Mapping[str, type] = {"string": str, "integer": int, "number": float, "boolean": bool}


def model_of(schema: Mapping[str, Any], name: str = "Answer") -> Any:
    """Return a Pydantic model of a schema of objects, lists, enumerations, scalars and scalars or null."""
    create = importlib.import_module("pydantic").create_model
    fields = {key: (_type_of(each, key.title()), ...) for key, each in schema["properties"].items()}
    return create(schema.get("title", name), **fields)


def _type_of(schema: Mapping[str, Any], name: str) -> Any:
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    kind = schema["type"]
    if isinstance(kind, list):
        return _SCALARS[kind[0]] | None
    if kind == "object":
        return model_of(schema, name)
    if kind == "array":
        return list[_type_of(schema["items"], name)]  # type: ignore[misc]
    return _SCALARS[kind]


def attempt(call: Peer, job: Mapping[str, Any]) -> Mapping[str, Any]:
    """Do one job; a failure is a result too."""
    try:
        return call(job)
    except Exception as exc:
        return {"failure": type(exc).__name__, "message": str(exc)[:300]}


def versions() -> dict[str, str]:
    """Return the versions of the installed libraries."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def main() -> None:
    """Serve jobs until the end of the input."""
    warnings.simplefilter("ignore")
    name, url, model = sys.argv[1:]
    call = PEERS[name](url, model)
    print(json.dumps({"versions": versions()}), flush=True)
    for line in sys.stdin:
        print(json.dumps(attempt(call, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
