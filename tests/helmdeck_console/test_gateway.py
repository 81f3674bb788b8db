"""The console of a gateway: served beside its endpoints, over the requests that it records."""

import contextlib
import tomllib

from starlette.applications import Starlette
from starlette.routing import Mount

from docs.examples import acme_console
from helmdeck_console import Access, Console
from helmdeck_console.sources import recorded_sources
from helmdeck_core import Config, LoadedConfig
from helmdeck_gateway import Gateway, GatewaySettings
from helmdeck_gateway.http_server.counters import ConfigState
from helmdeck_telemetry import Filters, RequestLog
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer, make_deck
from tests.helmdeck_console.console_support import Client, ConsoleUnderTest, example
from tests.helmdeck_gateway.gateway_support import FormatServer, running_gateway, upstream


def gateway_client(tmp_path, *plugins, settings=None, **config):
    events = {"sinks": ["gateway", "requests"], "options": {"requests": {"url": f"sqlite:{tmp_path / 'requests.db'}"}}}
    deck = make_deck(*plugins, model="local/lexical", config={"events": events, **config})
    return deck, Client(Gateway(deck, GatewaySettings(**(settings or {}))).app)


def test_local_clients_of_a_gateway_without_keys_read_the_console(tmp_path, monkeypatch):
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path))
    deck, client = gateway_client(tmp_path, acme_console)
    with deck:
        assert client.http.get("/console").headers["location"].endswith("/console/")
        assert "Send a request to the gateway" in client.get("/").text
        deck.plan("draft a blog post about our release")
        deck.sink("requests").flush()
        assert "helmdeck.plan" in client.get("/requests").text
        assert client.post("/plugins/reload").status_code == 403
        assert "Models of this deck: local/lexical." in client.get("/shifts").text
        assert client.http.get("/status/").text == "0 requests under way"


def test_a_console_without_a_gateway_shows_what_is_recorded_after_it_started(tmp_path, monkeypatch):
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path))
    with make_deck(model="local/lexical") as deck:
        sources = recorded_sources(deck, LoadedConfig(Config(model="local/lexical"), {}))
        console = Console(sources, Access(lambda: None, open_role="viewer", is_always_open=True))
        client = Client(Starlette(routes=[Mount("/console", app=console)]))
        assert "No request is recorded" in client.get("/requests").text
        assert "This console shows recorded requests alone" in client.get("/keys").text
        with contextlib.closing(RequestLog.open()) as log:
            log.add(list(example(2)))
        assert len(client.get("/requests.json").json()) == 2
        sources.log.close()


def test_a_gateway_with_keys_asks_for_a_session_and_the_console_can_be_off(tmp_path, monkeypatch):
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path))
    deck, client = gateway_client(tmp_path, settings={"requires_keys": True})
    with deck:
        assert client.get("/").headers["location"] == "/console/sign-in?next=%2F"
    deck, client = gateway_client(tmp_path, settings={"console": False})
    with deck:
        assert client.get("/").status_code == 404


def test_reload_shows_what_changed():
    before, after = (LoadedConfig(Config(model=model), {}) for model in ("local/lexical", "openai/gpt-5-mini"))
    state = ConfigState(loaded=before)

    async def reload():
        state.former, state.loaded, state.generation = before, after, 2
        return True

    state.reload = reload
    console = ConsoleUnderTest(open_role="admin", is_always_open=True, config=state)
    client = console.client()
    assert client.post("/plugins/reload").headers["location"] == "/console/plugins?done=reloaded"
    page = client.get("/plugins").text
    assert (
        '<td class="mono">model</td><td class="wide">local/lexical</td><td class="wide">openai/gpt-5-mini</td>' in page
    )
    assert [each.action for each in console.log.actions()] == ["configuration reloaded"]


def test_findings_name_the_line_of_the_file(tmp_path):
    from helmdeck_console.screens.plugins import findings_of
    from helmdeck_core import load_config

    file = tmp_path / "helmdeck.toml"
    file.write_text('model = "local/lexical"\n\n[gateway]\nport = 99999\n')
    assert tomllib.loads(file.read_text())
    [finding] = [each for each in findings_of(load_config(file=file, environ={})) if each.kind == "mistake"]
    assert finding.place == "helmdeck.toml, line 4"


def test_requests_of_clients_are_recorded_and_streams_with_their_first_token(tmp_path):
    options = {"requests": {"url": f"sqlite:{tmp_path / 'requests.db'}"}}
    with contextlib.closing(FormatServer(OPENAI_CHAT, ScriptedAnswer(text="hello"))) as server:
        config = {
            "providers": {"up": upstream(server)},
            "events": {"sinks": ["gateway", "requests"], "options": options},
        }
        with running_gateway(config=config) as running:
            running.chat()
            running.chat(stream=True)
            sink = running.gateway.deck.sink("requests")
            sink.flush()
            streamed, whole = sink.log.page(Filters()).rows
    assert [each.outcome for each in (streamed, whole)] == ["answered", "answered"]
    assert whole.first_token_ms is None and 0 <= streamed.first_token_ms <= streamed.latency_ms
