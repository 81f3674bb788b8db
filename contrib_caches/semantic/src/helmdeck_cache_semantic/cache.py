"""Answers by the vectors of their questions, in memory: the most similar question of the same tenant and scope."""

from __future__ import annotations

import asyncio
import collections
import threading
import time
from collections.abc import Callable, Mapping, Sequence

import attrs
import numpy as np

from helmdeck_cache_semantic import SemanticOptions
from helmdeck_cache_semantic.encoder import Vectors
from helmdeck_cache_semantic.facts import same_facts
from helmdeck_core import CachedAnswer, CacheQuery

Place = tuple[str, str]
"""A tenant, and the scope of a request."""


@attrs.frozen(eq=False)
class _Row:
    key: str
    text: str
    vector: Vectors
    answer: CachedAnswer


class SemanticCache:
    """Answers to similar questions. Questions are compared only if everything else of their requests is equal.

    :param encode: returns the vectors of texts, with a length of 1.
    :param ttl_s: seconds that an answer is kept.
    :param max_entry_bytes: bytes of an answer; a larger one is not stored.
    """

    def __init__(
        self,
        encode: Callable[[Sequence[str]], Vectors],
        options: SemanticOptions,
        ttl_s: float,
        max_entry_bytes: int = 1_000_000,
    ) -> None:
        self._encode = encode
        self._options = options
        self._ttl_s = ttl_s
        self._max_entry_bytes = max_entry_bytes
        self._lock = threading.Lock()
        self._rows: collections.OrderedDict[tuple[Place, str], _Row] = collections.OrderedDict()
        self._places: dict[Place, dict[str, _Row]] = {}

    async def find(self, query: CacheQuery) -> CachedAnswer | None:
        """Implement ``ResponseCache.find``."""
        place = (query.tenant, query.scope)
        if not self._takes(query) or place not in self._places:
            return None
        return await asyncio.to_thread(self._find, place, query)

    async def keep(self, query: CacheQuery, answer: CachedAnswer) -> None:
        """Implement ``ResponseCache.keep``."""
        if self._takes(query) and not answer.response.tool_calls and _size(answer) <= self._max_entry_bytes:
            await asyncio.to_thread(self._keep, (query.tenant, query.scope), query, answer)

    async def clear(self, tenant: str | None = None) -> int:
        """Implement ``ResponseCache.clear``."""
        with self._lock:
            names = [name for name in self._rows if tenant is None or name[0][0] == tenant]
            for name in names:
                self._remove(name)
        return len(names)

    async def stats(self) -> Mapping[str, int]:
        """Implement ``ResponseCache.stats``."""
        return {"answers": len(self._rows), "tenants": len({place[0] for place in self._places})}

    async def aclose(self) -> None:
        """Forget the answers."""
        await self.clear()

    def _takes(self, query: CacheQuery) -> bool:
        return len(query.text.strip()) > 0 and len(query.text) <= self._options.max_chars

    def _find(self, place: Place, query: CacheQuery) -> CachedAnswer | None:
        vector = self._encode([query.text])[0]
        oldest_s = self._ttl_s if query.max_age_s is None else min(self._ttl_s, query.max_age_s)
        with self._lock:
            rows = list(self._places.get(place, {}).values())
        if not rows:
            return None
        scores = np.stack([row.vector for row in rows]) @ vector
        now_s = time.time()
        for index in np.argsort(-scores, kind="stable"):
            row: _Row = rows[int(index)]
            if scores[index] < self._options.threshold:
                return None
            if abs(now_s - row.answer.stored_s) > oldest_s:  # negative if the clock was set back
                continue
            if row.text == query.text or not self._options.checks_facts or same_facts(row.text, query.text):
                with self._lock:
                    if (place, row.key) in self._rows:
                        self._rows.move_to_end((place, row.key))
                return row.answer
        return None

    def _keep(self, place: Place, query: CacheQuery, answer: CachedAnswer) -> None:
        row = _Row(query.key, query.text, self._encode([query.text])[0], answer)
        with self._lock:
            self._remove((place, query.key))
            self._rows[place, query.key] = row
            self._places.setdefault(place, {})[query.key] = row
            while len(self._rows) > self._options.max_answers:
                self._remove(next(iter(self._rows)))

    def _remove(self, name: tuple[Place, str]) -> None:
        if self._rows.pop(name, None) is not None:
            place, key = name
            del self._places[place][key]
            if not self._places[place]:
                del self._places[place]


def _size(answer: CachedAnswer) -> int:
    response = answer.response
    return sum(len(text.encode("utf-8", "replace")) for text in (response.text, response.reasoning_content))
