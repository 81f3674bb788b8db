"""Entries that are close to a request in meaning: what they add to the ranking by words."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from helmdeck_core import Catalog
from helmdeck_language import scan
from helmdeck_selection import meaning_model, similarity
from helmdeck_selection.lexical import helmdeck_rankers
from helmdeck_selection.meaning.catalog_vectors import CatalogVectors
from helmdeck_selection.meaning.features import request_features, text_features
from tests.case_support import each_case

TOOLS = {
    "track_shipment": "Return the delivery status of a shipment.",
    "issue_refund": "Refund a payment.",
    "create_appointment": "Schedule an appointment in the calendar.",
    "set_thermostat": "Set the temperature of a room.",
    "translate_text": "Translate a text into another language.",
    "transfer_funds": "Transfer funds between two accounts.",
    "get_forecast": "Get the weather forecast of a city.",
    "play_track": "Play a song.",
    "list_invoices": "List unpaid invoices.",
}


def catalog(tools=TOOLS):
    packs = [{"name": name, "description": text} for name, text in tools.items()]
    return Catalog.from_data({"packs": packs, "pipelines": []}, "meanings")


def index(entries=None, **weights):
    return helmdeck_rankers()[0].index(entries or catalog(), cache=False, **weights)


@each_case(
    ("request_text", "tool"),
    [("who still owes us", "list_invoices"), ("wire the rent to my landlord", "transfer_funds")],
)
def test_everyday_wording_finds_an_entry_that_shares_no_word(request_text, tool):
    best = index().rank(request_text).scores[0]
    assert best.id == tool and "meaning:" in str(best.matched)
    assert index(meaning=0.0).rank(request_text).ids[0] != tool


def test_each_of_several_clauses_finds_its_entry():
    ranking = index().rank("Where has my parcel got to? Then put on some music.")
    assert set(ranking.ids[:2]) == {"track_shipment", "play_track"}


def test_each_part_of_a_clause_finds_its_entry():
    ranking = index().rank("I'd like it warmer, a tune to dance to, my money back")
    assert len(ranking.clauses) == 1
    assert set(ranking.ids[:3]) == {"set_thermostat", "play_track", "issue_refund"}


def test_probable_entry_among_similar_ones_precedes_a_shared_word():
    kinds = "bar line area scatter radar funnel histogram boxplot treemap bubble waterfall sankey".split()
    charts = {f"generate_{kind}_chart": f"Generate a {kind} chart." for kind in kinds}
    shops = {
        "buy_cake": "Buy a cake from a bakery.",
        "list_shops": "List shops that sell food.",
        "plot_route": "Plot a route.",
    }
    tools = charts | shops | {"generate_pie_chart": "Generate a pie chart, slices of a whole."}
    assert index(catalog(tools)).rank("show the shares as slices of a round cake").ids[0] == "generate_pie_chart"


@each_case("request_text", ["frobnicate the quxifier", "გააკეთე ამინდი", "", "..."])
def test_request_of_unknown_words_is_ranked_by_words_alone(request_text):
    assert index().rank(request_text) == index(meaning=0.0).rank(request_text)


def test_request_of_many_clauses_is_ranked_by_words_alone():
    request = "Play a song. Refund a payment. Get the forecast. Transfer the funds. Then track the shipment."
    assert index().rank(request) == index(meaning=0.0).rank(request)


def test_translated_words_are_compared():
    assert "meaning:" in str(index().rank("Ist mein Paket schon unterwegs?").scores[0].matched)


def test_large_catalog_is_ranked_by_words_alone():
    large = catalog(TOOLS | {f"job_{number}": f"Job {number} of the archive." for number in range(1_000)})
    request = "wire the rent to my landlord"
    assert index(large).rank(request) == index(large, meaning=0.0).rank(request)


def test_packed_similarities_are_those_of_the_vectors():
    model, entries = meaning_model(), catalog().entries
    request = model.of_request(scan("where has my parcel got to"))
    packed = CatalogVectors(entries, model).similarities(request)
    assert packed == pytest.approx([similarity(request, model.of_entry(entry)) for entry in entries], abs=0.005)


@each_case(
    "text",
    [
        "Show Ada's orders, please?",
        "what did we spend last week's budget on",
        "remind me tomorrow at noon",
        "l'heure d'ouverture",
        "mail report.pdf to ann@example.org",
        "SELECT name FROM users",
        "it's well-known: e.g. this (one)",
    ],
)
def test_text_has_the_features_of_its_tokens(text):
    assert text_features(text) == request_features(scan(text))


def test_threads_get_the_same_ranking():
    requests = ["where has my parcel got to", "do I need an umbrella", "it's freezing in here"] * 8
    shared = index()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(shared.rank, requests)) == [index().rank(request) for request in requests]
