"""The commands budgets, catalog and plugins."""

import json
import re

import attrs
import pytest

from helmdeck_cli import counted
from helmdeck_cli.printing.results import footer
from helmdeck_core import Helmdeck
from helmdeck_core.cli import ExitCode
from helmdeck_core.domain.questions import FilterCall
from helmdeck_providers.budgets import helmdeck_budget_rows
from helmdeck_providers.key_formats import helmdeck_secret_patterns
from tests.cli_support import PLUGIN, Cli, leave_the_machine

FREE = "openrouter/openrouter/free"


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    leave_the_machine(monkeypatch, tmp_path)


@pytest.fixture
def cli(capsys):
    return Cli(capsys)


def rows(text):
    return {line.split()[0]: line for line in text.splitlines() if line.strip()}


# -- budgets -----------------------------------------------------------------------------------------------


def test_budgets_lists_every_row_with_the_fallback_last(cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("HELMDECK_PLUGINS__DISABLE", "prices")  # list prices change
    done = cli("budgets")
    assert done.code == 0
    table = done.out.split("\n\n")[0].splitlines()
    assert table[0].split() == [
        "model",
        "id",
        "prefix",
        "tier",
        "in",
        "out",
        "catalog",
        "flags",
        "variant",
        *("$", "in", "$", "cached", "$", "out"),
    ]
    assert rows(done.out)["openai/gpt-4o"].split() == (
        ["openai/gpt-4o", "A", "100,000", "4,000", "none", "strict", "cache", "full_steps", "1.25"]
    )
    assert table[-1].split() == ["(fallback)", "C", "16,000", "1,500", "10,000", "filter", "single_pick"]


def test_budget_policy_text_follows_the_configuration(cli, tmp_path):
    text = " ".join(cli("budgets").out.split())
    for part in (
        "looked up exactly",
        "longest prefix",
        "tier C, 16,000 tokens in, 1,500 out",
        "none (0 in helmdeck.toml, null in JSON)",
    ):
        assert part in text
    (tmp_path / "helmdeck.toml").write_text("[budgets.fallback]\ninput_tokens = 9_000\nmax_catalog_bytes = 0\n")
    changed = " ".join(cli("budgets").out.split())
    assert "tier C, 9,000 tokens in" in changed
    assert "catalogs of any size" in changed


def test_budgets_fit_a_terminal_of_80_columns_with_whole_numbers(cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out = cli("budgets").out
    assert max(map(len, out.splitlines())) <= 80
    assert "1,000,000" in out


@pytest.mark.parametrize(
    "words", ["catalog show", "plugins list", "pipeline show url-to-podcast", "pipeline check", "hooks"]
)
def test_lists_fit_a_terminal_of_80_columns(cli, monkeypatch, words):
    monkeypatch.setenv("COLUMNS", "80")
    assert [line for line in cli(*words.split()).out.splitlines() if len(line) > 80] == []


def test_budgets_as_json_has_rows_policy_and_null_for_no_limit(cli):
    data = cli("budgets", "--json").data
    found = {row["row"]: row for row in data["budgets"]}
    assert found["openai/gpt-4o"]["max_catalog_bytes"] is None
    assert found[FREE]["max_catalog_bytes"] == 10_000
    assert found["fallback"]["is_fallback"]
    assert all(row["evidence"] for row in data["budgets"])
    assert "looked up exactly" in data["policy"]


def test_budgets_as_json_has_variant_flags_and_prices(cli, monkeypatch):
    monkeypatch.setenv("HELMDECK_PLUGINS__DISABLE", "prices")
    found = {row["row"]: row for row in cli("budgets", "--json").data["budgets"]}
    assert {row.prefix or "fallback" for row in helmdeck_budget_rows()} == found.keys()
    frontier = found["openai/gpt-4o"]
    assert (frontier["tier"], frontier["prompt_variant"], found[FREE]["prompt_variant"]) == (
        "A",
        "full_steps",
        "single_pick",
    )
    assert frontier["supports_prefix_cache"] and frontier["wants_strict_json"] and not frontier["is_hybrid_reasoning"]
    assert (frontier["cached_input_cost_usd_per_mtok"], found[FREE]["cached_input_cost_usd_per_mtok"]) == (1.25, None)


def test_budget_of_one_model_shows_each_field_with_its_source(cli, tmp_path):
    (tmp_path / "helmdeck.toml").write_text(
        '[budgets."openrouter/z-ai/"]\noutput_tokens = 900\nmax_catalog_bytes = 0\n'
    )
    done = cli("budgets", "openrouter/z-ai/glm-5")
    assert done.code == 0
    found = rows(done.out)
    assert found["output_tokens"].split()[1:] == ["900", "helmdeck.toml:", 'budgets."openrouter/z-ai/"']
    assert found["max_catalog_bytes"].split()[1] == "none"
    assert found["input_tokens"].split()[1:4] == ["16,000", "row", "'z-ai/glm-'"]
    assert "evidence  " in done.out
    data = cli("budgets", "openrouter/z-ai/glm-5", "--json").data
    assert (data["output_tokens"], data["max_catalog_bytes"]) == (900, None)
    assert data["sources"]["output_tokens"] == 'helmdeck.toml: budgets."openrouter/z-ai/"'


@pytest.mark.parametrize("model", ["unknown/model", "", "  ", "\x00", "漢字/模型", "/" * 50])
def test_unknown_model_gets_the_fallback_budget(cli, model):
    done = cli("budgets", model)
    assert (done.code, done.err) == (0, "")
    assert "the fallback applies" in done.out


# -- catalog -----------------------------------------------------------------------------------------------


def test_catalog_json_is_a_valid_catalog_file(cli, tmp_path):
    shown = cli("catalog", "show")
    assert "50 packs, 20 pipelines" in shown.out
    assert "from example_catalog.json, packs" in shown.out
    assert re.search(r"`helmdeck run` runs \d+ of them; the application runs the others", shown.out)
    ids = cli("catalog", "show", "--ids").out.split()
    assert len(ids) == 70
    (tmp_path / "copy.json").write_text(cli("catalog", "show", "--json").out)
    assert cli("catalog", "show", "--ids", "--catalog", "copy.json").out.split() == ids
    assert cli("catalog", "show", "--ids", "--json").data["packs"][0] == ids[0]
    assert {"http.fetch", "blog.draft"} <= {*cli("catalog", "show", "--json").data["runnable"]} <= {*ids}
    assert "fs.read" not in cli("catalog", "show", "--json").data["runnable"], "it needs a configured folder"


def test_catalog_of_two_sources_has_a_source_column(cli, tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"packs": [{"name": name, "description": "x " * 300}]}))
    out = cli("catalog", "show", "--catalog", "one.json", "--catalog", "two.json").out
    assert "source" in out
    assert "two.json" in rows(out)["pack"]
    assert all(len(line) <= 100 for line in out.splitlines())


def test_catalog_without_entries_is_shown_without_a_table(cli, tmp_path):
    (tmp_path / "empty.json").write_text("[]")
    done = cli("catalog", "show", "--catalog", str(tmp_path / "empty.json"))
    assert done.code == 0
    assert re.fullmatch(r"0 packs, 0 pipelines, 27 bytes, version \w+\n", done.out)


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 entries"), (1, "1 entry"), (2, "2 entries"), (1_000, "1,000 entries")]
)
def test_counted_nouns_are_singular_only_for_one(number, text):
    assert counted(number, "entry", "entries") == text


def test_explain_names_the_tasks_if_there_is_no_such_task(cli):
    done = cli("explain", "--task", "foo", "draft a post")
    assert done.code == ExitCode.USAGE
    assert done.err.startswith("helmdeck: --task: there is no task 'foo'; tasks: blog.draft, filter, plan, route")


def test_provider_whose_name_looks_like_a_key_is_no_secret():
    [pattern] = [each.pattern for each in helmdeck_secret_patterns() if each.name == "xai"]
    assert not re.search(pattern, "xai, xai-responses, zai")
    assert re.search(pattern, "xai-responses1234567890") and re.search(pattern, "xai-a1b2c3d4")


def test_footer_of_a_plan_counts_the_entries_that_a_filter_call_selected():
    with Helmdeck(model="local/lexical") as deck:
        plan = attrs.evolve(deck.plan("draft a post"), filter=FilterCall(model="acme/small", picks=("a", "b")))
    assert "filter      the filter call to acme/small selected 2 entries" in list(footer(plan))


def test_catalog_compact_shows_each_step_until_the_catalog_fits(cli):
    done = cli("catalog", "compact", "--max-bytes", "35,000")
    assert done.code == 0
    assert "catalogs of at most 35,000 bytes" in done.out
    assert "1. pack.intent_keywords[]" in done.out
    assert "3. " not in done.out, "the ladder stops at the first step after which the catalog fits"


def test_catalog_compact_reports_a_catalog_that_does_not_fit(cli):
    done = cli("catalog", "compact", "--model", FREE)
    assert "tier C: catalogs of at most 10,000 bytes" in done.out
    assert "still_over_budget(" in done.out
    assert "does not fit" in done.out


def test_no_limit_trims_nothing(cli):
    for words in (["--max-bytes", "0"], ["--model", "openai/gpt-4o"]):
        done = cli("catalog", "compact", *words, "--json")
        assert (done.data["max_catalog_bytes"], done.data["dropped"]) == (None, [])
        assert done.data["before_bytes"] == done.data["after_bytes"]


def test_compact_output_is_the_exact_catalog_with_figures_on_standard_error(cli):
    data = cli("catalog", "compact", "--model", FREE, "--json").data
    done = cli("catalog", "compact", "--model", FREE, "--output")
    assert len(done.out.strip().encode()) == data["after_bytes"]
    assert json.loads(done.out) == data["catalog"]
    assert "labels" in done.err


@pytest.mark.parametrize("word", ["ten", "-1", "1.5", ""])
def test_limit_must_be_an_integer(cli, word):
    done = cli("catalog", "compact", f"--max-bytes={word}")
    assert done.code == 2
    assert f"{word!r} is not an integer of at least 0" in done.err


def test_catalog_rank_shows_matches_and_sent_entries(cli):
    done = cli("catalog", "rank", "--model", FREE, "--top", "3", "turn this talk into slides and email it")
    assert done.code == 0
    assert "slides.outline" in done.out
    assert "67 more; --top 0 shows all" in done.out
    assert "confidence" in done.out
    assert "58 left out" in " ".join(done.out.split())
    why = cli("catalog", "rank", "--model", FREE, "--why", "turn this talk into slides and email it").out
    assert "part 1: turn this talk into slides\npart 2: email it" in why
    assert "yes *" in why


def test_catalog_rank_as_json_covers_the_whole_catalog(cli):
    data = cli("catalog", "rank", "--model", FREE, "--top", "0", "--json", "send an email").data
    assert len(data["entries"]) == 70
    assert sum(entry["kept"] for entry in data["entries"]) == data["selection"]["kept_entries"]
    assert data["was_ranked"]


def test_catalog_rank_reports_a_catalog_that_is_sent_whole(cli):
    done = cli("catalog", "rank", "--model", "openai/gpt-4o", "send an email")
    assert "the whole catalog is sent" in done.out
    assert " no " not in done.out.split("\n\n")[0]


def test_catalog_rank_rejects_an_empty_request(cli):
    assert cli("catalog", "rank", " ").code == 2


# -- plugins -----------------------------------------------------------------------------------------------


def test_plugins_are_listed_with_their_source(cli, installed_plugin, monkeypatch):
    monkeypatch.delenv("HELMDECK_PLUGIN_AUTOLOAD")
    installed_plugin("stub", {"stub": "stub_plugin"}, {"stub_plugin": PLUGIN})
    found = rows(cli("plugins", "list", "--disable-plugin", "log").out)
    assert found["stub"].split("  ")[0] == "stub"
    assert "entry point" in found["stub"]
    assert "stub 1.0" in found["stub"]
    assert found["log"].split() == ["log", "built-in", "blocked"]
    data = cli("plugins", "list", "--json", "--disable-plugin", "log").data
    assert {row["name"]: row["is_blocked"] for row in data["plugins"]}["log"] is True


def test_plugins_show_lists_contributions_and_replacements(cli, installed_plugin, monkeypatch):
    monkeypatch.delenv("HELMDECK_PLUGIN_AUTOLOAD")
    source = (
        "from helmdeck_core import TrimStep, hookimpl\n"
        "@hookimpl\ndef helmdeck_trim_steps():\n"
        "    return [TrimStep(name='pack.typical_use', order=20, trim=lambda entry, data: data)]\n"
    )
    installed_plugin("mine", {"mine": "mine_plugin"}, {"mine_plugin": source})
    done = cli("plugins", "show", "mine")
    assert rows(done.out)["trim_steps"].split() == [
        "trim_steps",
        "pack.typical_use",
        "20",
        "replaces",
        "that",
        "of",
        "plugin",
        "'trim'",
    ]
    assert "from        mine 1.0" in done.out
    assert "'pack.typical_use' of helmdeck_trim_steps by plugin 'mine'" in cli("plugins", "show", "trim").out
    data = cli("plugins", "show", "mine", "--json").data
    assert data["contributions"][0]["replaces"] == "trim"


def test_plugins_show_lists_lookups(cli):
    assert "answers     helmdeck_model_budget" in cli("plugins", "show", "budgets").out


def test_unknown_plugin_is_an_error_with_a_suggestion(cli):
    done = cli("plugins", "show", "lexcial")
    assert done.code == ExitCode.USAGE
    assert "did you mean 'lexical'?" in done.err
