"""The MCP clients whose configuration Helmdeck knows: where it is, and what an entry looks like.

Locations and shapes as of November 2026.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

NAME = "helmdeck"
"""The name of the entry."""

Entry = Mapping[str, Any]


@attrs.frozen(kw_only=True)
class McpClient:
    """One client.

    :ivar path: returns the file of its user-wide configuration.
    :ivar keys: the keys that lead to the table of servers.
    :ivar entry: returns the entry for a command line.
    :ivar restart: what the user does so that the client reads the change.
    """

    name: str
    title: str
    path: Callable[[], Path]
    keys: tuple[str, ...] = ("mcpServers",)
    entry: Callable[[Sequence[str]], Entry]
    restart: str

    @property
    def is_toml(self) -> bool:
        """Whether the file is TOML; JSON otherwise."""
        return self.path().suffix == ".toml"


def _home(*parts: str) -> Callable[[], Path]:
    return lambda: Path.home().joinpath(*parts)


def _application(*parts: str) -> Callable[[], Path]:
    """A file in the folder of the system for settings of applications."""

    def path() -> Path:
        if sys.platform == "darwin":
            folder = Path.home() / "Library" / "Application Support"
        elif sys.platform == "win32":
            folder = Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
        else:
            folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
        return folder.joinpath(*parts)

    return path


def _config(*parts: str) -> Callable[[], Path]:
    """A file in ``~/.config``, on every system but Windows."""

    def path() -> Path:
        return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config").joinpath(*parts)

    return path


def _codex() -> Path:
    return Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "config.toml"


def _plain(words: Sequence[str]) -> Entry:
    return {"command": words[0], "args": list(words[1:])}


def _typed(words: Sequence[str]) -> Entry:
    return {"type": "stdio", **_plain(words)}


def _opencode(words: Sequence[str]) -> Entry:
    return {"type": "local", "command": list(words), "enabled": True}


def _zed() -> Path:
    return (_application if sys.platform == "win32" else _config)(
        "Zed" if sys.platform == "win32" else "zed", "settings.json"
    )()


_CLINE = ("Code", "User", "globalStorage", "saoudrizwan.claude-dev", "settings", "cline_mcp_settings.json")

CLIENTS: Mapping[str, McpClient] = {
    client.name: client
    for client in (
        McpClient(
            name="claude-desktop",
            title="Claude Desktop",
            path=_application("Claude", "claude_desktop_config.json"),
            entry=_plain,
            restart="quit and start the application",
        ),
        McpClient(
            name="claude-code",
            title="Claude Code",
            path=_home(".claude.json"),
            entry=_typed,
            restart="start a new session",
        ),
        McpClient(
            name="cursor",
            title="Cursor",
            path=_home(".cursor", "mcp.json"),
            entry=_plain,
            restart="enable the server in the settings of Cursor if it is off",
        ),
        McpClient(
            name="vscode",
            title="Visual Studio Code",
            path=_application("Code", "User", "mcp.json"),
            keys=("servers",),
            entry=_typed,
            restart="run the command `MCP: List Servers` and start the server",
        ),
        McpClient(
            name="windsurf",
            title="Windsurf",
            path=_home(".codeium", "windsurf", "mcp_config.json"),
            entry=_plain,
            restart="refresh the list of servers in the settings",
        ),
        McpClient(
            name="codex",
            title="Codex",
            path=_codex,
            keys=("mcp_servers",),
            entry=_plain,
            restart="start a new session",
        ),
        McpClient(
            name="gemini-cli",
            title="Gemini CLI",
            path=_home(".gemini", "settings.json"),
            entry=_plain,
            restart="start a new session",
        ),
        McpClient(
            name="opencode",
            title="opencode",
            path=_config("opencode", "opencode.json"),
            keys=("mcp",),
            entry=_opencode,
            restart="start a new session",
        ),
        McpClient(
            name="zed",
            title="Zed",
            path=_zed,
            keys=("context_servers",),
            entry=_plain,
            restart="nothing; Zed reads the change at once",
        ),
        McpClient(
            name="cline",
            title="Cline",
            path=_application(*_CLINE),
            entry=_plain,
            restart="nothing; Cline reads the change at once",
        ),
        McpClient(
            name="continue",
            title="Continue",
            path=_home(".continue", "mcpServers", f"{NAME}.json"),
            entry=_plain,
            restart="reload the window of the editor",
        ),
    )
}
