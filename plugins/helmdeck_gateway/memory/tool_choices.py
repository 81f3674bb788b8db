"""The tools that conversations have sent, so that later turns send the same ones and a cached prefix stays valid."""

from __future__ import annotations

import collections
from typing import Final

from helmdeck_gateway.memory.conversation_store import ConversationStore

MAX_CONVERSATIONS: Final = 10_000
"""Conversations whose tools are remembered in memory."""

KIND: Final = "tools"


class ToolChoices:
    """Names of tools by conversation and caller.

    :param shared: the store that other processes share; ``None`` for memory.
    """

    def __init__(self, shared: ConversationStore | None = None) -> None:
        self._shared = shared
        self._sent: collections.OrderedDict[tuple[str, str], tuple[str, ...]] = collections.OrderedDict()

    async def find(self, key: str, caller: str) -> tuple[str, ...]:
        """Return the tools that a conversation has sent, by name; empty for a new one."""
        if self._shared is not None:
            found = await self._shared.find(KIND, key, caller)
            return tuple(found) if isinstance(found, list) else ()
        if (key, caller) in self._sent:
            self._sent.move_to_end((key, caller))
        return self._sent.get((key, caller), ())

    async def keep(self, key: str, caller: str, choice: tuple[str, ...]) -> None:
        """Remember the tools of a conversation."""
        if self._shared is not None:
            await self._shared.keep(KIND, key, caller, choice)
            return
        self._sent[key, caller] = choice
        while len(self._sent) > MAX_CONVERSATIONS:
            self._sent.popitem(last=False)
