"""Secrets in the configuration are not shown in reprs, errors, listings or copies, wherever they were entered."""

from __future__ import annotations

import base64
import copy
import json
import pickle
import traceback
from types import SimpleNamespace

import attrs
import cattrs
import msgspec
import pytest

from helmdeck_core import (
    ConfigError,
    EventSink,
    HistoryFailed,
    HistoryStoreSpec,
    InvalidRequest,
    PluginError,
    ProviderSettings,
    hookimpl,
    log,
)
from helmdeck_core.config.load import load_config
from helmdeck_core.config.types import Config, ProviderConfig, is_hidden
from helmdeck_providers import HttpConnection
from helmdeck_providers.http.proxies import proxy_at
from helmdeck_testing import EventRecorder, make_deck
from tests.case_support import each_case
from tests.cli_support import Cli, leave_the_machine

KEY = "kq7Zr0Wm4Xc9Tb2Ld8Gn5Vf1Hs6Jp3Ya"
PLACES = {
    "a password in a URL": f'base_url = "https://ann:{KEY}@host/v1"',
    "a password with a slash": f'base_url = "https://ann:x/{KEY}@host/v1"',
    "a user name in a URL": f'base_url = "https://{KEY}@host/v1"',
    "a URL without a scheme": f'base_url = "ann:{KEY}@host/v1"',
    "a query": f'base_url = "https://host/v1?key={KEY}"',
    "a query of Azure's": f'base_url = "https://host/v1?api-version=1&api-key={KEY}"',
    "a token in a query": f'base_url = "https://host/v1?access_token={KEY}"',
    "a fragment": f'base_url = "https://host/v1#{KEY}"',
    "a list of URLs": f'base_url = ["https://ann:{KEY}@host/v1"]',
    "a key": f'api_key = "{KEY}"',
    "a key behind env": f'api_key = "env:sk-{KEY}"',
    "a key of another kind": f'api_key = "vault:{KEY}"',
    "a list of keys": f'api_key = ["{KEY}"]',
    "headers as a text": f'headers = "Bearer {KEY}"',
    "a header as a list": f'headers = {{authorization = ["Bearer {KEY}"]}}',
    "headers as a list": f'headers = ["{KEY}"]',
    "options as a text": f'options = "{KEY}"',
    "an option with a wrong type": f'options = {{auth = "{KEY}"}}',
    "an unknown option": f'options = {{token = "{KEY}"}}',
    "an unknown key": f'apikey = "{KEY}"',
}


@pytest.fixture
def cli(capsys, monkeypatch, tmp_path):
    leave_the_machine(monkeypatch, tmp_path)
    yield Cli(capsys)
    log.disable()


@pytest.mark.parametrize("place", PLACES)
def test_misplaced_secret_is_rejected_and_not_shown(place, cli, tmp_path):
    (tmp_path / "helmdeck.toml").write_text(f"[providers.anthropic]\n{PLACES[place]}\n", encoding="utf-8")
    loaded = load_config(start=tmp_path)
    shown = [repr(loaded), str(loaded.mistakes)]
    done = cli("config", "show")
    shown += [done.out, done.err]
    if not loaded.mistakes:  # then one of these finds it
        for command in ("config check --json", "plan hello --model anthropic/x --log-level TRACE"):
            done = cli(*command.split())
            shown += [done.out, done.err]
    assert done.code
    assert [text for text in shown if KEY in text] == []


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HELMDECK_PROVIDERS__ANTHROPIC__API_KEY", KEY),
        ("HELMDECK_PROVIDERS__ANTHROPIC__HEADERS", KEY),
        ("HELMDECK_PROVIDERS__ANTHROPIC", KEY),
        ("HELMDECK_PROVIDERS__ANTHROPIC__TIMEOUT_S__X", KEY),
        ("HELMDECK_PROVIDERS__ANTHROPIC__OPTIONS", KEY),
        ("HELMDECK_PROVIDERS__ANTHROPIC__BASE_URL", f"https://u:{KEY}@h"),
        ("HELMDECK_HISTORY__URL", f"postgres://u:{KEY}@h/db"),
        ("HELMDECK_EVENTS__OPTIONS__RUNS__TOKEN", KEY),
    ],
)
def test_secret_in_an_environment_variable_is_not_shown(variable, value, cli, monkeypatch):
    monkeypatch.setenv(variable, value)
    monkeypatch.setenv("HELMDECK_PROVIDERS__ANTHROPIC__HEADERS__X", KEY)  # next to a value that is not a table
    shown = []
    for command in ("config show --json", "config check"):
        done = cli(*command.split())
        shown += [done.out, done.err]
    assert [text for text in shown if KEY in text] == []


def test_headers_options_and_urls_are_used_and_not_shown():
    given = {"headers": {"x-tenant": KEY}, "options": {"betas": [KEY], "auth": "bearer"}, "base_url": "http://h:1/v1"}
    config = {"providers": {"anthropic": given}, "events": {"sinks": ["traces"], "options": {"traces": {"file": KEY}}}}
    deck = make_deck(config=config)
    found = deck.runtime.config
    provider = found.providers["anthropic"]
    assert dict(provider.headers) == {"x-tenant": KEY} and provider.options["betas"] == [KEY]
    shown = [repr(found), str(found), repr(deck.runtime), repr(attrs.asdict(found)), repr(vars(deck))]
    shown += [str(json.loads(json.dumps(attrs.asdict(provider), default=repr)))]
    for write in (pickle.dumps, msgspec.json.encode, json.dumps):
        with pytest.raises(TypeError) as caught:
            write(found)
        shown.append(str(caught.value))
    assert [text for text in shown if KEY in text] == []
    assert "x-tenant" in shown[0]
    assert copy.deepcopy(provider) == provider


def test_an_open_provider_and_its_settings_show_no_secret():
    settings = ProviderSettings(
        name="x", base_url="http://127.0.0.1/v1", api_key=lambda: KEY, headers={"x": KEY}, options={"token": KEY}
    )
    transport = HttpConnection(settings)
    transport.secrets(KEY)
    shown = [repr(settings), repr(attrs.asdict(settings)), repr(vars(transport)), repr(transport)]
    shown.append(repr(attrs.evolve(settings, base_url=f"http://u:{KEY}@h")))
    assert [text for text in shown if KEY in text] == []


def test_url_with_a_secret_is_rejected():
    for url in (f"https://u:{KEY}@host", f"https://host?sig=1&signature={KEY}"):
        config = Config(providers={"anthropic": ProviderConfig(base_url=url)})
        with pytest.raises(ConfigError, match="providers.anthropic.base_url: contains a") as caught:
            make_deck().__class__(config)
        assert KEY not in str(caught.value) + repr(config)


def test_error_for_an_unusable_url_does_not_show_it():
    for url in (
        f"https://host?a={KEY}",
        f"https://host#{KEY}",
        f"https://u:{KEY}@host",
        f"http://[{KEY}",
        f"u:{KEY}@h",
    ):
        with pytest.raises(InvalidRequest) as caught:
            HttpConnection(ProviderSettings(name="x", base_url=url))
        assert KEY not in str(caught.value) or url.startswith("http://[")
        assert caught.value.__context__ is None


def test_only_possible_secrets_of_a_configuration_are_hidden():
    assert is_hidden(("providers", "x", "headers", "accept")) and is_hidden(("providers", "x", "options", "token"))
    assert not is_hidden(("providers", "x", "options", "region")) and not is_hidden(("history", "url"))
    assert cattrs.structure({}, Config) == Config()


# -- plugins that fail with secrets --------------------------------------------------------------------


class Careless:
    """A store and a sink whose errors contain all arguments."""

    def __init__(self, fails_at="open"):
        self.fails_at = fails_at

    def _store(self, target, keep_days):
        def fail(*_):
            raise ConnectionError(f"cannot reach {target}")

        if self.fails_at == "open":
            fail()
        return SimpleNamespace(add=fail, plans=fail)

    def _sink(self, token, url):
        raise ValueError(f"{token} is refused by {url}")

    @hookimpl
    def helmdeck_history_stores(self):
        return [HistoryStoreSpec(name="postgres", open=self._store)]

    @hookimpl
    def helmdeck_event_sinks(self):
        return [EventSink(name="careless", open=self._sink, options={"token": "", "url": ""})]


@pytest.mark.parametrize("fails_at", ["open", "add"])
def test_history_failure_shows_no_password(fails_at):
    recorder = EventRecorder()
    with make_deck(Careless(fails_at), recorder, config={"history": {"url": f"postgres://ann:{KEY}@host/db"}}) as deck:
        deck.plan("remember this")
    (event,) = recorder.of(HistoryFailed)
    assert "cannot reach //[redacted]@host/db" in event.detail and KEY not in repr(event)
    if fails_at == "open":
        with pytest.raises(PluginError) as caught:
            deck.history.records()
        shown = "".join(traceback.TracebackException.from_exception(caught.value, capture_locals=True).format())
        assert "in fail" in shown and "ConnectionError" in shown and KEY not in shown
        assert caught.value.__context__ is None


def test_failure_to_open_a_sink_shows_no_secret():
    options = {"token": KEY, "url": f"https://ann:{KEY}x@host"}
    with pytest.raises(PluginError, match="refused by https") as caught:
        make_deck(Careless(), config={"events": {"sinks": ["careless"], "options": {"careless": options}}})
    assert KEY not in str(caught.value) + str(caught.value.__notes__) and caught.value.__context__ is None


@each_case(
    ("url", "proxy_url", "credentials"),
    [
        (f"http://ann:{KEY}@host:3128", "http://host:3128", f"ann:{KEY}"),
        ("https://ann:p%40ss%2F1@[::1]:1/x", "https://[::1]:1/x", "ann:p@ss/1"),
        (f"http://{KEY}@host", "http://host", f"{KEY}:"),
        ("http://host:1", "http://host:1", None),
    ],
)
def test_proxy_url_has_no_credentials(url, proxy_url, credentials):
    proxy = proxy_at(url)
    assert proxy.url == proxy_url
    sent = proxy.headers.get("proxy-authorization")
    assert (sent and base64.b64decode(sent.removeprefix("Basic ")).decode()) == credentials
    assert KEY not in repr(proxy) and "Basic" not in repr(proxy)
