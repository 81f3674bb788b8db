"""Anthropic's Messages, as a client sends them; ``messages_writer`` has the responses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs
import msgspec

from helmdeck_core import (
    EMPTY,
    ChatRequest,
    FilePart,
    Message,
    Part,
    ResponseFormat,
    Role,
    TextPart,
    ToolCall,
    ToolDefinition,
)
from helmdeck_gateway.conversations.opaque_store import OWN_PREFIX
from helmdeck_gateway.dialects.messages_writer import Writer as Writer
from helmdeck_gateway.dialects.messages_writer import error as error
from helmdeck_gateway.dialects.messages_writer import whole as whole
from helmdeck_gateway.dialects.parsed import (
    OpaqueOf,
    Parsed,
    field,
    file,
    file_data,
    image,
    image_data,
    max_tokens,
    not_blank,
    objects,
    one_of,
    prefix_end,
    required,
    stored_file,
    temperature,
    tool,
    unique,
    unread,
)
from helmdeck_gateway.problems import invalid

FAMILY: str = "anthropic"
"""The plugin whose providers speak the dialect, and the key of their data in ``Message.opaque``."""

_READ = frozenset(
    (
        "model", "messages", "system", "max_tokens", "temperature", "tools", "tool_choice", "stop_sequences",
        "stream", "output_config", "output_format",
    )
)  # fmt: skip

_CONTENT: Final = {"text": ("text",), "image": ("source",), "document": ("source", "title")}
"""What is read of content, by its type."""
_CHOICES = {"auto": "auto", "none": "none", "any": "required"}
_encode = msgspec.json.Encoder().encode

BYTES_PER_TOKEN: Final = 3
"""For estimates: too few rather than too many, so that a prompt that is counted as fitting does fit."""


def parse(body: Mapping[str, Any], opaque_of: OpaqueOf) -> Parsed:
    """Read a request.

    :raises Problem: it is not a valid request, or uses a part that the gateway does not support.
    """
    dropped: list[str] = []
    reader = _Reader(opaque_of, dropped)
    messages = reader.system(body.get("system"))
    for number, item in enumerate(objects(required(body, "messages", list), "messages")):
        messages += reader.messages(item, f"messages[{number}].")
    choice = field(body, "tool_choice", dict) or {}
    native = {name: value for name, value in body.items() if name not in _READ and value is not None}
    output = dict(field(body, "output_config", dict) or {})
    response_format = _response_format(output.pop("format", None), "output_config.format")
    if response_format is None:  # its name while it was in beta
        response_format = _response_format(body.get("output_format"), "output_format")
    shared: dict[str, Any] = {name: native[name] for name in ("top_p",) if name in native}
    if output:
        native["output_config"] = output
        shared |= {"effort": output["effort"]} if "effort" in output else {}
    thinking = field(body, "thinking", dict) or {}
    if "effort" not in shared and (tokens := field(thinking, "budget_tokens", int, "thinking.")) is not None:
        shared["thinking_tokens"] = tokens
    if thinking.get("display") == "summarized":
        shared["summary"] = "auto"
    if choice.get("disable_parallel_tool_use"):
        native["tool_choice"] = {"disable_parallel_tool_use": True}
        shared["parallel_tool_calls"] = False
    request = ChatRequest(
        model=field(body, "model", str) or "",
        messages=not_blank(messages, "messages"),
        max_tokens=max_tokens(body, "max_tokens"),
        temperature=temperature(body),
        tools=unique(list(_tools(body, dropped))),
        tool_choice=_tool_choice(choice),
        response_format=response_format,
        stop=tuple(map(str, field(body, "stop_sequences", list) or ())),
    )
    return Parsed(
        request=request,
        is_stream=bool(field(body, "stream", bool)),
        native=native,
        shared=shared,
        dropped=tuple(dict.fromkeys(dropped)),
        body=body,
    )


def with_betas(parsed: Parsed, header: bytes | None) -> Parsed:
    """Return the request with the client's header ``anthropic-beta``, which providers of the same dialect send on."""
    if not header:
        return parsed
    return attrs.evolve(parsed, native={**parsed.native, "anthropic-beta": header.decode("latin-1")})


def estimate_tokens(parsed: Parsed) -> int:
    """Return a conservative estimate of the input tokens of a request."""
    content = {name: parsed.body[name] for name in ("system", "messages", "tools") if name in parsed.body}
    return max(1, len(_encode(content)) // BYTES_PER_TOKEN)


def _response_format(value: Any, where: str) -> ResponseFormat | None:
    if value is None:
        return None
    if not isinstance(value, Mapping) or value.get("type") != "json_schema":
        raise invalid("expected a format of type json_schema", where)
    return ResponseFormat("json_schema", "answer", required(value, "schema", dict, f"{where}."))


def _tool_choice(choice: Mapping[str, Any]) -> str | None:
    kind = choice.get("type")
    if kind is None:
        return None
    if kind == "tool":
        return str(required(choice, "name", str, "tool_choice."))
    return _CHOICES[one_of(str(kind), _CHOICES, "tool_choice.type")]


def _tools(body: Mapping[str, Any], dropped: list[str]) -> Iterator[ToolDefinition]:
    for number, item in enumerate(objects(body.get("tools") or [], "tools")):
        where = f"tools[{number}]"
        name = required(item, "name", str, f"{where}.")
        if item.get("type", "custom") not in ("custom", None):  # executed by Anthropic's own servers or clients
            dropped.append(f"tools.{item['type']}")
            continue
        known = ("name", "description", "input_schema", "type", "cache_control")
        dropped += [f"tools.{each}" for each in item if each not in known]
        found = tool(name, item.get("description"), item.get("input_schema"), where)
        yield attrs.evolve(found, ends_prefix=prefix_end(item, f"{where}."))


class _Reader:
    """Reads messages.

    :param dropped: receives the names of the parts that are left out.
    """

    def __init__(self, opaque_of: OpaqueOf, dropped: list[str]) -> None:
        self._opaque_of = opaque_of
        self._dropped = dropped

    def system(self, value: Any) -> list[Message]:
        """Return the system message, if there is one."""
        if value is None or value == "" or value == []:
            return []
        return [Message(Role.SYSTEM, self._parts(value, "system"))]

    def messages(self, item: Mapping[str, Any], where: str) -> list[Message]:
        """Return the messages of a turn: results of tools are messages of their own."""
        role = one_of(required(item, "role", str, where), ("user", "assistant", "system"), f"{where}role")
        content = item.get("content")
        where += "content"
        if role == "assistant":
            return [self._assistant(content, where)]
        if role == "system" or isinstance(content, str):
            return [Message(Role.SYSTEM if role == "system" else Role.USER, self._parts(content, where))]
        messages: list[Message] = []
        rest: list[Part] = []
        for number, block in enumerate(objects(content, where)):
            if block.get("type") == "tool_result":
                messages.append(self._result(block, f"{where}[{number}]."))
            else:
                rest.append(self._part(block, f"{where}[{number}]"))
        return [*messages, Message(Role.USER, tuple(rest))] if rest or not messages else messages

    def _result(self, block: Mapping[str, Any], where: str) -> Message:
        if block.get("is_error"):
            self._dropped.append("tool_result.is_error")
        self._dropped += unread(block, ("type", "tool_use_id", "content", "is_error", "cache_control"), "tool_result")
        parts = self._parts(block.get("content") or "", f"{where}content")
        if end := prefix_end(block, where):
            *before, last = parts or (TextPart(""),)
            parts = (*before, attrs.evolve(last, ends_prefix=end))
        return Message(Role.TOOL, parts, tool_call_id=required(block, "tool_use_id", str, where))

    def _assistant(self, content: Any, where: str) -> Message:
        if content is None or isinstance(content, str):
            return Message(Role.ASSISTANT, (TextPart(content),) if content else ())
        blocks = objects(content, where)
        parts: list[Part] = []
        calls: list[ToolCall] = []
        ids: list[str] = []
        is_foreign = False
        for number, block in enumerate(blocks):
            place = f"{where}[{number}]"
            match block.get("type"):
                case "tool_use":
                    arguments = _encode(block.get("input") or {}).decode()
                    calls.append(
                        ToolCall(
                            required(block, "id", str, f"{place}."),
                            required(block, "name", str, f"{place}."),
                            arguments,
                            ends_prefix=prefix_end(block, f"{place}."),
                        )
                    )
                    self._dropped += unread(block, ("type", "id", "name", "input", "cache_control"), "tool_use")
                case "thinking" | "redacted_thinking" as kind:
                    if "cache_control" in block:  # the API accepts no marker there
                        self._dropped.append(f"{kind}.cache_control")
                    signature = str(block.get("signature") or "")
                    if signature.startswith(OWN_PREFIX):
                        ids.append(signature)
                    else:  # from a conversation that began elsewhere
                        is_foreign = is_foreign or bool(signature or block.get("data"))
                case _:
                    parts.append(self._part(block, place))
        opaque = self._opaque_of([*(call.id for call in calls), *ids]) or EMPTY
        if is_foreign and not opaque:
            opaque = {FAMILY: {"content": blocks}}
        return Message(Role.ASSISTANT, tuple(parts), tuple(calls), opaque=opaque)

    def _parts(self, content: Any, where: str) -> tuple[Part, ...]:
        if isinstance(content, str):
            return (TextPart(content),)
        return tuple(self._part(each, f"{where}[{i}]") for i, each in enumerate(objects(content, where)))

    def _part(self, block: Mapping[str, Any], where: str) -> Part:
        part, kind = self._content(block, where), str(block["type"])
        self._dropped += unread(block, ("type", "cache_control", *_CONTENT[kind]), kind)
        end = prefix_end(block, f"{where}.")
        return attrs.evolve(part, ends_prefix=end) if end else part

    def _content(self, block: Mapping[str, Any], where: str) -> Part:
        match block.get("type"):
            case "text":
                return TextPart(required(block, "text", str, f"{where}."))
            case "image":
                source = required(block, "source", dict, f"{where}.")
                if source.get("type") == "file":
                    return stored_file(required(source, "file_id", str, f"{where}.source."))
                if source.get("type") == "url":
                    return image(str(source.get("url")), f"{where}.source.url")
                data = required(source, "data", str, f"{where}.source.")
                return image_data(str(source.get("media_type")), data, f"{where}.source.data")
            case "document":
                return _document(block, f"{where}.")
            case kind:
                supported = "text, image, document, tool_use, tool_result, thinking"
                raise invalid(f"content of type {kind!r} is not supported; supported: {supported}", f"{where}.type")


def _document(block: Mapping[str, Any], where: str) -> Part:
    source = required(block, "source", dict, where)
    name = field(block, "title", str, where) or ""
    match source.get("type"):
        case "url":
            return file(required(source, "url", str, f"{where}source."), name, f"{where}source.url", "application/pdf")
        case "base64":
            data = required(source, "data", str, f"{where}source.")
            return file_data(str(source.get("media_type")), data, name, f"{where}source.data")
        case "text":
            return FilePart("text/plain", required(source, "data", str, f"{where}source.").encode(), name=name)
        case "file":
            return stored_file(required(source, "file_id", str, f"{where}source."))
        case kind:
            supported = "base64, url, text, file"
            raise invalid(f"a source of type {kind!r} is not supported; supported: {supported}", f"{where}source.type")


def models(names: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return a list of models; each is an id and its owner."""
    rows = [
        {"type": "model", "id": name, "display_name": name, "created_at": "1970-01-01T00:00:00Z"} for name, _ in names
    ]
    ends = {"first_id": rows[0]["id"], "last_id": rows[-1]["id"]} if rows else {"first_id": None, "last_id": None}
    return {"data": rows, "has_more": False, **ends}
