"""Stored responses: the conversations that ``previous_response_id`` continues. In memory, for one process."""

from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import Any

import attrs

from helmdeck_core import ChatResponse, Message, Role, TextPart


@attrs.frozen
class StoredResponse:
    """A stored response.

    :ivar caller: the caller that may continue it.
    :ivar messages: the conversation with the response, without instructions.
    :ivar payload: the response as it was sent.
    """

    caller: str
    messages: tuple[Message, ...]
    payload: Mapping[str, Any]


class ResponseStore:
    """A bounded store; the oldest response is forgotten first.

    :param most: responses that are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._responses: collections.OrderedDict[str, StoredResponse] = collections.OrderedDict()

    def keep(self, response_id: str, stored: StoredResponse) -> None:
        """Store a response."""
        self._responses[response_id] = stored
        while len(self._responses) > self._most:
            self._responses.popitem(last=False)

    def find(self, response_id: str, caller: str) -> StoredResponse | None:
        """Return a response of a caller; ``None`` if it is not stored."""
        stored = self._responses.get(response_id)
        return stored if stored is not None and stored.caller == caller else None

    def forget(self, response_id: str, caller: str) -> bool:
        """Delete a response of a caller; return whether it was stored."""
        if self.find(response_id, caller) is None:
            return False
        del self._responses[response_id]
        return True


def answer_message(response: ChatResponse) -> Message:
    """Return a response as a message of its conversation."""
    parts = (TextPart(response.text),) if response.text else ()
    return Message(Role.ASSISTANT, parts, response.tool_calls, opaque=response.opaque)
