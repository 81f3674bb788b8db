"""Line numbers of the values in JSON and TOML files; the parsers of the standard library report them for syntax errors only."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

Path = tuple[str | int, ...]
"""The keys and indexes that lead to a value; empty for the whole document."""

_LEXEME = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_NUMBER_OR_KEY = re.compile(r"\.((?:[^.\[\]])+)|\[(\d+)\]")
_TOML_KEY = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[\w-]+)"""
_TOML_HEADER = re.compile(rf"\s*(\[\[?)\s*({_TOML_KEY}(?:\s*\.\s*{_TOML_KEY})*)\s*\]")
_TOML_ASSIGNMENT = re.compile(rf"\s*({_TOML_KEY}(?:\s*\.\s*{_TOML_KEY})*)\s*=")
_TOML_PART = re.compile(_TOML_KEY)


def json_lines(text: str) -> tuple[dict[Path, int], list[Path]]:
    """Return the line of each value of a valid JSON document by its path, and the keys that occur twice in an object."""
    lines: dict[Path, int] = {}
    duplicates: list[Path] = []
    containers: list[tuple[Path, list[int] | None]] = []
    target: Path | None = ()
    line, end = 1, 0
    for match in _LEXEME.finditer(text):
        line += text.count("\n", end, match.start())
        end = match.start()
        lexeme = match.group()
        if lexeme in ("}", "]"):
            containers.pop()
        elif lexeme == ",":
            path, index = containers[-1]
            target = None
            if index is not None:
                index[0] += 1
                target = (*path, index[0])
        elif lexeme == ":":
            continue
        elif target is None:  # the key of an object
            target = (*containers[-1][0], str(json.loads(lexeme)))
            if target in lines:
                duplicates.append(target)
            lines[target] = line
        else:
            lines.setdefault(target, line)
            if lexeme == "{":
                containers.append((target, None))
                target = None
            elif lexeme == "[":
                containers.append((target, [0]))
                target = (*target, 0)
    return lines, duplicates


def toml_lines(text: str) -> dict[Path, int]:
    """Return the lines of the tables and keys of a valid TOML document by their paths; those in inline tables are left out.

    >>> from helmdeck_cli import toml_lines
    >>> {".".join(path): line for path, line in toml_lines("[catalog]" + chr(10) + 'sources = ["tools.json"]').items()}
    {'catalog': 1, 'catalog.sources': 2}
    """
    lines: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
    quotes = ""
    for number, line in enumerate(text.split("\n"), 1):
        if quotes:
            quotes = "" if quotes in line else quotes
            continue
        if header := _TOML_HEADER.match(line):
            table = _resolved(_parts(header[2]), counts, is_array=header[1] == "[[")
            lines.setdefault(table, number)
        elif assignment := _TOML_ASSIGNMENT.match(line):
            lines.setdefault((*table, *_parts(assignment[1])), number)
        quotes = next((each for each in ('"""', "'''") if line.count(each) % 2), "")
    return lines


def _parts(key: str) -> list[str]:
    return [part.strip("\"'") for part in _TOML_PART.findall(key)]


def _resolved(parts: Sequence[str], counts: dict[Path, int], *, is_array: bool) -> Path:
    """The path of a table header, with the indexes of the arrays of tables that it goes through."""
    path: Path = ()
    for number, part in enumerate(parts, 1):
        path = (*path, part)
        if is_array and number == len(parts):
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path


def line_of(lines: Mapping[Path, int], path: Path) -> int:
    """The line of a path, or of its nearest ancestor that has one."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


def path_text(path: Path) -> str:
    """A path as in errors, such as ``$.packs[0].name``."""
    return "$" + "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in path)


def read_path(text: str) -> Path:
    """Read a path such as ``$.packs[0].name``."""
    return tuple(int(match[2]) if match[2] else match[1] for match in _NUMBER_OR_KEY.finditer(text))
