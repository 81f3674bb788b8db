"""The bytes that a caller has stored of one kind, such as files: counted before they are stored, over all processes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from helmdeck_gateway.problems import Problem
from helmdeck_gateway.stores.rows import RowStore, group_of

ROW: Final = "bytes"


class ByteUse:
    """The bytes of one caller.

    The count may be too high, since what expires is not subtracted, nor what a lost process could not store. So it is counted again
    before a request is refused.

    :param kind: of what is stored, in the plural.
    :param kept_s: seconds that a stored thing is kept.
    :param count: counts the bytes that are stored.
    """

    def __init__(
        self, store: RowStore, kind: str, caller: str, kept_s: float, count: Callable[[], Awaitable[int]]
    ) -> None:
        self._store = store
        self._kind = kind
        self._group = group_of(f"use:{kind}", caller)
        self._kept_s = kept_s
        self._count = count

    async def add(self, size: int, most: int | None = None, param: str | None = None) -> None:
        """Count bytes that are about to be stored; negative ones are deleted.

        :param most: the limit of all bytes; ``None`` for what is stored in any case.
        :param param: the field of the request that they are in.
        :raises Problem: they would exceed the limit.
        """
        is_counted = False
        while True:
            row = await self._store.get_row(self._group, ROW)
            if row is None:
                await self._store.put_rows(self._group, {ROW: _data(await self._count())}, self._kept_s)
                continue
            used = int(row.data)
            if most is None or used + size <= most:
                if await self._store.replace_row(self._group, ROW, row.data, _data(max(0, used + size))):
                    return
            elif is_counted:
                raise self._full(used, size, most, param)
            else:
                is_counted = True
                await self._store.replace_row(self._group, ROW, row.data, _data(await self._count()))

    async def check(self, size: int, most: int, param: str | None = None) -> None:
        """Check that there is room for bytes that are stored later.

        :raises Problem: there is none.
        """
        row = await self._store.get_row(self._group, ROW)
        if row is None or int(row.data) + size > most:
            await self.add(size, most, param)
            await self.add(-size)

    def _full(self, used: int, size: int, most: int, param: str | None) -> Problem:
        return Problem(
            message=f"the {self._kind} of this key have {used:,} bytes; {size:,} more exceed {most:,}, the limit of the gateway;"
            f" delete {self._kind}",
            status=413, kind="request_too_large", code=f"{self._kind.removesuffix('s')}_quota_exceeded", param=param,
        )  # fmt: skip


def _data(size: int) -> bytes:
    return b"%d" % size
