"""OpenAI's chat completions, as a client sends and reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from helmdeck_core import (
    ChatDelta,
    ChatRequest,
    ChatResponse,
    Message,
    Part,
    ResponseFormat,
    Role,
    StopReason,
    TextPart,
    ToolCall,
    ToolCallDelta,
    ToolDefinition,
    Usage,
)
from helmdeck_gateway.dialects.parsed import (
    OpaqueOf,
    Parsed,
    field,
    file_data,
    file_part,
    image,
    max_tokens,
    not_blank,
    objects,
    one_of,
    required,
    temperature,
    tool,
    unique,
    unread,
)
from helmdeck_gateway.dialects.reply import EVENT_STREAM, CallsOut, Opening, Reply
from helmdeck_gateway.problems import Problem, invalid

FAMILY: str = "openai"
"""The plugin whose providers speak the dialect."""

_READ = frozenset(
    (
        "model", "messages", "max_tokens", "max_completion_tokens", "temperature", "tools", "tool_choice",
        "response_format", "stop", "stream", "stream_options", "n", "functions", "function_call",
    )
)  # fmt: skip
_NEVER = ("logprobs", "top_logprobs", "store", "audio", "modalities", "prediction", "web_search_options")
"""Fields whose effect no response of the deck can carry."""

FINISH_REASONS: Final = {
    StopReason.END_TURN: "stop",
    StopReason.TOOL_CALL: "tool_calls",
    StopReason.MAX_TOKENS: "length",
    StopReason.CONTEXT_WINDOW_EXCEEDED: "length",
    StopReason.SAFETY_BLOCKED: "content_filter",
}
"""Any other reason is no clean end, and therefore ``length``."""

_MESSAGE: Final = frozenset(("role", "content"))
_CALL: Final = frozenset(("id", "type", "function", "index"))
_FUNCTION: Final = frozenset(("name", "description", "parameters", "strict"))
_SOURCES: Final = {
    "image_url": frozenset(("url",)),
    "input_audio": frozenset(("format", "data")),
    "file": frozenset(("filename", "file_id", "file_url", "file_data")),
}
"""What is read of the object of a part, by the type of the part."""

_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
}

PING: Final = b": keep-alive\n\n"
_DONE: Final = b"data: [DONE]\n\n"
_encode = msgspec.json.Encoder().encode


# -- requests --------------------------------------------------------------------------------------------------


def parse(body: Mapping[str, Any], opaque_of: OpaqueOf) -> Parsed:
    """Read a request.

    :raises Problem: it is not a valid chat completion request, or uses a part that the gateway does not support.
    """
    if body.get("functions") or body.get("function_call"):
        raise invalid("functions are not supported; send tools", "functions")
    if (count := field(body, "n", int)) not in (None, 1):
        raise invalid(f"one choice per request is supported, found {count}", "n")
    messages = objects(required(body, "messages", list), "messages")
    lost: list[str] = []
    tools = [_tool(each, f"tools[{i}]", lost) for i, each in enumerate(objects(body.get("tools") or [], "tools"))]
    stop = field(body, "stop", (str, list))
    native = {name: value for name, value in body.items() if name not in _READ and value is not None}
    keeps_nothing = native.get("store") is False  # the default of some accounts is to store
    dropped = [name for name in _NEVER if native.pop(name, None) not in (None, False)]
    if keeps_nothing:
        native["store"] = False
    if any(each["function"].get("strict") for each in body.get("tools") or ()):
        dropped.append("tools.function.strict")
    shared: dict[str, Any] = {
        name: native[name] for name in ("top_p", "parallel_tool_calls", "prompt_cache_key") if name in native
    }
    if "reasoning_effort" in native:
        shared["effort"] = native["reasoning_effort"]
    request = ChatRequest(
        model=field(body, "model", str) or "",
        messages=not_blank(
            [_message(each, f"messages[{i}].", opaque_of, lost) for i, each in enumerate(messages)], "messages"
        ),
        max_tokens=max_tokens(body, "max_completion_tokens", "max_tokens"),
        temperature=temperature(body),
        tools=unique(tools),
        tool_choice=_tool_choice(field(body, "tool_choice", (str, dict))),
        response_format=_response_format(field(body, "response_format", dict)),
        stop=(stop,) if isinstance(stop, str) else tuple(map(str, stop or ())),
    )
    options = field(body, "stream_options", dict) or {}
    return Parsed(
        request=request,
        is_stream=bool(field(body, "stream", bool)),
        has_usage=bool(options.get("include_usage")),
        native=native,
        shared=shared,
        dropped=tuple(dict.fromkeys((*dropped, *lost))),
        body=body,
    )


def _message(item: Mapping[str, Any], where: str, opaque_of: OpaqueOf, lost: list[str]) -> Message:
    role = _ROLES[one_of(required(item, "role", str, where), _ROLES, f"{where}role")]
    parts = _parts(item.get("content"), f"{where}content", lost)
    if role is Role.TOOL:
        lost += unread(item, _MESSAGE | {"tool_call_id"}, "messages")
        return Message(role, parts, tool_call_id=required(item, "tool_call_id", str, where))
    if role is not Role.ASSISTANT:
        lost += unread(item, _MESSAGE, "messages")
        return Message(role, parts)
    calls = tuple(
        _call(each, f"{where}tool_calls[{i}].", lost)
        for i, each in enumerate(objects(item.get("tool_calls") or [], f"{where}tool_calls"))
    )
    opaque = opaque_of(call.id for call in calls)
    # A provider that requires its reasoning gets it unchanged from the stored turn.
    lost += unread(item, _MESSAGE | {"tool_calls"} | ({"reasoning_content"} if opaque else set()), "messages")
    return Message(role, parts, calls, opaque=opaque)


def _parts(content: Any, where: str, lost: list[str]) -> tuple[Part, ...]:
    if content is None or content == "":
        return ()
    if isinstance(content, str):
        return (TextPart(content),)
    return tuple(_part(each, f"{where}[{i}]", lost) for i, each in enumerate(objects(content, where)))


def _part(part: Mapping[str, Any], where: str, lost: list[str]) -> Part:
    kind = part.get("type")
    if isinstance(kind, str):
        lost += unread(part, ("type", kind), kind)
        if isinstance(source := part.get(kind), Mapping):
            lost += unread(source, _SOURCES.get(kind, ()), kind)
    match kind:
        case "text":
            return TextPart(required(part, "text", str, f"{where}."))
        case "refusal":
            return TextPart(required(part, "refusal", str, f"{where}."))
        case "image_url":
            source = part.get("image_url")
            url = source.get("url") if isinstance(source, Mapping) else source
            if not isinstance(url, str):
                raise invalid("expected an object with a url", f"{where}.image_url")
            return image(url, f"{where}.image_url.url")
        case "input_audio":
            audio = required(part, "input_audio", dict, f"{where}.")
            kind, where = required(audio, "format", str, f"{where}.input_audio."), f"{where}.input_audio."
            return file_data(f"audio/{kind}", required(audio, "data", str, where), "", f"{where}data")
        case "file":
            return file_part(required(part, "file", dict, f"{where}."), f"{where}.file.")
        case kind:
            supported = "text, image_url, input_audio, file"
            raise invalid(f"content of type {kind!r} is not supported; supported: {supported}", f"{where}.type")


def _call(item: Mapping[str, Any], where: str, lost: list[str]) -> ToolCall:
    function = required(item, "function", dict, where)
    lost += unread(item, _CALL, "tool_calls")
    lost += unread(function, ("name", "arguments"), "tool_calls.function")
    arguments = field(function, "arguments", str, f"{where}function.") or "{}"
    return ToolCall(required(item, "id", str, where), required(function, "name", str, f"{where}function."), arguments)


def _tool(item: Mapping[str, Any], where: str, lost: list[str]) -> ToolDefinition:
    one_of(str(item.get("type", "function")), ("function",), f"{where}.type")
    function = required(item, "function", dict, f"{where}.")
    name = required(function, "name", str, f"{where}.function.")
    lost += unread(item, ("type", "function"), "tools")
    lost += unread(function, _FUNCTION, "tools.function")
    return tool(name, function.get("description"), function.get("parameters"), f"{where}.function")


def _tool_choice(choice: str | Mapping[str, Any] | None) -> str | None:
    if choice is None or isinstance(choice, str):
        return choice if choice is None else one_of(choice, ("auto", "none", "required"), "tool_choice")
    function = choice.get("function")
    if not isinstance(function, Mapping):
        raise invalid("expected auto, none, required, or the function to call", "tool_choice")
    return str(required(function, "name", str, "tool_choice.function."))


def _response_format(value: Mapping[str, Any] | None) -> ResponseFormat | None:
    if value is None:
        return None
    kind = one_of(str(value.get("type")), ("text", "json_object", "json_schema"), "response_format.type")
    if kind == "text":
        return None
    if kind == "json_object":
        return ResponseFormat("json_object")
    described = required(value, "json_schema", dict, "response_format.")
    schema = field(described, "schema", dict, "response_format.json_schema.") or {"type": "object"}
    return ResponseFormat("json_schema", str(described.get("name") or "answer"), schema)


# -- responses -------------------------------------------------------------------------------------------------


def usage_of(usage: Usage) -> dict[str, Any]:
    """Return token usage in the dialect."""
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_input_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }


def finish_reason(response: ChatResponse) -> str:
    """Return the finish reason; an unknown reason is a clean end only where the provider is known to send none."""
    if response.stop_reason is StopReason.UNKNOWN and response.is_complete:
        return "tool_calls" if response.tool_calls else "stop"
    return FINISH_REASONS.get(response.stop_reason, "length")


def whole(reply: Reply) -> dict[str, Any]:
    """Return a whole response."""
    response = reply.response
    message: dict[str, Any] = {
        "role": "assistant",
        "content": response.text or None,
        "refusal": response.refusal or None,
    }
    if response.reasoning_content:
        message["reasoning_content"] = response.reasoning_content
    if response.tool_calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in response.tool_calls
        ]
    elif message["content"] is None and not response.refusal:
        message["content"] = ""
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason(response)}
    return {
        "id": f"chatcmpl-{reply.opening.id}",
        "object": "chat.completion",
        "created": reply.opening.created,
        "model": reply.model,
        "choices": [choice],
        "usage": usage_of(response.usage),
    }


def error(problem: Problem) -> dict[str, Any]:
    """Return an error as a payload."""
    facts = {"message": problem.message, "type": problem.kind, "param": problem.param, "code": problem.code}
    return {"error": {**facts, **problem.details}}


class Writer:
    """Writes a streamed response.

    :param opening: the facts that every chunk repeats.
    :param has_usage: a last chunk has the token usage.
    """

    ping = PING
    content_type = EVENT_STREAM

    def __init__(self, opening: Opening, parsed: Parsed) -> None:
        self.opening = opening
        self._has_usage = parsed.has_usage
        self._calls = CallsOut()
        self._has_text = False
        self._has_reasoning = False
        self._start: tuple[str | None, bytes] = (None, b"")

    def start(self) -> bytes:
        """Return the first chunk."""
        return self._chunk({"role": "assistant", "content": ""})

    def feed(self, delta: ChatDelta) -> bytes:
        """Return the chunks for a delta."""
        out = b""
        if delta.reasoning_content:
            self._has_reasoning = True
            out += self._chunk({"reasoning_content": delta.reasoning_content})
        if delta.text:
            self._has_text = True
            out += self._chunk({"content": delta.text})
        if delta.tool_call is not None:
            out += self._call(self._calls.feed(delta.tool_call))
        return out

    def finish(self, reply: Reply) -> bytes:
        """Return the chunks that complete the stream."""
        response, out = reply.response, b""
        if response.reasoning_content and not self._has_reasoning:
            out += self._chunk({"reasoning_content": response.reasoning_content})
        if response.text and not self._has_text:
            out += self._chunk({"content": response.text})
        if response.refusal:
            out += self._chunk({"refusal": response.refusal})
        for delta in self._calls.rest(response.tool_calls):
            out += self._call(delta)
        self.opening.model = reply.model
        out += self._chunk({}, finish_reason(response))
        if self._has_usage:
            out += self._event({**self._head, "choices": [], "usage": usage_of(response.usage)})
        return out + _DONE

    def fail(self, problem: Problem) -> bytes:
        """Return the events that end the stream with an error."""
        return self._event(error(problem)) + _DONE

    @property
    def _head(self) -> dict[str, Any]:
        opening = self.opening
        return {
            "id": f"chatcmpl-{opening.id}",
            "object": "chat.completion.chunk",
            "created": opening.created,
            "model": opening.model,
        }

    def _call(self, delta: ToolCallDelta) -> bytes:
        function: dict[str, Any] = {"arguments": delta.arguments}
        call: dict[str, Any] = {"index": delta.index}
        if delta.id:
            call |= {"id": delta.id, "type": "function"}
            function = {"name": delta.name, **function}
        return self._chunk({"tool_calls": [{**call, "function": function}]})

    def _chunk(self, delta: Mapping[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        if self._start[0] != self.opening.model:  # what every chunk begins with is encoded once
            self._start = (self.opening.model, b"data: " + _encode(self._head)[:-1] + b',"choices":[')
        return self._start[1] + _encode(choice) + b"]}\n\n"

    @staticmethod
    def _event(data: Mapping[str, Any]) -> bytes:
        return b"data: %b\n\n" % _encode(data)


def models(names: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return a list of models; each is an id and its owner."""
    rows = [{"id": name, "object": "model", "created": 0, "owned_by": owner} for name, owner in names]
    return {"object": "list", "data": rows}
