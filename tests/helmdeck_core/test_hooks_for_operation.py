"""Hooks for commands, histories, runs, events and secrets, each used as a third party would use it."""

import asyncio

import attrs
import pytest

from helmdeck_cache import CachedDeck
from helmdeck_core import (
    CallFailed,
    ChatRequest,
    Command,
    ConfigError,
    ConsoleScreen,
    EventSink,
    GatewayApp,
    Guard,
    GuardSpec,
    History,
    HistorySpec,
    HistoryStoreSpec,
    InvalidRequest,
    Learned,
    Message,
    PluginError,
    ProviderSpec,
    ResponseCacheSpec,
    Role,
    RunEngineSpec,
    RunProgram,
    ScreenPage,
    SecretPattern,
    TextPart,
)
from helmdeck_guards import Guards, GuardSender
from tests.helmdeck_core.hooks_support import FREE, GOOD, contributing


def test_helmdeck_history_stores_keep_records_under_their_scheme(answering):
    kept = []

    class Memory:
        def __init__(self, target, keep_days):
            kept.append((target, keep_days))

        def add(self, record):
            kept.append(record)

        def plans(self, caller, limit=100):
            return tuple(kept[1:])

    plugin = contributing("helmdeck_history_stores", HistoryStoreSpec(name="memory", open=Memory))
    config = {"history": {"url": "memory:anywhere", "keep_days": 7}}
    deck, _ = answering(GOOD, beside=(plugin,), config=config)
    deck.plan("draft a post", model=FREE)
    assert kept[0] == ("anywhere", 7.0)
    assert [record.model for record in deck.history.records()] == [FREE]


def test_helmdeck_histories_with_the_lowest_order_record_the_plans(answering):
    class Recording(History):
        is_enabled = True

        def __init__(self, setup):
            self.setup, self.records, self.is_closed = setup, [], False

        def learned(self, caller, request):
            return Learned({}, {"tone": "expert"})

        def remember(self, record, request="", arguments=()):
            self.records.append((record.outcome, request))

        def close(self):
            self.is_closed = True

    plugin = contributing("helmdeck_histories", HistorySpec(name="acme", open=Recording, order=-1))
    deck, provider = answering(GOOD, beside=(plugin,))
    with deck:
        deck.plan("draft a post", model=FREE)
        assert deck.history.records == [("planned", "draft a post")]
        assert "expert" in provider.requests[-1].messages[-1].text
        assert not deck.history.setup.is_enabled, "no store is configured"
    assert deck.history.is_closed


@pytest.mark.parametrize("opened", [lambda setup: 1 / 0, lambda setup: object()])
def test_helmdeck_histories_that_cannot_be_opened_name_their_plugin(deck_with, opened):
    with pytest.raises(PluginError, match=r"plugin 'acme-1'.*HistorySpec 'learning'"):
        deck_with(contributing("helmdeck_histories", HistorySpec(name="learning", open=opened)))


def test_deck_works_without_any_history(answering):
    deck, _ = answering(GOOD, config={"plugins": {"disable": ["history"]}})
    assert deck.plan("draft a post", model=FREE).steps
    assert not deck.history.is_enabled


def test_helmdeck_run_engines_execute_runs_and_are_chosen_by_name(deck_with):
    opened = []

    class Engine:
        def __init__(self, **fields):
            opened.append(fields)

        def close(self):
            opened.append("closed")

    plugin = contributing("helmdeck_run_engines", RunEngineSpec(name="acme", open=Engine))
    with deck_with(plugin, config={"runs": {"engine": "acme", "url": "acme://runs"}}) as deck:
        assert isinstance(deck.runs, Engine)
        assert deck.runs is deck.runs
        assert (opened[0]["url"], opened[0]["config"].keep_days) == ("acme://runs", 30.0)
        assert "pipeline" in opened[0]["programs"]
    assert opened[1:] == ["closed"]
    with pytest.raises(ConfigError, match=r"unknown run engine.*'acm'"):
        deck_with(plugin, config={"runs": {"engine": "acm"}})


def test_helmdeck_run_programs_execute_runs_of_their_kind(deck_with):
    from helmdeck_runs import Run, runs_of

    async def program(run, steps, context):
        async def greet(name):
            return f"hello {name}"

        return await steps.run("greet", greet, run.inputs["name"])

    plugin = contributing("helmdeck_run_programs", RunProgram(name="acme", run=program))
    with deck_with(plugin) as deck:
        record = asyncio.run(runs_of(deck).execute(Run(kind="acme", name="greeting", inputs={"name": "Ada"})))
        assert record.output == "hello Ada"


def test_helmdeck_secret_patterns_redact_keys_that_no_deployment_knows(chat_server, deck_with):
    server = chat_server(
        lambda body: (400, {}, {"error": {"message": "key acme:0123-4567 and AIzaSyabcdef012345 are revoked"}})
    )
    config = {"providers": {"vllm": {"base_url": server.base_url}}}
    plugin = contributing("helmdeck_secret_patterns", SecretPattern(name="acme", pattern=r"\bacme:[\d-]{6,}"))
    messages = (Message(Role.USER, (TextPart("go"),)),)
    for deck, detail in (
        (deck_with(plugin, config=config), "key [redacted] and [redacted] are revoked"),
        (deck_with(config=config), "key acme:0123-4567 and [redacted] are revoked"),
    ):
        with pytest.raises(CallFailed) as caught:
            deck.complete(ChatRequest(model="vllm/any", messages=messages))
        assert caught.value.detail == detail


def test_helmdeck_gateway_apps_and_their_faults_are_known_by_plugin(answering):
    def fail(_):
        raise OSError("no port")

    apps = [GatewayApp(name="acme", path="/acme", open=fail)]
    deck, _ = answering(GOOD, beside=(contributing("helmdeck_gateway_apps", *apps),))
    [owned] = [each for each in deck.runtime.contributions.of(GatewayApp) if each.value.name == "acme"]
    with pytest.raises(PluginError, match="no port"), owned.faults():
        owned.value.open(None)


def test_helmdeck_console_screens_are_listed_in_their_order(answering):
    screens = [
        ConsoleScreen(name=name, title=name, read=lambda _: ScreenPage(), order=order)
        for name, order in (("late", 5), ("early", 1))
    ]
    deck, _ = answering(GOOD, beside=(contributing("helmdeck_console_screens", *screens),))
    assert [each.name for each in deck.runtime.contributions.values_of(ConsoleScreen)] == ["early", "late"]


def test_keys_in_failures_of_any_provider_are_redacted(deck_with):
    class Careless:
        async def complete(self, request):
            raise InvalidRequest("wrong", detail="the key sk-abcdef012345 is revoked")

        async def aclose(self):
            pass

    deck = deck_with(contributing("helmdeck_providers", ProviderSpec(name="careless", open=lambda s, c: Careless())))
    with pytest.raises(InvalidRequest) as caught:
        deck.complete(ChatRequest(model="careless/any", messages=(Message(Role.USER, (TextPart("go"),)),)))
    assert caught.value.detail == "the key [redacted] is revoked"


def test_helmdeck_commands_are_collected(deck_with):
    command = Command(name="brew", summary="brews", configure=lambda parser: None, run=lambda arguments: 0)
    deck = deck_with(contributing("helmdeck_commands", command))
    owners = {owned.value.name: owned.plugin for owned in deck.runtime.contributions["helmdeck_commands"]}
    assert owners.keys() > {"brew", "plan", "config show"}
    assert owners["plan"] == "command_plan" != owners["brew"]


@pytest.mark.parametrize("is_active", [True, False])
def test_helmdeck_event_sinks_get_events_only_while_they_are_active(answering, is_active):
    events = []
    sink = EventSink(name="acme", handle=events.append, is_active=lambda: is_active)
    deck, _ = answering(GOOD, beside=(contributing("helmdeck_event_sinks", sink),))
    deck.plan("draft a post", model=FREE)
    assert bool(events) is is_active


def test_helmdeck_guards_open_with_the_options_of_their_table(deck_with):
    opened = []

    def open_guard(options, _):
        opened.append(options.most)
        return Guard(max_chars=options.most)

    plugin = contributing("helmdeck_guards", GuardSpec(name="short", options=ShortOptions, open=open_guard))
    deck = deck_with(plugin, config={"guards": {"brief": {"kind": "short", "options": {"most": 3}}}})
    session = Guards(deck).session(GuardSender(), "any/model")
    assert session is not None
    assert opened == [3]


@attrs.frozen(kw_only=True)
class ShortOptions:
    """The options of a contributed guard."""

    most: int = 1


def test_helmdeck_response_caches_are_searched_in_the_order_of_the_settings(answering):
    class Cache:
        def __init__(self, setup):
            self.answers, self.limit = {}, setup.options.limit

        async def find(self, query):
            return self.answers.get((query.tenant, query.text))

        async def keep(self, query, answer):
            self.answers[query.tenant, query.text] = answer

    @attrs.frozen
    class Options:
        limit: int = 3

    opened = []
    spec = ResponseCacheSpec(
        name="acme", open=lambda setup: opened.append(Cache(setup)) or opened[-1], options_type=Options
    )
    config = {"cache": {"caches": ["acme"], "options": {"acme": {"limit": 7}}}}
    deck, script = answering("once", beside=(contributing("helmdeck_response_caches", spec),), config=config)
    cached = CachedDeck(deck)
    texts = [asyncio.run(cached.acomplete("q", cache="t", model=FREE)).text for _ in range(2)]
    assert (texts, opened[0].limit, len(script.requests)) == (["once", "once"], 7, 1)
