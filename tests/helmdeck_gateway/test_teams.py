"""Teams of the gateway's keys: limits of an organisation and of its teams hold for all keys below them. Requests go over HTTP."""

import asyncio
import contextlib

import attrs
import pytest

from helmdeck_gateway.accounts.changes import (
    ChangeRefused,
    create_key,
    create_team,
    edit_key,
    edit_team,
    revoke_team,
    rotate_key,
)
from helmdeck_gateway.accounts.keys import CACHE_S, StoredKeys
from helmdeck_gateway.problems import Problem
from helmdeck_gateway.stores.memory import MemoryStore
from helmdeck_gateway.stores.records import MAX_TEAMS, Limits, TeamRecord, to_nusd
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer
from tests.case_support import each_case
from tests.helmdeck_gateway.gateway_key_support import COST, USAGE, config, keyed, record
from tests.helmdeck_gateway.gateway_support import FormatServer, running_gateway

CHAT = {"model": "up/m", "messages": [{"role": "user", "content": "hi"}]}


@pytest.fixture
def server():
    with contextlib.closing(FormatServer(OPENAI_CHAT, ScriptedAnswer(text="hello", **USAGE))) as server:
        yield server


NONE = Limits()


def team(name, parent="", limits=NONE, **fields):
    return TeamRecord(name=name, id="", parent=parent, limits=limits, **fields)


@contextlib.contextmanager
def company(server, acme=NONE, search=NONE, **fields):
    """Run a gateway with the organisation acme, its team search, and the key ann of the team."""
    with keyed(config(server), team="search", **fields) as gateway:
        asyncio.run(create_team(gateway.store, team("acme", limits=acme)))
        asyncio.run(create_team(gateway.store, team("search", "acme", limits=search)))
        yield gateway


def test_team_named_none_is_refused_since_the_name_means_no_team():
    with pytest.raises(ChangeRefused, match="the name 'none' means no team in --team and --parent"):
        asyncio.run(create_team(MemoryStore(), team("none")))


def test_call_counts_for_its_key_and_all_teams_above_and_the_headers_report_what_is_left(server):
    with company(server, acme=Limits(day_nusd=to_nusd(3 * COST)), month_nusd=to_nusd(1.0)) as gateway:
        bob = gateway.add(name="bob", team="search")
        first, second = gateway.chat(), gateway.send(body=CHAT, key=bob)
        named = {name: first.headers[f"x-helmdeck-{name}"] for name in ("key", "team", "budget-left")}
        assert named == {"key": "ann", "team": "search", "budget-left": f"{2 * COST:.6f}"}
        assert second.headers["x-helmdeck-budget-left"] == f"{COST:.6f}"
        stream = gateway.chat(stream=True)
        assert stream.headers["x-helmdeck-budget-left"] < f"{COST:.6f}"
        refused = gateway.chat()
        assert (refused.status, refused.body["error"]["limit"]) == (402, "spend_per_day")
        assert "the team 'acme' is limited to 0.006 US dollars per day" in refused.body["error"]["message"]
        assert refused.body["error"]["team"] == "acme"
        me = gateway.send("/v1/me", method="GET").body
        spent = [(each["name"], each["today"]["spent_usd"], each["today"]["refused"]) for each in me["nodes"]]
        assert spent == [("ann", 2 * COST, 1), ("search", 3 * COST, 1), ("acme", 3 * COST, 1)]
        assert me["nodes"][2]["left"]["spend_per_day_usd"] == 0
        assert me["nodes"][0]["left"]["spend_per_month_usd"] == pytest.approx(1.0 - 2 * COST)
        assert (me["key"], me["team"]) == ("ann", "search")


def test_token_limit_of_a_team_counts_the_usage_that_the_provider_reports(server):
    with company(server, search=Limits(tokens=10_000)) as gateway:
        for _ in range(2):
            assert gateway.chat(max_tokens=5).status == 200
        team_row = gateway.send("/v1/me", method="GET").body["nodes"][1]
        assert team_row["left"]["tokens_per_minute"] >= 10_000 - 2 * 1_500
        assert team_row["left"]["tokens_per_minute"] < 10_000 - 1_500
        assert gateway.chat(max_tokens=9_000).status == 200
        refused = gateway.send("/v1/messages", {**CHAT, "max_tokens": 50_000})
        assert refused.status == 200, "the response is shorter than the limit, so its estimate was given back"


def test_call_that_would_use_more_tokens_than_are_left_is_the_last_one(server):
    with company(server, search=Limits(tokens=1_000)) as gateway:
        assert gateway.chat().status == 200
        refused = gateway.chat()
        assert (refused.status, refused.body["error"]["code"]) == (429, "token_limit")
        assert "the team 'search' is limited to 1,000 tokens per minute" in refused.body["error"]["message"]
        assert int(refused.headers["retry-after"]) > 20
        assert len(server.requests) == 1


@each_case(
    ("fields", "headers", "code"),
    [
        ({"models": ("slow",)}, {}, "model_not_allowed"),
        ({"dialects": ("messages",)}, {}, "endpoint_not_allowed"),
        ({"tags": ("batch",)}, {"x-helmdeck-tags": "batch, nightly"}, "tag_not_allowed"),
        ({"revoked_s": 1.0}, {}, "team_revoked"),
        ({}, {"x-helmdeck-tags": "two words"}, "invalid_request"),
    ],
)
def test_team_restricts_its_keys(fields, headers, code):
    with (
        contextlib.closing(FormatServer(OPENAI_CHAT, ScriptedAnswer(text="x", **USAGE))) as server,
        keyed(config(server), team="search") as gateway,
    ):
        asyncio.run(create_team(gateway.store, team("search", **fields)))
        answer = gateway.send(body=CHAT, headers=headers)
        assert answer.body["error"]["code"] == code
        assert server.requests == []


def test_tags_and_endpoints_that_are_allowed_pass(server):
    with keyed(config(server), dialects=("chat",), tags=("batch",)) as gateway:
        assert gateway.send(body=CHAT, headers={"x-helmdeck-tags": "batch"}).status == 200
        assert gateway.send("/v1/messages", {**CHAT, "max_tokens": 5}).status == 403
        assert gateway.send("/v1/embeddings", {"model": "up/m", "input": "x"}).status == 403


def test_change_has_an_effect_in_other_processes_within_a_second():
    async def run():
        store, now = MemoryStore(), [0.0]
        await create_team(store, team("search"))
        made = await create_key(store, record(team="search"))
        keys = StoredKeys(lambda: store, clock=lambda: now[0])
        seen = []
        for change in (
            lambda: edit_key(store, "ann", lambda key: attrs.evolve(key, limits=Limits(rate=1))),
            lambda: edit_team(store, "search", lambda found: attrs.evolve(found, models=("fast",))),
            lambda: revoke_team(store, "search"),
        ):
            await keys.authorise({b"x-api-key": made.secret.encode()})
            await change()
            now[0] += CACHE_S
            try:
                sender = await keys.authorise({b"x-api-key": made.secret.encode()})
            except Problem as problem:
                seen.append(problem.code)
            else:
                seen.append((sender.key.limits.rate, sender.may_use("slow")))
        return seen

    assert CACHE_S < 1
    assert asyncio.run(run()) == [(1, True), (1, False), "team_revoked"]


def test_rotated_key_is_accepted_beside_the_new_one_for_the_grace_time():
    async def run():
        store, now_s = MemoryStore(), [1_000.0]
        first = await create_key(store, record())
        keys = StoredKeys(lambda: store, now=lambda: now_s[0])
        second = await rotate_key(store, "ann", grace_s=60.0, now_s=now_s[0])
        found = []
        for now_s[0] in (1_059.0, 1_060.0):
            for made in (first, second):
                try:
                    found.append((await keys.authorise({b"x-api-key": made.secret.encode()})).caller)
                except Problem as problem:
                    found.append(problem.message)
        third = await rotate_key(store, "ann")
        assert await store.find_key(second.record.digest) is None
        assert third.record.old_digest == ""
        return found

    assert asyncio.run(run()) == [
        "ann",
        "ann",
        "the key 'ann' was rotated, and this one was valid until 1970-01-01 00:17 UTC",
        "ann",
    ]


def test_teams_make_no_loop_and_only_a_few_levels():
    async def run():
        store = MemoryStore()
        for number in range(MAX_TEAMS):
            await create_team(store, team(f"t{number}", f"t{number - 1}" if number else ""))
        with pytest.raises(ChangeRefused, match="at most 8 teams"):
            await create_team(store, team("deep", f"t{MAX_TEAMS - 1}"))
        with pytest.raises(ChangeRefused, match="above itself"):
            await edit_team(store, "t0", lambda found: attrs.evolve(found, parent="t3"))
        return [each.name for each in await store.find_teams("t3")]

    assert asyncio.run(run()) == ["t3", "t2", "t1", "t0"]


def test_changes_at_the_same_time_are_all_stored_and_all_in_the_audit_log(tmp_path):
    from helmdeck_gateway.accounts.visibility import broken_entry
    from helmdeck_gateway.stores import open_store

    async def run():
        stores = [open_store(f"sqlite:{tmp_path / 'g.db'}") for _ in range(2)]
        await asyncio.gather(*(create_key(stores[n % 2], record(f"key{n}")) for n in range(8)))
        await asyncio.gather(
            *(
                edit_key(
                    stores[n % 2],
                    "key0",
                    lambda key, n=n: attrs.evolve(key, models=(*(key.models or ()), f"m{n}")),
                )
                for n in range(6)
            )
        )
        found = await stores[0].list_keys(), await stores[1].list_audit(50), await broken_entry(stores[0])
        for store in stores:
            await store.aclose()
        return found

    keys, entries, broken = asyncio.run(run())
    assert len(keys[0].models) == 6
    assert [each.number for each in entries] == list(range(14, 0, -1))
    assert broken is None


class Counting(MemoryStore):
    """A store that records the names of its operations."""

    def __init__(self):
        super().__init__()
        self.operations = []

    def __getattribute__(self, name):
        if name in ("admit", "settle", "renew", "usage", "find_key", "find_teams", "list_keys", "list_audit"):
            self.operations.append(name)
        return super().__getattribute__(name)


def test_call_of_a_key_below_two_teams_takes_one_step_to_admit_and_one_to_settle(server):
    store = Counting()
    for made in (team("acme", limits=Limits(day_nusd=to_nusd(1.0))), team("search", "acme", Limits(tokens=100_000))):
        asyncio.run(create_team(store, made))
    secret = asyncio.run(create_key(store, record(team="search", month_nusd=to_nusd(1.0)))).secret
    with running_gateway(config=config(server), store=store) as gateway:
        headers = {"authorization": f"Bearer {secret}"}
        gateway.send("/v1/chat/completions", CHAT, headers=headers)
        gateway.gateway.authoriser._clock = lambda: 0.0  # the key and its teams stay known
        store.operations.clear()
        assert gateway.send("/v1/chat/completions", CHAT, headers=headers).headers["x-helmdeck-budget-left"]
        assert store.operations == ["admit", "settle"]
