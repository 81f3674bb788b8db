"""Finds the active event sinks of a deck, and opens those that are enabled in the configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from helmdeck_core.config.types import EventsConfig
from helmdeck_core.domain.event_sinks import EventSink, OpenSink
from helmdeck_core.domain.events import Event
from helmdeck_core.hooks.calls import Contribution
from helmdeck_core.redaction import Secrets, option_secrets


@attrs.frozen
class ActiveSink:
    """An active sink.

    :ivar opened: what the sink opened for this deck; ``None`` for a sink without ``open``.
    """

    name: str
    handle: Callable[[Event], None]
    opened: OpenSink | None = None


def listening(found: Sequence[Contribution[EventSink]], config: EventsConfig) -> tuple[Contribution[ActiveSink], ...]:
    """Return the active sinks in their order.

    :raises PluginError: a sink cannot be opened.
    """
    listeners = (_listener(contribution, config) for contribution in found)
    return tuple(listener for listener in listeners if listener is not None)


def close(listeners: Sequence[Contribution[ActiveSink]]) -> None:
    """Close the opened sinks that have a method ``close``.

    :raises PluginError: a sink failed to.
    """
    for contribution in listeners:
        try:
            getattr(contribution.value.opened, "close", _nothing)()
        except (Exception, SystemExit) as exc:
            raise contribution.fault(f"close: {type(exc).__name__}: {exc}") from exc


def _nothing() -> None:
    """Close nothing."""


def _opened(
    contribution: Contribution[EventSink], make: Callable[..., OpenSink], options: Mapping[str, Any]
) -> OpenSink:
    try:
        return make(**options)
    except (Exception, SystemExit) as exc:
        fault = contribution.crash(
            f"EventSink {contribution.value.name!r} cannot be opened:", exc, Secrets(option_secrets(options))
        )
    raise fault


def _listener(contribution: Contribution[EventSink], config: EventsConfig) -> Contribution[ActiveSink] | None:
    sink = contribution.value
    if (sink.handle is None) is (sink.open is None):
        raise contribution.fault(f"EventSink {sink.name!r}: takes one of handle and open")
    if sink.open is not None and sink.name not in config.sinks:
        return None
    try:
        if not sink.is_active():
            return None
    except (Exception, SystemExit) as exc:
        raise contribution.fault(f"is_active: {type(exc).__name__}: {exc}") from exc
    opened = None
    if sink.open is not None:
        opened = _opened(contribution, sink.open, {**sink.options, **config.options.get(sink.name, {})})
        if not callable(getattr(opened, "handle", None)):
            raise contribution.fault(
                f"EventSink {sink.name!r} opened {type(opened).__name__}, which has no method handle"
            )
    handle = sink.handle if opened is None else opened.handle
    assert handle is not None
    return Contribution(
        contribution.plugin,
        ActiveSink(sink.name, handle, opened),
        contribution.replaced,
        contribution.hook,
        contribution.distribution,
    )
