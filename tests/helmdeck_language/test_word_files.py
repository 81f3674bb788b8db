"""Word lists in TOML: those of the package, and those that a deployment adds without Python."""

import json
import os
import tomllib
from pathlib import Path

import pytest

from helmdeck_cli import check_config
from helmdeck_core import Catalog, ConfigError, load_config
from helmdeck_language import WordFile, lexicon
from helmdeck_language.languages.language import KEYS
from helmdeck_language.text.word_files import plain_toml
from helmdeck_selection import LexicalIndex, read_catalog
from helmdeck_testing import make_deck
from tests.case_support import each_case

PLUGINS = Path(__file__).resolve().parents[2] / "plugins"
LANGUAGE = PLUGINS / "helmdeck_language"
FILES = sorted(PLUGINS.glob("*/**/*.toml"))
ITALIAN = """
code = "it"
name = "Italian"
function_words = "il la le di e mi"
determiners = "il la le"
strong_joints = "poi"
negators = ["non"]
[verbs]
list = "elenca"
show = "mostrami"
[words]
invoice = "fattura fatture"
weather = "meteo"
[prepositions]
of = "di"
"""
BILLING = """
synonyms = ["dunning invoice"]
[broader]
invoice = "remittance"
[everyday]
"invoice customer" = "debtor"
"""
TOOLS = {
    "tools": [
        {"name": "list_invoices", "description": "List the invoices of a customer."},
        {
            "name": "get_weather",
            "description": "Get the weather of a city.",
            "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
        {"name": "send_email", "description": "Send an email."},
    ]
}


def catalog() -> Catalog:
    return read_catalog(TOOLS, "tools")


@pytest.fixture
def words(tmp_path):
    folder = tmp_path / "words"
    folder.mkdir()
    (folder / "it.toml").write_text(ITALIAN, encoding="utf-8")
    (folder / "billing.toml").write_text(BILLING, encoding="utf-8")
    return str(folder)


@pytest.fixture
def sources(tmp_path):
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS), encoding="utf-8")
    return [str(tmp_path / "tools.json")]


def first(request, words=""):
    best = LexicalIndex(catalog(), words=words).rank(request).scores[0]
    return best.id if best.score else None


@each_case("path", FILES)
def test_every_file_of_the_package_says_what_it_is_and_has_lists_only(path):
    assert path.read_text(encoding="utf-8").startswith("# ")
    file = WordFile.read(path)
    for key, value in file.values.items():
        if isinstance(value, dict) and not all(isinstance(each, str) for each in value.values()):
            assert all(file.table(key).lines(each) for each in value)
        elif isinstance(value, dict):
            assert file.rows(key)
        elif isinstance(value, (list, str)):
            assert file.lines(key) if isinstance(value, list) else file.words(key)


@each_case("request", ["the dunning run", "all remittances", "our debtors"])
def test_words_of_a_domain_find_entries(request, words):
    assert first(request) is None
    assert first(request, words) == "list_invoices"
    assert first("send an email", words) == "send_email"


def test_a_language_of_a_file_is_planned(words, sources):
    config = {"model": "local/lexical", "providers": {"local": {"options": {"words": words}}}}
    request = "mostrami il meteo di Roma, poi elenca le fatture"
    with make_deck(config=config, catalog_sources=sources) as deck:
        plan = deck.plan(request)
    assert [(step.tool, dict(step.args)) for step in plan.steps] == [
        ("get_weather", {"city": "Roma"}), ("list_invoices", {}),
    ]  # fmt: skip


def test_the_setting_of_the_ranker_reaches_its_index(words, sources):
    configs = [{"selection": {"rankers": {"lexical": {"words": each, "meaning": 0.0}}}} for each in (words, "")]
    with make_deck(config=configs[0], catalog_sources=sources) as deck:
        assert deck.explain("our debtors").ranking.scores[0].score > 0
    with make_deck(config=configs[1], catalog_sources=sources) as deck:
        assert deck.explain("our debtors").ranking.scores[0].score == 0


def test_a_file_adds_words_to_a_language_that_exists(tmp_path):
    path = tmp_path / "more.toml"
    path.write_text('code = "de"\nname = "German"\nnegators = ["bitte keinesfalls"]\n[verbs]\nlist = "tabelliere"\n')
    before, after = (next(each for each in lexicon(own).languages if each.code == "de") for own in ("", str(path)))
    assert after.verbs == {**before.verbs, "tabelliere": "list"}
    assert after.negators["bitte"][0] == ("bitte", "keinesfalls")
    assert after.negators["nicht"] == before.negators["nicht"] and after.words == before.words
    assert len(lexicon(str(path)).languages) == len(lexicon().languages)


@each_case(
    ("text", "problem"),
    [
        ("code = 'it'\nname = 'Italian'\njoint = 'e'", "joint: unknown key (did you mean 'joints'?), found 'joint'; allowed: action_"),
        ("code = 'it'\nname = 'Italian'\njoints = ['e']", "joints: wrong value, found ['e']; allowed: a string of words"),
        ("code = 'it'\nname = 'Italian'\nnegators = 'non'", "negators: wrong value, found 'non'; allowed: an array of strings"),
        ("code = 'it'\nname = 'Italian'\nnegators = ['']", "negators: wrong value, found ''; allowed: an array of strings, none"),
        ("code = 'it'\nname = 'Italian'\nverbs = 'elenca'", "verbs: wrong value, found 'elenca'; allowed: a table of strings"),
        ("code = 'it'\nname = 'Italian'\n[verbs]\nlist = 3", "verbs.list: wrong value, found 3; allowed: a string of words"),
        ("code = 'fi'\nname = 'Finnish'\n[stems]\nlight = 'valo+'", "stems.light: wrong value, found 'valo+'; allowed: stems, or parts"),
        ("code = 'fi'\nname = 'Finnish'\nlongest_ending = 99", "longest_ending: wrong value, found 99; allowed: a number from 0 to 12"),
        ("code = 'nl'\nname = 'Dutch'\ncompounds = 'yes'", "compounds: wrong value, found 'yes'; allowed: true or false"),
        ("name = 'Italian'", "code: missing; allowed: the code of a language"),
        ("code = 'it'", "name: missing; allowed: the English name of the language"),
        ("synonym = ['a b']", "synonym: unknown key (did you mean 'synonyms'?), found 'synonym'; allowed: broader, everyday, synonyms"),
        ("synonyms = 'a b'", "synonyms: wrong value, found 'a b'; allowed: an array of strings"),
        ("synonyms = [", "Invalid value"),
        (None, "No such file or directory; allowed: a readable file"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_an_error_with_file_key_value_and_what_is_allowed(text, problem, tmp_path):
    path = tmp_path / ("missing.toml" if text is None else "own.toml")
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as raised:
        lexicon(str(path))
    assert str(path) in str(raised.value) and problem in str(raised.value)


def test_mistakes_of_all_keys_and_files_are_reported_at_once(tmp_path):
    texts = {
        "billing": "synonyms = ['a b', '', 3]\nbroader = 'x'",
        "it": "name = 'Italian'\njoint = 'e'\nlongest_ending = 99\njoints = ['e']\n[verbs]\nlist = 3\nshow = 4\n[values]\nno = 'x'",
        "zz": "synonyms = [",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as raised:
        lexicon(str(tmp_path))
    places = [each.where.removeprefix(f"{tmp_path}{os.sep}") for each in raised.value.mistakes]
    assert places == [
        *(f"billing.toml: {key}" for key in ("synonyms", "synonyms", "broader")),
        *(f"it.toml: {key}" for key in ("joint", "code", "longest_ending", "joints", "verbs.list", "verbs.show", "values.no")),
        "zz.toml",
    ]  # fmt: skip


@each_case(
    ("config", "where"),
    [
        ({"selection": {"rankers": {"lexical": {"words": "own.toml"}}}}, "selection.rankers.lexical: "),
        ({"providers": {"local": {"options": {"words": "own.toml"}}}}, "providers.local.options.words: "),
    ],
)
def test_config_check_reports_the_mistakes_of_word_files_one_by_one(config, where, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.toml").write_text("synonyms = 'a b'\nbroader = 3", encoding="utf-8")
    ((section, values),) = config.items()
    arguments = {("model",): ("local/lexical", "model"), (section,): (values, "test")}
    mistakes = check_config(load_config(start=tmp_path, environ={}, arguments=arguments)).mistakes
    assert [each.where.rpartition(where)[2] for each in mistakes] == [
        f"{tmp_path}{os.sep}own.toml: {key}" for key in ("synonyms", "broader")
    ]
    assert "cannot be used" not in str(mistakes)


def test_a_mistake_of_a_word_file_is_one_of_the_configuration_and_not_of_the_ranker(tmp_path, sources):
    (tmp_path / "own.toml").write_text("synonyms = 'a b'", encoding="utf-8")
    config = {"selection": {"rankers": {"lexical": {"words": str(tmp_path / "own.toml")}}}}
    with make_deck(config=config, catalog_sources=sources) as deck, pytest.raises(ConfigError, match=r"own\.toml: syn"):
        deck.explain("our debtors")


def test_every_key_of_a_language_is_on_the_page():
    page = (PLUGINS.parent / "docs" / "how-to" / "tune-the-ranking.md").read_text(encoding="utf-8")
    assert [key for key in KEYS if f"`{key}`" not in page and f"`[{key}]`" not in page] == []


def test_a_changed_file_is_read_again_and_an_unchanged_one_is_not(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text('synonyms = ["dunning invoice"]', encoding="utf-8")
    before = lexicon(str(path))
    assert lexicon(str(path)) is before
    path.write_text('synonyms = ["dunning reminder"]', encoding="utf-8")
    os.utime(path, ns=(1, 1))
    assert "remind" in lexicon(str(path)).synonyms("dun")


def test_files_of_the_package_are_read_without_the_slow_parser():
    read = {path: plain_toml(path.read_text(encoding="utf-8")) for path in FILES if path.is_relative_to(LANGUAGE)}
    assert {path.name for path, found in read.items() if found is None} <= {"cues.toml"}
    for path, found in read.items():
        assert found in (tomllib.loads(path.read_text(encoding="utf-8")), None), path


@each_case(
    "text",
    [
        'a = "x"  # comment',
        'a = "\\n"',
        'a.b = "x"',
        'a = "x"\na = "y"',
        "[a]\n[a]",
        "a = 010",
        "a = '''x''''",
        "a = { b = 1 }",
        'a = ["x" "y"]',
        "nonsense",
    ],
)
def test_other_toml_is_left_to_the_parser(text):
    assert plain_toml(text) is None
