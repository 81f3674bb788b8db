"""Stories of calls: kept in memory or in a file, bounded, told by helmdeck explain --run."""

import json
import sqlite3
import threading

import pytest

from helmdeck_core import CallFailed, PluginError, log
from helmdeck_core.cli import main
from helmdeck_testing import Reply, make_deck, scripted_provider
from tests.plugins.observing_support import GOOD, eventful_deck, eventful_plan, failing_deck, failing_plan

MEMORY = {"runs": {"file": ""}}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "deep" / "runs.db"


def on_file(file, **more):
    return {"runs": {"file": str(file), **more}}


def test_the_story_of_a_plan_has_its_budget_selection_attempts_causes_and_cost():
    with eventful_deck("runs", options=MEMORY) as deck:
        plan = eventful_plan(deck)
        story = deck.call_trace(plan.call_id)
    assert (story.model, story.outcome, story.pack, story.caller) == ("a/one", "answered", "helmdeck.plan", "local")
    by_name = {event["event"]: event for event in story.events}
    assert by_name["request_sent"]["max_catalog_bytes"] == 10_000
    assert by_name["catalog_selected"]["record"]["left_out"] > 0
    assert by_name["call_finished"]["cost_usd"] == plan.cost_usd
    causes = [event["outcome"].get("cause") for event in story.events if event["event"] == "attempt_ended"]
    assert causes == ["provider_unavailable", "constrained_deadlock", "constrained_deadlock", None]
    times = [event["at_s"] for event in story.events]
    assert times == sorted(times)


def test_a_failure_carries_the_id_of_its_story():
    with failing_deck("runs", options=MEMORY) as deck:
        failure = failing_plan(deck)
        story = deck.call_trace(failure.call_id)
    assert story.outcome == "auth_failed" and failure.to_dict()["call_id"] == story.call_id


def test_the_last_ones_are_kept_and_the_newest_comes_first(file):
    for options in ({"runs": {"file": "", "keep": 3}}, on_file(file, keep=3)):
        replies = [Reply(GOOD)] * 5
        config = {"events": {"sinks": ["runs"], "options": options}, "selection": {"filter": False}}
        with make_deck(scripted_provider(replies, "a"), config=config) as deck:
            ids = [deck.plan("draft a blog post", model="a/one").call_id for _ in range(5)]
            assert [story.call_id for story in deck.runs()] == ids[:1:-1]
            assert len(deck.runs(1)) == 1 and deck.call_trace(ids[0]) is None


def test_another_process_reads_what_this_one_kept(file):
    with eventful_deck("runs", options=on_file(file)) as deck:
        kept = deck.call_trace(eventful_plan(deck).call_id)
    with make_deck(config={"events": {"sinks": ["runs"], "options": on_file(file)}}) as other:
        assert other.call_trace(kept.call_id).to_dict() == kept.to_dict()


def test_no_planted_word_is_in_the_file(file):
    with eventful_deck("runs", options=on_file(file)) as deck:
        eventful_plan(deck)
    content = b"".join(path.read_bytes() for path in file.parent.iterdir())
    assert b"call_finished" in content and b"PLANTED" not in content


def test_a_file_that_cannot_be_written_costs_the_story_and_not_the_call(tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    config = {"log_level": "WARNING"}
    try:
        with eventful_deck("runs", options=on_file(tmp_path / "file" / "runs.db"), config=config) as deck:
            assert eventful_plan(deck).steps
    finally:
        log.disable()
    assert "the story of a call could not be kept" in capsys.readouterr().err


def test_a_locked_file_does_not_hold_calls_up(file, monkeypatch):
    import helmdeck_plugins.runs as module

    monkeypatch.setattr(module, "BUSY_TIMEOUT_S", 0.01)
    replies = [Reply(GOOD)] * 4
    config = {"events": {"sinks": ["runs"], "options": on_file(file)}, "selection": {"filter": False}}
    with make_deck(scripted_provider(replies, "a"), config=config) as deck:
        deck.plan("draft a blog post", model="a/one")
        connection = sqlite3.connect(file, isolation_level=None)
        connection.execute("BEGIN EXCLUSIVE")
        assert all(deck.plan("draft a blog post", model="a/one").steps for _ in range(3))
        connection.execute("ROLLBACK")
        connection.close()
        assert len(deck.runs()) == 1


def test_threads_share_a_file(file):
    replies = [Reply(GOOD)] * 40
    config = {"events": {"sinks": ["runs"], "options": on_file(file)}, "selection": {"filter": False}}
    with make_deck(scripted_provider(replies, "a"), config=config) as deck:
        threads = [
            threading.Thread(target=lambda: [deck.plan("draft a blog post", model="a/one") for _ in range(10)])
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({story.call_id for story in deck.runs(100)}) == 40


def test_a_file_that_is_closed_or_deleted_is_opened_again(file):
    replies = [Reply(GOOD)] * 3
    config = {"events": {"sinks": ["runs"], "options": on_file(file)}, "selection": {"filter": False}}
    with make_deck(scripted_provider(replies, "a"), config=config) as deck:
        deck.plan("draft a blog post", model="a/one")
        deck.close()
        deck.close()
        deck.plan("draft a blog post", model="a/one")
        assert len(deck.runs()) == 2
        for path in file.parent.iterdir():
            path.unlink()
        deck.plan("draft a blog post", model="a/one")
        assert len(deck.runs()) == 1


def test_a_model_id_that_is_no_sound_text_has_a_story_too(file):
    with failing_deck("runs", options=on_file(file)) as deck:
        with pytest.raises(CallFailed) as caught:
            deck.plan("draft a blog post", model="nobody/\ud800")
        assert deck.call_trace(caught.value.call_id).model == "nobody/\ud800"


def test_a_file_that_is_no_store_names_the_plugin(file):
    file.parent.mkdir()
    file.write_text("this is not a database, and it is long enough to be taken for one" * 20)
    with make_deck(config={"events": {"sinks": ["runs"], "options": on_file(file)}}) as deck:
        assert deck.plan("draft a blog post").steps
        with pytest.raises(PluginError, match="'runs' failed .* not a database"):
            deck.runs()


def test_without_the_sink_there_are_no_stories():
    with make_deck() as deck:
        deck.plan("draft a blog post")
        assert not deck.stores_traces and deck.runs() == () and deck.call_trace("x") is None


# -- the command line ------------------------------------------------------------------------------------------


@pytest.fixture
def helmdeck(file, tmp_path, monkeypatch, capsys):
    def run(*words):
        code = main(list(words))
        said = capsys.readouterr()
        return code, said.out, said.err

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HELMDECK_PLUGIN_AUTOLOAD", "false")
    (tmp_path / "helmdeck.toml").write_text(
        f'[events]\nsinks = ["runs"]\n[events.options.runs]\nfile = "{file.as_posix()}"\n'
    )
    return run


def test_a_plan_names_the_call_and_explain_tells_its_story(helmdeck):
    code, out, _ = helmdeck("plan", "draft a blog post", "--json")
    call_id = json.loads(out)["call_id"]
    code, out, _ = helmdeck("explain", "--run", call_id)
    assert code == 0 and call_id in out
    for part in ("local/lexical", "catalog_selected", "request_sent", "window", "answered"):
        assert part in out
    assert helmdeck("explain", "--run", "last") == (0, out, "")
    assert json.loads(helmdeck("explain", "--run", call_id, "--json")[1])["outcome"] == "answered"


def test_a_story_that_is_not_kept_is_an_error_that_lists_those_that_are(helmdeck):
    assert "none is kept yet" in helmdeck("explain", "--run", "last")[2]
    call_id = json.loads(helmdeck("plan", "draft a blog post", "--json")[1])["call_id"]
    code, _, err = helmdeck("explain", "--run", "0123")
    assert code == 2 and "no call '0123' is kept" in err and call_id in err


def test_a_run_beside_a_request_is_refused(helmdeck):
    assert helmdeck("explain", "--run", "last", "draft a post")[0] == 2


def test_without_stories_the_error_says_how_to_keep_them(helmdeck, tmp_path):
    (tmp_path / "helmdeck.toml").write_text("")
    code, _, err = helmdeck("explain", "--run", "last")
    assert code == 2 and 'sinks = ["runs"]' in err


def test_a_failed_call_shows_its_id(helmdeck):
    _, _, err = helmdeck("plan", "draft a blog post", "--model", "nobody/here")
    (line,) = [line for line in err.splitlines() if line.startswith("run ")]
    code, out, _ = helmdeck("explain", "--run", line.split()[1])
    assert code == 0 and "invalid_request" in out


def test_the_story_of_an_eventful_call_for_people(helmdeck, file):
    with eventful_deck("runs", options=on_file(file)) as deck:
        eventful_plan(deck)
    out = " ".join(helmdeck("explain", "--run", "last")[1].split())
    for part in (
        "answered by b/two", "4 attempts", "US dollars; the cache saved", "provider_unavailable", "then next model b/two",
        "continuation_attempt", "reasoning_stripped", "lexical.top_n",
    ):  # fmt: skip
        assert part in out
    assert "PLANTED" not in out
