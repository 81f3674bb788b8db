"""What one request takes of its process: the bytes of its body, and a place."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from helmdeck_gateway.calls.stream_out import CONNECTION, Connection
from helmdeck_gateway.load.fair_queue import Places, Tenant
from helmdeck_gateway.load.shedding import Load
from helmdeck_gateway.settings import GatewaySettings

if TYPE_CHECKING:
    from starlette.types import Scope

LOAD: Final = "helmdeck.load"
"""The key of a scope under which its ``RequestLoad`` is found."""


class RequestLoad:
    """The load of one request; ``release`` gives everything back.

    :ivar tenant: whose turn it is; set when its sender is known.
    """

    __slots__ = ("_has_place", "_load", "_places", "_settings", "_size", "tenant")

    def __init__(self, load: Load, places: Places, settings: GatewaySettings) -> None:
        self.tenant: Tenant = Tenant("")
        self._load, self._places, self._settings = load, places, settings
        self._size = 0
        self._has_place = False

    def take(self, size: int) -> None:
        """Hold more bytes of the body.

        :raises Problem: there is no room for them.
        """
        self._load.take(size, self._settings.max_body_bytes)
        self._size += size

    async def take_place(self, scope: Scope) -> None:
        """Wait for the turn of the request.

        :raises Problem: it did not come in time.
        :raises asyncio.CancelledError: the task was cancelled.
        :raises ConnectionError: the client left meanwhile.
        """
        places, settings = self._places, self._settings
        places.most, places.shares = settings.max_active, settings.shares
        if not places.try_take(self.tenant):
            connection: Connection | None = scope.get(CONNECTION)
            try:
                await places.take(self.tenant, settings.queue_s, connection)
            except asyncio.CancelledError:
                if connection is not None and connection.is_lost:
                    raise ConnectionError from None
                raise
        self._has_place = True

    def release(self) -> None:
        """Give everything back."""
        self._load.release(self._size)
        self._size = 0
        if self._has_place:
            self._has_place = False
            self._places.free(self.tenant)
