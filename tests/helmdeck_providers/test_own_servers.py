"""Servers of a deployment's own: the generic kind, keys that stay with their vendor, and notices about both."""

import contextlib

import pytest

from helmdeck_cli.checks.configuration import check_config
from helmdeck_core import (
    CallFailed,
    ChatRequest,
    ConfigError,
    Message,
    ProviderNotice,
    Role,
    TextPart,
    load_config,
)
from helmdeck_telemetry.log import line_of
from helmdeck_testing import EventRecorder, completion, make_deck

KEY = "key-of-the-vendor-0123456789"


@pytest.fixture(autouse=True)
def _vendor_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def asking(model="mine/my-model"):
    return ChatRequest(model=model, messages=(Message(Role.USER, (TextPart("hi"),)),))


def notices(**provider):
    """The warnings of ``helmdeck config check`` about one provider."""
    arguments = {("providers", "mine", name): (value, name) for name, value in provider.items()}
    report = check_config(load_config(environ={}, arguments=arguments))
    assert not report.mistakes
    return report.warnings


@pytest.mark.parametrize("kind", [{}, {"kind": "openai-compatible"}])
def test_base_url_is_enough_for_a_server_of_ones_own(chat_server, kind):
    server = chat_server(lambda body: completion("hello"))
    with make_deck(config={"providers": {"mine": {"base_url": server.base_url, **kind}}}) as deck:
        assert deck.complete(asking()).text == "hello"
    (request,) = server.requests
    assert request.body["model"] == "my-model"
    assert "authorization" not in request.headers


def test_key_of_ones_own_server_is_sent(chat_server, monkeypatch):
    monkeypatch.setenv("MINE_KEY", "key-of-mine")
    server = chat_server(lambda body: completion("hello"))
    with make_deck(config={"providers": {"mine": {"base_url": server.base_url, "api_key": "env:MINE_KEY"}}}) as deck:
        deck.complete(asking())
    assert server.requests[0].headers["authorization"] == "Bearer key-of-mine"


@pytest.mark.parametrize(
    ("name", "table"), [("mine", {"kind": "openai"}), ("openai", {}), ("mine", {"kind": "openai-responses"})]
)
def test_key_of_a_vendor_is_not_sent_to_another_host(chat_server, name, table):
    recorder = EventRecorder()
    server = chat_server(lambda body: completion("hello") if "messages" in body else (400, {}, {"error": "no"}))
    with make_deck(recorder, config={"providers": {name: {"base_url": server.base_url, **table}}}) as deck:
        for _ in range(2):
            with contextlib.suppress(CallFailed):  # the server does not answer the other wire format
                deck.complete(asking(f"{name}/my-model"))
    assert server.requests and not any(KEY in str(request.headers) for request in server.requests)
    (event,) = recorder.of(ProviderNotice)
    assert 'write api_key = "env:OPENAI_API_KEY" to send it' in event.notice
    assert "is not sent to 127.0.0.1" in event.notice and 'kind = "openai-compatible"' in event.notice
    assert line_of(event) == ("WARNING", "the settings of a provider need attention")


def test_key_of_a_vendor_is_sent_where_the_configuration_requires_it(chat_server):
    server = chat_server(lambda body: completion("hello"))
    table = {"kind": "openai", "base_url": server.base_url, "api_key": "env:OPENAI_API_KEY"}
    with make_deck(config={"providers": {"mine": table}}) as deck:
        deck.complete(asking())
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_other_hosts_of_the_vendor_get_its_key():
    assert notices(kind="openai", base_url="https://eu.api.openai.com/v1") == ()
    assert notices(kind="openai", base_url="https://openai.com.example.org/v1") != ()
    assert notices(kind="openai", base_url="https://notopenai.com/v1") != ()
    assert notices(kind="azure", base_url="https://acme.openai.azure.com/openai/v1") == (), "there is no default host"


def test_check_says_which_kind_a_base_url_implies():
    (notice,) = notices(base_url="http://127.0.0.1:9/v1")
    assert notice.endswith("so it is of kind 'openai-compatible'; write kind = \"openai-compatible\"")
    assert notices(base_url="http://127.0.0.1:9/v1", kind="openai-compatible") == ()


@pytest.mark.parametrize(
    ("url", "is_warned"),
    [
        ("http://192.168.1.20:8080/v1", True),
        ("http://models.internal/v1", True),
        ("http://127.0.0.9:8080/v1", False),
        ("http://localhost:8080/v1", False),
        ("http://[::1]:8080/v1", False),
        ("https://models.internal/v1", False),
    ],
)
def test_key_over_plain_http_beyond_loopback_is_warned_about(monkeypatch, url, is_warned):
    monkeypatch.setenv("MINE_KEY", "key-of-mine")
    for key in ({"api_key": "env:MINE_KEY"}, {"headers": {"Authorization": "Bearer key-of-mine"}}):
        found = notices(kind="openai-compatible", base_url=url, **key)
        assert any("unencrypted; use https" in each for each in found) is is_warned
        assert not any("key-of-mine" in each for each in found)
    assert notices(kind="openai-compatible", base_url=url) == (), "there is no key to protect"


def test_plan_carries_the_notices_of_its_provider(chat_server):
    server = chat_server(lambda body: completion('{"steps":[{"tool":"blog.draft","args":{"brief":"b"}}]}'))
    config = {"providers": {"mine": {"base_url": server.base_url}}, "budgets": {"mine/": {"tier": "B"}}}
    with make_deck(config=config) as deck:
        (notice,) = deck.plan("draft a post", model="mine/my-model").to_dict()["notices"]
    assert "'openai-compatible'" in notice


def test_unknown_provider_without_a_base_url_names_the_generic_kind():
    with pytest.raises(ConfigError) as caught:
        make_deck(config={"providers": {"mine": {"timeout_s": 9}}})
    (mistake,) = caught.value.mistakes
    assert "or a base_url for a server of kind 'openai-compatible'" in mistake.problem
    assert mistake.allowed.endswith(" more"), "the nearest names; the problem names the generic kind"
