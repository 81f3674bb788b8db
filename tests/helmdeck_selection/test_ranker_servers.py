"""Entries of one server lift each other."""

from __future__ import annotations

from helmdeck_core import Catalog, RankIndex
from helmdeck_selection.lexical import helmdeck_rankers
from helmdeck_selection.lexical.scores.servers import LABEL

MAIL = [
    {"name": "gmail_download_attachment", "description": "Download the attachment of a mail."},
    {"name": "gmail_list_labels", "description": "Labels of a mailbox, such as trip."},
    {"name": "gmail_delete_label", "description": "Delete a label such as trip."},
]
OTHERS = [
    {"name": f"tool{number}", "description": f"Frobnicate a {noun} for a trip."}
    for number, noun in enumerate(("ship", "cake", "horse", "stone", "river", "tree", "lamp", "coat", "door", "song"))
]
REQUEST = "download the attachment for my trip, and frobnicate the ship"
SURE = "download the attachment for my trip"


def index(*tools: dict[str, str], source: str = "tools") -> RankIndex:
    catalog = Catalog.from_data({"packs": list(tools), "pipelines": []}, source)
    return helmdeck_rankers()[0].index(catalog, meaning=0.0)


def lifted(ranking_index: RankIndex, request: str = REQUEST) -> set[str]:
    return {score.id for score in ranking_index.rank(request).scores if LABEL in score.matched}


def test_entries_of_the_server_of_the_best_entry_are_lifted_and_look_ups_more():
    ranking = index(*MAIL, *OTHERS).rank(REQUEST)
    found = ["gmail_download_attachment", "tool0", "gmail_list_labels", "gmail_delete_label", "tool1"]
    assert [each for each in ranking.ids if each in found] == found
    assert LABEL in ranking.scores[ranking.ids.index("gmail_list_labels")].matched


def test_sure_ranking_stays_as_it_is():
    ranking = index(*MAIL, *OTHERS).rank(SURE)
    assert ranking.is_confident()
    assert lifted(index(*MAIL, *OTHERS), SURE) == set()


def test_entry_that_shares_no_word_with_the_request_is_not_lifted():
    tools = [*MAIL[:2], {"name": "gmail_delete_label", "description": "Remove it."}, *OTHERS]
    assert "gmail_delete_label" not in lifted(index(*tools))


def test_source_of_a_merged_catalog_is_a_server():
    plain = [{**each, "name": each["name"].removeprefix("gmail_").replace("list", "show")} for each in MAIL]
    parts = [("mail", plain), ("a", OTHERS[:3]), ("b", OTHERS[3:6]), ("c", OTHERS[6:])]
    catalogs = [Catalog.from_data({"packs": tools, "pipelines": []}, source) for source, tools in parts]
    merged = Catalog(entry for catalog in catalogs for entry in catalog.entries)
    assert lifted(helmdeck_rankers()[0].index(merged, meaning=0.0)) == {"show_labels", "delete_label", "tool1", "tool2"}


def test_first_word_that_names_no_server_lifts_nothing():
    verbs = [{**each, "name": each["name"].replace("gmail", "get")} for each in MAIL]
    nouns = [{"name": f"{each['name']}_gmail", "description": "Frobnicate."} for each in OTHERS]
    assert lifted(index(*verbs, *OTHERS)) == set()
    assert lifted(index(*MAIL, *nouns)) == set()
    assert lifted(index(*MAIL)) == set()


def test_neighbours_that_share_rare_words_are_a_server_where_most_entries_have_such_neighbours():
    nouns = "mailbox tram oven"
    runs = [
        {"name": f"{verb}{noun}", "description": f"Frobnicates the {noun} {noun}meter for a trip."}
        for noun in nouns.split()
        for verb in ("attach", "paint", "weigh", "fold")
    ]
    assert lifted(index(*runs, *OTHERS), "the mailbox") == {each["name"] for each in runs[:4]}
    mixed = sorted([*runs, *OTHERS], key=lambda each: each["name"])
    assert lifted(index(*mixed), "the mailbox") == set()


def test_best_entries_of_each_part_of_the_request_name_the_part():
    ranking = index(*OTHERS).rank("frobnicate a ship, then frobnicate a lamp and frobnicate a coat")
    parts = {score.id: [label for label in score.matched if label.startswith("part ")] for score in ranking.scores[:3]}
    assert parts == {"tool0": ["part 1"], "tool6": ["part 2"], "tool7": ["part 3"]}
