"""Event sinks, and events as plain data."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import attrs

from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.events import Event


def event_data(event: Event) -> dict[str, Any]:
    """An event as plain data, its name as ``event``; without empty fields."""
    data = attrs.asdict(event, filter=_has_content, value_serializer=_plain)
    return {"event": event.name, **data}


def _has_content(_: Any, value: Any) -> bool:
    return value is not None and value != "" and value != ()


def _plain(_: Any, __: Any, value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.value
    return list(value) if isinstance(value, tuple) else value


class EventSinkWarning(UserWarning):
    """An event sink raised; the call that it observed continues."""


class OpenSink(Protocol):
    """A receiver that was opened for one deck. Its methods show what else it supports.

    It may also be a ``TraceStore``. A method ``close`` is called when the deck is closed, possibly more than once.
    """

    def handle(self, event: Event) -> None:
        """Handle an event; see ``EventSink.handle``."""
        ...


@attrs.frozen(kw_only=True)
class EventSink:
    """A receiver of events: always enabled with ``handle``, or enabled by the configuration with ``open``.

    :ivar handle: called in the thread of the call, in the order of what happened; quick; an exception is reported with
        ``EventSinkWarning`` and does not fail the call. ``None`` for a sink that is opened.
    :ivar open: makes the receiver of one deck, with every option as a keyword argument; imports what it needs itself.
        Called once, where ``[events] sinks`` names the sink, and nowhere else.
    :ivar options: what a deployment can set under ``[events.options.NAME]``, with the defaults; a value must be of its
        default's type: a text, a number or a truth value.
    :ivar is_active: called once, when plugins are resolved; an inactive sink has no cost afterwards.
    """

    name: str
    handle: Callable[[Event], None] | None = None
    open: Callable[..., OpenSink] | None = None
    options: Mapping[str, str | bool | int | float] = EMPTY
    is_active: Callable[[], bool] = lambda: True
    summary: str = ""
    order: int = 0
