"""Event sinks, and events as plain data."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import attrs

from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.events import Event

_ATOMS = frozenset((str, int, float, bool, type(None)))
"""Types of plain values, which are the most common ones."""


def event_data(event: Event) -> dict[str, Any]:
    """An event as plain data, its name as ``event``; without empty fields.

    >>> from helmdeck_core import ModelUnknown, event_data
    >>> event_data(ModelUnknown(model="acme/large", notice="it has no budget row"))
    {'event': 'model_unknown', 'model': 'acme/large', 'notice': 'it has no budget row'}
    """
    return {"event": event.name, **_content(event, _names(type(event)) or ())}


_known: dict[type, tuple[str, ...] | None] = {}
"""The fields of classes that events contain; ``None`` for a class that has none."""


def _names(kind: type) -> tuple[str, ...] | None:
    if kind not in _known:
        _known[kind] = tuple(field.name for field in attrs.fields(kind)) if attrs.has(kind) else None
    return _known[kind]


def _content(value: object, names: tuple[str, ...]) -> dict[str, Any]:
    # ``attrs.asdict`` with a filter and a serializer takes five times as long, for each event of a call.
    data = {}
    for name in names:
        each = getattr(value, name)
        if each is None or each == "" or each == ():
            continue
        data[name] = each if type(each) in _ATOMS else _plain(each)
    return data


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind in _ATOMS:
        return value
    if isinstance(value, enum.Enum):
        return value.value
    if (names := _names(kind)) is not None:
        return _content(value, names)
    if isinstance(value, tuple | list | set | frozenset):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):  # read-only ones too: no encoder of JSON takes them
        return {name.value if isinstance(name, enum.Enum) else name: _plain(each) for name, each in value.items()}
    return value


class EventSinkWarning(UserWarning):
    """An event sink raised; the call that it observed continues."""


class OpenSink(Protocol):
    """A receiver that was opened for one deck. Its methods show what else it supports.

    It may also be a ``TraceStore`` or a ``TextRecorder``. A method ``close`` is called when the deck is closed, possibly more than once.
    """

    def handle(self, event: Event) -> None:
        """Handle an event; see ``EventSink.handle``."""
        ...


@attrs.frozen(kw_only=True)
class EventSink:
    """A receiver of events: always enabled with ``handle``, or enabled by the configuration with ``open``.

    :ivar handle: called in the thread of the call, in the order of what happened; quick; an exception is reported with
        ``EventSinkWarning`` and does not fail the call. ``None`` for a sink that is opened.
    :ivar open: makes the receiver of one deck, with every option as a keyword argument; imports what it needs itself, and raises
        ``ConfigError`` where that is not installed.
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
