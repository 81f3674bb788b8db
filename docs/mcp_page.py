"""The reference page of the MCP server."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from unittest import mock

Table = Callable[[Sequence[str], Iterable[Sequence[str]]], str]

HINTS = {
    "readOnlyHint": ("reads", "writes"),
    "destructiveHint": ("destructive", ""),
    "idempotentHint": ("idempotent", ""),
    "openWorldHint": ("open world", ""),
}


def parts(table: Table) -> list[str]:
    """Return the parts of the page."""
    from helmdeck_mcp.server.entries import Tools
    from helmdeck_mcp.server.facade import SHOWN, facade_tools
    from helmdeck_mcp.server.prompts import PROMPTS
    from helmdeck_mcp.server.resources import RESOURCES
    from helmdeck_mcp.server.tools import Tool
    from helmdeck_testing import make_deck

    tools = Tools(make_deck())
    facade = {tool.name: tool for tool in facade_tools(tools)}

    def rows(listed: Iterable[Tool]) -> list[Sequence[str]]:
        return [(f"`{tool.name}`", tool.description, _inputs(tool.input_schema), _hints(tool.hints)) for tool in listed]

    headings = ("tool", "description", "arguments", "annotations")
    return [
        (
            "What `helmdeck mcp` offers to MCP clients, in the protocol versions 2026-07-28 and 2024-11-05 to 2025-11-25. See "
            "[Put Helmdeck in front of your tools](../how-to/put-helmdeck-in-front-of-your-tools.md), and "
            "[the options of the command](commands.md)."
        ),
        "## Tools",
        (
            "Required arguments are in bold. Without `--facade`, the list also has every installed pack and every tool of a "
            "catalog source that runs its entries; a dot in their names becomes two underscores."
        ),
        table(headings, rows(tools.own.values())),
        "With `--facade`, the list has these tools only. All others can be called by name.",
        table(headings, rows(facade.get(name) or tools.own[name] for name in SHOWN)),
        "## Failures",
        (
            "A failed call has `isError: true`. Its text has the message, the cause, a hint and the next action; "
            "`structuredContent.error` has the same as `message`, `cause`, `hint`, `next_action` and `retryable`, and the facts "
            "of a failed model call. The causes are those of [failed calls](failures.md) and the codes of packs; "
            "`unknown_tool` names the nearest tools in `likely`."
        ),
        "## Resources",
        "All are JSON with a stable order. Clients of 2026-07-28 may keep them for the given time.",
        table(
            ("resource", "description", "kept for", "differs by caller"),
            [
                (f"`{each.uri}`", each.description, f"{each.ttl_ms // 1_000} s", "yes" if each.is_personal else "no")
                for each in sorted(RESOURCES, key=lambda resource: resource.name)
            ],
        ),
        "## Prompts",
        table(("prompt", "description"), [(f"`{each.name}`", each.description) for each in PROMPTS.values()]),
        "Both take the argument `intent`, the request.",
        "## HTTP",
        "The endpoint is `/mcp`. A request is refused before the protocol sees it:",
        table(("status", "reason"), REFUSALS),
        "## Clients",
        (
            "`helmdeck mcp install CLIENT` knows these clients. The files are those on Linux; macOS and Windows have them in "
            "their own folders for settings."
        ),
        table(("client", "name", "file", "table"), _clients()),
    ]


REFUSALS: Sequence[Sequence[str]] = (
    ("401", "a token is required, or it is not valid"),
    ("403", "the `Origin` is neither this server nor allowed with `--allow-origin`"),
    ("404", "another path, or a session that does not exist or belongs to another caller"),
    ("408", "the body did not arrive within 30 seconds"),
    ("413", "the body exceeds `--max-body`"),
    ("421", "the `Host` is neither this machine nor allowed with `--allow-host`"),
    ("429", "more requests per second than `--rate`, with `Retry-After`; ten times as many may come at once"),
    ("503", "`--max-calls` requests are under way; one of several callers may use half of them"),
    ("504", "the call took longer than `--timeout` and did not report it"),
)


def _inputs(schema: Mapping[str, object]) -> str:
    properties, required = schema.get("properties", {}), schema.get("required", ())
    assert isinstance(properties, Mapping)
    assert isinstance(required, (list, tuple))
    return ", ".join(f"**`{name}`**" if name in required else f"`{name}`" for name in properties)


def _hints(hints: Mapping[str, object]) -> str:
    words = [HINTS[name][0 if value else 1] for name, value in hints.items() if name in HINTS]
    return ", ".join(filter(None, words))


def _clients() -> Iterable[Sequence[str]]:
    from helmdeck_mcp.server import clients

    fixed = {name: value for name, value in os.environ.items() if name not in ("XDG_CONFIG_HOME", "CODEX_HOME")}
    with mock.patch.dict(os.environ, fixed, clear=True), mock.patch.object(clients.sys, "platform", "linux"):
        for client in clients.CLIENTS.values():
            path = f"~/{client.path().relative_to(Path.home()).as_posix()}"
            yield client.title, f"`{client.name}`", f"`{path}`", f"`{'.'.join(client.keys)}`"
