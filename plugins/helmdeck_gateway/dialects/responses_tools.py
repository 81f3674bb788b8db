"""Tools of OpenAI's Responses that are not functions, and that clients execute: they become functions for the models.

A custom tool takes a string, and the local shell a command. Models get them as functions, and clients get their calls back as the
items that they expect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import attrs
import msgspec

from helmdeck_core import ToolCall, ToolDefinition
from helmdeck_gateway.dialects.parsed import objects, required, tool, unread
from helmdeck_gateway.problems import invalid

CUSTOM: Final = "custom"
SHELL: Final = "local_shell"
"""The type of the local shell, and the name of its function."""

_CUSTOM_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"input": {"type": "string", "description": "the whole input of the tool"}},
    "required": ["input"],
}
_SHELL_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "command": {"type": "array", "items": {"type": "string"}, "description": "the program and its arguments"},
        "working_directory": {"type": "string"},
        "timeout_ms": {"type": "integer"},
    },
    "required": ["command"],
}
_FUNCTION: Final = frozenset(("type", "name", "description", "parameters", "strict"))
_encode = msgspec.json.Encoder().encode


@attrs.frozen
class Declared:
    """How the client declared a tool.

    :ivar kind: ``function``, ``custom`` or ``local_shell``.
    :ivar namespace: the namespace that contains it; empty for none.
    """

    kind: str = "function"
    namespace: str = ""


FUNCTION: Final = Declared()
MAX_NESTING: Final = 8
"""Levels of namespaces; clients send one."""


def read_tools(items: Any, where: str, dropped: list[str], level: int = 0) -> Iterator[ToolDefinition]:
    """Yield the tools of a request as functions.

    :param dropped: receives the names of what is left out.
    :param level: namespaces around the tools.
    """
    if level > MAX_NESTING:
        raise invalid(f"at most {MAX_NESTING} levels of namespaces are allowed", where)
    for number, item in enumerate(objects(items, where)):
        place = f"{where}[{number}]"
        match item.get("type", "function"):
            case "function":
                name = required(item, "name", str, f"{place}.")
                if item.get("strict"):
                    dropped.append("tools.strict")
                dropped += unread(item, _FUNCTION, "tools")
                yield tool(name, item.get("description"), item.get("parameters"), place)
            case "namespace":
                yield from read_tools(item.get("tools") or [], f"{place}.tools", dropped, level + 1)
            case "custom":
                dropped += unread(item, ("type", "name", "description", "format"), "tools")
                yield tool(required(item, "name", str, f"{place}."), _described(item, dropped), _CUSTOM_SCHEMA, place)
            case "local_shell":
                yield tool(SHELL, "Runs a command on the user's machine, and returns its output.", _SHELL_SCHEMA, place)
            case kind:  # executed by OpenAI's own servers
                dropped.append(f"tools.{kind}")


def _described(item: Mapping[str, Any], dropped: list[str]) -> str:
    """The description of a custom tool with its grammar, which constrains no model."""
    description, form = str(item.get("description") or ""), item.get("format")
    if not isinstance(form, Mapping) or form.get("type") != "grammar":
        return description
    dropped.append("tools.format")
    return f"{description}\n\nThe input has this grammar ({form.get('syntax')}):\n{form.get('definition')}".strip()


def declared_tools(body: Mapping[str, Any]) -> Mapping[str, Declared]:
    """Return how the client declared each tool that is no plain function, by name."""
    return dict(_declared(body.get("tools") or (), ""))


def _declared(items: Iterable[Mapping[str, Any]], namespace: str) -> Iterator[tuple[str, Declared]]:
    for item in items:
        match item.get("type", "function"):
            case "namespace":
                yield from _declared(item.get("tools") or (), str(item.get("name") or ""))
            case "custom":
                yield str(item.get("name")), Declared(CUSTOM, namespace)
            case "local_shell":
                yield SHELL, Declared(SHELL, namespace)
            case "function" if namespace:
                yield str(item.get("name")), Declared("function", namespace)


def call_item(item_id: str, call: ToolCall, declared: Declared) -> dict[str, Any]:
    """Return a tool call as an output item.

    :param item_id: the random part of the item's id.
    """
    item: dict[str, Any] = {"call_id": call.id, "status": "completed"}
    arguments = _object(call.arguments)
    if declared.kind == CUSTOM:
        item |= {"id": f"ctc_{item_id}", "type": "custom_tool_call", "name": call.name}
        item["input"] = custom_input(call.arguments)
    elif declared.kind == SHELL:
        action = {"type": "exec", "env": {}, "command": [], **arguments}
        item |= {"id": f"lsh_{item_id}", "type": "local_shell_call", "action": action}
    else:
        item |= {"id": f"fc_{item_id}", "type": "function_call", "name": call.name, "arguments": call.arguments}
    return {**item, "namespace": declared.namespace} if declared.namespace else item


def custom_input(arguments: str) -> str:
    """Return the input of a custom tool; the arguments themselves, if a model wrote the input in their place."""
    value = _object(arguments).get("input")
    return value if isinstance(value, str) else arguments


def read_call(item: Mapping[str, Any], where: str) -> ToolCall:
    """Read an item that is a call of a tool.

    :raises Problem: it lacks a field.
    """
    call_id = str(item.get("call_id") or required(item, "id", str, where))
    if item["type"] == "custom_tool_call":
        arguments = {"input": required(item, "input", str, where)}
        return ToolCall(call_id, required(item, "name", str, where), _encode(arguments).decode())
    action = required(item, "action", dict, where)
    arguments = {name: action[name] for name in _SHELL_SCHEMA["properties"] if action.get(name) is not None}
    return ToolCall(call_id, SHELL, _encode(arguments).decode())


def _object(text: str) -> Mapping[str, Any]:
    try:
        value = msgspec.json.decode(text.encode("utf-8", "replace")) if text.strip() else {}
    except (msgspec.DecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
