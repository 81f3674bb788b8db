"""The bytes that a caller has stored of one kind, such as files: counted before they are stored, over all processes."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Final

from helmdeck_gateway.problems import Problem
from helmdeck_gateway.stores.rows import RowStore, group_of

ROW: Final = "bytes"
STALE_S: Final = 60.0
"""Seconds after which the bytes are counted again before a request is refused."""
RENEW_S: Final = 3_600.0
"""Seconds after which they are counted again in any case."""


async def check_count(store: RowStore, group: str, kind: str, most: int, advice: str = "delete some") -> None:
    """Check that a caller may store one more thing of a kind; those that are stored at the same time are not counted.

    :param group: the rows of what is stored.
    :param kind: in the plural, such as ``files``.
    :raises Problem: there are enough of them.
    """
    count = sum((await store.count_rows(group)).values())
    if count >= most:
        raise Problem(
            message=f"this key has {count:,} {kind}, the limit of the gateway; {advice}",
            status=429, kind="rate_limit_error", code=f"too_many_{kind}",
        )  # fmt: skip


class ByteUse:
    """The bytes of one caller.

    The number may differ from what is stored: expired bytes are not subtracted, nor those that a lost process could not store. So the
    bytes are counted again from time to time; those of requests under way are missing then.

    :param kind: of what is stored, in the plural.
    :param kept_s: seconds that a stored thing is kept.
    :param count: counts the bytes that are stored.
    :param code: of the error; by default, it begins with the kind in the singular.
    :param advice: what the caller can do where the limit is reached; by default, to delete some.
    """

    def __init__(
        self,
        store: RowStore,
        kind: str,
        caller: str,
        kept_s: float,
        count: Callable[[], Awaitable[int]],
        clock: Callable[[], float] = time.time,
        *,
        code: str = "",
        advice: str = "",
    ) -> None:
        self._store = store
        self._kind = kind
        self._code = code or f"{kind.removesuffix('s')}_quota_exceeded"
        self._advice = advice or f"delete {kind}"
        self._group = group_of(f"use:{kind}", caller)
        self._kept_s = kept_s
        self._count = count
        self._clock = clock

    async def add(self, size: int, most: int | None = None, param: str | None = None) -> None:
        """Count bytes that are about to be stored; negative ones are deleted.

        :param most: the limit of all bytes; ``None`` for what is stored in any case.
        :param param: the field of the request that they are in.
        :raises Problem: they would exceed the limit.
        """
        while True:
            row = await self._store.get_row(self._group, ROW)
            if row is None:
                counted = {ROW: await self._counted()}
                await self._store.put_rows(self._group, counted, self._kept_s, keeps_earlier=True)
                continue
            used, counted_s = map(int, row.data.split())
            age_s = self._clock() - counted_s
            has_room = most is None or used + size <= most
            if age_s >= (RENEW_S if has_room else STALE_S):
                await self._store.replace_row(self._group, ROW, row.data, await self._counted())
            elif not has_room:
                raise self._full(used, size, most or 0, param)
            elif await self._store.replace_row(self._group, ROW, row.data, b"%d %d" % (max(0, used + size), counted_s)):
                return

    async def check(self, size: int, most: int, param: str | None = None) -> None:
        """Check that there is room for bytes that are stored later.

        :raises Problem: there is none.
        """
        row = await self._store.get_row(self._group, ROW)
        if row is None or int(row.data.split()[0]) + size > most:
            await self.add(size, most, param)
            await self.add(-size)

    async def _counted(self) -> bytes:
        counted_s = int(self._clock())
        return b"%d %d" % (await self._count(), counted_s)

    def _full(self, used: int, size: int, most: int, param: str | None) -> Problem:
        return Problem(
            message=f"the {self._kind} of this key have {used:,} bytes; {size:,} more exceed {most:,}, the limit of the gateway;"
            f" {self._advice}",
            status=413, kind="request_too_large", code=self._code, param=param,
        )  # fmt: skip
