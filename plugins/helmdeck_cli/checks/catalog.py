"""Finds everything that is wrong in a catalog file, with line numbers: keys, names, descriptions, schemas, shape."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from helmdeck_cli.checks.line_numbers import Path, json_lines, line_of, path_text, read_path, toml_lines
from helmdeck_cli.checks.schemas import misspelt, schema_findings
from helmdeck_cli.inputs import read_json
from helmdeck_core import (
    CatalogError,
    Entry,
    EntryKind,
    InstructionPattern,
    find_instructions,
    undecodable_text,
    without_byte_order_mark,
)
from helmdeck_selection import read_catalog

MAX_NAME_CHARS = 128
"""The limit of the Model Context Protocol."""
MAX_FUNCTION_CHARS = 64
"""The limit of several vendors for the names of functions."""

SCHEMA_KEYS = ("input_schema", "inputSchema", "parameters")
ENTRY_KEYS = frozenset(
    "name id description metadata title version annotations type function strict icons execution _meta output_schema "
    "outputSchema cache_control input_examples defer_loading".split()
) | set(SCHEMA_KEYS)  # fmt: skip
"""Keys of entries in the formats that are read."""
METADATA_KEYS = (
    "accepts", "produces", "limitations", "typical_use", "intent_keywords", "steps", "inputs", "outputs", "supersedes",
)  # fmt: skip
"""Keys of ``metadata`` that the built-in plugins read."""
TOP_KEYS = ("packs", "pipelines", "tools", "result")

_FOUND = re.compile(r"line (\d+)")


@attrs.frozen
class Finding:
    """One thing that is wrong in a catalog file.

    :ivar level: ``error`` or ``warning``.
    :ivar line: the line number, from 1.
    :ivar where: the path in the document, such as ``$.packs[0].name``.
    """

    level: str
    line: int
    where: str
    problem: str


@attrs.frozen
class CatalogReport:
    """The result of a check: everything that was found, by line, and the number of entries."""

    findings: tuple[Finding, ...]
    entries: int = 0

    @property
    def errors(self) -> int:
        """The number of errors."""
        return sum(each.level == "error" for each in self.findings)


def check_catalog(
    raw: bytes, *, is_toml: bool = False, instructions: Sequence[InstructionPattern] = ()
) -> CatalogReport:
    """Check the content of a catalog file in any format that catalogs are loaded from.

    :param instructions: phrases that descriptions should not have.
    """
    kind = "TOML" if is_toml else "JSON"
    try:
        text = without_byte_order_mark(raw).decode()
    except UnicodeDecodeError:
        return _only(f"not encoded in UTF-8; a catalog is {kind} in UTF-8")
    if "\0" in text:
        return _only(f"a binary file; a catalog is {kind}")
    if not text.strip():
        return _only("the file is empty")
    try:
        data: object = tomllib.loads(text) if is_toml else read_json(text)
    except RecursionError:
        return _only(f"not valid {kind}: nested too deeply")
    except ValueError as exc:
        line = exc.lineno if isinstance(exc, json.JSONDecodeError) else int((_FOUND.search(str(exc)) or "01")[1])
        return _only(f"not valid {kind}: {exc}", line)
    lines, duplicates = (toml_lines(text), []) if is_toml else json_lines(text)
    found = [("error", path, f"the key {path[-1]!r} occurs twice in one object") for path in duplicates]
    found += [*_undecodable(data), *_shape(data)]
    rows = list(_rows(data))
    for path, row, id_key in rows:
        found += _entry(path, row, id_key)
        entry = Entry(EntryKind.PACK, str(row.get(id_key, "")), row, "")
        found += [("warning", path, str(each)) for each in find_instructions([entry], instructions)]
    if not rows and not any(level == "error" for level, _, _ in found):
        found.append(("error", (), "the catalog has no entries"))
    findings = {Finding(level, line_of(lines, path), path_text(path), problem) for level, path, problem in found}
    ordered = sorted(findings, key=lambda each: (each.line, each.level, each.where, each.problem))
    return CatalogReport(tuple(ordered), len(rows))


def _only(problem: str, line: int = 1) -> CatalogReport:
    return CatalogReport((Finding("error", line, "$", problem),))


def _undecodable(data: object) -> Iterator[tuple[str, Path, str]]:
    r"""Keys and values with halves of characters, such as ``\ud800``: escapes that this parser takes, and loading does not."""
    waiting: list[tuple[Path, object]] = [((), data)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, Mapping):
            parts = [((*path, key), each) for key, each in value.items()]
            texts = [(at, str(at[-1])) for at, _ in parts]
        else:
            parts = [((*path, number), each) for number, each in enumerate(value)] if isinstance(value, list) else []
            texts = [(path, value)] if isinstance(value, str) else []
        waiting += parts
        problems = ((at, undecodable_text(text, "")) for at, text in texts)
        yield from (("error", at, problem.removeprefix(": ")) for at, problem in problems if problem)


def _shape(data: object) -> Iterator[tuple[str, Path, str]]:
    """What makes the catalog unreadable, and misspelt keys at the top."""
    try:
        read_catalog(data, "")
    except CatalogError as exc:
        for mistake in exc.mistakes:
            path = read_path(mistake.where)
            found = f", found {mistake.found}" if mistake.found else ""
            allowed = f"; allowed: {mistake.allowed}" if mistake.allowed else ""
            yield "error", path, f"{mistake.problem}{found}{allowed}"
    if isinstance(data, Mapping):
        for key, value in data.items():
            if isinstance(value, list) and key not in TOP_KEYS and (meant := misspelt(str(key), TOP_KEYS)):
                yield "error", (str(key),), f"unknown key {key!r}{meant}"


def _rows(data: object) -> Iterator[tuple[Path, Mapping[str, Any], str]]:
    """Every entry with its path, its fields and the key of its id, in each of the formats that are read."""
    path: Path = ()
    if isinstance(data, Mapping) and isinstance(data.get("result"), Mapping):
        data, path = data["result"], ("result",)
    lists: list[tuple[Path, object, str]] = [(path, data, "name")]
    if isinstance(data, Mapping):
        own = [key for key in ("packs", "pipelines") if key in data]
        keys = [(key, "id" if key == "pipelines" else "name") for key in own or ["tools"]]
        lists = [((*path, key), data.get(key), id_key) for key, id_key in keys]
    for at, rows, id_key in lists:
        for number, row in enumerate(rows if isinstance(rows, list) else ()):
            if isinstance(row, Mapping):
                yield (*at, number), row, id_key


def _entry(path: Path, row: Mapping[str, Any], id_key: str) -> Iterator[tuple[str, Path, str]]:
    yield from _keys(row, path)
    if isinstance(function := row.get("function"), Mapping):
        row, path = function, (*path, "function")
        yield from _keys(row, path)
    name, description, metadata = row.get(id_key), row.get("description"), row.get("metadata")
    if isinstance(name, str) and name.strip():
        yield from (("error" if is_wrong else "warning", (*path, id_key), text) for is_wrong, text in _name(name))
    if description is None or (isinstance(description, str) and not description.strip()):
        yield "warning", path, f"{repr(name) if name else 'the entry'} has no description; models choose entries by it"
    if isinstance(metadata, Mapping):
        for key in metadata:
            if key not in METADATA_KEYS and (meant := misspelt(key, METADATA_KEYS)):
                yield "warning", (*path, "metadata", key), f"unknown key {key!r}{meant}"
    for key in SCHEMA_KEYS:
        if key in row:
            yield from schema_findings(row[key], (*path, key))


def _keys(row: Mapping[str, Any], path: Path) -> Iterator[tuple[str, Path, str]]:
    for key in row:
        if key not in ENTRY_KEYS:
            meant = misspelt(str(key), [known for known in ENTRY_KEYS if known not in row])
            note = "" if meant else "; it is part of the catalog that models read, until it is trimmed"
            yield "error" if meant else "warning", (*path, str(key)), f"unknown key {key!r}{meant}{note}"


def _name(name: str) -> Iterator[tuple[bool, str]]:
    """Whether each problem of a name is an error, and the problem."""
    if any(char.isspace() for char in name):
        yield True, f"the name {name!r} contains whitespace"
    elif not name.isprintable():
        yield True, f"the name {name!r} contains control characters"
    if len(name) > MAX_NAME_CHARS:
        yield True, f"the name has {len(name)} characters; at most {MAX_NAME_CHARS} are allowed"
    elif len(name) > MAX_FUNCTION_CHARS:
        yield (
            False,
            f"the name has {len(name)} characters; several vendors allow {MAX_FUNCTION_CHARS} in names of functions",
        )
