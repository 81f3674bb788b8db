"""Items of OpenAI's Responses API: their ids, and the stored items that requests name by ``item_reference``.

An id contains that of the response or conversation that the item was stored with, so it is found without an index.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import attrs
import msgspec

from helmdeck_gateway.batches.files import unknown
from helmdeck_gateway.conversations.conversations import Conversations
from helmdeck_gateway.conversations.response_store import ResponseStore
from helmdeck_gateway.dialects.parsed import objects, required
from helmdeck_gateway.problems import Problem

PREFIXES: Final[Mapping[str, str]] = {
    "message": "msg",
    "function_call": "fc",
    "function_call_output": "fco",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "ctco",
    "reasoning": "rs",
}
"""Start of the ids of items by type; of others, ``item``."""
REFERENCE: Final = "item_reference"
_ID: Final = re.compile(r"[a-z]+_([0-9a-f]{24,40})(n?)[0-9a-z]{0,40}")
"""The id of a response with the number of a call, or, before ``n``, of a conversation."""
_encode = msgspec.json.Encoder().encode

Item = Mapping[str, Any]


def conversation_items(value: str | list[Any], conversation: str) -> list[dict[str, Any]]:
    """Return the input of a request as items of a conversation, with new ids.

    :raises Problem: it is not a list of objects.
    """
    place = f"{conversation.removeprefix('conv_')}n{os.urandom(4).hex()}"
    return [_whole(item, f"{place}{number}") for number, item in enumerate(_rows(value))]


def input_items(value: str | list[Any], response: str, earlier: Sequence[Item]) -> list[Item]:
    """Return the input of a response after earlier items; those without an id, or with one that is not unique, get one."""
    known = {item.get("id") for item in earlier}
    found = list(earlier)
    for number, item in enumerate(_rows(value)):
        own, place = item.get("id"), f"{response.removeprefix('resp_')}i{number}"
        made = _whole(item, place)
        if isinstance(own, str) and own and own not in known:
            made["id"] = own
        known.add(made["id"])
        found.append(made)
    return found


def _rows(value: str | list[Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": value}] if isinstance(value, str) else objects(value, "input")


def _whole(item: Item, place: str) -> dict[str, Any]:
    """An item with an id, a type and, for a message, parts."""
    kind = str(item.get("type") or "message")
    made = {**item, "id": f"{PREFIXES.get(kind, 'item')}_{place}", "type": kind}
    if kind == "message":
        made["status"] = item.get("status") or "completed"
        if isinstance(content := item.get("content"), str):
            is_output = item.get("role") == "assistant"
            text = {"type": "output_text", "annotations": []} if is_output else {"type": "input_text"}
            made["content"] = [{**text, "text": content}]
    return made


@attrs.frozen
class Resolved:
    """The input of a request with the items that it names.

    :ivar size: bytes of those items.
    :ivar names_files: they may name stored files.
    """

    value: str | list[Any]
    size: int = 0
    names_files: bool = False


@attrs.define
class StoredItems:
    """The stored items of one caller, for one request.

    :ivar most: bytes that the items of a request may have together.
    """

    responses: ResponseStore
    conversations: Callable[[], Conversations]
    caller: str
    most: int
    _known: dict[str, Item] = attrs.field(factory=dict, init=False)
    _read: set[str] = attrs.field(factory=set, init=False)

    async def resolve(self, value: str | list[Any], earlier: Iterable[Item] = ()) -> Resolved:
        """Put stored items in the places that name them.

        :param earlier: the items before the input.
        :raises Problem: an item is not stored, or they are too large.
        :raises StorageError: the store does not answer.
        """
        if isinstance(value, str) or not any(map(_is_reference, rows := objects(value, "input"))):
            return Resolved(value)
        self._add(earlier)
        found: list[Item] = []
        size, names_files = 0, False
        for number, row in enumerate(rows):
            if not _is_reference(row):
                found.append(row)
                continue
            item = await self._find(required(row, "id", str, f"input[{number}]."), f"input[{number}].id")
            data = _encode(item)
            size, names_files = size + len(data), names_files or b'"file_id"' in data
            if size > self.most:
                raise Problem(
                    message=f"the items that the input names have more than {self.most:,} bytes, the limit of a request",
                    status=413, kind="request_too_large", code="request_too_large", param=f"input[{number}].id",
                )  # fmt: skip
            found.append(item)
        return Resolved(found, size, names_files)

    def _add(self, items: Iterable[Item]) -> None:
        self._known |= {str(item["id"]): item for item in items if item.get("id")}

    async def _find(self, item_id: str, param: str) -> Item:
        match = _ID.fullmatch(item_id)
        if item_id not in self._known and match is not None:
            place = match[1]
            names = [f"conv_{place}"] if match[2] else [f"resp_{place[:32]}", f"resp_{place[:24]}"]
            for name in dict.fromkeys(names):
                await self._load(name)
        if item_id not in self._known:
            raise unknown("item", item_id, param)
        return self._known[item_id]

    async def _load(self, name: str) -> None:
        """Note the items of a response or conversation, if it is stored."""
        if name in self._read:
            return
        self._read.add(name)
        if name.startswith("resp_"):
            response = await self.responses.find(name, self.caller)
            self._add(response.all_items if response is not None else ())
            return
        conversations = self.conversations()
        conversation = await conversations.find_any(name)
        self._add((await conversations.items(conversation)).rows if conversation is not None else ())


def _is_reference(item: Item) -> bool:
    """Whether an item only names a stored one; OpenAI's API needs no type for it."""
    return item.get("type") == REFERENCE or (
        item.get("type") is None and item.keys() <= {"id", "type"} and "id" in item
    )
