"""Whatever a plugin raises is an error that names the plugin; an interrupt, and the cancellation of the call, pass."""

from __future__ import annotations

import asyncio

import pytest

from helmdeck_core import (
    Budget,
    BudgetRow,
    Catalog,
    CatalogSource,
    EventSink,
    EventSinkWarning,
    Pack,
    PackError,
    PluginError,
    ProviderSpec,
    Ranker,
    hookimpl,
)
from helmdeck_testing import Reply, StubProvider, make_deck, scripted_provider
from tests.adapters_support import request


class Odd(BaseException):
    """Not an Exception."""


class Mute(Exception):
    """An exception whose message cannot be read."""

    def __str__(self):
        raise ValueError


FAULTS = [Odd("x"), MemoryError(), RecursionError("deep"), SystemExit(3), StopIteration(), Mute()]


def raising(fault):
    def fail(*_, **__):
        raise fault

    return fail


class Contributing:
    """A plugin with one contribution."""

    def __init__(self, hook, value):
        def contribute():
            return [value]

        setattr(self, hook, hookimpl(contribute))


def provider_fails(fault):
    with make_deck(scripted_provider([raising(fault)], "bad")) as deck:
        deck.complete(request("bad/any"))


def stream_fails(fault):
    with make_deck(scripted_provider([raising(fault)], "bad")) as deck:
        list(deck.stream(request("bad/any")))


def ranker_fails(fault):
    ranker = Ranker(name="bad", index=raising(fault))
    config = {"selection": {"ranker": "bad"}}
    with make_deck(Contributing("helmdeck_rankers", ranker), config=config) as deck:
        deck.rank("draft a post")


def source_fails(fault):
    source = CatalogSource(name="bad", load=raising(fault))
    with make_deck(Contributing("helmdeck_catalog_sources", source), config={"catalog": {"sources": ["bad"]}}) as deck:
        assert isinstance(deck.catalog, Catalog)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
@pytest.mark.parametrize("run", [provider_fails, stream_fails, ranker_fails, source_fails])
def test_a_fault_of_a_plugin_names_the_plugin(run, fault):
    with pytest.raises(PluginError, match=rf"plugin '[\w-]+'.* failed in helmdeck_\w+: .*{type(fault).__name__}"):
        run(fault)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_a_fault_of_a_pack_names_the_pack(fault):
    async def run(context, value):
        raise fault

    pack = Pack(name="acme.bad", version="1", description="Fails.", run=run)
    kind = "RuntimeError" if isinstance(fault, StopIteration) else type(fault).__name__
    with (
        make_deck(Contributing("helmdeck_packs", pack)) as deck,
        pytest.raises(PackError, match=f"acme.bad.*{kind}"),
    ):
        deck.run("acme.bad", {})


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_a_fault_of_a_sink_is_a_warning_and_changes_no_call(fault):
    sink = EventSink(name="bad", handle=raising(fault))
    with (
        make_deck(Contributing("helmdeck_event_sinks", sink), scripted_provider([Reply("hello")], "p")) as deck,
        pytest.warns(EventSinkWarning, match=f"EventSink .* raised {type(fault).__name__}"),
    ):
        assert deck.complete(request("p/any")).text == "hello"


@pytest.mark.parametrize("run", [provider_fails, stream_fails, ranker_fails, source_fails])
def test_an_interrupt_passes_through_every_plugin(run):
    with pytest.raises(KeyboardInterrupt):
        run(KeyboardInterrupt())


def test_cancellation_passes_through_a_provider():
    async def run():
        async with make_deck(scripted_provider([Reply("hello", delay_s=60)], "p")) as deck:
            task = asyncio.create_task(deck.acomplete(request("p/any")))
            for _ in range(20):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            return task.cancelled()

    assert asyncio.run(run())


def test_a_provider_that_is_cancelled_within_a_call_is_a_fault_of_its_plugin():
    with pytest.raises(PluginError, match=r"failed in helmdeck_providers: provider 'bad' raised CancelledError"):
        provider_fails(asyncio.CancelledError())


def test_a_provider_that_does_not_close_ends_with_an_error(virtual_time):
    class Open(StubProvider):
        async def aclose(self):
            await asyncio.Event().wait()

    async def run():
        async with make_deck(Contributing("helmdeck_providers", spec)) as deck:
            await deck.acomplete(request("open/any"))

    spec = ProviderSpec(name="open", open=lambda *_: Open(Reply("hello")))
    with pytest.raises(PluginError, match="provider 'open' cannot be closed: TimeoutError: it takes longer than 5 s"):
        asyncio.run(run())


def test_a_wrong_field_of_a_nested_value_is_named():
    row = BudgetRow(prefix="bad/", budget=Budget(model="", tier="Z"))
    with pytest.raises(PluginError, match=r"BudgetRow 'bad/': budget\.tier is 'Z', not Tier"):
        make_deck(Contributing("helmdeck_budget_rows", row))
