"""Web applications that a gateway serves beside its own endpoints, and screens of the console."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import attrs

from helmdeck_core.domain import EMPTY

AsgiApp = Callable[[Any, Any, Any], Awaitable[None]]
"""An ASGI application."""


@attrs.frozen(kw_only=True)
class GatewayApp:
    """An ASGI application that the gateway serves under a path.

    :ivar name: also that of its endpoints, if they check what a key may use; the field ``dialects`` of keys and teams accepts it.
    :ivar path: such as ``/console``; the application gets the requests to it and below it.
    :ivar open: makes the application of one gateway, which is its argument; ``None`` serves nothing. Called again after a reload
        of the configuration.
    """

    name: str
    path: str
    open: Callable[[Any], AsgiApp | None]
    summary: str = ""
    order: int = 0


@attrs.frozen(kw_only=True)
class ScreenTable:
    """A table of a screen.

    :ivar headings: one per column.
    :ivar rows: numbers are right-aligned; every string is shown as text.
    :ivar caption: what the table shows.
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[str | int | float | None, ...], ...]
    caption: str = ""


@attrs.frozen(kw_only=True)
class ScreenPage:
    """The content of a screen. Every string is shown as text, so that it may come from anywhere.

    :ivar texts: paragraphs above the tables.
    """

    texts: tuple[str, ...] = ()
    tables: tuple[ScreenTable, ...] = ()


@attrs.frozen(kw_only=True)
class ScreenContext:
    """What a screen is opened with.

    :ivar deck: the deck, whose calls the console shows; ``None`` for recorded calls alone.
    :ivar team: the only team whose data the reader may see; empty for all.
    :ivar query: the query of the URL.
    """

    deck: Any = None
    team: str = ""
    query: Mapping[str, str] = EMPTY


@attrs.frozen(kw_only=True)
class ConsoleScreen:
    """A screen of the console, at ``/console/NAME``.

    :ivar name: a short word of the URL: lower-case letters, digits and hyphens.
    :ivar title: shown in the navigation and as the heading.
    :ivar read: returns the content; called in a thread for every view, so it may read files and databases.
    """

    name: str
    title: str
    read: Callable[[ScreenContext], ScreenPage]
    summary: str = ""
    order: int = 0
