"""A real model on the llama-server of ``benchmarks/weak_models``; skipped where one of both is missing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from benchmarks.weak_models import llama
from helmdeck_core import ChatRequest, ChatResponse, Message, Role, TextPart
from helmdeck_testing import make_deck

TOOLS = ("get_weather", "send_email", "play_music", "set_timer")
CATALOG = {"packs": [{"name": name, "description": name.replace("_", " ")} for name in TOOLS]}


@pytest.fixture(scope="module")
def url():
    program, model = Path(os.environ.get(llama.SERVER_VARIABLE, "")), llama.MODELS["smollm2"]
    if not program.is_file():
        pytest.skip(f"set {llama.SERVER_VARIABLE} to llama-server; benchmarks/real_servers/build.sh --fast builds it")
    if not model.path.is_file():
        pytest.skip(f"there is no {model.path}; python -m benchmarks.weak_models downloads it")
    with llama.Server(program, model.path, alias=model.name, threads=1) as server:
        yield server.url


@pytest.fixture
def deck(url, tmp_path):
    source = tmp_path / "catalog.json"
    source.write_text(json.dumps(CATALOG), encoding="utf-8")
    row = {"tier": "B", "wants_strict_json": True, "prompt_variant": "single_pick", "output_tokens": 300}
    config = {
        "catalog": {"sources": [str(source)]},
        "providers": {"llamacpp": {"base_url": url, "timeout_s": 300}},
        "budgets": {"llamacpp/": row},
    }
    with make_deck(config=config) as deck:
        yield deck


def test_constrained_choice_of_a_real_model_is_an_existing_tool(deck):
    plan = deck.plan("what is the weather in Oslo?", model="llamacpp/smollm2")
    assert {step.tool for step in plan.steps} <= {*TOOLS, "unknown"} and plan.steps


def test_stream_of_a_real_model_ends_with_its_whole_text(deck):
    messages = (Message(Role.USER, (TextPart("Say hello."),)),)
    *deltas, response = deck.stream(ChatRequest(model="llamacpp/smollm2", messages=messages, max_tokens=200))
    assert isinstance(response, ChatResponse) and response.text
    assert "".join(delta.text for delta in deltas) == response.text
