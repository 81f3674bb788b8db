"""OpenAI's Responses, as a client sends them; ``responses_writer`` has the responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from helmdeck_core import (
    EMPTY,
    ChatRequest,
    Message,
    Part,
    ResponseFormat,
    Role,
    TextPart,
    ToolCall,
)
from helmdeck_gateway.conversations.opaque_store import OWN_PREFIX
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
    stored_file,
    temperature,
    unique,
    unread,
)
from helmdeck_gateway.dialects.responses_tools import read_call, read_tools
from helmdeck_gateway.dialects.responses_writer import Writer as Writer
from helmdeck_gateway.dialects.responses_writer import error as error
from helmdeck_gateway.dialects.responses_writer import whole as whole
from helmdeck_gateway.problems import Problem, invalid

FAMILY: str = "responses"
"""The plugin whose providers speak the dialect."""

_READ = frozenset(
    (
        "model", "input", "instructions", "max_output_tokens", "temperature", "tools", "tool_choice", "text",
        "stream", "stream_options", "previous_response_id", "store", "background", "conversation",
    )
)  # fmt: skip

_ITEM: Final = frozenset(("type", "id", "status"))
_FIELDS: Final = {
    "message": ("role", "content", "phase"),
    "function_call": ("call_id", "name", "arguments", "namespace"),
    "custom_tool_call": ("call_id", "name", "input", "namespace"),
    "local_shell_call": ("call_id", "action", "namespace"),
    "function_call_output": ("call_id", "output"),
    "custom_tool_call_output": ("call_id", "output"),
    "local_shell_call_output": ("call_id", "output"),
}
"""What is read of an item, by its type."""
_CONTENT: Final = {
    "input_text": ("text",),
    "output_text": ("text",),
    "text": ("text",),
    "refusal": ("refusal",),
    "input_image": ("image_url", "file_id"),
    "input_file": ("filename", "file_id", "file_url", "file_data"),
    "input_audio": ("input_audio",),
}
"""What is read of content, by its type."""

_ROLES = {"system": Role.SYSTEM, "developer": Role.SYSTEM, "user": Role.USER, "assistant": Role.ASSISTANT}


def parse(body: Mapping[str, Any], opaque_of: OpaqueOf, earlier: tuple[Message, ...] = ()) -> Parsed:
    """Read a request.

    :param earlier: the messages of the conversation that ``previous_response_id`` names.
    :raises Problem: it is not a valid request, or uses a part that the gateway does not support.
    """
    if body.get("prompt"):
        raise invalid("this field is not supported", "prompt")
    if field(body, "background", bool) and body.get("store") is False:
        raise invalid("a response in the background is stored; leave store out", "background")
    dropped: list[str] = []
    instructions = field(body, "instructions", str)
    messages = [Message(Role.SYSTEM, (TextPart(instructions),))] if instructions else []
    messages += earlier
    messages += _Items(opaque_of, dropped).read(required(body, "input", (str, list)))
    text = dict(field(body, "text", dict) or {})
    response_format = _response_format(text.pop("format", None))
    native = {name: value for name, value in body.items() if name not in _READ and value is not None}
    if text:
        native["text"] = text
    shared: dict[str, Any] = {
        name: native[name] for name in ("top_p", "parallel_tool_calls", "prompt_cache_key") if name in native
    }
    reasoning = field(body, "reasoning", dict) or {}
    shared |= {name: reasoning[name] for name in ("effort", "summary") if reasoning.get(name) is not None}
    request = ChatRequest(
        model=field(body, "model", str) or "",
        messages=not_blank(messages, "input"),
        max_tokens=max_tokens(body, "max_output_tokens"),
        temperature=temperature(body),
        tools=unique(list(read_tools(body.get("tools") or [], "tools", dropped))),
        tool_choice=_tool_choice(field(body, "tool_choice", (str, dict)), dropped),
        response_format=response_format,
    )
    return Parsed(
        request=request,
        is_stream=bool(field(body, "stream", bool)),
        native=native,
        shared=shared,
        dropped=tuple(dict.fromkeys(dropped)),
        body=body,
    )


def _response_format(value: Any) -> ResponseFormat | None:
    if value is None:
        return None
    kind = one_of(str(value.get("type")), ("text", "json_object", "json_schema"), "text.format.type")
    if kind == "text":
        return None
    if kind == "json_object":
        return ResponseFormat("json_object")
    schema = required(value, "schema", dict, "text.format.")
    return ResponseFormat("json_schema", str(value.get("name") or "answer"), schema)


def _tool_choice(choice: str | Mapping[str, Any] | None, dropped: list[str]) -> str | None:
    if choice is None or isinstance(choice, str):
        return None if choice is None else one_of(choice, ("auto", "none", "required"), "tool_choice")
    match choice.get("type"):
        case "function" | "custom":
            return str(required(choice, "name", str, "tool_choice."))
        case "allowed_tools":
            dropped.append("tool_choice.tools")
            return one_of(str(choice.get("mode", "auto")), ("auto", "required"), "tool_choice.mode")
        case kind:
            dropped.append(f"tool_choice.{kind}")
            return None


class _Items:
    """Reads input items; the items of one turn of the model become one message."""

    def __init__(self, opaque_of: OpaqueOf, dropped: list[str]) -> None:
        self._opaque_of = opaque_of
        self._dropped = dropped
        self._messages: list[Message] = []
        self._forget()

    def _forget(self) -> None:
        self._parts: list[Part] = []
        self._calls: list[ToolCall] = []
        self._own: list[str] = []
        self._foreign: list[Mapping[str, Any]] = []

    def read(self, value: str | list[Any]) -> list[Message]:
        """Return the messages."""
        if isinstance(value, str):
            return [Message(Role.USER, (TextPart(value),))]
        for number, item in enumerate(objects(value, "input")):
            self._item(item, f"input[{number}].")
        self._end_turn()
        return self._messages

    def _item(self, item: Mapping[str, Any], where: str) -> None:
        kind = item.get("type", "message")
        if isinstance(kind, str) and kind in _FIELDS:
            self._dropped += unread(item, _ITEM.union(_FIELDS[kind]), kind)
        match kind:
            case "message":
                self._message(item, where)
            case "function_call":
                arguments = field(item, "arguments", str, where) or "{}"
                call = ToolCall(required(item, "call_id", str, where), required(item, "name", str, where), arguments)
                self._calls.append(call)
                self._foreign.append(item)
            case "custom_tool_call" | "local_shell_call":
                call = read_call(item, where)
                self._calls.append(call)
                as_function = {"call_id": call.id, "name": call.name, "arguments": call.arguments}
                self._foreign.append({"type": "function_call", **as_function})  # as the tool is declared upstream
            case "function_call_output" | "custom_tool_call_output" | "local_shell_call_output":
                self._end_turn()
                call_id = str(item.get("call_id") or required(item, "id", str, where))
                parts = self._content(item.get("output") or "", f"{where}output")
                self._messages.append(Message(Role.TOOL, parts, tool_call_id=call_id))
            case "reasoning":
                content = str(item.get("encrypted_content") or "")
                if content.startswith(OWN_PREFIX):
                    self._own.append(content)
                elif content:  # from a conversation that began elsewhere
                    self._foreign.append(item)
            case "item_reference":
                raise invalid("stored items can be named in requests to /v1/responses only", f"{where}type")
            case kind:
                self._dropped.append(f"input.{kind}")

    def _message(self, item: Mapping[str, Any], where: str) -> None:
        role = _ROLES[one_of(required(item, "role", str, where), _ROLES, f"{where}role")]
        parts = self._content(item.get("content") or "", f"{where}content")
        if role is Role.ASSISTANT:
            if self._calls:
                self._end_turn()
            self._parts += parts
            chars = sum(len(part.text) for part in parts if isinstance(part, TextPart))
            phase = field(item, "phase", str, where) or ""
            self._foreign.append({"type": "message", "phase": phase, "chars": chars})
            return
        self._end_turn()
        self._messages.append(Message(role, parts))

    def _content(self, content: Any, where: str) -> tuple[Part, ...]:
        if isinstance(content, str):
            return (TextPart(content),)
        blocks = objects(content, where)
        parts = tuple(_part(each, f"{where}[{i}]") for i, each in enumerate(blocks))
        for each in blocks:
            self._dropped += unread(each, ("type", *_CONTENT[each["type"]]), each["type"])
        return parts

    def _end_turn(self) -> None:
        if self._parts or self._calls:
            opaque = self._opaque_of([*(call.id for call in self._calls), *self._own]) or EMPTY
            if not opaque and any(item.get("type") == "reasoning" or item.get("phase") for item in self._foreign):
                opaque = {"output": self._foreign}
            self._messages.append(Message(Role.ASSISTANT, tuple(self._parts), tuple(self._calls), opaque=opaque))
        self._forget()


def _part(part: Mapping[str, Any], where: str) -> Part:
    match part.get("type"):
        case "input_text" | "output_text" | "text":
            return TextPart(required(part, "text", str, f"{where}."))
        case "refusal":
            return TextPart(required(part, "refusal", str, f"{where}."))
        case "input_image":
            if (file_id := field(part, "file_id", str, f"{where}.")) is not None:
                return stored_file(file_id)
            return image(required(part, "image_url", str, f"{where}."), f"{where}.image_url")
        case "input_file":
            return file_part(part, f"{where}.")
        case "input_audio":
            audio = required(part, "input_audio", dict, f"{where}.")
            kind, where = required(audio, "format", str, f"{where}.input_audio."), f"{where}.input_audio."
            return file_data(f"audio/{kind}", required(audio, "data", str, where), "", f"{where}data")
        case kind:
            supported = "input_text, output_text, input_image, input_file, input_audio"
            raise invalid(f"content of type {kind!r} is not supported; supported: {supported}", f"{where}.type")


NOT_STORED: Final = "previous_response_not_found"
"""The code that OpenAI's clients know."""


def unknown_previous(response_id: str) -> Problem:
    """Return the error for a request that continues a response that is not stored, or not any more."""
    return Problem(
        message=f"there is no stored response {response_id[:80]!r}; send the whole conversation as input",
        status=404,
        kind="not_found_error",
        code=NOT_STORED,
        param="previous_response_id",
    )


def unknown_response(response_id: str) -> Problem:
    """Return the error for a response that is not stored, or not any more."""
    message = (
        f"there is no stored response {response_id[:80]!r}; it was deleted, has expired, or belongs to another key"
    )
    return Problem(message=message, status=404, kind="not_found_error", code=NOT_STORED, param="response_id")
