"""The part of the contract test suite about rows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from helmdeck_gateway.stores.rows import OPEN, Row

GROUP = "lines:1"
DAY_S = 86_400.0


class RowsContract:
    """Tests of rows."""

    def test_rows_are_listed_in_both_orders_and_by_pages(self, use: Callable[..., Any]) -> None:
        async def pages(store: Any) -> list[list[str]]:
            await store.put_rows(GROUP, dict.fromkeys(("b", "a", "c", "B"), b""), DAY_S)
            await store.put_rows("lines:2", {"d": b""}, DAY_S)
            lists = [
                await store.list_rows(GROUP, limit=3),
                await store.list_rows(GROUP, after="b"),
                await store.list_rows(GROUP, newest=True, limit=2),
                await store.list_rows(GROUP, newest=True, after="b"),
            ]
            return [[row.name for row in rows] for rows in lists]

        assert use(pages) == [["B", "a", "b"], ["c"], ["c", "b"], ["a", "B"]]

    def test_leased_row_is_claimed_by_one_worker_until_the_lease_ends(self, use: Callable[..., Any]) -> None:
        async def claims(store: Any) -> list[list[str]]:
            await store.put_rows(GROUP, {f"{n}": b"" for n in range(4)}, DAY_S)
            found = [
                await store.claim_rows(GROUP, "first", 3, DAY_S),
                await store.claim_rows(GROUP, "second", 3, DAY_S),
            ]
            await store.lease_rows(GROUP, ["0", "3"], "first", 0)  # 3 is not its own
            return [[row.name for row in rows] for rows in (*found, await store.claim_rows(GROUP, "second", 9, DAY_S))]

        assert use(claims) == [["0", "1", "2"], ["3"], ["0"]]

    def test_concurrent_claims_have_no_row_in_common(self, use: Callable[..., Any]) -> None:
        async def names(store: Any) -> list[str]:
            await store.put_rows(GROUP, {f"{n:02}": b"" for n in range(20)}, DAY_S)
            claims = await asyncio.gather(*(store.claim_rows(GROUP, f"{n}", 5, DAY_S) for n in range(6)))
            left = await store.claim_rows(GROUP, "last", 20, DAY_S)  # rows that were locked for a moment
            return sorted(row.name for rows in (*claims, left) for row in rows)

        assert use(names) == [f"{n:02}" for n in range(20)]

    def test_row_is_finished_once_and_not_claimed_again(self, use: Callable[..., Any]) -> None:
        async def outcome(store: Any) -> tuple[Any, ...]:
            await store.put_rows(GROUP, {"a": b"request", "b": b"request"}, DAY_S)
            finished = [
                await store.finish_row(GROUP, "a", 2, b"\0\xff"),
                await store.finish_row(GROUP, "a", 1, b"late"),
            ]
            claimed = [row.name for row in await store.claim_rows(GROUP, "worker", 9, DAY_S)]
            return finished, claimed, await store.get_row(GROUP, "a"), dict(await store.count_rows(GROUP))

        assert use(outcome) == ([True, False], ["b"], Row("a", b"\0\xff", 2), {OPEN: 1, 2: 1})

    def test_earlier_row_can_be_kept(self, use: Callable[..., Any]) -> None:
        async def steps(store: Any) -> Any:
            await store.put_rows(GROUP, {"a": b"1", "c": b"gone"}, DAY_S)
            await store.put_rows(GROUP, {"c": b"gone"}, -1)
            await store.put_rows(GROUP, {"a": b"2", "b": b"2", "c": b"2"}, DAY_S, keeps_earlier=True)
            return [row.data for row in await store.list_rows(GROUP)]

        assert use(steps) == [b"1", b"2", b"2"]

    def test_row_is_replaced_only_over_the_data_that_its_author_read(self, use: Callable[..., Any]) -> None:
        async def outcome(store: Any) -> tuple[Any, ...]:
            await store.put_rows(GROUP, {"a": b"1"}, DAY_S)
            replaced = [
                await store.replace_row(GROUP, "a", b"1", b"2"),
                await store.replace_row(GROUP, "a", b"1", b"3"),
            ]
            return replaced, await store.get_row(GROUP, "a"), await store.replace_row(GROUP, "none", b"", b"")

        assert use(outcome) == ([True, False], Row("a", b"2"), False)

    def test_deleted_and_expired_rows_are_gone(self, use: Callable[..., Any]) -> None:
        async def outcome(store: Any) -> tuple[Any, ...]:
            await store.put_rows(GROUP, {"a": b"", "b": b"", "c": b""}, DAY_S)
            await store.put_rows(GROUP, {"c": b""}, -1)
            deleted = await store.delete_rows(GROUP, "a"), await store.delete_rows(GROUP, "a")
            left = [row.name for row in await store.list_rows(GROUP)]
            return deleted, left, await store.delete_rows(GROUP), await store.list_rows(GROUP)

        assert use(outcome) == ((True, False), ["b"], True, [])
