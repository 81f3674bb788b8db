"""Routers: they choose between the routes of a provider, which are its API keys and servers."""

from collections.abc import Callable, Sequence

import attrs

from helmdeck_core.domain.events import Event
from helmdeck_core.domain.providers import Provider, ProviderSettings

Router = Callable[[Sequence[Provider]], Provider]
"""Returns one provider over the open providers of an event loop, in the order of the routes; it closes them. Thread-safe."""


@attrs.frozen(kw_only=True)
class RouterSpec:
    """A contributed way to choose routes.

    :ivar name: the value of ``routing`` in ``[providers.NAME]``; the lowest ``order`` is the default.
    :ivar open: makes the router of a provider, once, from the settings of its routes and a function that emits events.
    """

    name: str
    open: Callable[[Sequence[ProviderSettings], Callable[[Event], None]], Router]
    order: int = 0
