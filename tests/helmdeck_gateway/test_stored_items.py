"""Items of stored responses and conversations: listed, named by later requests of their caller, and bounded."""

import pytest

from tests.helmdeck_gateway.gateway_key_support import config, keyed

pytestmark = pytest.mark.usefixtures("sent")


@pytest.fixture(scope="module")
def own(server):
    options = config(server)
    options["gateway"] |= {"max_request_bytes": 9_000}
    with keyed(options) as own:
        own.other = own.add(name="eve")
        yield own


def respond(own, value, **fields):
    answer = own.send("/v1/responses", {"model": "up/m", "input": value, **fields})
    assert answer.status == 200, answer
    return answer.body


def listed(own, name, query="order=asc", **options):
    return own.send(f"/v1/responses/{name}/input_items?{query}", method="GET", **options)


def reference(item, **fields):
    return {"type": "item_reference", "id": item["id"], **fields}


def contents(sent):
    return [each["content"] for each in sent[-1].body["messages"]]


def test_input_items_are_those_of_the_whole_conversation_and_are_paged(own):
    first = respond(own, "who are you?")
    second = respond(
        own, [{"role": "user", "content": "and?"}, {"role": "user", "content": "?"}], previous_response_id=first["id"]
    )
    items = listed(own, second["id"]).body["data"]
    assert [item["content"][0]["text"] for item in items] == ["who are you?", "hello", "and?", "?"]
    assert items[:2] == [*listed(own, first["id"]).body["data"], *first["output"]]
    assert len({item["id"] for item in items}) == 4
    pages = [listed(own, second["id"], "limit=2").body]
    pages.append(listed(own, second["id"], f"limit=2&after={pages[0]['last_id']}").body)
    assert [item for page in pages for item in page["data"]] == items[::-1]
    assert [page["has_more"] for page in pages] == [True, False]


def test_input_items_of_others_deleted_or_unstored_responses_do_not_exist(own):
    kept, unstored = respond(own, "x"), respond(own, "x", store=False)
    for name, key in ((kept["id"], own.other), (unstored["id"], None), ("resp_nothing", None)):
        refused = listed(own, name, key=key)
        assert (refused.status, refused.body["error"]["param"]) == (404, "response_id")
    for query, param in (("limit=0", "limit"), ("order=up", "order"), ("after=a/b", "after"), ("after=msg_1", "after")):
        assert listed(own, kept["id"], query).body["error"]["param"] == param
    own.send(f"/v1/responses/{kept['id']}", method="DELETE")
    assert listed(own, kept["id"]).status == 404


def test_items_of_responses_and_conversations_are_named_by_their_ids(own, sent):
    response = respond(own, "who are you?")
    made = own.send("/v1/conversations", {"items": [{"role": "user", "content": "hello"}]}).body
    asked, told = listed(own, response["id"]).body["data"][0], response["output"][0]
    greeting = own.send(f"/v1/conversations/{made['id']}/items", method="GET").body["data"][0]
    named = [reference(asked), reference(told), {"id": greeting["id"]}, {"role": "user", "content": "go"}]
    named = respond(own, named, store=True)
    assert contents(sent) == ["who are you?", "hello", "hello", "go"]
    assert [item["id"] for item in listed(own, named["id"]).body["data"]][:3] == [
        asked["id"],
        told["id"],
        greeting["id"],
    ]
    respond(own, [reference(asked)], conversation=made["id"])
    assert contents(sent) == ["hello", "who are you?"]
    items = own.send(f"/v1/conversations/{made['id']}/items?order=asc", method="GET").body["data"]
    assert len({item["id"] for item in items}) == 3  # the copy has an id of its own
    respond(own, [reference(items[1])])
    assert contents(sent) == ["who are you?"]


@pytest.mark.parametrize("background", [False, True])
def test_items_that_the_caller_has_not_stored_are_refused_before_a_call(own, sent, background):
    stored, unstored = respond(own, "x")["output"][0], respond(own, "x", store=False)["output"][0]
    sent.clear()
    rows = [(stored, own.other), (unstored, None), ({"id": "msg_1"}, None), ({"id": "fc_" + "0" * 900}, None)]
    for item, key in rows:
        value = [{"role": "user", "content": "x"}, reference(item)]
        refused = own.send("/v1/responses", {"model": "up/m", "input": value, "background": background}, key=key)
        assert (refused.status, refused.body["error"]["code"]) == (404, "item_not_found")
        assert refused.body["error"]["param"] == "input[1].id"
    for wrong in ({"type": "item_reference"}, reference({"id": 7}), reference({"id": [stored]})):
        refused = own.send("/v1/responses", {"model": "up/m", "input": [wrong], "background": background})
        assert (refused.status, refused.body["error"]["param"]) == (400, "input[0].id")
    assert own.send("/v1/conversations", {"items": [reference(stored)]}).status == 400
    assert sent == []


def test_named_items_count_against_the_size_of_a_request(own, sent):
    item = listed(own, respond(own, "x" * 4_000)["id"]).body["data"][0]
    respond(own, [reference(item)] * 2)
    sent.clear()
    refused = own.send("/v1/responses", {"model": "up/m", "input": [reference(item)] * 3})
    assert (refused.status, refused.body["error"]["param"], sent) == (413, "input[2].id", [])
