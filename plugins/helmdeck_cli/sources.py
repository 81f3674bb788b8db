"""The servers of catalog sources that are opened, such as MCP servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helmdeck_core.cli import note

if TYPE_CHECKING:
    from helmdeck_core import Helmdeck


def source_status(deck: Helmdeck) -> list[tuple[str, int, str]]:
    """Return the name, the number of entries and the problem of every server; empty until the catalog is used.

    :returns: names such as ``mcp.git``; no problem is an empty string.

    >>> from helmdeck_cli import source_status
    >>> from helmdeck_core import Helmdeck
    >>> with Helmdeck(model="local/lexical") as deck:
    ...     print(source_status(deck))
    []
    """
    sources = deck.open_sources.items()
    return [
        (f"{source}.{name}", count, problem)
        for source, each in sources
        for name, count, problem in getattr(each, "status", tuple)()
    ]


def refresh_sources(deck: Helmdeck) -> None:
    """Let sources read their entries again, such as those of MCP servers whose tools they know from an earlier process.

    :raises ImportError: a source needs an extra that is not installed.
    """
    for each in list(deck.open_sources.values()):
        getattr(each, "refresh", lambda: None)()


def note_source_problems(deck: Helmdeck) -> None:
    """Print a warning for every server that has a problem, such as one that is not reachable.

    >>> from helmdeck_cli import note_source_problems
    >>> from helmdeck_core import Helmdeck
    >>> with Helmdeck(model="local/lexical") as deck:
    ...     note_source_problems(deck)
    """
    for name, _, problem in source_status(deck):
        if problem:
            note(f"warning: catalog.{name}: {problem}")
