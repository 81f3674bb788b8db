"""Which transport a provider uses, and HTTP clients that the application hands over."""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
from pathlib import Path

import httpx
import httpx2
import pytest

from helmdeck_core import (
    AuthFailed,
    ChatRequest,
    ChatResponse,
    ConfigError,
    InvalidRequest,
    LikelyTimeout,
    Message,
    ProviderUnavailable,
    Role,
    TextPart,
    TransportSpec,
)
from helmdeck_providers.transports.announced import helmdeck_transports
from helmdeck_providers.transports.httpx_client import ClientTransport
from helmdeck_providers.transports.httpx_pool import HttpxTransport, _context
from helmdeck_testing import completion, make_deck, plugin_with
from helmdeck_testing.server_formats import OPENAI_CHAT, ScriptedAnswer

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "acme_transport.py"
LIBRARIES = pytest.mark.parametrize("library", [httpx2, httpx], ids=["httpx2", "httpx"])


def request(model="openai/any", **fields):
    return ChatRequest(model=model, messages=(Message(Role.USER, (TextPart("say hello"),)),), **fields)


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")


# -- the choice -----------------------------------------------------------------------------------------------


class Other(HttpxTransport):
    """A transport that is not the default one."""


OTHER = plugin_with(helmdeck_transports=[TransportSpec(name="other", open=Other, order=50)])


def used(chat_server, **config):
    """The types of transports that the providers of a deck use."""
    server = chat_server(lambda body: completion("hello"))

    async def run():
        providers = {
            name: {"kind": "vllm", "base_url": server.base_url, **config.get(name, {})} for name in ("first", "second")
        }
        async with make_deck(OTHER, config={"http": config.get("http", {}), "providers": providers}) as deck:
            for name in providers:
                assert (await deck.acomplete(request(f"{name}/any"))).text == "hello"
            pool = deck._engine.pool
            return [type(pool.open_provider(name)._connection._transport) for name in providers]

    return asyncio.run(run())


def test_default_transport_is_httpx_and_the_configuration_chooses_another_one(chat_server):
    assert used(chat_server) == [HttpxTransport, HttpxTransport]
    assert used(chat_server, http={"transport": "other"}) == [Other, Other]


def test_provider_can_have_a_transport_of_its_own(chat_server):
    assert used(chat_server, second={"transport": "other"}) == [HttpxTransport, Other]
    both = {"http": {"transport": "other"}, "first": {"transport": "httpx"}}
    assert used(chat_server, **both) == [HttpxTransport, Other]


@pytest.mark.parametrize("place", [("http",), ("providers", "vllm")])
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("htpx", "unknown transport (did you mean 'httpx'?)"),
        ("aiohtp", "unknown transport (did you mean 'aiohttp'?)"),
        ("aiohttp", "not installed: pip install helmdeck-transport-aiohttp"),
    ],
)
def test_unknown_transport_is_a_mistake_that_lists_the_usable_ones_or_names_what_to_install(place, name, problem):
    with pytest.raises(ConfigError) as caught:
        make_deck(config={place[0]: {"transport": name} if len(place) == 1 else {"vllm": {"transport": name}}})
    (mistake,) = caught.value.mistakes
    assert mistake.where.endswith(".".join((*place, "transport")))
    assert (mistake.problem, mistake.allowed) == (problem, "httpx")


def test_transport_of_a_distribution_replaces_its_announcement(chat_server):
    (announced,) = helmdeck_transports()
    own = plugin_with(helmdeck_transports=[TransportSpec(name=announced.name, open=Other)])
    server = chat_server(lambda body: completion("hello"))
    config = {"http": {"transport": announced.name}, "providers": {"vllm": {"base_url": server.base_url}}}
    with make_deck(own, config=config) as deck:
        assert deck.complete(request("vllm/any")).text == "hello"


def test_deck_whose_only_transport_is_not_installed_names_its_distribution():
    deck = make_deck(config={"plugins": {"disable": ["httpx"]}})
    with deck, pytest.raises(InvalidRequest, match="pip install helmdeck-transport-aiohttp"):
        deck.complete(request())


def test_deck_without_transports_is_an_error():
    deck = make_deck(config={"plugins": {"disable": ["httpx", "transports"]}})
    with deck, pytest.raises(InvalidRequest, match="there is no HTTP transport"):
        deck.complete(request())


def test_package_of_under_30_lines_brings_a_transport_that_serves_a_call(installed_plugin, chat_server):
    source = EXAMPLE.read_text(encoding="utf-8")
    assert sum(1 for line in source.splitlines() if line.strip()) <= 30
    installed_plugin(
        "helmdeck-acme-transport", {"acme-transport": "acme_transport_plugin"}, {"acme_transport_plugin": source}
    )
    server = chat_server(lambda body: completion("over threads"))
    config = {"http": {"transport": "threads"}, "providers": {"vllm": {"base_url": server.base_url}}}
    with make_deck(config=config, autoload=True) as deck:
        assert deck.complete(request("vllm/any")).text == "over threads"
        server.close()
        with pytest.raises(ProviderUnavailable):
            deck.complete(request("vllm/any"))


# -- clients of the application -------------------------------------------------------------------------------


def mock(library, *replies, **options):
    """A client whose replies need no socket; it keeps the requests."""
    left, requests = list(replies), []

    def handle(sent):
        requests.append(sent)
        reply = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(reply, type):
            raise reply("said", request=sent)
        return (
            library.Response(*reply[:1], **reply[1]) if isinstance(reply, tuple) else library.Response(200, json=reply)
        )

    client = library.AsyncClient(transport=library.MockTransport(handle), **options)
    client.requests = requests
    return client


@LIBRARIES
def test_client_of_the_application_is_used_and_not_closed(library):
    client = mock(library, completion("mocked"))
    with make_deck(http_clients={"openai": client}) as deck:
        assert deck.complete(request()).text == "mocked"
    assert not client.is_closed
    (sent,) = client.requests
    assert str(sent.url) == "https://api.openai.com/v1/chat/completions"
    assert sent.headers["authorization"] == "Bearer sk-0123456789abcdef"
    assert json.loads(sent.content)["messages"][0]["content"] == "say hello"


@LIBRARIES
def test_stream_over_a_client_of_the_application(library):
    events = b"".join(OPENAI_CHAT.events(ScriptedAnswer(text="in chunks")))
    client = mock(library, (200, {"content": events, "headers": {"content-type": "text/event-stream"}}))
    with make_deck(http_clients={"openai": client}) as deck:
        *pieces, response = deck.stream(request())
    assert isinstance(response, ChatResponse)
    assert "".join(piece.text for piece in pieces) == response.text == "in chunks"


@LIBRARIES
def test_compressed_response_of_a_mock_transport_is_read(library):
    import gzip

    body = gzip.compress(json.dumps(completion("zipped")).encode())
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    client = mock(library, (200, {"content": body, "headers": headers}))
    with make_deck(http_clients={"openai": client}) as deck:
        assert deck.complete(request()).text == "zipped"


@LIBRARIES
def test_failures_of_a_client_have_their_causes_and_no_redirect_is_followed(library):
    recovery = {"recovery": {"max_attempts": 1}}
    for reply, cause in [
        ((401, {"json": {"error": {"message": "no"}}}), AuthFailed),
        (library.ConnectError, ProviderUnavailable),
        (library.ReadError, ProviderUnavailable),
        (library.ProxyError, ProviderUnavailable),
        ((307, {"headers": {"location": "https://elsewhere.example"}}), InvalidRequest),
    ]:
        client = mock(library, reply, follow_redirects=True)
        with make_deck(http_clients={"openai": client}, config=recovery) as deck, pytest.raises(cause):
            deck.complete(request())
        assert len(client.requests) == 1


@LIBRARIES
def test_settings_of_the_client_stay_but_its_timeouts(library):
    seen = []

    async def hook(sent):
        seen.append(sent)

    client = mock(
        library,
        completion("hello"),
        auth=library.BasicAuth("ann", "pass"),
        event_hooks={"request": [hook]},
        headers={"x-gateway": "blue"},
        timeout=0.001,
    )
    with make_deck(http_clients={"openai": client}) as deck:
        deck.complete(request())
    (sent,) = seen
    assert sent.headers["x-gateway"] == "blue"
    assert sent.headers["authorization"].startswith("Basic ")
    assert sent.extensions["timeout"] == {"connect": 10.0, "read": None, "write": None, "pool": None}


@LIBRARIES
def test_limits_of_the_provider_hold_for_a_client(library):
    async def never(sent):
        await asyncio.Event().wait()

    client = library.AsyncClient(transport=library.MockTransport(never))
    config = {"providers": {"openai": {"timeout_s": 0.01}}, "recovery": {"max_attempts": 1}}
    with make_deck(http_clients={"openai": client}, config=config) as deck, pytest.raises(LikelyTimeout):
        deck.complete(request())


def test_client_decides_the_transport_whatever_is_configured():
    async def run():
        config = {"http": {"transport": "other"}}
        async with make_deck(OTHER, http_clients={"openai": mock(httpx2, completion("hello"))}, config=config) as deck:
            await deck.acomplete(request())
            return type(deck._engine.pool.open_provider("openai")._connection._transport)

    assert asyncio.run(run()) is ClientTransport


def test_client_of_an_unknown_provider_or_of_another_type_is_a_mistake():
    with pytest.raises(ConfigError) as caught:
        make_deck(http_clients={"opnai": httpx2.AsyncClient(), "openai": httpx2.Client(), "vllm": object()})
    told = {mistake.where: mistake for mistake in caught.value.mistakes}
    assert "did you mean 'openai'?" in told["argument http_clients: opnai"].problem
    assert told["argument http_clients: openai"].problem == "no transport can use a client of this type"
    assert told["argument http_clients: vllm"].allowed == "an async client of httpx"


# -- certificates ---------------------------------------------------------------------------------------------


@pytest.fixture
def _no_system_certificates(monkeypatch, tmp_path):
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    none = str(tmp_path / "none")
    paths = ssl.get_default_verify_paths()._replace(openssl_cafile=none, openssl_capath=none)
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: paths)
    monkeypatch.setattr("httpcore2._ssl.CA_FILE_CANDIDATES", ())


@pytest.mark.usefixtures("_no_system_certificates")
def test_httpx_trusts_the_list_of_certifi_where_the_system_has_none():
    assert _context().cert_store_stats()["x509_ca"] > 50


@pytest.mark.usefixtures("_no_system_certificates")
def test_httpx_without_any_certificates_names_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "certifi", None)

    async def run():
        async with make_deck(config={"providers": {"openai": {"base_url": "https://127.0.0.1:9/v1"}}}) as deck:
            await deck.acomplete(request())

    with pytest.raises(InvalidRequest, match="SSL_CERT_FILE") as caught:
        asyncio.run(run())
    assert caught.value.sub_cause == "misconfigured"
