"""One command plans and runs a request with the shipped packs: a fact, a blog draft and an image, offline."""

import json
from pathlib import Path

import pytest

from helmdeck_testing import chat_server, completion, make_deck
from helmdeck_testing.servers import next_step, prompt_text
from tests.cli_support import Cli, leave_the_machine

ROOT = Path(__file__).parents[2]
REQUEST = "remember this, draft a blog post about it, and make an illustration"
WANTED = ("helmdeck.memory_store", "blog.draft", "image.generate")
POST = json.dumps({"title": "Gannet 2", "body": "A model for the machine under the desk, written by a scripted model."})


@pytest.fixture
def cli(capsys, monkeypatch, tmp_path):
    leave_the_machine(monkeypatch, tmp_path, autoload=False)
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("HELMDECK_HISTORY__URL", f"sqlite:{tmp_path}/history.db")
    with make_deck() as deck:
        missing = [name for name in WANTED if name not in _packs(deck)]
    if missing:
        pytest.skip(f"the packs {', '.join(missing)} are not part of this installation")
    return Cli(capsys)


def _packs(deck):
    from helmdeck_core import Pack

    return deck.runtime.contributed(Pack)


def run(cli, *options):
    document = str(ROOT / "docs" / "examples" / "announcement.txt")
    done = cli("agent", "--document", document, "--yes", "--json", *options, REQUEST)
    assert done.code == 0, done
    return done.data


def check(data):
    """Every step succeeded; the image is a file."""
    assert [each["entry_id"] for each in data["steps"]] == list(WANTED)
    outputs = [each["output"] for each in data["steps"]]
    assert outputs[0]["memory_id"]
    assert outputs[1]["markdown"].startswith("#")
    image = Path(outputs[2]["image"])
    assert image.read_text(encoding="utf-8").startswith("<svg")
    return outputs


def test_embedded_planner_and_extractive_draft(cli):
    outputs = check(run(cli))
    assert "Gannet 2" in outputs[1]["markdown"]
    assert outputs[1]["method"] == "extractive"
    found = cli("run", "helmdeck.memory_search", "--input", "query=Gannet").data
    assert "TIDEWRACK" in json.dumps(found)


def test_model_behind_a_loopback_server_plans_step_by_step_and_writes_the_draft(cli, tmp_path):
    def answer(body):
        prompt = prompt_text(body)
        if '"packs"' not in prompt:
            return completion(POST)
        plan = json.loads(next_step(prompt, WANTED))
        for step in plan["steps"]:
            step["args"] = {"text": "Gannet 2 was released", "brief": "Gannet 2", "prompt": "a gannet"}
            allowed = {WANTED[0]: "text", WANTED[1]: "brief", WANTED[2]: "prompt"}[step["tool"]]
            step["args"] = {allowed: step["args"][allowed]}
        return completion(json.dumps(plan))

    with chat_server(answer) as server:
        settings = f'model = "loopback/any"\n[providers.loopback]\nkind = "openai"\nbase_url = "{server.base_url}"\n'
        (tmp_path / "loop.toml").write_text(settings, encoding="utf-8")
        data = run(cli, "--config", str(tmp_path / "loop.toml"))
    outputs = check(data)
    assert "written by a scripted model" in outputs[1]["markdown"]
    assert [plan["variant"] for plan in data["plans"]] == ["single_pick"] * 3
