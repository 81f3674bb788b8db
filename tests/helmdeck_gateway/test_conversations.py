"""Conversations and stored files: kept for their caller, sent with its requests, and bounded."""

import pytest

from tests.helmdeck_gateway.batch_support import BatchClient
from tests.helmdeck_gateway.gateway_key_support import config, keyed

PDF = b"%PDF-1.7 tide"
PNG = b"\x89PNG\r\n\x1a\n"

pytestmark = pytest.mark.usefixtures("sent")


@pytest.fixture(scope="module")
def own(server):
    options = config(server)
    options["gateway"] |= {"max_conversations": 3, "max_conversation_bytes": 2_000}
    options["gateway"] |= {"max_request_bytes": 4_000, "max_file_bytes": 3_000}
    with keyed(options) as own:
        own.other = own.add(name="eve")
        yield own


def created(own, **fields):
    answer = own.send("/v1/conversations", fields)
    assert answer.status == 200, answer
    return f"/v1/conversations/{answer.body['id']}", answer.body


@pytest.mark.parametrize("stream", [False, True])
def test_turns_of_a_conversation_are_sent_and_added(own, sent, stream):
    start = {"type": "message", "role": "developer", "content": "Be brief."}
    path, made = created(own, items=[start], metadata={"topic": "names"})
    assert (made["object"], made["metadata"]) == ("conversation", {"topic": "names"})
    for text in ("my name is Bond", "who am I?"):
        body = {"model": "up/m", "input": text, "conversation": made["id"], "stream": stream, "store": False}
        answer = own.send("/v1/responses", body)
        assert answer.status == 200, answer
        shown = answer.events[-1]["response"] if stream else answer.body
        assert shown["conversation"] == {"id": made["id"]}
    texts = [each["content"] for each in sent[1].body["messages"]]
    assert texts == ["Be brief.", "my name is Bond", "hello", "who am I?"]
    items = own.send(f"{path}/items?order=asc", method="GET").body
    assert [item["role"] for item in items["data"]] == ["developer", "user", "assistant", "user", "assistant"]
    assert items["data"][-1] == shown["output"][0]
    page = own.send(f"{path}/items?limit=1&after={items['last_id']}", method="GET").body
    assert (page["data"], page["has_more"]) == ([items["data"][3]], True)
    own.send(path, method="DELETE")


def test_conversation_is_changed_and_deleted_by_its_caller_only(own):
    path, made = created(own)
    body = {"items": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]}
    first, second = own.send(f"{path}/items", body).body["data"]
    assert first["content"] == [{"type": "input_text", "text": "a"}]
    assert own.send(path, {"metadata": {"a": "b"}}).body == {**made, "metadata": {"a": "b"}}
    assert own.send(f"{path}/items/{first['id']}", method="GET").body == first
    assert own.send(f"{path}/items/{first['id']}", method="DELETE").body["id"] == made["id"]
    assert own.send(f"{path}/items", method="GET").body["data"] == [second]
    for refused in (
        own.send(path, method="GET", key=own.other),
        own.send(f"{path}/items", method="GET", key=own.other),
        own.send(f"{path}/items/{first['id']}", method="GET"),
        own.send("/v1/responses", {"model": "up/m", "input": "x", "conversation": made["id"]}, key=own.other),
    ):
        assert (refused.status, refused.body["error"]["type"]) == (404, "not_found_error")
    both = {"model": "up/m", "input": "x", "conversation": {"id": made["id"]}, "previous_response_id": "resp_1"}
    assert own.send("/v1/responses", both).body["error"]["param"] == "previous_response_id"
    assert own.send(f"{path}/items", {"items": [{"role": "robot"}]}).status == 400
    assert own.send(path, method="DELETE").body["object"] == "conversation.deleted"
    assert own.send(f"{path}/items", method="GET").status == 404


def test_conversations_are_limited_in_bytes_and_number(own, sent):
    (path, made), *more = [created(own) for _ in range(3)]
    large = {"items": [{"role": "user", "content": "x" * 1_700}]}
    assert own.send("/v1/conversations", {}).body["error"]["code"] == "too_many_conversations"
    answers = [own.send(f"{path}/items", large) for _ in range(2)]
    assert [answer.status for answer in answers] == [200, 413]
    answer = own.send("/v1/responses", {"model": "up/m", "input": "y" * 300, "conversation": made["id"]})
    assert (answer.status, answer.body["error"]["code"], sent) == (413, "conversation_too_large", [])
    for each, _ in ((path, made), *more):
        own.send(each, method="DELETE")


def test_stored_files_are_sent_in_every_dialect(own, sent):
    files = BatchClient(own.send)
    pdf = files.upload(PDF, purpose="user_data", name="t.pdf", media_type="application/octet-stream")["id"]
    png = files.upload(PNG, purpose="vision", name="x", media_type="")["id"]
    rows = {
        "/v1/chat/completions": [{"type": "file", "file": {"file_id": each}} for each in (pdf, png)],
        "/v1/responses": [{"type": "input_file", "file_id": pdf}, {"type": "input_image", "file_id": png}],
        "/v1/messages": [
            {"type": "document", "source": {"type": "file", "file_id": pdf}},
            {"type": "image", "source": {"type": "file", "file_id": png}},
        ],
    }
    for path, parts in rows.items():
        turns = [{"role": "user", "content": parts}]
        body = {"model": "up/m", "messages": turns, "max_tokens": 9} if path != "/v1/responses" else {"input": turns}
        answer = own.send(path, {"model": "up/m", **body})
        assert answer.status == 200, answer
        kinds = [part["type"] for part in sent[-1].body["messages"][0]["content"]]
        assert (path, kinds) == (path, ["file", "image_url"])
        refused = own.send(path, {"model": "up/m", **body}, key=own.other)
        assert (refused.status, refused.body["error"]["type"]) == (404, "not_found_error")
        assert pdf in refused.body["error"]["message"]
        if path == "/v1/responses":  # the next turn names the file again, which is deleted meanwhile
            last = answer.body["id"]
    more = {"model": "up/m", "input": "and?", "previous_response_id": last}
    assert own.send("/v1/responses", more).status == 200
    assert [part["type"] for part in sent[-1].body["messages"][0]["content"]] == ["file", "image_url"]
    own.send(f"/v1/files/{png}", method="DELETE")
    assert own.send("/v1/responses", more).status == 404


def test_stored_files_of_a_request_are_limited_together_and_need_a_type(own, sent):
    files = BatchClient(own.send)
    names = [files.upload(PDF.ljust(2_500), purpose="user_data", name="t.pdf", media_type="")["id"] for _ in range(2)]
    odd = files.upload(b"?", purpose="user_data", name="odd", media_type="")["id"]

    def send(*ids):
        parts = [{"type": "file", "file": {"file_id": each}} for each in ids]
        return own.send(body={"model": "up/m", "messages": [{"role": "user", "content": parts}]})

    assert [send(*ids).status for ids in ((names[0],), (names[0], names[0]), names, (odd,))] == [200, 200, 413, 400]
    assert len(sent) == 2
