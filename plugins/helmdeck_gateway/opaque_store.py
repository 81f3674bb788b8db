"""Remembers what providers want back with a turn, such as signatures of reasoning, which no client sends back.

Clients send the ids of tool calls back, so the data is found by them. Without it, a turn is sent without its reasoning.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping
from typing import Any

from helmdeck_core import EMPTY

OWN_PREFIX = "helmdeck_"
"""Start of the signatures that the gateway writes in place of a provider's."""

MAX_TURNS = 10_000
"""Turns that are remembered; the oldest one is forgotten."""


class OpaqueStore:
    """A bounded store in memory, for one process."""

    def __init__(self, most: int = MAX_TURNS) -> None:
        self._most = most
        self._turns: collections.OrderedDict[str, Mapping[str, Any]] = collections.OrderedDict()

    def keep(self, ids: Iterable[str], opaque: Mapping[str, Any]) -> None:
        """Remember the data of a turn under each of its ids."""
        for key in ids:
            self._turns[key] = opaque
        while len(self._turns) > self._most:
            self._turns.popitem(last=False)

    def find(self, ids: Iterable[str]) -> Mapping[str, Any]:
        """Return the data of a turn; empty if none of its ids is known."""
        return next((self._turns[key] for key in ids if key in self._turns), EMPTY)
