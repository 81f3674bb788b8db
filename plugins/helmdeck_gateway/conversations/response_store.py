"""Stored responses: the conversations that ``previous_response_id`` continues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from helmdeck_core import ChatResponse, FilePart, ImagePart, Message, Part, Role, TextPart, ToolCall
from helmdeck_gateway.conversations.conversation_store import ConversationStore
from helmdeck_gateway.problems import Problem
from helmdeck_storage import StorageError

KIND: Final = "response"
_IMAGE_FIELDS: Final = ("media_type", "data", "url")


@attrs.frozen
class StoredResponse:
    """A stored response.

    :ivar messages: the conversation with the response, without instructions.
    :ivar payload: the response as it was sent.
    :ivar items: what the response was made of, as items of OpenAI's API.
    """

    messages: tuple[Message, ...]
    payload: Mapping[str, Any]
    items: Sequence[Mapping[str, Any]] = ()

    @property
    def all_items(self) -> Sequence[Mapping[str, Any]]:
        """The items of the conversation with the response."""
        return (*self.items, *self.payload["output"])


class ResponseStore:
    """The stored responses of all callers."""

    def __init__(self, store: ConversationStore) -> None:
        self._store = store

    async def keep(self, response_id: str, caller: str, stored: StoredResponse) -> None:
        """Store a response of a caller."""
        messages = [_data(message) for message in stored.messages]
        value = {"messages": messages, "payload": stored.payload, "items": stored.items}
        await self._store.keep(KIND, response_id, caller, value)

    async def find(self, response_id: str, caller: str) -> StoredResponse | None:
        """Return a response of a caller; ``None`` if it is not stored.

        :raises Problem: the store does not answer.
        """
        try:
            value = await self._store.read(KIND, response_id, caller)
        except StorageError as exc:
            raise _unavailable(exc) from exc
        if value is None:
            return None
        messages = tuple(_message(each) for each in value["messages"])
        return StoredResponse(messages, value["payload"], value.get("items", ()))  # earlier releases stored no items

    async def forget(self, response_id: str, caller: str) -> bool:
        """Delete a response of a caller; return whether it was stored.

        :raises Problem: the store does not answer.
        """
        try:
            return await self._store.forget(KIND, response_id, caller)
        except StorageError as exc:
            raise _unavailable(exc) from exc


def _unavailable(error: StorageError) -> Problem:
    return Problem(
        message=f"stored responses are not available: {error}",
        status=503,
        kind="overloaded_error",
        code="store_unavailable",
        retry_after_s=1,
        is_worth_retrying=True,
    )


def answer_message(response: ChatResponse) -> Message:
    """Return a response as a message of its conversation."""
    parts = (TextPart(response.text),) if response.text else ()
    return Message(Role.ASSISTANT, parts, response.tool_calls, opaque=response.opaque)


def _data(message: Message) -> dict[str, Any]:
    """A message as plain data; fields with their default value are left out."""
    parts: list[Any] = [
        part.text
        if isinstance(part, TextPart)
        else [*(getattr(part, name) for name in _IMAGE_FIELDS), *([part.name] if isinstance(part, FilePart) else ())]
        for part in message.parts
    ]
    data: dict[str, Any] = {"role": message.role.value, "parts": parts}
    if message.tool_calls:
        data["calls"] = [[call.id, call.name, call.arguments] for call in message.tool_calls]
    if message.tool_call_id is not None:
        data["call"] = message.tool_call_id
    if message.opaque:
        data["opaque"] = message.opaque
    return data


def _message(data: Mapping[str, Any]) -> Message:
    return Message(
        Role(data["role"]),
        tuple(map(_part, data["parts"])),
        tuple(ToolCall(*call) for call in data.get("calls", ())),
        data.get("call"),
        data.get("opaque", {}),
    )


def _part(data: str | list[Any]) -> Part:
    if isinstance(data, str):
        return TextPart(data)
    return ImagePart(*data) if len(data) == len(_IMAGE_FIELDS) else FilePart(*data)
