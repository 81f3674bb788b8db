"""``helmdeck eval selection``: labelled requests, measured with one or more rankers."""

import json
import re
from xml.etree import ElementTree

import pytest

from helmdeck_cli.evaluation.measure import evaluate
from helmdeck_cli.evaluation.requests import LabelledRequest, read_requests
from helmdeck_core import Catalog, LazyScores, Ranking
from helmdeck_core.cli import ExitCode, UsageError
from tests.cli_support import Cli, leave_the_machine

CATALOG = {
    "packs": [
        {"name": "get_weather", "description": "Current weather for a city."},
        {"name": "send_mail", "description": "Send a letter to a person."},
        {"name": "mail_search", "description": "Search the letters of a person."},
        {"name": "draw_picture", "description": "Paint an illustration."},
    ],
    "pipelines": [],
}
IDS = [pack["name"] for pack in CATALOG["packs"]]
GOOD = [
    {"request": "weather in Bonn", "tools": ["get_weather"], "language": "en", "id": "a"},
    {"request": "send Ada a letter", "tools": ["send_mail"], "language": "en"},
    {"request": "compose something nice", "tools": ["draw_picture"], "language": "en"},
    {"request": "Milline ilm tuleb lähipäevadel?", "tools": ["get_weather"], "language": "et"},
]


@pytest.fixture
def cli(monkeypatch, tmp_path, capsys):
    leave_the_machine(monkeypatch, tmp_path)
    (tmp_path / "tools.json").write_text(json.dumps(CATALOG))
    (tmp_path / "requests.jsonl").write_text("\n".join(map(json.dumps, GOOD)) + "\n\n")
    return Cli(capsys)


def evaluated(cli, *words):
    return cli("eval", "selection", "--catalog", "tools.json", "--requests", "requests.jsonl", *words)


def test_figures_and_misses_are_printed_with_their_reasons(cli):
    code, out, _ = evaluated(cli, "--k", "1,2")
    assert code == ExitCode.OK
    assert "4 requests over 4 entries" in out and re.search(r"^lexical +50\.0 +50\.0 +50\.0 +50\.0 ", out, re.MULTILINE)
    assert re.search(r"^en +3 +66\.7$", out, re.MULTILINE) and re.search(r"^et +1 +0\.0$", out, re.MULTILINE)
    assert "1 the request is in a language that the catalog does not use" in out
    assert "line 3: compose something nice" in out and "draw_picture, place 4, no_match" in out


def test_json_has_every_figure_and_every_miss(cli):
    code, out, _ = evaluated(cli, "--k", "2", "--json", "--misses", "1")
    (result,) = json.loads(out)["results"]
    assert code == ExitCode.OK and result["complete"] == {"2": 0.5} and result["requests"] == 4
    assert [(miss["line"], miss["reason"]) for miss in result["misses"]] == [(3, "no_match"), (4, "language")]


def test_rankers_and_settings_are_compared(cli):
    code, out, _ = evaluated(cli, "--ranker", "lexical", "--ranker", "lexical:synonym=0.1,clause_vote=0", "--json")
    assert code == ExitCode.OK
    assert [each["ranker"] for each in json.loads(out)["results"]] == ["lexical", "lexical:synonym=0.1,clause_vote=0"]


@pytest.mark.parametrize(
    ("ranker", "words"),
    [
        ("lexicle", "did you mean 'lexical'"),
        ("lexical:synonim=1", "did you mean 'synonym'"),
        ("lexical:x", "KEY=VALUE"),
    ],
)
def test_unknown_ranker_and_setting_are_usage_errors_with_a_suggestion(cli, ranker, words):
    code, _, err = evaluated(cli, "--ranker", ranker)
    assert code == ExitCode.USAGE and words in err


def test_curve_is_drawn_as_svg_with_one_line_per_ranker(cli, tmp_path):
    code, _, err = evaluated(cli, "--ranker", "lexical", "--ranker", "lexical:synonym=0.1", "--plot", "out.svg")
    root = ElementTree.parse(tmp_path / "out.svg").getroot()
    assert code == ExitCode.OK and "out.svg" in err
    assert len(root.findall("{*}polyline")) == 2
    assert {"lexical", "lexical:synonym=0.1"} <= {text.text for text in root.findall("{*}text")}


def test_table_of_three_sizes_fits_a_terminal_of_80_columns(cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = evaluated(cli)
    table = out.partition("\n\n")[2].partition("\n\n")[0]
    assert "@20" in table and max(map(len, table.splitlines())) <= 80


def test_plot_that_cannot_be_written_is_a_usage_error(cli):
    code, _, err = evaluated(cli, "--plot", "no/such/folder/out.svg")
    assert code == ExitCode.USAGE and "the plot cannot be written" in err


def test_every_bad_line_is_reported_with_its_number(cli, tmp_path):
    lines = [
        json.dumps(GOOD[0]),
        "{not json",
        "[]",
        '{"request": "  ", "tools": []}',
        '{"request": "x", "tools": ["get_wether"], "documents": "y"}',
        '{"request": "x", "tools": ["get_weather"], "document": 5}',
    ]
    (tmp_path / "requests.jsonl").write_text("\n".join(lines))
    code, _, err = evaluated(cli)
    assert code == ExitCode.USAGE
    for part in (
        ":2: not JSON at character 2",
        ":3: not an object",
        ":4: request: a non-empty string, found '  '",
        ":4: tools: a non-empty list of ids, found []",
        ":5: unknown key 'documents' (did you mean 'document'?)",
        ":5: tools: 'get_wether' is not in the catalog (did you mean 'get_weather'?)",
        ":6: document: a string, found 5",
    ):
        assert part in err


def test_file_without_requests_shows_the_format():
    with pytest.raises(UsageError, match="no requests; a line is"):
        read_requests("\n\n", IDS, "r.jsonl")


def test_thousands_of_bad_lines_are_counted():
    with pytest.raises(UsageError) as info:
        read_requests("x\n" * 2_000, IDS, "r.jsonl")
    assert "2,000 problems" in str(info.value) and "and 1,950 more" in str(info.value)
    assert len(str(info.value).splitlines()) < 60


# -- reasons ---------------------------------------------------------------------------------------------


def ranking_of(*order, clauses=(), matching=4):
    scores = {IDS.index(name): 4.0 - place for place, name in enumerate(order) if place < matching}
    return Ranking(LazyScores(IDS, scores), clauses)


def reasons(rank, **fields):
    request = LabelledRequest(1, "ask", ("draw_picture",), **fields)
    return dict(evaluate("own", Catalog.from_data(CATALOG, "t"), rank, [request], 1).reasons())


def test_entry_that_only_the_document_pushes_back_is_missed_for_the_document():
    def rank(text):
        return ranking_of(*(IDS if text.startswith("long") else IDS[::-1]))

    assert reasons(rank, document="long") == {"document": 1}


def test_entry_that_its_own_part_finds_is_missed_for_the_other_parts():
    def rank(text):
        return ranking_of(*(IDS[::-1] if text == "draw it" else IDS), clauses=("mail it", "draw it"))

    assert reasons(rank) == {"other_parts": 1}


def test_entry_below_better_ones_and_one_without_a_match_have_different_reasons():
    assert reasons(lambda _: ranking_of(*IDS)) == {"ranked_lower": 1}
    assert reasons(lambda _: ranking_of(*IDS, matching=2)) == {"no_match": 1}


def test_sizes_grow_with_the_entries_before_the_needed_one():
    request = LabelledRequest(1, "ask", ("get_weather", "draw_picture"))
    (outcome,) = evaluate("own", Catalog.from_data(CATALOG, "t"), lambda _: ranking_of(*IDS), [request], 4).outcomes
    assert outcome.places == (1, 4)
    assert outcome.sizes == (len(json.dumps(CATALOG["packs"][0], separators=(",", ":"))), outcome.needed_bytes)
