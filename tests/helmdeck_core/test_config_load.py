"""Loading the configuration: layers, origins, and every mistake at once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import attrs
import pytest

from helmdeck_core import Config, ConfigError, Helmdeck, SecretRef, Tier
from helmdeck_core.config.load import load_config, require
from helmdeck_core.config.structure import read_options
from helmdeck_core.config.validators import above_zero, non_empty
from helmdeck_testing import make_deck


def write(folder: Path, text: str, name: str = "helmdeck.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults_apply_without_any_layer(tmp_path):
    loaded = load_config(start=tmp_path, environ={})
    assert (loaded.config.model, loaded.file, dict(loaded.origins)) == ("local/lexical", None, {})


def test_environment_overrides_the_file_and_arguments_override_both(tmp_path):
    write(tmp_path, 'model = "file/m"\nlog_level = "INFO"\n[selection]\nshortlist = 3')
    environ = {"HELMDECK_MODEL": "env/m", "HELMDECK_SELECTION__SHORTLIST": "5"}
    loaded = load_config(start=tmp_path, environ=environ, arguments={("model",): ("arg/m", "--model")})
    assert (loaded.config.model, loaded.config.selection.shortlist, loaded.config.log_level) == ("arg/m", 5, "INFO")
    assert dict(loaded.origins) == {
        ("log_level",): "helmdeck.toml",
        ("model",): "argument --model",
        ("selection", "shortlist"): "environment HELMDECK_SELECTION__SHORTLIST",
    }


def test_overrides_of_a_deck_are_key_paths_or_dotted_keys():
    overrides = {"model": "a/b", "selection.shortlist": 5}
    with Helmdeck(environ={}, autoload=False, overrides=overrides) as deck:
        config = deck.runtime.config
        assert (config.model, config.selection.shortlist) == ("a/b", 5)
    with Helmdeck(environ={}, autoload=False, overrides={("budgets", "a/b-4.1", "tier"): "A"}) as deck:
        assert deck.budget("a/b-4.1").budget.tier == "A"
    with pytest.raises(ConfigError, match=r"selection\.shortlst"):
        Helmdeck(environ={}, autoload=False, overrides={"selection.shortlst": 5})


def test_one_catalog_source_may_stand_without_a_list(tmp_path):
    path = tmp_path / "tools.json"
    path.write_text('{"packs": [{"name": "a.one", "description": "Does it."}]}')
    for sources in (str(path), path, [str(path)], [path]):
        with Helmdeck(environ={}, autoload=False, catalog_sources=sources) as deck:
            assert [entry.id for entry in deck.catalog.entries] == ["a.one"]


def test_nearest_file_in_a_parent_folder_is_read(tmp_path):
    write(tmp_path, 'model = "far/m"')
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    assert load_config(start=deep).config.model == "far/m"
    write(tmp_path / "a", 'model = "near/m"')
    assert load_config(start=deep).config.model == "near/m"


@pytest.mark.parametrize("make", [Path.mkdir, lambda path: path.symlink_to("gone")], ids=["folder", "link"])
def test_configuration_that_is_no_file_is_a_mistake(tmp_path, make):
    make(tmp_path / "helmdeck.toml")
    (mistake,) = load_config(start=tmp_path, environ={}).mistakes
    assert str(mistake).startswith(f"{tmp_path}/helmdeck.toml: the file cannot be read (")


def test_pyproject_is_read_only_if_it_has_the_table(tmp_path):
    write(tmp_path, '[tool.helmdeck]\nmodel = "outer/m"', "pyproject.toml")
    inner = tmp_path / "inner"
    inner.mkdir()
    write(inner, "[project]\nname = 'x'", "pyproject.toml")
    loaded = load_config(start=inner)
    assert loaded.config.model == "outer/m"
    assert loaded.origins["model",] == "pyproject.toml [tool.helmdeck]"


def test_environment_variable_selects_the_file(tmp_path):
    path = write(tmp_path, 'model = "named/m"', "other.toml")
    assert load_config(start=tmp_path, environ={"HELMDECK_CONFIG": str(path)}).config.model == "named/m"


@pytest.mark.parametrize(
    ("variable", "text", "read"),
    [
        ("HELMDECK_PLUGINS__DISABLE", "a, b", lambda c: c.plugins.disable == ("a", "b")),
        ("HELMDECK_DISABLE_PLUGINS", "a", lambda c: c.plugins.disable == ("a",)),
        ("HELMDECK_PLUGIN_AUTOLOAD", "0", lambda c: c.plugins.autoload is False),
        ("HELMDECK_PLUGINS__AUTOLOAD", "false", lambda c: c.plugins.autoload is False),
        ("HELMDECK_SELECTION__CONFIDENCE", "0.5", lambda c: c.selection.confidence == 0.5),
        ("HELMDECK_CATALOG__SOURCES", "example,mine.json", lambda c: c.catalog.sources == ("example", "mine.json")),
        (
            "HELMDECK_PROVIDERS__ACME__API_KEY",
            "env:KEY",
            lambda c: c.providers["acme"].api_key == SecretRef("env", "KEY"),
        ),
    ],
)
def test_variables_are_converted_to_the_type_of_their_key(tmp_path, variable, text, read):
    assert read(require(load_config(start=tmp_path, environ={variable: text})))


def test_max_entries_can_be_set_for_one_tier(tmp_path):
    write(tmp_path, "[selection.max_entries]\nC = 8")
    assert load_config(start=tmp_path).config.selection.max_entries == {Tier.C: 8}


FIVE = """
model = 7
modle = "typo/m"

[selection]
confidence = "high"

[budgets."acme/"]
tier = "D"

[providers.acme]
kind = "openai"
api_key = "sk-this-is-the-key-itself"
"""


def test_all_mistakes_are_reported_with_file_key_value_and_allowed_values(tmp_path):
    path = write(tmp_path, FIVE)
    with pytest.raises(ConfigError) as caught:
        make_deck(file=path)
    text = str(caught.value)
    assert len(caught.value.mistakes) == 5 and "5 mistakes" in text
    for expected in (
        "helmdeck.toml: model: not a string, found 7; allowed: a string",
        "helmdeck.toml: modle: unknown key (did you mean 'model'?)",
        "helmdeck.toml: selection.confidence: not a number, found 'high'; allowed: a number of at least 0",
        "helmdeck.toml: budgets.\"acme/\".tier: not a tier, found 'D'; allowed: A, B, C",
        "helmdeck.toml: providers.acme.api_key: not a reference to a secret, found a string (not shown)",
    ):
        assert expected in text
    assert "sk-this-is-the-key-itself" not in text


def test_misspelt_variable_is_reported_with_the_similar_one():
    (mistake,) = load_config(environ={"HELMDECK_MODLE": "acme/large"}).mistakes
    assert str(mistake).startswith(
        "environment HELMDECK_MODLE: unknown key (did you mean 'HELMDECK_MODEL'?); allowed: "
    )


def test_mistakes_that_depend_on_plugins_are_reported_with_the_others(tmp_path):
    path = write(
        tmp_path,
        """
log_level = "LOUD"
model = "no-slash"
[selection]
ranker = "lexcial"
shortlist = -1
[compaction]
order = ["pack.typical_use", "pack.nonsense"]
[compaction.tiers.C]
drop = ["nonsense"]
[catalog]
sources = ["exmaple"]
[providers.mine]
kind = "telepathy"
[budgets."x/"]
prompt_variant = "poem"
""",
    )
    with pytest.raises(ConfigError) as caught:
        make_deck(file=path)
    text = str(caught.value)
    assert len(caught.value.mistakes) == 9
    for expected in (
        "selection.shortlist: below 0, found -1",
        "selection.ranker: unknown ranker (did you mean 'lexical'?), found 'lexcial'; allowed: lexical",
        "compaction.order: unknown trim step",
        "compaction.tiers.C.drop: unknown trim step, found 'nonsense'; allowed: pack.intent_keywords[]",
        "catalog.sources: unknown catalog source (did you mean 'example'?)",
        "providers.mine.kind: unknown kind of provider, found 'telepathy'; allowed:",
        'budgets."x/".prompt_variant: unknown prompt variant',
        "log_level: unknown log level, found 'LOUD'",
        "model: not of the form provider/model, found 'no-slash'",
    ):
        assert expected in text
    assert text.count("helmdeck.toml") == 9


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = = 1", "not valid TOML"),
        ("selection = 3", "selection: not a table"),
        ("[catalog]\nsources = 'example'", "catalog.sources: not a list of strings"),
        ("[plugins]\nautoload = 1", "plugins.autoload: not a boolean"),
        (
            "[budgets]\nacme = 3",
            "budgets.acme: not a table, found 3; allowed: a table [budgets.acme]; if acme is a key,",
        ),
        (
            "[catalog.mcp]\ncommand = 'npx'",
            "if command is a key, write it below a table with a name, [catalog.mcp.NAME]",
        ),
        (
            "[catalog]\nmcp = 'npx'",
            "catalog.mcp: not a table, found 'npx'; allowed: a table for each name, such as [catalog.mcp.NAME]",
        ),
        ("[compaction.tiers.Z]\ndrop = []", "not a tier"),
        ("[providers.x]\ntimeout_s = true", "providers.x.timeout_s: not a number"),
        ("[providers.x]\ntimeout_s = nan", "providers.x.timeout_s: not a finite number"),
        ("providers = [1]", "providers: not a table, found [1]"),
        ("[compaction.tiers.Z]\ndrop = []", "compaction.tiers.Z: not a tier, found 'Z'"),
        ("[providers.x]\napi_key = 'vault:abc'", "not a reference to a secret"),
    ],
)
def test_wrong_value_is_a_mistake_and_never_an_exception_of_a_library(tmp_path, text, words):
    loaded = load_config(file=write(tmp_path, text))
    assert words in "\n".join(map(str, loaded.mistakes))
    with pytest.raises(ConfigError, match=r"helmdeck\.toml"):
        require(loaded)


def test_missing_file_is_a_mistake(tmp_path):
    assert "cannot be read" in str(load_config(file=str(tmp_path / "gone.toml")).mistakes[0])


def test_binary_file_is_a_mistake(tmp_path):
    path = tmp_path / "helmdeck.toml"
    path.write_bytes(b"\xff\xfe\x00")
    assert "not valid TOML" in str(load_config(file=path).mistakes[0])


def test_unknown_variable_is_a_mistake_that_lists_the_known_ones(tmp_path):
    (mistake,) = load_config(start=tmp_path, environ={"HELMDECK_MODLE": "x/y"}).mistakes
    assert "HELMDECK_MODLE" in str(mistake) and "HELMDECK_MODEL" in mistake.allowed


def test_unknown_table_without_settings_is_a_mistake_that_names_the_file(tmp_path):
    (mistake,) = load_config(file=write(tmp_path, "[fallbck]\n")).mistakes
    assert str(mistake).startswith("helmdeck.toml: fallbck: unknown key (did you mean 'fallback'?)")


def test_mistake_in_a_variable_names_the_variable(tmp_path):
    (mistake,) = load_config(start=tmp_path, environ={"HELMDECK_SELECTION__SHORTLIST": "many"}).mistakes
    assert "environment HELMDECK_SELECTION__SHORTLIST" in str(mistake) and "'many'" in str(mistake)


def test_repr_of_a_configuration_shows_no_secret_and_no_header(tmp_path, monkeypatch):
    monkeypatch.setenv("ACME_KEY", "sk-hidden")
    path = write(tmp_path, '[providers.openai]\napi_key = "env:ACME_KEY"\nheaders = {authorization = "Bearer hidden"}')
    deck = make_deck(file=path)
    assert "hidden" not in repr(deck.runtime) + repr(deck.runtime.config)
    assert deck.runtime.config.providers["openai"].api_key.read() == "sk-hidden"


def test_paths_in_a_file_are_relative_to_its_folder_and_others_to_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "deep")
    (tmp_path / "key").write_text("sk-file")
    write(
        tmp_path, '[catalog]\nsources = ["example", "mine.json", "/abs.json"]\n[providers.openai]\napi_key = "file:key"'
    )
    loaded = load_config()
    assert loaded.config.catalog.sources == ("example", str(tmp_path / "mine.json"), "/abs.json")
    assert loaded.config.providers["openai"].api_key.read() == "sk-file"
    loaded = load_config(environ={"HELMDECK_CATALOG__SOURCES": "other.json"})
    assert loaded.config.catalog.sources == ("other.json",)


def test_contradicting_variables_are_a_mistake(tmp_path):
    environ = {"HELMDECK_SELECTION": "x", "HELMDECK_SELECTION__RANKER": "lexical"}
    mistakes = "\n".join(map(str, load_config(start=tmp_path, environ=environ).mistakes))
    assert "selection is set as a value and as a table" in mistakes


def test_byte_order_mark_is_ignored(tmp_path):
    (tmp_path / "helmdeck.toml").write_text('model = "a/b"', encoding="utf-8-sig")
    assert load_config(start=tmp_path).config.model == "a/b"


def test_pyproject_that_only_mentions_the_table_is_skipped(tmp_path):
    write(tmp_path, 'model = "outer/m"')
    (tmp_path / "inner").mkdir()
    write(tmp_path / "inner", "# see tool.helmdeck\n[project]\nname = 'x'", "pyproject.toml")
    assert load_config(start=tmp_path / "inner").config.model == "outer/m"


def test_timeout_of_zero_is_a_mistake():
    with pytest.raises(ConfigError, match=r"providers\.openai\.timeout_s: every request would fail at 0"):
        make_deck(config={"providers": {"openai": {"timeout_s": 0.0}}})


def test_config_object_cannot_be_combined_with_other_settings():
    with pytest.raises(TypeError, match="config is complete"):
        Helmdeck(Config(), model="a/b")


@pytest.mark.parametrize("config", [{"model": "acme/a"}, "helmdeck.toml"])
def test_a_deck_names_what_it_takes_in_place_of_a_mapping_or_a_path(config):
    with pytest.raises(TypeError, match=rf"config is a {type(config).__name__}; pass a Config, file="):
        Helmdeck(config)


def test_single_catalog_source_may_be_a_string():
    assert make_deck(catalog_sources="example").runtime.config.catalog.sources == ("example",)


@pytest.mark.parametrize("target", ["~no-such-user/key", "/", "/gone"])
def test_unreadable_secret_file_gives_no_secret(target):
    assert SecretRef("file", target).read() is None


def test_secret_can_be_a_file(tmp_path):
    (tmp_path / "key").write_text("sk-file\n")
    assert SecretRef("file", str(tmp_path / "key")).read() == "sk-file"
    assert SecretRef("file", str(tmp_path / "gone")).read() is None


@attrs.frozen(kw_only=True)
class Options:
    file: str = attrs.field(default="a", validator=non_empty)
    mode: Literal["fast", "slow"] = "fast"
    kinds: tuple[Literal["x", "y"], ...] = ()
    limit: int | None = attrs.field(default=None, validator=above_zero)
    names: Mapping[str, str] = attrs.field(factory=dict)
    key: SecretRef | None = None


WHERE = ("providers", "acme", "options")


def test_options_are_converted_to_their_class():
    options = {"mode": "slow", "kinds": ["y"], "limit": 3, "names": {"a": "b"}, "key": "env:ACME"}
    assert read_options(options, Options, *WHERE) == Options(
        mode="slow", kinds=("y",), limit=3, names={"a": "b"}, key=SecretRef("env", "ACME")
    )
    assert read_options({}, Options, *WHERE) == Options()


def test_all_mistakes_in_options_are_reported_at_once():
    wrong = {"mood": 1, "mode": "quick", "kinds": ["z"], "limit": "3", "names": {"a": 1}, "key": "sk-planted"}
    with pytest.raises(ConfigError) as caught:
        read_options(wrong, Options, *WHERE)
    text = str(caught.value)
    for expected in (
        "providers.acme.options.mood: unknown option (did you mean 'mode'?); allowed: file, mode, kinds, limit, names, key",
        "providers.acme.options.mode: not one of the allowed values, found 'quick'; allowed: 'fast', 'slow'",
        "providers.acme.options.kinds: not one of the allowed values, found ['z']; allowed: 'x', 'y'",
        "providers.acme.options.limit: not an integer, found '3'",
        "providers.acme.options.names.a: not a string, found 1",
        "providers.acme.options.key: not a reference to a secret, found a string (not shown)",
    ):
        assert expected in text, text
    assert len(caught.value.mistakes) == 6


@pytest.mark.parametrize(
    ("options", "words"), [({"limit": 0}, "limit: not above 0, found 0"), ({"file": " "}, "file: empty, found ' '")]
)
def test_validators_of_options_name_the_field(options, words):
    with pytest.raises(ConfigError, match=f"providers.acme.options.{words}"):
        read_options(options, Options, *WHERE)


def test_tables_with_keys_that_are_no_strings_are_rejected():
    with pytest.raises(ConfigError, match="not a string"):
        read_options({"names": {3: "x"}}, Options, *WHERE)


def test_exception_of_a_converter_is_a_mistake():
    @attrs.frozen
    class Strict:
        size: int = attrs.field(default=1, validator=attrs.validators.le(3))

    with pytest.raises(ConfigError, match="'size' must be <= 3: 4"):
        read_options({"size": 4}, Strict, "options")


def test_required_option_is_a_mistake_if_it_is_missing():
    @attrs.frozen
    class Required:
        file: str

    with pytest.raises(ConfigError, match="options.file: missing"):
        read_options({}, Required, "options")
