"""Sign-in with the tokens of a real OpenID Connect issuer, over HTTP; the gateway reads its keys from it."""

import asyncio
import contextlib
import secrets
import warnings

import pytest

from helmdeck_gateway.stores.memory import MemoryStore
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer
from tests.helmdeck_gateway.gateway_key_support import COST, USAGE, config
from tests.helmdeck_gateway.gateway_support import DIALECTS, FormatServer, running_gateway

INSTALL = "needs a real issuer: pip install oidc-provider-mock"
REDIRECT = "http://localhost/callback"
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the issuer's own libraries


@pytest.fixture(scope="module")
def issuer():
    """The URL of an issuer that runs on a loopback port."""
    with warnings.catch_warnings(record=True):  # a library of the issuer shows its own ones whatever the filters are
        mock = pytest.importorskip("oidc_provider_mock", reason=INSTALL)
    users = [mock.User(sub="ann", claims={"email": "ann@example.com", "groups": ["search"], "roles": ["viewer"]})]
    with mock.run_server_in_thread(user_claims=users) as server:
        yield f"http://localhost:{server.server_port}"


def id_token(issuer, user="ann", client_id="gateway"):
    """An id token by the flow of a browser: the form of the issuer, a code, and its exchange."""
    import httpx

    with httpx.Client() as client:
        found = client.get(f"{issuer}/.well-known/openid-configuration").json()
        query = {
            "client_id": client_id, "redirect_uri": REDIRECT, "response_type": "code", "scope": "openid email",
            "state": secrets.token_hex(8),
        }  # fmt: skip
        answer = client.post(found["authorization_endpoint"], params=query, data={"sub": user})
        code = httpx.URL(answer.headers["location"]).params["code"]
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT}
        return client.post(found["token_endpoint"], data=form, auth=(client_id, "secret")).json()["id_token"]


@pytest.fixture
def gateway(issuer):
    table = {
        "issuer": issuer, "audience": ["gateway"], "name_claim": "email", "team_claim": "groups", "role_claim": "roles",
        "requests_per_min": 4,
    }  # fmt: skip
    with contextlib.closing(FormatServer(OPENAI_CHAT, ScriptedAnswer(text="hello", **USAGE))) as server:
        gateway_settings = {"sign_in": {"company": table}}
        with running_gateway(config=config(server, gateway=gateway_settings), store=MemoryStore()) as running:
            yield running


def test_token_of_the_issuer_is_accepted_in_every_dialect_and_its_account_pays(issuer, gateway):
    headers = {"authorization": f"Bearer {id_token(issuer)}"}
    for dialect in DIALECTS.values():
        assert gateway.send(dialect.path, {"model": "up/m", **dialect.body("hi")}, headers=headers).status == 200
    store = gateway.gateway.state.find_store()
    (account,) = asyncio.run(store.list_keys())
    assert (account.name, account.team, account.role) == ("ann@example.com@company", "search", "viewer")
    day = asyncio.run(store.usage(account.id)).day
    assert (day.requests, day.spent_nusd) == (len(DIALECTS), round(len(DIALECTS) * COST * 1e9))
    ready = gateway.send("/readyz", method="GET").body["sign_in"]["company"]
    assert (ready["keys"], ready["is_reachable"]) == (1, True)


def test_token_for_another_client_and_no_token_are_refused(issuer, gateway):
    other = {"authorization": f"Bearer {id_token(issuer, client_id='mail')}"}
    refused = gateway.send("/v1/messages", {}, headers=other)
    assert (refused.status, refused.body["error"]["type"]) == (401, "authentication_error")
    assert "its audience has none of 'gateway'" in refused.body["error"]["message"]
    assert gateway.chat().body["error"]["code"] == "invalid_api_key"


def test_limits_of_the_issuer_apply_to_each_subject(issuer, gateway):
    headers = {"x-api-key": id_token(issuer)}
    body = {"model": "up/m", "messages": [{"role": "user", "content": "hi"}]}
    statuses = [gateway.send("/v1/chat/completions", body, headers=headers).status for _ in range(5)]
    assert statuses == [200] * 4 + [429]


def test_token_with_a_role_signs_in_to_the_console(issuer, gateway):
    import httpx

    with httpx.Client(base_url=gateway.url, follow_redirects=False) as client:
        answer = client.post("/console/sign-in", data={"key": id_token(issuer)})
        assert (answer.status_code, client.get("/console/").status_code) == (303, 200)
        assert client.post("/console/sign-in", data={"key": id_token(issuer, client_id="mail")}).status_code == 403
