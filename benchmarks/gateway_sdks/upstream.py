"""A scripted model for the checks: the name of the model selects its behaviour, and its answers depend on what it received."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from helmdeck_core import ToolCall
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer
from helmdeck_testing.servers import Answer, ChatServer, Chunks, Recorded

TEXT: Final = "The tide is high at noon."
LONG: Final = " ".join(f"line {number} of a long answer" for number in range(1_000))
TRUNCATED: Final = "The tide is"
TOOL: Final = "look_up"
VECTOR: Final = (0.5, 0.25)
USAGE: Final = (11, 7)
RETRY_AFTER_S: Final = 7
LIMIT: Final = 20
"""The output limit of the request that reaches it."""

_Body = Mapping[str, Any]


def _calls(*words: str) -> ScriptedAnswer:
    calls = tuple(ToolCall(f"call_{word}", TOOL, json.dumps({"word": word})) for word in words)
    return ScriptedAnswer(stop="tool_calls", tool_calls=calls)


def _plain(_: _Body) -> ScriptedAnswer:
    return ScriptedAnswer(text=TEXT)


def _tools(body: _Body) -> ScriptedAnswer:
    names = [tool["function"]["name"] for tool in body.get("tools", ())]
    return _calls("tide") if names == [TOOL] else ScriptedAnswer(text=f"tools: {names}")


def _parallel(body: _Body) -> ScriptedAnswer:
    return _calls("tide", "moon") if body.get("tools") else ScriptedAnswer(text="no tools")


def _tool_result(body: _Body) -> ScriptedAnswer:
    calls = [call["id"] for message in body["messages"] for call in message.get("tool_calls") or ()]
    results = [message for message in body["messages"] if message["role"] == "tool"]
    if not results or [each["tool_call_id"] for each in results] != calls:
        return ScriptedAnswer(text=f"calls {calls}, results {[each.get('tool_call_id') for each in results]}")
    return ScriptedAnswer(text=f"The tool returned {_text(results[-1]['content'])}.")


def _tool_choice(body: _Body) -> ScriptedAnswer:
    choice = body.get("tool_choice")
    is_forced = choice == "required" or (isinstance(choice, Mapping) and choice["function"]["name"] == TOOL)
    return _calls("tide") if is_forced else ScriptedAnswer(text=f"tool_choice: {json.dumps(choice)}")


def _text(content: Any) -> str:
    return "".join(part.get("text", "") for part in content) if isinstance(content, list) else content or ""


def _part(kind: str, field: str, value: str) -> Callable[[_Body], ScriptedAnswer]:
    def answer(body: _Body) -> ScriptedAnswer:
        content = body["messages"][-1]["content"]
        parts = [part for part in content if part["type"] == kind] if isinstance(content, list) else []
        if not parts:
            return ScriptedAnswer(text=f"no {kind}")
        head, _, data = parts[0][field][value].partition(";base64,")
        return ScriptedAnswer(text=f"{head.removeprefix('data:')}, {len(base64.b64decode(data))} bytes")

    return answer


def _system(body: _Body) -> ScriptedAnswer:
    texts = [_text(each["content"]) for each in body["messages"] if each["role"] in ("system", "developer")]
    return ScriptedAnswer(text=f"system: {' '.join(texts)}")


def _turns(body: _Body) -> ScriptedAnswer:
    return ScriptedAnswer(text=" ".join(each["role"] for each in body["messages"] if each["role"] != "system"))


def _long(body: _Body) -> ScriptedAnswer:
    return ScriptedAnswer(text=f"{len(_text(body['messages'][-1]['content']))} {LONG}")


def _stop(body: _Body) -> ScriptedAnswer:
    stop = body.get("stop")
    words = [stop] if isinstance(stop, str) else stop or []
    return ScriptedAnswer(text=TEXT.partition("noon")[0].strip() if words == ["noon"] else f"stop: {stop}")


def _length(body: _Body) -> ScriptedAnswer:
    limit = body.get("max_tokens") or body.get("max_completion_tokens")
    return ScriptedAnswer(text=TRUNCATED, stop="length") if limit == LIMIT else ScriptedAnswer(text=f"limit: {limit}")


_ANSWERS: Final[Mapping[str, Callable[[_Body], ScriptedAnswer]]] = {
    "tools": _tools,
    "parallel-tools": _parallel,
    "tool-result": _tool_result,
    "tool-choice": _tool_choice,
    "schema": lambda _: ScriptedAnswer(text='Sure:\n```json\n{"word": "tide",}\n```'),
    "strict-schema": lambda _: ScriptedAnswer(text='{"word": "tide"}'),
    "image": _part("image_url", "image_url", "url"),
    "pdf": _part("file", "file", "file_data"),
    "system": _system,
    "multi-turn": _turns,
    "long": _long,
    "refusal": lambda _: ScriptedAnswer(stop="content_filter"),
    "length": _length,
    "stop": _stop,
}
"""Answers by the name of the model; every other name answers ``TEXT``."""

_FIRST: Final[Mapping[str, ScriptedAnswer]] = {
    "empty": ScriptedAnswer(),
    "strict-schema": ScriptedAnswer(text='{"sea": "high"}'),
}
"""Answers to the first request of a model."""


class ScriptedUpstream(ChatServer):
    """A running model with OpenAI's chat completions and embeddings."""

    def __init__(self) -> None:
        self._closing = threading.Event()
        super().__init__(lambda _: {})

    def close(self) -> None:
        """Stop, and end the response that never ends."""
        self._closing.set()
        super().close()

    def respond(self, request: Recorded) -> Answer:
        """Return the response to a request."""
        body = request.body
        if request.path.endswith("/embeddings"):
            return self._embeddings(body["input"])
        if "messages" not in body:
            return {"object": "list", "data": [{"id": "plain", "object": "model"}]}
        name = body["model"]
        if name == "rate-limit":
            return 429, {"retry-after": str(RETRY_AFTER_S)}, OPENAI_CHAT.error(429, "rate limit reached")
        if name == "cancel":
            return Chunks(self._endless(), headers={"content-type": OPENAI_CHAT.content_type})
        count = sum(each.body.get("model") == name for each in self.requests)
        chosen = _FIRST.get(name) if count == 1 else None
        answer = chosen or _ANSWERS.get(name, _plain)(body)
        answer = _with_usage(answer)
        if OPENAI_CHAT.wants_stream(request):
            return Chunks(OPENAI_CHAT.events(answer), headers={"content-type": OPENAI_CHAT.content_type})
        return OPENAI_CHAT.whole(answer)

    def _endless(self) -> Iterator[bytes]:
        """A stream that continues until its client disconnects."""
        event = OPENAI_CHAT.events(ScriptedAnswer(text="more ", stop=None))[1]
        while not self._closing.wait(0.05):
            yield event

    @staticmethod
    def _embeddings(texts: str | Sequence[Any]) -> Answer:
        count = 1 if isinstance(texts, str) else len(texts)
        rows = [{"object": "embedding", "index": index, "embedding": list(VECTOR)} for index in range(count)]
        usage = {"prompt_tokens": 2, "total_tokens": 2}
        return {"object": "list", "data": rows, "model": "vectors", "usage": usage}


def _with_usage(answer: ScriptedAnswer) -> ScriptedAnswer:
    return ScriptedAnswer(
        text=answer.text,
        stop=answer.stop,
        tool_calls=answer.tool_calls,
        input_tokens=USAGE[0],
        output_tokens=LIMIT if answer.stop == "length" else USAGE[1],
    )
