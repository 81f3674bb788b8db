"""Call traces: stored in memory or in a file, bounded in number, shown by helmdeck explain --call."""

import json
import sqlite3
import threading

import pytest

from helmdeck_core import CallAborted, CallFailed, CallStarted, PluginError, ToolPayloadRepair, log
from helmdeck_core.cli import main
from helmdeck_telemetry.traces import MAX_TRACE_BYTES, shortened
from helmdeck_testing import Reply, make_deck, scripted_provider
from tests.helmdeck_telemetry.observing_support import GOOD, eventful_deck, eventful_plan, failing_deck, failing_plan

MEMORY = {"traces": {"file": ""}}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "deep" / "traces.db"


def on_file(file, **more):
    return {"traces": {"file": str(file), **more}}


def test_trace_of_a_plan_has_budget_selection_attempts_causes_and_cost():
    with eventful_deck("traces", options=MEMORY) as deck:
        plan = eventful_plan(deck)
        trace = deck.call_trace(plan.call_id)
    assert (trace.model, trace.outcome, trace.pack, trace.caller) == ("a/one", "answered", "helmdeck.plan", "local")
    by_name = {event["event"]: event for event in trace.events}
    assert by_name["request_sent"]["max_catalog_bytes"] == 10_000
    assert by_name["catalog_selected"]["record"]["left_out"] > 0
    assert by_name["call_finished"]["cost_usd"] == plan.cost_usd
    causes = [event["outcome"].get("cause") for event in trace.events if event["event"] == "attempt_ended"]
    assert causes == ["provider_unavailable", "constrained_deadlock", "constrained_deadlock", None]
    times = [event["at_s"] for event in trace.events]
    assert times == sorted(times)


def test_failure_carries_the_call_id_of_its_trace():
    with failing_deck("traces", options=MEMORY) as deck:
        failure = failing_plan(deck)
        trace = deck.call_trace(failure.call_id)
    assert trace.outcome == "auth_failed" and failure.to_dict()["call_id"] == trace.call_id


def test_only_the_most_recent_traces_are_kept_newest_first(file):
    for options in ({"traces": {"file": "", "keep": 3}}, on_file(file, keep=3)):
        replies = [Reply(GOOD)] * 5
        config = {"events": {"sinks": ["traces"], "options": options}, "selection": {"filter": False}}
        with make_deck(scripted_provider(replies, "a"), config=config) as deck:
            ids = [deck.plan("draft a blog post", model="a/one").call_id for _ in range(5)]
            assert [trace.call_id for trace in deck.traces()] == ids[:1:-1]
            assert len(deck.traces(1)) == 1 and deck.call_trace(ids[0]) is None


def test_another_deck_reads_traces_from_the_same_file(file):
    with eventful_deck("traces", options=on_file(file)) as deck:
        kept = deck.call_trace(eventful_plan(deck).call_id)
    with make_deck(config={"events": {"sinks": ["traces"], "options": on_file(file)}}) as other:
        assert other.call_trace(kept.call_id).to_dict() == kept.to_dict()


def test_file_contains_no_prompt_answer_or_key(file):
    with eventful_deck("traces", options=on_file(file)) as deck:
        eventful_plan(deck)
    content = b"".join(path.read_bytes() for path in file.parent.iterdir())
    assert b"call_finished" in content and b"PLANTED" not in content


def test_unwritable_file_drops_the_trace_and_the_call_succeeds(tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    config = {"log_level": "WARNING"}
    try:
        with eventful_deck("traces", options=on_file(tmp_path / "file" / "traces.db"), config=config) as deck:
            assert eventful_plan(deck).steps
    finally:
        log.disable()
    assert "the trace of a call could not be stored" in capsys.readouterr().err


def test_locked_file_does_not_delay_calls(file, monkeypatch):
    import helmdeck_telemetry.traces as module

    monkeypatch.setattr(module, "BUSY_TIMEOUT_S", 0.01)
    replies = [Reply(GOOD)] * 4
    config = {"events": {"sinks": ["traces"], "options": on_file(file)}, "selection": {"filter": False}}
    with make_deck(scripted_provider(replies, "a"), config=config) as deck:
        deck.plan("draft a blog post", model="a/one")
        connection = sqlite3.connect(file, isolation_level=None)
        connection.execute("BEGIN EXCLUSIVE")
        assert all(deck.plan("draft a blog post", model="a/one").steps for _ in range(3))
        connection.execute("ROLLBACK")
        connection.close()
        assert len(deck.traces()) == 1


def test_threads_share_one_file(file):
    replies = [Reply(GOOD)] * 40
    config = {"events": {"sinks": ["traces"], "options": on_file(file)}, "selection": {"filter": False}}
    with make_deck(scripted_provider(replies, "a"), config=config) as deck:
        threads = [
            threading.Thread(target=lambda: [deck.plan("draft a blog post", model="a/one") for _ in range(10)])
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({trace.call_id for trace in deck.traces(100)}) == 40


def test_closed_or_deleted_file_is_reopened(file):
    replies = [Reply(GOOD)] * 3
    config = {"events": {"sinks": ["traces"], "options": on_file(file)}, "selection": {"filter": False}}
    with make_deck(scripted_provider(replies, "a"), config=config) as deck:
        deck.plan("draft a blog post", model="a/one")
        deck.close()
        deck.close()
        deck.plan("draft a blog post", model="a/one")
        assert len(deck.traces()) == 2
        for path in file.parent.iterdir():
            path.unlink()
        deck.plan("draft a blog post", model="a/one")
        assert len(deck.traces()) == 1


def test_model_id_with_lone_surrogate_is_traced(file):
    with failing_deck("traces", options=on_file(file)) as deck:
        with pytest.raises(CallFailed) as caught:
            deck.plan("draft a blog post", model="unknown/\ud800")
        assert deck.call_trace(caught.value.call_id).model == "unknown/\ud800"


def test_file_that_is_not_a_database_is_an_error_that_names_the_plugin(file):
    file.parent.mkdir()
    file.write_text("this is not a database, and it is long enough to be taken for one" * 20)
    with make_deck(config={"events": {"sinks": ["traces"], "options": on_file(file)}}) as deck:
        assert deck.plan("draft a blog post").steps
        with pytest.raises(PluginError, match="'traces' failed .* not a database"):
            deck.traces()


def test_without_the_sink_no_traces_are_stored():
    with make_deck() as deck:
        deck.plan("draft a blog post")
        assert not deck.stores_traces and deck.traces() == () and deck.call_trace("x") is None


# -- the command line ------------------------------------------------------------------------------------------


@pytest.fixture
def helmdeck(file, tmp_path, monkeypatch, capsys):
    def run(*words):
        code = main(list(words))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HELMDECK_PLUGIN_AUTOLOAD", "false")
    (tmp_path / "helmdeck.toml").write_text(
        f'[events]\nsinks = ["traces"]\n[events.options.traces]\nfile = "{file.as_posix()}"\n'
    )
    return run


def test_explain_shows_the_trace_of_a_plan_by_call_id(helmdeck):
    code, out, _ = helmdeck("plan", "draft a blog post", "--json")
    call_id = json.loads(out)["call_id"]
    code, out, _ = helmdeck("explain", "--call", call_id)
    assert code == 0 and call_id in out
    for part in ("local/lexical", "catalog_selected", "request_sent", "window", "answered"):
        assert part in out
    assert helmdeck("explain", "--call", "last") == (0, out, "")
    assert json.loads(helmdeck("explain", "--call", call_id, "--json")[1])["outcome"] == "answered"


def test_unknown_call_id_is_an_error_that_lists_stored_calls(helmdeck):
    assert "none is stored yet" in helmdeck("explain", "--call", "last")[2]
    call_id = json.loads(helmdeck("plan", "draft a blog post", "--json")[1])["call_id"]
    code, _, err = helmdeck("explain", "--call", "0123")
    assert code == 2 and "no trace of call '0123' is stored" in err and call_id in err


def test_call_option_together_with_a_request_is_an_error(helmdeck):
    assert helmdeck("explain", "--call", "last", "draft a post")[0] == 2


def test_error_without_stored_traces_says_how_to_enable_them(helmdeck, tmp_path, monkeypatch):
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "helmdeck.toml").write_text("")
    code, _, err = helmdeck("explain", "--call", "last")
    assert code == 2 and 'sinks = ["traces"]' in err
    assert not (tmp_path / "data").exists(), "reading creates no file"


def test_failed_call_shows_its_id(helmdeck):
    _, _, err = helmdeck("plan", "draft a blog post", "--model", "unknown/here")
    (line,) = [line for line in err.splitlines() if line.startswith("call id ")]
    code, out, _ = helmdeck("explain", "--call", line.split()[2])
    assert code == 0 and "invalid_request" in out


def test_trace_of_an_eventful_call_is_readable(helmdeck, file):
    with eventful_deck("traces", options=on_file(file)) as deck:
        eventful_plan(deck)
    out = " ".join(helmdeck("explain", "--call", "last")[1].split())
    for part in (
        "answered by b/two", "4 attempts", "US dollars; caching saved", "provider_unavailable", "then next model b/two",
        "continuation_attempt", "reasoning_stripped", "lexical.top_n",
    ):  # fmt: skip
        assert part in out
    assert "PLANTED" not in out


def test_trace_is_bounded_in_bytes_whatever_callers_and_servers_send(file):
    long = "m" * 1_000_000
    events = [{"at_s": 0.0, "event": "x", long: long, "items": [long] * 1_000, "nested": {"deep": {"text": long}}}]
    (event,) = shortened(events)
    assert len(json.dumps(event)) < 150_000
    assert event["items"][-1] == "… 901 more"
    with make_deck(scripted_provider([Reply(GOOD)], "a"), config={"events": {"sinks": ["traces"], "options": on_file(file)}}) as deck:  # fmt: skip
        sink = deck.sink("traces")
        place = {"call_id": "c", "pack": long, "caller": long, "model": long}
        sink.handle(CallStarted(**place, parent=""))
        for number in range(2_000):
            repair = {"parse_issue": long, "repair_attempts": number, "is_successful": False}
            sink.handle(ToolPayloadRepair(**place, **repair))
        sink.handle(CallAborted(**place, error=long, latency_s=1.0))
        trace = deck.call_trace("c")
    assert trace.outcome == "aborted"
    assert (trace.events[0]["event"], trace.events[-1]["event"]) == ("call_started", "call_aborted")
    assert len(json.dumps(trace.to_dict())) < MAX_TRACE_BYTES + 10_000
