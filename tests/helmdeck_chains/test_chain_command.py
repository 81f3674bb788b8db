"""``helmdeck chain advise`` shows from the history store what another order would have saved, and ``explain`` the order of a call."""

import json
import re
import time
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from helmdeck_chains import kind_text
from helmdeck_console import Access, Console, Sources
from helmdeck_core import Helmdeck
from helmdeck_core.cli import main
from helmdeck_history import EvidenceRow
from helmdeck_history.stores.databases import open_sqlite
from tests.helmdeck_console.console_support import Client

KIND = kind_text(("helmdeck.plan:plan", "size0:catalog0", "ascii"))


@pytest.fixture
def config(tmp_path, monkeypatch):
    store = tmp_path / "history.db"
    file = tmp_path / "helmdeck.toml"
    file.write_text(
        f'model = "openai/strong"\n[history]\nurl = "sqlite:{store}"\n[chains]\npolicy = "adaptive"\n'
        '[fallback]\n"openai/" = ["openai/cheap", "local/lexical"]\n[chains.options]\nseed = 1\nexplore_usd_per_day = 0.0\n'
    )
    opened = open_sqlite(store, 30.0)
    period = int(time.time()) // 300 * 300
    rows = [("openai/strong", 200, 190, 0.02), ("openai/cheap", 100, 90, 0.001)]
    opened.add_evidence(
        [
            EvidenceRow("s", period, model, KIND, False, attempts, usable, attempts, usd * attempts, 2.0 * attempts)
            for model, attempts, usable, usd in rows
        ]
    )
    opened.close()
    return str(file)


def test_advice_shows_saving_interval_and_certainty(config, capsys):
    assert main(["chain", "advise", "--config", config]) == 0
    shown = capsys.readouterr().out
    assert "openai/cheap, openai/strong, local/lexical" in shown
    assert "the advised orders cost less with a probability of more than 99%" in shown
    assert main(["chain", "advise", "--config", config, "--json"]) == 0
    advice = json.loads(capsys.readouterr().out)
    share = advice["saving_share"]
    assert 0.5 < share["low"] < share["expected"] < share["high"] < 1
    assert advice["kinds"][0]["calls"] == 300


def test_the_console_shows_the_same_advice(config, tmp_path):
    with Helmdeck(file=Path(config), environ={}) as deck:
        sources = Sources(find_log=lambda: None, deck=deck)
        console = Console(sources, Access(lambda: None, open_role="viewer", is_always_open=True))
        client = Client(Starlette(routes=[Mount("/console", app=console)]))
        page = client.get("/models/chain").text
        assert "openai/cheap, openai/strong, local/lexical" in page and "helmdeck.plan:plan" in page
        assert "has no fallback models" in client.get("/models/chain?model=acme/alone").text
        (tmp_path / "history.db").unlink()
        assert 'policy = "advise"' in client.get("/models/chain").text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--days", "0"], "--days is a number above 0"),
        (["anthropic/x"], "anthropic/x has no fallback models"),
    ],
)
def test_wrong_arguments_are_usage_errors(config, capsys, arguments, message):
    assert main(["chain", "advise", "--config", config, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_explanation_of_a_request_names_the_order(config, capsys):
    assert main(["explain", "draft a post", "--config", config]) == 0
    shown = capsys.readouterr().out
    assert "least expected cost" in shown
    assert re.search(r"\d% usable \(\d+% to \d+%\)", shown)
    assert "100%" not in shown
