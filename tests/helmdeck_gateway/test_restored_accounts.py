"""A revoked account that signs in with tokens can be restored; a revoked key stays revoked."""

import asyncio
import contextlib
import json

import pytest

from helmdeck_core.cli import main
from helmdeck_gateway import KeyRecord, open_store
from helmdeck_gateway.accounts.changes import ChangeRefused, KeyUnknown, create_key, restore_key, revoke_key
from helmdeck_gateway.accounts.keys import CACHE_S
from helmdeck_gateway.stores.memory import MemoryStore
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer
from tests.helmdeck_gateway.gateway_key_support import config, keyed
from tests.helmdeck_gateway.gateway_store_support import store_url as store_url
from tests.helmdeck_gateway.gateway_support import FormatServer
from tests.helmdeck_gateway.sign_in_support import NOW_S, SignIn, token

ACCOUNT = KeyRecord(name="ann@company", id="sso-1", digest="sso:1", caller="ann@company")


async def revoked_account(store):
    await store.save_key(ACCOUNT)
    await revoke_key(store, ACCOUNT.name)


def test_restored_account_is_accepted_again_with_its_caller_and_spend(store_url):
    async def run():
        store = open_store(store_url)
        sign_in, text = SignIn(store=store), token()
        before = (await sign_in.send(text)).key
        await revoke_key(store, "ann@company", NOW_S)
        sign_in.s = CACHE_S
        refused = await sign_in.send(text)
        await restore_key(store, "ann@company")
        after = (await sign_in.send(text)).key
        with pytest.raises(ChangeRefused, match="the account 'ann@company' is not revoked"):
            await restore_key(store, "ann@company")
        entry = (await store.list_audit(1))[0]
        await store.aclose()
        return before, refused.code, after, (entry.action, entry.subject)

    before, code, after, entry = asyncio.run(run())
    assert (code, entry) == ("account_revoked", ("key restored", "ann@company"))
    assert (after.id, after.caller) == (before.id, before.caller)


def test_revoked_or_replaced_key_is_not_restored_since_others_may_have_its_secret():
    async def run():
        store = MemoryStore()
        for _ in range(2):
            await create_key(store, KeyRecord(name="bob", id="", digest="", caller="bob"))
            await revoke_key(store, "bob")
        names = [each.name for each in await store.list_keys()]
        for name in names:
            with pytest.raises(ChangeRefused, match="is a key, whose secret others may have, and stays revoked"):
                await restore_key(store, name)
        with pytest.raises(KeyUnknown):
            await restore_key(store, "carol")
        return len(names)

    assert asyncio.run(run()) == 2


def test_command_restores_an_account(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path))
    (tmp_path / "helmdeck.toml").write_text("")
    words = ["--config", str(tmp_path / "helmdeck.toml"), "--no-plugins"]

    async def prepare():
        store = open_store(f"sqlite:{tmp_path / 'gateway.db'}")
        await revoked_account(store)
        await store.aclose()

    asyncio.run(prepare())
    assert main(["keys", "restore", ACCOUNT.name, *words]) == 0
    assert capsys.readouterr().out == "the account ann@company is restored; its next token is accepted\n"
    assert main(["keys", "show", ACCOUNT.name, "--json", *words]) == 0
    assert json.loads(capsys.readouterr().out)["state"] == "active"


def test_api_restores_an_account_and_no_key():
    with (
        contextlib.closing(FormatServer(OPENAI_CHAT, ScriptedAnswer(text="hello"))) as server,
        keyed(config(server), name="boss", role="admin") as gateway,
    ):
        asyncio.run(revoked_account(gateway.store))
        restored = gateway.send(f"/v1/admin/keys/{ACCOUNT.name}/restore", method="POST")
        key = gateway.send("/v1/admin/keys/boss/restore", method="POST")
    assert (restored.status, restored.body["state"]) == (200, "active")
    assert (key.status, key.body["error"]["code"]) == (403, "change_refused")
