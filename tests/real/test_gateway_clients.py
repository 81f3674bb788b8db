"""Unmodified Python libraries and programs over ``helmdeck serve``: text and one real tool round trip, whatever the first model does.

``GATEWAY_TEST_CLIENTS`` names folders with virtual environments; a client that is missing there is skipped.
"""

import contextlib

import pytest

from benchmarks.gateway_clients.model import FAULTS, TEXT
from benchmarks.gateway_clients.programs import LIBRARIES, PROGRAMS, WORD, setting_in, with_file
from tests.real.gateway_clients_support import chat_gateway as chat_gateway
from tests.real.gateway_clients_support import gateway as gateway
from tests.real.gateway_clients_support import models as models

LIMIT_S = 60.0
FAULTY = [each for each in FAULTS if each != "hang"]
PYTHON = [name for name, each in LIBRARIES.items() if not each.is_javascript]


@contextlib.contextmanager
def failing(models, fault):
    models[0].fault = fault
    try:
        yield
    finally:
        models[0].fault = "none"


def installed(client):
    if reason := client.reason():
        pytest.skip(reason)
    return client


def check(rows):
    right = {name: f"The word is {WORD}." if "tool" in name else TEXT for name in rows}
    right |= {name: "counted" for name in rows if name == "count"}
    assert rows
    assert {name: row["error"] or row["text"] for name, row in rows.items()} == right


@pytest.mark.parametrize("name", PYTHON)
def test_library_gets_text_and_executes_a_tool_over_every_api(gateway, tmp_path, name):
    setting = setting_in(tmp_path, gateway)
    with_file(setting)
    check(installed(LIBRARIES[name]).run(setting, limit_s=LIMIT_S).rows)


@pytest.mark.parametrize("fault", [each for each in FAULTY if each != "none"])
@pytest.mark.parametrize("name", PYTHON)
def test_library_gets_the_right_answer_from_a_failing_model(models, chat_gateway, tmp_path, name, fault):
    setting = setting_in(tmp_path, chat_gateway)
    with_file(setting)
    with failing(models, fault):
        check(installed(LIBRARIES[name]).run(setting, limit_s=LIMIT_S).rows)


@pytest.mark.parametrize("name", ["llm", "mini-swe-agent"])
def test_program_gets_text_and_executes_a_tool(gateway, tmp_path, name):
    program = installed(PROGRAMS[name])
    ran = program.run(setting_in(tmp_path / "text", gateway), limit_s=LIMIT_S)
    assert (ran.status, TEXT in ran.output) == (0, True), ran
    ran = program.run(with_file(setting_in(tmp_path / "tool", gateway)), limit_s=LIMIT_S)
    assert (ran.status, f"The word is {WORD}." in ran.output) == (0, True), ran


def test_aider_gets_text_and_edits_a_file(gateway, tmp_path):
    program = installed(PROGRAMS["aider"])
    ran = program.run(setting_in(tmp_path / "text", gateway), limit_s=LIMIT_S)
    assert (ran.status, TEXT in ran.output) == (0, True), ran
    setting = setting_in(tmp_path / "edit", gateway, "Write the tide into tide.md.")
    program.run(setting, limit_s=LIMIT_S)
    assert (setting.work / "tide.md").read_text().strip() == TEXT


@pytest.mark.parametrize("name", ["llm", "mini-swe-agent", "aider"])
@pytest.mark.parametrize("fault", ["E", "C", "T", "M"])
def test_program_gets_the_right_answer_from_a_failing_model(models, chat_gateway, tmp_path, name, fault):
    program = installed(PROGRAMS[name])
    with failing(models, fault):
        ran = program.run(setting_in(tmp_path, chat_gateway), limit_s=LIMIT_S)
    assert (ran.status, TEXT in ran.output) == (0, True), ran
