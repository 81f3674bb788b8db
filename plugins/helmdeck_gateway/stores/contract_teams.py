"""The part of the contract test suite of stores about teams, the audit log, and calls that count against several accounts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import attrs

from helmdeck_gateway.stores.records import (
    MAX_TEAMS,
    Admission,
    AuditRecord,
    KeyRecord,
    Limits,
    Node,
    Open,
    Refusal,
    TeamRecord,
)

NOON_S = 1_795_348_800.0
"""2026-11-22, 12:00 in UTC."""


def make_key(name: str = "ada", version: int = 1, **fields: Any) -> KeyRecord:
    """Return a key."""
    values = {"id": f"id-{name}", "digest": f"{name}-{version}", "caller": name, "created_s": NOON_S, **fields}
    return KeyRecord(name=name, version=version, **values)


def is_admitted(result: Admission | Refusal) -> bool:
    """Return whether a call is admitted."""
    return isinstance(result, Admission)


class TeamsContract:
    """The tests; ``use`` is a fixture of ``GatewayStoreContract``."""

    # -- teams and the audit log -------------------------------------------------------------------------------

    def test_team_is_returned_with_those_above_it_from_the_bottom(self, use: Callable[..., Any]) -> None:
        acme = TeamRecord(name="acme", id="t1", limits=Limits(day_nusd=5, tokens=7), created_s=NOON_S)
        search = TeamRecord(name="search", id="t2", parent="acme", models=("fast",), dialects=(), tags=("batch",))
        crawl = TeamRecord(name="crawl", id="t3", parent="search", revoked_s=NOON_S)

        async def run(store: Any) -> None:
            for record in (crawl, acme, search):
                assert await store.save_team(record)
            assert list(await store.find_teams("crawl")) == [crawl, search, acme]
            assert list(await store.find_teams("acme")) == [acme]
            assert list(await store.find_teams("sales")) == []
            assert list(await store.list_teams()) == [acme, crawl, search]
            loop = attrs.evolve(acme, parent="crawl", version=2)
            assert await store.save_team(loop)
            assert not await store.save_team(loop), "the version is taken"
            assert len(await store.find_teams("acme")) == MAX_TEAMS, "a loop ends"

        use(run)

    def test_audit_log_has_the_changes_that_were_stored_and_no_others(self, use: Callable[..., Any]) -> None:
        def entry(last: AuditRecord | None, action: str) -> AuditRecord:
            made = AuditRecord(number=0, time_s=NOON_S, actor="ann", source="api", action=action, subject="x")
            return made.sealed(last)

        async def run(store: Any) -> None:
            first = entry(None, "key created")
            assert await store.save_key(make_key(), first)
            second = entry(first, "team created")
            assert not await store.save_key(make_key(), second), "the name is taken"
            assert not await store.save_key(make_key("bob"), first), "the number is taken"
            assert await store.find_key("bob-1") is None, "neither of them is stored"
            assert await store.save_team(TeamRecord(name="acme", id="t1"), second)
            assert not await store.save_team(TeamRecord(name="other", id="t2"), second)
            third = entry(second, "configuration reloaded")
            assert await store.add_audit(third)
            assert not await store.add_audit(third)
            assert list(await store.list_audit(10)) == [third, second, first]
            assert list(await store.list_audit(1, before=3)) == [second]
            assert list(await store.list_audit(5, before=1)) == []
            assert [each.name for each in await store.list_teams()] == ["acme"]
            assert third.digest == third.computed_digest() != attrs.evolve(third, actor="bob").computed_digest()

        use(run)

    # -- calls of several accounts ----------------------------------------------------------------------------

    def test_call_counts_against_all_nodes_or_none(self, use: Callable[..., Any]) -> None:
        key, team, root = Node("k", Limits(day_nusd=100)), Node("t", Limits(concurrency=2)), Node("r", Limits(rate=3))

        async def run(store: Any) -> None:
            assert await store.admit([key, team, root], Open("c1", 40), 60, now_s=NOON_S) == Admission(100)
            assert await store.admit([Node("k2"), team, root], Open("c2", 7), 60, now_s=NOON_S) == Admission()
            refused = await store.admit([key, team, root], Open("c3", 1), 60, now_s=NOON_S)
            assert refused == Refusal(limit="concurrency", place=1, retry_after_s=1)
            assert [await spent(store, each) for each in "ktr"] == [(0, 40, 1), (0, 47, 2), (0, 47, 2)]
            assert await store.settle(["k2", "t", "r"], "c2", 5)
            assert await store.admit([key, team, root], Open("c3", 1), 60, now_s=NOON_S) == Admission(60)
            refused = await store.admit([root, key], Open("c4"), 60, now_s=NOON_S)
            assert (refused.limit, refused.place) == ("rate", 0)
            await store.renew(["k", "t", "r"], [Open("c3", 9)], 60, now_s=NOON_S + 30)
            assert [await spent(store, each) for each in "ktr"] == [(0, 49, 2), (5, 49, 2), (5, 49, 2)]
            assert await spent(store, "k", NOON_S + 60) == (40, 9, 1), "its lease has ended in all nodes"
            assert await store.settle(["k", "t", "r"], "c1", 30)
            assert [await spent(store, each, NOON_S + 60) for each in "ktr"] == [(30, 9, 1), (35, 9, 1), (35, 9, 1)]

        async def spent(store: Any, account: str, now_s: float = NOON_S) -> tuple[int, int, int]:
            usage = await store.usage(account, now_s=now_s)
            return usage.day.spent_nusd, usage.day.held_nusd, usage.under_way

        use(run)

    def test_token_limit_counts_held_tokens_then_real_ones_and_refills_within_a_minute(
        self, use: Callable[..., Any]
    ) -> None:
        limits = Limits(tokens=600)
        nodes = [Node("k"), Node("t", limits)]

        async def run(store: Any) -> None:
            assert is_admitted(await store.admit(nodes, Open("c1", 0, 900), 600, now_s=NOON_S))
            refused = await store.admit(nodes, Open("c2", 0, 10), 600, now_s=NOON_S + 10)
            assert (refused.limit, refused.place, round(refused.retry_after_s, 3)) == ("tokens_per_minute", 1, 20)
            await store.settle(["k", "t"], "c1", 0, 400)
            assert is_admitted(await store.admit(nodes, Open("c2", 0, 10), 600, now_s=NOON_S + 10))
            await store.renew(["k", "t"], [Open("c2", 0, 310)], 600, now_s=NOON_S + 10)
            usage = await store.usage("t", now_s=NOON_S + 20)
            assert round(usage.tokens_used(limits)) == 400 - 100 + 310 - 100
            assert (await store.usage("k", now_s=NOON_S + 20)).tokens == 0, "a node without the limit counts none"
            await store.settle(["k", "t"], "c2", 0, 5_000)
            refused = await store.admit(nodes, Open("c3", 0, 10), 600, now_s=NOON_S + 20)
            assert refused.retry_after_s > 400, "an excess is paid back"

        use(run)

    def test_calls_of_crossing_chains_do_not_wait_for_each_other_for_ever(self, use: Callable[..., Any]) -> None:
        async def run(store: Any) -> None:
            chains = [["a", "b", "c"], ["c", "b", "a"], ["b", "d", "a"], ["d", "c", "b"]]
            calls = [
                store.admit([Node(each) for each in chains[n % 4]], Open(f"c{n}", 3), 60, now_s=NOON_S)
                for n in range(40)
            ]
            assert all(map(is_admitted, await asyncio.gather(*calls)))
            assert all(await asyncio.gather(*(store.settle(chains[n % 4], f"c{n}", 2) for n in range(40))))
            usages = [await store.usage(each, now_s=NOON_S) for each in "abcd"]
            assert [(each.day.spent_nusd, each.under_way) for each in usages] == [(60, 0), (80, 0), (60, 0), (40, 0)]

        use(run)
