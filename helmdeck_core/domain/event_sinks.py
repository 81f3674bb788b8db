"""Event sinks, and events as plain data."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import attrs

from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.events import Event


def event_data(event: Event) -> dict[str, Any]:
    """Return an event as plain data without empty fields, with its name as ``event``."""
    data = attrs.asdict(event, filter=_has_content, value_serializer=_plain)
    return {"event": event.name, **data}


def _has_content(_: Any, value: Any) -> bool:
    return value is not None and value != "" and value != ()


def _plain(_: Any, __: Any, value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.value
    return list(value) if isinstance(value, tuple) else value


class OpenSink(Protocol):
    """A sink that was opened for one deck.

    It may also be a ``TraceStore``. A method ``close`` is called when the deck is closed, possibly more than once.
    """

    def handle(self, event: Event) -> None:
        """Handle an event; see ``EventSink.handle``."""
        ...


@attrs.frozen(kw_only=True)
class EventSink:
    """A receiver of events: always enabled with ``handle``, or enabled by the configuration with ``open``.

    :ivar handle: called in the thread of the call, in the order of events; must be fast. Its exceptions are raised as
        ``PluginError``. ``None`` if the sink has ``open``.
    :ivar open: opens the sink for one deck, with every option as a keyword argument; should import its dependencies
        itself. Called once, only if ``[events] sinks`` names the sink.
    :ivar options: options of ``[events.options.NAME]`` with their defaults; a value must have the type of its default:
        string, number or boolean.
    :ivar is_active: called once, when plugins are resolved; an inactive sink has no cost afterwards.
    """

    name: str
    handle: Callable[[Event], None] | None = None
    open: Callable[..., OpenSink] | None = None
    options: Mapping[str, str | bool | int | float] = EMPTY
    is_active: Callable[[], bool] = lambda: True
    summary: str = ""
    order: int = 0
