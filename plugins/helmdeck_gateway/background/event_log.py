"""The events of a response in the background: stored while it runs, so that clients of any process can read them.

The last event is not stored, since the record of the response has what it contains. So a response that another process finishes ends
its stream as well.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from helmdeck_gateway.stores.rows import RowStore
from helmdeck_storage import StorageError

FLUSH_S: Final = 0.2
"""Seconds between two writes."""
LAST: Final = ("response.completed", "response.incomplete", "response.failed")
"""The events that end a stream."""

Event = tuple[int, bytes]
"""The number of an event, and the event as it is sent."""


class _Data(msgspec.Struct):
    type: str
    sequence_number: int
    response: msgspec.Raw = msgspec.Raw()


_decode = msgspec.json.Decoder(_Data).decode
_decode_error = msgspec.json.Decoder(dict[str, Any]).decode
_encode = msgspec.msgpack.Encoder().encode
_decode_row = msgspec.msgpack.Decoder(list[Event]).decode


def _group(response_id: str) -> str:
    return f"events:{response_id}"


class EventLog:
    """Stores the events of one run; a context manager.

    :param kept_s: seconds that they are kept.
    :ivar final: the response of the last event; empty before.
    """

    def __init__(self, store: RowStore, response_id: str, kept_s: float) -> None:
        self._store = store
        self._group = _group(response_id)
        self._kept_s = kept_s
        self._waiting: list[Event] = []
        self._has_events = asyncio.Event()
        self.final: bytes = b""

    @property
    def error_code(self) -> str:
        """The code of the error that the run ended with; empty for none."""
        error = (_decode_error(self.final) if self.final else {}).get("error") or {}
        return str(error.get("code") or "")

    def feed(self, data: bytes) -> None:
        """Take whole events, and comments."""
        for block in data.split(b"\n\n"):
            if not block.startswith(b"event:"):
                continue
            event = _decode(block.partition(b"\ndata: ")[2])
            if event.type in LAST:
                self.final = bytes(event.response)
                continue
            self._waiting.append((event.sequence_number, block + b"\n\n"))
            self._has_events.set()

    async def __aenter__(self) -> None:
        self._task = asyncio.create_task(self._flush_often())

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _flush_often(self) -> None:
        while True:
            await self._has_events.wait()
            with contextlib.suppress(StorageError):  # they are stored with the next ones
                await self.flush()
            await asyncio.sleep(FLUSH_S)

    async def flush(self) -> None:
        """Store what is not stored.

        :raises StorageError: the store does not answer.
        """
        self._has_events.clear()
        if events := tuple(self._waiting):
            name = f"{events[-1][0]:08}"  # so that a reader finds the rows after the last event that it has
            await self._store.put_rows(self._group, {name: _encode(events)}, self._kept_s)
            del self._waiting[: len(events)]


async def read_events(store: RowStore, response_id: str, after: int) -> Sequence[Event]:
    """Return stored events with a higher number; the next ones follow them.

    :param after: -1 for none.
    """
    name = f"{after:08}" if after >= 0 else ""
    found: list[Event] = []
    for row in await store.list_rows(_group(response_id), after=name):
        for event in _decode_row(row.data):
            if event[0] > after:  # a write that was cancelled may have stored events that a later row has as well
                found.append(event)
                after = event[0]
    return found


async def has_events(store: RowStore, response_id: str) -> bool:
    """Whether a run has stored events."""
    return bool(await store.list_rows(_group(response_id), limit=1))


async def delete_events(store: RowStore, response_id: str) -> None:
    """Delete the events of a response."""
    await store.delete_rows(_group(response_id))
