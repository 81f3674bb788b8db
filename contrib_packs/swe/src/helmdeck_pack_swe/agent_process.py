"""Runs mini-swe-agent in a process of its own, which may be that of another environment: it imports nothing of Helmdeck.

The process has no credentials. It reads the settings as one line of JSON from standard input; then it writes one line for each
model call and reads the reply, so that every model call is made by the pack::

    <- {"task": ..., "folder": ..., "max_steps": ..., "command_timeout_s": ..., "timeout_s": ..., "system": ..., "instance": ...}
    -> {"messages": [{"role": ..., "content": ...}, ...]}
    <- {"content": ...}
    -> {"status": ..., "summary": ..., "steps": ...}
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import signal
import subprocess
import threading
from typing import Any

ACTION = re.compile(r"```(?:mswea_bash_command|bash|sh)[^\S\n]*+\n(.*?)\n?```", re.DOTALL)
MAX_OBSERVATION = 10_000
"""Characters of a command's output that the model receives."""
MAX_OUTPUT_BYTES = 1_000_000
"""A command that writes more is killed."""

_running: list[int] = []
"""The process group of the command that is being executed."""

FORMAT_ERROR = "Your reply must contain exactly one ```bash block with one command; it contained {count}. Reply again."


def main() -> None:
    """Run the agent."""
    # The commands of the agent must neither read nor write the channel to the pack.
    channel_in = os.fdopen(os.dup(0), "r", encoding="utf-8")
    channel_out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    signal.signal(signal.SIGTERM, _end)
    settings = json.loads(channel_in.readline())

    def ask(request: dict[str, Any]) -> dict[str, Any]:
        channel_out.write(json.dumps(request) + "\n")
        channel_out.flush()
        line = channel_in.readline()
        if not line:
            raise SystemExit("the pack closed the channel")
        reply: dict[str, Any] = json.loads(line)
        return reply

    agents: Any = importlib.import_module("minisweagent.agents.default")
    exceptions: Any = importlib.import_module("minisweagent.exceptions")
    agent = agents.DefaultAgent(
        _model(ask, exceptions.FormatError),
        _environment(settings["folder"], settings["command_timeout_s"]),
        system_template=settings["system"],
        instance_template=settings["instance"],
        step_limit=settings["max_steps"],
        wall_time_limit_seconds=int(settings["timeout_s"]),
        cost_limit=0.0,
    )
    result = agent.run(settings["task"])
    done = {"status": result.get("exit_status", ""), "summary": result.get("submission", ""), "steps": agent.n_calls}
    channel_out.write(json.dumps(done) + "\n")
    channel_out.flush()


def _end(*_: Any) -> None:
    """End at once, with the command that is being executed: it leads a process group of its own."""
    for group in _running:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.killpg(group, signal.SIGKILL)
            os.waitpid(group, 0)
    os._exit(1)


def _model(ask: Any, format_error: Any) -> Any:
    """A model as mini-swe-agent expects it, whose calls are made by the pack."""

    class Model:
        config = None

        def query(self, messages: list[dict[str, Any]], **_: Any) -> dict[str, Any]:
            conversation = [{"role": each["role"], "content": each["content"]} for each in messages]
            content = ask({"messages": conversation})["content"]
            actions = [match.strip() for match in ACTION.findall(content)]
            if len(actions) != 1:
                reply = {"role": "assistant", "content": content, "extra": {}}
                error = {"role": "user", "content": FORMAT_ERROR.format(count=len(actions)), "extra": {}}
                raise format_error(reply, error)
            return {"role": "assistant", "content": content, "extra": {"actions": [{"command": actions[0]}]}}

        def format_message(self, **fields: Any) -> dict[str, Any]:
            return fields

        def format_observation_messages(
            self, _: dict[str, Any], outputs: list[dict[str, Any]], __: Any = None
        ) -> list[dict[str, Any]]:
            return [{"role": "user", "content": observation(each)} for each in outputs]

        def get_template_vars(self, **_: Any) -> dict[str, Any]:
            return {}

        def serialize(self) -> dict[str, Any]:
            return {}

    return Model()


def _environment(folder: str, timeout_s: float) -> Any:
    """The local environment of mini-swe-agent, whose commands are also limited in their output."""
    local: Any = importlib.import_module("minisweagent.environments.local")

    class Environment(local.LocalEnvironment):  # type: ignore[misc]
        def execute(self, action: dict[str, Any], cwd: str = "", **_: Any) -> dict[str, Any]:
            output = run_command(action.get("command", ""), cwd or folder, timeout_s)
            self._check_finished(output)
            return output

        def get_template_vars(self, **_: Any) -> dict[str, Any]:
            return {"folder": folder}

    return Environment(cwd=folder)


def run_command(command: str, folder: str, timeout_s: float) -> dict[str, Any]:
    """Run a command of the agent with bash; kill it with its children when it exceeds the limits of time or output."""
    process = subprocess.Popen(  # noqa: S603
        ["bash", "-c", command],  # noqa: S607
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    _running.append(process.pid)
    problems: list[str] = []

    def kill(problem: str) -> None:
        problems.append(problem)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(timeout_s, kill, [f"killed after {timeout_s:g} s"])
    timer.start()
    kept = bytearray()
    assert process.stdout is not None
    try:
        while chunk := os.read(process.stdout.fileno(), 65_536):
            if len(kept) > MAX_OUTPUT_BYTES:
                if not problems:
                    kill(f"killed because it wrote more than {MAX_OUTPUT_BYTES:,} bytes")
                continue
            kept += chunk
        code = process.wait()
    finally:
        timer.cancel()
        process.stdout.close()
        _running.remove(process.pid)
    return {"output": kept.decode("utf-8", "replace"), "returncode": code, "exception_info": "; ".join(problems)}


def observation(output: dict[str, Any]) -> str:
    """Return the result of a command for the model; the middle of a long output is left out."""
    text = output["output"]
    if len(text) > MAX_OBSERVATION:
        half = MAX_OBSERVATION // 2
        text = f"{text[:half]}\n[{len(text) - 2 * half:,} characters left out]\n{text[-half:]}"
    problem = f"<error>{output['exception_info']}</error>\n" if output["exception_info"] else ""
    return f"{problem}<returncode>{output['returncode']}</returncode>\n<output>\n{text}\n</output>"


if __name__ == "__main__":
    main()
