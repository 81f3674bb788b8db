"""Conversations of OpenAI's Conversations API: a record, and items in the order in which they were added."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs
import msgspec

from helmdeck_gateway.batches.byte_use import ByteUse, check_count
from helmdeck_gateway.batches.files import ID, unknown
from helmdeck_gateway.problems import Problem
from helmdeck_gateway.settings import GatewaySettings
from helmdeck_gateway.stores.rows import RowStore, group_of
from helmdeck_storage import DAY_S

PAGE: Final = 500

_encode_item = msgspec.json.Encoder().encode
_decode_item = msgspec.json.Decoder(dict[str, Any]).decode


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """The record of a conversation.

    :ivar size: bytes of its items.
    :ivar next: the number of the next item.
    :ivar renewed_s: when its items were stored last, in seconds since 1970.
    """

    id: str
    created_s: int
    metadata: dict[str, str]
    size: int = 0
    next: int = 0
    renewed_s: int = 0


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Conversation).decode


@attrs.frozen
class Items:
    """The items of a conversation.

    :ivar size: their bytes.
    :ivar names_files: they may name stored files.
    """

    rows: Sequence[dict[str, Any]]
    size: int
    names_files: bool


class Conversations:
    """The conversations of one caller."""

    def __init__(self, store: RowStore, caller: str, settings: GatewaySettings) -> None:
        self._store = store
        self._group = group_of("conversations", caller)
        self._kept_s = settings.stored_days * DAY_S
        self._most = settings.max_conversations
        self._most_bytes = settings.max_conversation_bytes
        self._most_stored = settings.max_stored_conversation_bytes
        self._use = ByteUse(store, "conversations", caller, self._kept_s, self._size)

    async def create(
        self, conversation_id: str, metadata: dict[str, str], items: Sequence[dict[str, Any]]
    ) -> Conversation:
        """Store a conversation.

        :raises Problem: the caller has too many, or the items are too large.
        """
        await check_count(self._store, self._group, "conversations", self._most)
        now = int(time.time())
        made = Conversation(id=conversation_id, created_s=now, metadata=metadata, renewed_s=now)
        self.check_size(made, items)
        await self._use.add(_size(items), self._most_stored, "items")
        await self._put(made)
        return await self._added(made, items) if items else made

    async def _size(self) -> int:
        """The bytes of all conversations."""
        size, after = 0, ""
        while rows := await self._store.list_rows(self._group, after=after, limit=PAGE):
            size, after = size + sum(_decode(row.data).size for row in rows), rows[-1].name
        return size

    async def _put(self, conversation: Conversation) -> None:
        await self._store.put_rows(self._group, {conversation.id: _encode(conversation)}, self._kept_s)

    async def find(self, name: str, param: str | None = None) -> Conversation:
        """Return a conversation.

        :raises Problem: the caller has none with the id.
        """
        if (found := await self.find_any(name)) is None:
            raise unknown("conversation", name, param)
        return found

    async def find_any(self, name: str) -> Conversation | None:
        """Return a conversation; ``None`` if the caller has none with the id."""
        row = await self._store.get_row(self._group, name) if ID.fullmatch(name) else None
        return None if row is None else _decode(row.data)

    async def change(self, found: Conversation, change: Callable[[Conversation], Conversation]) -> Conversation:
        """Change a conversation; if another process changes it at the same time, the function gets its version as well.

        :returns: the conversation before, whose ``next`` is the number of the first added item.
        """
        while True:
            changed = change(found)
            if await self._store.replace_row(self._group, found.id, _encode(found), _encode(changed)):
                return found
            found = await self.find(found.id)

    async def set_metadata(self, found: Conversation, metadata: dict[str, str]) -> Conversation:
        """Replace the metadata of a conversation."""
        before = await self.change(found, lambda each: msgspec.structs.replace(each, metadata=metadata))
        return msgspec.structs.replace(before, metadata=metadata)

    async def delete(self, name: str) -> None:
        """Delete a conversation with its items.

        :raises Problem: the caller has none with the id.
        """
        found = await self.find(name)
        if await self._store.delete_rows(self._group, name):
            await self._store.delete_rows(_items_of(name))
            await self._use.add(-found.size)

    # -- items -------------------------------------------------------------------------------------------------

    async def check_room(self, found: Conversation, items: Sequence[dict[str, Any]]) -> None:
        """Check that there is room for items that are added later.

        :raises Problem: the conversation would be too large, or those of the caller together.
        """
        self.check_size(found, items)
        await self._use.check(_size(items), self._most_stored, "conversation")

    def check_size(self, found: Conversation, items: Sequence[dict[str, Any]]) -> None:
        """Check the size that a conversation would have.

        :raises Problem: it is too large.
        """
        size = found.size + _size(items)
        if size > self._most_bytes:
            raise Problem(
                message=f"the conversation would have {size:,} bytes, more than {self._most_bytes:,}, the limit of the gateway;"
                " delete items, or begin another conversation",
                status=413, kind="request_too_large", code="conversation_too_large", param="conversation",
            )  # fmt: skip

    async def add(self, found: Conversation, items: Sequence[dict[str, Any]]) -> Conversation:
        """Add items that ``conversation_items`` has returned; return the conversation.

        :raises Problem: it would be too large, or the conversations of the caller together.
        """
        self.check_size(found, items)
        await self._use.add(_size(items), self._most_stored, "items")
        return await self._added(found, items)

    async def _added(self, found: Conversation, items: Sequence[dict[str, Any]]) -> Conversation:
        data = [_encode_item(each) for each in items]
        size, now = sum(map(len, data)), int(time.time())
        is_old = found.renewed_s + self._kept_s / 2 < now  # what is used is kept

        def added(each: Conversation) -> Conversation:
            renewed_s = now if is_old else each.renewed_s
            return msgspec.structs.replace(
                each, size=each.size + size, next=each.next + len(items), renewed_s=renewed_s
            )

        before = await self.change(found, added)
        if is_old:
            rows = {row.name: row.data for row in await self._rows(found.id)}
            await self._store.put_rows(_items_of(found.id), rows, self._kept_s)
            await self._put(added(before))
        rows = {f"{before.next + number:010}": each for number, each in enumerate(data)}
        await self._store.put_rows(_items_of(found.id), rows, self._kept_s)
        return added(before)

    async def append(self, name: str, items: Sequence[dict[str, Any]]) -> None:
        """Add the items of a response, unless the conversation was deleted meanwhile."""
        with contextlib.suppress(Problem):
            found = await self.find(name)
            await self._use.add(_size(items))  # the answer is paid for, so it is stored in any case
            await self._added(found, items)

    async def _rows(self, name: str) -> list[Any]:
        found: list[Any] = []
        while rows := await self._store.list_rows(_items_of(name), after=found[-1].name if found else "", limit=PAGE):
            found += rows
        return found

    async def items(self, found: Conversation) -> Items:
        """Return all items."""
        data = [row.data for row in await self._rows(found.id)]
        rows = [_decode_item(each) for each in data]
        return Items(rows, sum(map(len, data)), any(b'"file_id"' in each for each in data))

    async def item(self, found: Conversation, item_id: str) -> tuple[str, dict[str, Any]]:
        """Return an item, with the name of its row.

        :raises Problem: the conversation has none with the id.
        """
        for row in await self._rows(found.id):
            if (item := _decode_item(row.data)).get("id") == item_id:
                return row.name, item
        raise unknown("item", item_id)

    async def remove(self, found: Conversation, item_id: str) -> Conversation:
        """Delete an item; return the conversation.

        :raises Problem: the conversation has none with the id.
        """
        name, item = await self.item(found, item_id)
        if not await self._store.delete_rows(_items_of(found.id), name):
            return found
        size = len(_encode_item(item))
        await self._use.add(-size)
        before = await self.change(found, lambda each: msgspec.structs.replace(each, size=each.size - size))
        return msgspec.structs.replace(before, size=before.size - size)


def _size(items: Sequence[dict[str, Any]]) -> int:
    return sum(len(_encode_item(each)) for each in items)


def _items_of(name: str) -> str:
    return f"items:{name}"
