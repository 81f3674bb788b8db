"""Places for requests, which tenants get by weight: one tenant with many requests does not delay those of the others.

Start-time fair queueing: each request of a tenant gets a tag, which is 1 / weight after that of the one before it, and the lowest
tag is next. A tenant that was idle begins at the tag that was served last: it gets one of the next places, and saves up none.
"""

from __future__ import annotations

import asyncio
import collections
from collections.abc import Callable, Mapping
from typing import Final, Generic, TypeVar

import attrs

from helmdeck_core import EMPTY
from helmdeck_gateway.calls.stream_out import Connection
from helmdeck_gateway.problems import Problem

T = TypeVar("T")

MAX_RETRY_S: Final = 30.0
"""The longest ``Retry-After`` of a request that found no place."""
KEPT_SHARE: Final = 8
"""One of so many places is kept for tenants that have fewer than that."""
MAX_IDLE: Final = 1_024
"""Tenants without a waiting request whose tags are kept."""


@attrs.frozen
class Tenant:
    """Whose turn a request is.

    :ivar name: the team of a key, or the caller; places are shared by it.
    :ivar part: the key; the turns of a tenant go round its keys.
    """

    name: str
    part: str = ""


class FairOrder(Generic[T]):
    """Waiting items in the order of their turns. The items of one key keep theirs.

    :param weight_of: returns the share of a tenant.
    """

    def __init__(self, weight_of: Callable[[str], float] = lambda _: 1.0) -> None:
        self._weight_of = weight_of
        self._waiting: dict[str, collections.OrderedDict[str, collections.deque[T]]] = {}
        self._tags: dict[str, float] = {}
        self._served_tag = 0.0

    def __len__(self) -> int:
        return sum(map(self.waiting, self._waiting))

    def waiting(self, name: str) -> int:
        """Return the number of items of a tenant."""
        return sum(map(len, self._waiting.get(name, EMPTY).values()))

    def push(self, tenant: Tenant, item: T) -> None:
        """Add an item."""
        if tenant.name not in self._waiting:
            self._waiting[tenant.name] = collections.OrderedDict()
            # The tag of a tenant that sends one request after the other is beyond those of others that wait.
            self._tags[tenant.name] = max(self._served_tag, self._tags.get(tenant.name, 0.0))
        self._waiting[tenant.name].setdefault(tenant.part, collections.deque()).append(item)

    def pop(self, may_go: Callable[[str], bool] = lambda _: True) -> T | None:
        """Remove the next item; ``None`` if there is none. Of tenants with the same tag, the one that waits longest is next.

        :param may_go: whether it can be the turn of a tenant.
        """
        name = min(filter(may_go, self._waiting), key=self._tags.__getitem__, default=None)
        if name is None:
            return None
        self.take_place(name)
        parts = self._waiting[name]
        part, items = next(iter(parts.items()))
        item = items.popleft()
        parts.move_to_end(part)
        self._tidy(name, part)
        return item

    def take_place(self, name: str) -> None:
        """Count a place that a tenant gets."""
        self._served_tag = max(self._served_tag, self._tags.get(name, 0.0))
        self._tags[name] = self._served_tag + 1.0 / self._weight_of(name)
        if len(self._tags) > MAX_IDLE + len(self._waiting):
            self._tags = {
                each: tag for each, tag in self._tags.items() if each in self._waiting or tag > self._served_tag
            }

    def remove(self, tenant: Tenant, item: T) -> None:
        """Remove an item that waits no longer; without effect if it does not wait."""
        items = self._waiting.get(tenant.name, EMPTY).get(tenant.part)
        if items is not None and item in items:
            items.remove(item)
            self._tidy(tenant.name, tenant.part)

    def pop_newest(self, for_name: str) -> T | None:
        """Remove the newest item of the tenant that has most of them, to make room for another tenant.

        :param for_name: the tenant that needs the room; ``None`` is returned if none has more than that.
        """
        name = max(self._waiting, key=lambda each: self.waiting(each) / self._weight_of(each), default="")
        if self.waiting(name) / self._weight_of(name) <= (self.waiting(for_name) + 1) / self._weight_of(for_name):
            return None
        part, items = max(self._waiting[name].items(), key=lambda each: len(each[1]))
        item = items.pop()
        self._tidy(name, part)
        return item

    def _tidy(self, name: str, part: str) -> None:
        parts = self._waiting[name]
        if not parts[part]:
            del parts[part]
        if not parts:
            del self._waiting[name]


@attrs.frozen
class _Waiting:
    """A request that waits; the result of its place is false if it gets none."""

    name: str
    place: asyncio.Future[bool]


class Places:
    """The places of the requests that are processed at a time; all configurations of one process share them.

    A part of them is kept for tenants that have few: else a tenant whose first request arrives when others have taken all places
    would wait until one of their calls ends, however long these take.

    :ivar in_use: places of requests that are processed.
    :ivar refused: requests that found no place in time.
    """

    def __init__(self) -> None:
        self.in_use: int = 0
        self.refused: int = 0
        self.most = 1
        self.shares: Mapping[str, float] = EMPTY
        self._active: collections.Counter[str] = collections.Counter()
        self._order: FairOrder[_Waiting] = FairOrder(lambda name: self.shares.get(name, 1.0))

    @property
    def waiting(self) -> int:
        """The number of waiting requests."""
        return len(self._order)

    def try_take(self, tenant: Tenant) -> bool:
        """Take a place if one is free and no other request waits for it."""
        if not self._may_go(tenant.name) or (len(self._order) and self._order.waiting(tenant.name)):
            return False
        self._order.take_place(tenant.name)
        self._begin(tenant.name)
        return True

    def _may_go(self, name: str) -> bool:
        """Whether a tenant can have another place."""
        kept = self.most // KEPT_SHARE
        return self.in_use < self.most - kept or (self.in_use < self.most and self._active[name] < kept)

    def _begin(self, name: str) -> None:
        self.in_use += 1
        self._active[name] += 1

    async def take(self, tenant: Tenant, most_s: float, connection: Connection | None = None) -> None:
        """Wait for a place.

        :param most_s: seconds to wait.
        :param connection: that of the client; the request leaves the order when it ends.
        :raises Problem: there was none in time, or another tenant needed the room.
        :raises asyncio.CancelledError: the task was cancelled, or the connection has ended.
        """
        place: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._order.push(tenant, _Waiting(tenant.name, place))
        self._give()
        if connection is not None:
            connection.on_lost = lambda: _cancel(place)
        try:
            async with asyncio.timeout(most_s):
                if await place:
                    return
            reason = "other keys that wait for a place have fewer requests"
        except TimeoutError:
            self._leave(tenant, place)
            reason = f"no place was free within {most_s:g} s"
        except BaseException:
            self._leave(tenant, place)
            raise
        finally:
            if connection is not None:
                connection.on_lost = None
        self.refused += 1
        raise too_busy(reason, max(1.0, most_s))

    def free(self, tenant: Tenant) -> None:
        """Give a place back, to the next request that waits."""
        self.in_use -= 1
        self._active[tenant.name] -= 1
        if not self._active[tenant.name]:
            del self._active[tenant.name]
        self._give()

    def make_room(self, tenant: Tenant) -> bool:
        """Refuse the newest request of the tenant with the most waiting ones, in favour of another tenant; return whether there was one."""
        newest = self._order.pop_newest(tenant.name)
        if newest is None:
            return False
        if not newest.place.done():
            newest.place.set_result(False)
        return True

    def _give(self) -> None:
        while self.in_use < self.most and (following := self._order.pop(self._may_go)) is not None:
            if not following.place.done():
                self._begin(following.name)
                following.place.set_result(True)

    def _leave(self, tenant: Tenant, place: asyncio.Future[bool]) -> None:
        """Leave the order; a place that was given meanwhile goes to the next request."""
        if place.done() and not place.cancelled() and place.result():
            self.free(tenant)
        else:
            self._order.remove(tenant, _Waiting(tenant.name, place))


def _cancel(place: asyncio.Future[bool]) -> None:
    place.cancel()


def too_busy(reason: str, retry_after_s: float = 1.0, *, ends_connection: bool = False) -> Problem:
    """Return the error for a request that the gateway has no room for."""
    return Problem(
        message=f"the gateway is busy: {reason}; send the request again later",
        status=429, kind="rate_limit_error", code="too_many_requests", retry_after_s=min(MAX_RETRY_S, retry_after_s),
        is_worth_retrying=True, ends_connection=ends_connection,
    )  # fmt: skip
