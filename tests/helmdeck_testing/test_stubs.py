"""Recorders, contributed values and the stub provider of ``helmdeck_testing``."""

from __future__ import annotations

import importlib
import sys
import types

import pytest

from helmdeck_core import (
    CallFinished,
    CallStarted,
    ChatResponse,
    ConstrainedDeadlock,
    EventSink,
    EventSinkWarning,
    LengthTruncated,
    ProviderSpec,
    RateLimited,
    StopReason,
)
from helmdeck_core.errors import PluginLoadError
from helmdeck_testing import EventRecorder, StubProvider, make_deck, plugin_with, scripted_provider

PLAN = {"steps": [{"tool": "blog.draft", "args": {"brief": "tea"}}]}


def stub_deck(*replies, beside=(), **config):
    stub = StubProvider(*replies)
    spec = ProviderSpec(name="acme", open=lambda settings, context: stub)
    return make_deck(plugin_with(helmdeck_providers=[spec]), *beside, config=config), stub


def test_recorder_keeps_events_in_order_and_finds_them_by_type():
    recorder = EventRecorder()
    with make_deck(recorder, scripted_provider(['{"steps": []}'] * 2), config={"selection": {"filter": False}}) as deck:
        for _ in range(2):
            deck.plan("draft a post", model="scripted/any")
    started, finished = recorder.of(CallStarted), recorder.of(CallFinished)
    assert len(started) == len(finished) == 2
    assert recorder.of(CallStarted, CallFinished) == [started[0], finished[0], started[1], finished[1]]
    assert recorder.events[0] is started[0]


def test_plugin_contributes_the_given_values_and_is_named_in_errors():
    sink = EventSink(name="broken", handle=lambda event: 1 / 0)
    with (
        make_deck(plugin_with("watcher", helmdeck_event_sinks=[sink])) as deck,
        pytest.warns(EventSinkWarning, match="'watcher-1' failed in helmdeck_event_sinks: .* ZeroDivisionError"),
    ):
        deck.plan("draft a blog post")


def test_contribution_to_an_unknown_hook_is_refused():
    with pytest.raises(PluginLoadError, match=r"helmdeck_provider\b.*did you mean 'helmdeck_providers'"):
        make_deck(plugin_with(helmdeck_provider=[]))


def test_stub_repeats_its_last_reply_and_encodes_data_as_json():
    deck, stub = stub_deck("no plan", PLAN, recovery={"max_attempts": 1})
    with deck:
        with pytest.raises(ConstrainedDeadlock):
            deck.plan("draft a post", model="acme/any")
        assert [deck.plan("draft a post", model="acme/any").steps[0].tool for _ in range(2)] == ["blog.draft"] * 2
    assert [request.model for request in stub.requests] == ["acme/any"] * 3


def test_stub_raises_exceptions_and_returns_responses_as_they_are():
    response = ChatResponse(text="half of", stop_reason=StopReason.MAX_TOKENS)
    deck, stub = stub_deck(RateLimited("slow down"), response, recovery={"max_attempts": 1, "cool_down_after": 0})
    with deck:
        with pytest.raises(RateLimited, match="slow down"):
            deck.plan("draft a post", model="acme/any")
        with pytest.raises(LengthTruncated):
            deck.plan("draft a post", model="acme/any")
    assert len(stub.requests) >= 2


def test_installed_plugin_hides_a_module_of_the_same_name_for_one_test(installed_plugin, monkeypatch):
    elsewhere = types.ModuleType("acme_twice")
    monkeypatch.setitem(sys.modules, "acme_twice", elsewhere)
    installed_plugin("acme-dist", {"acme": "acme_twice"}, {"acme_twice": "ANSWER = 42\n"})
    assert importlib.import_module("acme_twice").ANSWER == 42
