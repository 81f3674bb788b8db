"""Plugins: which are loaded, in which order, and how a broken one is reported."""

import os
import re
import sys
from types import ModuleType

import attrs
import pytest

from helmdeck_core import (
    Budget,
    BudgetRow,
    ChatResponse,
    ConfigError,
    DecodeStep,
    Pack,
    PluginConflictError,
    PluginError,
    PluginLoadError,
    PromptVariant,
    ReasoningTag,
    StopReason,
    StopReasonTable,
    Tier,
    TrimStep,
    hookimpl,
)
from helmdeck_core.domain.texts import TEXTS
from helmdeck_core.hooks import builtins
from helmdeck_core.hooks.calls import implementations
from helmdeck_core.hooks.contributions import collect_all
from helmdeck_core.hooks.manager import Plugins, load_plugins
from helmdeck_core.resolve.checks import checked
from helmdeck_testing import make_deck
from helmdeck_testing.deck_factory import write_distribution


def row(prefix="acme/", evidence="ours"):
    return BudgetRow(prefix=prefix, budget=Budget(model="", tier=Tier.B, evidence=evidence))


class Acme:
    def __init__(self, evidence="ours"):
        self.evidence = evidence

    @hookimpl
    def helmdeck_budget_rows(self):
        return [row(evidence=self.evidence)]


GOOD = """
from helmdeck_core import Budget, BudgetRow, hookimpl

@hookimpl
def helmdeck_budget_rows():
    return [BudgetRow(prefix="acme/", budget=Budget(model="", evidence=__name__))]
"""


def loaded_names(**options):
    return [info.name for info in load_plugins(**options).infos if not info.is_blocked]


def test_built_ins_come_first_and_installed_plugins_by_name(installed_plugin):
    installed_plugin(
        "zeta-dist", {"zeta": "zeta_plugin", "alpha": "alpha_plugin"}, {"zeta_plugin": GOOD, "alpha_plugin": ""}
    )
    names = loaded_names()
    assert names[0] == "reasoning"
    assert [name for name in names if name in ("alpha", "zeta")] == ["alpha", "zeta"]
    assert names.index("alpha") > names.index("log")


def test_an_installed_plugin_is_listed_with_its_distribution_and_hooks(installed_plugin):
    installed_plugin("acme-dist", {"acme": "acme_plugin"}, {"acme_plugin": GOOD}, version="2.5")
    info = next(info for info in load_plugins().infos if info.name == "acme")
    assert (info.source, info.target, info.distribution) == ("entry point", "acme_plugin", "acme-dist 2.5")
    assert info.hooks == ("helmdeck_budget_rows",)


@pytest.mark.parametrize("kind", ["object", "module"])
def test_implementation_of_another_name_is_listed_under_its_hook(kind):
    @hookimpl(specname="helmdeck_budget_rows")
    def rows(*_):
        return [row()]

    plugin = ModuleType("rows")
    plugin.rows = rows
    if kind == "object":
        plugin = type("Rows", (), {"rows": rows})()
    assert load_plugins(extra={"acme": plugin}, autoload=False).infos[-1].hooks == ("helmdeck_budget_rows",)


def test_blocking_leaves_a_plugin_out_and_lists_it_as_blocked(deck_with):
    deck = deck_with(config={"plugins": {"disable": ["log"]}})
    assert [info.name for info in deck.runtime.plugins.infos if info.is_blocked] == ["log"]
    assert "log" not in {owned.plugin for owned in deck.runtime.contributions["helmdeck_event_sinks"]}


def test_the_environment_blocks_plugins_and_switches_autoload_off(deck_with):
    deck = deck_with(environ={"HELMDECK_DISABLE_PLUGINS": "log, route", "HELMDECK_PLUGIN_AUTOLOAD": "0"})
    assert [info.name for info in deck.runtime.plugins.infos if info.is_blocked] == ["route", "log"]


def test_blocking_a_plugin_that_does_not_exist_names_what_exists():
    for autoload in (True, False):
        with pytest.raises(
            ConfigError, match=r"plugins\.disable: unknown plugin .*'lexcial'; allowed: lexical, .*and \d+ more"
        ):
            make_deck(config={"plugins": {"disable": ["lexcial"]}}, autoload=autoload)


def test_plugin_that_is_installed_while_the_process_runs_is_found(installed_plugin):
    folder = installed_plugin("first-dist", {"first": "first_plugin"}, {"first_plugin": GOOD})
    os.utime(folder, (0, 0))
    assert "second" not in load_plugins().names()
    write_distribution(folder, "second-dist", {"second": "second_plugin"}, {})
    assert "second" in load_plugins(disable=["second"]).names()


def test_without_autoload_entry_points_are_not_looked_at(installed_plugin):
    installed_plugin("broken-dist", {"broken": "module_that_is_not_there"}, {})
    assert "broken" not in loaded_names(autoload=False)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (None, "ModuleNotFoundError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("1/0", "ZeroDivisionError"),
        ("def helmdeck_budget_rows(): return []", "not marked with @hookimpl"),
        (
            "from helmdeck_core import hookimpl\n@hookimpl\ndef helmdeck_budget_row(): return []",
            "there is no hook helmdeck_budget_row .did you mean 'helmdeck_budget_rows'",
        ),
        ("from helmdeck_core import hookimpl\n@hookimpl\ndef helmdeck_packs(nonsense): return []", "nonsense"),
    ],
)
def test_a_plugin_that_cannot_load_is_named_with_distribution_target_and_remedy(installed_plugin, source, words):
    modules = {"broken_plugin": source} if source is not None else {}
    installed_plugin("broken-dist", {"broken": "broken_plugin"}, modules, version="0.3")
    with pytest.raises(PluginLoadError, match=words) as caught:
        load_plugins(required=["broken"])
    text = str(caught.value)
    assert "'broken'" in text and "broken-dist 0.3" in text and "broken_plugin" in text
    assert "--disable-plugin broken" in text and "HELMDECK_DISABLE_PLUGINS=broken" in text
    assert "broken" not in loaded_names(disable=["broken"])


def test_two_distributions_that_claim_one_plugin_name_are_an_error(installed_plugin):
    installed_plugin("one-dist", {"same": "one_plugin"}, {"one_plugin": ""})
    installed_plugin("two-dist", {"same": "two_plugin"}, {"two_plugin": ""})
    with pytest.raises(PluginConflictError, match="one-dist 1.0.*two-dist 1.0|two-dist 1.0.*one-dist 1.0"):
        load_plugins(required=["same"])


def test_an_installed_plugin_may_not_take_a_built_ins_plugin_name(installed_plugin):
    installed_plugin("thief-dist", {"budgets": "thief_plugin"}, {"thief_plugin": ""})
    with pytest.raises(PluginConflictError, match="budgets"):
        load_plugins(required=["budgets"])


def test_a_contribution_replaces_a_built_ins_of_the_same_name_and_the_listing_shows_it(deck_with):
    class Mine:
        @hookimpl
        def helmdeck_budget_rows(self):
            return [row("openai/gpt-4o", "measured here")]

    deck = deck_with(Mine())
    assert deck.budget("openai/gpt-4o").budget.evidence == "measured here"
    owned = next(o for o in deck.runtime.contributions["helmdeck_budget_rows"] if o.value.name == "openai/gpt-4o")
    assert (owned.plugin, owned.replaced) == ("mine-1", "budgets")


def test_two_third_parties_that_contribute_one_name_are_an_error_that_names_both():
    with pytest.raises(PluginConflictError, match=r"'acme-2' and 'acme-1' both claim BudgetRow 'acme/'"):
        make_deck(Acme("one"), Acme("two"))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "NoneType, not a sequence of BudgetRow"),
        ("text", "str, not a sequence"),
        ([1], "a int among the BudgetRows"),
        ([row(), row()], "contributes 'acme/' twice"),
    ],
)
def test_a_contribution_of_the_wrong_type_is_named(answer, words):
    class Wrong:
        @hookimpl
        def helmdeck_budget_rows(self):
            return answer

    with pytest.raises(PluginError, match=f"plugin 'wrong-1' failed in helmdeck_budget_rows.*{words}"):
        make_deck(Wrong())


def test_a_contribution_that_raises_is_named_with_its_distribution(installed_plugin):
    source = "from helmdeck_core import hookimpl\n@hookimpl\ndef helmdeck_packs():\n    raise KeyError('x')"
    installed_plugin("acme-dist", {"acme": "acme_plugin"}, {"acme_plugin": source})
    with pytest.raises(PluginError, match=r"'acme' \(distribution acme-dist 1.0\).*helmdeck_packs: KeyError"):
        make_deck(autoload=True, config={"plugins": {"required": ["acme"]}})


def test_a_look_up_that_raises_names_the_guilty_plugin_and_not_the_others(deck_with):
    class Guilty:
        @hookimpl
        def helmdeck_model_budget(self, model_id):
            raise ValueError(model_id)

    deck = deck_with(Guilty())
    with pytest.raises(PluginError, match="'guilty-1' failed in helmdeck_model_budget: ValueError: x/y"):
        deck.budget("x/y")


def test_the_plugin_that_was_loaded_last_answers_a_look_up_first(deck_with):
    class Late:
        @hookimpl
        def helmdeck_model_budget(self, model_id):
            return Budget(model=model_id, evidence="late") if model_id.startswith("late/") else None

    deck = deck_with(Late())
    assert deck.budget("late/x").budget.evidence == "late"
    assert deck.budget("late/x").sources["tier"] == "lookup of plugin 'late-1'"
    assert deck.budget("openai/gpt-4o").row == "openai/gpt-4o"


def test_a_wrapper_adjusts_whatever_was_answered(deck_with):
    class Halve:
        @hookimpl(wrapper=True)
        def helmdeck_model_budget(self):
            import attrs

            budget = yield
            return attrs.evolve(budget, input_tokens=budget.input_tokens // 2)

    assert deck_with(Halve()).budget("unknown/knows").budget.input_tokens == 8_000


def test_a_contribution_refuses_wrappers():
    class Wrapper:
        @hookimpl(wrapper=True)
        def helmdeck_budget_rows(self):
            return (yield)

    with pytest.raises(PluginError, match="cannot be wrapped"):
        make_deck(Wrapper())


def test_configuration_sets_the_order_of_look_ups(installed_plugin):
    template = """
from helmdeck_core import Budget, hookimpl

@hookimpl
def helmdeck_model_budget(model_id):
    return Budget(model=model_id, evidence=__name__)
"""
    installed_plugin(
        "both-dist", {"aaa": "aaa_plugin", "bbb": "bbb_plugin"}, {"aaa_plugin": template, "bbb_plugin": template}
    )
    assert make_deck(autoload=True).budget("x/y").budget.evidence == "bbb_plugin"
    deck = make_deck(autoload=True, config={"plugins": {"first": ["aaa", "bbb"]}})
    assert deck.budget("x/y").budget.evidence == "aaa_plugin"


@pytest.mark.parametrize(
    ("hook", "value", "words"),
    [
        ("helmdeck_trim_steps", TrimStep(name="x", trim=None), "TrimStep 'x': trim is None, not a function"),
        ("helmdeck_trim_steps", TrimStep(name=3, trim=len), "name is 3, not str"),
        ("helmdeck_trim_steps", TrimStep(name="x", trim=len, order="first"), "order is 'first', not int"),
        ("helmdeck_trim_steps", TrimStep(name="x", trim=len, order=True), "order is True, not int"),
        ("helmdeck_reasoning_tags", ReasoningTag(name="x", open="<x>", close="</x>"), "close is '</x>', not tuple"),
        ("helmdeck_budget_rows", BudgetRow(prefix="x", budget=None), "budget is None, not Budget"),
        (
            "helmdeck_budget_rows",
            BudgetRow(prefix="x", budget=Budget(model="", tier="A")),
            "budget.tier is 'A', not Tier",
        ),
        ("helmdeck_stop_reasons", StopReasonTable(name="x", reasons={3: "stop"}), "reasons is"),
    ],
)
def test_a_value_with_a_field_of_the_wrong_type_is_named_at_start_up(hook, value, words):
    implementation = lambda self: [value]  # noqa: E731
    implementation.__name__ = hook
    plugin = type("Slip", (), {hook: hookimpl(implementation)})()
    with pytest.raises(PluginError, match=re.escape(words)):
        make_deck(plugin)


@pytest.mark.parametrize("name", ["no spaces allowed!", "", "a.b\n", "a\x00b"])
def test_pack_with_a_name_that_cannot_be_called_is_named_at_start_up(name):
    class Packs:
        @hookimpl
        def helmdeck_packs(self):
            return [Pack(name=name, version="1", description="Works.", run=lambda *_: {})]

    with pytest.raises(PluginError, match=re.escape(f"the name {name!r} is empty, or has whitespace")):
        make_deck(Packs())


def test_built_ins_contribute_what_is_required_of_other_plugins():
    """Checking their values for every deck would take a quarter of its construction."""
    built_in = load_plugins(autoload=False)
    found = collect_all(Plugins(built_in.pm, tuple(attrs.evolve(info, source="argument") for info in built_in.infos)))
    assert checked(found, dict.fromkeys(TEXTS, ""))


def test_decks_share_no_plugin_that_one_of_them_adds_or_leaves_out():
    before = load_plugins(autoload=False)
    assert "acme" in [info.name for info in load_plugins(autoload=False, extra={"acme": Acme()}).infos]
    before.pm.unregister(name="history")
    after = load_plugins(autoload=False)
    assert after.pm.has_plugin("history")
    assert not after.pm.has_plugin("acme")
    assert "history" in implementations(after, "helmdeck_packs")
    assert "acme" not in implementations(after, "helmdeck_budget_rows")
    assert "history" not in implementations(before, "helmdeck_packs")
    assert "history" not in implementations(load_plugins(autoload=False, disable=["history"]), "helmdeck_packs")


@pytest.mark.parametrize("render", [lambda task: 1 / 0, lambda task: None])
def test_a_prompt_that_cannot_be_rendered_names_its_plugin(deck_with, render):
    class Poet:
        @hookimpl
        def helmdeck_prompt_variants(self):
            return [PromptVariant(task="plan", variant="full_steps", instructions="x", render=render)]

    with pytest.raises(
        PluginError, match="'poet-1' failed in helmdeck_prompt_variants: PromptVariant 'plan.full_steps' r"
    ):
        deck_with(Poet()).plan("draft a post")


@pytest.mark.parametrize(
    "candidates", [lambda text: 1 / 0, lambda text: [7], lambda text: iter([None]), lambda text: None]
)
def test_a_decode_step_that_fails_names_its_plugin(deck_with, candidates):
    class Clumsy:
        @hookimpl
        def helmdeck_decode_steps(self):
            return [DecodeStep(name="clumsy", candidates=candidates, order=-1)]

    deck = deck_with(Clumsy())
    assert deck.decode('{"a": 1}', dict).value == {"a": 1}, "a clean answer needs no step"
    with pytest.raises(PluginError, match="'clumsy-1' failed in helmdeck_decode_steps: DecodeStep 'clumsy' raised"):
        deck.decode("{'a': 1}", dict)


@pytest.mark.parametrize(
    "response",
    [
        None,
        "text",
        ChatResponse(text=None, stop_reason=StopReason.END_TURN),
        ChatResponse(text="{}", stop_reason="stop"),
    ],
)
def test_a_provider_that_answers_with_something_else_is_named(answering, response):
    deck, provider = answering("{}")

    async def complete(request):
        return response

    provider.complete = complete
    with pytest.raises(PluginError, match="'answering-1'.*not a ChatResponse"):
        deck.plan("draft a post", model="fake/x")


def test_a_package_that_is_not_installed_is_left_out(monkeypatch):
    monkeypatch.setattr(builtins, "CAPABILITIES", ("helmdeck_absent", "helmdeck_cli"))
    assert "command_plan" in builtins.builtin_commands.__wrapped__()


def test_a_package_whose_table_cannot_be_imported_is_an_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "helmdeck_gateway.plugin", None)
    with pytest.raises(ModuleNotFoundError, match=r"helmdeck_gateway\.plugin"):
        builtins.builtin_commands.__wrapped__()
