"""The ladder and third-party steps: invariants, faults, overrides."""

import json

import pytest

from helmdeck_core import Catalog, InvariantRestored, PluginError, TrimStep, hookimpl
from helmdeck_core.context.ladder import PreparedCatalog
from helmdeck_core.hooks.calls import Contribution
from helmdeck_testing import make_deck
from tests.case_support import each_case

PIPELINE = {
    "id": "p",
    "name": "The P",
    "description": "One. Two.",
    "metadata": {"supersedes": ["a"], "other": [1, 2, 3]},
}
CATALOG = Catalog.from_data({"packs": [{"name": "a", "description": "Aaa. Bbb."}], "pipelines": [PIPELINE]}, "test")


def climb(trim, report=None):
    return PreparedCatalog(CATALOG, [Contribution("acme", TrimStep(name="acme.slim", trim=trim))], report)


def test_step_that_drops_dispatch_fields_is_corrected_and_reported():
    events = []
    guide = climb(lambda entry, data: {}, events.append)
    kept = json.loads(guide.whole(1))
    assert kept == {
        "packs": [{"name": "a"}],
        "pipelines": [{"id": "p", "name": "The P", "metadata": {"supersedes": ["a"]}}],
    }
    assert guide.rung(1).labels == (
        "acme.slim",
        "invariant_restored(acme.slim:name)",
        "invariant_restored(acme.slim:id)",
        "invariant_restored(acme.slim:metadata.supersedes)",
    )
    assert {(e.plugin, e.step, e.field) for e in events if isinstance(e, InvariantRestored)} == {
        ("acme", "acme.slim", "name"),
        ("acme", "acme.slim", "id"),
        ("acme", "acme.slim", "metadata.supersedes"),
    }


def test_a_step_that_rewrites_the_dispatch_graph_is_corrected_too():
    def rewrite(entry, data):
        return {**data, "name": "evil", "id": "evil", "metadata": {"supersedes": ["everything"]}}

    kept = json.loads(climb(rewrite).whole(1))
    assert kept["packs"][0]["name"] == "a"
    assert kept["pipelines"][0]["id"] == "p" and kept["pipelines"][0]["metadata"]["supersedes"] == ["a"]


def test_a_step_that_adds_to_the_dispatch_graph_is_corrected_too():
    def add(entry, data):
        return {"name": data.get("name", ""), "metadata": {"supersedes": ["a"]}}

    guide = climb(add)
    assert (
        "metadata" not in json.loads(guide.whole(1))["packs"][0]
        or json.loads(guide.whole(1))["packs"][0]["metadata"] == {}
    )
    assert "invariant_restored(acme.slim:metadata.supersedes)" in guide.rung(1).labels


def test_step_that_mutates_its_input_does_not_change_the_catalog():
    def vandal(entry, data):
        data.clear()
        for value in (entry.data, entry.data.get("metadata", {})):
            value.clear()
        return data

    before = CATALOG.encode()
    guide = climb(vandal)
    guide.rung(1)
    assert CATALOG.encode() == before
    assert json.loads(guide.whole(1))["pipelines"][0]["metadata"] == {"supersedes": ["a"]}


def test_step_that_enlarges_entries_is_ignored():
    guide = climb(lambda entry, data: {**data, "padding": "x" * 100})
    assert guide.whole(1) == guide.whole(0) and guide.rung(1).labels == ()


@each_case("result", [None, 3, "text", ["list"], {"description": {"a", "set"}}, {"description": ["a", "list"]}])
def test_error_of_a_step_with_an_invalid_result_names_it(result):
    with pytest.raises(PluginError, match=r"plugin 'acme'.*acme.slim.*--disable-plugin acme"):
        climb(lambda entry, data: result).rung(1)


def test_error_of_a_raising_step_names_it_and_the_entry():
    with pytest.raises(PluginError, match=r"plugin 'acme'.*'acme.slim' on 'a'.*ZeroDivisionError"):
        climb(lambda entry, data: 1 / 0).rung(1)


class Slim:
    """A third party's step."""

    @hookimpl
    def helmdeck_trim_steps(self):
        def trim(entry, data):
            return {key: value for key, value in data.items() if key != "description"}

        return [TrimStep(name="acme.no_descriptions", trim=trim, order=1)]


def names(deck, model):
    return [step.value.name for step in deck.runtime.ladder(deck.budget(model).budget.tier, model)]


def test_third_party_step_is_placed_by_its_order(deck_with):
    assert names(deck_with(Slim()), "x/y")[:2] == ["acme.no_descriptions", "pack.intent_keywords[]"]


def test_a_deployment_reorders_the_ladder_for_one_tier_only(deck_with):
    order = ["description.firstSentence", "pack.intent_keywords[]"]
    deck = deck_with(config={"compaction": {"tiers": {"C": {"order": order}}}})
    assert names(deck, "openrouter/openrouter/free") == order
    assert names(deck, "openrouter/mistralai/x")[0] == "pack.intent_keywords[]"
    selection = deck.select("anything", model="openrouter/openrouter/free")
    assert selection.record.dropped[-2:] == ("lexical.top_n", "lexical.low_confidence")


def test_model_ladder_rule_overrides_its_tier(deck_with):
    rules = {
        "drop": ["pack.limitations[]"],
        "tiers": {"C": {"drop": ["pack.typical_use"]}},
        "models": {"openrouter/openrouter/": {"order": ["pack.limitations[]"]}},
    }
    deck = deck_with(config={"compaction": rules})
    assert "pack.limitations[]" not in names(deck, "openrouter/mistralai/x")
    assert "pack.typical_use" not in names(deck, "unknown/knows") and "pack.limitations[]" in names(
        deck, "unknown/knows"
    )
    assert names(deck, "openrouter/openrouter/free") == ["pack.limitations[]"]


def test_prepared_catalogs_are_made_once_per_ladder():
    deck = make_deck()
    engine = deck._engine.library
    c, b = (deck.budget(model).budget for model in ("x/y", "openrouter/mistralai/x"))
    assert engine.prepared(c) is engine.prepared(b)
