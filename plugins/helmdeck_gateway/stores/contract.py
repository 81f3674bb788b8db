"""The contract test suite of stores: subclass it, and all tests run against your store.

::

    from helmdeck_gateway.stores.contract import GatewayStoreContract

    class TestAcmeStore(GatewayStoreContract):
        @pytest.fixture
        def open_store(self, acme_database):
            return lambda **options: AcmeStore(acme_database, **options)

The fixture returns a function that opens a store on the same storage each time, with ``max_documents`` as its only option; the
storage is empty before each test.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from helmdeck_gateway.stores.contract_rows import RowsContract
from helmdeck_gateway.stores.contract_teams import NOON_S as NOON_S
from helmdeck_gateway.stores.contract_teams import TeamsContract, is_admitted, make_key
from helmdeck_gateway.stores.records import (
    LOST_S,
    NANO,
    Limits,
    Node,
    Open,
    Period,
    Refusal,
    periods,
)
from helmdeck_gateway.stores.store import MAX_DOCUMENT_BYTES
from helmdeck_storage import StorageError

OpenStore = Callable[..., Any]
ODD_KEYS = ("", "a:b", "{x}", "*", "%", "a\0b", "ünï", "a'b\"; --", "\ud800", "x" * 10_000)
SLACK = 100
"""Documents beyond the maximum that a store may keep until it removes them."""

DAY_S = 86_400


async def admit(
    store: Any, account: str, call_id: str, limits: Limits, held: int, lease_s: float, *, now_s: float | None = None
) -> Any:
    """Admit a call of one account; return ``Admission`` or ``Refusal``."""
    return await store.admit([Node(account, limits)], Open(call_id, held), lease_s, now_s=now_s)


class GatewayStoreContract(TeamsContract, RowsContract):
    """The contract test suite."""

    @pytest.fixture
    def open_store(self) -> OpenStore:
        """Return the function that opens a store; to be overridden."""
        raise NotImplementedError("override the fixture open_store")

    @pytest.fixture
    def use(self, open_store: OpenStore) -> Callable[..., Any]:
        """Return a function that runs a coroutine function with an open store and closes it."""

        def use(action: Callable[[Any], Awaitable[Any]], **options: Any) -> Any:
            async def run() -> Any:
                store = open_store(**options)
                try:
                    return await action(store)
                finally:
                    await store.aclose()

            return asyncio.run(run())

        return use

    # -- documents ---------------------------------------------------------------------------------------------

    def test_document_is_returned_to_its_owner_only(self, use: Callable[..., Any]) -> None:
        async def run(store: Any) -> None:
            await store.put("response", "r1", "ada", b"\x00one", 60)
            assert await store.get("response", "r1", "ada") == b"\x00one"
            assert await store.get("response", "r1", "bob") is None
            assert await store.get("turn", "r1", "ada") is None
            assert await store.get("response", "r2", "ada") is None

        use(run)

    def test_owners_may_use_the_same_key(self, use: Callable[..., Any]) -> None:
        async def run(store: Any) -> None:
            await store.put("turn", "call_0", "ada", b"of ada", 60)
            await store.put("turn", "call_0", "bob", b"of bob", 60)
            assert await store.get("turn", "call_0", "ada") == b"of ada"
            assert await store.delete("turn", "call_0", "bob")
            assert await store.get("turn", "call_0", "ada") == b"of ada"

        use(run)

    def test_later_document_replaces_the_earlier_one(self, use: Callable[..., Any]) -> None:
        async def run(store: Any) -> None:
            await store.put("response", "r1", "ada", b"one", 60)
            await store.put("response", "r1", "ada", b"two", 60)
            assert await store.get("response", "r1", "ada") == b"two"

        use(run)

    def test_deleted_document_is_gone_and_delete_reports_whether_there_was_one(self, use: Callable[..., Any]) -> None:
        async def run(store: Any) -> None:
            await store.put("response", "r1", "ada", b"one", 60)
            assert not await store.delete("response", "r1", "bob")
            assert await store.delete("response", "r1", "ada")
            assert not await store.delete("response", "r1", "ada")
            assert await store.get("response", "r1", "ada") is None

        use(run)

    def test_expired_document_is_gone(self, use: Callable[..., Any]) -> None:
        async def run(store: Any) -> None:
            await store.put("response", "r1", "ada", b"one", 60)
            await store.put("response", "r1", "ada", b"two", 0)
            assert await store.get("response", "r1", "ada") is None
            assert not await store.delete("response", "r1", "ada")

        use(run)

    def test_keys_and_owners_may_be_any_strings(self, use: Callable[..., Any]) -> None:
        async def run(store: Any) -> None:
            for number, key in enumerate(ODD_KEYS):
                await store.put("response", key, key, str(number).encode(), 60)
            for number, key in enumerate(ODD_KEYS):
                assert await store.get("response", key, key) == str(number).encode()

        use(run)

    def test_number_of_documents_of_a_kind_is_bounded(self, use: Callable[..., Any]) -> None:
        async def run(store: Any) -> None:
            await store.put("turn", "other", "ada", b"x", 60)
            for number in range(10 + 2 * SLACK):
                await store.put("response", str(number), "ada", b"x", 60)
            kept = [n for n in range(10 + 2 * SLACK) if await store.get("response", str(n), "ada")]
            assert kept[-10:] == list(range(2 * SLACK, 10 + 2 * SLACK))
            assert len(kept) <= 10 + SLACK
            assert await store.get("turn", "other", "ada") == b"x"

        use(run, max_documents=10)

    def test_document_beyond_the_size_limit_is_refused(self, use: Callable[..., Any]) -> None:
        async def run(store: Any) -> None:
            with pytest.raises(StorageError, match="is not stored"):
                await store.put("response", "r1", "ada", bytes(MAX_DOCUMENT_BYTES + 1), 60)

        use(run)

    def test_documents_are_shared_by_all_who_open_the_storage(self, use: Callable[..., Any], open_store: Any) -> None:
        async def run(store: Any) -> None:
            other = open_store()
            await store.put("response", "r1", "ada", b"one", 60)
            found = await other.get("response", "r1", "ada")
            await other.aclose()
            assert found == b"one"
            await store.aclose()
            assert await store.get("response", "r1", "ada") == b"one", "a closed store opens again"

        use(run)

    # -- keys --------------------------------------------------------------------------------------------------

    def test_every_field_of_a_key_is_returned(self, use: Callable[..., Any]) -> None:
        limits = Limits(rate=60, window_s=3_600.0, concurrency=4, day_nusd=5 * NANO, month_nusd=10**15, tokens=10**6)
        every = make_key(
            limits=limits, models=("fast", "openai/*"), expires_s=NOON_S + 1, narrows_tools=False, requires_price=True,
            role="admin", team="search", dialects=("chat",), tags=(), old_digest="ada-0", old_until_s=NOON_S,
        )  # fmt: skip

        async def run(store: Any) -> None:
            assert await store.save_key(every)
            assert await store.save_key(make_key("bob"))
            assert await store.find_key("ada-1") == every
            assert await store.find_key("bob-1") == make_key("bob")
            assert await store.find_key("ada-0") == every, "the digest before the last rotation"
            assert await store.find_key("ada-2") is None
            assert list(await store.list_keys()) == [every, make_key("bob")]

        use(run)

    def test_key_is_stored_only_over_the_version_that_its_author_read(self, use: Callable[..., Any]) -> None:
        async def run(store: Any) -> None:
            assert await store.save_key(make_key())
            assert not await store.save_key(make_key(digest="other")), "the name is taken"
            assert await store.save_key(make_key(version=2, revoked_s=NOON_S))
            assert not await store.save_key(make_key(version=2, digest="rotated"))
            assert not await store.save_key(make_key("bob", version=2))
            assert [key.revoked_s for key in await store.list_keys()] == [NOON_S]
            assert await store.find_key("ada-1") is None, "the digest was replaced"

        use(run)

    # -- accounts ----------------------------------------------------------------------------------------------

    def test_cost_replaces_what_was_held_and_settling_again_changes_nothing(self, use: Callable[..., Any]) -> None:
        async def run(store: Any) -> None:
            assert is_admitted(await admit(store, "a", "c1", Limits(), 500, 60, now_s=NOON_S))
            held = Period(held_nusd=500, requests=1)
            usage = await store.usage("a", now_s=NOON_S)
            assert (usage.day, usage.month, usage.under_way) == (held, held, 1)
            assert await store.settle(["a"], "c1", 120, unpriced=True)
            assert not await store.settle(["a"], "c1", 999)
            spent = Period(spent_nusd=120, requests=1, unpriced=1)
            usage = await store.usage("a", now_s=NOON_S)
            assert (usage.day, usage.month, usage.under_way) == (spent, spent, 0)
            assert not await store.settle(["a"], "unknown", 5)

        use(run)

    def test_several_accounts_are_read_at_once_with_the_calls_of_killed_processes(
        self, use: Callable[..., Any]
    ) -> None:
        async def run(store: Any) -> None:
            for account, call, held, now_s in (
                ("a", "c1", 5, NOON_S),
                ("a", "c2", 6, NOON_S + 1),
                ("b", "c1", 7, NOON_S),
                ("b", "c2", 8, NOON_S + DAY_S),
            ):
                assert is_admitted(await admit(store, account, call, Limits(tokens=9), held, 60, now_s=now_s))
            await store.settle(["a"], "c1", 3)
            later = NOON_S + DAY_S
            names = ["b", "new", "a", "b"]
            assert list(await store.usages(names, now_s=later)) == [
                await store.usage(each, now_s=later) for each in names
            ]
            day, next_day = periods(NOON_S)[0], periods(later)[0]
            assert await store.spend(["a", "b", "new"], [day], now_s=later) == {
                "a": Period(spent_nusd=9, requests=2),
                "b": Period(spent_nusd=7, requests=1),
            }
            assert await store.spend(["a", "b"], [day, next_day], now_s=later) == {
                "a": Period(spent_nusd=9, requests=2),
                "b": Period(spent_nusd=7, held_nusd=8, requests=2),
            }
            assert not await store.spend(["a"], [next_day], now_s=later)

        use(run)

    def test_repeated_admission_of_a_call_counts_once(self, use: Callable[..., Any]) -> None:
        async def run(store: Any) -> None:
            for _ in range(2):
                assert is_admitted(await admit(store, "a", "c1", Limits(concurrency=1), 5, 60, now_s=NOON_S))
            assert (await store.usage("a", now_s=NOON_S)).day == Period(held_nusd=5, requests=1)

        use(run)

    def test_accounts_are_separate(self, use: Callable[..., Any]) -> None:
        limits = Limits(rate=1, concurrency=1, day_nusd=1)

        async def run(store: Any) -> None:
            for account in ("a", "b", "a:b", "{a}"):
                assert is_admitted(await admit(store, account, "c", limits, 7, 60, now_s=NOON_S))
            await store.settle(["a"], "c", 3)
            assert (await store.usage("b", now_s=NOON_S)).day.held_nusd == 7
            assert (await store.usage("new", now_s=NOON_S)).under_way == 0

        use(run)

    def test_rate_holds_in_every_window(self, use: Callable[..., Any]) -> None:
        limits = Limits(rate=3, window_s=60)

        async def run(store: Any) -> None:
            found = []
            for number, second in enumerate((0, 10, 50, 59, 60, 61, 70, 109, 110, 119.5)):
                result = await admit(store, "a", f"c{number}", limits, 0, 60, now_s=NOON_S + second)
                found.append(None if is_admitted(result) else (result.limit, round(result.retry_after_s, 3)))
            late = ("rate", 9)
            assert found == [None, None, None, ("rate", 1), None, late, None, ("rate", 1), None, ("rate", 0.5)]
            assert (await store.usage("a", now_s=NOON_S)).day.refused == 4

        use(run)

    def test_concurrency_counts_calls_until_they_are_settled(self, use: Callable[..., Any]) -> None:
        limits = Limits(concurrency=2)

        async def run(store: Any) -> None:
            results = [await admit(store, "a", f"c{n}", limits, 0, 60, now_s=NOON_S) for n in range(3)]
            assert [getattr(each, "limit", None) for each in results] == [None, None, "concurrency"]
            assert results[2].retry_after_s > 0
            await store.settle(["a"], "c0", 0)
            assert is_admitted(await admit(store, "a", "c3", limits, 0, 60, now_s=NOON_S))

        use(run)

    def test_spend_limit_refuses_once_it_is_reached_and_ends_with_the_day_in_utc(self, use: Callable[..., Any]) -> None:
        limits = Limits(day_nusd=100, month_nusd=150)

        async def run(store: Any) -> None:
            assert is_admitted(await admit(store, "a", "c1", limits, 90, 60, now_s=NOON_S))
            assert is_admitted(await admit(store, "a", "c2", limits, 90, 60, now_s=NOON_S)), "99 of 100 are left for it"
            refused = await admit(store, "a", "c3", limits, 1, 60, now_s=NOON_S)
            assert refused == Refusal(limit="spend_per_month", retry_after_s=1, spent_nusd=0, held_nusd=180)
            await store.settle(["a"], "c1", 60)
            await store.settle(["a"], "c2", 40)
            refused = await admit(store, "a", "c3", limits, 1, 60, now_s=NOON_S)
            assert refused == Refusal(limit="spend_per_day", retry_after_s=DAY_S / 2, spent_nusd=100)
            assert is_admitted(await admit(store, "a", "c4", limits, 1, 60, now_s=NOON_S + DAY_S / 2))
            await store.settle(["a"], "c4", 50)
            refused = await admit(store, "a", "c5", limits, 1, 60, now_s=NOON_S + DAY_S)
            assert refused == Refusal(limit="spend_per_month", retry_after_s=7.5 * DAY_S, spent_nusd=150)
            assert is_admitted(await admit(store, "a", "c6", limits, 1, 60, now_s=NOON_S + 8.5 * DAY_S))

        use(run)

    def test_call_whose_lease_ended_counts_as_spent_and_frees_its_place(self, use: Callable[..., Any]) -> None:
        limits = Limits(concurrency=1)

        async def run(store: Any) -> None:
            await admit(store, "a", "lost", limits, 70, 60, now_s=NOON_S)
            assert isinstance(await admit(store, "a", "next", limits, 1, 60, now_s=NOON_S + 59), Refusal)
            assert is_admitted(await admit(store, "a", "next", limits, 1, 60, now_s=NOON_S + 60))
            usage = await store.usage("a", now_s=NOON_S + 60)
            assert (usage.day.spent_nusd, usage.day.held_nusd, usage.under_way) == (70, 1, 1)

        use(run)

    def test_late_settlement_corrects_what_a_lost_call_counted(self, use: Callable[..., Any]) -> None:
        async def run(store: Any) -> None:
            await admit(store, "a", "late", Limits(), 70, 60, now_s=NOON_S)
            assert (await store.usage("a", now_s=NOON_S + 61)).day.spent_nusd == 70
            assert await store.settle(["a"], "late", 90)
            assert not await store.settle(["a"], "late", 90)
            usage = await store.usage("a", now_s=NOON_S + 61)
            assert (usage.day.spent_nusd, usage.day.held_nusd, usage.under_way) == (90, 0, 0)
            await admit(store, "a", "gone", Limits(), 5, 60, now_s=NOON_S)
            await store.usage("a", now_s=NOON_S + 61)
            await store.usage("a", now_s=NOON_S + 61 + LOST_S)
            assert not await store.settle(["a"], "gone", 9), "it is forgotten"

        use(run)

    def test_renewed_call_stays_under_way_and_may_hold_more(self, use: Callable[..., Any]) -> None:
        async def run(store: Any) -> None:
            await admit(store, "a", "c1", Limits(), 50, 60, now_s=NOON_S)
            await admit(store, "a", "c2", Limits(), 50, 60, now_s=NOON_S)
            await store.renew(["a"], [Open("c1", 80), Open("unknown", 9)], 60, now_s=NOON_S + 50)
            await store.renew(["a"], [Open("c1", 10)], 60, now_s=NOON_S + 51)
            usage = await store.usage("a", now_s=NOON_S + 100)
            assert (usage.day.spent_nusd, usage.day.held_nusd, usage.under_way) == (50, 80, 1)
            await store.renew(["a"], [Open("c2", 75)], 60, now_s=NOON_S + 100)
            usage = await store.usage("a", now_s=NOON_S + 100)
            assert (usage.day.spent_nusd, usage.under_way) == (75, 1), "a lost call stays lost"
            await store.settle(["a"], "c1", 1)
            assert await store.settle(["a"], "c2", 60)
            assert (await store.usage("a", now_s=NOON_S + 100)).month.spent_nusd == 61

        use(run)

    def test_cost_belongs_to_the_day_of_the_admission(self, use: Callable[..., Any]) -> None:
        async def run(store: Any) -> None:
            await admit(store, "a", "c1", Limits(), 50, 2 * DAY_S, now_s=NOON_S)
            await store.usage("a", now_s=NOON_S + DAY_S)
            await store.settle(["a"], "c1", 30)
            assert (await store.usage("a", now_s=NOON_S)).day.spent_nusd == 30
            later = await store.usage("a", now_s=NOON_S + DAY_S)
            assert (later.day.spent_nusd, later.month.spent_nusd) == (0, 30)

        use(run)

    def test_large_amounts_are_exact(self, use: Callable[..., Any]) -> None:
        most = 9_000_000 * NANO - 1

        async def run(store: Any) -> None:
            await admit(store, "a", "c1", Limits(day_nusd=most), most - 2, 60, now_s=NOON_S)
            await store.settle(["a"], "c1", most - 1)
            assert (await store.usage("a", now_s=NOON_S)).month.spent_nusd == most - 1
            assert is_admitted(await admit(store, "a", "c2", Limits(day_nusd=most), 1, 60, now_s=NOON_S))

        use(run)

    def test_clock_of_the_store_is_the_default(self, use: Callable[..., Any]) -> None:
        async def run(store: Any) -> None:
            await admit(store, "a", "c1", Limits(rate=1, window_s=1e6), 5, 600)
            assert (await store.usage("a")).day == Period(held_nusd=5, requests=1)
            refused = await admit(store, "a", "c2", Limits(rate=1, window_s=1e6), 5, 600)
            assert refused.limit == "rate"
            await store.renew(["a"], [Open("c1", 6)], 600)
            assert await store.settle(["a"], "c1", 4)
            assert (await store.usage("a")).month.spent_nusd == 4

        use(run)

    def test_concurrent_admissions_exceed_no_limit(self, use: Callable[..., Any]) -> None:
        async def run(store: Any) -> None:
            limits = Limits(rate=20, concurrency=12)
            calls = [admit(store, "a", f"c{n}", limits, 1, 60, now_s=NOON_S) for n in range(30)]
            results = await asyncio.gather(*calls)
            assert sum(is_admitted(each) for each in results) == 12
            admitted = [n for n, each in enumerate(results) if is_admitted(each)]
            await asyncio.gather(*(store.settle(["a"], f"c{n}", 1) for n in admitted))
            calls = [admit(store, "a", f"d{n}", limits, 1, 60, now_s=NOON_S) for n in range(30)]
            assert sum(is_admitted(each) for each in await asyncio.gather(*calls)) == 8
            usage = await store.usage("a", now_s=NOON_S)
            assert (usage.day.spent_nusd, usage.day.requests, usage.under_way) == (12, 20, 8)

        use(run)
