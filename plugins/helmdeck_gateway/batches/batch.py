"""Batches: their records, and the lines, each of which is one request with its result.

A line is a row of the store. It is open until its result replaces it, and no worker runs it again then. A worker leases the lines
that it runs; after the end of a lease, another worker takes the line over. So a line runs at least once, and has one result.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final, Literal

import attrs
import msgspec

from helmdeck_gateway.accounts.principals import Principal
from helmdeck_gateway.batches.byte_use import ByteUse, check_count
from helmdeck_gateway.batches.files import ID, unknown
from helmdeck_gateway.stores.rows import OPEN, Row, RowStore, group_of
from helmdeck_storage import DAY_S

SUCCEEDED: Final = 1
ERRORED: Final = 2
CANCELLED: Final = 3
EXPIRED: Final = 4

QUEUE: Final = "batches:open"
"""The group of batches that have not ended: their ids and callers."""
PAGE: Final = 200

Status = Literal["failed", "in_progress", "cancelling", "completed", "cancelled", "expired"]
ENDED: Final = ("failed", "completed", "cancelled", "expired")


class Sender(msgspec.Struct, frozen=True, kw_only=True):
    """The sender of a batch; what its key may do is looked up again for every line.

    :ivar key_id: the id of its key; empty for a sender without one.
    :ivar digest: what the store had of the key then; by it, the key is found without reading all keys. Empty in rows of earlier
        releases.
    :ivar models: of a sender without a key.
    :ivar tags: the header of that name.
    """

    caller: str
    key_id: str = ""
    digest: str = ""
    key_name: str = ""
    models: tuple[str, ...] | None = None
    narrows_tools: bool | None = None
    tags: str = ""


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """A batch; times are in seconds since 1970, and 0 if they have not come.

    :ivar kind: the API that it was created with.
    :ivar endpoint: the path that all lines are sent to.
    :ivar counts: of the lines by state, once the batch has ended.
    :ivar size: bytes of its requests.
    """

    id: str
    kind: Literal["openai", "anthropic"]
    endpoint: str
    sender: Sender
    status: Status
    total: int
    created_s: int
    expires_s: int
    input_file: str = ""
    output_file: str = ""
    error_file: str = ""
    window: str = "24h"
    metadata: dict[str, str] | None = None
    errors: tuple[dict[str, Any], ...] = ()
    counts: dict[int, int] = {}
    cancelling_s: int = 0
    ended_s: int = 0
    size: int = 0

    @property
    def lines(self) -> str:
        """The group of its lines."""
        return f"lines:{self.id}"

    @property
    def has_ended(self) -> bool:
        """Whether nothing of it will run."""
        return self.status in ENDED


class Line(msgspec.Struct, frozen=True):
    """A request of a batch."""

    custom_id: str
    body: bytes


class Result(msgspec.Struct, frozen=True):
    """The result of a line.

    :ivar body: the response; empty for a line that was not sent.
    """

    custom_id: str
    status: int = 0
    request_id: str = ""
    body: bytes = b""


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Batch).decode
_decode_line = msgspec.msgpack.Decoder(Line).decode
_decode_result = msgspec.msgpack.Decoder(Result).decode


def sender_of(principal: Principal, tags: str = "") -> Sender:
    """Return the sender of a request."""
    if (key := principal.key) is not None:
        return Sender(caller=principal.caller, key_id=key.id, digest=key.digest, key_name=key.name, tags=tags)
    models = None if principal.models is None else tuple(sorted(principal.models))
    return Sender(caller=principal.caller, models=models, narrows_tools=principal.narrows_tools, tags=tags)


@attrs.frozen
class Batches:
    """The batches of one caller.

    :ivar kept_s: seconds that a batch is kept.
    """

    store: RowStore
    caller: str
    kept_s: float

    @property
    def _group(self) -> str:
        return group_of("batches", self.caller)

    async def take_room(self, size: int, most: int, most_batches: int) -> None:
        """Count the bytes of a batch that is about to be stored; its results take the place of its requests one by one.

        :param most: bytes that the requests of all batches which have not ended may have.
        :param most_batches: batches that the caller may have, those that failed or ended included.
        :raises Problem: there would be more.
        """
        advice = f"they are deleted after {self.kept_s / DAY_S:g} days"
        await check_count(self.store, self._group, "batches", most_batches, advice)
        await self._use.add(size, most)

    async def give_room(self, size: int) -> None:
        """Take back what ``take_room`` counted for a batch that is not stored."""
        await self._use.add(-size)

    @property
    def _use(self) -> ByteUse:
        advice = "wait until some have ended, or cancel some"
        return ByteUse(
            self.store, "open batches", self.caller, self.kept_s, self._open_bytes,
            code="batch_quota_exceeded", advice=advice,
        )  # fmt: skip

    async def _open_bytes(self) -> int:
        size, after = 0, ""
        while rows := await self.store.list_rows(self._group, after=after, limit=PAGE):
            found = [_decode(row.data) for row in rows]
            size, after = size + sum(batch.size for batch in found if not batch.has_ended), rows[-1].name
        return size

    async def add_lines(self, batch_id: str, lines: Mapping[int, Line]) -> None:
        """Store lines by their number."""
        rows = {f"{number:08}": _encode(line) for number, line in lines.items()}
        await self.store.put_rows(f"lines:{batch_id}", rows, self.kept_s)

    async def add(self, batch: Batch) -> None:
        """Store a batch whose lines are stored, and queue it."""
        await self.store.put_rows(self._group, {batch.id: _encode(batch)}, self.kept_s)
        if not batch.has_ended:
            await self.store.put_rows(QUEUE, {batch.id: self.caller.encode("utf-8", "surrogatepass")}, self.kept_s)

    async def find(self, batch_id: str, kind: str = "") -> Batch:
        """Return a batch.

        :raises Problem: the caller has none with the id.
        """
        row = await self.store.get_row(self._group, batch_id) if ID.fullmatch(batch_id) else None
        batch = None if row is None else _decode(row.data)
        if batch is None or kind not in ("", batch.kind):
            raise unknown("batch", batch_id)
        return batch

    async def list(self, kind: str, *, after: str = "", limit: int = 20, newest: bool = True) -> list[Batch]:
        """Return a page of batches."""
        found: list[Batch] = []
        while rows := await self.store.list_rows(self._group, after=after, limit=PAGE, newest=newest):
            found += [batch for row in rows if (batch := _decode(row.data)).kind == kind]
            after = rows[-1].name
            if len(found) >= limit or len(rows) < PAGE:
                break
        return found[:limit]

    async def change(self, batch: Batch, change: Callable[[Batch], Batch]) -> Batch:
        """Change a batch; if another process changes it at the same time, the function gets its version as well."""
        while True:
            changed = change(batch)
            if changed == batch or await self.store.replace_row(
                self._group, batch.id, _encode(batch), _encode(changed)
            ):
                return changed
            batch = await self.find(batch.id)

    async def cancel(self, batch: Batch) -> Batch:
        """Cancel a batch; lines that run are finished."""

        def cancelled(found: Batch) -> Batch:
            if found.status != "in_progress":
                return found
            return msgspec.structs.replace(found, status="cancelling", cancelling_s=int(time.time()))

        return await self.change(batch, cancelled)

    async def delete(self, batch: Batch) -> None:
        """Delete a batch with its lines."""
        await self.store.delete_rows(QUEUE, batch.id)
        await self.store.delete_rows(self._group, batch.id)
        await self.store.delete_rows(batch.lines)

    async def counts(self, batch: Batch) -> Mapping[int, int]:
        """Return the number of lines by state."""
        return batch.counts if batch.has_ended else await self.store.count_rows(batch.lines)

    async def results(self, batch: Batch) -> AsyncIterator[tuple[int, Result]]:
        """Yield the finished lines in the order of the requests, with their states."""
        after = ""
        while rows := await self.store.list_rows(batch.lines, after=after, limit=PAGE):
            for row in rows:
                if row.state != OPEN:
                    yield row.state, _decode_result(row.data)
            after = rows[-1].name


def read_line(row: Row) -> Line:
    """Return the request of an open row."""
    return _decode_line(row.data)


def result_data(result: Result) -> bytes:
    """Return the data of a finished row."""
    return _encode(result)
