"""Reads labelled requests for ``helmdeck eval``: JSON lines with a request and the tools that it needs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from helmdeck_cli.inputs import read_json
from helmdeck_core import did_you_mean
from helmdeck_core.cli import UsageError

MAX_SHOWN = 50
"""Mistakes that are described; the rest is counted."""
_OTHER_KEYS = ("id", "language", "tags")


@attrs.frozen
class LabelledRequest:
    """A request and the entries that it needs.

    :ivar line: its line in the file, from 1.
    :ivar document: a text that precedes the request.
    :ivar group: the language, or another property that results are grouped by.
    """

    line: int
    text: str
    tools: tuple[str, ...]
    document: str = ""
    group: str = ""

    @property
    def whole(self) -> str:
        """The document and the request, as a command with ``--document`` sends them."""
        return f"{self.document}\n\n{self.text}" if self.document else self.text


def read_requests(text: str, ids: Sequence[str], name: str) -> list[LabelledRequest]:
    """Return the requests of a file.

    :param ids: the ids of the catalog.
    :param name: of the file, for errors.
    :raises UsageError: with every invalid line and its number.
    """
    known = tuple(ids)
    requests: list[LabelledRequest] = []
    problems: list[str] = []
    # ``splitlines`` would also split at separators that JSON strings may contain.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        found = _read_line(line, number, known)
        if isinstance(found, LabelledRequest):
            requests.append(found)
        else:
            problems += [f"{name}:{number}: {problem}" for problem in found]
    if problems:
        rest = len(problems) - MAX_SHOWN
        shown = problems[:MAX_SHOWN] + ([f"and {rest:,} more"] if rest > 0 else [])
        raise UsageError("\n".join([f"{name}: {_lines(len(problems))} of labelled requests cannot be used", *shown]))
    if not requests:
        raise UsageError(f'{name}: no requests; a line is {{"request": "...", "tools": ["..."]}}')
    return requests


def _lines(count: int) -> str:
    return "1 problem in lines" if count == 1 else f"{count:,} problems in lines"


def _read_line(line: str, number: int, known: tuple[str, ...]) -> LabelledRequest | list[str]:
    try:
        data = read_json(line)
    except (ValueError, RecursionError) as exc:
        where = f" at character {exc.colno}" if isinstance(exc, json.JSONDecodeError) else ""
        return [f"not JSON{where}"]
    if not isinstance(data, Mapping):
        return ['not an object; a line is {"request": "...", "tools": ["..."]}']
    problems = list(_problems(data, known))
    if problems:
        return problems
    tools = tuple(dict.fromkeys(data["tools"]))
    group = data.get("language", "")
    return LabelledRequest(number, data["request"], tools, data.get("document") or "", str(group))


def _problems(data: Mapping[str, Any], known: tuple[str, ...]) -> Iterator[str]:
    keys = ("request", "tools", "document")
    for key in data:
        if key not in (*keys, *_OTHER_KEYS):
            yield f"unknown key {key!r}{did_you_mean(str(key), (*keys, *_OTHER_KEYS))}"
    request, tools, document = data.get("request"), data.get("tools"), data.get("document")
    if not isinstance(request, str) or not request.strip():
        yield f"request: a non-empty string, found {request!r}"
    if document is not None and not isinstance(document, str):
        yield f"document: a string, found {document!r}"
    if not isinstance(tools, list) or not tools or not all(isinstance(tool, str) for tool in tools):
        yield f"tools: a non-empty list of ids, found {tools!r}"
        return
    for tool in tools:
        if tool not in known:
            yield f"tools: {tool!r} is not in the catalog{did_you_mean(tool, known)}"
