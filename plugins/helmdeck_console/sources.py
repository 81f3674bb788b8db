"""What a console shows: a request log, and where there are any a deck, keys and a configuration that can be reloaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from helmdeck_console.web.access import Access
from helmdeck_core import CallTrace, Helmdeck, LoadedConfig
from helmdeck_gateway import ConfigState, Gateway, GatewayStore, KeyPlans
from helmdeck_history import Outcome, recorded_calibration
from helmdeck_telemetry import RequestLog, RequestSink, default_log_path

MAX_IMPORTED = 20_000
"""Stored traces that a console without a request log shows."""


@attrs.define(kw_only=True)
class Sources:
    """What a console shows.

    :ivar find_log: returns the request log; ``None`` while nothing is recorded.
    :ivar deck: the deck that serves requests, or would; it also ranks the requests that operators try.
    :ivar find_store: returns the store of keys; ``None`` while there is none.
    :ivar config: the configuration and its reloads.
    :ivar loaded: the configuration of a console without reloads.
    :ivar calibration: returns what is recorded of the calibration of a model.
    :ivar plans: makes the plans that operators with a key try; ``None`` without a gateway.
    :ivar is_demo: the data is an example.
    :ivar place: where the records come from, for the reader.
    """

    find_log: Callable[[], RequestLog | None]
    deck: Helmdeck
    find_store: Callable[[], GatewayStore | None] = lambda: None
    config: ConfigState | None = None
    loaded: LoadedConfig | None = None
    calibration: Callable[[Helmdeck, str], Outcome | None] = recorded_calibration
    plans: KeyPlans | None = None
    is_demo: bool = False
    place: str = ""

    @property
    def log(self) -> RequestLog | None:
        """The request log, with every call that has ended so far."""
        return self.find_log()

    @property
    def effective(self) -> LoadedConfig | None:
        """The configuration that is in effect."""
        return self.config.loaded if self.config is not None and self.config.loaded is not None else self.loaded


def log_of_deck(deck: Helmdeck) -> Callable[[], RequestLog | None]:
    """Return a function that returns the request log of a deck, up to date."""

    def find() -> RequestLog | None:
        sink: Any = deck.sink("requests")
        return sink.log if isinstance(sink, RequestSink) else None

    return find


def sources_of_gateway(gateway: Gateway) -> tuple[Sources, Access]:
    """Return what the console of a gateway shows, and the check of its visitors."""
    settings = gateway.settings
    sources = Sources(
        find_log=log_of_deck(gateway.deck),
        deck=gateway.deck,
        find_store=gateway.state.find_store,
        config=gateway.counters.config,
        plans=gateway.plans,
        place="this gateway",
    )
    is_closed = settings.is_closed
    open_role = "" if is_closed else "viewer"
    return sources, Access(gateway.state.find_store, hosts=settings.hosts, open_role=open_role, tokens=gateway.sign_in)


def recorded_sources(deck: Helmdeck, loaded: LoadedConfig) -> Sources:
    """Return what the console of a deck without a gateway shows: its request log, or else its stored traces.

    :param loaded: the configuration of the deck.
    """
    of_deck = log_of_deck(deck)
    opened: RequestLog | None = None

    def find() -> RequestLog | None:
        nonlocal opened
        if (own := of_deck()) is not None:
            return own
        if opened is None:  # nothing was recorded so far
            opened = RequestLog.open() if default_log_path().exists() else _imported(deck)
        return opened

    return Sources(find_log=find, deck=deck, loaded=loaded, place="the recorded requests of this machine")


def _imported(deck: Helmdeck) -> RequestLog | None:
    """A log in memory of the traces that are stored; ``None`` if there are none."""
    traces: tuple[CallTrace, ...] = deck.traces(MAX_IMPORTED)
    if not traces:
        return None
    log = RequestLog.open("memory:")
    log.add(traces)
    return log
