"""A fake model for real clients: it speaks three APIs, uses the tools that the client offers, and fails as told."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from helmdeck_core import ToolCall
from helmdeck_testing import ANTHROPIC, OPENAI_CHAT, OPENAI_RESPONSES, ScriptedAnswer, ServerFormat
from helmdeck_testing.servers import Answer, ChatServer, Chunks, Ending, Recorded

TEXT: Final = "The tide is high at noon."
"""The right answer to a request without a file to read."""

FILE_TEXT: Final = "the secret word is "
"""Start of the results of tools; the word follows."""

FAULTS: Final[Mapping[str, str]] = {
    "none": "healthy",
    "E": "empty answer with `stop`",
    "C": "half of the answer, then a clean end without a finish reason",
    "T": "half of the answer, then the connection is closed",
    "M": "half of the answer, then an event that is not JSON",
    "429": "HTTP 429",
    "503": "HTTP 503",
    "hang": "no byte",
}
"""What the model does, by name. A whole response stands for the stream where a client requests one."""

_STATUSES: Final = {"429": 429, "503": 503}
_FORMATS: Final[Mapping[str, ServerFormat]] = {
    "/v1/chat/completions": OPENAI_CHAT,
    "/v1/responses": OPENAI_RESPONSES,
    "/v1/messages": ANTHROPIC,
}
_MALFORMED: Final = {
    OPENAI_CHAT.name: b'data: {"choices": [{"delta": {"conte\n\n',
    OPENAI_RESPONSES.name: b'event: response.output_text.delta\ndata: {"type": "response.output_te\n\n',
    ANTHROPIC.name: b'event: content_block_delta\ndata: {"type": "content_block_delta", "ind\n\n',
}
"""Events that are not JSON, by API."""
_WORD: Final = re.compile(rf"{FILE_TEXT}(\w+)", re.IGNORECASE)
_PATH: Final = re.compile(r"/[\w./-]+word\.txt")
_EDIT: Final = re.compile(r"Write the tide into (\S+?\.md)")
"""The prompt to which aider expects a file as the answer."""
_SUBMIT: Final = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""The command that ends a run of mini-swe-agent, by its prompt."""

TOOLS: Final[Mapping[str, Callable[[str], Mapping[str, Any]]]] = {
    "exec_command": lambda path: {"cmd": f"cat {path}"},  # codex
    "shell": lambda path: {"command": ["cat", path]},  # codex, earlier
    "Read": lambda path: {"file_path": path},  # claude-code
    "read_file": lambda path: {"file_path": path},  # gemini-cli
    "read": lambda path: {"filePath": path},  # opencode
    "bash": lambda path: {"command": f"cat {path}"},  # mini-swe-agent
    "look_up": lambda path: {"name": path},  # the tests of SDKs
}
"""The arguments that read a file, by the name of the tool."""


class ClientModel(ChatServer):
    """A running model.

    :ivar fault: a key of ``FAULTS``.
    :ivar writes_calls_as_text: tool calls are written into the text, as weak models do.
    """

    def __init__(self, fault: str = "none") -> None:
        self.fault = fault
        self.writes_calls_as_text = False
        self._closing = threading.Event()
        super().__init__(lambda _: {})

    @property
    def root_url(self) -> str:
        """The base URL without ``/v1``, which Anthropic's clients add."""
        return self.base_url.removesuffix("/v1")

    @property
    def calls(self) -> Sequence[Recorded]:
        """The requests that a model answers."""
        return [each for each in self.requests if each.path.partition("?")[0] in _FORMATS]

    def close(self) -> None:
        """Stop, and abort hanging responses."""
        self._closing.set()
        super().close()

    def respond(self, request: Recorded) -> Answer:
        """Return a response in the API of the request."""
        path = request.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            return {"input_tokens": 10}
        if path not in _FORMATS:
            return {"object": "list", "data": [{"id": "m", "object": "model"}]} if "models" in path else {}
        form = _FORMATS[path]
        if self.fault in _STATUSES:
            status = _STATUSES[self.fault]
            return status, {}, form.error(status, "try later")
        if self.fault == "hang":
            self._closing.wait()
            return Chunks([], Ending.CUT)
        if form.wants_stream(request):
            return self._stream(form, request)
        return self._whole(form, request)

    def _stream(self, form: ServerFormat, request: Recorded) -> Answer:
        headers = {"content-type": form.content_type, **form.headers}
        if self.fault == "none":
            return Chunks(form.events(self.answer(request)), headers=headers)
        if self.fault == "E":
            return Chunks(form.events(ScriptedAnswer()), headers=headers)
        events = [*form.events(ScriptedAnswer(text=TEXT[: len(TEXT) // 2], stop=None))]
        if self.fault == "M":
            events.append(_MALFORMED[form.name])
        return Chunks(events, Ending.CUT if self.fault == "T" else Ending.WHOLE, headers=headers)

    def _whole(self, form: ServerFormat, request: Recorded) -> Answer:
        if self.fault in ("none", "E"):
            answer = ScriptedAnswer() if self.fault == "E" else self.answer(request)
            return 200, form.headers, form.whole(answer)
        half = form.whole(ScriptedAnswer(text=TEXT[: len(TEXT) // 2], stop=None))
        if self.fault == "C":
            return 200, form.headers, half
        data = json.dumps(half).encode()[:-20]
        headers = {"content-type": "application/json", **form.headers}
        return Chunks([data], Ending.CUT if self.fault == "T" else Ending.WHOLE, headers=headers)

    def answer(self, request: Recorded) -> ScriptedAnswer:
        """Return the right answer: the call of a tool that reads the file, and then its word."""
        body = request.body
        sent = json.dumps(body, ensure_ascii=False)
        names = list(_tool_names(body.get("tools") or ()))
        word = _word_of(body)
        if word is not None:
            if _SUBMIT in sent and "bash" in names:
                call = {"command": f"echo {_SUBMIT}; echo The word is {word}."}
                return self._calling("bash", call)
            return ScriptedAnswer(text=f"The word is {word}.")
        form = json.dumps({"answer": TEXT})
        if (forced := _forced_tool(body.get("tool_choice"))) and forced not in TOOLS:
            return self._calling(forced, json.loads(form))
        if body.get("response_format") or (not names and "JSON" in sent and "Tide" in sent):  # the type of instructor
            return ScriptedAnswer(text=form)
        if edit := _EDIT.search(sent):
            return ScriptedAnswer(text=f"{edit.group(1)}\n```\n{TEXT}\n```\n")
        path = _PATH.search(sent)
        usable = [name for name in TOOLS if name in names]
        if _SUBMIT in sent and path is None:
            return self._calling("bash", {"command": f"echo {_SUBMIT}; echo {TEXT}"})
        if path is None or not usable:
            return ScriptedAnswer(text=TEXT)
        return self._calling(usable[0], TOOLS[usable[0]](path.group()))

    def _calling(self, name: str, arguments: Mapping[str, Any]) -> ScriptedAnswer:
        if self.writes_calls_as_text:
            call = json.dumps({"name": name, "arguments": arguments})
            return ScriptedAnswer(text=f"<tool_call>\n{call}\n</tool_call>")
        return ScriptedAnswer(
            stop="tool_calls", tool_calls=(ToolCall(f"call_{len(self.requests)}", name, json.dumps(arguments)),)
        )


def _tool_names(tools: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for tool in tools:
        yield from _tool_names(tool.get("tools") or ())
        yield str(tool.get("name") or tool.get("function", {}).get("name") or "")


def _forced_tool(choice: Any) -> str:
    """The tool that a request demands; empty if it demands none."""
    if not isinstance(choice, Mapping):
        return ""
    return str(choice.get("name") or choice.get("function", {}).get("name") or "")


def _word_of(body: Mapping[str, Any]) -> str | None:
    """The word in the result of a tool; ``None`` if no tool was executed."""
    sent: Any = body.get("input")
    items: list[Any] = [*body.get("messages", ()), *(sent if isinstance(sent, list) else [])]
    for item in reversed(items):
        results = [item] if item.get("role") == "tool" or str(item.get("type", "")).endswith("_output") else []
        if isinstance(item.get("content"), list):
            results += [block for block in item["content"] if block.get("type") == "tool_result"]
        for result in results:
            if found := _WORD.search(json.dumps(result, ensure_ascii=False)):
                return found.group(1)
    return None


@contextlib.contextmanager
def client_model(fault: str = "none") -> Iterator[ClientModel]:
    """Run a model within a ``with`` block."""
    model = ClientModel(fault)
    try:
        yield model
    finally:
        model.close()
