"""The command decode."""

import io
import json
import sys

import pytest

from helmdeck_core.cli import ExitCode
from helmdeck_core.cli.exit_codes import BY_CAUSE
from tests.cli_support import Cli, leave_the_machine


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    leave_the_machine(monkeypatch, tmp_path)


@pytest.fixture
def decode(capsys, tmp_path):
    cli = Cli(capsys)

    def run(raw, *words):
        path = tmp_path / "answer.txt"
        path.write_bytes(raw if isinstance(raw, bytes) else raw.encode())
        return cli("decode", str(path), *words)

    return run


def test_value_goes_to_standard_output_and_details_to_standard_error(decode):
    done = decode('{"a": [1, "é"]}')
    assert (done.code, done.data) == (0, {"a": [1, "é"]})
    assert done.err.splitlines() == ["decoded by  strict", "repairs     none", "reasoning   none"]


def test_stripped_reasoning_is_shown_with_length_and_excerpt(decode):
    thought = 'maybe {"draft": 1}\n' + "x" * 200
    done = decode(f'<think>{thought}</think>{{"a": 1}}')
    assert done.data == {"a": 1}
    assert f'{len(thought)} characters stripped: maybe {{"draft": 1}} xxx' in " ".join(done.err.split())
    assert "x" * 81 not in done.err
    data = decode(f'<think>{thought}</think>{{"a": 1}}', "--json").data
    assert data["reasoning"] == {"length": len(thought), "excerpt": thought[:80], "tags": ["think"]}


def test_repair_is_reported(decode):
    data = decode('```json\n{"a": [1, 2,],}\n```', "--json").data
    assert data["value"] == {"a": [1, 2]}
    assert data["repairs"] == [data["step"]]


@pytest.mark.parametrize(
    ("raw", "words", "cause"),
    [
        ("", ["--stop-reason", "content_filter"], "safety_filtered"),
        ('{"a": [1,', ["--stop-reason", "length"], "length_truncated"),
        ("I would rather not.", [], "constrained_deadlock"),
        ("", [], "likely_timeout"),
    ],
)
def test_exit_code_of_an_undecodable_response_is_its_cause(decode, raw, words, cause):
    done = decode(raw, *words)
    assert (done.code, done.out) == (BY_CAUSE[cause], "")
    lines = dict([*line.split(None, 1), ""][:2] for line in done.err.splitlines())
    assert lines["cause"].startswith(cause)
    assert {"hint", "next", "response", "reasoning"} <= lines.keys()
    data = decode(raw, *words, "--json").data
    assert data["error"]["cause"] == cause


def test_response_of_reasoning_only_is_reported_as_such(decode):
    done = decode("<think>all of it</think>")
    assert done.code == BY_CAUSE["likely_timeout"]
    assert "9 characters stripped: all of it" in done.err


@pytest.mark.parametrize("raw", [b"\xff\xfe", b"\xff {", b'{"a": "\xff"', b"[" * 100_000])
def test_arbitrary_bytes_do_not_crash_decode(decode, raw):
    done = decode(raw)
    assert 10 <= done.code < 23
    assert done.err.startswith("helmdeck: decode: ")


@pytest.mark.parametrize("raw", [b"\x00" * 100, b"PK\x03\x04\0\0{"])
def test_binary_file_is_a_usage_error(decode, raw, tmp_path):
    for words in ((), ("--calls",)):
        done = decode(raw, *words)
        assert (done.code, done.out) == (ExitCode.USAGE, "")
        assert done.err == f"helmdeck: {tmp_path}/answer.txt: a binary file; convert it to text first\n"


def test_value_in_another_encoding_is_reported_with_its_line(decode):
    raw = '{\n"a": "café"}'
    text = "the byte 0xe9 in line 2 is not UTF-8; convert the text first, such as with `iconv -f latin1 -t utf-8`"
    assert f"encoding    {text}" in " ".join(
        decode(raw.encode("latin-1")).err.replace("\n            ", " ").splitlines()
    )
    assert decode(raw.encode("latin-1"), "--json").data["problems"] == [text]
    assert decode(raw.encode("utf-16")).data == {"a": "café"}
    assert "a binary file" in decode(raw.encode("utf-16")[:-1]).err


def test_invalid_utf8_around_the_value_is_ignored(decode):
    assert decode(b'caf\xe9: {"a": 1}').data == {"a": 1}


def test_tried_decode_steps_are_listed(decode):
    done = decode('{"a": (1)}')
    tried = [line for line in done.err.splitlines() if line.startswith("tried")]
    assert tried[0].endswith("strict: JSON is malformed: invalid character (byte 6)")
    assert "nothing to repair" in " ".join(done.err.split())
    data = decode('{"a": (1)}', "--json").data
    assert data["attempts"][0] == {"step": "strict", "outcome": "JSON is malformed: invalid character (byte 6)"}
    assert {attempt["outcome"] for attempt in data["attempts"][1:]} == {"nothing to repair"}
    data = decode('So {"a": [1,],}', "--json").data
    assert data["attempts"][-1] == {"step": "trailing_commas", "outcome": "the value"}


def test_shape_list_decodes_a_list(decode):
    assert decode('{"a": 1}\n{"a": 2}', "--shape", "list").data == [{"a": 1}, {"a": 2}]
    assert decode('{"a": 1}\n{"a": 2}').data == {"a": 1}


def test_schema_selects_the_value_and_reports_problems(decode, tmp_path):
    schema = tmp_path / "schema.json"
    schema.write_text('{"type": "object", "required": ["steps"]}')
    assert decode('{"a": 1} then {"steps": []}', "--schema", str(schema)).data == {"steps": []}
    done = decode('{"a": 1}', "--schema", str(schema))
    assert done.code == BY_CAUSE["constrained_deadlock"]
    assert "wrong_shape" in done.err
    assert "$.steps: required property is missing" in done.err
    assert decode('{"a": 1}', "--schema", str(schema), "--json").data["problems"]
    schema.write_text("[]")
    assert decode('{"a": 1}', "--schema", str(schema)).code == ExitCode.USAGE
    schema.write_text('{"a":' * 100_000)
    done = decode('{"a": 1}', "--schema", str(schema))
    assert done.code == ExitCode.USAGE and "not valid JSON" in done.err
    schema.write_text("{")
    assert decode('{"a": 1}', "--schema", str(schema)).code == ExitCode.USAGE
    schema.write_text('{"type": "objct"}')
    done = decode('{"a": 1}', "--schema", str(schema))
    assert "the schema is malformed at $.type: 'objct' is not a type (did you mean 'object'?)" in done.err


@pytest.mark.parametrize("option", ["--tool", "--model"])
def test_options_for_tool_calls_require_them(decode, option):
    done = decode('{"a": 1}', option, "web.search")
    assert (done.code, done.err) == (ExitCode.USAGE, f"helmdeck: {option} is for tool calls; add --calls\n")


def test_output_tokens_reveal_a_reasoning_leak(decode):
    done = decode("One moment.", "--stop-reason", "stop", "--output-tokens", "423", "--json")
    assert done.data["error"]["sub_cause"] == "reasoning_leak"


def test_unknown_stop_reason_is_a_warning(decode):
    done = decode('{"a": 1}', "--stop-reason", "bored")
    assert done.code == 0
    assert "unknown stop reason 'bored'" in done.err
    assert "'MAX' (did you mean 'max_tokens'?); it is treated as missing" in decode("{}", "--stop-reason", "MAX").err


def test_decode_reads_standard_input_and_reports_missing_files(capsys, monkeypatch):
    cli = Cli(capsys)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"a": 1}')))
    assert cli("decode", "-").data == {"a": 1}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert cli("decode").code == ExitCode.USAGE
    done = cli("decode", "gone.txt", "--json")
    assert (done.code, json.loads(done.out)["error"]["message"]) == (
        2, "gone.txt: the file cannot be read (No such file or directory)"
    )  # fmt: skip


CALL = '<tool_call>{"name": "look", "arguments": {"at": "é"}}</tool_call>'


def test_tool_calls_are_shown_with_the_remaining_text(decode):
    done = decode(f"I look.\n{CALL}", "--calls")
    assert done.code == 0
    [call] = done.data
    assert (call["name"], call["arguments"], call["format"]) == ("look", {"at": "é"}, "tags")
    assert 'text        "I look."' in done.err
    data = decode(f"I look.\n{CALL}", "--calls", "--json").data
    assert (data["calls"], data["text"], data["broken"], data["is_truncated"]) == ([call], "I look.", [], False)


@pytest.mark.parametrize(
    ("raw", "words", "code", "message"),
    [
        (CALL[:40], [], 11, "malformed   cut (tags): the call is truncated"),
        (CALL[:50].replace("}", ""), ["--stop-reason", "length"], 11, "truncated   yes"),
        (CALL, ["--tool", "listen"], 12, "unknown tool 'look'"),
        (CALL, ["--stop-reason", "length"], 0, "withheld    look"),
        ("look/at>sky", ["--model", "zai/glm-4"], 0, "inert       0"),
        ("nothing", [], 0, "inert       0"),
    ],
)
def test_rejected_tool_calls_are_reported_with_the_reason(decode, raw, words, code, message):
    done = decode(raw, "--calls", *words)
    assert (done.code, message in done.err) == (code, True), done.err
