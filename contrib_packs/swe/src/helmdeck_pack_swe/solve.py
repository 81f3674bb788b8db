"""The pack: lets mini-swe-agent work in a throw-away worktree, checks its patch and returns it."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from helmdeck_core import ChatRequest, Message, Pack, PackContext, PackError, PackErrorCode, Role, TextPart
from helmdeck_pack_swe.prompts import INSTANCE, SYSTEM
from helmdeck_pack_swe.workspace import GitFailed, Workspace, open_workspace, run_tests, stop

NAME: Final = "swe.solve"
PYTHON_VARIABLE: Final = "SWE_SOLVE_PYTHON"
"""The Python interpreter of an environment with mini-swe-agent; without it, the own interpreter."""

DEFAULT_STEPS: Final = 30
DEFAULT_TIMEOUT_S: Final = 1_800.0
COMMAND_TIMEOUT_S: Final = 120.0

MAX_LINE_BYTES: Final = 16_000_000
FULL_OBSERVATIONS: Final = 6
"""Earlier outputs of commands are shortened, so that long work fits into a context window."""
SHORT_OBSERVATION: Final = 600

STATUSES: Final[Mapping[str, str]] = {
    "Submitted": "submitted",
    "LimitsExceeded": "step_limit",
    "TimeExceeded": "time_limit",
    "RepeatedFormatError": "format_errors",
}

INPUT_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1, "description": "A folder of a Git repository."},
        "task": {"type": "string", "description": "What is to be done."},
        "max_steps": {
            "type": "integer",
            "minimum": 1,
            "maximum": 200,
            "default": DEFAULT_STEPS,
            "description": "Maximum number of model calls.",
        },
        "test_command": {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "description": "The program with its arguments that runs the tests, e.g. python -m pytest; without a shell.",
        },
        "timeout_s": {
            "type": "number",
            "minimum": 1,
            "maximum": 14_400,
            "default": DEFAULT_TIMEOUT_S,
            "description": "Time limit in seconds.",
        },
    },
    "required": ["path", "task"],
    "additionalProperties": False,
}

OUTPUT_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "patch": {"type": "string", "description": "For `git apply`; empty if nothing was changed."},
        "summary": {"type": "string", "description": "The agent's own words; check them against the patch."},
        "status": {"enum": [*STATUSES.values(), "stopped"], "description": "How the agent ended."},
        "files": {"type": "array", "items": {"type": "string"}, "description": "The changed files."},
        "base": {"type": "string", "description": "The commit that the patch applies to."},
        "steps": {"type": "integer", "description": "Number of model calls."},
        "tests": {
            "type": "object",
            "properties": {"exit_code": {"type": "integer"}, "output": {"type": "string"}},
            "required": ["exit_code", "output"],
            "description": "The tests with the patch, in a clean worktree.",
        },
        "findings": {"type": "array", "items": {"type": "string"}, "description": "Left out if there are none."},
    },
    "required": ["patch", "summary", "status", "files", "base", "steps"],
    "additionalProperties": False,
}


@attrs.frozen
class Work:
    """What the agent did.

    :ivar status: a value of ``STATUSES``, or ``stopped``.
    """

    status: str
    summary: str
    steps: int


async def solve(context: PackContext, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Work on a task in a copy of a repository, and return the changes as a patch.

    :raises PackError: ``invalid_input`` for a folder outside of a repository or an empty task, ``handler_failed`` when
        mini-swe-agent is not installed or fails, ``artifact_failed`` when the changes are not a patch.
    :raises CallFailed: a model call failed.
    """
    if not arguments["task"].strip():
        raise PackError(NAME, PackErrorCode.INVALID_INPUT, "task is empty")
    repository = _folder(arguments["path"])
    python = _python()
    timeout_s = arguments.get("timeout_s", DEFAULT_TIMEOUT_S)
    try:
        async with open_workspace(repository) as workspace:
            work = await _work(context, arguments, workspace, python, timeout_s)
            return await _output(context, arguments.get("test_command"), workspace, work, timeout_s)
    except GitFailed as exc:
        code = PackErrorCode.INVALID_INPUT if "rev-parse" in str(exc) else PackErrorCode.ARTIFACT_FAILED
        raise PackError(NAME, code, f"path {arguments['path']!r}: {exc}") from exc


async def _work(
    context: PackContext, arguments: Mapping[str, Any], workspace: Workspace, python: str, timeout_s: float
) -> Work:
    """Run the agent, and make its model calls."""
    max_steps = arguments.get("max_steps", DEFAULT_STEPS)
    settings = {
        "task": arguments["task"].strip(),
        "folder": str(workspace.tree),
        "max_steps": max_steps,
        "timeout_s": timeout_s,
        "command_timeout_s": min(COMMAND_TIMEOUT_S, timeout_s),
        "system": SYSTEM,
        "instance": INSTANCE,
    }
    script = Path(__file__).with_name("agent_process.py")
    process = await asyncio.create_subprocess_exec(
        *(python, "-I", str(script)),
        cwd=workspace.tree,
        env=dict(workspace.environment),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=MAX_LINE_BYTES,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    errors = asyncio.create_task(_tail(process.stderr))
    steps = 0
    try:
        async with asyncio.timeout(timeout_s):
            line = settings
            while True:
                process.stdin.write(json.dumps(line).encode() + b"\n")
                await process.stdin.drain()
                received = await process.stdout.readline()
                if not received:
                    detail = (await errors).strip().splitlines()[-1:] or ["it ended without a result"]
                    raise PackError(NAME, PackErrorCode.HANDLER_FAILED, f"mini-swe-agent failed: {detail[0][:300]}")
                message = json.loads(received)
                if "messages" not in message:
                    return Work(
                        STATUSES.get(message["status"], "stopped"), message["summary"].strip(), message["steps"]
                    )
                steps += 1
                context.progress(f"step {steps} of at most {max_steps}")
                line = {"content": await _reply(context, message["messages"])}
    except (BrokenPipeError, ConnectionResetError):
        detail = (await errors).strip().splitlines()[-1:] or ["it closed the channel"]
        raise PackError(NAME, PackErrorCode.HANDLER_FAILED, f"mini-swe-agent failed: {detail[0][:300]}") from None
    except TimeoutError:
        return Work("time_limit", "", steps)
    finally:
        await stop(process)
        errors.cancel()


async def _reply(context: PackContext, conversation: Sequence[Mapping[str, str]]) -> str:
    """Make one model call; the limits, the recovery and the budget of the deck apply to it."""
    messages = [Message(Role(each["role"]), (TextPart(each["content"]),)) for each in shortened(conversation)]
    response = await context.complete(ChatRequest(model=context.model or "", messages=tuple(messages)))
    return response.text


def shortened(conversation: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """Shorten outputs of commands, except the task and the last few."""
    outputs = [index for index, each in enumerate(conversation) if each["role"] == "user"][1:-FULL_OBSERVATIONS]
    return [
        {**each, "content": f"{each['content'][:SHORT_OBSERVATION]}\n[shortened]"}
        if index in outputs and len(each["content"]) > SHORT_OBSERVATION
        else each
        for index, each in enumerate(conversation)
    ]


async def _output(
    context: PackContext, test_command: Sequence[str] | None, workspace: Workspace, work: Work, timeout_s: float
) -> Mapping[str, Any]:
    """Check the patch in a clean worktree, with the tests if there is a command for them."""
    patch = await workspace.patch()
    output: dict[str, Any] = {
        "patch": patch,
        "summary": work.summary,
        "status": work.status,
        "files": await workspace.files(),
        "base": workspace.base,
        "steps": work.steps,
    }
    findings = []
    if work.status != "submitted":
        findings.append(f"the agent did not finish: {work.status.replace('_', ' ')}")
    if workspace.is_dirty:
        findings.append("the repository has uncommitted changes, which the agent did not see")
    if not patch:
        findings.append("nothing was changed")
    else:
        tree = await workspace.apply(patch)
        if test_command is not None:
            context.progress("running the tests")
            tests = await _tests(test_command, workspace, tree, timeout_s)
            if isinstance(tests, str):
                findings.append(tests)
            else:
                output["tests"] = tests
                if tests["exit_code"] != 0:
                    findings.append(f"the tests fail with exit code {tests['exit_code']}")
    return {**output, "findings": findings} if findings else output


async def _tests(argv: Sequence[str], workspace: Workspace, tree: Path, timeout_s: float) -> dict[str, Any] | str:
    """The result of the tests, or why there is none."""
    try:
        done = await run_tests(argv, folder=tree, variables=workspace.environment, timeout_s=timeout_s)
    except TimeoutError:
        return f"the tests took longer than {timeout_s:g} s"
    except (OSError, ValueError) as exc:
        return f"the tests cannot be run: {exc}"
    return {"exit_code": done.code, "output": done.output}


async def _tail(stream: asyncio.StreamReader, max_bytes: int = 20_000) -> str:
    kept = bytearray()
    while chunk := await stream.read(65_536):
        kept += chunk
        del kept[: max(0, len(kept) - max_bytes)]
    return kept.decode("utf-8", "replace")


def _folder(argument: str) -> Path:
    try:
        path = Path(argument).resolve()
        if path.is_dir():
            return path
    except (OSError, ValueError):  # too long, or with a null character
        pass
    raise PackError(NAME, PackErrorCode.INVALID_INPUT, f"path {argument[:200]!r} is not a folder")


def _python() -> str:
    if python := os.environ.get(PYTHON_VARIABLE):
        return python
    if importlib.util.find_spec("minisweagent") is None:
        detail = (
            "mini-swe-agent is not installed; install it in an environment of its own, and set "
            f"{PYTHON_VARIABLE} to the Python of that environment"
        )
        raise PackError(NAME, PackErrorCode.HANDLER_FAILED, detail)
    return sys.executable


PACK: Final = Pack(
    name=NAME,
    version="0.1.0",
    description=(
        "Work on a programming task in a checked-out repository until its tests pass. Returns a patch; the repository is "
        "not changed, and the number of steps is limited."
    ),
    run=solve,
    metadata={
        "accepts": ["path", "text"],
        "produces": ["patch", "summary"],
        "intent_keywords": ["fix the bug", "implement the feature", "make the tests pass"],
        "typical_use": "Changes that need reading, editing and testing code.",
        "limitations": ["Slow: minutes, not seconds", "Works on the last commit", "Runs commands that a model wrote"],
    },
    input_schema=INPUT_SCHEMA,
    output_schema=OUTPUT_SCHEMA,
)
