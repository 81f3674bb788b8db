"""Batches of OpenAI's and Anthropic's APIs: each line is a request with the limits of its key, and has one result."""

import asyncio
import datetime
import json
from types import SimpleNamespace

import attrs
import pytest

from helmdeck_gateway import edit_key, revoke_key
from helmdeck_gateway.batches import own_requests, runner
from helmdeck_gateway.batches.own_requests import OwnAnswer
from helmdeck_gateway.stores.records import Limits, to_nusd
from helmdeck_storage import DAY_S
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer
from tests.helmdeck_gateway.batch_support import BatchClient, chat_lines, form
from tests.helmdeck_gateway.gateway_key_support import COST, USAGE, config, keyed, wait_until
from tests.helmdeck_gateway.gateway_support import FormatServer


@pytest.fixture
def server():
    server = FormatServer(OPENAI_CHAT, ScriptedAnswer(text="hello", **USAGE))
    yield server
    server.close()


@pytest.fixture
def own(server):
    with keyed(config(server)) as own:
        own.batches = BatchClient(own.send)
        yield own


def test_every_line_has_its_answer_in_the_order_of_the_file_and_is_billed(own):
    created = own.batches.create(chat_lines(12))
    assert created["status"] == "in_progress" and created["request_counts"]["total"] == 12
    batch = own.batches.ended(f"/v1/batches/{created['id']}")
    assert (batch["status"], batch["error_file_id"]) == ("completed", None)
    assert batch["request_counts"] == {"total": 12, "completed": 12, "failed": 0}
    rows = own.batches.rows(batch["output_file_id"])
    assert [row["custom_id"] for row in rows] == [f"r{number}" for number in range(12)]
    assert {row["response"]["body"]["choices"][0]["message"]["content"] for row in rows} == {"hello"}
    assert (own.usage.day.spent_nusd, own.usage.day.requests) == (round(12 * COST * 1e9), 12)


def test_failed_lines_are_in_the_error_file_with_the_error_of_a_direct_call(own):
    bad = json.dumps(
        {"custom_id": "bad", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "up/m", "messages": 1}}
    )
    batch = own.batches.create([*chat_lines(1), bad.encode()])
    batch = own.batches.ended(f"/v1/batches/{batch['id']}")
    (row,) = own.batches.rows(batch["error_file_id"])
    direct = own.send(body={"model": "up/m", "messages": 1})
    assert (row["custom_id"], row["response"]["status_code"]) == ("bad", 400)
    assert row["response"]["body"]["error"]["message"] == direct.body["error"]["message"]
    assert batch["request_counts"] == {"total": 2, "completed": 1, "failed": 1}


def test_line_whose_endpoint_raises_is_failed_and_not_sent_again(server, monkeypatch):
    sent = []

    async def send(app, path, body, *rest):
        sent.append(body)
        if b"say #1" in body:
            raise RuntimeError("a fault of an endpoint")
        return await own_requests.send_own(app, path, body, *rest)

    monkeypatch.setattr(runner, "send_own", send)
    options = config(server)
    options["gateway"]["batch_lease_s"] = 0.2
    with keyed(options) as own:
        batches = BatchClient(own.send)
        batch = batches.ended(f"/v1/batches/{batches.create(chat_lines(2))['id']}")
        (row,) = batches.rows(batch["error_file_id"])
    assert batch["request_counts"] == {"total": 2, "completed": 1, "failed": 1}
    assert (row["custom_id"], row["response"]["status_code"]) == ("r1", 500)
    assert row["response"]["body"]["error"]["code"] == "internal_error"
    assert len(sent) == 2


def test_lines_over_a_rate_limit_wait_and_are_not_failed(server):
    options = config(server)
    options["gateway"]["batch_lease_s"] = 0.2
    with keyed(options, rate=2, window_s=0.5) as own:
        batches = BatchClient(own.send)
        batch = batches.ended(f"/v1/batches/{batches.create(chat_lines(4))['id']}")
        assert batch["request_counts"] == {"total": 4, "completed": 4, "failed": 0}
        assert len(server.requests) == 4


def test_lines_over_a_spend_limit_wait_until_it_is_raised_or_reset(server):
    options = config(server)
    options["gateway"]["batch_lease_s"] = 0.2
    with keyed(options, day_nusd=to_nusd(2 * COST)) as own:
        batches = BatchClient(own.send)
        path = f"/v1/batches/{batches.create(chat_lines(6))['id']}"
        wait_until(lambda: own.usage.day.spent_nusd >= to_nusd(2 * COST))
        assert own.chat().status == 402
        wait_until(lambda: own.usage.day.refused > 3)  # the lines are sent again
        counts = batches.get(path).body["request_counts"]
        assert counts["completed"] < 6 and counts["failed"] == 0
        asyncio.run(edit_key(own.store, "ann", lambda key: attrs.evolve(key, limits=Limits())))
        assert batches.ended(path)["request_counts"] == {"total": 6, "completed": 6, "failed": 0}


def test_line_waits_for_the_reset_of_a_spend_limit_and_fails_if_it_comes_after_the_batch_expires(server, monkeypatch):
    with keyed(config(server), day_nusd=1, month_nusd=None) as own:
        own.chat()
        refused = own.chat()
        answer = OwnAnswer(refused.status, {}, refused.raw)
        resets_s = datetime.datetime.fromisoformat(refused.body["error"]["resets_at"]).timestamp()
        monkeypatch.setattr(own_requests, "time", SimpleNamespace(time=lambda: resets_s - 90))
        assert answer.wait_s == 90
        never = {"error": {"code": "spend_limit", "resets_at": "2099-01-01T00:00:00+00:00"}}
        assert OwnAnswer(402, {}, json.dumps(never).encode()).wait_s > DAY_S
        assert OwnAnswer(402, {}, b'{"error": {"code": "insufficient_quota"}}').wait_s is None


def test_invalid_file_fails_with_all_mistakes_and_no_request_is_sent(own, server):
    (line,) = chat_lines(1)
    other = line.replace(b"chat/completions", b"embeddings").replace(b"r0", b"r1")
    stream = b"".join(chat_lines(1, stream=True)).replace(b"r0", b"r2")
    batch = own.batches.create([line, line, b"{", b"", other, stream, b"\xff"])
    assert batch["status"] == "failed"
    found = [(row["line"], row["code"]) for row in batch["errors"]["data"]]
    assert found == [
        (2, "duplicate_custom_id"),
        (3, "invalid_json_line"),
        (5, "mismatched_endpoint"),
        (6, "invalid_request"),
        (7, "invalid_json_line"),
    ]
    assert own.batches.create([b""])["errors"]["data"][0]["code"] == "empty_file"
    assert not server.requests


def test_cancelled_batch_ends_without_the_lines_that_were_not_sent(server):
    options = config(server)
    options["gateway"]["batch_lease_s"] = 0.2
    with keyed(options, rate=1, window_s=3_600) as own:
        batches = BatchClient(own.send)
        path = f"/v1/batches/{batches.create(chat_lines(3))['id']}"
        batches.ended(path, lambda body: body["request_counts"]["completed"] == 1)
        assert own.send(f"{path}/cancel").body["status"] in ("cancelling", "cancelled")
        batch = batches.ended(path)
        assert (batch["status"], len(batches.rows(batch["output_file_id"]))) == ("cancelled", 1)
        assert [row["error"]["code"] for row in batches.rows(batch["error_file_id"])] == ["batch_cancelled"] * 2


def test_lines_of_a_revoked_key_are_refused(server):
    options = config(server)
    options["gateway"]["batch_lease_s"] = 0.2
    with keyed(options, rate=1, window_s=3_600) as own:
        batches = BatchClient(own.send)
        batch = batches.create(chat_lines(2))
        batches.ended(f"/v1/batches/{batch['id']}", lambda body: body["request_counts"]["completed"] == 1)
        key = own.add(name="twin", caller="ann")  # another key of the caller sees its batches
        other = BatchClient(lambda path, *args, **options: own.send(path, *args, key=key, **options))
        asyncio.run(revoke_key(own.store, "ann"))
        batch = other.ended(f"/v1/batches/{batch['id']}")
        (row,) = other.rows(batch["error_file_id"])
        assert row["response"]["body"]["error"]["message"] == "the key 'ann' was revoked"


def test_files_and_batches_belong_to_their_caller(own):
    batch = own.batches.create(chat_lines(1))
    key = own.add(name="eve")
    other = BatchClient(lambda path, *args, **options: own.send(path, *args, key=key, **options))
    for path in (f"/v1/batches/{batch['id']}", f"/v1/files/{batch['input_file_id']}/content"):
        assert (other.get(path).status, own.batches.get(path).status) == (404, 200)
    assert [other.get(path).body["data"] for path in ("/v1/files", "/v1/batches")] == [[], []]


def test_message_batch_returns_the_result_of_every_request(own):
    good = {"model": "up/m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    requests = [{"custom_id": "good", "params": good}, {"custom_id": "bad", "params": {**good, "model": "none/m"}}]
    created = own.send("/v1/messages/batches", {"requests": requests}).body
    path = f"/v1/messages/batches/{created['id']}"
    assert created["processing_status"] == "in_progress" and created["results_url"] is None
    batch = own.batches.ended(path)
    assert batch["processing_status"] == "ended" and batch["results_url"].endswith(f"{path}/results")
    counts = {"processing": 0, "succeeded": 1, "errored": 1, "canceled": 0, "expired": 0}
    assert batch["request_counts"] == counts
    good, bad = [json.loads(line) for line in own.batches.get(f"{path}/results").raw.splitlines()]
    assert good["result"]["message"]["content"] == [{"type": "text", "text": "hello"}]
    assert bad["result"]["error"]["error"]["type"] == "not_found_error"
    assert own.batches.get("/v1/messages/batches?limit=1").body["data"] == [batch]
    assert own.send(path, method="DELETE").body["type"] == "message_batch_deleted"
    assert own.batches.get(path).body["error"]["type"] == "not_found_error"


@pytest.mark.parametrize("requests", [[], [{"custom_id": "a b", "params": {}}], [{"custom_id": "a"}], "x", [1]])
def test_invalid_message_batch_is_refused_in_the_callers_dialect(own, requests):
    answer = own.send("/v1/messages/batches", {"requests": requests})
    assert (answer.status, answer.body["type"]) == (400, "error")


def test_file_is_stored_listed_and_deleted(own):
    content = bytes(range(128)) * 18_000  # several parts
    file = own.batches.upload(content, purpose="user_data", name="ü.bin")
    assert (file["bytes"], file["purpose"], file["filename"]) == (len(content), "user_data", "ü.bin")
    assert own.batches.get(f"/v1/files/{file['id']}/content").raw == content
    last = own.batches.upload(b"", purpose="vision")
    page = own.batches.get("/v1/files?limit=1").body
    assert ([each["id"] for each in page["data"]], page["has_more"]) == ([last["id"]], True)
    assert own.batches.get(f"/v1/files?after={last['id']}").body["data"] == [file]
    assert own.batches.get("/v1/files?purpose=user_data").body["data"] == [file]
    assert own.send(f"/v1/files/{file['id']}", method="DELETE").body["deleted"]
    assert own.batches.get(f"/v1/files/{file['id']}/content").status == 404


def test_file_beyond_a_limit_is_refused(server):
    options = config(server)
    options["gateway"] |= {"max_file_bytes": 1_000, "max_stored_file_bytes": 1_500}
    with keyed(options) as own:
        answers = [own.send("/v1/files", **form(b"x" * size)) for size in (100_000, 1_001, 1_000, 501)]
        assert [answer.status for answer in answers] == [413, 413, 200, 413]
        assert answers[3].body["error"]["code"] == "file_quota_exceeded"
