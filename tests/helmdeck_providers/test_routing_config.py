"""The configuration of several API keys and servers of one provider: mistakes, files, variables and effective settings."""

from pathlib import Path

import pytest

from helmdeck_cli.checks.effective_settings import effective_settings
from helmdeck_core import ConfigError, load_config
from helmdeck_core.redaction import NOT_SHOWN
from helmdeck_testing import make_deck

KEYS = {"KEY_A": "sk-Aa1Bb2Cc3Dd4Ee5Ff6", "KEY_B": "sk-Gg7Hh8Ii9Jj0Kk1Ll2", "KEY_C": "sk-Mm3Nn4Oo5Pp6Qq7Rr8"}
A, B, C = KEYS.values()


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)


def mistakes_in(**provider):
    with pytest.raises(ConfigError) as caught:
        make_deck(config={"providers": {"openai": provider}})
    return str(caught.value)


def test_all_mistakes_in_routes_are_reported_at_once_without_values_that_may_be_keys():
    text = mistakes_in(
        routes=[
            {"api_key": A, "wieght": 2, "base_url": "http://h/v1"},
            {"weight": "much", "headers": {"x-key": 1}},
            B,
        ],
        api_keys=C,
        routing="least_busy",
    )
    for expected in (
        "routes.0.api_key: not a reference to a secret",
        "routes.0.wieght: unknown key (did you mean 'weight'?)",
        "routes.1.weight: not a number, found 'much'",
        "routes.1.headers.x-key: not a string",
        "routes.2: not a table",
        "api_keys: not a list",
        "routing: unknown routing (did you mean 'least-busy'?)",
    ):
        assert expected in text
    assert not any(key in text for key in (A, B, C))


@pytest.mark.parametrize(
    ("provider", "problem"),
    [
        ({"routes": [{"weight": 0}]}, "routes.0.weight: not a number above 0"),
        ({"routes": [{}, {"max_concurrent": 0}]}, "routes.1.max_concurrent: every request would fail at 0"),
        ({"routes": [{"base_url": "https://me:secret@h/v1"}]}, "routes.0.base_url"),
        ({"api_key": "env:KEY_A", "api_keys": ["env:KEY_B"]}, "api_keys: set besides api_key or routes"),
        ({"routes": {"one": {"weight": 1}}}, "routes: not a list"),
    ],
    ids=repr,
)
def test_invalid_routes_are_mistakes(provider, problem):
    text = mistakes_in(**provider)
    assert problem in text and "secret@" not in text


def test_key_files_of_routes_are_relative_to_the_configuration_file(tmp_path):
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "one").write_text(A)
    (tmp_path / "keys" / "two").write_text(B)
    file = tmp_path / "helmdeck.toml"
    for table in (
        'api_keys = ["file:keys/one", "file:keys/two"]',
        '[[providers.openai.routes]]\napi_key = "file:keys/one"\n[[providers.openai.routes]]\napi_key = "file:keys/two"',
    ):
        file.write_text(f"[providers.openai]\n{table}\n")
        with make_deck(file=file) as deck:
            assert [each.api_key() for each in deck._engine.pool.registry.settings("openai")] == [A, B]


def test_keys_are_a_list_in_an_environment_variable():
    environ = {"HELMDECK_PROVIDERS__OPENAI__API_KEYS": "env:KEY_A, env:KEY_B"}
    with make_deck(environ=environ) as deck:
        assert [each.api_key() for each in deck._engine.pool.registry.settings("openai")] == [A, B]


def test_settings_show_every_route_and_no_secret():
    routes = [
        {"api_key": "env:KEY_A", "weight": 2},
        {"base_url": "https://h/v1", "headers": {"x-key": "planted-secret"}},
    ]
    loaded = load_config(
        file=Path("/dev/null"), environ={}, arguments={("providers", "own", "routes"): (routes, "overrides")}
    )
    shown = {each.key: each.value for each in effective_settings(loaded) if ".routes." in each.key}
    assert shown == {
        "providers.own.routes.0.api_key": "env:KEY_A",
        "providers.own.routes.0.weight": 2.0,
        "providers.own.routes.1.base_url": "https://h/v1",
        "providers.own.routes.1.headers.x-key": NOT_SHOWN,
    }
    assert "planted-secret" not in repr(loaded)
