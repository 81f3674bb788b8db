"""The responses of a caller that run in the background.

A response is a row of the store. It is open until its result replaces the request, and no worker runs it again then. The worker that
runs it leases it; after the end of a lease, another worker takes it over. So a request runs at least once, and has one result.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

import attrs
import msgspec

from helmdeck_gateway.background.event_log import delete_events
from helmdeck_gateway.batches.batch import CANCELLED, ERRORED, EXPIRED, Sender
from helmdeck_gateway.batches.files import ID
from helmdeck_gateway.problems import Problem
from helmdeck_gateway.stores.rows import OPEN, Row, RowStore, group_of

QUEUE: Final = "background:open"
"""The group of callers with responses that are not finished."""
WINDOW_S: Final = 86_400
"""Seconds after which a response that could not run has failed."""


class Queued(msgspec.Struct, frozen=True, kw_only=True):
    """A response and its request.

    :ivar body: the request; empty for a finished response.
    :ivar shown: the response as JSON: as it was queued, or as it was finished.
    :ivar is_stream: events of the response are stored while it runs.
    :ivar started_s: seconds since 1970; 0 before.
    """

    id: str
    sender: Sender
    body: bytes
    shown: bytes
    created_s: int
    is_stream: bool = False
    started_s: int = 0


@attrs.frozen
class Background:
    """A response with its state.

    :ivar state: of the row: ``OPEN``, or how it was finished.
    """

    queued: Queued
    state: int

    @property
    def is_open(self) -> bool:
        """Whether it is not finished."""
        return self.state == OPEN

    def payload(self) -> dict[str, Any]:
        """Return the response as clients get it."""
        payload: dict[str, Any] = msgspec.json.decode(self.queued.shown)
        if self.is_open and self.queued.started_s:
            payload["status"] = "in_progress"
        return payload


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Queued).decode


@attrs.frozen
class BackgroundResponses:
    """The responses of one caller.

    :ivar kept_s: seconds that a response is kept.
    """

    store: RowStore
    caller: str
    kept_s: float

    @property
    def group(self) -> str:
        """The group of their rows."""
        return group_of("background", self.caller)

    async def add(self, queued: Queued, most: int) -> None:
        """Queue a response.

        :param most: responses of the caller that may be open.
        :raises Problem: there are as many.
        """
        if (await self.store.count_rows(self.group)).get(OPEN, 0) >= most:
            raise Problem(
                message=f"{most:,} responses of this key are queued or in progress, the limit; wait for them, or cancel some",
                status=429, kind="rate_limit_error", code="too_many_background_responses", retry_after_s=5,
            )  # fmt: skip
        await self.store.put_rows(self.group, {queued.id: _encode(queued)}, self.kept_s)
        await self.enqueue()

    async def enqueue(self) -> None:
        """Let workers look for open responses."""
        await self.store.put_rows(QUEUE, {self.group: self.caller.encode("utf-8", "surrogatepass")}, self.kept_s)

    async def dequeue(self) -> None:
        """Let workers look no more, if no response is open."""
        if not (await self.store.count_rows(self.group)).get(OPEN):
            await self.store.delete_rows(QUEUE, self.group)
            if (await self.store.count_rows(self.group)).get(OPEN):  # it was added meanwhile
                await self.enqueue()

    async def find(self, response_id: str) -> Background | None:
        """Return a response; ``None`` if the caller has none with the id."""
        row = await self.store.get_row(self.group, response_id) if ID.fullmatch(response_id) else None
        return None if row is None else Background(read(row), row.state)

    async def start(self, row: Row) -> Queued | None:
        """Note that a leased response is in progress; return ``None`` if it was cancelled or deleted meanwhile."""
        started = msgspec.structs.replace(read(row), started_s=int(time.time()))
        return started if await self.store.replace_row(self.group, row.name, row.data, _encode(started)) else None

    async def finish(self, queued: Queued, state: int, facts: Mapping[str, Any] | bytes) -> bool:
        """Finish a response; return ``False``, and change nothing, if it is finished.

        :param facts: the response as JSON, or what differs from the queued one.
        """
        if not isinstance(facts, bytes):
            facts = msgspec.json.encode({**msgspec.json.decode(queued.shown), **facts})
        finished = msgspec.structs.replace(queued, body=b"", shown=facts)
        return await self.store.finish_row(self.group, queued.id, state, _encode(finished))

    async def fail(self, queued: Queued, code: str, message: str, state: int = ERRORED) -> bool:
        """Finish a response without an answer."""
        return await self.finish(queued, state, {"status": "failed", "error": {"code": code, "message": message}})

    async def expire(self, queued: Queued) -> bool:
        """Finish a response that could not run in time."""
        return await self.fail(queued, "expired", f"no model could be called within {WINDOW_S // 3600} hours", EXPIRED)

    async def cancel(self, response: Background) -> None:
        """Cancel a response that is not finished; a worker that runs it stops."""
        await self.finish(response.queued, CANCELLED, {"status": "cancelled"})

    async def delete(self, response_id: str) -> None:
        """Delete a response; a worker that runs it stops."""
        await self.store.delete_rows(self.group, response_id)
        await delete_events(self.store, response_id)


def read(row: Row) -> Queued:
    """Return the response of a row."""
    return _decode(row.data)
