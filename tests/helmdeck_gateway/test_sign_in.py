"""Tokens of an issuer in place of keys: which ones are accepted, which accounts they have, and how keys of issuers change."""

import asyncio
import datetime
import json

import attrs
import pytest

from helmdeck_core import ConfigError
from helmdeck_gateway import GatewaySettings, KeyRecord, Node, Open, TeamRecord, open_store, read_spend
from helmdeck_gateway.accounts.changes import ChangeRefused, create_key, edit_key, revoke_key, rotate_key
from helmdeck_gateway.accounts.keys import CACHE_S
from helmdeck_gateway.stores.memory import MemoryStore
from helmdeck_storage import StorageError
from tests.case_support import each_case
from tests.helmdeck_gateway.gateway_store_support import store_url as store_url
from tests.helmdeck_gateway.sign_in_support import (
    DISCOVERY_URL,
    ISSUER,
    NOW_S,
    Issuer,
    SignIn,
    b64,
    claims_of,
    ec,
    okp,
    rsa,
    signed,
    token,
)

PEM = rsa().as_pem(private=False)
OTHER = ec("other")


def unsigned(alg):
    return f"{b64({'alg': alg, 'typ': 'JWT', 'kid': 'ec'})}.{b64(claims_of())}."


def swapped():
    """The header and signature of one token around the claims of another."""
    head, _, tail = token().split(".")
    return f"{head}.{b64(claims_of(sub='root'))}.{tail}"


HOSTILE = {
    "alg none": (lambda: unsigned("none"), "algorithm"),
    "alg NONE": (lambda: unsigned("NONE"), "algorithm"),
    "alg is a list": (lambda: unsigned(["ES256"]), "algorithm"),
    "shared secret from the public key": (lambda: signed(claims_of(), PEM, "HS256"), "algorithm"),
    "shared secret, header says RS256": (
        lambda: signed(claims_of(), PEM, "RS256"),
        "signature",
    ),
    "algorithm that is not allowed": (lambda: token(rsa(), "RS384"), "algorithm"),
    "id of a key of another type": (lambda: token(ec(), header={"kid": "rsa"}), "key"),
    "unknown key": (lambda: token(OTHER), "key"),
    "unknown key under a known id": (lambda: token(OTHER, header={"kid": "ec"}), "signature"),
    "key in the header": (lambda: token(OTHER, header={"kid": "ec", "jwk": OTHER.as_dict(private=False)}), "signature"),
    "URL of keys in the header": (lambda: token(OTHER, header={"kid": "ec", "jku": "https://evil.example/k"}), "signature"),
    "URL of a certificate in the header": (lambda: token(OTHER, header={"kid": "ec", "x5u": "https://evil.example/c"}), "signature"),
    "path as the id of a key": (lambda: token(header={"kid": "../../dev/null"}), "key"),
    "id of a key is a number": (lambda: token(header={"kid": 1}), "malformed"),
    "no id with two fitting keys": (lambda: token(ec(), header={"kid": None}), "key"),
    "critical extension": (lambda: token(header={"crit": ["exp"], "exp": 1}), "malformed"),
    "unencoded payload": (lambda: token(header={"b64": False, "crit": ["b64"]}), "malformed"),
    "other type of token": (lambda: token(header={"typ": "dpop+jwt"}), "header"),
    "claims of another token": (swapped, "signature"),
    "no signature": (lambda: token().rpartition(".")[0] + ".", "signature"),
    "encrypted": (lambda: f"{b64({'alg': 'dir', 'enc': 'A256GCM'})}.a.b.c.d", "malformed"),
    "claims are a list": (lambda: signed([claims_of()]), "malformed"),
    "claims are not JSON": (lambda: signed(b"{"), "malformed"),
    "nested claims": (lambda: signed(b'{"a":' * 1_500 + b"1" + b"}" * 1_500), "malformed"),
    "huge": (lambda: token(groups=["g"] * 5_000), "malformed"),
    "expired": (lambda: token(exp=NOW_S - 31), "expired"),
    "no expiry": (lambda: token(exp=None), "expired"),
    "expiry is a string": (lambda: token(exp=str(NOW_S + 60)), "malformed"),
    "expiry is true": (lambda: token(exp=True), "malformed"),
    "expiry is not a number": (lambda: token(exp=float("nan")), "malformed"),
    "expiry is infinite": (lambda: signed(json.dumps(claims_of(exp=0)).replace('"exp": 0', '"exp": 1e999').encode()), "malformed"),
    "expiry has 400 digits": (lambda: token(exp=10**400), "malformed"),
    "not valid yet": (lambda: token(nbf=NOW_S + 31), "early"),
    "issued later": (lambda: token(iat=NOW_S + 31), "early"),
    "other audience": (lambda: token(aud="mail"), "audience"),
    "list of other audiences": (lambda: token(aud=["mail", "gateway2", ["gateway"]]), "audience"),
    "no audience": (lambda: token(aud=None), "audience"),
    "other issuer": (lambda: token(iss="https://evil.example"), "issuer"),
    "issuer with a slash": (lambda: token(iss=f"{ISSUER}/"), "issuer"),
    "list of issuers": (lambda: token(iss=[ISSUER]), "issuer"),
    "no subject": (lambda: token(sub=None), "subject"),
    "empty subject": (lambda: token(sub=" "), "subject"),
    "long subject": (lambda: token(sub="s" * 256), "subject"),
    "subject is a number": (lambda: token(sub=7), "subject"),
}  # fmt: skip


@each_case("name", list(HOSTILE))
def test_hostile_token_is_refused_with_its_reason_and_without_its_text(name):
    make, outcome = HOSTILE[name]
    sign_in = SignIn(Issuer(ec(), rsa(), ec("ec2")))
    text = make()
    problem = asyncio.run(sign_in.send(text))
    assert (problem.status, problem.kind) == (401, "authentication_error")
    assert [reason for _, reason in sign_in.outcomes] == [outcome]
    assert not any(part in problem.message for part in text.split(".") if len(part) > 1)
    assert all(url.startswith(ISSUER) for url in sign_in.issuer.fetched)
    assert asyncio.run(sign_in.store.list_keys()) == []


VALID = {
    "ES256": token,
    "RS256": lambda: token(rsa(), "RS256"),
    "EdDSA": lambda: token(okp(), "EdDSA"),
    "expired within the leeway": lambda: token(exp=NOW_S - 29),
    "issued within the leeway": lambda: token(iat=NOW_S + 29, nbf=NOW_S + 29),
    "several audiences": lambda: token(aud=["mail", "gateway"]),
    "access token": lambda: token(header={"typ": "at+jwt"}),
    "no type": lambda: token(header={"typ": None}),
    "no id, one fitting key": lambda: token(header={"kid": None}),
    "key of the header is ignored": lambda: token(header={"jwk": OTHER.as_dict(private=False), "jku": "https://evil.example"}),
}  # fmt: skip


@each_case("name", list(VALID))
def test_valid_token_is_accepted(name):
    issuer = Issuer(ec(), rsa(), okp(), {"kty": "oct", "kid": "oct", "k": "eHg"})
    sign_in = SignIn(issuer, algorithms=("ES256", "RS256", "EdDSA"))
    principal = asyncio.run(sign_in.send(VALID[name]()))
    assert (principal.caller, principal.key.name) == ("ann@company", "ann@company")
    assert sign_in.issuer.fetched == [DISCOVERY_URL, f"{ISSUER}/keys"]


# -- keys of the issuer -----------------------------------------------------------------------------------------


def test_two_keys_with_the_same_id_are_both_tried():
    twin = ec("twin").as_dict(private=False) | {"kid": "ec"}
    sign_in = SignIn(Issuer(twin, ec()))
    assert asyncio.run(sign_in.send(token())).caller == "ann@company"


@each_case(
    "data",
    [
        {"kty": "RSA", "kid": "rsa", "e": "AQAB", "n": b64(b"\xff" * 128)},
        rsa().as_dict(private=False) | {"use": "enc"},
        rsa().as_dict(private=False) | {"key_ops": ["encrypt"]},
        rsa().as_dict(private=False) | {"alg": "RS384"},
        rsa().as_dict(private=False) | {"n": "AQAB!"},
        rsa().as_dict(private=True),
        {"kty": "oct", "kid": "rsa", "k": "eHg"},
        {"kty": "RSA", "kid": "rsa"},
        "a string",
    ],
)
def test_key_that_is_no_public_key_for_signatures_is_not_used(data):
    sign_in = SignIn(Issuer(data))
    problem = asyncio.run(sign_in.send(token(rsa(), "RS256")))
    assert (problem.code, list(sign_in.outcomes)) == ("invalid_token", [("company", "key")])


def test_unknown_key_is_fetched_once_for_all_waiting_requests_and_once_per_interval():
    async def run():
        sign_in = SignIn(Issuer(ec()), refetch_s=10)
        await sign_in.send(token())
        sign_in.issuer.keys.append(ec("new"))
        sign_in.s = 9.0
        early = await sign_in.send(token(ec("new")))
        sign_in.s = 10.0
        found = await asyncio.gather(*(sign_in.send(token(ec("new"), sub=f"u{n}")) for n in range(20)))
        fetches = sign_in.fetches
        unknown = await asyncio.gather(*(sign_in.send(token(ec(f"forged{n}"))) for n in range(3)))
        return early, found, fetches, unknown, sign_in.fetches

    early, found, fetches, unknown, after = asyncio.run(run())
    assert early.code == "invalid_token" and [each.caller for each in found[:2]] == ["u0@company", "u1@company"]
    assert fetches == after == 2
    assert {each.code for each in unknown} == {"invalid_token"}


def test_cancelled_request_does_not_cancel_the_fetch_of_the_others():
    async def run():
        sign_in = SignIn()
        gate, fetch = asyncio.Event(), sign_in.issuer.fetch

        async def slow(url):
            await gate.wait()
            return await fetch(url)

        sign_in.keys._fetch = slow
        first = asyncio.create_task(sign_in.send(token()))
        second = asyncio.create_task(sign_in.send(token()))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        gate.set()
        return (await second).caller, sign_in.fetches

    assert asyncio.run(run()) == ("ann@company", 1)


def test_token_of_a_withdrawn_key_is_refused_although_it_was_verified():
    async def run():
        sign_in, text = SignIn(Issuer(ec(), ec("new")), keys_s=600), token(exp=NOW_S + 5_000)
        before = await sign_in.send(text)
        sign_in.issuer.keys.remove(ec())
        sign_in.s = 599.0
        cached, fetches = await sign_in.send(text), sign_in.fetches
        sign_in.s = 600.0
        await sign_in.send(text)  # starts the fetch, and need not wait for it
        await sign_in.keys._task
        return before.caller, cached.caller, fetches, (await sign_in.send(text)).message

    caller, cached, fetches, message = asyncio.run(run())
    assert (caller, cached, fetches) == ("ann@company", "ann@company", 1)
    assert message == "the token is refused: it is signed by a key that the issuer has withdrawn"


def test_last_keys_are_used_while_the_issuer_is_down_and_no_longer_than_configured():
    async def run():
        sign_in = SignIn(keys_s=100, stale_s=1_000, refetch_s=10)
        text = token(exp=NOW_S + 10_000)
        seen = [(await sign_in.send(text)).caller]
        sign_in.issuer.error = "HTTP 500"
        for at in (100.0, 999.0):
            sign_in.s = at
            seen.append((await sign_in.send(text)).caller)
            await sign_in.keys._task
        state = sign_in.tokens.state()["company"]
        sign_in.s = 1_000.0
        refused = await sign_in.send(text), await sign_in.send(token(sub="bob", exp=NOW_S + 10_000))
        fetches = len(sign_in.issuer.fetched)
        sign_in.issuer.error = None
        sign_in.s = 1_009.0
        return seen, state, refused, fetches, await sign_in.send(text)

    seen, state, refused, fetches, recovered = asyncio.run(run())
    assert seen == ["ann@company"] * 3
    assert state == {"keys": 2, "age_s": 999, "is_reachable": False}
    assert [(each.status, each.code) for each in refused] == [(503, "sign_in_unavailable")] * 2
    assert (refused[0].retry_after_s, refused[0].is_worth_retrying) == (10, True)
    assert recovered.caller == "ann@company"
    assert fetches == 4


@each_case(
    "change",
    [
        {"issuer": "https://evil.example"},
        {"jwks_uri": "http://login.example/keys"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": None},
    ],
)
def test_discovery_document_that_leads_elsewhere_is_not_followed(change):
    sign_in = SignIn(Issuer(**change))
    assert asyncio.run(sign_in.send(token())).code == "sign_in_unavailable"
    assert sign_in.issuer.fetched == [DISCOVERY_URL]


# -- accounts ---------------------------------------------------------------------------------------------------


def test_claims_decide_team_role_and_models_and_limits_come_from_the_settings():
    sign_in = SignIn(
        team_claim="groups", teams={"g-1": "search", "g-2": "ads"}, role_claim="realm_access.roles",
        roles={"llm-ops": "admin", "llm": "viewer"}, models_claim="scope", name_claim="email",
        requests_per_min=60, spend_per_day=2.5,
    )  # fmt: skip
    claims = {
        "groups": ["g-9", "g-2"], "realm_access": {"roles": ["llm", "llm-ops"]}, "scope": "fast up/* a*b",
        "email": "ann@example.com", "sub": "auth0|7",
    }  # fmt: skip
    principal = asyncio.run(sign_in.send(token(**claims)))
    key = principal.key
    assert (key.name, key.team, key.role) == ("ann@example.com@company", "ads", "admin")
    assert (key.models, key.limits.rate, key.limits.day_nusd) == (("fast", "up/*"), 60, 2_500_000_000)
    assert principal.caller.startswith("auth0_7~") and principal.caller.endswith("@company")
    assert [attrs.evolve(each, created_s=0.0) for each in asyncio.run(sign_in.store.list_keys())] == [
        attrs.evolve(key, created_s=0.0)
    ]


def test_token_without_a_mapped_team_or_model_is_refused_or_may_use_none():
    team = SignIn(team_claim="groups", teams={"g-1": "search"})
    assert "no team" in asyncio.run(team.send(token(groups=["search", "g-2", 7]))).message
    assert asyncio.run(SignIn(team_claim="groups", team="rest").send(token())).key.team == "rest"
    assert asyncio.run(SignIn(models_claim="models").send(token())).models == frozenset()
    assert asyncio.run(SignIn(role_claim="roles").send(token(roles=["root", "Admin"]))).key.role == ""


def test_subjects_with_the_same_shown_name_have_separate_accounts_and_callers():
    async def run():
        sign_in = SignIn(name_claim="email")
        found = [await sign_in.send(token(sub=each, email="ann@example.com")) for each in ("a", "b", "a/", "a_")]
        again = SignIn(name_claim="email", store=sign_in.store)
        renamed = await again.send(token(sub="a", email="root@example.com"))
        return found, renamed, await sign_in.store.list_keys()

    found, renamed, records = asyncio.run(run())
    assert len({each.caller for each in found}) == len({each.key.id for each in found}) == len(records) == 4
    assert renamed.key.name == found[0].key.name == "ann@example.com@company"
    assert len({each.key.name for each in found}) == 4


def test_account_that_an_operator_revokes_is_refused_within_the_time_of_the_cache():
    async def run():
        sign_in, text = SignIn(), token()
        await sign_in.send(text)
        await revoke_key(sign_in.store, "ann@company", NOW_S)
        sign_in.s = CACHE_S - 0.1
        cached = await sign_in.send(text)
        sign_in.s = CACHE_S
        return cached, await sign_in.send(text), await sign_in.send(token())

    cached, *refused = asyncio.run(run())
    assert cached.caller == "ann@company"
    assert [(each.status, each.code) for each in refused] == [(401, "account_revoked")] * 2


def test_edit_of_an_account_is_refused_since_the_next_token_would_undo_it():
    async def run():
        sign_in = SignIn()
        await sign_in.send(token())
        with pytest.raises(ChangeRefused, match=r"'ann@company' signs in with tokens: .* \[gateway.sign_in\]"):
            await edit_key(sign_in.store, "ann@company", lambda record: attrs.evolve(record, role="admin"))
        return await sign_in.store.list_audit(9)

    assert asyncio.run(run()) == []


def test_limits_and_revocation_of_the_team_of_a_token_apply():
    async def run():
        sign_in, text = SignIn(team_claim="groups", tags_claim="tags"), token(groups=["search"], tags="batch")
        team = TeamRecord(name="search", id="t1", models=("fast",))
        await sign_in.store.save_team(team)
        found = await sign_in.send(text)
        await sign_in.store.save_team(attrs.evolve(team, version=2, revoked_s=NOW_S))
        sign_in.s = CACHE_S
        return found, await sign_in.send(text)

    found, refused = asyncio.run(run())
    assert [team.id for team in found.teams] == ["t1"]
    assert (found.may_use("fast"), found.may_use("slow"), found.key.tags) == (True, False, ("batch",))
    assert (refused.status, refused.code) == (401, "team_revoked")


def test_verified_token_costs_no_signature_check_and_is_refused_when_it_expires(monkeypatch):
    import jwt

    async def run():
        sign_in = SignIn()
        text = token(exp=NOW_S + 60)
        await sign_in.send(text)
        monkeypatch.setattr(jwt, "PyJWS", None)
        sign_in.s = 89.0
        cached = await sign_in.send(text)
        sign_in.s = 90.0
        return cached, await sign_in.send(text), sign_in.outcomes

    cached, expired, outcomes = asyncio.run(run())
    assert (cached.caller, expired.code) == ("ann@company", "token_expired")
    assert outcomes == {("company", "accepted"): 1}


def test_account_of_a_token_gets_no_key_by_rotation():
    async def run():
        sign_in = SignIn()
        await sign_in.send(token())
        with pytest.raises(ChangeRefused, match="signs in with tokens"):
            await rotate_key(sign_in.store, "ann@company")
        return await sign_in.send(token())

    assert asyncio.run(run()).caller == "ann@company"


def test_first_tokens_of_one_subject_make_one_account_in_two_processes():
    async def run():
        first = SignIn()
        second = SignIn(store=first.store)
        found = await asyncio.gather(*(each.send(token()) for each in (first, second) * 8))
        return {each.key.id for each in found}, await first.store.list_keys()

    ids, records = asyncio.run(run())
    assert [record.id for record in records] == list(ids)


def test_every_store_keeps_accounts_of_tokens_and_the_spend_of_replaced_keys(store_url):
    async def run():
        store = open_store(store_url)
        sign_in = SignIn(store=store)
        account = (await sign_in.send(token())).key
        keys = []
        for _ in range(2):  # the second one has the name of the first one
            made = await create_key(store, KeyRecord(name="bob", id="", digest="", caller="bob"))
            await revoke_key(store, "bob")
            keys.append(made.record.id)
        for number, each in enumerate((account.id, *keys), 1):
            await store.admit([Node(each)], Open("call", 5_000), 60, now_s=NOW_S - 40 * 86_400)
            await store.settle([each], "call", number)
        await revoke_key(store, "ann@company")
        sign_in.s = CACHE_S
        refused = await sign_in.send(token())
        october = datetime.date(2026, 10, 1), datetime.date(2026, 10, 31)
        bill = {each.record.id: each.spend.spent_nusd for each in await read_spend(store, *october)}
        found = await store.find_key(account.digest)
        await store.aclose()
        return refused.code, found.id == account.id, bill == dict(zip((account.id, *keys), (1, 2, 3), strict=True))

    assert asyncio.run(run()) == ("account_revoked", True, True)


class Down(MemoryStore):
    async def find_key(self, digest):
        raise StorageError("the store is down")


def test_token_is_not_accepted_while_the_store_does_not_answer():
    problem = asyncio.run(SignIn(store=Down()).send(token()))
    assert (problem.status, problem.code) == (503, "store_unavailable")


# -- settings ---------------------------------------------------------------------------------------------------


def test_all_mistakes_of_the_settings_are_reported_at_once_without_credentials():
    tables = {
        "a": {"issuer": "http://user:pass@login.example", "audience": [], "algorithms": ["HS256", "none", "RS256"]},
        "b": {"issuer": ISSUER, "audience": ["x"], "roles": {"x": "root"}, "jwks_url": "ftp://x"},
        "c": {"issuer": ISSUER, "audience": ["x"], "spend_per_day": 0.0},
        "d": 7,
    }
    with pytest.raises(ConfigError) as caught:
        GatewaySettings.read({"sign_in": tables, "port": 70_000})
    places = [mistake.where for mistake in caught.value.mistakes]
    assert places == [
        "gateway.sign_in.a.issuer", "gateway.sign_in.a.audience", "gateway.sign_in.a.algorithms",
        "gateway.sign_in.a.algorithms", "gateway.sign_in.b.jwks_url", "gateway.sign_in.b.roles.x",
        "gateway.sign_in.b.roles", "gateway.sign_in.c.spend_per_day", "gateway.sign_in.d", "gateway.port",
    ]  # fmt: skip
    assert "pass" not in str(caught.value)
