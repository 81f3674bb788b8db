import asyncio
import contextlib
import json
import re
import time
from pathlib import Path

import attrs
import pytest

from helmdeck_cache import CachedDeck
from helmdeck_core import CallTrace, CooldownStarted, FailureClass, ProviderSpec
from helmdeck_storage import open_database
from helmdeck_telemetry import NEWEST, Filters, RequestLog
from helmdeck_telemetry.request_log.facts import COLUMNS, facts_of
from helmdeck_telemetry.request_log.schema import schema_for
from helmdeck_testing import Reply, StubProvider, make_deck, plugin_with, scripted_provider
from tests.case_support import each_case
from tests.databases_support import postgres_schema
from tests.helmdeck_telemetry.observing_support import eventful_deck, eventful_plan

NOW_S = 1_790_000_000.0


def trace(number, *, cause="", model="acme/a", key="", team="", latency_s=1.0, time=None, parent="", **more):
    place = {"attempt": 1}
    outcome = {"number": 1, "model": model, "latency_s": latency_s, "usage": {"input_tokens": 10, "output_tokens": 5}}
    outcome |= {"cost_usd": 0.001} | ({"cause": cause} if cause else {})
    end = {"event": "call_exhausted", "cause": cause} if cause else {"event": "call_finished", "total_s": latency_s}
    events = [
        {"event": "call_started", "at_s": 0.0, "model": model, **place},
        {"event": "request_received", "at_s": 0.0, "key": key, "team": team, **place},
        {"event": "catalog_selected", "at_s": 0.0, "record": {"before_bytes": 900, "after_bytes": 300}, **place},
        {"event": "request_sent", "at_s": 0.0, "model": model, "variant": "v1", **place},
        {"event": "attempt_ended", "at_s": latency_s, "outcome": outcome, **place},
        {"at_s": latency_s, "model": model, "latency_s": latency_s, **end, **place},
    ]
    return CallTrace(
        call_id=f"call-{number:06}", time=NOW_S + number if time is None else time, pack="plan", caller="me", model=model,
        outcome=cause or "answered", events=tuple(events), parent=parent, **more,
    )  # fmt: skip


@pytest.fixture(params=["sqlite", "postgresql"])
def log(request, tmp_path):
    if request.param == "sqlite":
        found = RequestLog.open(f"sqlite:{tmp_path / 'requests.db'}")
        yield found
        found.close()
        return
    with postgres_schema() as (url, _, _):
        found = RequestLog.open(url)
        yield found
        found.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def log_url(request, tmp_path):
    if request.param == "sqlite":
        yield f"sqlite:{tmp_path / 'requests.db'}"
        return
    with postgres_schema() as (url, _, _):
        yield url


def test_log_of_an_earlier_release_stays_readable_and_its_rows_have_no_key_id(log_url):
    now = schema_for(log_url)
    former = attrs.evolve(
        now, version=2, tables=tuple(re.sub(r", key_id [^,)]*", "", each) for each in now.tables), upgrades={}
    )
    before = open_database(log_url, former, default_file=Path("unused"))
    columns = tuple(each for each in COLUMNS if each != "key_id")
    facts = facts_of(trace(1, key="ann", team="search"))[0]
    with before.session() as session:
        values = tuple(getattr(facts, each) for each in columns)
        session.change(f"INSERT INTO requests VALUES ({', '.join('?' * len(columns))})", values)
    before.close()
    with contextlib.closing(RequestLog.open(log_url)) as log:
        assert log.page(Filters()).rows == (facts,)
        log.add([trace(2, key="ann", team="search")])
        [spent] = log.spending(0, 2**62)
        assert (spent.key, spent.key_id, spent.requests) == ("ann", "", 2)


def ids(page):
    return [each.call_id[-3:] for each in page.rows]


def test_pages_do_not_move_when_new_requests_arrive(log):
    log.add([trace(number) for number in range(7)])
    first = log.page(Filters(), size=3)
    log.add([trace(number) for number in range(7, 12)])
    second = log.page(Filters(), first.next, size=3)
    assert (ids(first), ids(second)) == (["006", "005", "004"], ["003", "002", "001"])
    assert log.page(Filters(), log.page(Filters(), second.next, size=3).next or first.next, size=9).next is None


def test_filters_combine_and_a_cause_matches_requests_that_had_it_in_any_attempt(log):
    log.add([trace(n, cause="rate_limited" if n % 2 else "", key=f"k{n % 3}", team=f"t{n % 2}") for n in range(12)])
    assert ids(log.page(Filters(cause="rate_limited", key="k0"))) == ["009", "003"]
    assert ids(log.page(Filters(team="t0", key="k0"))) == ["006", "000"]
    assert ids(log.page(Filters(call_id="call-00001"))) == ["011", "010"]
    assert ids(log.page(Filters(call_id="call-00001", team="t0"))) == ["010"]
    assert ids(log.page(Filters(until_us=int((NOW_S + 3) * 1e6)))) == ["002", "001", "000"]
    assert (log.values("key").values, log.values("cause", "t0").values) == (("k0", "k1", "k2"), ())
    assert log.find("call-000001", "t0") is None


def test_every_filter_applies_beside_an_id(log):
    log.add([trace(n, cause="rate_limited" if n % 2 else "", key=f"k{n % 3}", team=f"t{n % 2}") for n in range(12)])
    log.add([trace(12, model="acme/b")])

    def found(**filters):
        return ids(log.page(Filters(call_id="call-0000", **filters)))

    assert len(found()) == 13
    assert found(key="k0", team="t0") == ["006", "000"]
    assert found(cause="rate_limited", key="k0") == ["009", "003"]
    assert found(outcome="rate_limited", key="k1") == ["007", "001"]
    assert found(model="acme/b") == ["012"]
    assert found(pack="other") == found(variant="v2") == []
    assert found(since_us=int((NOW_S + 5) * 1e6), until_us=int((NOW_S + 7) * 1e6)) == ["006", "005", "004"]
    exported = log.export(Filters(call_id="call-0000", key="k0"), 3)
    assert [each.key for each in exported] == ["k0"] * 3


def test_rows_of_other_teams_do_not_hide_those_of_a_team_with_the_same_start_of_an_id(log):
    log.add([trace(n, team="mine" if n == 99 else "theirs") for n in range(100)])
    assert ids(log.page(Filters(call_id="call-", team="mine"), size=5)) == ["099"]


def test_requests_with_the_same_start_of_an_id_are_on_several_pages_and_all_in_an_export(log, monkeypatch):
    log.add([trace(n, key=f"k{n % 5}") for n in range(40)])
    filters = Filters(call_id="call-", key="k0")
    monkeypatch.setattr("helmdeck_telemetry.request_log.pages.MAX_EXAMINED", 12)
    pages, after = [], NEWEST
    while after is not None:
        page = log.page(filters, after, size=2)
        pages.append(ids(page))
        after = page.next
    assert sorted(each for page in pages for each in page) == [f"{n:03}" for n in range(0, 40, 5)]
    assert len(list(log.export(filters, 100))) == 8


@each_case("name", ["team", "model", "key", "cause", "outcome", "variant", "pack", "call_id"])
def test_filter_may_have_characters_that_databases_refuse(log, name):
    log.add([trace(1)])
    for value in ("\0", "a\0b", "\ud800", "x" * 5_000):
        assert log.page(Filters(**{name: value})).rows == ()
    assert len(log.page(Filters(), (2**62, value)).rows) == 1


def test_a_rare_match_ends_a_page_after_a_bounded_number_of_rows(log, monkeypatch):
    monkeypatch.setattr("helmdeck_telemetry.request_log.pages.MAX_EXAMINED", 5)
    log.add([trace(n, key="k", model="acme/a" if n else "acme/rare") for n in range(9)])
    page = log.page(Filters(key="k", model="acme/rare"))
    assert (page.rows, page.is_partial) == ((), True)
    assert ids(log.page(Filters(key="k", model="acme/rare"), page.next)) == ["000"]


def test_sums_by_the_minute_are_those_of_the_requests(log):
    calls = [
        trace(n, cause="length_truncated" if n < 3 else "", team="t" if n < 4 else "", latency_s=1.0 + n)
        for n in range(20)
    ]
    log.add(calls)
    log.add([*calls[:5], trace(50, parent="call-000001")])  # known ones, and a helper
    figures = log.figures(60, NOW_S - 60)
    assert (figures.requests, figures.usable, figures.cost_nusd, figures.before_bytes) == (20, 17, 21_000_000, 21 * 900)
    assert figures.p50_ms == pytest.approx(10_000, rel=0.1)
    assert figures.p95_ms == pytest.approx(19_000, rel=0.1)
    assert log.figures(3_600, NOW_S, "t").usable == 1
    assert sum(log.attempts_by_cause(60, NOW_S - 60).values()) == 21
    (model,) = log.by_model(900, NOW_S - 900)
    assert (model.attempts, model.usable, dict(model.causes)) == (21, 18, {"length_truncated": 3})
    assert [each.call_id for each in log.helpers("call-000001")] == ["call-000050"]


def test_expired_requests_and_traces_beyond_the_limit_are_deleted(log):
    log.add([trace(n, time=NOW_S - 86_400 * n) for n in range(6)])
    log.purge(keep_days=3.5, keep_traces=2, now_s=NOW_S)
    assert len(log.page(Filters()).rows) == 4
    assert [each.call_id for each in log.newest_traces(9)] == ["call-000000", "call-000001"]
    assert log.figures(3_600, 0).requests == 4


def test_strings_that_databases_refuse_are_recorded(log):
    hostile = trace(1, model="a\0b/\ud800<script>" + "x" * 2_000_000)
    log.add([hostile])
    (row,) = log.page(Filters()).rows
    assert row.model.startswith("a\N{REPLACEMENT CHARACTER}b/?<script>")
    assert len(row.model) == 200
    assert log.trace("call-000001") == hostile


def test_a_sink_records_the_calls_and_cooldowns_of_a_deck(tmp_path):
    options = {"requests": {"url": f"sqlite:{tmp_path / 'requests.db'}"}}
    with eventful_deck("requests", options=options) as deck:
        plan = eventful_plan(deck)
        sink = deck.sink("requests")
        sink.handle(CooldownStarted(provider="acme", seconds=600, cause=FailureClass.RATE_LIMITED, model="acme/a"))
        sink.flush()
        (row,) = sink.log.page(Filters()).rows
        assert (row.call_id, row.outcome, row.model, row.attempts) == (plan.call_id, "answered", "b/two", 4)
        assert row.cost_usd == pytest.approx(plan.cost_usd)
        assert deck.call_trace(plan.call_id).outcome == "answered"
        assert "PLANTED" not in json.dumps(deck.call_trace(plan.call_id).to_dict())
        assert [each.model for each in sink.log.cooldowns()] == ["acme/a"]


def test_texts_are_recorded_only_on_request_with_secrets_masked(tmp_path, monkeypatch):
    monkeypatch.setenv("UP_KEY", "sk-live-4f9a8b7c6d5e4f3a")
    answer = "the key is sk-live-4f9a8b7c6d5e4f3a, " + "ä" * 400
    found = []
    for texts in (False, True):
        options = {"url": f"sqlite:{tmp_path / 'requests.db'}", "texts": texts, "text_bytes": 300}
        config = {"events": {"sinks": ["requests"], "options": {"requests": options}}}
        spec = ProviderSpec(name="up", open=lambda *_: StubProvider(answer), api_key="env:UP_KEY")
        with make_deck(plugin_with(helmdeck_providers=[spec]), model="up/m", config=config) as deck:
            call_id = deck.ask("say sk-live-4f9a8b7c6d5e4f3a").call_id
            deck.sink("requests").flush()
            found.append(deck.sink("requests").log.texts(call_id))
            log = deck.sink("requests").log
            log.purge(1.0, 10, now_s=time.time() + 2 * 86_400)
            assert log.texts(call_id) == ()
    nothing, [recorded] = found
    assert nothing == ()
    assert recorded.request.endswith("[user]\nsay [redacted]")
    assert recorded.answer.startswith("the key is [redacted], ä") and recorded.answer.endswith("… (cut)")
    assert len(recorded.answer.encode()) < 320


def recording(tmp_path, *replies):
    options = {"url": f"sqlite:{tmp_path / 'requests.db'}", "texts": True}
    config = {"events": {"sinks": ["requests"], "options": {"requests": options}}}
    return make_deck(scripted_provider(replies), model="scripted/m", config=config)


def test_texts_of_a_closed_stream_are_recorded_as_far_as_it_arrived(tmp_path):
    with recording(tmp_path, Reply("one two three four five", piece_chars=4)) as deck:
        with contextlib.closing(deck.stream("count")) as stream:
            next(stream)
        deck.sink("requests").flush()
        (row,) = deck.sink("requests").log.page(Filters()).rows
        (texts,) = deck.sink("requests").log.texts(row.call_id)
        assert (row.outcome, texts.request) == ("aborted", "[user]\ncount")
        assert texts.answer and "one two three four five".startswith(texts.answer)


def test_texts_of_an_answer_from_the_cache_are_recorded(tmp_path):
    async def repeat(cached):
        for _ in range(2):
            await cached.acomplete("2 + 2?")

    with recording(tmp_path, "four") as deck:
        asyncio.run(repeat(CachedDeck(deck)))
        deck.sink("requests").flush()
        log = deck.sink("requests").log
        assert [log.texts(row.call_id)[0].answer for row in log.page(Filters()).rows] == ["four", "four"]


def test_a_database_that_cannot_be_used_costs_no_call(tmp_path):
    with eventful_deck("requests", options={"requests": {"url": f"sqlite:{tmp_path}"}}) as deck:
        assert eventful_plan(deck).is_usable
        sink = deck.sink("requests")
    assert sink.dropped >= 1
