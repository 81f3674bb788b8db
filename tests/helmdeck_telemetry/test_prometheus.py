"""Metrics: what is counted, under which names, with how many labels."""

import contextlib
import shutil
import subprocess
import sys
import threading

import pytest
from prometheus_client.parser import text_string_to_metric_families

from helmdeck_core import CallFailed, ChatRequest, ConfigError, Message, Role, TextPart
from helmdeck_testing import Reply, make_deck, scripted_provider
from tests.helmdeck_telemetry.observing_support import GOOD, eventful_deck, eventful_plan, failing_deck, failing_plan


def asking(model):
    return ChatRequest(model=model, messages=(Message(Role.USER, (TextPart("hello"),)),))


def samples(deck):
    text = deck.sink("prometheus").render().decode()
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.fixture
def counted():
    with eventful_deck("prometheus") as deck:
        eventful_plan(deck)
        return samples(deck)


def test_attempts_are_counted_by_provider_model_and_cause(counted):
    assert counted["helmdeck_attempts_total", "a", "a/one", "provider_unavailable"] == 1
    assert counted["helmdeck_attempts_total", "a", "a/one", "constrained_deadlock"] == 2
    assert counted["helmdeck_attempts_total", "b", "b/two", "none"] == 1


def test_call_is_counted_once_by_answering_and_requested_model(counted):
    assert counted["helmdeck_calls_total", "answered", "b", "b/two", "helmdeck.plan"] == 1
    assert counted["helmdeck_fallbacks_total", "a", "a/one"] == 1
    assert counted["helmdeck_call_duration_seconds_count", "answered", "helmdeck.plan"] == 1


def test_tokens_and_cost_are_summed_over_attempts(counted):
    assert counted["helmdeck_tokens_total", "a", "a/one", "input"] == 2_000
    assert counted["helmdeck_tokens_total", "b", "b/two", "cached_input"] == 800
    assert counted["helmdeck_tokens_total", "b", "b/two", "output"] == 1_000
    assert counted["helmdeck_cost_usd_total", "b", "b/two"] == pytest.approx(0.0108)
    assert counted["helmdeck_cache_savings_usd_total", "b", "b/two"] == pytest.approx(0.0012)


def test_continuations_are_counted_and_timed(counted):
    assert counted["helmdeck_continuations_total", "b", "b/two"] == 1
    assert counted["helmdeck_continuations_per_turn_sum", "b", "b/two"] == 1
    assert counted["helmdeck_continued_turns_total", "b", "b/two", "completed"] == 1
    assert counted["helmdeck_continued_turn_duration_seconds_count", "b", "b/two"] == 1
    assert not any(name == "helmdeck_truncation_exits_total" for name, *_ in counted)


def test_uncontinued_truncation_is_a_truncation_exit():
    provider = scripted_provider([Reply("a long answer that", stop_reason="length")] * 2, "a")
    config = {"events": {"sinks": ["prometheus"]}, "agent": {"continuation_max_attempts": 0}}
    with make_deck(provider, config=config) as deck:
        deck.complete(asking("a/one"))
        exits = {key: value for key, value in samples(deck).items() if key[0] == "helmdeck_truncation_exits_total"}
    assert sum(exits.values()) == 1 and all(key[1:3] == ("a", "a/one") for key in exits)


def test_catalogs_stop_reasons_and_reasoning_are_counted(counted):
    assert counted["helmdeck_catalog_full_bytes_count", "C"] >= 2
    assert counted["helmdeck_catalog_sent_bytes_sum", "C"] < counted["helmdeck_catalog_full_bytes_sum", "C"]
    assert counted["helmdeck_stop_reasons_total", "MaxTokens", "b", "b/two"] == 1
    assert counted["helmdeck_unknown_stop_reasons_total", "a", "a/one"] == 1
    assert counted["helmdeck_reasoning_stripped_characters_total", "b", "b/two"] > 10


def test_failed_call_is_counted_by_cause():
    with failing_deck("prometheus") as deck:
        failing_plan(deck)
        assert samples(deck)["helmdeck_calls_total", "a", "a/one", "auth_failed", "helmdeck.plan"] == 1


def test_promtool_reports_no_problems():
    if shutil.which("promtool") is None:
        pytest.skip("promtool, which comes with Prometheus, is not installed")
    with eventful_deck("prometheus") as deck:
        eventful_plan(deck)
        page = deck.sink("prometheus").render()
    done = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_model_labels_are_bounded():
    config = {"events": {"sinks": ["prometheus"], "options": {"prometheus": {"max_models": 3}}}}
    with make_deck(scripted_provider([Reply("fine")] * 10, "a"), config=config) as deck:
        for model in ("a/\ud800", "a/" + "x" * 5_000, "unknown/here", *(f"a/{number}" for number in range(6))):
            with contextlib.suppress(CallFailed):
                deck.complete(asking(model))
        counted = {key: value for key, value in samples(deck).items() if key[0] == "helmdeck_attempts_total"}
    assert {word for key in counted for word in key if word.startswith("a/")} == {"a/0", "a/1", "a/2"}
    assert counted["helmdeck_attempts_total", "none", "other", "other"] == 3
    assert counted["helmdeck_attempts_total", "invalid_request", "other", "other"] == 3, "ids that are not valid, too"


def test_each_deck_has_its_own_registry():
    with eventful_deck("prometheus") as one, eventful_deck("prometheus") as other:
        eventful_plan(one)
        assert ("helmdeck_history_failures_total",) in samples(other)
        assert not any(name == "helmdeck_calls_total" for name, *_ in samples(other))


def test_missing_library_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(ConfigError, match=r"pip install 'helmdeck\[prometheus\]'"):
        eventful_deck("prometheus")


def test_unknown_sink_or_option_is_a_mistake_with_suggestions():
    with pytest.raises(ConfigError) as caught:
        make_deck(config={"events": {"sinks": ["promtheus"], "options": {"prometheus": {"max_model": 3}}}})
    first, second = caught.value.mistakes
    assert "did you mean 'prometheus'?" in first.problem and "traces" in first.allowed
    assert "did you mean 'max_models'?" in second.problem


def test_always_active_sink_cannot_be_enabled():
    with pytest.raises(ConfigError, match="not a sink that can be enabled"):
        make_deck(config={"events": {"sinks": ["log"]}})


def test_disabled_sink_is_not_created():
    with make_deck() as deck:
        assert deck.sink("prometheus") is None and deck.runtime.sinks == ()


def test_concurrent_threads_are_counted():
    replies = [Reply(GOOD)] * 40
    with make_deck(scripted_provider(replies, "a"), config={"events": {"sinks": ["prometheus"]}}) as deck:
        threads = [
            threading.Thread(target=lambda: [deck.plan("draft a blog post", model="a/one") for _ in range(10)])
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert samples(deck)["helmdeck_calls_total", "a", "a/one", "answered", "helmdeck.plan"] == 40
