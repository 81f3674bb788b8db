"""What the lexical ranker reads besides words: the language of a request, its values, and parameters that need a look-up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helmdeck_core import Catalog
from helmdeck_core.domain.ranking import Ranking, is_unsure, should_escalate
from helmdeck_language.languages.detection import CatalogLanguages, everyday_words
from helmdeck_language.text.terms import word_terms
from helmdeck_selection.lexical import helmdeck_rankers
from helmdeck_selection.lexical.scores.value_hints import value_terms
from helmdeck_testing import make_deck
from tests.case_support import each_case

ROOT = Path(__file__).parents[2]
UNKNOWN = "lexical.unknown_language"


def index(*tools):
    catalog = Catalog.from_data({"packs": list(tools), "pipelines": []}, "test")
    return helmdeck_rankers()[0].index(catalog, meaning=0.0)


def tool(name, description, *required):
    schema = {"type": "object", "properties": {each: {} for each in required}, "required": list(required)}
    return {"name": name, "description": description, "input_schema": schema}


def ids(ranking: Ranking, count=20):
    return [score.id for score in ranking.scores if score.score > 0][:count]


OFFICE = (
    tool("send_email", "Send an email to one or more people."),
    tool("get_weather", "Get the current weather for a city."),
    tool("draw_image", "Generate an image from a description."),
)
GERMAN = (
    tool("wetter", "Liefert das aktuelle Wetter für eine Stadt."),
    tool("brief", "Schreibt einen Brief und schickt ihn an eine Person."),
    tool("bild", "Zeichnet ein Bild nach einer Beschreibung."),
)
CHINESE = (
    tool("weather", "获取一个城市的当前天气。"),
    tool("letter", "给一个人写信并寄出。"),
    tool("picture", "根据描述画一张图片。"),
)
REQUESTS = {
    "en": "Please draw an image of a ship and send it to Ada by email.",
    "de": "Zeichne mir bitte ein Bild von einem Schiff und schick es an Ada.",
    "fr": "Dessine un bateau et envoie-le à Ada par courriel, s'il te plaît.",
    "es": "Dibuja un barco y envíaselo a Ada por correo, por favor.",
    "it": "Che tempo fa oggi nella città di Milano?",
    "ja": "船の絵を描いてアダにメールで送ってください。",
    "zh": "请画一艘船的图片，然后用邮件发给艾达。",
    "ar": "ارسم سفينة وأرسلها إلى آدا بالبريد الإلكتروني.",
    "ru": "Нарисуй корабль и отправь его Аде по почте.",
}


@each_case("language", REQUESTS)
@each_case(("tools", "used"), [(OFFICE, "en"), (GERMAN, "de"), (CHINESE, "zh")], ids=["en", "de", "zh"])
def test_request_in_a_language_of_no_entry_is_reported_and_never_sure(tools, used, language):
    ranking = index(*tools).rank(REQUESTS[language])
    # Japanese over a Chinese catalog shares a script: its kana tell it apart.
    is_foreign = language != used
    assert (UNKNOWN in ranking.notes) == is_foreign == (not ranking.is_reliable)
    if is_foreign:
        assert ranking.confidence == 0.0 and is_unsure(ranking) and should_escalate(ranking)
        assert ranking.clause_best == ()


@each_case(
    "request_text",
    [
        "weather",
        "Lyon",
        "",
        "?!",
        "17 * 23",
        "send “Das ist ein Satz und noch einer” to Ada",
        "open https://de.example.org/das/ist/ein/pfad and draw it",
        "Translate the word Zeitgeist",
        "café near the Champs-Élysées",
    ],
)
def test_names_numbers_quotations_and_addresses_do_not_make_a_request_foreign(request_text):
    assert index(*OFFICE).rank(request_text).notes == ()


def test_nearly_every_request_in_another_language_is_recognised():
    languages = CatalogLanguages.of(make_deck().catalog.entries)
    blocks = (ROOT / "benchmarks" / "selection" / "languages.txt").read_text(encoding="utf-8").split("\n\n")
    lines = [line for block in blocks for line in block.splitlines() if line[:1] not in "#="]
    missed = [line for line in lines if languages.lack(line[3:]) != (line[:2] != "en")]
    assert len(lines) == 210
    assert not [line for line in missed if line.startswith("en")] and len(missed) <= 6


def test_no_request_is_foreign_to_a_catalog_of_all_languages():
    languages = CatalogLanguages(frozenset({"Latin"}), frozenset(everyday_words().by_language))
    assert not any(languages.lack(REQUESTS[code]) for code in ("en", "de", "fr", "es", "it"))


def test_selection_and_explanation_carry_the_label():
    config = {
        "budgets": {"acme/": {"max_catalog_bytes": 4_000}},
        "providers": {"acme": {"kind": "openai", "base_url": "http://127.0.0.1:9/v1"}},
    }
    with make_deck(config=config) as deck:
        explanation = deck.explain(REQUESTS["ar"], model="acme/small")
    assert UNKNOWN in explanation.selection.record.dropped
    assert "lexical.low_confidence" in explanation.selection.record.dropped


@pytest.mark.parametrize("language", ["ja", "zh", "ar", "ru"])
def test_local_planner_reports_a_language_that_it_and_the_catalog_lack(language):
    with make_deck(config={"model": "local/lexical"}) as deck:
        plan = deck.plan(f"{REQUESTS[language]} 17 4 Slack")
    assert {step.tool for step in plan.steps} == {"unknown"} or all("GAP" in step.rationale for step in plan.steps)
    assert all("a language that the catalog does not use" in step.rationale for step in plan.steps)


# -- values ----------------------------------------------------------------------------------------------

FILES = tool("write_file", "Create a new file or overwrite one.")
SERVERS = (
    FILES,
    tool("browser_navigate", "Navigate to a URL."),
    tool("post_message", "Post a message to a channel.", "channel_id"),
    tool("list_channels", "List the rooms of a workspace."),
    tool("fork", "Fork a repository."),
    tool("sum", "Add two numbers."),
    tool("convert", "Convert a time to another zone."),
    tool("show", "Print what a commit changed."),
    tool("add_row", "Add rows to a workbook."),
    tool("add_slide", "Add a slide."),
    tool("crop", "Cut an image."),
    tool("trim", "Cut a video."),
    tool("rates", "Rates of a currency."),
    tool("archive", "Temperature of a past day."),
    tool("geocode", "Address of a latitude and a longitude."),
)


@each_case(
    ("request_text", "needed"),
    [
        ("Put the result into notes.md", "write_file"),
        ("Look at /var/log/syslog", "write_file"),
        ("What do they charge on example.org?", "browser_navigate"),
        ("Tell the people in #support", "post_message"),
        ("Take a copy of acme/shop", "fork"),
        ("How much is 12 plus 30?", "sum"),
        ("What is 3 pm in Lima here?", "convert"),
        ("What is in 3f9c2aa?", "show"),
        ("Put the sums into /tmp/sums.XLSX", "add_row"),
        ("One more for talk.pptx", "add_slide"),
        ("Make /photos/1.jpg smaller", "crop"),
        ("Shorten clip.mp4", "trim"),
        ("What is £400 in Porto?", "rates"),
        ("Was it 35 degrees in Siena?", "archive"),
        ("What is at 52.09, 5.12?", "geocode"),
    ],
)
def test_kind_of_a_value_finds_the_entry_that_takes_it(request_text, needed):
    assert needed in ids(index(*SERVERS).rank(request_text))


@each_case(
    "text",
    [
        "and/or",
        "version 3.11",
        "#1",
        "mail ada@example.org",
        "he/she",
        "24/7",
        "e.g. this",
        "1234567",
        "decade",
        "turn it by 90 degrees",
    ],
)
def test_text_that_only_looks_like_a_value_stands_for_nothing(text):
    assert value_terms(text) == {}


@pytest.mark.parametrize(
    "request_text",
    [
        "Save the list in prices.csv",
        "Put the totals into out/sums.md",
        "store them in a file",
        "a file called todo.txt",
    ],
)
def test_file_that_a_request_saves_needs_the_entry_that_writes(request_text):
    assert {*word_terms("write"), *word_terms("file")} <= value_terms(request_text).keys()


@pytest.mark.parametrize("request_text", ["Open prices.csv", "what is in notes.md", "which file is largest"])
def test_file_that_a_request_reads_needs_no_entry_that_writes(request_text):
    assert value_terms(request_text).keys().isdisjoint(word_terms("write"))


@each_case(
    ("name", "is_file"),
    [("a.pdf.", True), ("a.pdf...", True), ("a.pdf.y", False), ("a.pdfs", False), ("a.pdf.pdf", True)],
)
def test_file_name_ends_with_its_extension(name, is_file):
    assert (value_terms(name) != {}) is is_file


def test_path_of_a_file_is_no_repository():
    assert value_terms("src/app.py").keys() == value_terms("app.py").keys()
    assert (
        value_terms("src/app.py in acme/shop").keys() == value_terms("app.py").keys() | value_terms("acme/shop").keys()
    )


def test_values_of_a_pasted_document_stand_for_nothing():
    document = (ROOT / "tests" / "data" / "documents" / "minutes.txt").read_text(encoding="utf-8")
    document += "\nSee minutes.docx on example.org and #archive."
    request = f"{document}\n\nPlease add these two numbers for me."
    assert ids(index(*SERVERS).rank(request), 1) == ["sum"]


# -- companions ------------------------------------------------------------------------------------------


def test_look_up_of_a_required_id_is_ranked_behind_the_entry_that_needs_it():
    ranking = index(*SERVERS).rank("post a message")
    assert ids(ranking) == ["post_message", "list_channels"]
    assert ranking.scores[1].matched == ("companion of post_message",)


def test_look_up_for_an_entry_without_a_schema_follows_in_short_requests_only():
    talk = {
        "name": "post_message",
        "description": "Post a message to a channel.",
        "metadata": {"accepts": ["channel_id"]},
    }
    tools = (talk, {"name": "list_rooms", "description": "x"}, {"name": "list_channels", "description": "y"})
    found = index(*tools).rank("post a message to Ada")
    assert ids(found) == ["post_message", "list_channels"]
    assert found.scores[1].matched == ("companion of post_message",)
    assert ids(index(*tools).rank("Post a message. Draw a ship. Paint a wall. Cook a soup.")) == ["post_message"]


def test_number_in_the_request_needs_no_look_up():
    issues = (tool("close_issue", "Close a bug.", "issue_number"), tool("list_issues", "Show tickets."), *OFFICE)
    assert "companion of close_issue" in index(*issues).rank("close the newest bug").scores[1].matched
    assert "companion of close_issue" not in index(*issues).rank("close bug 12").scores[1].matched


def test_entry_that_needs_an_id_of_the_best_look_up_is_lifted():
    others = (tool("log_trip", "Log a trip."), tool("log_video", "Log a video."))
    tools = (tool("find_patient", "Find a patient by name."), tool("log_dose", "Log a dose.", "patient_id"), *others)
    found = index(*tools).rank("log it for the patient Ada Lund")
    assert ids(found, 2) == ["find_patient", "log_dose"] and "needs find_patient" in found.scores[1].matched
    assert "needs find_patient" not in str([score.matched for score in index(*tools).rank("log a dose").scores])


def test_look_up_of_the_same_server_is_preferred():
    first = Catalog.from_data({"packs": [tool("a_list_users", "People.")], "pipelines": []}, "a")
    second = Catalog.from_data(
        {"packs": [tool("z_get_users", "Members."), tool("ban", "Ban a member.", "userId")], "pipelines": []}, "z"
    )
    ranking = helmdeck_rankers()[0].index(first.merged(second)).rank("ban")
    assert ids(ranking) == ["ban", "z_get_users"]


@each_case(
    ("needed", "look_up", "others"),
    [
        ("movie_id", ("search_movies", "Find films."), [("get_upcoming_movies", "Films of the next weeks.")]),
        ("work_key", ("search_books", "Find works; returns the work key."), [("search_authors", "Find people.")]),
        ("from_station_id", ("find_station", "By name."), [("list_trains", "Trains of a station.")]),
        ("lat", ("geocode", "Turns a street into coordinates."), [("find_shops", "Shops of a town.")]),
        (
            "pmid",
            ("articles", "Articles about a subject, each with its PMID."),
            [("search_trials", "Clinical trials.")],
        ),
        ("stock_symbols", ("find_symbol", "By the name of a company."), [("list_trades", "Trades of a symbol.")]),
        ("channelId", ("rooms", "All rooms with the id of the channel."), [("list_groups", "Groups of people.")]),
        ("user_id", ("get_users", "All members."), [("get_user_settings", "Settings.")]),
        ("team_id_2", ("find_teams", "By name."), [("list_matches", "Matches of a team.")]),
        ("player1_id", ("players", "All names with the player id."), [("list_scores", "Scores of a player.")]),
        ("fdcId", ("foods", "Foods, each with its fdcId."), [("list_fdc_news", "News.")]),
    ],
)
def test_look_up_is_the_entry_that_promises_the_id(needed, look_up, others):
    needing = tool("frobnicate", "Frobnicates.", needed)
    found = index(needing, tool(*look_up), *(tool(*other) for other in others), *OFFICE).rank("frobnicate it")
    assert ids(found, 3) == ["frobnicate", look_up[0]]


@each_case("parameter", ["id", "from_id", "ID"])
def test_id_alone_identifies_what_the_name_of_its_entry_names(parameter):
    tools = (tool("cook_recipe", "Starts the oven.", parameter), tool("search_recipes", "By ingredient."), *OFFICE)
    assert ids(index(*tools).rank("start the oven"), 2) == ["cook_recipe", "search_recipes"]
    tools = (tool("cook_recipe", "Starts the oven.", "code"), *tools[1:])
    assert "search_recipes" not in ids(index(*tools).rank("start the oven"))


def test_entry_that_needs_the_same_id_is_no_look_up():
    entries = (tool("ban", "Bans.", "member_id"), tool("find_member_posts", "Posts of a member id.", "member_id"))
    assert ids(index(*entries, *OFFICE).rank("ban")) == ["ban"]


@each_case("required", ["", "x", ["path"], [5, None], ["id"], ["_id"], {"a_id": 1}])
def test_parameters_of_any_shape_are_accepted(required):
    entry = {"name": "x", "description": "Frobnicates.", "input_schema": {"type": "object", "required": required}}
    assert ids(index(entry, *OFFICE).rank("frobnicates")) == ["x"]


def test_multilingual_requests_name_entries_that_exist():
    known = {entry.id for entry in make_deck().catalog.entries}
    for name in ("shop", "office", "travel"):
        path = ROOT / "benchmarks" / "first_use" / "catalogs" / f"{name}.json"
        known |= {(each.get("function") or each)["name"] for each in json.loads(path.read_text(encoding="utf-8"))}
    lines = (ROOT / "benchmarks" / "selection" / "languages.txt").read_text(encoding="utf-8").splitlines()
    assert {name for line in lines if line.startswith("= ") for name in line[2:].split()} <= known
