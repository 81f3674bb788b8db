"""Asks one contestant for a typed answer of a failing model; see ``benchmarks.conformance.contestants``."""

from __future__ import annotations

import asyncio
import dataclasses
import importlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.conformance import contestants
from benchmarks.conformance.contestants import ASK, SCHEMA, TIMEOUT_S, Ask

LLM = Path(sys.executable).parent / "llm"
MESSAGES: Mapping[str, str] = {
    "Error code: 429": "RateLimitError",
    "Error code: 5": "InternalServerError",
    "Connection error": "APIConnectionError",
    "peer closed connection": "APIConnectionError",
    "timed out": "APITimeoutError",
    "upstream error": "APIError",  # the message of the server's error object
}
"""What identifies a cause in the output of ``llm``, and the exception of the same cause."""


class CommandFailed(Exception):
    """A command exited with an error."""


def llm(url: str) -> Ask:
    """The command ``llm --schema``; another model only if the command fails."""
    folder = Path(tempfile.mkdtemp())
    schema = folder / "schema.json"
    schema.write_text(json.dumps(SCHEMA), encoding="utf-8")

    async def ask(models: tuple[str, ...]) -> Any:
        # A YAML file may be JSON.
        rows = [
            {"model_id": f"m{number}", "model_name": name, "api_base": url, "supports_schema": True}
            for number, name in enumerate(models)
        ]
        (folder / "extra-openai-models.yaml").write_text(json.dumps(rows), encoding="utf-8")
        message, code = "", None
        for number in range(len(models)):
            process = await asyncio.create_subprocess_exec(
                *(LLM, "--no-log", "--schema", schema, "-m", f"m{number}", ASK),
                env=os.environ | {"LLM_USER_PATH": str(folder), "OPENAI_API_KEY": "sk-none"},
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            try:
                out, err = await process.communicate()
            finally:
                if process.returncode is None:
                    process.kill()
            message, code = err.decode(), process.returncode
            if code == 0:
                return out.decode()
        name = next((name for part, name in MESSAGES.items() if part in message), f"exit code {code}")
        raise type(name, (CommandFailed,), {})(message)

    return ask


def helmdeck(url: str) -> Ask:
    """``Helmdeck.aask`` with a dataclass."""
    core = importlib.import_module("helmdeck_core")
    weather = dataclasses.make_dataclass("Weather", [("city", str), ("celsius", int)])

    async def ask(models: tuple[str, ...]) -> Any:
        first, *others = (f"mine/{name}" for name in models)
        overrides: dict[tuple[str, ...], Any] = {
            ("providers", "mine"): {"kind": "openai-compatible", "base_url": url, "timeout_s": TIMEOUT_S}
        }
        overrides |= {("fallback",): {first: others}} if others else {("recovery", "max_attempts"): 1}
        async with core.Helmdeck(model=first, overrides=overrides, environ={}, autoload=False) as deck:
            return json.dumps(dataclasses.asdict((await deck.aask(ASK, type=weather)).value))

    return ask


CONTESTANTS: Mapping[str, Callable[[str], Ask]] = {
    "instructor": contestants.instructor,
    "pydantic_ai": contestants.pydantic_ai,
    "llm": llm,
    "helmdeck": helmdeck,
}


if __name__ == "__main__":
    contestants.main(CONTESTANTS)
