"""Text of models, servers and files cannot control the terminal."""

import json
import os
import pty
import subprocess
import sys

import pytest

from helmdeck_core.cli import inline_json, note, printing
from tests.cli_support import Cli, environment, leave_the_machine

HOSTILE = "\x1b[31m \x9b31m \u202eevil\u202c \u2066x\u2069 \u2028 \u2029 \u200f \x07 \x7f"
CONTROLS = set(HOSTILE) - set(" xevil[31m")


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    leave_the_machine(monkeypatch, tmp_path)


@pytest.fixture
def cli(capsys):
    return Cli(capsys)


@pytest.mark.parametrize("words", [[], ["--json"], ["--calls"], ["--calls", "--json"]])
def test_decode_escapes_control_characters_and_keeps_the_value(cli, tmp_path, words):
    (tmp_path / "answer.txt").write_text(json.dumps({"text": HOSTILE, "言": "語"}, ensure_ascii=False))
    done = cli("decode", "answer.txt", *words)
    assert not CONTROLS & set(done.out + done.err)
    if "--calls" not in words:
        assert "語" in done.out, "other characters are not escaped"
        value = done.data["value"] if words else done.data
        assert value["text"] == HOSTILE


def test_json_of_every_command_escapes_control_characters(cli, tmp_path):
    (tmp_path / "c.json").write_text(json.dumps({"packs": [{"name": "a.b", "description": HOSTILE}]}))
    done = cli("catalog", "show", "--catalog", "c.json", "--json")
    assert not CONTROLS & set(done.out)
    assert done.data["packs"][0]["description"] == HOSTILE
    assert not CONTROLS & set(cli("catalog", "show", "--catalog", "c.json").out)


def test_inline_json_of_control_characters_is_valid_json():
    for text in (HOSTILE, "\ud800", "\U000e0041"):
        assert not CONTROLS & set(inline_json(text)) and json.loads(inline_json(text)) == text


def test_joiners_of_scripts_and_emoji_stay(capsys):
    note("\U0001f469\u200d\U0001f4bb")
    assert capsys.readouterr().err == "\U0001f469\u200d\U0001f4bb\n"


def test_messages_escape_control_characters(capsys):
    note(HOSTILE)
    assert not CONTROLS & set(capsys.readouterr().err)


def test_result_that_is_not_for_a_terminal_stays_exact(capsys):
    printing.show("\x1b[31m")
    assert capsys.readouterr().out == "\x1b[31m\n"


def test_result_on_a_terminal_has_control_characters_escaped(tmp_path):
    (tmp_path / "c.json").write_text(json.dumps({"packs": [{"name": "a.b", "description": HOSTILE}]}))
    main, terminal = pty.openpty()
    command = [sys.executable, "-m", "helmdeck_core.cli", "explain", "--prompt", "--catalog", "c.json", HOSTILE]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment(HELMDECK_PLUGIN_AUTOLOAD="0"), stdout=terminal, stderr=terminal,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(terminal)
    shown = b""
    try:
        while chunk := os.read(main, 65_536):
            shown += chunk
    except OSError:  # the terminal is closed
        pass
    os.close(main)
    assert process.wait(60) == 0
    assert b"evil" in shown
    assert not (CONTROLS | {"\x1b"}) & set(shown.decode())
