"""Shared by the tests of the command line: an installed plugin, and a way to run commands."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from helmdeck_core.cli import main

ROOT = Path(__file__).parents[1]

PLUGIN = r'''
"""A provider whose models are named after what they do, a pack that stops, and a command."""

import asyncio
import json
import os

from helmdeck_core import ChatResponse, Command, Pack, ProviderSpec, StopReason, Usage, hookimpl
from helmdeck_core.errors import FAILURES, FailureClass

STEP = {"tool": "helmdeck.memory_store", "args": {"text": "hello"}, "rationale": "requested"}
ANSWERS = {
    "step": {"steps": [STEP], "reasoning": "one is enough"},
    "more": {"steps": [STEP], "more_steps_likely": True},
    "two": {"steps": [STEP, {"tool": "no.such_tool", "args": {}, "rationale": "why not"}]},
    "gap": {"steps": [{"tool": "no.such_tool", "args": {}, "rationale": "why not"}]},
    "none": {"steps": []},
    "colour": {"steps": [{"tool": "web.search", "args": {"query": "x"}, "rationale": "\x1b[31mred\x07"}]},
    "route": {"recommendation": {"kind": "pack", "id": "web.search", "suggested_inputs": {}, "why": "it fits"},
              "alternatives": [], "gap_warning": None, "reasoning": "r"},
}


class Stub:
    async def complete(self, request):
        name = request.model.partition("/")[2]
        if name == "interrupt":
            raise KeyboardInterrupt
        if name == "wait":
            reader, writer = await asyncio.open_connection("127.0.0.1", int(os.environ["STUB_PORT"]))
            try:
                writer.write(b"asked")
                await writer.drain()
                await reader.read()
            finally:
                writer.close()
        if name in {each.value for each in FailureClass}:
            raise FAILURES[FailureClass(name)]("the stub fails as configured")
        if name == "bug":
            raise ZeroDivisionError("a fault of the plugin")
        text = name if name not in ANSWERS else json.dumps(ANSWERS[name])
        return ChatResponse(
            text=text,
            stop_reason=StopReason.END_TURN,
            raw_stop_reason="stop",
            served_model="stub-1",
            usage=Usage(input_tokens=1200, output_tokens=34, cached_input_tokens=1000),
            latency_s=1.5,
        )

    async def aclose(self):
        if path := os.environ.get("STUB_CLOSED"):
            open(path, "w").close()


@hookimpl
def helmdeck_providers():
    return [ProviderSpec(name="stub", open=lambda settings, context: Stub())]


async def _stop(context, value):
    raise KeyboardInterrupt


async def _fail(context, value):
    raise ZeroDivisionError("a fault of the pack")


async def _echo(context, value):
    context.progress("echoing")
    return {"value": dict(value), "model": context.model}


@hookimpl
def helmdeck_packs():
    return [
        Pack(name="stub.stop", version="1", description="Stops.", run=_stop),
        Pack(name="stub.fail", version="1", description="Fails.", run=_fail),
        Pack(name="stub.echo", version="1", description="Echoes.", run=_echo,
             input_schema={"type": "object", "properties": {"n": {"type": "integer"}}}),
    ]


def _configure(parser):
    parser.add_argument("--name", default="you")


def _greet(arguments):
    deck = arguments.make_deck()
    print(f"hello {arguments.name}, {deck.runtime.config.model}, json={arguments.json}")
    return 7


def _crash(arguments):
    raise ZeroDivisionError("a fault of the command")


@hookimpl
def helmdeck_commands():
    return [
        Command(name="greet", summary="greet a person", configure=_configure, run=_greet),
        Command(name="crash", summary="crash", configure=lambda parser: None, run=_crash),
        Command(name="clash", summary="clash", configure=lambda parser: parser.add_argument("--json"), run=_greet),
    ]
'''


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


class Cli:
    """Runs commands in this process, away from the machine's plugins, files and variables."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: str) -> Done:
        self._capsys.readouterr()
        code = main(words)
        captured = self._capsys.readouterr()
        return Done(code, captured.out, captured.err)


def is_ours(name: str) -> bool:
    """Whether a variable configures the project; that of the data directory keeps files out of the home directory."""
    return name.startswith("HELMDECK_") and name != "HELMDECK_DATA_DIR"


def leave_the_machine(monkeypatch: pytest.MonkeyPatch, folder: Path, *, autoload: bool = False) -> None:
    """Work in an empty folder with no variable of the project set."""
    for name in [name for name in os.environ if is_ours(name)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "100")
    if not autoload:
        monkeypatch.setenv("HELMDECK_PLUGIN_AUTOLOAD", "0")
    monkeypatch.chdir(folder)


def environment(*folders: Path, **variables: str) -> dict[str, str]:
    """The environment of a process that finds the checkout and ``folders``."""
    kept = {name: value for name, value in os.environ.items() if not is_ours(name)}
    path = os.pathsep.join(map(str, [ROOT, ROOT / "plugins", *folders]))
    return {**kept, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **variables}


def refused_url() -> str:
    """The URL of a port where nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


def start(
    *words: str, folder: Path, env: dict[str, str], sigint: Any = signal.default_int_handler, **options: Any
) -> subprocess.Popen[bytes]:
    """Start a real process.

    :param sigint: the handler of SIGINT that the process inherits.
    """
    command = [sys.executable, "-m", "helmdeck_core.cli", *words]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    # A process inherits an ignored SIGINT, which a shell gives to jobs in the background.
    before = signal.signal(signal.SIGINT, sigint)
    try:
        return subprocess.Popen(command, cwd=folder, env=env, **{**pipes, **options})
    finally:
        signal.signal(signal.SIGINT, before)
