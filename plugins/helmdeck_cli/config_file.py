"""Adds settings to a ``helmdeck.toml`` without changing what is in it: comments, order and values stay."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from helmdeck_core import dotted
from helmdeck_core.cli import UsageError


@attrs.frozen
class SettingsTable:
    """Settings of one table.

    :ivar table: the path of the table, such as ``("budgets", "acme/small")``.
    """

    table: tuple[str, ...]
    values: Mapping[str, Any]

    @property
    def toml(self) -> str:
        """The table as text."""
        return "\n".join([f"[{_header(self.table)}]", *_lines(self.values)]) + "\n"


_BARE = re.compile(r"[A-Za-z0-9_-]+")


def _header(path: Sequence[str]) -> str:
    # A dot inside a key needs quotes, and model ids have slashes and dots.
    return ".".join(key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False) for key in path)


def _lines(values: Mapping[str, Any]) -> list[str]:
    return [f"{_header((key,))} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]


def with_settings(text: str, added: SettingsTable) -> tuple[str, tuple[str, ...]]:
    """Return a configuration with the settings that it lacks, and the keys that it has already, which stay.

    :raises ValueError: the text is not TOML, or has the table in a form that cannot be extended, such as an inline table.
    """
    present = _table(tomllib.loads(text), added.table)
    kept = tuple(key for key in added.values if key in present)
    new = {key: value for key, value in added.values.items() if key not in present}
    if not new:
        return text, kept
    lines = text.splitlines()
    place = _end_of_table(lines, added.table)
    if place is None:
        gap = [""] if lines and lines[-1].strip() else []
        changed = [*lines, *gap, *SettingsTable(added.table, new).toml.splitlines()]
    else:
        changed = [*lines[:place], *_lines(new), *lines[place:]]
    result = "\n".join(changed) + "\n"
    # A line that looks like a header may be part of a string, and a table may be written inline.
    if tomllib.loads(result) != _merged(tomllib.loads(text), added.table, new):
        raise ValueError(f"the table [{_header(added.table)}] cannot be extended")
    return result, kept


def _table(data: Mapping[str, Any], path: Sequence[str]) -> Mapping[str, Any]:
    for key in path:
        found = data.get(key, {})
        if not isinstance(found, Mapping):
            raise ValueError(f"{dotted((key,))} is not a table")
        data = found
    return data


def _end_of_table(lines: Sequence[str], path: Sequence[str]) -> int | None:
    """The line after the last setting of a table; ``None`` if there is no such header."""
    end: int | None = None
    is_inside = False
    for number, line in enumerate(lines):
        if line.lstrip().startswith("["):
            is_inside = _path_of(line) == tuple(path)
        if is_inside and line.strip() and not line.lstrip().startswith("#"):
            end = number + 1
    return end


def _path_of(line: str) -> tuple[str, ...]:
    """The path that a header names; empty for other lines."""
    try:
        data: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return ()
    path: list[str] = []
    while isinstance(data, dict) and len(data) == 1:
        ((key, data),) = data.items()
        path.append(key)
    return tuple(path) if data == {} else ()


def _merged(data: dict[str, Any], path: Sequence[str], values: Mapping[str, Any]) -> dict[str, Any]:
    if not path:
        return {**data, **values}
    return {**data, path[0]: _merged(data.get(path[0], {}), path[1:], values)}


def add_to_file(path: Path, added: Sequence[SettingsTable]) -> tuple[str, ...]:
    """Add settings to a file, which is created if it is missing; return the keys that it had already.

    :raises UsageError: the file cannot be read, written or extended; it is unchanged.
    """
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        kept: list[str] = []
        for each in added:
            text, present = with_settings(text, each)
            kept += (dotted((*each.table, key)) for key in present)
        replace_text(path, text)
    except (OSError, ValueError) as exc:
        problem = exc.strerror if isinstance(exc, OSError) else exc
        raise UsageError(f"--write: {path} cannot be changed ({problem}); add the printed rows by hand") from exc
    return tuple(kept)


def replace_text(path: Path, text: str) -> None:
    """Replace the text of a file as a whole, with its permissions; a missing one is created. A link to a file stays a link.

    :raises OSError: the file is as before; a missing one is still missing.

    >>> from pathlib import Path
    >>> from helmdeck_cli import replace_text
    >>> replace_text(Path("helmdeck.toml"), 'model = "acme/large"')
    >>> Path("helmdeck.toml").read_text()
    'model = "acme/large"'
    """
    if not path.exists():
        try:
            path.write_text(text, encoding="utf-8")
        except BaseException:  # such as a full disk
            path.unlink(missing_ok=True)
            raise
        return
    path = path.resolve()
    number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(number, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        shutil.copymode(path, name)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
