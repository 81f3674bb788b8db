"""Who may see and change what."""

import asyncio
import html
import re

import pytest

from helmdeck_console.screens import keys
from helmdeck_console.web.access import IDLE_S, LIFE_S, ROTATE_S, Access, Refused
from helmdeck_gateway import KeyRecord, digest_of
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
    assert client.get("/requests").headers["location"] == "/console/sign-in?next=%2Frequests"
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
    assert other.get("/").headers["location"] == "/console/sign-in?next=%2F"


def test_session_ids_rotate_and_sessions_expire(console, clock):
    client = console.client(console.key("ada", "admin"))
    for path, status in (("/", 200), ("/requests/unknown", 404)):
        before = client.http.cookies["helmdeck_console"]
        clock.now += ROTATE_S + 1
        assert client.get(path).status_code == status
        assert client.http.cookies["helmdeck_console"] != before
    token = client.token()
    clock.now += ROTATE_S + 1
    assert client.get("/", **{"x-live": "1"}).status_code == 200
    assert client.post("/keys/create", token=token, **FIELDS).status_code == 200, "an open page stays valid"
    clock.now = NOW_S + LIFE_S
    assert client.post("/keys/create", token=token, **FIELDS).headers["location"] == "/console/sign-in"
    assert IDLE_S < LIFE_S


def test_attempts_to_sign_in_are_limited(console, clock):
    client, key = console.client(), console.key("ada", "admin")
    assert [client.sign_in("hd-wrong").status_code for _ in range(6)] == [403] * 5 + [429]
    refused = client.sign_in(key)
    assert refused.status_code == 429 and 0 < int(refused.headers["retry-after"]) <= 61
    other_process = Access(lambda: console.store, now=clock)
    with pytest.raises(Refused, match="too many attempts"):
        asyncio.run(other_process.sign_in(key, "testclient"))
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
        "/keys/edit": {"name": "vera", "role": "admin"}, "/keys/rotate": {"name": "vera"},
        "/keys/teams/create": {"name": "t"}, "/keys/teams/edit": {"name": "t"}, "/keys/teams/revoke": {"name": "t"},
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
    assert client.post("/keys/create", **{**FIELDS, "team": "search", "role": "admin"}).status_code == 422
    assert client.post("/keys/create", **FIELDS).status_code == 200
    assert asyncio.run(console.store.list_keys())[1].team == "support"


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
    entries = asyncio.run(console.store.list_audit(2))
    assert [(each.actor, each.source, each.action, each.subject) for each in entries] == [
        ("ada", "console", "key revoked", "new"),
        ("ada", "console", "key created", "new"),
    ]
    assert "<td>console</td><td>key revoked</td><td>new</td>" in client.get("/keys").text


def test_a_url_that_claims_that_a_key_is_revoked_is_not_trusted(console):
    client, other = (console.client(console.key(name, "admin")) for name in ("ada", "eve"))
    console.key("bob")
    done = "/keys?done={}&subject={}"
    for url in (done.format("revoked", "bob"), done.format("revoked", "x"), done.format("edited", "bob")):
        assert 'class="notice"' not in client.get(url).text
    assert client.post("/keys/revoke", name="bob").headers["location"] == "/console" + done.format("revoked", "bob")
    assert "bob is revoked." in client.get(done.format("revoked", "bob")).text
    assert "bob is edited" not in client.get(done.format("edited", "bob")).text
    assert "bob is revoked." not in other.get(done.format("revoked", "bob")).text, "another operator did it"


def test_limits_of_keys_and_teams_are_edited_and_keys_are_rotated(console):
    client = console.client(console.key("ada", "admin"))
    secret = console.key("bob", expires_s=1.0)
    assert client.post("/keys/teams/create", name="acme", month="100", tokens="5000").status_code == 303
    assert client.post("/keys/teams/create", name="search", parent="acme").status_code == 303
    form = client.get("/keys?edit=bob").text
    assert 'value="1970-01-01"' in form and "Edit the key bob" in form
    left = {"name": "bob", "is_edit": "on", "kind": "key", "expires": "1970-01-01", "role": ""}
    shown = client.post("/keys/edit", **left, rate="5/s", tokens="x", day="-1")
    assert shown.status_code == 422
    error = html.unescape(shown.text.partition('role="alert">')[2].partition("</p>")[0])
    assert error == (
        "Tokens per minute: expected an integer from 1 to 1,000,000,000, or an empty field, found 'x'; "
        "US dollars per day: expected US dollars from 0.000000001 to 1,000,000, or an empty field, found -1.0."
    )
    assert 'value="5/s"' in shown.text, "the form has what was typed"
    assert client.post("/keys/edit", **left, rate="5/s", team="search", tokens="700").status_code == 303
    assert client.post("/keys/teams/edit", name="search", parent="", models="fast", day="2.5").status_code == 303
    assert client.post("/keys/teams/edit", name="acme", parent="acme").status_code == 422
    rotated = client.post("/keys/rotate", name="bob", hours="24").text.partition('class="secret">')[2].partition("<")[0]
    keys, teams = asyncio.run(console.store.list_keys()), asyncio.run(console.store.list_teams())
    bob = next(each for each in keys if each.name == "bob")
    assert (bob.limits.rate, bob.limits.window_s, bob.limits.tokens, bob.team, bob.expires_s) == (
        5,
        1.0,
        700,
        "search",
        1.0,
    )
    assert bob.accepts(digest_of(secret.encode()), 0.0) and bob.accepts(digest_of(rotated.encode()), 1e12)
    assert [(each.name, each.parent, each.models) for each in teams] == [("acme", "", None), ("search", "", ("fast",))]
    assert client.post("/keys/teams/revoke", name="acme").status_code == 303
    assert client.post("/keys/rotate", name="bob", hours="9999").status_code == 422


def test_a_revoked_account_of_tokens_is_restored_and_a_revoked_key_has_no_button_for_it(console):
    client = console.client(console.key("ada", "admin"))
    console.key("bob")
    asyncio.run(console.store.save_key(KeyRecord(name="ann@company", id="sso-1", digest="sso:1", caller="ann@company")))
    for name in ("bob", "ann@company"):
        client.post("/keys/revoke", name=name)
    assert client.get("/keys").text.count('action="/console/keys/restore"') == 1
    assert client.post("/keys/restore", name="bob").status_code == 409
    done = client.post("/keys/restore", name="ann@company").headers["location"].removeprefix("/console")
    assert "ann@company is restored" in client.get(done).text
    assert [each.name for each in asyncio.run(console.store.list_keys()) if each.revoked_s is not None] == ["bob"]


def test_a_page_of_many_keys_reports_their_number_and_finds_all_of_them(console, monkeypatch):
    monkeypatch.setattr(keys, "MAX_LISTED", 3)
    client = console.client(console.key("ada", "admin"))
    for index in range(4):
        console.key(f"batch-{index}", team=f"team-{index % 2}")
    page = client.get("/keys").text
    assert "3 of 5 keys" in page and ">batch-3</a>" not in page
    assert "Spend of this month by team" not in page, "it would be that of some keys"
    found = client.get("/keys?name=BATCH-3").text
    assert ">batch-3</a>" in found and ">batch-2</a>" not in found and "Show all" in found
    assert "Edit the key batch-3" in client.get("/keys?edit=batch-3").text
    assert "No name of a key contains nothing" in client.get("/keys?name=nothing").text
    monkeypatch.undo()
    assert "Spend of this month by team" in client.get("/keys").text and "Name contains" not in client.get("/keys").text


def test_a_link_signs_in_once_the_command_shows_it():
    from helmdeck_console import Access

    console = ConsoleUnderTest()
    console.console.access = Access(lambda: None, link_token="t0ken")
    client = console.client()
    assert client.get("/sign-in/link?token=wrong").status_code == 403
    assert client.get("/sign-in/link?token=t0ken").status_code == 303
    assert client.get("/keys").status_code == 200


def next_of(page):
    return html.unescape(re.findall(r'name="next" value="([^"]*)"', page.text)[-1])


def test_sign_in_and_theme_return_to_a_page_of_the_console_alone(console):
    client, key = console.client(), console.key("ada", "admin")
    for url in ("https://evil.example/", "//evil.example", "/\\evil.example", "evil", ""):
        for path, fields in (("theme", {"theme": "dark"}), ("sign-in", {"key": key})):
            answer = client.http.post(f"/console/{path}", data={**fields, "next": url})
            assert answer.headers["location"] == "/console/", url
    assert 'data-theme="dark"' in client.get("/sign-in").text
    url = "/requests?model=http%3A%2F%2Fx%2Fm&since=hour"
    assert next_of(client.get(url)) == url
    assert client.http.post("/console/theme", data={"next": url}).headers["location"] == f"/console{url}"


def test_sign_in_leads_to_the_page_that_was_requested(console):
    client, key = console.client(), console.key("ada", "admin")
    asked = client.get("/requests?key=helpdesk&since=hour")
    form = client.http.get(asked.headers["location"])
    wrong = client.http.post("/console/sign-in", data={"key": "wrong", "next": next_of(form)})
    right = client.http.post("/console/sign-in", data={"key": key, "next": next_of(wrong)})
    assert right.headers["location"] == "/console/requests?key=helpdesk&since=hour"


def test_a_link_of_another_site_is_loaded_again_so_that_the_browser_sends_the_cookie(console):
    client = console.client()
    assert client.get("/requests", **{"sec-fetch-site": "cross-site"}).headers["refresh"] == "0"
    assert client.get("/requests", **{"sec-fetch-site": "same-origin"}).status_code == 303


def test_pages_without_a_url_of_their_own_have_no_switch_of_colours(console):
    client = console.client(console.key("ada", "admin"))
    assert 'action="/console/theme"' in client.get("/keys").text
    assert 'action="/console/theme"' not in client.post("/keys/create", **FIELDS).text


def test_a_page_that_does_not_exist_keeps_the_navigation_of_its_reader(console):
    client = console.client(console.key("ada", "admin"))
    for path, status, text in (("/nothing", 404, "There is no such page"), ("/keys/create", 405, "accepts forms only")):
        page = client.get(path)
        assert page.status_code == status and text in page.text and 'href="/console/keys"' in page.text
    assert "accepts no forms" in client.post("/keys").text


def test_a_form_with_too_many_fields_is_refused(console):
    fields = {f"f{index}": "" for index in range(101)}
    for path in ("sign-in", "theme"):
        answer = console.client().http.post(f"/console/{path}", data=fields)
        assert answer.status_code == 413 and "more than 100 fields" in answer.text
