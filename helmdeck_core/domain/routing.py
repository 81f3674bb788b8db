"""Routers: they choose between the routes of a provider, which are its API keys and servers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from helmdeck_core.domain.chat import Provider, ProviderSettings
from helmdeck_core.errors import FailureClass

RouteReport = Callable[[int, float, FailureClass], None]
"""Reports the cooldown of a route: its index from 0, seconds, and the cause."""

Router = Callable[[Sequence[Provider]], Provider]
"""Returns one provider over the open providers of an event loop, in the order of the routes; it closes them. Thread-safe: a
deck has one router per provider, for all event loops."""


@attrs.frozen(kw_only=True)
class RouterSpec:
    """A contributed way to choose routes.

    :ivar name: the value of ``routing`` in ``[providers.NAME]``; the lowest ``order`` is the default.
    :ivar open: makes the router of a provider from the settings of its routes; called once per deck.
    """

    name: str
    open: Callable[[Sequence[ProviderSettings], RouteReport], Router]
    order: int = 0
