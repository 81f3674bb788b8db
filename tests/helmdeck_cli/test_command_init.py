"""``helmdeck init``, and a first question without a configured model: what is found on the machine, and the file."""

import asyncio
import io
import sys
import tomllib

import pytest

from helmdeck_cli.setup import available_models
from helmdeck_core import Helmdeck
from helmdeck_core.cli import ExitCode
from helmdeck_testing import OPENAI_CHAT, FailingServer
from tests.cli_support import Cli, leave_the_machine

MODEL = "vllm/loopback"
"""The first model that the server lists."""


@pytest.fixture
def cli(capsys, monkeypatch, tmp_path):
    leave_the_machine(monkeypatch, tmp_path)
    monkeypatch.setattr(sys, "stdin", None)
    monkeypatch.setattr(available_models, "_hosted", lambda deck, specs: ())
    monkeypatch.setattr(available_models, "_is_local", lambda provider: provider.name == "vllm")
    monkeypatch.setenv("HELMDECK_PROVIDERS__VLLM__BASE_URL", "http://127.0.0.1:9/v1")
    return Cli(capsys)


@pytest.fixture
def server(monkeypatch):
    """A server that the provider vllm has as its default."""
    server = FailingServer(OPENAI_CHAT, text="Ready.")
    monkeypatch.setenv("HELMDECK_PROVIDERS__VLLM__BASE_URL", server.base_url)
    yield server
    server.close()


@pytest.fixture
def typed(monkeypatch):
    """Answer the questions of a terminal; return the rest of the input."""

    def type_in(*lines):
        stream = io.StringIO("".join(f"{line}\n" for line in lines))
        monkeypatch.setattr(sys, "stdin", stream)
        monkeypatch.setattr("helmdeck_cli.commands.init.can_ask", lambda: True)
        return stream

    return type_in


def written(tmp_path):
    return tomllib.loads((tmp_path / "helmdeck.toml").read_text())


def found(server):
    """The configuration for the server, whose URL only a variable has."""
    return {"model": MODEL, "providers": {"vllm": {"base_url": server.base_url}}}


def chats(server):
    return [request for request in server.requests if request.method == "POST"]


# -- a question without a model ------------------------------------------------------------------------------


def test_question_without_a_model_names_the_ways_to_one(cli):
    done = cli("ask", "hi")
    assert (done.code, done.out) == (ExitCode.USAGE, "")
    head, found, *ways = done.err.replace("finds\n            it", "finds it").splitlines()
    assert head == "helmdeck: no model is configured"
    assert "no API key of a provider in the environment, no model server on this machine (ports 9)" in found
    assert len(ways) == 3 and "export ANTHROPIC_API_KEY=...; helmdeck ask -m anthropic/" in ways[0]
    assert "start a server" in ways[1] and "helmdeck init" in ways[2]


def test_question_without_a_model_names_the_server_that_was_found(cli, server):
    done = cli("ask", "why tides?")
    assert f"vLLM on this machine answers at {server.base_url}" in done.err
    assert f"next        helmdeck ask -m {MODEL} 'why tides?'" in done.err
    assert [request.method for request in server.requests] == ["GET"], "one request, and no chat"


def test_server_that_does_not_answer_in_time_is_left_out(cli, server):
    server.mode = "slow_think"
    deck = Helmdeck(autoload=False)
    found = asyncio.run(available_models.find_models(deck, timeout_s=0.05))
    assert (found.servers, found.sources, found.called) == ((), (), (server.base_url,))
    assert len(server.requests) == 1


def test_configured_model_is_called_without_a_search(cli, server, tmp_path):
    (tmp_path / "helmdeck.toml").write_text(f'model = "{MODEL}"\n')
    assert cli("ask", "hi").out == "Ready.\n"
    assert len(server.requests) == len(chats(server)) == 1


def test_keys_of_the_environment_are_found_by_provider(capsys, monkeypatch, tmp_path):
    leave_the_machine(monkeypatch, tmp_path)
    monkeypatch.setattr(sys, "stdin", None)
    monkeypatch.setattr(available_models, "_is_local", lambda provider: False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    err = Cli(capsys)("ask", "hi").err
    assert "OPENAI_API_KEY is set" in err and "helmdeck ask -m openai/" in err and "sk-0123456789" not in err


# -- init ----------------------------------------------------------------------------------------------------


def test_init_writes_the_found_model_and_asks_it(cli, server, tmp_path, monkeypatch):
    done = cli("init")
    assert (done.code, done.err) == (ExitCode.OK, "")
    assert written(tmp_path) == found(server)
    assert "answer    Ready." in done.out and done.out.endswith('next      helmdeck ask "hi"\n')
    assert len(chats(server)) == 1
    monkeypatch.delenv("HELMDECK_PROVIDERS__VLLM__BASE_URL")
    assert cli("ask", "hi").out == "Ready.\n", "the file works without the variable"


def test_init_without_any_model_plans_offline(cli, tmp_path):
    done = cli("init")
    assert done.code == ExitCode.OK and written(tmp_path) == {"model": "local/lexical"}
    assert "planned without a model: helmdeck.memory_store, blog.draft" in done.out


def test_init_never_replaces_a_file_without_force(cli, server, tmp_path):
    (tmp_path / "helmdeck.toml").write_text("model = 'mine/m'")
    done = cli("init")
    assert done.code == ExitCode.USAGE and "helmdeck.toml exists already; --force replaces it" in done.err
    assert written(tmp_path) == {"model": "mine/m"}
    assert cli("init", "--force", "--no-question").code == ExitCode.OK
    assert written(tmp_path) == found(server) and not chats(server)


def test_init_cannot_replace_a_folder(cli, server, tmp_path):
    (tmp_path / "helmdeck.toml").mkdir()
    done = cli("init", "--force", "--no-question")
    assert (done.code, done.err) == (
        ExitCode.USAGE,
        "helmdeck: helmdeck.toml: the file cannot be written (Is a directory)\n",
    )


def test_init_with_flags_writes_a_server_of_ones_own(cli, server, tmp_path, monkeypatch):
    monkeypatch.setenv("WORK_KEY", "sk-0123456789")
    (tmp_path / "tools.json").write_text('{"tools": []}')
    words = ("--model", "work/m", "--base-url", server.base_url, "--api-key", "WORK_KEY", "--catalog", "tools.json")
    done = cli("init", *words, "--json")
    assert done.data["answer"] == "Ready."
    own = {"kind": "openai-compatible", "base_url": server.base_url, "api_key": "env:WORK_KEY"}
    assert written(tmp_path) == {"model": "work/m", "providers": {"work": own}, "catalog": {"sources": ["tools.json"]}}
    assert chats(server)[0].headers["authorization"] == "Bearer sk-0123456789"


@pytest.mark.parametrize("key", ["sk-0123456789", "sk_live_0123456789", "env:sk-0123456789"])
def test_init_never_writes_or_shows_a_key(cli, tmp_path, key):
    done = cli("init", "--model", "openai/gpt-4.1-mini", "--api-key", key)
    assert done.code == ExitCode.USAGE and "name of the environment variable" in done.err
    assert "0123456789" not in done.out + done.err and not (tmp_path / "helmdeck.toml").exists()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--model", "work/m"), "give the URL of the server with --base-url"),
        (("--model", "work/m", "--base-url", "localhost:8080"), "not a URL that starts with http:// or https://"),
        (("--catalog", "gone.json"), "gone.json: the file cannot be read"),
        (("--model", "work"), "not of the form provider/model"),
    ],
)
def test_init_with_a_mistake_leaves_the_folder_as_it_was(cli, tmp_path, words, error):
    done = cli("init", *words)
    assert done.code != ExitCode.OK and error in done.err and not (tmp_path / "helmdeck.toml").exists()
    (tmp_path / "helmdeck.toml").write_text("model = 'mine/m'")
    assert cli("init", "--force", *words).code != ExitCode.OK and written(tmp_path) == {"model": "mine/m"}


def test_init_names_the_command_for_a_model_that_does_not_answer(cli, server, tmp_path):
    server.mode = lambda request: "unavailable" if request.method == "POST" else "good"
    done = cli("init", "--model", MODEL)
    assert done.code == ExitCode.OK and "the model did not answer" in done.err
    assert 'helmdeck ask "hi"\n          (when the server can be reached)' in done.out
    server.mode = lambda request: "unauthorized" if request.method == "POST" else "good"
    done = cli("init", "--model", MODEL, "--force")
    assert done.code == ExitCode.AUTH_FAILED and 'helmdeck ask "hi"\n          (after the correction)' in done.out


def test_init_names_the_missing_key(cli, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert '"hi"\n          (set OPENAI_API_KEY first)' in cli("init", "--model", "openai/gpt-4.1-mini").out


def test_init_asks_at_most_three_questions(cli, server, tmp_path, typed, monkeypatch):
    (tmp_path / "tools.json").write_text('{"tools": []}')
    rest = typed("2", "tools.json", "unread")
    done = cli("init")
    assert done.code == ExitCode.OK and rest.read() == "unread\n"
    assert written(tmp_path) == {**found(server), "model": "vllm/other/second", "catalog": {"sources": ["tools.json"]}}
    monkeypatch.setenv("WORK_KEY", "x")
    rest = typed("work/m", server.base_url, "", "unread")
    assert cli("init", "--force").code == ExitCode.OK and rest.read() == "unread\n"
    assert written(tmp_path)["providers"]["work"]["base_url"] == server.base_url
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    rest = typed("openai/gpt-4.1-mini", "WORK_KEY", "", "unread")
    assert cli("init", "--force", "--no-question").code == ExitCode.OK and rest.read() == "unread\n"
    assert written(tmp_path)["providers"]["openai"] == {"api_key": "env:WORK_KEY"}


def test_init_answers_with_defaults_at_the_end_of_input(cli, server, tmp_path, typed):
    typed()
    assert cli("init").code == ExitCode.OK and written(tmp_path) == found(server)
