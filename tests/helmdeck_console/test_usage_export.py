"""``helmdeck usage export``: the spend of a span of days, exact, from the store and the request log."""

import asyncio
import contextlib
import csv
import datetime
import io
import json

import attrs
import pytest

from helmdeck_core.cli import main
from helmdeck_gateway import (
    KeyRecord,
    Node,
    Open,
    TeamRecord,
    create_key,
    create_team,
    edit_key,
    open_store,
    read_spend,
    read_usages,
    revoke_key,
)
from helmdeck_gateway.stores.memory import MemoryStore
from helmdeck_telemetry import RequestLog
from helmdeck_telemetry.request_log.facts import COLUMNS, RequestFacts
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer
from tests.case_support import each_case
from tests.helmdeck_gateway.gateway_key_support import PRICED, USAGE
from tests.helmdeck_gateway.gateway_store_support import store_url as store_url
from tests.helmdeck_gateway.gateway_support import FormatServer, running_gateway, upstream

MESSAGES = [{"role": "user", "content": "hi"}]

OCTOBER, NOVEMBER = 1_728_388_800.0, 1_731_067_200.0
"""8 October and 8 November 2024, 12:00 in UTC."""
DAY_S = 86_400.0


@pytest.fixture
def helmdeck(tmp_path, monkeypatch, capsys):
    """Run the command with a data directory of its own; returns its standard output."""
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path))
    file = tmp_path / "helmdeck.toml"
    file.write_text("")

    def run(*words):
        code = main(["usage", "export", *words, "--config", str(file), "--no-plugins"])
        printed = capsys.readouterr()
        return printed.out if code == 0 else printed.err

    run.store = f"sqlite:{tmp_path / 'gateway.db'}"
    run.log = f"sqlite:{tmp_path / 'requests.db'}"
    return run


def spend(url, *rows):
    """Make keys and calls: name, team, and the times and costs of the calls; a cost of ``None`` is never settled."""

    async def write():
        store = open_store(url)
        for name, team, calls in rows:
            record = KeyRecord(name=name, id="", digest="", caller=name, team=team)
            made = await create_key(store, record)
            for number, (at_s, nusd) in enumerate(calls):
                call = Open(f"{number}", 7_000_000_001)
                await store.admit([Node(made.record.id)], call, 60, now_s=at_s)
                if nusd is not None:
                    await store.settle([made.record.id], f"{number}", nusd)
            if name.startswith("old"):
                await revoke_key(store, name, NOVEMBER)
        await store.aclose()

    asyncio.run(write())


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_spend_by_team_is_exact_and_has_the_days_of_the_span_only(helmdeck):
    calls = [(NOVEMBER + day * DAY_S, 1_000_000_001) for day in (-7, 0, 22)]
    spend(helmdeck.store, ("a", "search", calls), ("b", "search", calls), ("c", "ads", [(OCTOBER, 5), (NOVEMBER, 1)]))
    month = rows_of(helmdeck("--from", "2024-11-01", "--to", "2024-11-30", "--csv"))
    assert [(row["team"], row["keys"], row["requests"], row["spent_usd"]) for row in month] == [
        ("ads", "1", "1", "0.000000001"), ("search", "2", "6", "6.000000006"),
    ]  # fmt: skip
    days = rows_of(helmdeck("--from", "2024-11-02", "--to", "2024-11-29", "--csv"))
    assert [row["spent_usd"] for row in days] == ["0.000000001", "2.000000002"]
    both = json.loads(helmdeck("--from", "2024-10-08", "--to", "2024-11-30", "--json"))
    assert (both["total"]["spent_usd"], both["total"]["requests"]) == ("6.000000012", 8)


class Counting(MemoryStore):
    """Counts the steps that read accounts."""

    def __init__(self):
        super().__init__()
        self.steps = []

    async def usage(self, account, *, now_s=None):
        self.steps.append(1)
        return await super().usage(account, now_s=now_s)

    async def usages(self, accounts, *, now_s=None):
        self.steps.append(len(accounts))
        return await super().usages(accounts, now_s=now_s)

    async def spend(self, accounts, periods, *, now_s=None):
        self.steps.append(len(accounts))
        return await super().spend(accounts, periods, now_s=now_s)


@each_case("read", ["bill", "list"])
def test_accounts_are_read_a_thousand_at_a_time_and_not_day_by_day(read):
    async def run():
        store = Counting()
        for number in range(2_001):
            await store.save_key(KeyRecord(name=f"k{number}", id=f"{number}", digest=f"{number}", caller="k"))
        if read == "bill":
            found = await read_spend(store, datetime.date(2024, 11, 2), datetime.date(2024, 11, 29))
        else:
            found = await read_usages(store, await store.list_keys())
        return len(found), store.steps

    assert asyncio.run(run()) == (2_001, [1_000, 1_000, 1])


def test_calls_of_killed_processes_and_of_replaced_keys_are_billed(helmdeck):
    spend(helmdeck.store, ("old", "search", [(NOVEMBER, 3), (NOVEMBER, None)]))
    spend(helmdeck.store, ("old", "search", [(NOVEMBER, 4)]))
    rows = rows_of(helmdeck("--from", "2024-11-08", "--to", "2024-11-08", "--by", "key", "--csv"))
    assert [(row["key"].partition("~")[0], row["spent_usd"]) for row in rows] == [
        ("old", "0.000000004"), ("old", "7.000000004"),
    ]  # fmt: skip
    assert len({row["key_id"] for row in rows}) == 2


def record(log, *rows):
    with log.database.session() as session:
        for number, fields in enumerate(rows):
            blank = {"call_id": str(number), "latency_ms": 1, "outcome": "answered", "requested": "m"}
            facts = RequestFacts(**{**blank, **fields})
            marks = ", ".join("?" * len(COLUMNS))
            session.change(f"INSERT INTO requests VALUES ({marks})", tuple(getattr(facts, name) for name in COLUMNS))
    log.close()


def test_models_come_from_the_request_log_and_the_rest_is_a_row_of_its_own(helmdeck):
    spend(helmdeck.store, ("a", "search", [(NOVEMBER, 500), (NOVEMBER, 300), (NOVEMBER, 7)]))
    own = {"ended_us": int(NOVEMBER * 1e6), "key": "a", "team": "search", "input_tokens": 9}
    record(
        RequestLog.open(helmdeck.log),
        {**own, "model": "=cmd()", "cost_nusd": 500},
        {**own, "model": "up/m", "cost_nusd": 300},
        {**own, "model": "up/m", "cost_nusd": 900, "ended_us": int((NOVEMBER - DAY_S) * 1e6)},
        {**own, "model": "up/m", "cost_nusd": 900, "key": "", "team": ""},
    )
    rows = rows_of(helmdeck("--from", "2024-11-08", "--to", "2024-11-08", "--by", "model", "--csv"))
    assert [(row["model"], row["requests"], row["input_tokens"], row["spent_usd"]) for row in rows] == [
        ("'=cmd()", "1", "9", "0.000000500"), ("up/m", "1", "9", "0.000000300"), ("(not recorded)", "1", "0", "0.000000007"),
    ]  # fmt: skip
    assert "total" in helmdeck("--from", "2024-11-08", "--to", "2024-11-08", "--by", "model")


def rows_by_model(helmdeck):
    rows = rows_of(helmdeck("--from", "2024-11-08", "--to", "2024-11-08", "--by", "model", "--csv"))
    return [
        (row["team"], row["key"].partition("~")[0], row["model"], row["requests"], row["spent_usd"]) for row in rows
    ]


def test_rows_without_a_key_id_count_where_their_names_are_those_of_one_key(helmdeck):
    spend(helmdeck.store, ("a", "search", [(NOVEMBER, 5)]), ("old", "search", [(NOVEMBER, 3)]))
    spend(helmdeck.store, ("old", "search", [(NOVEMBER, 4)]))
    own = {"ended_us": int(NOVEMBER * 1e6), "team": "search", "model": "up/m"}
    record(
        RequestLog.open(helmdeck.log),
        {**own, "key": "a", "cost_nusd": 5},
        {**own, "key": "old", "cost_nusd": 3},
        {**own, "key": "old", "cost_nusd": 4},
        {**own, "key": "gone", "cost_nusd": 9},
    )
    assert rows_by_model(helmdeck) == [
        ("search", "a", "up/m", "1", "0.000000005"),
        ("search", "old", "(not recorded)", "1", "0.000000004"),
        ("search", "old", "(not recorded)", "1", "0.000000003"),
    ]


def test_no_row_is_negative_where_the_log_has_more_than_the_store(helmdeck):
    spend(helmdeck.store, ("a", "search", [(NOVEMBER, 1_000), (NOVEMBER, 1_000)]))
    at_us = int(NOVEMBER * 1e6)
    next_day_us = int((NOVEMBER + DAY_S / 2 + 1) * 1e6)
    own = {"ended_us": at_us, "key": "a", "team": "search"}
    record(
        RequestLog.open(helmdeck.log),
        {**own, "model": "up/m", "cost_nusd": 900},
        {**own, "model": "up/n", "cost_nusd": 1_200},
        {**own, "model": "up/o", "cost_nusd": 7, "ended_us": next_day_us},
    )
    assert rows_by_model(helmdeck) == [
        ("search", "a", "up/m", "1", "0.000000900"),
        ("search", "a", "up/n", "1", "0.000001100"),
    ]


def test_call_counts_for_the_day_on_which_it_began(helmdeck):
    midnight_s = NOVEMBER + DAY_S / 2
    spend(helmdeck.store, ("a", "search", [(midnight_s - 1, 5)]))
    late = {"ended_us": int((midnight_s + 1) * 1e6), "latency_ms": 2_000, "key": "a", "team": "search", "model": "up/m"}
    record(RequestLog.open(helmdeck.log), {**late, "cost_nusd": 5})
    assert rows_by_model(helmdeck) == [("search", "a", "up/m", "1", "0.000000005")]
    assert rows_of(helmdeck("--from", "2024-11-09", "--to", "2024-11-09", "--by", "model", "--csv")) == []


def test_calls_of_a_moved_and_of_a_replaced_key_stay_in_the_bill_that_they_were_in(store_url, helmdeck, tmp_path):
    config = {
        "budgets": {"up/": PRICED},
        "events": {"sinks": ["gateway", "requests"], "options": {"requests": {"url": helmdeck.log}}},
    }
    (tmp_path / "helmdeck.toml").write_text(
        f"[gateway]\nstore = {json.dumps(store_url)}\n[events.options.requests]\nurl = {json.dumps(helmdeck.log)}\n"
    )

    def bills():
        found = [json.loads(helmdeck("--by", view, "--json")) for view in ("team", "key", "model")]
        totals = [(each["total"]["requests"], each["total"]["spent_usd"]) for each in found]
        assert len(set(totals)) == 1, totals
        assert not [row for each in found for row in each["rows"] if row["requests"] < 0 or row["spent_usd"][0] == "-"]
        names = [("team", "requests"), ("team", "key", "requests"), ("team", "key", "model", "requests")]
        return [
            [tuple(row[name] for name in shown) for row in each["rows"]]
            for each, shown in zip(found, names, strict=True)
        ]

    store = open_store(store_url)

    with (
        contextlib.closing(FormatServer(OPENAI_CHAT, ScriptedAnswer(text="hello", **USAGE))) as server,
        asyncio.Runner() as runner,
    ):
        for name in ("search", "ads"):
            runner.run(create_team(store, TeamRecord(name=name, id="")))
        ann = runner.run(create_key(store, KeyRecord(name="ann", id="", digest="", caller="ann", team="search")))
        config["providers"] = {"up": upstream(server)}
        with running_gateway(config=config, store=open_store(store_url)) as gateway:

            def call(secret, count=1):
                gateway.gateway.authoriser._known.clear()  # as after the time for which a key is remembered
                for _ in range(count):
                    headers = {"authorization": f"Bearer {secret}"}
                    sent = gateway.send(
                        "/v1/chat/completions", {"model": "up/m", "messages": MESSAGES}, headers=headers
                    )
                    assert sent.status == 200
                gateway.gateway.deck.sink("requests").flush()

            call(ann.secret, 2)
            before = bills()
            for team in ("ads", "search", "ads"):
                runner.run(edit_key(store, "ann", lambda key, team=team: attrs.evolve(key, team=team)))
                call(ann.secret)
            moved = bills()
            runner.run(revoke_key(store, "ann"))
            again = runner.run(create_key(store, KeyRecord(name="ann", id="", digest="", caller="ann", team="ads")))
            call(again.secret, 5)
            replaced = bills()
        runner.run(store.aclose())
    assert before[0] == [("search", 2)]
    assert moved == [
        [("ads", 2), ("search", 3)],
        [("ads", "ann", 2), ("search", "ann", 3)],
        [("ads", "ann", "up/m", 2), ("search", "ann", "up/m", 3)],
    ]
    old = f"ann~{ann.record.id[-8:]}"
    assert replaced[0] == [("ads", 7), ("search", 3)]
    assert replaced[2] == [("ads", "ann", "up/m", 5), ("ads", old, "up/m", 2), ("search", old, "up/m", 3)]


def test_wrong_spans_are_refused_and_an_empty_one_has_no_rows(helmdeck):
    assert "is later than" in helmdeck("--from", "2024-11-02", "--to", "2024-11-01")
    assert "'9999-12-31' is too late" in helmdeck("--from", "9999-12-01", "--to", "9999-12-31")
    assert "at most ten years" in helmdeck("--from", "1970-01-01", "--to", "2024-11-01")
    assert helmdeck("--from", "2024-11-01", "--to", "2024-11-01", "--csv") == (
        "from,to,team,keys,requests,refused,unpriced,held_usd,spent_usd\n"
    )
