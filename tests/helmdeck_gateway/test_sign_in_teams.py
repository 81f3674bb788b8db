"""The teams of tokens: those of the store, once it has some."""

import asyncio

from helmdeck_gateway import TeamRecord
from helmdeck_gateway.accounts.keys import CACHE_S
from tests.helmdeck_gateway.sign_in_support import SignIn, token


def test_token_of_a_team_that_the_store_does_not_have_is_refused_once_it_has_teams():
    async def run():
        sign_in = SignIn(team_claim="groups", teams={"g-1": "serach", "g-2": "ads"})
        label, found = token(groups=["g-1"]), token(groups=["g-2"], sub="bob")
        before = await sign_in.send(label)
        await sign_in.store.save_team(TeamRecord(name="ads", id="t1"))
        sign_in.s = CACHE_S
        refused = await sign_in.send(label), await sign_in.send(token(groups=["g-1"], sub="eve"))
        return before.key.team, refused, await sign_in.send(found), await sign_in.store.list_keys(), sign_in.outcomes

    team, refused, found, records, outcomes = asyncio.run(run())
    assert team == "serach", "without teams, the team of a key is a label for reports"
    for each in refused:
        assert (each.status, each.message) == (401, "the token is refused: its team does not exist in the gateway")
    assert [each.name for each in found.teams] == ["ads"]
    assert [each.name for each in records] == ["ann@company", "bob@company"], "no account of the refused token"
    assert outcomes["company", "team"] == 1


def test_token_without_a_team_is_accepted_beside_teams():
    async def run():
        sign_in = SignIn()
        await sign_in.store.save_team(TeamRecord(name="ads", id="t1"))
        return await sign_in.send(token())

    assert asyncio.run(run()).teams == ()
