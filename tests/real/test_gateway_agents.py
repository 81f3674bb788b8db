"""Unmodified agents and JavaScript SDKs over ``helmdeck serve``: text and one real tool round trip, whatever the first model does.

``GATEWAY_TEST_CLIENTS`` names folders with npm prefixes; a client that is missing there is skipped. Agents get a home of their own,
and a proxy that refuses every connection beyond loopback.
"""

import contextlib

import pytest

from benchmarks.gateway_clients.model import TEXT
from benchmarks.gateway_clients.programs import GEMINI_CLI, LIBRARIES, PROGRAMS, WORD, setting_in, with_file
from tests.real.gateway_clients_support import chat_gateway as chat_gateway
from tests.real.gateway_clients_support import gateway as gateway
from tests.real.gateway_clients_support import models as models

LIMIT_S = 60.0
AGENTS = {name: PROGRAMS[name] for name in ("codex", "claude-code", "opencode")} | {"gemini-cli": GEMINI_CLI}
JAVASCRIPT = [name for name, each in LIBRARIES.items() if each.is_javascript]


@contextlib.contextmanager
def changed(model, **fields):
    before = {name: getattr(model, name) for name in fields}
    for name, value in fields.items():
        setattr(model, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(model, name, value)


def installed(client):
    if reason := client.reason():
        pytest.skip(reason)
    return client


def is_right(ran, text):
    assert ran.status == 0, ran
    assert text in ran.output, ran


@pytest.mark.parametrize("name", AGENTS)
def test_agent_gets_text_and_executes_a_tool_over_every_api(gateway, tmp_path, name):
    agent = installed(AGENTS[name])
    is_right(agent.run(setting_in(tmp_path / "text", gateway), limit_s=LIMIT_S), TEXT)
    ran = agent.run(with_file(setting_in(tmp_path / "tool", gateway)), limit_s=LIMIT_S)
    is_right(ran, f"The word is {WORD}.")


@pytest.mark.parametrize("fault", ["E", "C", "T", "M", "429", "503"])
@pytest.mark.parametrize("name", AGENTS)
def test_agent_executes_a_tool_whatever_the_first_model_does(models, chat_gateway, tmp_path, name, fault):
    agent = installed(AGENTS[name])
    with changed(models[0], fault=fault):
        ran = agent.run(with_file(setting_in(tmp_path, chat_gateway)), limit_s=LIMIT_S)
    is_right(ran, f"The word is {WORD}.")


@pytest.mark.parametrize("name", AGENTS)
def test_agent_executes_a_tool_call_that_the_model_wrote_as_text(models, chat_gateway, tmp_path, name):
    agent = installed(AGENTS[name])
    with changed(models[0], writes_calls_as_text=True):
        ran = agent.run(with_file(setting_in(tmp_path, chat_gateway)), limit_s=LIMIT_S)
    is_right(ran, f"The word is {WORD}.")


@pytest.mark.parametrize("name", AGENTS)
def test_agent_ends_with_an_error_if_every_model_is_silent(models, chat_gateway, tmp_path, name):
    agent = installed(AGENTS[name])
    with changed(models[0], fault="E"), changed(models[1], fault="E"):
        ran = agent.run(setting_in(tmp_path, chat_gateway), limit_s=LIMIT_S)
    assert ran.status == 1, ran
    # OpenCode repeats a request whose error names a cause, so its errors name the call.
    shown = "no model answered; helmdeck explain --run" if name == "opencode" else "the model returned an empty answer"
    assert shown in ran.output + ran.errors


def check(rows):
    assert rows
    right = {name: f"The word is {WORD}." if "tool" in name else TEXT for name in rows}
    assert {name: row["error"] or row["text"] for name, row in rows.items()} == right


@pytest.mark.parametrize("name", JAVASCRIPT)
def test_library_gets_text_and_executes_a_tool_over_every_api(gateway, tmp_path, name):
    setting = setting_in(tmp_path, gateway)
    with_file(setting)
    check(installed(LIBRARIES[name]).run(setting, limit_s=LIMIT_S).rows)


@pytest.mark.parametrize("fault", ["E", "C", "T", "M", "429", "503"])
@pytest.mark.parametrize("name", JAVASCRIPT)
def test_library_gets_the_right_answer_from_a_failing_model(models, chat_gateway, tmp_path, name, fault):
    setting = setting_in(tmp_path, chat_gateway)
    with_file(setting)
    with changed(models[0], fault=fault):
        check(installed(LIBRARIES[name]).run(setting, limit_s=LIMIT_S).rows)
