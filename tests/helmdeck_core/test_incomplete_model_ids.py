"""Models that are named without their provider: resolved if exactly one configured provider serves them, else suggested."""

import pytest

from helmdeck_cli.checks.configuration import check_config
from helmdeck_core import ChatRequest, InvalidRequest, LoadedConfig, Message, Role, TextPart
from helmdeck_core.config.load import load_config
from helmdeck_testing import Reply, make_deck, scripted_provider

GOOD = '{"steps":[{"tool":"blog.draft","args":{"brief":"b"}}]}'
KEYS = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "OPENROUTER_API_KEY",
    "XAI_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "GEMINI_API_KEY",
)


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


def budget_id(model, **config):
    with make_deck(config=config) as deck:
        return deck.budget(model).budget.model


@pytest.mark.parametrize(
    ("key", "model", "whole"),
    [
        ("OPENAI_API_KEY", "gpt-4o", "openai/gpt-4o"),
        ("OPENAI_API_KEY", " gpt-4.1-mini ", "openai/gpt-4.1-mini"),
        ("ANTHROPIC_API_KEY", "claude-3-5-sonnet-20241022", "anthropic/claude-3-5-sonnet-20241022"),
        ("XAI_API_KEY", "grok-4", "xai/grok-4"),
        ("GEMINI_API_KEY", "gemini-2.5-pro", "gemini/gemini-2.5-pro"),
        ("OPENROUTER_API_KEY", "gpt-4o", "openrouter/openai/gpt-4o"),
    ],
)
def test_only_provider_with_a_key_serves_a_model_without_a_provider(monkeypatch, key, model, whole):
    monkeypatch.setenv(key, "a-key")
    assert budget_id(model) == whole


def test_configured_route_to_the_same_model_counts(monkeypatch):
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "a-key")
    assert budget_id("gpt-4o") == "gpt-4o", "without a base_url there is no server"
    providers = {"azure": {"base_url": "https://acme.openai.azure.com/openai/v1"}}
    assert budget_id("gpt-4o", providers=providers) == "azure/gpt-4o"
    monkeypatch.setenv("OPENAI_API_KEY", "another-key")
    assert budget_id("gpt-4o", providers=providers) == "gpt-4o"


def test_several_providers_are_listed_and_none_is_chosen(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    monkeypatch.setenv("OPENROUTER_API_KEY", "another-key")
    with make_deck() as deck, pytest.raises(InvalidRequest, match=r"did you mean 'openai/gpt-4o'\?") as caught:
        deck.plan("draft a post", model="gpt-4o")
    assert caught.value.sub_cause == "model_id"
    assert "several configured providers serve it" in caught.value.detail
    assert "openai/gpt-4o" in caught.value.detail and "openrouter/openai/gpt-4o" in caught.value.detail


def test_id_is_suggested_if_no_provider_is_configured():
    with make_deck() as deck, pytest.raises(InvalidRequest, match=r"did you mean 'openai/gpt-4o'\?") as caught:
        deck.plan("draft a post", model="gpt-4o")
    assert "no configured provider" in caught.value.detail


def test_unknown_model_suggests_the_configured_servers():
    config = {"providers": {"workshop": {"kind": "vllm", "base_url": "http://127.0.0.1:9/v1"}}}
    with make_deck(config=config) as deck, pytest.raises(InvalidRequest, match=r"did you mean 'workshop/my-model'\?"):
        deck.plan("draft a post", model="my-model")
    with make_deck() as deck, pytest.raises(InvalidRequest, match=r"provider/model \(model my-model\)"):
        deck.plan("draft a post", model="my-model")


def test_calls_and_completions_use_the_whole_id():
    script = scripted_provider([Reply(GOOD), Reply("hello"), Reply("again")], "openai")
    with make_deck(script) as deck:
        assert deck.plan("draft a post", model="gpt-4o").model == "openai/gpt-4o"
        request = ChatRequest(model="gpt-4o", messages=(Message(Role.USER, (TextPart("hi"),)),))
        assert deck.complete(request).text == "hello"
        assert list(deck.stream(request))[-1].text == "again"
    assert [each.model for each in script.requests] == ["openai/gpt-4o"] * 3


def test_configured_model_may_leave_its_provider_out(monkeypatch):
    loaded = load_config(environ={}, arguments={("model",): ("gpt-4o", "model")})
    (mistake,) = check_config(loaded).mistakes
    assert "did you mean 'openai/gpt-4o'?" in mistake.problem and isinstance(loaded, LoadedConfig)
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    assert check_config(loaded).mistakes == ()
