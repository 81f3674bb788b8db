"""Keys with the role ``admin`` change keys and teams over HTTP; one of a team sees and changes that team and those below it alone."""

import asyncio
import contextlib
import json
import sqlite3

import pytest

from helmdeck_core.cli import main
from helmdeck_gateway.accounts.changes import create_team
from helmdeck_gateway.accounts.keys import digest_of
from helmdeck_gateway.stores.records import TeamRecord
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer
from tests.case_support import each_case
from tests.helmdeck_gateway.gateway_key_support import USAGE, config, keyed
from tests.helmdeck_gateway.gateway_support import FormatServer

LIMITS = {
    "models": ["fast", "openai/*"], "dialects": ["chat"], "tags": ["batch"], "rate": 60, "rate_window_s": 60.0, "concurrency": 4,
    "tokens_per_minute": 50_000, "spend_per_day_usd": 5.0, "spend_per_month_usd": 20.5,
}  # fmt: skip
CHAT = {"model": "up/m", "messages": [{"role": "user", "content": "hi"}]}


class Admin:
    """A gateway, and requests of a key with the role ``admin``."""

    def __init__(self, gateway):
        self.gateway = gateway

    def __call__(self, method, path, body=None, **options):
        answer = self.gateway.send(f"/v1/admin/{path}", body, method=method, **options)
        return answer.status, answer.body if isinstance(answer.body, dict) else json.loads(answer.body)


@pytest.fixture
def admin():
    with (
        contextlib.closing(FormatServer(OPENAI_CHAT, ScriptedAnswer(text="hello", **USAGE))) as server,
        keyed(config(server), name="boss", role="admin") as gateway,
    ):
        yield Admin(gateway)


@pytest.fixture
def lead(admin):
    """Requests of the admin of the team search, which is below acme."""
    for name, parent in (("acme", ""), ("search", "acme"), ("crawl", "search"), ("sales", "acme")):
        asyncio.run(create_team(admin.gateway.store, TeamRecord(name=name, id="", parent=parent)))
    admin("POST", "keys", {"name": "seller", "team": "sales"})
    admin("POST", "keys", {"name": "former", "team": "sales"})
    admin("DELETE", "keys/former")
    key = admin("POST", "keys", {"name": "lead", "role": "admin", "team": "search"})[1]["key"]

    def send(method, path, body=None):
        return admin(method, path, body, key=key)

    return send


def test_key_is_made_edited_rotated_and_revoked_at_run_time(admin):
    gateway = admin.gateway
    status, made = admin("POST", "keys", {"name": "ann", **LIMITS})
    assert (status, {name: made[name] for name in LIMITS}) == (201, LIMITS)
    assert gateway.send(body=CHAT, key=made["key"]).status == 403
    gateway.running.gateway.authoriser._known.clear()  # as after the time for which a key is remembered
    status, edited = admin("PATCH", "keys/ann", {"models": None, "rate": "5/s", "tokens_per_minute": None})
    assert (status, edited["models"], edited["rate"], edited["rate_window_s"], edited["tokens_per_minute"]) == (
        200,
        None,
        5,
        1,
        None,
    )
    assert "key" not in edited
    assert edited["spend_per_day_usd"] == 5.0
    gateway.running.gateway.authoriser._known.clear()
    assert gateway.send(body=CHAT, key=made["key"]).status == 200
    rotated = admin("POST", "keys/ann/rotate", {"grace_s": 60})[1]["key"]
    gateway.running.gateway.authoriser._known.clear()
    assert [gateway.send(body=CHAT, key=key).status for key in (made["key"], rotated)] == [200, 200]
    assert admin("DELETE", "keys/ann")[1]["state"] == "revoked"
    gateway.running.gateway.authoriser._known.clear()
    assert [gateway.send(body=CHAT, key=key).status for key in (made["key"], rotated)] == [401, 401]
    assert admin("GET", "keys/ann")[1]["today"]["requests"] == 3
    shown = json.dumps([admin("GET", "keys"), admin("GET", "audit")])
    assert not [each for key in (made["key"], rotated) for each in (key, digest_of(key.encode())) if each in shown]


def test_audit_log_names_who_changed_what(admin):
    admin("POST", "teams", {"name": "acme", "spend_per_day_usd": 5})
    admin("PATCH", "teams/acme", {"spend_per_day_usd": 9.5})
    admin("DELETE", "teams/acme")
    entries = admin("GET", "audit?limit=3")[1]["entries"]
    assert [(each["actor"], each["source"], each["action"], each["detail"]) for each in reversed(entries)] == [
        ("boss", "api", "team created", "name: acme; spend_per_day_usd: 5.0"),
        ("boss", "api", "team edited", "spend_per_day_usd: 5.0 -> 9.5"),
        ("boss", "api", "team revoked", entries[0]["detail"]),
    ]
    assert entries[0]["detail"].startswith("revoked: none -> 20")
    assert admin("GET", f"audit?limit=9&before={entries[-1]['number']}")[1]["entries"][0]["action"] == "key created"


def test_long_value_hides_no_other_change_in_the_audit_log(admin):
    names = [f"{number:03}{'x' * 250}" for number in range(20)]
    admin("POST", "keys", {"name": "bot", "spend_per_day_usd": 5})
    admin("PATCH", "keys/bot", {"models": names, "role": "admin", "spend_per_day_usd": 9})
    admin("PATCH", "keys/bot", {"models": names[:-1]})
    shortened, edited = (each["detail"] for each in admin("GET", "audit?limit=2")[1]["entries"])
    assert "; spend_per_day_usd: 5.0 -> 9.0; role: none -> admin" in edited
    before, after = shortened.split(" -> ")
    assert before.endswith(edited.partition("; ")[0].partition("… ")[2]), "the same value has the same digest"
    assert before.split("SHA-256")[1] != after.split("SHA-256")[1]


def test_admin_of_a_team_sees_that_team_and_those_below_it_alone(lead):
    assert [each["name"] for each in lead("GET", "keys")[1]["keys"]] == ["lead"]
    assert [each["name"] for each in lead("GET", "teams")[1]["teams"]] == ["crawl", "search"]
    assert lead("POST", "keys", {"name": "bot", "team": "crawl"})[0] == 201
    assert lead("POST", "keys", {"name": "own"})[1]["team"] == "search", "its own team is the default"
    assert lead("POST", "teams", {"name": "index"})[1]["parent"] == "search"
    subjects = {each["subject"] for each in lead("GET", "audit")[1]["entries"]}
    assert subjects == {"crawl", "search", "lead", "bot", "own", "index"}


@each_case(
    ("method", "path", "body", "status"),
    [
        ("GET", "keys/seller", None, 404),
        ("PATCH", "keys/seller", {"rate": None}, 404),
        ("DELETE", "keys/boss", None, 404),
        ("POST", "keys/seller/rotate", None, 404),
        ("GET", "teams/acme", None, 404),
        ("PATCH", "teams/search", {"spend_per_day_usd": None}, 403),
        ("DELETE", "teams/search", None, 403),
        ("PATCH", "teams/crawl", {"parent": None}, 403),
        ("PATCH", "teams/crawl", {"parent": "sales"}, 403),
        ("POST", "teams", {"name": "free", "parent": None}, 403),
        ("POST", "keys", {"name": "free", "team": None}, 403),
        ("POST", "keys", {"name": "spy", "team": "sales"}, 403),
        ("POST", "keys", {"name": "spy", "caller": "seller"}, 403),
        ("POST", "keys", {"name": "spy", "caller": "ann@issuer"}, 403),
        ("POST", "keys", {"name": "former"}, 403),
        ("PATCH", "keys/lead", {"caller": "seller"}, 403),
        ("PATCH", "keys/lead", {"team": None}, 403),
        ("PATCH", "keys/lead", {"team": "acme"}, 403),
    ],
)
def test_admin_of_a_team_changes_nothing_outside_of_it(lead, method, path, body, status):
    assert lead(method, path, body)[0] == status


@each_case(
    ("method", "path", "body", "status", "message"),
    [
        ("POST", "keys", {"name": "a b", "rate": "9/year", "speed": 1}, 400, "name: expected 1 to 64 letters"),
        ("POST", "keys", {"name": "x", "rate": "9/year", "speed": 1}, 400, "rate: expected a rate such as 60/min"),
        ("POST", "keys", {"name": "x", "rate": 1, "speed": 1}, 400, "'speed': unknown; allowed: name, caller"),
        ("POST", "keys", {}, 400, "name: expected 1 to 64 letters"),
        ("POST", "keys", {"name": "x", "concurrency": True}, 400, "an integer from 1 to 100,000, or null, found True"),
        ("POST", "keys", {"name": "x", "spend_per_day_usd": 1e400}, 400, "is not valid JSON"),
        (
            "POST",
            "keys",
            {"name": "x", "spend_per_day_usd": 1e-20},
            400,
            "expected US dollars from 0.000000001 to 1,000,000",
        ),
        ("POST", "teams", {"name": "none"}, 403, "the name 'none' means no team"),
        ("POST", "keys", {"name": "x", "models": "fast"}, 400, "models: expected an array of names"),
        ("POST", "keys", {"name": "x", "expires": "2020-01-01"}, 400, "expires: expected a time in the future"),
        ("POST", "keys", {"name": "x", "expires": "9999-12-31T23:59:59-12:00"}, 400, "up to 9999-12-31"),
        ("POST", "keys", {"name": "x" * 65}, 400, "name: expected"),
        ("POST", "keys", {"name": "boss"}, 409, "there is an active key named 'boss'"),
        ("POST", "teams", {"name": "t", "parent": "none"}, 400, "there is no active team named 'none'"),
        ("PATCH", "keys/boss", {"name": "other"}, 403, "the name of the key 'boss' cannot be changed"),
        ("PATCH", "keys/boss", {"id": "x", "digest": "y"}, 400, "'id': unknown"),
        ("PATCH", "keys/none", {}, 404, "there is no key 'none'"),
        ("POST", "keys/boss/rotate", {"grace_s": -1}, 400, "grace_s: expected a number of seconds"),
        ("GET", "audit?limit=x", None, 400, "limit: expected a number"),
        ("POST", "keys", {"name": "x", "caller": "y" * 200_000}, 413, "larger than 100,000 bytes"),
    ],
)
def test_wrong_request_is_explained(admin, method, path, body, status, message):
    found, answer = admin(method, path, body)
    assert found == status
    assert message in answer["error"]["message"]


def test_api_needs_a_key_with_the_role(admin):
    viewer = admin.gateway.add(name="viewer", role="viewer")
    for path, method in (
        ("keys", "GET"),
        ("keys", "POST"),
        ("teams", "GET"),
        ("audit", "GET"),
        ("keys/boss", "DELETE"),
    ):
        assert admin(method, path, {}, key=viewer)[0] == 403
        assert admin(method, path, {}, key="hd-000000000000-" + "x" * 43)[0] == 401


# -- the command line --------------------------------------------------------------------------------------------


@pytest.fixture
def helmdeck(tmp_path, monkeypatch, capsys):
    """Run a command with a data directory of its own; returns the exit code, standard output and standard error."""
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path))

    def run(*words):
        code = main([*words, "--no-plugins"])
        return code, *capsys.readouterr()

    run.path = tmp_path / "gateway.db"
    return run


def test_commands_make_a_tree_and_edit_it(helmdeck):
    assert helmdeck("teams", "create", "acme", "--spend-per-month", "100")[0] == 0
    made = helmdeck("teams", "create", "search", "--parent", "acme", "--tokens-per-minute", "5000", "--json")[1]
    assert (json.loads(made)["parent"], json.loads(made)["tokens_per_minute"]) == ("acme", 5_000)
    assert helmdeck("keys", "create", "ann", "--team", "search", "--rate", "5/s", "--dialects", "chat")[0] == 0
    assert helmdeck("keys", "edit", "ann", "--rate", "none", "--spend-per-day", "2")[1:] == (
        "the key ann: $2 per day, 1 endpoint, team search\n",
        "",
    )
    assert (
        helmdeck("teams", "edit", "search", "--models", "fast,slow")[1]
        == "the team search: 5,000 tokens/min, 2 models\n"
    )
    assert "$100 per month" in helmdeck("teams", "list")[1]
    assert "parent" in helmdeck("teams", "show", "search")[1]
    assert "within 1 second" in helmdeck("teams", "revoke", "search")[1]
    audit = json.loads(helmdeck("keys", "audit", "--json")[1])
    assert [each["action"] for each in audit["entries"]] == [
        "team revoked", "team edited", "key edited", "key created", "team created", "team created",
    ]  # fmt: skip
    assert {each["source"] for each in audit["entries"]} == {"cli"}
    assert audit["changed_entry"] is None


@each_case(
    ("words", "message"),
    [
        (["keys", "edit", "ann"], "there is nothing to change"),
        (["keys", "edit", "bob", "--rate", "1/s"], "there is no key named 'bob'; keys: ann"),
        (["keys", "create", "bob", "--team", "none.such"], "there is no team named 'none.such'; teams: acme"),
        (["keys", "rotate", "ann", "--grace", "99d"], "at most 31d"),
        (["teams", "edit", "acme", "--parent", "acme"], "would be above itself"),
        (["teams", "create", "acme"], "there is a team named 'acme'"),
        (["teams", "show", "other"], "there is no team named 'other'; teams: acme"),
        (["teams", "create", "x", "--tokens-per-minute", "0"], "must be at least 1"),
        (["teams", "create", "x", "--tags", "a*"], "* is not allowed"),
    ],
)
def test_wrong_command_is_explained(helmdeck, words, message):
    helmdeck("keys", "create", "ann")
    helmdeck("teams", "create", "acme")
    code, _, err = helmdeck(*words)
    assert (code, message in err) == (2, True), err


def test_audit_reports_an_entry_that_was_changed_in_the_database(helmdeck):
    for name in ("ann", "bob", "eve"):
        helmdeck("keys", "create", name)
    assert helmdeck("keys", "audit")[0] == 0
    with contextlib.closing(sqlite3.connect(helmdeck.path, isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER gateway_audit_is_not_changed")
        connection.execute("UPDATE gateway_audit SET record = replace(record, 'bob', 'bot') WHERE number = 2")
    code, _, err = helmdeck("keys", "audit")
    assert (code, "the hash of entry 2 is wrong" in err) == (1, True)


def test_audit_log_of_a_host_without_keys_is_empty_and_makes_no_store(helmdeck):
    assert "no key or team was changed yet" in helmdeck("keys", "audit")[2]
    assert not helmdeck.path.exists()
