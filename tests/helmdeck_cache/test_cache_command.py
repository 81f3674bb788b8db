"""``helmdeck cache`` shows and deletes the answers of a store; ``config check`` reports mistakes of ``[cache]``."""

import asyncio
import json

import pytest

from helmdeck_cache import CachedDeck
from helmdeck_core.cli import main
from helmdeck_testing import make_deck, scripted_provider


@pytest.fixture
def config(tmp_path):
    store = f"sqlite:{tmp_path / 'cache.db'}"
    deck = make_deck(scripted_provider(["1", "2"]), config={"cache": {"store": store}}, model="scripted/m")

    async def fill():
        cached = CachedDeck(deck)
        for caller in ("ada", "bob"):
            await cached.acomplete("q", caller=caller)
        await cached.aclose()

    asyncio.run(fill())
    file = tmp_path / "helmdeck.toml"
    file.write_text(f'[cache]\nstore = "{store}"\n')
    return str(file)


def run(capsys, *words):
    code = main([*words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_answers_are_counted_and_deleted_by_caller(config, capsys):
    code, stats = run(capsys, "cache", "stats", "--config", config)
    assert (code, stats["exact"]["answers"], stats["exact"]["tenants"]) == (0, 2, 2)
    assert run(capsys, "cache", "clear", "--caller", "ada", "--config", config) == (0, {"deleted": 1})
    assert run(capsys, "cache", "clear", "--config", config) == (0, {"deleted": 1})


def test_the_command_reports_that_a_cache_in_memory_belongs_to_another_process(tmp_path, capsys):
    file = tmp_path / "helmdeck.toml"
    file.write_text("")
    assert main(["cache", "stats", "--config", str(file)]) == 0
    assert "belong to the process" in capsys.readouterr().err


def test_mistakes_of_the_settings_are_reported_by_config_check(tmp_path, capsys):
    file = tmp_path / "helmdeck.toml"
    file.write_text('[cache]\nmode = "yes"\nstore = "mysql:x"\n')
    assert main(["config", "check", "--config", str(file)]) != 0
    shown = capsys.readouterr()
    assert "cache.mode" in shown.out + shown.err
    assert "cache.store" in shown.out + shown.err


def test_explain_shows_where_an_answer_came_from(tmp_path, capsys):
    traces = {"sinks": ["traces"], "options": {"traces": {"file": str(tmp_path / "traces.db")}}}
    deck = make_deck(scripted_provider(["1"]), config={"events": traces}, model="scripted/m")

    async def calls():
        for _ in range(2):
            await CachedDeck(deck, caches).acomplete("q")

    caches = CachedDeck(deck).caches
    asyncio.run(calls())
    deck.close()
    file = tmp_path / "helmdeck.toml"
    file.write_text(f'[events]\nsinks = ["traces"]\n[events.options.traces]\nfile = "{tmp_path / "traces.db"}"\n')
    assert main(["explain", "--run", "last", "--config", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "answer_reused" in shown
    assert "exact" in shown
