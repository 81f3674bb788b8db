"""Deprecated configuration keys: the successor gets the value, and one warning names source, key and successor."""

import json

import pytest

from helmdeck_core import ConfigError, DeprecatedKeyWarning, Helmdeck
from helmdeck_core.cli import main
from helmdeck_core.config import deprecated_keys
from helmdeck_core.config.deprecated_keys import DeprecatedKey
from helmdeck_core.config.load import load_config

ROWS = (
    DeprecatedKey(("ranking",), ("selection",), "0.2"),
    DeprecatedKey(("history", "days"), ("history", "keep_days"), "0.2", "days may be a fraction"),
    DeprecatedKey(("providers", "*", "url"), ("providers", "*", "base_url"), "0.3"),
    DeprecatedKey(("colour",), None, "0.2", "output has no colours"),
)


@pytest.fixture(autouse=True)
def rows(monkeypatch, tmp_path):
    monkeypatch.setattr(deprecated_keys, "DEPRECATED_KEYS", ROWS)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "helmdeck.toml"


def load(**options):
    with pytest.warns(DeprecatedKeyWarning) as caught:
        loaded = load_config(**options)
    assert [str(each.message) for each in caught] == list(loaded.warnings)
    return loaded


def test_successor_gets_the_value_of_the_file(rows):
    rows.write_text(
        '[ranking]\nshortlist = 3\n[history]\ndays = 7.5\n[providers.here]\nkind = "vllm"\nurl = "http://x/v1"'
    )
    loaded = load()
    config = loaded.config
    assert not loaded.mistakes
    assert (config.selection.shortlist, config.history.keep_days) == (3, 7.5)
    assert config.providers["here"].base_url == "http://x/v1"
    assert loaded.origins["selection", "shortlist"] == loaded.origins["history", "keep_days"] == "helmdeck.toml"
    assert loaded.warnings == (
        "helmdeck.toml: ranking is deprecated since 0.2; use selection",
        "helmdeck.toml: history.days is deprecated since 0.2; use history.keep_days (days may be a fraction)",
        "helmdeck.toml: providers.here.url is deprecated since 0.3; use providers.here.base_url",
    )


def test_environment_overrides_the_file_by_either_key(rows):
    rows.write_text("[history]\nkeep_days = 1")
    loaded = load(environ={"HELMDECK_HISTORY__DAYS": "2"})
    assert (loaded.config.history.keep_days, len(loaded.warnings)) == (2, 1)
    assert "environment HELMDECK_HISTORY__DAYS: history.days is deprecated" in loaded.warnings[0]
    rows.write_text("[history]\ndays = 1")
    assert load(environ={"HELMDECK_HISTORY__KEEP_DAYS": "2"}).config.history.keep_days == 2


def test_a_key_beside_its_successor_or_without_one_has_no_effect(rows):
    rows.write_text('colour = "red"\n[history]\ndays = 1\nkeep_days = 2')
    loaded = load(environ={"HELMDECK_COLOUR": "green"})
    assert (loaded.config.history.keep_days, loaded.mistakes) == (2, ())
    assert [text.split("; ")[1] for text in loaded.warnings] == [
        "has no effect, because history.keep_days is set (days may be a fraction)",
        "has no effect (output has no colours)",
        "has no effect (output has no colours)",
    ]


def test_a_wrong_value_is_a_mistake_of_the_successor(rows):
    rows.write_text('[history]\ndays = "long"')
    with (
        pytest.warns(DeprecatedKeyWarning),
        pytest.raises(ConfigError, match=r"helmdeck.toml: history.keep_days: not a"),
    ):
        Helmdeck(environ={}, autoload=False)


def test_commands_print_the_warning_once_and_config_check_lists_it(rows, capsys):
    rows.write_text("[history]\ndays = 7")
    text = "helmdeck.toml: history.days is deprecated since 0.2; use history.keep_days (days may be a fraction)"
    assert main(["config", "check", "--no-plugins"]) == 0
    assert capsys.readouterr().err.count(text) == 1
    assert main(["config", "check", "--no-plugins", "--json"]) == 0
    assert text in json.loads(capsys.readouterr().out)["warnings"]
