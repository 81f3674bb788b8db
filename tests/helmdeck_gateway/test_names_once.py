"""Names of teams, keys and callers never open what had the name before: keys, files, requests and bills of other teams."""

import asyncio
import contextlib
import json

import attrs
import pytest

from helmdeck_gateway.accounts.changes import (
    Actor,
    ChangeRefused,
    TeamNameTaken,
    TeamUnknown,
    create_key,
    create_team,
    edit_key,
    revoke_key,
    revoke_team,
    rotate_key,
)
from helmdeck_gateway.accounts.keys import new_key
from helmdeck_gateway.stores import open_store
from helmdeck_gateway.stores.memory import MemoryStore
from helmdeck_gateway.stores.records import TeamRecord
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer
from tests.case_support import each_case
from tests.helmdeck_gateway.gateway_key_support import USAGE, config, keyed, record
from tests.helmdeck_gateway.gateway_store_support import store_url as store_url
from tests.helmdeck_gateway.gateway_support import FormatServer

CHAT = {"model": "up/m", "messages": [{"role": "user", "content": "hi"}]}
EVE = Actor(name="eve", source="api", team="eve")


@pytest.fixture
def server():
    with contextlib.closing(FormatServer(OPENAI_CHAT, ScriptedAnswer(text="hello", **USAGE))) as server:
        yield server


def team(name, parent=""):
    return TeamRecord(name=name, id="", parent=parent)


def run(url, work):
    """Run work with two connections to a store, as two processes have."""

    async def opened():
        stores = [open_store(url) for _ in range(2)]
        try:
            return await work(*stores)
        finally:
            for store in stores:
                await store.aclose()

    return asyncio.run(opened())


async def companies(store):
    """Make the organisations acme, with the team acme-ops, and eve."""
    for name, parent in (("acme", ""), ("acme-ops", "acme"), ("eve", "")):
        await create_team(store, team(name, parent))


def test_name_of_a_revoked_team_is_refused_to_every_admin_and_its_keys_stay_refused(server):
    with keyed(config(server), name="boss", role="admin") as gateway:
        asyncio.run(companies(gateway.store))
        opsbot, eve = gateway.add(name="opsbot", team="acme-ops"), gateway.add(name="eve", team="eve", role="admin")
        gateway.send("/v1/admin/teams/acme-ops", method="DELETE")
        for sender, parent in ((eve, "eve"), (gateway.key, "acme"), (gateway.key, "eve")):
            answer = gateway.send("/v1/admin/teams", {"name": "acme-ops", "parent": parent}, key=sender)
            assert (answer.status, "is taken" in answer.body["error"]["message"]) == (409, True)
        gateway.running.gateway.authoriser._known.clear()
        assert gateway.send(body=CHAT, key=opsbot).body["error"]["code"] == "team_revoked"
        assert gateway.send("/v1/admin/keys/opsbot/rotate", {}, key=eve).status == 404
        assert [each["name"] for each in gateway.send("/v1/admin/keys", method="GET", key=eve).body["keys"]] == ["eve"]
        assert "opsbot" not in json.dumps(gateway.send("/v1/admin/audit", method="GET", key=eve).body)


def test_admin_of_a_team_gets_no_team_with_a_name_that_keys_have_or_had_as_a_label(store_url):
    async def work(store, _):
        for name, label in (("ann", "search"), ("bob", "ads")):
            await create_key(store, record(name, team=label))
        await edit_key(store, "bob", lambda key: attrs.evolve(key, team="sales"))
        await create_team(store, team("eve"))
        for name in ("search", "ads", "sales"):
            with pytest.raises(TeamNameTaken):
                await create_team(store, team(name, "eve"), EVE)
        await create_team(store, team("crawl", "eve"), EVE)
        await create_team(store, team("search"))
        return [each.name for each in await store.list_teams()]

    assert run(store_url, work) == ["crawl", "eve", "search"], "an admin of all teams makes a team of a label"


def test_admin_of_a_team_does_not_replace_a_revoked_key_of_another_team(store_url):
    async def work(store, _):
        await companies(store)
        await create_key(store, record("former", team="acme"))
        await revoke_key(store, "former")
        await create_key(store, record("own", team="eve"))
        with pytest.raises(ChangeRefused, match="'former' is not of the team 'eve'"):
            await create_key(store, record("former", team="eve", caller="own"), EVE)
        return [each.name for each in await store.list_keys()]

    assert run(store_url, work) == ["former", "own"]


def test_admin_of_a_team_gets_no_caller_that_a_key_of_another_team_had(store_url):
    async def work(store, _):
        await companies(store)
        await create_key(store, record("writer", team="acme", caller="docs"))
        await edit_key(store, "writer", lambda key: attrs.evolve(key, caller="texts"))
        with pytest.raises(ChangeRefused, match="the caller 'docs' is not one of the team"):
            await create_key(store, record("docs", team="eve"), EVE)
        await create_key(store, record("doc", team="eve"), EVE)

    run(store_url, work)


@each_case("name", ["local", "console"])
def test_no_key_has_the_files_of_requests_with_the_shared_key(server, monkeypatch, name):
    monkeypatch.setenv("SHARED", shared := "a shared key of all clients")
    with keyed(config(server, gateway={"key": "env:SHARED"}), name="boss", role="admin") as gateway:
        asyncio.run(companies(gateway.store))
        eve = gateway.add(name="eve", team="eve", role="admin")
        stored = gateway.send("/v1/responses", {"model": "up/m", "input": "a secret"}, key=shared).body["id"]
        for sender in (eve, gateway.key):
            for fields in ({"name": name}, {"name": "spy", "caller": name}):
                refused = gateway.send("/v1/admin/keys", fields, key=sender)
                message = refused.body["error"]["message"]
                assert (refused.status, f"the caller {name!r} is reserved" in message) == (403, True)
            edited = gateway.send("/v1/admin/keys/eve", {"caller": name}, key=sender, method="PATCH")
            assert edited.status == 403
        named = gateway.send("/v1/admin/keys", {"name": name, "caller": "eve"}, key=eve).body["key"]
        assert gateway.send(f"/v1/responses/{stored}", method="GET", key=shared).status == 200
        assert gateway.send(f"/v1/responses/{stored}", method="GET", key=named).status == 404


def test_key_that_has_a_reserved_caller_already_is_edited_with_another_one(store_url):
    async def work(store, _):
        await store.save_key(new_key(record("local")).record)
        with pytest.raises(ChangeRefused, match="the caller 'local' is reserved"):
            await edit_key(store, "local", lambda key: attrs.evolve(key, role="viewer"))
        await rotate_key(store, "local")
        return await edit_key(store, "local", lambda key: attrs.evolve(key, caller="ann", role="viewer"))

    assert run(store_url, work).caller == "ann"


def test_default_caller_of_a_new_key_is_not_that_of_a_key_of_another_team(store_url):
    async def work(store, _):
        await companies(store)
        await create_key(store, record("bob", team="eve"), EVE)
        await create_key(store, record("spy", team="eve", caller="bob"), EVE)
        await revoke_key(store, "bob", actor=EVE)
        with pytest.raises(ChangeRefused, match="stored responses of keys of the team 'eve'; name another caller"):
            await create_key(store, record("bob", team="acme"))
        await create_key(store, record("bob", team="acme", caller="bob of acme"))
        await create_key(store, record("guest", team="acme", caller="bob"))

    run(store_url, work)


def test_error_for_a_revoked_team_names_no_teams_of_others(store_url):
    async def work(store, _):
        await companies(store)
        await create_team(store, team("crawl", "eve"), EVE)
        await revoke_team(store, "crawl", actor=EVE)
        with pytest.raises(TeamUnknown) as caught:
            await create_key(store, record("ann", team="crawl"), EVE)
        return caught.value.args

    assert run(store_url, work) == ("crawl", "eve")


def test_of_two_admins_one_gets_a_team_name(store_url):
    async def work(*stores):
        await companies(stores[0])
        made = await asyncio.gather(
            *(create_team(stores[n], team("lab", ("eve", "acme")[n])) for n in range(2)), return_exceptions=True
        )
        return sorted(type(each).__name__ for each in made)

    assert run(store_url, work) == ["TeamNameTaken", "TeamRecord"]


class Interrupted(MemoryStore):
    """A store that another admin changes once, right after the teams were read."""

    def __init__(self):
        super().__init__()
        self.change = None

    async def list_teams(self):
        found = await super().list_teams()
        if (change := self.change) is not None:
            self.change = None
            await change()
        return found


def test_change_that_was_checked_before_another_one_is_checked_again():
    async def work():
        store = Interrupted()
        await companies(store)
        store.change = lambda: revoke_team(store, "acme")
        with pytest.raises(TeamUnknown):
            await create_key(store, record("ann", team="acme"))
        return await store.list_keys()

    assert list(asyncio.run(work())) == []
