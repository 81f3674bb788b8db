"""Hints about the effects of packs, in the form that tools of MCP servers have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from helmdeck_core import Entry

_NAMES: Final = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}


def effect_hints(**hints: bool | None) -> dict[str, bool]:
    """Return annotations; hints that are ``None`` are left out.

    :param hints: ``read_only``: it changes nothing; ``destructive``: it may delete or overwrite something; ``idempotent``:
        the same call again changes nothing more; ``open_world``: it talks to systems outside.
    """
    return {_NAMES[name]: value for name, value in hints.items() if value is not None}


def annotations_of(entry: Entry) -> Mapping[str, Any]:
    """Return the annotations of a catalog entry; those of its metadata where the entry itself has none.

    >>> from helmdeck_runs import annotations_of
    >>> from helmdeck_selection import read_catalog
    >>> tool = {"name": "read_file", "description": "Read a file", "annotations": {"readOnlyHint": True}}
    >>> annotations_of(read_catalog([tool], "example").entries[0])
    {'readOnlyHint': True}
    """
    found = (data.get("annotations") for data in (entry.data, entry.metadata))
    return next((each for each in found if isinstance(each, Mapping)), {})


def is_read_only(entry: Entry) -> bool:
    """Whether an entry is annotated as read-only, and not as destructive too; without annotations it is not.

    >>> from helmdeck_runs import is_read_only
    >>> from helmdeck_selection import read_catalog
    >>> tool = {"name": "read_file", "description": "Read a file", "annotations": {"readOnlyHint": True}}
    >>> is_read_only(read_catalog([tool], "example").entries[0])
    True
    """
    found = annotations_of(entry)
    return found.get("readOnlyHint") is True and found.get("destructiveHint") is not True
