"""Configuration: layers, origins, and every mistake at once."""

from pathlib import Path

import pytest

from helmdeck_core import Config, ConfigError, Helmdeck, SecretRef, Tier
from helmdeck_core.config.load import load_config, require
from helmdeck_testing import make_deck


def write(folder: Path, text: str, name: str = "helmdeck.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_without_any_layer_the_defaults_hold(tmp_path):
    loaded = load_config(start=tmp_path, environ={})
    assert (loaded.config.model, loaded.file, dict(loaded.origins)) == ("local/lexical", None, {})


def test_environment_outranks_the_file_and_arguments_outrank_both(tmp_path):
    write(tmp_path, 'model = "file/m"\nlog_level = "INFO"\n[selection]\nshortlist = 3')
    environ = {"HELMDECK_MODEL": "env/m", "HELMDECK_SELECTION__SHORTLIST": "5"}
    loaded = load_config(start=tmp_path, environ=environ, arguments={("model",): ("arg/m", "--model")})
    assert (loaded.config.model, loaded.config.selection.shortlist, loaded.config.log_level) == ("arg/m", 5, "INFO")
    assert dict(loaded.origins) == {
        ("log_level",): "helmdeck.toml",
        ("model",): "argument --model",
        ("selection", "shortlist"): "environment HELMDECK_SELECTION__SHORTLIST",
    }


def test_the_nearest_file_upwards_is_read(tmp_path):
    write(tmp_path, 'model = "far/m"')
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    assert load_config(start=deep).config.model == "far/m"
    write(tmp_path / "a", 'model = "near/m"')
    assert load_config(start=deep).config.model == "near/m"


def test_a_table_in_pyproject_counts_and_a_pyproject_without_one_does_not(tmp_path):
    write(tmp_path, '[tool.helmdeck]\nmodel = "outer/m"', "pyproject.toml")
    inner = tmp_path / "inner"
    inner.mkdir()
    write(inner, "[project]\nname = 'x'", "pyproject.toml")
    loaded = load_config(start=inner)
    assert loaded.config.model == "outer/m"
    assert loaded.origins["model",] == "pyproject.toml [tool.helmdeck]"


def test_a_variable_names_the_file(tmp_path):
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
def test_variables_are_read_as_the_type_that_their_key_wants(tmp_path, variable, text, read):
    assert read(require(load_config(start=tmp_path, environ={variable: text})))


def test_maxima_are_laid_over_the_defaults(tmp_path):
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


def test_five_mistakes_are_shown_at_once_with_file_key_value_and_what_is_allowed(tmp_path):
    path = write(tmp_path, FIVE)
    with pytest.raises(ConfigError) as caught:
        make_deck(file=path)
    text = str(caught.value)
    assert len(caught.value.mistakes) == 5 and "5 mistakes" in text
    for expected in (
        "helmdeck.toml: model: not a text, found 7; allowed: a text",
        "helmdeck.toml: modle: there is no such key (did you mean model?)",
        "helmdeck.toml: selection.confidence: not a number, found 'high'; allowed: a number of at least 0",
        "helmdeck.toml: budgets.\"acme/\".tier: not a tier, found 'D'; allowed: A, B, C",
        "helmdeck.toml: providers.acme.api_key: not a reference to a secret, found a text (not shown)",
    ):
        assert expected in text
    assert "sk-this-is-the-key-itself" not in text


def test_mistakes_that_only_plugins_can_know_join_the_others(tmp_path):
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
        "selection.ranker: there is no ranker of this name (did you mean lexical?), found 'lexcial'; allowed: lexical",
        "compaction.order: there is no trim step of this name",
        "compaction.tiers.C.drop: there is no trim step of this name, found 'nonsense'; allowed: pack.intent_keywords[]",
        "catalog.sources: there is no catalog source of this name (did you mean example?)",
        "providers.mine.kind: there is no provider of this kind, found 'telepathy'; allowed:",
        'budgets."x/".prompt_variant: there is no prompt variant of this name',
        "log_level: there is no such level, found 'LOUD'",
        "model: not of the form provider/model, found 'no-slash'",
    ):
        assert expected in text
    assert text.count("helmdeck.toml") == 9


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = = 1", "not valid TOML"),
        ("selection = 3", "selection: not a table"),
        ("[catalog]\nsources = 'example'", "catalog.sources: not a list of texts"),
        ("[plugins]\nautoload = 1", "plugins.autoload: not true or false"),
        ("[budgets]\nacme = 3", "budgets.acme: not a table"),
        ("[compaction.tiers.Z]\ndrop = []", "not a tier"),
        ("[providers.x]\ntimeout_s = true", "providers.x.timeout_s: not a number"),
        ("[providers.x]\ntimeout_s = nan", "providers.x.timeout_s: not a finite number"),
        ("providers = [1]", "providers: not a table, found [1]"),
        ("[compaction.tiers.Z]\ndrop = []", "compaction.tiers.Z: not a tier, found 'Z'"),
        ("[providers.x]\napi_key = 'vault:abc'", "not a reference to a secret"),
    ],
)
def test_each_wrong_value_is_a_mistake_and_never_an_exception_of_a_library(tmp_path, text, words):
    loaded = load_config(file=write(tmp_path, text))
    assert words in "\n".join(map(str, loaded.mistakes))
    with pytest.raises(ConfigError, match=r"helmdeck\.toml"):
        require(loaded)


def test_a_file_that_is_not_there_is_a_mistake(tmp_path):
    assert "cannot be read" in str(load_config(file=tmp_path / "gone.toml").mistakes[0])


def test_a_file_that_is_not_text_is_a_mistake(tmp_path):
    path = tmp_path / "helmdeck.toml"
    path.write_bytes(b"\xff\xfe\x00")
    assert "not valid TOML" in str(load_config(file=path).mistakes[0])


def test_an_unknown_variable_is_a_mistake_that_lists_the_known_ones(tmp_path):
    (mistake,) = load_config(start=tmp_path, environ={"HELMDECK_MODLE": "x/y"}).mistakes
    assert "HELMDECK_MODLE" in str(mistake) and "HELMDECK_MODEL" in mistake.allowed


def test_a_wrong_variable_is_named_with_its_key(tmp_path):
    (mistake,) = load_config(start=tmp_path, environ={"HELMDECK_SELECTION__SHORTLIST": "many"}).mistakes
    assert "environment HELMDECK_SELECTION__SHORTLIST" in str(mistake) and "'many'" in str(mistake)


def test_no_repr_of_a_configuration_shows_a_secret_or_a_header(tmp_path, monkeypatch):
    monkeypatch.setenv("ACME_KEY", "sk-hidden")
    path = write(tmp_path, '[providers.openai]\napi_key = "env:ACME_KEY"\nheaders = {authorization = "Bearer hidden"}')
    deck = make_deck(file=path)
    assert "hidden" not in repr(deck.runtime) + repr(deck.runtime.config)
    assert deck.runtime.config.providers["openai"].api_key.read() == "sk-hidden"


def test_paths_in_a_file_are_read_from_its_own_folder_and_others_from_the_current_one(tmp_path, monkeypatch):
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


def test_variables_that_contradict_one_another_are_a_mistake(tmp_path):
    environ = {"HELMDECK_SELECTION": "x", "HELMDECK_SELECTION__RANKER": "lexical"}
    mistakes = "\n".join(map(str, load_config(start=tmp_path, environ=environ).mistakes))
    assert "selection is given as a value and as a table" in mistakes


def test_a_byte_order_mark_is_no_obstacle(tmp_path):
    (tmp_path / "helmdeck.toml").write_text('model = "a/b"', encoding="utf-8-sig")
    assert load_config(start=tmp_path).config.model == "a/b"


def test_a_pyproject_that_only_speaks_of_the_table_is_passed_over(tmp_path):
    write(tmp_path, 'model = "outer/m"')
    (tmp_path / "inner").mkdir()
    write(tmp_path / "inner", "# see tool.helmdeck\n[project]\nname = 'x'", "pyproject.toml")
    assert load_config(start=tmp_path / "inner").config.model == "outer/m"


def test_a_time_limit_of_nothing_is_a_mistake():
    with pytest.raises(ConfigError, match=r"providers\.openai\.timeout_s: 0 would never"):
        make_deck(config={"providers": {"openai": {"timeout_s": 0.0}}})


def test_a_finished_configuration_allows_nothing_beside_it():
    with pytest.raises(TypeError, match="config is complete"):
        Helmdeck(Config(), model="a/b")


def test_one_catalog_source_may_be_given_as_a_text():
    assert make_deck(catalog_sources="example").runtime.config.catalog.sources == ("example",)


@pytest.mark.parametrize("target", ["~nobody-here/key", "/", "/gone"])
def test_a_secret_file_that_cannot_be_read_is_no_secret(target):
    assert SecretRef("file", target).read() is None


def test_a_secret_can_be_a_file(tmp_path):
    (tmp_path / "key").write_text("sk-file\n")
    assert SecretRef("file", str(tmp_path / "key")).read() == "sk-file"
    assert SecretRef("file", str(tmp_path / "gone")).read() is None
