"""Who may see and change what."""

import asyncio

import pytest

from helmdeck_console.web.access import IDLE_S, LIFE_S, ROTATE_S
from tests.helmdeck_console.console_support import NOW_S, ConsoleUnderTest, example

FIELDS = {"name": "new", "rate": "60/min", "month": "25", "days": "30", "models": "openai/*, local/lexical"}


class Clock:
    now = NOW_S

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def console(clock):
    return ConsoleUnderTest(traces=example(60), now=clock)


def test_pages_need_a_session_and_a_key_needs_a_role(console):
    client = console.client()
    assert client.get("/requests").headers["location"] == "/console/sign-in"
    assert client.get("/", **{"x-live": "1"}).status_code == 401
    refused = client.sign_in(console.key("caller"))
    assert refused.status_code == 403 and "--role admin" in refused.text
    signed_in = client.sign_in(console.key("ada", "admin"))
    cookie = signed_in.headers["set-cookie"].lower()
    assert (
        all(each in cookie for each in ("httponly", "samesite=strict", "path=/console/")) and "; secure" not in cookie
    )
    assert client.get("/requests").status_code == 200


def test_cookie_is_secure_behind_tls(console):
    client = console.client(base_url="https://gateway.example")
    assert "; Secure" in client.sign_in(console.key("ada", "admin")).headers["set-cookie"]


def test_sign_out_and_revocation_end_a_session_on_the_server(console):
    key = console.key("ada", "admin")
    client, other = console.client(key), console.client(key)
    session = client.http.cookies["helmdeck_console"]
    assert client.post("/sign-out").status_code == 303
    client.http.cookies.set("helmdeck_console", session, path="/console/")
    assert client.get("/").status_code == 303
    assert other.post("/keys/revoke", name="ada").status_code == 303
    assert other.get("/").headers["location"] == "/console/sign-in"


def test_session_ids_rotate_and_sessions_expire(console, clock):
    client = console.client(console.key("ada", "admin"))
    before = client.http.cookies["helmdeck_console"]
    clock.now += ROTATE_S + 1
    assert client.get("/").status_code == 200
    assert client.http.cookies["helmdeck_console"] != before
    token = client.token()
    clock.now = NOW_S + LIFE_S
    assert client.post("/keys/create", token=token, **FIELDS).headers["location"] == "/console/sign-in"
    assert IDLE_S < LIFE_S


def test_attempts_to_sign_in_are_limited(console, clock):
    client, key = console.client(), console.key("ada", "admin")
    assert [client.sign_in("hd-wrong").status_code for _ in range(6)] == [403] * 5 + [429]
    refused = client.sign_in(key)
    assert refused.status_code == 429 and 0 < int(refused.headers["retry-after"]) <= 61
    clock.now += 61
    assert client.sign_in(key).status_code == 303


def test_forms_need_the_token_of_the_session_and_the_own_site(console):
    client = console.client(console.key("ada", "admin"))
    for attack in (
        client.post("/keys/create", token="", **FIELDS),
        client.post("/keys/create", token=console.client(console.key("eve", "admin")).token(), **FIELDS),
        client.post("/keys/create", headers={"sec-fetch-site": "cross-site"}, **FIELDS),
    ):
        assert attack.status_code == 403
    assert client.http.post("/console/keys/create", json=FIELDS).status_code == 415
    assert {each.name for each in asyncio.run(console.store.list_keys())} == {"ada", "eve"}


def test_a_viewer_reads_and_changes_nothing(console):
    client = console.client(console.key("vera", "viewer"))
    assert client.get("/keys").status_code == 200 and "Create a key" not in client.get("/keys").text
    token = client.token()
    for path, fields in {
        "/keys/create": FIELDS, "/keys/revoke": {"name": "vera"}, "/models/calibrate": {"model": "local/lexical"},
        "/plugins/reload": {}, "/try/new": {"request": "draft a post", "run": "on"},
    }.items():  # fmt: skip
        assert client.post(path, token=token, **fields).status_code == 403, path


def test_an_admin_of_a_team_sees_and_changes_that_team_alone(console):
    for name, team in (("mine", "support"), ("theirs", "search")):
        console.key(name, team=team)
    client = console.client(console.key("sue", "admin", "support"))
    rows = client.get("/requests.json").json()
    assert rows and {row["team"] for row in rows} == {"support"}
    other = next(
        row
        for row in console.client(console.key("ada", "admin")).get("/requests.json").json()
        if row["team"] == "search"
    )
    assert client.get(f"/requests/{other['call_id']}").status_code == 404
    keys = client.get("/keys").text
    assert "mine" in keys and "theirs" not in keys
    assert client.post("/keys/revoke", name="theirs").status_code == 404
    assert client.get("/plugins").status_code == 403
    client.post("/keys/create", **{**FIELDS, "team": "search", "role": "admin"})
    assert "<td>support</td><td>admin</td>" in client.get("/keys").text


def test_a_new_key_is_shown_once_and_changes_are_in_the_audit_log(console):
    client = console.client(console.key("ada", "admin"))
    made = client.post("/keys/create", **FIELDS).text
    secret = made.partition('class="secret">')[2].partition("<")[0]
    assert secret.startswith("hd-") and secret not in client.get("/keys").text
    assert client.post("/keys/create", **FIELDS).status_code == 422
    for wrong in (
        {"rate": "fast"},
        {"month": "-1"},
        {"days": "0"},
        {"name": "a b"},
        {"models": "*x"},
        {"concurrency": "0"},
    ):
        assert client.post("/keys/create", **{**FIELDS, "name": "other", **wrong}).status_code == 422, wrong
    client.post("/keys/revoke", name="new")
    actions = [(each.actor, each.action, each.subject) for each in console.log.actions()]
    assert actions == [("ada", "key revoked", "new"), ("ada", "key created", "new")]


def test_a_link_signs_in_once_the_command_shows_it():
    from helmdeck_console import Access

    console = ConsoleUnderTest()
    console.console.access = Access(lambda: None, link_token="t0ken")
    client = console.client()
    assert client.get("/sign-in/link?token=wrong").status_code == 403
    assert client.get("/sign-in/link?token=t0ken").status_code == 303
    assert client.get("/keys").status_code == 200


def test_theme_returns_to_a_page_of_the_console_alone(console):
    client = console.client()
    for back in ("https://evil.example/", "//evil.example", "/console//evil", "/v1/models"):
        assert (
            client.http.post("/console/theme", data={"theme": "dark", "back": back}).headers["location"] == "/console/"
        )
    assert 'data-theme="dark"' in client.get("/sign-in").text
