"""Decks of the suite share registrations, and have the same plugins and hooks as decks that register everything."""

from __future__ import annotations

from helmdeck_core.hooks import manager
from helmdeck_providers import stop_reasons
from helmdeck_testing import StubProvider, make_deck
from tests import registration_support


def registered(deck):
    plugins = deck.runtime.plugins
    hooks = {
        name: [(impl.plugin_name, impl.function) for impl in caller.get_hookimpls()]
        for name, caller in vars(plugins.pm.hook).items()
    }
    return plugins.infos, hooks, plugins.pm.list_name_plugin()


def test_shared_registrations_equal_fresh_ones(monkeypatch):
    extra = StubProvider("x")
    shared = registered(make_deck(extra))
    monkeypatch.setattr(manager, "_register", registration_support._register)
    monkeypatch.setattr(manager._PluginManager, "add_hookspecs", registration_support._specify)
    assert registered(make_deck(extra)) == shared


def test_hook_that_a_test_replaces_is_registered(monkeypatch):
    name = next(name for name in vars(stop_reasons) if name.startswith("helmdeck_"))

    def replaced():
        return []

    make_deck()
    replaced.helmdeck_impl = getattr(vars(stop_reasons)[name], "helmdeck_impl")
    monkeypatch.setattr(stop_reasons, name, replaced)
    _, hooks, _ = registered(make_deck())
    assert replaced in [function for _, function in hooks[name]]
    monkeypatch.undo()
    _, hooks, _ = registered(make_deck())
    assert replaced not in [function for _, function in hooks[name]]


def test_plugins_of_one_deck_are_not_in_the_next():
    make_deck(StubProvider("x"))
    assert registered(make_deck())[0] == tuple(info for info in registered(make_deck())[0] if info.source == "built-in")
