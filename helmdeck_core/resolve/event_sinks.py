"""Selects the active event sinks of a deck, and opens the configured ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from helmdeck_core.config.types import EventsConfig
from helmdeck_core.domain.attempt_texts import AttemptTexts, TextRecorder
from helmdeck_core.domain.event_sinks import EventSink, OpenSink
from helmdeck_core.domain.events import Event
from helmdeck_core.errors import ConfigError, Mistake
from helmdeck_core.hooks.calls import Contribution
from helmdeck_core.redaction import Secrets
from helmdeck_core.secret_places import option_secrets


@attrs.frozen
class ActiveSink:
    """An active sink.

    :ivar opened: the opened sink; ``None`` if it has ``handle``.
    :ivar handle_texts: takes the texts of attempts; ``None`` for a sink that records none.
    """

    name: str
    handle: Callable[[Event], None]
    opened: OpenSink | None = None
    handle_texts: Callable[[AttemptTexts], None] | None = None


def active_sinks(
    found: Sequence[Contribution[EventSink]], config: EventsConfig, origins: Mapping[tuple[str, ...], str]
) -> tuple[Contribution[ActiveSink], ...]:
    """Return the active sinks in order.

    :param origins: where configured values come from, for mistakes.
    :raises ConfigError: sinks cannot be opened as they are configured, or without an extra; with the mistakes of all of them.
    :raises PluginError: a sink cannot be opened.
    """
    sinks: list[Contribution[ActiveSink]] = []
    mistakes: list[Mistake] = []
    for contribution in found:
        try:
            sink = _active_sink(contribution, config)
        except ConfigError as exc:
            mistakes += exc.mistakes
        else:
            sinks += [sink] if sink is not None else []
    if mistakes:
        origin = origins.get(("events", "sinks"))
        raise ConfigError(
            tuple(attrs.evolve(each, where=f"{origin}: {each.where}") if origin else each for each in mistakes)
        )
    return tuple(sinks)


def close(sinks: Sequence[Contribution[ActiveSink]]) -> None:
    """Close the opened sinks.

    :raises PluginError: a sink failed to close.
    """
    for contribution in sinks:
        with contribution.faults("close: "):
            if (close_sink := getattr(contribution.value.opened, "close", None)) is not None:
                close_sink()


def _opened(
    contribution: Contribution[EventSink], make: Callable[..., OpenSink], options: Mapping[str, Any]
) -> OpenSink:
    try:
        return make(**options)
    except (KeyboardInterrupt, ConfigError):
        raise
    except BaseException as exc:
        fault = contribution.crash(
            f"EventSink {contribution.value.name!r} cannot be opened:", exc, Secrets(option_secrets(options))
        )
    raise fault


def _active_sink(contribution: Contribution[EventSink], config: EventsConfig) -> Contribution[ActiveSink] | None:
    sink = contribution.value
    if (sink.handle is None) is (sink.open is None):
        raise contribution.fault(f"EventSink {sink.name!r}: takes one of handle and open")
    if sink.open is not None and sink.name not in config.sinks:
        return None
    with contribution.faults("is_active: "):
        is_active = sink.is_active()
    if not is_active:
        return None
    opened = None
    if sink.open is not None:
        opened = _opened(contribution, sink.open, {**sink.options, **config.options.get(sink.name, {})})
        if not callable(getattr(opened, "handle", None)):
            raise contribution.fault(
                f"EventSink {sink.name!r} opened {type(opened).__name__}, which has no method handle"
            )
    handle = sink.handle if opened is None else opened.handle
    assert handle is not None
    texts = opened.handle_texts if isinstance(opened, TextRecorder) and opened.records_texts else None
    return attrs.evolve(contribution, value=ActiveSink(sink.name, handle, opened, texts))  # type: ignore[return-value, arg-type]
