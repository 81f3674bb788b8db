"""Rows in memory."""

from __future__ import annotations

import collections
import time
from collections.abc import Mapping, Sequence

import attrs

from helmdeck_gateway.stores.rows import OPEN, Row


@attrs.define
class _Row:
    data: bytes
    expires_s: float
    state: int = OPEN
    leased_s: float = 0.0
    holder: str = ""


class MemoryRows:
    """Implements ``RowStore``; the rows are lost when the process ends."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[str, _Row]] = {}

    def _rows(self, group: str) -> dict[str, _Row]:
        """The rows of a group without those that have expired."""
        rows, now = self._groups.get(group, {}), time.monotonic()
        for name in [name for name, row in rows.items() if row.expires_s <= now]:
            del rows[name]
        return rows

    async def put_rows(
        self, group: str, rows: Mapping[str, bytes], ttl_s: float, *, keeps_earlier: bool = False
    ) -> None:
        """Implement ``RowStore.put_rows``."""
        for each in [each for each in self._groups if not self._rows(each)]:
            del self._groups[each]
        until_s = time.monotonic() + ttl_s
        made = {name: _Row(data, until_s) for name, data in rows.items()}
        self._groups[group] = {**made, **self._rows(group)} if keeps_earlier else {**self._rows(group), **made}

    async def replace_row(self, group: str, name: str, old: bytes, new: bytes) -> bool:
        """Implement ``RowStore.replace_row``."""
        row = self._rows(group).get(name)
        if row is None or row.data != old:
            return False
        row.data = new
        return True

    async def get_row(self, group: str, name: str) -> Row | None:
        """Implement ``RowStore.get_row``."""
        row = self._rows(group).get(name)
        return None if row is None else Row(name, row.data, row.state)

    async def list_rows(self, group: str, *, after: str = "", limit: int = 100, newest: bool = False) -> Sequence[Row]:
        """Implement ``RowStore.list_rows``."""
        rows = self._rows(group)
        names = sorted(rows, reverse=newest)
        if after:
            names = [name for name in names if (name < after if newest else name > after)]
        return [Row(name, rows[name].data, rows[name].state) for name in names[:limit]]

    async def delete_rows(self, group: str, name: str | None = None) -> bool:
        """Implement ``RowStore.delete_rows``."""
        if name is None:
            return bool(self._groups.pop(group, {}))
        return self._rows(group).pop(name, None) is not None

    async def claim_rows(self, group: str, holder: str, limit: int, lease_s: float) -> Sequence[Row]:
        """Implement ``RowStore.claim_rows``."""
        rows, now = self._rows(group), time.monotonic()
        free = sorted(name for name, row in rows.items() if row.state == OPEN and row.leased_s <= now)[:limit]
        for name in free:
            rows[name].leased_s, rows[name].holder = now + lease_s, holder
        return [Row(name, rows[name].data) for name in free]

    async def lease_rows(self, group: str, names: Sequence[str], holder: str, lease_s: float) -> None:
        """Implement ``RowStore.lease_rows``."""
        rows = self._rows(group)
        for row in (rows[name] for name in names if name in rows):
            if row.state == OPEN and row.holder == holder:
                row.leased_s = time.monotonic() + lease_s

    async def finish_row(self, group: str, name: str, state: int, data: bytes) -> bool:
        """Implement ``RowStore.finish_row``."""
        row = self._rows(group).get(name)
        if row is None or row.state != OPEN:
            return False
        row.state, row.data = state, data
        return True

    async def count_rows(self, group: str) -> Mapping[int, int]:
        """Implement ``RowStore.count_rows``."""
        return collections.Counter(row.state for row in self._rows(group).values())
