"""How the API keys and servers of a provider share its requests: ``routing`` in ``[providers.NAME]``.

Each way chooses among the routes that are neither in cooldown nor busy up to their ``max_concurrent``.
"""

from __future__ import annotations

import functools
import hashlib
import math
import random
from collections.abc import Callable, Sequence

from helmdeck_core import ChatRequest, Event, ProviderSettings, Role, Router, RouterSpec, hookimpl

Routes = Sequence[ProviderSettings]

Choose = Callable[[Routes, Sequence[int], Sequence[int], ChatRequest | None], int]
"""Takes the routes, their numbers of requests in flight, the indexes to choose from (one or more) and the request."""


def weighted(routes: Routes, _busy: Sequence[int], usable: Sequence[int], _: ChatRequest | None) -> int:
    """Choose at random by weight: processes that send one request each share the load, too."""
    return random.choices(usable, [routes[index].weight for index in usable])[0]  # noqa: S311  # no secret


def least_busy(routes: Routes, busy: Sequence[int], usable: Sequence[int], request: ChatRequest | None) -> int:
    """Choose the route with the fewest requests in flight, relative to its weight."""
    loads = {index: busy[index] / routes[index].weight for index in usable}
    least = min(loads.values())
    return weighted(routes, busy, [index for index in usable if loads[index] == least], request)


def in_order(_: Routes, _busy: Sequence[int], usable: Sequence[int], _request: ChatRequest | None) -> int:
    """Choose the first route; the others are its reserve."""
    return usable[0]


def sticky(routes: Routes, busy: Sequence[int], usable: Sequence[int], request: ChatRequest | None) -> int:
    """Choose by weight and the beginning of the conversation, so that all its turns use the prompt cache of one server.

    When a route is added or fails, only its own conversations move (weighted rendezvous hashing).
    """
    if request is None:
        return weighted(routes, busy, usable, request)
    opening = hashlib.blake2b(digest_size=8)
    for message in request.messages:
        opening.update(message.text.encode(errors="replace"))
        if message.role is Role.USER:  # later messages differ from turn to turn
            break
    begun = opening.digest()

    def score(index: int) -> float:
        digest = hashlib.blake2b(begun + index.to_bytes(4), digest_size=8).digest()
        share = (int.from_bytes(digest) + 0.5) / 2**64
        return routes[index].weight / -math.log(share)

    return max(usable, key=score)


WAYS: dict[str, Choose] = {"weighted": weighted, "least-busy": least_busy, "in-order": in_order, "sticky": sticky}


def _open(choose: Choose, routes: Routes, emit: Callable[[Event], None]) -> Router:
    from helmdeck_providers.routing.router import RouteChooser

    return RouteChooser(routes, emit, choose).connect


@hookimpl
def helmdeck_routers() -> Sequence[RouterSpec]:
    """The ways above; the first one is the default."""
    return [
        RouterSpec(name=name, open=functools.partial(_open, choose), order=number)
        for number, (name, choose) in enumerate(WAYS.items())
    ]
