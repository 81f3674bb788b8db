"""A router: the routes take turns."""

import functools
import itertools

from helmdeck_core import RouterSpec, hookimpl


class TakingTurns:
    """One provider over all routes."""

    def __init__(self, turns, providers):
        self._turns = turns
        self._providers = providers

    async def complete(self, request):
        """Send a request over the next route."""
        return await self._providers[next(self._turns)].complete(request)

    async def aclose(self):
        """Close all routes."""
        for provider in self._providers:
            await provider.aclose()


def open_router(routes, _):
    """Return the function that makes a provider for an event loop; all of them share the turns."""
    return functools.partial(TakingTurns, itertools.cycle(range(len(routes))))


@hookimpl
def helmdeck_routers():
    """Contribute the router ``routing = "round-robin"``."""
    return [RouterSpec(name="round-robin", open=open_router, order=100)]
