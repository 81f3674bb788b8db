"""``helmdeck keys`` creates, shows, revokes and rotates keys; the secret is shown once."""

import asyncio
import contextlib
import json

import pytest

from helmdeck_core.cli import main
from helmdeck_gateway.stores import open_store
from helmdeck_gateway.stores.records import NANO, KeyRecord
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer
from tests.helmdeck_gateway.gateway_key_support import COST, USAGE, config
from tests.helmdeck_gateway.gateway_support import FormatServer, running_gateway


@pytest.fixture
def helmdeck(tmp_path, monkeypatch, capsys):
    """Run a command with a data directory of its own; returns the exit code, standard output and standard error."""
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path / "data"))
    file = tmp_path / "helmdeck.toml"
    file.write_text("")

    def run(*words):
        code = main(["keys", *words, "--config", str(file), "--no-plugins"])
        return code, *capsys.readouterr()

    run.path, run.file = tmp_path / "data" / "gateway.db", file
    return run


def test_new_key_is_the_only_line_of_standard_output(helmdeck):
    code, out, err = helmdeck("create", "ann")
    assert code == 0
    assert out.startswith("hd-") and len(out.strip()) == 59 and out.count("\n") == 1
    assert "the key ann" in err and out.strip() not in err
    assert out.strip() not in "".join(map(str, helmdeck("show", "ann") + helmdeck("list", "--json")))


def test_every_limit_is_stored_and_shown(helmdeck):
    options = (
        "--models fast,openai/* --rate 60/min --concurrency 4 --spend-per-day 5 --spend-per-month 20.5 --caller team"
    )
    code, out, _ = helmdeck("create", "ann", *options.split(), "--expires", "30d", "--no-narrow-tools", "--json")
    made = json.loads(out)
    assert code == 0 and made.pop("key").startswith(f"hd-{made['id']}-")
    data = json.loads(helmdeck("show", "ann", "--json")[1])
    assert {name: data[name] for name in made} == made
    assert (made["models"], made["rate"], made["rate_window_s"]) == (["fast", "openai/*"], 60, 60)
    assert (made["concurrency"], made["spend_per_day_usd"], made["spend_per_month_usd"]) == (4, 5, 20.5)
    assert (made["caller"], made["narrows_tools"], made["requires_price"]) == ("team", False, False)
    text = helmdeck("show", "ann")[1]
    assert "60/min, 4 at a time, $5 per day, $20.5 per month, 2 models, until" in " ".join(text.split())


def test_spend_and_requests_are_shown(helmdeck):
    key = json.loads(helmdeck("create", "ann", "--json")[1])

    async def use():
        from helmdeck_gateway.stores.records import Limits, Node, Open

        store = open_store(f"sqlite:{helmdeck.path}")
        await store.admit([Node(key["id"], Limits())], Open("c1", NANO), 600)
        await store.settle([key["id"]], "c1", NANO // 4, unpriced=True)
        await store.admit([Node(key["id"], Limits())], Open("c2", NANO // 2), 600)
        await store.admit([Node(key["id"], Limits(concurrency=1))], Open("c3", 1), 600)
        await store.aclose()

    asyncio.run(use())
    data = json.loads(helmdeck("show", "ann", "--json")[1])
    expected = {"spent_usd": 0.25, "held_usd": 0.5, "requests": 2, "refused": 1, "unpriced": 1}
    assert (data["today"], data["this_month"], data["under_way"]) == (expected, expected, 1)
    line = "$0.2500 spent, $0.5000 held for requests under way, 2 requests, 1 refused, 1 of models without a price"
    assert line in " ".join(helmdeck("show", "ann")[1].split())
    assert "$0.2500" in helmdeck("list")[1]


def test_revoked_key_stays_in_the_list_and_frees_its_name(helmdeck):
    first = json.loads(helmdeck("create", "ann", "--json")[1])
    assert helmdeck("create", "ann")[0] == 2
    assert "within 1 second" in helmdeck("revoke", "ann")[1]
    assert json.loads(helmdeck("list", "--json")[1])["keys"][0]["state"] == "revoked"
    for command in ("revoke", "rotate"):
        code, _, err = helmdeck(command, "ann")
        assert (code, "there is no key named 'ann'" in err) == (2, True)
    second = json.loads(helmdeck("create", "ann", "--json")[1])
    assert second["id"] != first["id"]


def test_rotated_key_keeps_its_id_and_limits(helmdeck):
    first = json.loads(helmdeck("create", "ann", "--rate", "5/s", "--json")[1])
    second = json.loads(helmdeck("rotate", "ann", "--json")[1])
    assert second.pop("key") != first.pop("key")
    assert second == first


def test_reading_without_a_store_creates_none(helmdeck):
    assert helmdeck("list", "--json") == (0, '{\n  "keys": []\n}\n', "")
    assert "helmdeck keys create NAME" in helmdeck("list")[2]
    assert helmdeck("show", "ann")[0] == 2
    assert not helmdeck.path.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a b"], "is not a name"),
        (["x" * 65], "is not a name"),
        (["x", "--rate", "60"], "is not a rate such as 60/min"),
        (["x", "--rate", "0/min"], "is not a rate"),
        (["x", "--rate", "200000/day"], "up to 100,000"),
        (["x", "--concurrency", "0"], "must be at least 1"),
        (["x", "--spend-per-day", "-1"], "is not an amount"),
        (["x", "--spend-per-day", "1e-20"], "is not an amount of US dollars from 0.000000001 to 1,000,000"),
        (["x", "--spend-per-month", "nan"], "is not an amount"),
        (["x", "--expires", "soon"], "is neither a time such as 30d nor a date"),
        (["x", "--expires", "2020-01-01"], "is in the past"),
        (["x", "--expires", "99999999d"], "is later than 9999-12-31"),
        (["x", "--expires", "9999-12-31T23:59:59-12:00"], "is later than 9999-12-31"),
        (["x", "--expires", "9" * 5_000 + "d"], "is neither a time such as 30d nor a date"),
        (["x", "--rate", "5_/min"], "is not a rate such as 60/min"),
        (["x", "--rate", "9" * 5_000 + "/min"], "is not a rate such as 60/min"),
        (["x", "--models", " , "], "names no model"),
        (["x", "--models", "*/x"], "at the end only"),
    ],
)
def test_wrong_options_are_explained(helmdeck, words, message):
    code, _, err = helmdeck("create", *words)
    assert (code, message in err) == (2, True), err


def test_store_that_cannot_be_used_is_named_without_its_password(helmdeck):
    helmdeck.file.write_text('[gateway]\nstore = "postgresql://ann:s3cret@127.0.0.1:9/x"\n')
    code, out, err = helmdeck("list")
    assert (code, "[gateway] store names the store" in err) == (2, True)
    helmdeck.file.write_text('[gateway]\nstore = "mysql://ann:s3cret@h"\nping = 1\n')
    code, out2, err2 = helmdeck("list")
    assert (code, "ping_s" in err2) == (2, True)
    helmdeck.file.write_text('[gateway]\nstore = "env:NO_SUCH_STORE"\n')
    code, out3, err3 = helmdeck("create", "x")
    assert (code, "env:NO_SUCH_STORE" in err3) == (2, True)
    assert "s3cret" not in out + err + out2 + err2 + out3 + err3


def test_calls_of_a_key_are_listed_with_their_cost_and_no_others(helmdeck):
    """Two keys have the same caller, and a revoked one had the name of the first."""

    def create(name):
        return json.loads(helmdeck("create", name, "--caller", "team", "--json")[1])["key"]

    def send(key, **fields):
        body = {"model": "up/m", "messages": [{"role": "user", "content": "hi"}], **fields}
        return gateway.send("/v1/chat/completions", body, headers={"authorization": f"Bearer {key}"}).headers

    events = {"sinks": ["gateway", "traces"]}
    with (
        contextlib.closing(FormatServer(OPENAI_CHAT, ScriptedAnswer(text="hello", **USAGE))) as server,
        running_gateway(config=config(server, events=events)) as gateway,
    ):
        send(create("ann"))
        helmdeck("revoke", "ann")
        ann, bob = create("ann"), create("bob")
        answered = [send(ann)["x-helmdeck-call-id"], send(ann, stream=True)["x-helmdeck-call-id"]]
        send(bob)
        server.answer = ScriptedAnswer(text="")
        failed = send(ann)["x-helmdeck-call-id"]
    code, out, err = helmdeck("calls", "ann", "--json")
    assert code == 0, err
    data = json.loads(out)
    assert (data["key"], [each["call_id"] for each in data["calls"]]) == ("ann", [failed, *reversed(answered)])
    first, last = data["calls"][0], data["calls"][-1]
    assert first["outcome"] not in ("answered", "")
    assert (last["outcome"], last["model"], last["output_tokens"]) == ("answered", "up/m", USAGE["output_tokens"])
    assert last["cost_usd"] == pytest.approx(COST)
    text = helmdeck("calls", "ann", "--limit", "1")[1]
    assert failed in text and answered[0] not in text and ann not in text
    assert first["time"][len("2026-11-24T") : -len("+00:00")] in text, "the second is the same"
    assert main(["explain", "--run", answered[0], "--no-plugins"]) == 0


def test_error_for_an_unknown_name_lists_the_nearest_ones_of_many(helmdeck):
    async def sign_in():
        store = open_store(f"sqlite:{helmdeck.path}")
        for number in range(50):
            name = f"user{number}@company"
            await store.save_key(KeyRecord(name=name, id=f"sso-{number}", digest=f"sso:{number}", caller=name))
        await store.aclose()

    asyncio.run(sign_in())
    for command in ("show", "revoke"):
        err = helmdeck(command, "user33@compny")[2]
        assert "keys: user33@company, " in err
        assert "and 47 more (`helmdeck keys list` lists all)" in err


def test_calls_of_an_unknown_key_and_of_one_without_calls(helmdeck):
    code, _, err = helmdeck("calls", "ann")
    assert (code, "there is no key named 'ann'" in err) == (2, True)
    helmdeck("create", "ann")
    code, out, err = helmdeck("calls", "ann")
    assert (code, out, "no call of the key 'ann' is stored" in err) == (0, "", True)
