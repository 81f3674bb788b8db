"""An installed plugin that cannot be used is left out with a warning that names it; everything else works."""

import os
import threading

import pytest

from helmdeck_core import PluginConflictError, PluginLoadError, __version__
from helmdeck_core.hooks.foreign_code import PluginWarning, run_foreign
from helmdeck_core.hooks.manager import load_plugins
from helmdeck_testing import make_deck
from tests.cli_support import Cli, leave_the_machine

HEAD = "from helmdeck_core import Budget, BudgetRow, Tier, hookimpl\n"
ROWS = f"""{HEAD}
@hookimpl
def helmdeck_budget_rows():
    return [BudgetRow(prefix="openai/gpt-4o", budget=Budget(model="", tier=Tier.B, evidence="acme"))]
"""


def in_a_hook(line):
    return f"{ROWS}\n@hookimpl\ndef helmdeck_packs():\n    {line}"


BROKEN = {
    "an error": "1/0",
    "an exit": "raise SystemExit(0)",
    "no message": "class Mute(Exception):\n    def __str__(self): raise ValueError\nraise Mute",
    "an unknown hook": f"{HEAD}@hookimpl\ndef helmdeck_no_such(): return []",
    "an error of a hook": in_a_hook("raise KeyError('x')"),
    "an exit of a hook": in_a_hook("raise SystemExit(0)"),
    "a wrong type": in_a_hook("return None"),
    "a contribution that is not valid": f"{ROWS}{HEAD}from helmdeck_core import PromptVariant\n@hookimpl\ndef helmdeck_prompt_variants():\n"
    "    return [PromptVariant(task='plan', variant='full_steps', instructions=7)]",
}


@pytest.mark.parametrize("source", BROKEN.values())
def test_deck_works_without_an_installed_plugin_that_is_broken(installed_plugin, source):
    installed_plugin("acme-dist", {"acme": "acme_plugin"}, {"acme_plugin": source})
    with pytest.warns(PluginWarning, match=r"left out: plugin 'acme' \(distribution acme-dist 1.0\)"):
        deck = make_deck(model="local/lexical", autoload=True)
    with deck:
        assert deck.plan("draft a blog post").steps
        info = next(info for info in deck.runtime.plugins.infos if info.name == "acme")
        assert not info.is_loaded and info.error
        # All its contributions are left out: half of a plugin would give results that its author never saw.
        assert deck.budget("openai/gpt-4o").budget.evidence != "acme"


@pytest.mark.parametrize("source", [BROKEN["an error"], BROKEN["an error of a hook"]])
def test_required_plugin_that_is_broken_stops_the_start(installed_plugin, source):
    installed_plugin("acme-dist", {"acme": "acme_plugin"}, {"acme_plugin": source})
    with pytest.raises(Exception, match="plugin 'acme'"):
        make_deck(autoload=True, config={"plugins": {"required": ["acme"]}})


def test_required_plugin_that_is_not_installed_stops_the_start():
    with pytest.raises(PluginLoadError, match="'acme' cannot be loaded .*not installed"):
        make_deck(config={"plugins": {"required": ["acme"]}})


def test_every_required_plugin_that_is_missing_is_an_error_whose_remedy_is_not_to_disable_it():
    errors = []
    load_plugins(errors=errors, required=["acme", "log", "history"], disable=["log"])
    place = "cannot be loaded from [plugins] required"
    assert [str(error) for error in errors] == [
        f"plugin 'acme' {place}: it is not installed; install it, or remove it from [plugins] required",
        f"plugin 'log' {place}: it is disabled; enable it, or remove it from [plugins] required",
    ]


@pytest.mark.parametrize(
    "requirement", ["helmdeck<0.2", "Helmdeck[serve] >= 1,<2", "helmdeck==0.1.*; python_version>'3'"]
)
def test_plugin_for_another_version_is_left_out_before_its_code_runs(installed_plugin, requirement):
    installed_plugin("acme-dist", {"acme": "acme_plugin"}, {"acme_plugin": "1/0"}, requires=["attrs", requirement])
    fix = (
        r"requires helmdeck\S+, and this is helmdeck \S+; install a version that fits: pip install --upgrade acme-dist"
    )
    with pytest.warns(PluginWarning, match=fix):
        plugins = load_plugins()
    assert not next(info for info in plugins.infos if info.name == "acme").is_loaded


@pytest.mark.parametrize(
    "requirement",
    ["helmdeck", f"helmdeck>=0.2,<={__version__}", "helmdeck-x<0.1", "helmdeck<0.1; extra=='old'", "helmdeck?"],
)
def test_plugin_for_this_version_is_loaded(installed_plugin, requirement):
    installed_plugin("acme-dist", {"acme": "acme_plugin"}, {"acme_plugin": ROWS}, requires=[requirement])
    assert next(info for info in load_plugins().infos if info.name == "acme").is_loaded


def test_plugin_with_the_name_of_a_built_in_is_left_out(installed_plugin):
    installed_plugin("thief-dist", {"budgets": "thief_plugin"}, {"thief_plugin": ROWS})
    with pytest.warns(PluginWarning, match="thief-dist"):
        plugins = load_plugins()
    assert plugins.is_builtin("budgets")


def test_the_second_of_two_plugins_that_claim_one_value_is_left_out(installed_plugin):
    installed_plugin("one-dist", {"one": "one_plugin", "two": "two_plugin"}, {"one_plugin": ROWS, "two_plugin": ROWS})
    with pytest.warns(PluginWarning, match="left out: plugins 'two' and 'one' both claim"):
        deck = make_deck(autoload=True)
    assert deck.budget("openai/gpt-4o").budget.evidence == "acme"
    with pytest.raises(PluginConflictError):
        make_deck(autoload=True, config={"plugins": {"required": ["two"]}})


@pytest.mark.parametrize("source", ["EVENT.wait()", "@hookimpl\ndef helmdeck_packs():\n    EVENT.wait()"])
def test_plugin_that_hangs_is_left_out(installed_plugin, source):
    head = "import sys, threading\nfrom helmdeck_core import hookimpl\nEVENT = sys.modules['threading'].test_event\n"
    threading.test_event = threading.Event()
    installed_plugin("acme-dist", {"acme": f"acme_{len(source)}"}, {f"acme_{len(source)}": head + source})
    try:
        with pytest.warns(PluginWarning, match="'acme'.*it has not ended after 0.05 s"):
            make_deck(autoload=True, config={"plugins": {"load_timeout_s": 0.05}}).close()
        # A second deck does not wait for the import that hangs.
        with pytest.warns(PluginWarning, match="'acme'"):
            make_deck(autoload=True, config={"plugins": {"load_timeout_s": 0.05}}).close()
    finally:
        threading.test_event.set()
        del threading.test_event


def test_plugin_that_prints_leaves_standard_output_to_the_command(installed_plugin, capsys, monkeypatch, tmp_path):
    leave_the_machine(monkeypatch, tmp_path)
    source = in_a_hook("print('noise of a hook'); return []")
    installed_plugin("acme-dist", {"acme": "acme_plugin"}, {"acme_plugin": f"print('noise')\n{source}"})
    monkeypatch.setenv("HELMDECK_PLUGIN_AUTOLOAD", "1")
    done = Cli(capsys)("plan", "draft a blog post", "--json")
    assert done.out.startswith("{") and "noise" not in done.out
    assert "noise of a hook" in done.err


def test_process_that_a_plugin_forks_ends_with_the_code_that_forked_it(tmp_path):
    mark = tmp_path / "mark"

    def fork():
        if (pid := os.fork()) == 0:
            return 0
        os.waitpid(pid, 0)
        return pid

    assert run_foreign(fork) > 0
    with mark.open("a") as file:  # the child never gets here
        file.write(f"{os.getpid()}\n")
    assert mark.read_text() == f"{os.getpid()}\n"
