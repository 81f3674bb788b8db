"""Keys of the gateway: who may send which requests, and what they cost. Every request goes over HTTP."""

import asyncio
import contextlib
import io
import logging
import sqlite3

import pytest

from helmdeck_core.cli import main
from helmdeck_core.log import logger
from helmdeck_gateway import GatewaySettings
from helmdeck_gateway.accounts.changes import create_key, revoke_key, rotate_key
from helmdeck_gateway.accounts.keys import CACHE_S, StoredKeys, new_key
from helmdeck_gateway.accounts.principals import headers_by_name
from helmdeck_gateway.problems import Problem
from helmdeck_gateway.stores.memory import MemoryStore
from helmdeck_gateway.stores.records import Open
from helmdeck_storage import StorageError
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer, chat_server
from tests.case_support import each_case
from tests.helmdeck_gateway.gateway_key_support import USAGE, Keyed, config, keyed, record
from tests.helmdeck_gateway.gateway_support import DIALECTS, FormatServer, running_gateway


@pytest.fixture
def server():
    with contextlib.closing(FormatServer(OPENAI_CHAT, ScriptedAnswer(text="hello", **USAGE))) as server:
        yield server


# -- who may send requests --------------------------------------------------------------------------------------


def test_gateway_without_keys_accepts_every_client_until_the_first_key_is_created(server):
    store = MemoryStore()
    with running_gateway(config=config(server), store=store) as gateway:
        assert gateway.chat().status == 200
        made = asyncio.run(create_key(store, record()))
        gateway.gateway.authoriser._checked_s = -CACHE_S
        assert (gateway.chat().status, gateway.chat().body["error"]["code"]) == (401, "invalid_api_key")
        assert Keyed(gateway, store, made).chat().status == 200


def test_file_that_the_command_creates_closes_a_running_gateway(server, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path))
    with running_gateway(config=config(server)) as gateway:
        assert gateway.chat().status == 200
        assert main(["keys", "create", "ann", "--no-plugins"]) == 0
        key = capsys.readouterr().out.strip()
        gateway.gateway.authoriser._checked_s = -CACHE_S
        assert gateway.chat().status == 401
        headers = {"x-api-key": key}
        body = {"model": "up/m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}
        assert gateway.send("/v1/messages", body, headers=headers).status == 200


def test_required_keys_close_a_gateway_that_has_none(server):
    with running_gateway(config=config(server, gateway={"requires_keys": True}), store=MemoryStore()) as gateway:
        assert gateway.chat().status == 401


def test_shared_key_and_stored_keys_work_side_by_side(server, monkeypatch):
    monkeypatch.setenv("GATE_KEY", "a-key-of-the-gateway")
    with keyed(config(server, gateway={"key": "env:GATE_KEY"}), rate=1) as gateway:
        assert gateway.send(body={}, key="a-key-of-the-gateway").status == 400
        assert gateway.send(body={}, key="another-key-of-it").status == 401
        assert (gateway.chat().status, gateway.chat().status) == (200, 429)


def test_revoked_and_rotated_keys_are_refused_when_the_cache_ends():
    async def run():
        now, store = [0.0], MemoryStore()
        keys = StoredKeys(lambda: store, clock=lambda: now[0])
        first, second = await create_key(store, record()), await create_key(store, record("bob"))

        async def status(secret):
            try:
                return (await keys.authorise({b"x-api-key": secret.encode()})).caller
            except Problem as problem:
                return problem.message

        before = [await status(first.secret), await status(second.secret)]
        await revoke_key(store, "ann", 0.0)
        rotated = await rotate_key(store, "bob")
        now[0] = CACHE_S - 0.1
        cached = [await status(first.secret), await status(second.secret), await status(rotated.secret)]
        now[0] = CACHE_S
        return before, cached, [await status(each) for each in (first.secret, second.secret, rotated.secret)]

    before, cached, after = asyncio.run(run())
    assert before == ["ann", "bob"]
    assert cached == ["ann", "bob", "bob"]
    assert (after[0], after[1][:30], after[2]) == ("the key 'ann' was revoked", "the key is missing or wrong; s", "bob")


def test_expired_key_is_refused_with_its_date(server):
    with keyed(config(server), expires_s=1_000_000.0) as gateway:
        answer = gateway.chat()
        assert (answer.status, answer.body["error"]["code"]) == (401, "key_expired")
        assert "1970-01-12 13:46 UTC" in answer.body["error"]["message"]


def test_revoked_name_can_be_used_again_with_an_account_of_its_own():
    async def run():
        store = MemoryStore()
        first = await create_key(store, record())
        await store.admit([first.record.node], Open("c", 5), 60)
        await revoke_key(store, "ann", 0.0)
        second = await create_key(store, record())
        assert await store.find_key(first.record.digest) is None
        return (await store.usage(second.record.id)).day.requests, second.record.version

    assert asyncio.run(run()) == (0, 3)


class Down(MemoryStore):
    async def find_key(self, digest):
        raise StorageError("the store is down")


def test_gateway_refuses_every_request_while_its_store_does_not_answer(server):
    made = new_key(record())
    with running_gateway(config=config(server), store=Down()) as gateway:
        answer = gateway.send("/v1/messages", {}, headers={"x-api-key": made.secret})
        assert (answer.status, answer.body["error"]["type"]) == (503, "overloaded_error")
        assert answer.headers["retry-after"] == "1"
        assert server.requests == []


# -- what cannot be escaped -------------------------------------------------------------------------------------


def test_key_uses_only_the_models_that_it_names(server):
    with keyed(config(server), models=("fast", "up/special-*")) as gateway:
        for name in (
            "up/m",
            "slow",
            "FAST",
            " fast",
            "fast ",
            "*",
            "helmdeck/plan",
            "up/special",
            "",
            None,
            "up//special-x",
        ):
            assert gateway.chat(name).body["error"]["code"] in ("model_not_allowed", "invalid_request"), name
        assert server.requests == []
        assert gateway.chat("fast").status == 200
        assert gateway.chat("up/special-1").status == 200
        for dialect in DIALECTS.values():
            body = {"model": "up/m", **dialect.body("hi")}
            assert gateway.send(dialect.path, body).status == 403
        assert gateway.send("/v1/embeddings", {"model": "up/m", "input": "x"}).status == 403


def test_fields_that_name_other_models_are_not_sent(server):
    with keyed(config(server), models=("fast",)) as gateway:
        fields = {
            "models": ["up/n"],
            "route": "fallback",
            "fallbacks": ["up/n"],
            "plugins": [],
            "preset": "x",
            "seed": 1,
        }
        answer = gateway.chat("fast", **fields)
        assert answer.status == 200
        assert set(fields) & set(server.requests[-1].body) == {"seed"}
        assert server.requests[-1].body["model"] == "m"


def test_fields_that_name_other_models_are_not_sent_with_embeddings():
    body = {"model": "up/e", "input": "x", "models": ["up/n"], "preset": "x", "dimensions": 1}
    vectors = {"object": "list", "data": [{"embedding": [0.5]}]}
    with chat_server(lambda _: vectors) as server, keyed(config(server), models=("up/e",)) as gateway:
        answer = gateway.send("/v1/embeddings", body)
        assert (answer.status, answer.headers["x-helmdeck-dropped"]) == (200, "models, preset")
        assert server.requests[-1].body == {"model": "e", "input": "x", "dimensions": 1}
        unlimited = gateway.add(name="all")
        assert "x-helmdeck-dropped" not in gateway.send("/v1/embeddings", body, key=unlimited).headers
        assert server.requests[-1].body == {**body, "model": "e"}


def test_list_of_models_has_those_of_the_key_only(server):
    with keyed(config(server), models=("fast",)) as gateway:
        listed = gateway.send("/v1/models", method="GET").body["data"]
        assert [row["id"] for row in listed] == ["fast"]
        assert gateway.send("/v1/models/slow", method="GET").status == 404


def test_stored_responses_belong_to_the_caller_of_the_key(server):
    with keyed(config(server)) as gateway:
        bob, twin = gateway.add(name="bob"), gateway.add(name="twin", caller="ann")
        stored = gateway.send("/v1/responses", {"model": "up/m", "input": "hi"}).body["id"]
        path, body = f"/v1/responses/{stored}", {"model": "up/m", "input": "more", "previous_response_id": stored}
        assert [gateway.send(path, method="GET", key=key).status for key in (bob, twin)] == [404, 200]
        assert [gateway.send("/v1/responses", body, key=key).status for key in (bob, twin)] == [404, 200]
        assert gateway.send(path, method="DELETE", key=bob).status == 404


def test_caller_of_a_request_is_the_one_of_its_key(server):
    with keyed(config(server), caller="team") as gateway:
        seen = []
        complete = gateway.running.gateway.deck.acomplete

        async def watched(request, **options):
            seen.append(options["caller"])
            return await complete(request, **options)

        gateway.running.gateway.deck.acomplete = watched
        gateway.send(
            body={"model": "up/m", "messages": [{"role": "user", "content": "hi"}], "user": "root", "caller": "root"},
            headers={"x-helmdeck-caller": "root"},
        )
        assert seen == ["team"]


ONE, TWO = b"Bearer hd-one", b"Bearer hd-two"


@each_case(
    ("raw", "has_key"),
    [
        ([(b"authorization", ONE)], True),
        ([(b"authorization", ONE), (b"authorization", ONE)], True),
        ([(b"authorization", ONE), (b"x-api-key", b"hd-one")], True),
        ([(b"authorization", ONE), (b"authorization", TWO)], False),
        ([(b"authorization", TWO), (b"x-api-key", b"hd-one")], False),
        ([(b"x-api-key", b"hd-one"), (b"x-api-key", b"hd-two")], False),
        ([(b"x-api-key", b""), (b"authorization", ONE)], False),
    ],
)
def test_request_with_two_different_keys_has_none(raw, has_key):
    headers = headers_by_name([(b"host", b"h"), *raw])
    assert (b"authorization" in headers or b"x-api-key" in headers) is has_key
    assert headers[b"host"] == b"h"


def test_smuggled_second_key_is_refused(server):
    with keyed(config(server)) as gateway:
        body = {"model": "up/m", "messages": [{"role": "user", "content": "hi"}]}
        other = gateway.add(name="bob")
        assert gateway.send(body=body, headers={"x-api-key": other}).status == 401
        assert gateway.send(body=body, headers={"x-api-key": gateway.key}).status == 200
        assert gateway.running.send(f"/v1/chat/completions?api_key={gateway.key}", body).status == 401


# -- the secret -------------------------------------------------------------------------------------------------


def test_key_is_in_no_output(server, tmp_path, monkeypatch, capsys):
    """Every endpoint, healthy and failing, with logs, events, traces and metrics; the store has only the hash."""
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path))
    seen, logs = [], io.StringIO()
    sink = logger().add(logs, level="TRACE", diagnose=True, backtrace=True)
    handler = logging.StreamHandler(logs)
    logging.getLogger().addHandler(handler)
    path = tmp_path / "keys.db"
    settings = {"store": f"sqlite:{path}", "models": {"fast": "up/m"}}
    file = tmp_path / "helmdeck.toml"
    file.write_text(f'[gateway]\nstore = "sqlite:{path}"\n')
    try:
        assert main(["keys", "create", "ann", "--config", str(file), "--no-plugins"]) == 0
        key = capsys.readouterr().out.strip()
        configured = config(server, gateway=settings, events={"sinks": ["gateway", "traces", "prometheus"]})
        with running_gateway(config=configured) as running:
            for secret in (key, key[:-1] + "A"):
                for headers in ({"authorization": f"Bearer {secret}"}, {"x-api-key": secret}):
                    for dialect in DIALECTS.values():
                        body = {"model": "up/m", **dialect.body("hi")}
                        seen.append(running.send(dialect.path, body, headers=headers))
                        # A client that puts its key into the wrong field may see it again, and no other client.
                        running.send(dialect.path, {**body, "model": f"up/{secret}"}, headers=headers)
                    seen.append(running.send("/v1/embeddings", {"model": "up/m", "input": "x"}, headers=headers))
                    for get in ("/v1/models", "/metrics", "/readyz", "/nothing", "/v1/responses/x"):
                        seen.append(running.send(get, method="GET", headers=headers))
                    running.send(f"/v1/responses/{secret}", method="GET", headers=headers)
            seen.append(repr(running.gateway.authoriser._known))
        for command in (["keys", "list"], ["keys", "show", "ann"], ["config", "show"]):
            main([*command, "--config", str(file), "--no-plugins"])
            main([*command, "--config", str(file), "--no-plugins", "--json"])
        shown = "".join(capsys.readouterr())
    finally:
        logger().remove(sink)
        logging.getLogger().removeHandler(handler)
    secret = key.split("-", 2)[2]
    assert [each for each in seen[:-1] if secret in f"{each.headers}{each.raw!r}"] == []
    for text in (logs.getvalue(), shown, seen[-1]):
        assert secret[:20] not in text
    for each in tmp_path.rglob("*"):
        if each.is_file():
            assert secret[:20].encode() not in each.read_bytes(), each
    rows = sqlite3.connect(path).execute("SELECT record FROM gateway_keys").fetchall()
    assert secret not in str(rows)


def test_repr_of_a_key_has_no_secret_and_no_digest():
    made = new_key(record())
    text = f"{made!r}{made.record!r}{GatewaySettings(store='redis://:s3cret@h')!r}"
    assert made.secret not in text and made.record.digest not in text and "s3cret" not in text
    assert len(made.secret) == 3 + 12 + 1 + 43
