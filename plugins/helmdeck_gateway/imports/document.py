"""Writes an imported configuration as TOML, with what could not be carried over as comments."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from helmdeck_cli import SettingsTable
from helmdeck_gateway.imports.findings import Finding
from helmdeck_gateway.imports.litellm import Imported

SHOWN = ("action needed", "approximated", "left out")


def render(imported: Imported, source: str) -> str:
    """Return the text of the file.

    :param source: the name of the imported file.
    :raises ValueError: a name cannot be written in TOML, such as one with a control character.
    """
    text = "\n".join(_lines(imported, source)) + "\n"
    tomllib.loads(text)  # its error is a ValueError
    return text


def _lines(imported: Imported, source: str) -> Iterator[str]:
    yield f"# Made from {_comment(source)} by helmdeck import litellm. The end of this file has what was not carried over."
    if imported.missing:
        yield f"# Secrets are read from environment variables that have to be set: {', '.join(imported.missing)}"
    for path, values in sorted(imported.tables.items(), key=lambda row: (bool(row[0]), _RANK.get(row[0][:1], 9))):
        yield ""
        if not path:
            yield from SettingsTable(("x",), values).toml.splitlines()[1:]
        elif isinstance(values, list):
            for each in values:
                header, *lines = SettingsTable(path, each).toml.splitlines()
                yield from (f"[{header}]", *lines, "")
        else:
            yield from SettingsTable(path, values).toml.splitlines()
    rows = [each for each in imported.findings if each.outcome in SHOWN]
    if rows:
        yield from ("", "# Not carried over as it was:")
        yield from (f"# {_comment(each.comment)}" for each in rows)


_RANK: Mapping[tuple[str, ...], int] = {("gateway",): 0, ("providers",): 1, ("recovery",): 2, ("events",): 3}


def _comment(text: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in text)


def summary(findings: Sequence[Finding]) -> Mapping[str, Any]:
    """Return the number of settings by outcome."""
    counts: dict[str, int] = {}
    for each in findings:
        counts[each.outcome] = counts.get(each.outcome, 0) + 1
    return counts
