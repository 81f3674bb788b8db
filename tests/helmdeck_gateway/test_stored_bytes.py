"""Files in the forms of two APIs, and the bytes that a caller may store, which are counted first."""

import asyncio
import threading
from types import SimpleNamespace

import pytest

from helmdeck_gateway.batches import files
from helmdeck_gateway.batches.byte_use import RENEW_S, STALE_S, ByteUse
from helmdeck_gateway.batches.files import Files, new_id, parts_of
from helmdeck_gateway.problems import Problem
from helmdeck_gateway.stores.memory import MemoryStore
from helmdeck_storage import StorageError
from tests.helmdeck_gateway.batch_support import BatchClient, form
from tests.helmdeck_gateway.gateway_key_support import config, keyed

ANTHROPIC = {"anthropic-version": "2023-06-01", "anthropic-beta": "files-api-2025-04-14"}
PDF = b"%PDF-1.7 tide"


@pytest.fixture(scope="module")
def own(server):
    options = config(server)
    options["gateway"] |= {"max_stored_conversation_bytes": 5_000, "max_stored_file_bytes": 3_000}
    with keyed(options) as own:
        yield own


def upload(own, content=PDF, *, key=None, name="t.pdf", **headers):
    made = form(content, name=name, media_type="application/octet-stream")
    if headers:  # a form with a file alone
        first, _, rest = made["body"].partition(b'\r\n--part-of-a-form\r\ncontent-disposition: form-data; name="file"')
        assert first
        made["body"] = b'--part-of-a-form\r\ncontent-disposition: form-data; name="file"' + rest
    return own.send("/v1/files", made["body"], headers={**made["headers"], **headers}, key=key)


def test_ids_of_one_millisecond_sort_by_their_time(monkeypatch):
    times = [1_700_000_000_000_000_000 + step for step in (0, 1_000, 20_000, 999_999, 1_000_000)]
    for _ in range(20):  # the last parts are random
        clock = iter(times)
        monkeypatch.setattr(files, "time", SimpleNamespace(time_ns=lambda clock=clock: next(clock)))
        ids = [new_id("file-") for _ in times]
        assert ids == sorted(ids)
        assert {len(name) for name in ids} == {len("file-") + 32}


def test_file_of_either_api_is_read_by_both_in_their_forms(own):
    caller = own.add(name="both")

    def get(path, headers=ANTHROPIC, method="GET"):
        return own.send(f"/v1/files{path}", method=method, headers=headers, key=caller)

    made = upload(own, key=caller, **ANTHROPIC).body
    shown = {name: made[name] for name in ("type", "filename", "mime_type", "size_bytes", "downloadable")}
    assert shown == {
        "type": "file", "filename": "t.pdf", "mime_type": "application/pdf", "size_bytes": len(PDF), "downloadable": True,
    }  # fmt: skip
    assert made["created_at"].endswith("+00:00")
    path = f"/{made['id']}"
    assert get(path).body == made
    assert get(f"{path}/content").raw == PDF
    assert get(path, {}).body["purpose"] == "user_data"
    document = {"type": "document", "source": {"type": "file", "file_id": made["id"]}}
    body = {"model": "up/m", "max_tokens": 9, "messages": [{"role": "user", "content": [document]}]}
    assert own.send("/v1/messages", body, headers=ANTHROPIC, key=caller).status == 200
    more = [
        BatchClient(lambda path, **options: own.send(path, key=caller, **options)).upload(PDF)["id"] for _ in range(2)
    ]
    ids = [*more[::-1], made["id"]]
    first = get("?limit=2").body
    assert ([each["id"] for each in first["data"]], first["has_more"], "object" in first) == (ids[:2], True, False)
    assert get(f"?limit=2&after_id={first['last_id']}").body["data"] == [made]
    assert get(f"?limit=2&page={first['next_page']}").body == {
        **get(f"?after_id={first['last_id']}").body,
        "data": [made],
    }
    assert [each["id"] for each in get(f"?ids[]={made['id']}&ids[]=other").body["data"]] == [made["id"]]
    before = get(f"?limit=1&before_id={made['id']}").body  # the page next to it, the newest file first
    assert ([each["id"] for each in before["data"]], before["has_more"]) == ([ids[1]], True)
    assert [each["id"] for each in get(f"?before_id={made['id']}").body["data"]] == ids[:2]
    assert get(path, method="DELETE").body == {"id": made["id"], "type": "file_deleted"}
    assert get(path).status == 404


def test_mistakes_are_answered_in_the_dialect_of_the_headers(own):
    stranger, name = own.add(name="stranger"), upload(own, **ANTHROPIC).body["id"]
    other = {"content-type": "multipart/form-data", **ANTHROPIC}
    answers = [
        own.send(f"/v1/files/{name}", method="GET", headers=ANTHROPIC, key=stranger),
        own.send(f"/v1/files/{name}", method="DELETE", headers=ANTHROPIC, key=stranger),
        own.send("/v1/files", method="GET", headers=ANTHROPIC, key="wrong"),
        own.send("/v1/files?limit=0", method="GET", headers=ANTHROPIC),
        own.send("/v1/files?before_id=a/b", method="GET", headers=ANTHROPIC),
        own.send("/v1/files?" + "&ids[]=a" * 101, method="GET", headers=ANTHROPIC),
        own.send("/v1/files", {"file": "x"}, headers=ANTHROPIC),
        own.send("/v1/files", b"--x", headers=other),  # without the boundary
        own.send("/v1/files", b"?" * 99, headers=form(b"")["headers"] | ANTHROPIC),
        upload(own, b"x" * 3_001, **ANTHROPIC),
        own.send("/v1/conversations/none", method="GET", headers=ANTHROPIC),
    ]
    assert [answer.status for answer in answers] == [404, 404, 401, 400, 400, 400, 400, 400, 400, 413, 404]
    assert {answer.body["type"] for answer in answers} == {"error"}
    refused = own.send("/v1/files", b"?" * 99, headers=form(b"")["headers"])
    assert (refused.status, refused.body["error"]["type"]) == (400, "invalid_request_error")
    own.send(f"/v1/files/{name}", method="DELETE")


def test_full_store_of_files_has_room_again_after_a_deletion(own):
    key = own.add(name="full")
    names = [upload(own, b"x" * 1_500, key=key).body["id"] for _ in range(2)]
    refused = upload(own, key=key)
    assert (refused.status, refused.body["error"]["code"]) == (413, "file_quota_exceeded")
    assert "have 3,000 bytes; 13 more exceed 3,000" in refused.body["error"]["message"]
    own.send(f"/v1/files/{names[0]}", method="DELETE", key=key)
    assert upload(own, key=key).status == 200


def test_empty_files_and_failed_batches_are_limited_in_number(server):
    options = config(server)
    options["gateway"] |= {"max_files": 3, "max_batches": 2}
    with keyed(options) as own:
        client = BatchClient(own.send)
        names = [client.upload(b"")["id"] for _ in range(3)]
        refused = own.send("/v1/files", **form(b""))
        assert (refused.status, refused.body["error"]["code"]) == (429, "too_many_files")
        assert refused.body["error"]["message"] == "this key has 3 files, the limit of the gateway; delete some"
        own.send(f"/v1/files/{names[0]}", method="DELETE")
        assert own.send("/v1/files", **form(b"")).status == 200
        body = {"input_file_id": names[1], "endpoint": "/v1/chat/completions", "completion_window": "24h"}
        answers = [own.send("/v1/batches", body) for _ in range(3)]
        assert [answer.status for answer in answers] == [200, 200, 429]
        assert {answer.body["status"] for answer in answers[:2]} == {"failed"}
        message = answers[2].body["error"]["message"]
        assert message == "this key has 2 batches, the limit of the gateway; they are deleted after 30 days"


def test_uploads_at_once_never_exceed_the_limit(own):
    key = own.add(name="many")
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(upload(own, b"x" * 700, key=key))) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.status for answer in answers) == [200] * 4 + [413] * 8


def test_conversations_of_a_caller_are_limited_together(own):
    key = own.add(name="talker")

    def send(path, body=None, method="POST"):
        return own.send(f"/v1/{path}", body, method=method, key=key)

    items = {"items": [{"role": "user", "content": "x" * 2_000}]}
    names = [send("conversations", items).body["id"] for _ in range(2)]
    ask = {"model": "up/m", "input": "y" * 1_000, "conversation": names[0]}
    for refused in (
        send("conversations", items),
        send(f"conversations/{names[0]}/items", items),
        send("responses", ask),
    ):
        error = refused.body["error"]
        assert (refused.status, error["code"]) == (413, "conversation_quota_exceeded")
        assert "the conversations of this key have 4," in error["message"] and "exceed 5,000" in error["message"]
    item = send(f"conversations/{names[1]}/items", method="GET").body["data"][0]["id"]
    send(f"conversations/{names[1]}/items/{item}", method="DELETE")
    assert send("responses", ask).status == 200
    assert len(send(f"conversations/{names[0]}/items", method="GET").body["data"]) == 3
    send(f"conversations/{names[0]}", method="DELETE")
    assert send("conversations", items).status == 200


class Failing(MemoryStore):
    """A store that answers a number of operations that put rows."""

    left = 10**6

    async def put_rows(self, group, rows, ttl_s, **options):
        self.left -= 1
        if self.left < 0:
            raise StorageError("gone")
        await super().put_rows(group, rows, ttl_s, **options)


def test_store_that_does_not_answer_is_reported_in_the_dialect(own, monkeypatch):
    stored = own.send("/v1/responses", {"model": "up/m", "input": "hi"}).body
    talk = own.send("/v1/conversations", {}).body["id"]

    async def lost(*_, **__):
        raise StorageError("gone")

    for name in ("get_row", "put_rows", "list_rows", "count_rows", "get"):
        monkeypatch.setattr(own.store, name, lost)
    ask = {"model": "up/m", "input": [{"type": "item_reference", "id": stored["output"][0]["id"]}]}
    answers = [
        own.send("/v1/responses", ask),
        own.send("/v1/responses", {"model": "up/m", "input": "hi", "conversation": talk}),
        own.send(f"/v1/responses/{stored['id']}/input_items", method="GET"),
        own.send("/v1/conversations", {}),
        upload(own),
        upload(own, **ANTHROPIC),
        own.send("/v1/files", method="GET", headers=ANTHROPIC),
    ]
    assert [(answer.status, answer.headers["retry-after"]) for answer in answers] == [(503, "1")] * len(answers)
    assert [answer.body.get("type") for answer in answers] == [None] * 5 + ["error"] * 2
    assert all("gone" in answer.body["error"]["message"] for answer in answers)


def test_upload_that_cannot_be_stored_leaves_nothing():
    async def check():
        store = Failing()
        files = Files(store, "ann", 60.0)
        await files.save(parts_of([b"x" * 10]), name="a", purpose="batch")
        for left in (0, 1):
            store.left = left
            with pytest.raises(StorageError):
                await files.save(parts_of([b"x" * 4_000_000] * 2), name="a", purpose="batch", most_stored=9_000_000)
        store.left = 10**6
        await files.save(parts_of([b"x" * 4_000_000] * 2), name="a", purpose="batch", most_stored=8_000_010)
        assert len(store._groups) == 4  # two contents, the records, and the bytes in use

    asyncio.run(check())


def test_file_that_two_processes_store_is_kept_if_one_of_them_fails():
    async def check():
        store = Failing()
        files = Files(store, "ann", 60.0)
        parts = [b"x" * 4_000_000, b"y"]
        file = await files.save(parts_of(parts), name="a", purpose="batch_output", file_id="file-output")
        store.left = 1
        with pytest.raises(StorageError):
            await files.save(parts_of(parts), name="a", purpose="batch_output", file_id="file-output")
        store.left = 10**6
        assert sum([len(part) async for part in files.content(file.id)]) == file.size == 4_000_001

    asyncio.run(check())


def test_first_counts_at_once_are_one():
    async def check():
        async def count():
            await asyncio.sleep(0)
            return 0

        store = MemoryStore()
        uses = [ByteUse(store, "files", "ann", 60.0, count) for _ in range(3)]
        done = await asyncio.gather(*(use.add(60, 100) for use in uses), return_exceptions=True)
        assert [type(each) for each in done] == [type(None), Problem, Problem]

    asyncio.run(check())


def test_bytes_in_use_are_counted_again_after_a_while():
    async def check():
        now_s, stored = [1_000.0], [70]

        async def count():
            return stored[0]

        use = ByteUse(MemoryStore(), "files", "ann", 60.0, count, lambda: now_s[0])
        await use.add(30, 100)
        stored[0] = 20  # the rest has expired
        with pytest.raises(Problem, match="have 100 bytes; 80 more exceed 100"):
            await use.add(80, 100)
        now_s[0] += STALE_S
        await use.add(80, 100)
        stored[0] = 100
        now_s[0] += STALE_S
        with pytest.raises(Problem, match="have 100 bytes; 1 more exceed 100"):
            await use.check(1, 100)
        await use.add(5)  # what is stored in any case
        stored[0], now_s[0] = 50, now_s[0] + RENEW_S
        await use.add(1, 200)  # which counts again, though there is room
        now_s[0] -= RENEW_S
        with pytest.raises(Problem, match="have 51 bytes"):
            await use.add(50, 100)

    asyncio.run(check())
