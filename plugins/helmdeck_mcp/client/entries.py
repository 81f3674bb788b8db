"""Tools of a server as catalog entries: stable names, cleaned and bounded texts. Everything here is data of the server."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from helmdeck_cli import counted
from helmdeck_core import Catalog, Entry, EntryKind

SEPARATOR = "__"
"""Between the name of a server and the name of a tool."""

MAX_ID_CHARS = 64
"""The length of a function name that every provider accepts."""

MAX_DESCRIPTION_CHARS = 4_000
MAX_SCHEMA_BYTES = 64_000
MAX_NESTING = 64
MAX_SHOWN_NAMES = 3

_HASH_CHARS = 6
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9_-]", re.ASCII)
_TERMINAL_SEQUENCE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|[ -/]*[0-~])?|\x9b[0-?]*[ -/]*[@-~]"
)
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2028\u2029\u2060-\u206f\ufeff\ud800-\udfff]"
)

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


def clean_text(text: str, limit: int) -> str:
    """Return a text without terminal sequences, control and invisible characters, of at most ``limit`` characters."""
    # The sequences are short, so the rest of a long text has no influence on its start.
    text = _CONTROL.sub("", _TERMINAL_SEQUENCE.sub("", text[: 4 * limit])).strip()
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def entry_id(server: str, tool: str) -> str:
    """Return the id of a tool, which depends on the names of the server and the tool alone.

    A name with characters that providers reject, or one that is too long, ends with a hash of the name.
    """
    name = _NOT_IN_IDS.sub("_", tool)
    limit = MAX_ID_CHARS - len(server) - len(SEPARATOR)
    if name != tool or len(name) > limit:
        digest = hashlib.sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
        name = f"{name[: limit - _HASH_CHARS - 1]}_{digest}"
    return f"{server}{SEPARATOR}{name}"


def catalog_of(
    server: str, tools: Iterable[Mapping[str, Any]], limit: int
) -> tuple[Catalog, dict[str, str], list[str]]:
    """Return the entries of the tools of a server, the name of the tool by id of the entry, and the problems.

    A tool that is malformed, too large, or has a name that is used already is left out.

    :param tools: tools as received from the server.
    :param limit: the maximum number of entries.
    """
    entries: dict[str, Entry] = {}
    names: dict[str, str] = {}
    problems: list[str] = []
    malformed: list[str] = []
    tasks: list[str] = []
    for number, tool in enumerate(tools):
        if number >= limit:
            problems.append(f"it has more than {limit} tools; the others are left out (max_tools)")
            break
        data = entry_data(server, tool)
        if data is None or data["name"] in entries:
            malformed.append(_shown_name(tool))
            continue
        if _needs_task(tool):
            tasks.append(_shown_name(tool))
            continue
        entries[data["name"]] = Entry(EntryKind.PACK, data["name"], data, f"mcp.{server}")
        names[data["name"]] = tool["name"]
    if malformed:
        problems.append(_left_out(malformed, "malformed, too large, or with the name of another"))
    if tasks:
        problems.append(_left_out(tasks, "run as tasks only, which Helmdeck does not support"))
    return Catalog(entries.values()), names, problems


def _left_out(names: list[str], reason: str) -> str:
    shown = ", ".join(names[:MAX_SHOWN_NAMES]) + (", …" if len(names) > MAX_SHOWN_NAMES else "")
    return f"{counted(len(names), 'tool')} left out ({reason}): {shown}"


def _shown_name(tool: Mapping[str, Any]) -> str:
    name = tool.get("name")
    return repr(clean_text(name, MAX_ID_CHARS)) if isinstance(name, str) else "one without a name"


def _needs_task(tool: Mapping[str, Any]) -> bool:
    """Whether a call without a task is refused, as a tool of the protocol version 2025-11-25 may require."""
    execution = tool.get("execution")
    return isinstance(execution, Mapping) and execution.get("taskSupport") == "required"


def entry_data(server: str, tool: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the entry of one tool; ``None`` for a tool that cannot be used."""
    name, schema = tool.get("name"), tool.get("inputSchema")
    if not isinstance(name, str) or not name.strip() or not _is_of_objects(schema):
        return None
    description = tool.get("description")
    data: dict[str, Any] = {
        "name": entry_id(server, name),
        "description": clean_text(description, MAX_DESCRIPTION_CHARS) if isinstance(description, str) else "",
        "input_schema": schema,
    }
    if isinstance(title := tool.get("title"), str) and title.strip():
        data["title"] = clean_text(title, 200)
    if isinstance(hints := tool.get("annotations"), Mapping):
        kept = {hint: hints[hint] for hint in _HINTS if isinstance(hints.get(hint), bool)}
        data |= {"annotations": kept} if kept else {}
    if isinstance(output := tool.get("outputSchema"), Mapping):
        data["outputSchema"] = output
    try:
        for key in ("input_schema", "outputSchema"):
            if key in data:
                data[key] = _cleaned(data[key], MAX_NESTING)
                if len(msgspec.json.encode(data[key])) > MAX_SCHEMA_BYTES:
                    return None
    except (ValueError, TypeError, RecursionError):
        return None
    return data


def _is_of_objects(schema: object) -> bool:
    """Whether a schema has the form that the protocol requires; clients and providers reject a whole list for another one."""
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
        return False
    properties, required = schema.get("properties", {}), schema.get("required", [])
    return (
        isinstance(properties, Mapping)
        and all(isinstance(each, (Mapping, bool)) for each in properties.values())
        and isinstance(required, list)
        and all(isinstance(each, str) for each in required)
    )


def _cleaned(value: Any, levels: int) -> Any:
    """A schema with cleaned texts.

    :raises ValueError: it is nested too deeply.
    """
    if levels == 0:
        raise ValueError("nested too deeply")
    if isinstance(value, Mapping):
        return {clean_text(str(key), 200): _cleaned(each, levels - 1) for key, each in value.items()}
    if isinstance(value, list):
        return [_cleaned(each, levels - 1) for each in value]
    return clean_text(value, MAX_DESCRIPTION_CHARS) if isinstance(value, str) else value
