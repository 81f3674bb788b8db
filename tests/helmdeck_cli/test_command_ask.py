"""``helmdeck ask``: text as it arrives, JSON of a schema or of fields, documents and images, and its mistakes."""

from __future__ import annotations

import io
import json
import sys

import pytest

from helmdeck_core.cli import ExitCode
from helmdeck_testing import OPENAI_CHAT, FailingServer
from helmdeck_testing.scripted import CUT_JSON
from tests.cli_support import Cli, leave_the_machine

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
INVOICE = '{"name": "Ada", "age": 36, "tags": ["x"]}'
FIELDS = "name, age int: in years, tags str[]"


@pytest.fixture
def cli(capsys, monkeypatch, tmp_path):
    leave_the_machine(monkeypatch, tmp_path)
    monkeypatch.setattr(sys, "stdin", None)
    return Cli(capsys)


@pytest.fixture
def ask(cli, monkeypatch):
    """Run ``helmdeck ask`` against a server with a given answer; return the result and the bodies of the requests."""
    servers = []

    def run(*words, text="Paris.", stdin=None, mode="good"):
        server = FailingServer(OPENAI_CHAT, mode, text=text)
        servers.append(server)
        monkeypatch.setenv("HELMDECK_PROVIDERS__VLLM__BASE_URL", server.base_url)
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        return cli("ask", "-m", "vllm/m", *words), [request.body for request in server.requests]

    yield run
    for server in servers:
        server.close()


def test_text_is_printed(ask):
    done, (body,) = ask("What is the capital of France?", "-s", "Be brief.")
    assert (done.code, done.out, done.err) == (ExitCode.OK, "Paris.\n", "")
    assert [message["content"] for message in body["messages"]] == ["Be brief.", "What is the capital of France?"]


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_text_is_received_in_chunks_so_that_a_slow_model_has_the_timeouts_of_streams(ask, words):
    _, (body,) = ask("hello", *words)
    assert body["stream"] is True


def test_fields_and_schema_give_json(ask, tmp_path):
    done, (body,) = ask("read it", "--fields", FIELDS, text=INVOICE)
    assert done.code == ExitCode.OK and json.loads(done.out) == json.loads(INVOICE)
    assert "in years" in body["messages"][0]["content"]
    path = tmp_path / "schema.json"
    path.write_text('{"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}')
    done, _ = ask("read it", "--schema", str(path), text=INVOICE)
    assert json.loads(done.out)["age"] == 36


def test_json_has_the_facts_of_the_call(ask):
    done, _ = ask("hello", "--json")
    assert done.data["value"] == "Paris." and done.data["model"] == "vllm/m" and done.data["attempts"] == 1
    assert done.data["usage"]["output_tokens"] > 0


def test_standard_input_is_a_document_before_the_question(ask):
    _, (body,) = ask("summarise this", stdin="A long report.\n")
    assert body["messages"][0]["content"] == "A long report.\n\nsummarise this"
    _, (body,) = ask(stdin="Only a question?")
    assert body["messages"][0]["content"] == "Only a question?"


def test_image_is_sent(ask, tmp_path):
    path = tmp_path / "scan.png"
    path.write_bytes(PNG)
    _, (body,) = ask("what is this?", "-a", str(path))
    text, image = body["messages"][0]["content"]
    assert text["text"] == "what is this?" and image["image_url"]["url"].startswith("data:image/png;base64,")


LARGE = "The tide rises and falls at the harbour. " * 2_000
"""More than the 16,000 tokens of a model without a budget row."""


@pytest.mark.parametrize("words", [(), ("--partial",), ("--fields", FIELDS)], ids=["text", "streamed", "typed"])
def test_document_larger_than_the_budget_is_refused_before_a_request(ask, tmp_path, words):
    (tmp_path / "large.txt").write_text(LARGE)
    done, bodies = ask("--document", "large.txt", "summarise it", *words)
    assert (done.code, done.out, bodies) == (ExitCode.CONTEXT_WINDOW_EXCEEDED, "", [])
    assert "the request is larger than the model's budget" in done.err and "the budget is 16,000" in done.err


@pytest.mark.parametrize("words", [(), ("--partial",), ("--fields", FIELDS)], ids=["text", "streamed", "typed"])
def test_truncate_shortens_documents_to_the_budget_and_reports_it(ask, tmp_path, words):
    (tmp_path / "large.txt").write_text(LARGE)
    (tmp_path / "small.txt").write_text("Only a note.")
    done, (body,) = ask(
        "--document", "large.txt", "--document", "small.txt", "summarise it", "--truncate", *words, text=INVOICE
    )
    assert done.code == ExitCode.OK
    sent = body["messages"][-1]["content"]
    assert sent.endswith("Only a note.\n\nsummarise it") and 40_000 < len(sent) < 48_000
    first = sent.partition("\n\n")[0]
    assert LARGE.startswith(first)
    left_out = len(LARGE.strip()) - len(first)
    assert f"large.txt: the last {left_out:,} of {len(LARGE.strip()):,} characters are left out" in done.err
    assert "small.txt" not in done.err


def test_truncate_changes_nothing_that_fits(ask, tmp_path):
    (tmp_path / "small.txt").write_text("Only a note.")
    done, (body,) = ask("--document", "small.txt", "summarise it", "--truncate")
    assert (done.err, body["messages"][0]["content"]) == ("", "Only a note.\n\nsummarise it")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--fields", "age years"), "--fields: expected NAME TYPE or NAME: DESCRIPTION, found 'age years'"),
        (("--fields", "a, a"), "the field 'a' is repeated"),
        (("--fields", " "), "--fields: no field"),
        (("--schema", "missing.json"), "missing.json: the file cannot be read"),
        (("-a", "missing.png"), "--image: missing.png: the file cannot be read (No such file or directory)"),
        (("-a", __file__), "not a PNG, JPEG, GIF or WebP image"),
        (("--fields", "a", "--schema", "x"), "not allowed with"),
        (("--fields", "a", "--partial"), "--partial is for answers in text"),
    ],
)
def test_mistake_is_reported_before_a_request(ask, words, error):
    done, bodies = ask("x", *words)
    assert done.code == ExitCode.USAGE and error in done.err and "Traceback" not in done.err
    assert bodies == []


def cut(request):
    """Truncate the answers of the model m; answers of other models are whole."""
    return "cut_json_length" if request.body["model"] == "m" else "good"


def test_truncated_text_is_a_failure_and_not_printed(ask):
    done, bodies = ask("hello", mode=cut)
    assert (done.code, done.out) == (ExitCode.LENGTH_TRUNCATED, "")
    assert done.err.startswith("helmdeck: ask: the answer is truncated\n")
    assert len(bodies) > 1, "the text is continued first"


def test_next_model_answers_in_place_of_a_truncated_text(ask, monkeypatch, tmp_path):
    (tmp_path / "helmdeck.toml").write_text('[fallback]\n"vllm/m" = ["vllm/whole"]\n')
    done, _ = ask("hello", mode=cut)
    assert (done.code, done.out, done.err) == (ExitCode.OK, "Paris.\n", "")


def test_partial_prints_the_truncated_text_as_it_arrives_and_fails(ask):
    done, bodies = ask("hello", "--partial", mode=cut)
    assert done.code == ExitCode.LENGTH_TRUNCATED and done.out.startswith(CUT_JSON)
    assert done.out.endswith("\n") and done.err.startswith("helmdeck: the answer is truncated\n")
    assert all(body["stream"] for body in bodies)


def test_text_is_streamed_to_a_terminal(ask, monkeypatch):
    monkeypatch.setattr("helmdeck_cli.commands.ask._is_terminal", lambda: True)
    done, (body,) = ask("hello")
    assert (done.out, body["stream"]) == ("Paris.\n", True)


def test_json_states_whether_the_answer_is_complete(ask):
    done, _ = ask("hello", "--json")
    assert done.data["incomplete"] is False and "cause" not in done.data
    done, _ = ask("hello", "--json", mode=cut)
    assert done.code == ExitCode.LENGTH_TRUNCATED and done.data["error"]["incomplete"] is True
    done, _ = ask("hello", "--json", "--partial", mode=cut)
    assert done.code == ExitCode.LENGTH_TRUNCATED and "incomplete" in done.err
    assert done.data["incomplete"] is True and done.data["cause"] == "length_truncated"
    assert done.data["value"].startswith(CUT_JSON)


def test_failure_ends_with_the_exit_code_of_its_cause(ask, cli):
    done = cli("ask", "-m", "local/lexical", "hello")
    assert done.code != ExitCode.OK and "local/lexical" in done.err and done.out == ""
