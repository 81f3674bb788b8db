"""Changes configuration files of MCP clients: one entry is added or removed, everything else stays."""

from __future__ import annotations

import difflib
import json
import re
import shutil
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from helmdeck_cli import replace_text
from helmdeck_core import speaks_of_secrets, without_byte_order_mark
from helmdeck_core.cli import UsageError
from helmdeck_mcp.install.json_text import with_member, without_member
from helmdeck_mcp.install.known_clients import NAME, Entry, McpClient
from helmdeck_storage import replace_private_file

MAX_BACKUPS = 3
"""Backups of a file that are kept."""


class CannotEdit(UsageError):
    """A file that cannot be changed without the risk of losing something; the message has the text to paste."""


@attrs.frozen(kw_only=True)
class Change:
    """A change of one file that was not made yet.

    :ivar before: the present content; ``None`` if there is no file.
    :ivar after: the new content; ``None`` if the file is deleted.
    """

    path: Path
    before: str | None
    after: str | None

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to change."""
        return self.before != self.after

    def diff(self) -> str:
        """Return the change as a unified diff."""
        old, new = ("" if text is None else text for text in (self.before, self.after))
        source, target = ("/dev/null" if text is None else str(self.path) for text in (self.before, self.after))
        lines = difflib.unified_diff(old.splitlines(), new.splitlines(), source, target, lineterm="", n=1)
        return "\n".join(_without_secrets(line) for line in lines)

    def write(self) -> Path | None:
        """Make the change; the file is replaced as a whole, with its permissions. Return the backup, if there was a file.

        :raises OSError: nothing was changed.
        """
        path = self.path.resolve()  # a link to a file elsewhere stays a link
        backup = None
        if self.before is not None:
            backup = path.with_name(f"{path.name}.{time.strftime('%Y%m%d-%H%M%S')}.{NAME}-backup")
            shutil.copy2(path, backup)
            for old in sorted(path.parent.glob(f"{path.name}.*.{NAME}-backup"))[:-MAX_BACKUPS]:
                old.unlink()
        if self.after is None:
            path.unlink()
            return backup
        path.parent.mkdir(parents=True, exist_ok=True)
        if self.before is None:
            after = self.after.encode()
            replace_private_file(path, lambda draft: draft.write(after))
        else:
            replace_text(path, self.after)
        return backup


_VALUE = re.compile(r"""((["']?)([\w.-]+)\2\s*[:=]\s*)(["'])(?:(?!\4)[^\\]|\\.)*\4""")
"""A name and a string, in JSON and in TOML."""


def _without_secrets(line: str) -> str:
    """A line of the difference without the values of credentials, which belong to the entries of other servers."""
    return _VALUE.sub(lambda match: f'{match[1]}"[redacted]"' if speaks_of_secrets(match[3]) else match[0], line)


def added(client: McpClient, words: Sequence[str]) -> Change:
    """Return the change that adds the entry, or replaces it.

    :param words: the command line of the server.
    :raises CannotEdit: the file has comments or a shape that is not understood.
    """
    path, entry = client.path(), client.entry(words)
    return _changed(client, path, _read(path), entry)


def removed(client: McpClient) -> Change:
    """Return the change that removes the entry.

    :raises CannotEdit: as for ``added``.
    """
    path = client.path()
    return _changed(client, path, _read(path), None)


def _read(path: Path) -> str | None:
    try:
        return without_byte_order_mark(path.read_bytes()).decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as exc:
        raise CannotEdit(f"{path} is not UTF-8 ({exc})") from exc


def _changed(client: McpClient, path: Path, before: str | None, entry: Entry | None) -> Change:
    if before is None and entry is None:
        return Change(path=path, before=None, after=None)
    edit: Callable[..., str] = _edit_toml if client.is_toml else _edit_json
    try:
        after: str | None = edit(before or "", client.keys, entry)
    except ValueError as exc:
        what = "remove the entry" if entry is None else "paste this into it"
        text = "" if entry is None else f":\n{snippet(client, entry)}"
        location = ".".join((*client.keys, NAME))
        raise CannotEdit(f"{path} is left unchanged, because {exc}; {what} yourself ({location}){text}") from exc
    if after is not None and entry is None and client.name == "continue" and not json.loads(after).get("mcpServers"):
        after = None  # the file was for this entry alone
    return Change(path=path, before=before, after=after)


def snippet(client: McpClient, entry: Entry) -> str:
    """Return the text that adds the entry to an empty file."""
    return (_edit_toml if client.is_toml else _edit_json)("", client.keys, entry)


# -- JSON ----------------------------------------------------------------------------------------------------


def _edit_json(text: str, keys: Sequence[str], entry: Entry | None) -> str:
    """Return the text with the entry, and nothing else changed; ``ValueError`` says why it cannot be changed."""
    text = text if text.strip() else "{}\n"
    try:
        data = json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as exc:
        if re.search(r"(^|\s)//|/\*|,\s*[}\]]", text):
            raise ValueError("it has comments or trailing commas, which would be lost") from exc
        raise ValueError(f"it is not valid JSON ({exc})") from exc
    if not isinstance(data, dict):
        raise ValueError("its content is not an object")
    table = data
    for key in keys:
        if key not in table and entry is None:
            return text
        table = table.setdefault(key, {})
        if not isinstance(table, dict):
            raise ValueError(f"{key!r} is not an object")
    old = table.get(NAME)
    if entry is None:
        return without_member(text, keys, NAME) if NAME in table else text
    # What the user added, such as an environment or a list of approved tools, stays.
    new = {**old, **entry} if isinstance(old, dict) else dict(entry)
    return text if new == old else with_member(text, keys, NAME, new)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice in it, and one of them would be lost")
    return found


# -- TOML ----------------------------------------------------------------------------------------------------


def _edit_toml(text: str, keys: Sequence[str], entry: Entry | None) -> str:
    """Return the text with the table; comments and the order of everything else stay. Errors as for JSON."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise ValueError(f"it is not valid TOML ({exc})") from exc
    present: Any = data
    for key in (*keys, NAME):
        present = present.get(key) if isinstance(present, Mapping) else None
    if (present is None) if entry is None else (present == entry):
        return text
    header = ".".join((*keys, NAME))
    others, own = _without_table(text, header, with_subtables=entry is None)
    if present is not None and not own:
        raise ValueError(f"{header} is not a table of its own")
    if entry is None:
        new = others
    else:
        lines = [f"[{header}]", *(f"{key} = {_toml_value(value)}" for key, value in entry.items())]
        lines += [line for line in own if line.split("=")[0].strip() not in entry and "=" in line]
        start = others.rstrip("\n")
        new = "\n\n".join(filter(None, (start, "\n".join(lines)))) + "\n"
    _check_toml(new, data, keys, entry)
    return new


def _without_table(text: str, header: str, *, with_subtables: bool) -> tuple[str, list[str]]:
    """The text without one table, and the lines of that table."""
    others: list[str] = []
    own: list[str] = []
    comments: list[str] = []  # those before the header of a table belong to it
    inside = False
    for line in text.splitlines(keepends=True):
        if re.match(r"\s*\[", line):
            name = re.sub(r"[\s\"']", "", line.split("]")[0].lstrip().lstrip("["))
            if inside:
                others += comments
            inside = name == header or (with_subtables and name.startswith(f"{header}."))
            comments = []
            if inside:
                if others and not others[-1].strip():
                    others.pop()
                continue
        if not inside:
            others.append(line)
        elif not line.strip() or line.lstrip().startswith("#"):
            comments.append(line)
        else:
            own.append(line.rstrip("\n"))
            comments = []
    return "".join(others), [line for line in own if line.strip()]


def _check_toml(new: str, data: dict[str, Any], keys: Sequence[str], entry: Entry | None) -> None:
    """Check that nothing but the entry differs; ``ValueError`` otherwise."""
    try:
        result: Any = tomllib.loads(new)
    except tomllib.TOMLDecodeError as exc:
        raise ValueError("the table cannot be changed by lines") from exc
    for both in (result, data):
        table: Any = both
        for key in keys:
            table = table.get(key, {}) if isinstance(table, dict) else {}
        if not isinstance(table, dict):
            raise ValueError("the table cannot be changed by lines")
        if both is result and entry is not None and not (entry.items() <= table.get(NAME, {}).items()):
            raise ValueError("the table cannot be changed by lines")
        table.pop(NAME, None)
        if not table:
            both.pop(keys[0], None)
    if result != data:
        raise ValueError("the table cannot be changed by lines")


def _toml_value(value: Any) -> str:
    # JSON's strings, lists and booleans are TOML's too.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
