"""A weak model that can do one task with the tools of any agent: read a file, correct it, and report it. Each step fails first."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from helmdeck_core import ToolCall
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer
from helmdeck_testing.servers import Answer, ChatServer, Chunks, Ending, Recorded

WRONG: Final = "return hours + 6"
RIGHT: Final = "return hours + 12"
SOURCE: Final = f"def next_high_tide(hours):\n    {WRONG}\n"
TEST: Final = "from tide import next_high_tide\n\nassert next_high_tide(6) == 18, next_high_tide(6)\n"
REPORT: Final = "The function is corrected."
FAULTS: Final[Mapping[str, Sequence[str]]] = {
    "read": ["empty"],
    "edit": ["truncated"],
    "report": ["503"],
    "file": ["empty", "truncated", "503"],
}
"""What happens to the first requests of each step: an empty answer with `stop`, a stream that is truncated within the answer, HTTP 503."""

READERS: Final = ("Read", "read", "read_file", "read_files")
EDITORS: Final = ("Edit", "edit", "replace", "editor")
SHELLS: Final = ("exec_command", "shell", "Bash", "bash", "run_shell_command", "run_commands")


class _Tool(NamedTuple):
    name: str
    properties: Mapping[str, Any]


class EditModel(ChatServer):
    """A running model with OpenAI's chat completions.

    :ivar path: the file to correct; set it before the agent starts.
    :ivar steps: the step of each request of the task, with its fault.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.steps: list[str] = []
        self._lock = threading.Lock()
        super().__init__(lambda _: {})

    def respond(self, request: Recorded) -> Answer:
        """Return the response to a request."""
        if "messages" not in request.body:
            return {"object": "list", "data": [{"id": "m", "object": "model"}]}
        step, answer = self._step(request.body)
        fault = self._fault(step) if step else ""
        if fault == "503":
            return 503, {}, OPENAI_CHAT.error(503, "the model is overloaded")
        answer = ScriptedAnswer() if fault == "empty" else answer
        is_stream = OPENAI_CHAT.wants_stream(request)
        pieces = list(OPENAI_CHAT.events(answer)) if is_stream else [json.dumps(OPENAI_CHAT.whole(answer)).encode()]
        headers = {"content-type": OPENAI_CHAT.content_type if is_stream else "application/json"}
        if fault != "truncated":
            return Chunks(pieces, headers=headers)
        pieces = pieces[: len(pieces) // 2] if is_stream else [pieces[0][: len(pieces[0]) // 2]]
        return Chunks(pieces, Ending.CUT, headers=headers)

    def _fault(self, step: str) -> str:
        with self._lock:
            count = sum(each.partition(":")[0] == step for each in self.steps)
            fault = next(iter(FAULTS[step][count:]), "")
            self.steps.append(f"{step}: {fault}" if fault else step)
        return fault

    def _step(self, body: Mapping[str, Any]) -> tuple[str, ScriptedAnswer]:
        """The step of a request, by what the conversation contains; empty for requests beside the task, such as for a title."""
        tools = list(_tools(body))
        sent = json.dumps(body["messages"])
        if not tools:  # an agent that reads the text of the answer, and has sent the file
            if WRONG in sent and self.path.name in sent:
                return "file", ScriptedAnswer(text=f"{self.path.name}\n```\n{SOURCE.replace(WRONG, RIGHT)}```\n")
            return "", ScriptedAnswer(text="Correct the tide")
        if RIGHT in sent:
            return "report", ScriptedAnswer(text=REPORT)
        return ("edit", self._edit(tools)) if WRONG in sent else ("read", self._read(tools))

    def _read(self, tools: Sequence[_Tool]) -> ScriptedAnswer:
        if (tool := _first(tools, READERS)) is not None:
            return self._calling(tool, {})
        return self._calling(_first(tools, SHELLS), {"cmd": f"cat {self.path}"})

    def _edit(self, tools: Sequence[_Tool]) -> ScriptedAnswer:
        if (tool := _first(tools, EDITORS)) is not None:
            return self._calling(tool, {"old": WRONG, "new": RIGHT})
        return self._calling(_first(tools, SHELLS), {"cmd": f"sed -i 's/{WRONG}/{RIGHT}/' {self.path}"})

    def _calling(self, tool: _Tool | None, values: Mapping[str, str]) -> ScriptedAnswer:
        """The call of a tool, with arguments by the names of its parameters."""
        if tool is None:
            return ScriptedAnswer(text="No tool of the request edits a file.")
        given = {name: value for name in tool.properties if (value := self._argument(name, tool, values)) is not None}
        call = ToolCall(f"call_{len(self.requests)}", tool.name, json.dumps(given))
        return ScriptedAnswer(stop="tool_calls", tool_calls=(call,))

    def _argument(self, name: str, tool: _Tool, values: Mapping[str, str]) -> Any:
        plain = name.replace("_", "").lower()
        if plain in ("filepath", "path", "absolutepath"):
            return str(self.path)
        if plain in ("oldstring", "oldtext", "oldstr"):
            return values.get("old")
        if plain in ("newstring", "newtext", "newstr"):
            return values.get("new")
        if plain in ("cmd", "command", "commands") and (command := values.get("cmd")):
            return [command] if tool.properties[name].get("type") == "array" else command
        if plain == "files":
            return [{"path": str(self.path)}]
        return "correct the function" if plain in ("instruction", "description") else None


def _tools(body: Mapping[str, Any]) -> Iterator[_Tool]:
    for tool in body.get("tools") or ():
        function = tool["function"]
        yield _Tool(function["name"], function.get("parameters", {}).get("properties", {}))


def _first(tools: Sequence[_Tool], names: Sequence[str]) -> _Tool | None:
    return next((tool for name in names for tool in tools if tool.name == name), None)
