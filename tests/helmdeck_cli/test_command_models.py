"""``helmdeck models``."""

import socket
import threading

import pytest

from helmdeck_core.cli import ExitCode, command_parser, load_commands
from tests.cli_support import Cli, leave_the_machine, refused_url


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    leave_the_machine(monkeypatch, tmp_path)
    for name in ("OPENAI_API_KEY", "GROQ_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def cli(capsys):
    return Cli(capsys)


@pytest.fixture
def configure(tmp_path):
    """Write providers into the configuration: base URL by name."""

    def write(more="", **urls):
        tables = [f'[providers.{name}]\nkind = "vllm"\nbase_url = "{url}"\n' for name, url in urls.items()]
        (tmp_path / "helmdeck.toml").write_text(f"{more}\n" + "\n".join(tables))

    return write


def listing(*names, **fields):
    return {"data": [{"id": name, **fields} for name in names]}


def test_models_have_tier_context_prices_and_the_row_that_they_are_from(cli, configure, chat_server):
    server = chat_server(lambda body: listing("small", "big", max_model_len=32_768))
    configure('[budgets."one/big"]\ntier = "A"\ninput_cost_usd_per_mtok = 2.5\n', one=server.base_url)
    done = cli("models", "--json")
    assert done.code == 0 and done.data["failures"] == []
    found = {row["model"]: row for row in done.data["models"]}
    assert list(found) == ["local/lexical", "one/big", "one/small"]
    big, small = found["one/big"], found["one/small"]
    assert (big["tier"], big["context_tokens"], big["input_cost_usd_per_mtok"]) == ("A", 32_768, 2.5)
    assert big["sources"]["tier"] == 'helmdeck.toml: budgets."one/big"'
    assert (small["tier"], small["row"], small["input_cost_usd_per_mtok"]) == ("C", "fallback", None)
    text = cli("models", "one").out
    assert [line.split() for line in text.splitlines() if line.startswith("one/")] == [
        ["one/big", "A", "32,768", "2.5", "one/big"],
        ["one/small", "C", "32,768", "fallback"],
    ]
    assert all(request.method == "GET" for request in server.requests), "no prompt is sent"


def test_provider_that_fails_is_a_row_with_its_reason(cli, configure, chat_server):
    good = chat_server(lambda body: listing("m"))
    bad = chat_server(lambda body: (401, {}, {"error": {"message": "no \x1b[31mentry"}}))
    lost = chat_server(lambda body: (404, {}, {}))
    configure(bad=bad.base_url, gone=refused_url(), good=good.base_url, lost=lost.base_url)
    done = cli("models")
    assert done.code == 0
    lines = {line.split()[0]: line for line in done.out.splitlines() if line.strip()}
    assert "good/m" in lines and "401" not in lines["good/m"]
    assert "auth_failed: " in lines["bad/"] and "provider_unavailable: " in lines["gone/"]
    (failure,) = cli("models", "lost", "--json").data["failures"]
    assert failure["error"] == "invalid_request: the provider answered with an error (HTTP 404; {})"
    assert "\x1b" not in done.out
    assert cli("models", "gone").code == ExitCode.PROVIDER_UNAVAILABLE, "there is no other provider to list"
    assert "Traceback" in cli("models", "gone", "--traceback").err


def test_providers_are_called_at_the_same_time(cli, configure, chat_server):
    both = threading.Barrier(2, timeout=60)

    def answer(body):
        both.wait()
        return listing("m")

    configure(one=chat_server(answer).base_url, two=chat_server(answer).base_url)
    assert [row["model"] for row in cli("models", "--json").data["models"]] == ["local/lexical", "one/m", "two/m"]


def test_provider_that_does_not_answer_ends_at_the_limit(cli, configure, monkeypatch):
    from helmdeck_cli.commands import models

    monkeypatch.setattr(models, "TIMEOUT_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        configure(silent=f"http://127.0.0.1:{silent.getsockname()[1]}/v1")
        (failure,) = cli("models", "--json").data["failures"]
    assert failure == {
        "provider": "silent",
        "error": "likely_timeout: the provider did not answer in time (no list within 0.05 s)",
    }


def test_without_keys_the_local_planner_is_listed_with_advice(cli):
    done = cli("models")
    assert done.code == 0 and "local/lexical" in done.out
    assert "OPENAI_API_KEY (openai)" in done.err and "[providers.NAME]" in done.err


def test_key_in_the_environment_configures_its_provider_once(cli, monkeypatch):
    from helmdeck_cli.checks.configured_providers import configured_providers
    from helmdeck_testing import make_deck

    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-key")
    names = [provider.name for provider in configured_providers(make_deck())]
    assert names == ["local", "openai"], "openai-responses has the same key and URL"
    assert "sk-very-secret-key" not in repr(configured_providers(make_deck()))


def test_provider_without_its_key_is_a_row_that_names_the_variable(cli):
    done = cli("models", "groq", "--json")
    assert done.code == ExitCode.AUTH_FAILED
    assert "GROQ_API_KEY is not set" in done.data["failures"][0]["error"]


def test_unknown_provider_is_an_error_with_a_suggestion(cli):
    done = cli("models", "opnai")
    assert done.code == ExitCode.USAGE and "did you mean 'openai'?" in done.err


LISTLESS = """
from helmdeck_core import ProviderSpec, hookimpl


class Listless:
    async def aclose(self):
        pass


@hookimpl
def helmdeck_providers():
    return [ProviderSpec(name="listless", open=lambda settings, context: Listless())]
"""


def test_provider_that_cannot_list_its_models_is_reported(cli, installed_plugin, monkeypatch):
    monkeypatch.delenv("HELMDECK_PLUGIN_AUTOLOAD")
    installed_plugin("listless", {"listless": "listless_plugin"}, {"listless_plugin": LISTLESS})
    done = cli("models", "listless")
    assert done.code == 0 and "does not list its models" in " ".join(done.out.split())


def test_model_option_is_the_same_in_every_command():
    """Each command adds it with ``add_model``."""
    found = [
        (action.option_strings, action.metavar)
        for each in load_commands([]).commands.values()
        for action in command_parser(each.value)._actions
        if "--model" in action.option_strings
    ]
    assert len(found) > 10 and all(each == (["-m", "--model"], "PROVIDER/MODEL") for each in found)
