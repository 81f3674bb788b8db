"""What ``helmdeck serve`` prints before it serves, and how the commands of the gateway name mistakes of the configuration."""

import asyncio

import pytest

from helmdeck_core.cli import main
from helmdeck_gateway import GatewaySettings, KeyRecord, create_key, open_store, revoke_key
from helmdeck_gateway.commands.serve import clients_of
from tests.case_support import each_case
from tests.helmdeck_gateway.gateway_store_support import store_url as store_url


async def with_key(url):
    store = open_store(url)
    await create_key(store, KeyRecord(name="ann", id="", digest="", caller="ann"))
    await revoke_key(store, "ann")  # a revoked key leaves the gateway closed
    await store.aclose()


def test_store_with_a_key_is_announced_as_closed_to_clients_without_one(store_url):
    settings = GatewaySettings(store=store_url)
    assert clients_of(settings) == "every local client"
    asyncio.run(with_key(store_url))
    assert clients_of(settings) == "clients with a key"


def test_key_in_the_file_of_the_data_directory_is_announced_where_no_store_is_configured(tmp_path, monkeypatch):
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path))
    assert clients_of(GatewaySettings()) == "every local client"
    assert list(tmp_path.iterdir()) == [], "no store is created by looking for keys"
    asyncio.run(with_key(f"sqlite:{tmp_path / 'gateway.db'}"))
    assert clients_of(GatewaySettings()) == "clients with a key"


def test_store_that_does_not_answer_is_announced():
    text = clients_of(GatewaySettings(store="redis://127.0.0.1:1"))
    assert text.startswith("clients once the store of keys answers (")


@each_case("words", [("serve",), ("keys", "list"), ("teams", "list"), ("usage", "export", "--by", "model")])
def test_mistakes_of_the_gateway_name_the_file_that_they_are_in(words, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path))
    file = tmp_path / "own.toml"
    file.write_text("[gateway]\nport = 70000\n")
    assert main([*words, "--config", str(file), "--no-plugins"]) != 0
    assert "own.toml: gateway.port: too high, found 70000" in capsys.readouterr().err


@pytest.mark.parametrize("setting", ["spend_per_day", "spend_per_month"])
def test_spend_limit_of_sign_in_that_would_be_zero_is_a_mistake(setting):
    from helmdeck_gateway.sign_in.settings import read_sign_in

    table = {"issuer": "https://login.example", "audience": ["gateway"]}
    assert read_sign_in({"company": {**table, setting: 1e-9}})[1] == ()
    mistakes = read_sign_in({"company": {**table, setting: 1e-20}})[1]
    assert [str(each) for each in mistakes] == [
        f"gateway.sign_in.company.{setting}: too low to be counted, found 1e-20; allowed: at least 0.000000001"
    ]
