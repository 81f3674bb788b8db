"""Remembers what providers want back with a turn, such as signatures of reasoning, which no client sends back.

Clients send the ids of tool calls back, so the data is found by them. Without it, a turn is sent without its reasoning.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping
from typing import Any

from helmdeck_core import EMPTY

MAX_TURNS = 10_000
"""Turns that are remembered; the oldest one is forgotten."""


class OpaqueStore:
    """A bounded store in memory."""

    def __init__(self, most: int = MAX_TURNS) -> None:
        self._most = most
        self._turns: collections.OrderedDict[str, Mapping[str, Any]] = collections.OrderedDict()

    def keep(self, ids: Iterable[str], opaque: Mapping[str, Any]) -> None:
        """Remember the data of a turn by the first of its ids."""
        key = next(iter(ids), None)
        if key is None:
            return
        self._turns[key] = opaque
        while len(self._turns) > self._most:
            self._turns.popitem(last=False)

    def find(self, ids: Iterable[str]) -> Mapping[str, Any]:
        """Return the data of a turn; empty if it is not known."""
        key = next(iter(ids), None)
        return EMPTY if key is None else self._turns.get(key, EMPTY)
