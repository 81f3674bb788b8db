"""Sources that are opened: entries that change, requests under way, entries that are run, and failures."""

import asyncio
import threading

import pytest

from helmdeck_core import (
    CallLimits,
    Catalog,
    CatalogSource,
    CatalogSourceFailed,
    Config,
    ConfigError,
    Mistake,
    Pack,
    PackError,
    PackErrorCode,
)
from helmdeck_testing import EventRecorder, make_deck, plugin_with


def catalog_of(*names, schema=None):
    return Catalog.from_data({"packs": [{"name": n, "input_schema": schema or {}} for n in names]}, "acme")


class Source:
    """An open source under the control of a test."""

    def __init__(self, names=("acme.one",), fail=None, schema=None):
        self.names, self.fail, self.schema = names, fail, schema
        self.settings, self.runs, self.closed, self.loads = None, [], 0, 0

    def open(self, settings):
        self.settings = settings
        return self

    def load(self):
        self.loads += 1
        if self.fail is not None:
            raise self.fail
        self.thread = threading.current_thread()
        return catalog_of(*self.names, schema=self.schema)

    async def run(self, entry_id, arguments, context):
        self.runs.append((entry_id, dict(arguments)))
        context.progress(f"running for {context.caller}")
        return {"id": entry_id, **arguments}

    def close(self):
        self.closed += 1


def deck_of(source, *plugins, sources=("acme",), packs=()):
    specs = [CatalogSource(name="acme", open=lambda settings: source.open(settings))]
    plugin = plugin_with(helmdeck_catalog_sources=specs, helmdeck_packs=packs)
    return make_deck(plugin, *plugins, catalog_sources=sources)


def test_a_source_is_opened_at_the_first_use_of_the_catalog_and_closed_with_the_deck():
    source = Source()
    with deck_of(source) as deck:
        assert source.settings is None
        assert [entry.id for entry in deck.catalog.entries] == ["acme.one"]
        assert deck.open_sources == {"acme": source}
    assert source.closed == 1


def test_a_changed_source_replaces_the_catalog_as_a_whole():
    source = Source()
    with deck_of(source) as deck:
        before, version = deck.prepared(), deck.catalog.version
        source.settings.change(catalog_of("acme.two", "acme.three"))
        assert [entry.id for entry in deck.catalog.entries] == ["acme.two", "acme.three"]
        assert deck.catalog.version != version
        assert deck.prepared() is not before
        assert deck.rank("three").scores[0].id == "acme.three"


def test_a_request_under_way_keeps_the_catalog_that_it_started_with():
    source, seen = Source(), []

    async def run(context, _):
        seen.append([entry.id for entry in context.catalog.entries])
        source.settings.change(catalog_of("acme.two"))
        seen.append([entry.id for entry in context.catalog.entries])
        return {}

    with deck_of(source, packs=[Pack(name="acme.watch", version="1", description="Watch.", run=run)]) as deck:
        deck.run("acme.watch", {})
        assert seen == [["acme.one"], ["acme.one"]]
        assert [entry.id for entry in deck.catalog.entries] == ["acme.two"]


def test_a_plan_loads_slow_sources_outside_of_the_event_loop():
    source = Source(names=("acme.weather",))
    with deck_of(source) as deck:
        plan = asyncio.run(deck.aplan("show the weather"))
    assert [step.tool for step in plan.steps] == ["acme.weather"]
    assert source.thread is not threading.main_thread()


def test_entries_of_an_opened_source_never_replace_others():
    source = Source(names=("helmdeck.plan", "acme.one"))
    pack = Pack(name="acme.one", version="1", description="The pack.", run=lambda *_: None)
    with deck_of(source, sources=("acme", "packs"), packs=[pack]) as deck:
        assert deck.catalog.get("acme.one").description == "The pack."
        assert deck.catalog.get("helmdeck.plan").source == "acme"


def test_a_source_that_fails_costs_its_entries_and_an_event():
    source, recorder = Source(fail=OSError("no route to host")), EventRecorder()
    with deck_of(source, recorder, sources=("acme", "packs")) as deck:
        assert deck.catalog.get("helmdeck.plan") is None
        assert [(event.source, event.detail) for event in recorder.of(CatalogSourceFailed)] == [
            ("acme", "OSError: no route to host")
        ]
        source.settings.change(catalog_of("acme.late"))
        assert deck.catalog.get("acme.late") is not None, "entries that arrive late are added"


def test_mistakes_of_the_options_are_raised():
    def open_badly(settings):
        raise ConfigError((Mistake(f"catalog.{settings.name}", "no command"),))

    source = Source()
    source.open = open_badly
    with deck_of(source) as deck, pytest.raises(ConfigError, match=r"catalog\.acme: no command"):
        _ = deck.catalog


# -- running ---------------------------------------------------------------------------------------------------


def test_an_entry_is_run_by_its_source():
    source, progress = Source(), []
    with deck_of(source) as deck:
        output = deck.run("acme.one", {"city": "Oslo"}, caller="ada", progress=progress.append)
    assert output == {"id": "acme.one", "city": "Oslo"}
    assert progress == ["running for ada"]


def test_arguments_are_checked_against_the_schema_of_the_entry():
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    source = Source(schema=schema)
    with deck_of(source) as deck, pytest.raises(PackError, match="city") as failed:
        deck.run("acme.one", {"city": 7})
    assert failed.value.code is PackErrorCode.INVALID_INPUT
    assert not source.runs


def test_the_deadline_cancels_the_run():
    source, cancelled = Source(), threading.Event()

    async def wait(*_):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    source.run = wait
    with deck_of(source) as deck, pytest.raises(PackError) as failed:
        deck.run("acme.one", {}, limits=CallLimits(deadline_s=-1))
    assert failed.value.code is PackErrorCode.TIMEOUT


def test_an_output_that_is_too_large_is_a_failure():
    source = Source()

    async def flood(*_):
        return {"text": "x" * 16_000_001}

    source.run = flood
    with deck_of(source) as deck, pytest.raises(PackError, match="of at most 16,000,000") as failed:
        deck.run("acme.one", {})
    assert failed.value.code is PackErrorCode.INVALID_OUTPUT


def test_an_unknown_entry_is_answered_with_the_nearest():
    with (
        deck_of(Source(names=("acme.weather",))) as deck,
        pytest.raises(PackError, match="did you mean 'acme.weather'"),
    ):
        deck.run("acme.wether", {})


def test_an_entry_whose_source_runs_nothing_is_left_to_the_application():
    with make_deck(catalog_sources=["example"]) as deck, pytest.raises(PackError, match="the application runs it"):
        deck.run("web.crawl", {})


def test_the_sources_default_to_packs_where_servers_are_configured():
    assert Config().catalog.sources == ("example", "packs")
