"""``helmdeck usage export``: the spend of a span of days, exact, from the store and the request log."""

import asyncio
import csv
import io
import json

import pytest

from helmdeck_core.cli import main
from helmdeck_gateway import KeyRecord, Node, Open, create_key, open_store, revoke_key
from helmdeck_telemetry import RequestLog
from helmdeck_telemetry.request_log.facts import COLUMNS, RequestFacts

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
            facts = RequestFacts(call_id=str(number), latency_ms=1, outcome="answered", requested="m", **fields)
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


def test_wrong_spans_are_refused_and_an_empty_one_has_no_rows(helmdeck):
    assert "is later than" in helmdeck("--from", "2024-11-02", "--to", "2024-11-01")
    assert "at most ten years" in helmdeck("--from", "1970-01-01", "--to", "2024-11-01")
    assert helmdeck("--from", "2024-11-01", "--to", "2024-11-01", "--csv") == (
        "from,to,team,keys,requests,refused,unpriced,held_usd,spent_usd\n"
    )
