"""Responses in the background: queued, run once, billed, streamed from any event on, cancelled, and seen by their caller only."""

import asyncio
import json
import threading

import pytest

from helmdeck_gateway.background import runner
from helmdeck_gateway.background.event_log import EventLog
from helmdeck_gateway.background.responses import BackgroundResponses, Queued
from helmdeck_gateway.batches.batch import Sender
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer
from tests.helmdeck_gateway.gateway_key_support import COST, USAGE, config, keyed
from tests.helmdeck_gateway.gateway_store_support import store_url as store_url
from tests.helmdeck_gateway.gateway_support import (
    FormatServer,
    read_response,
    read_response_events,
    running_gateway,
    upstream,
)

BODY = {"model": "up/m", "input": "hi", "background": True}


class HeldServer(FormatServer):
    """Answers when it is released; streams send their first half before."""

    def __init__(self):
        super().__init__(OPENAI_CHAT, ScriptedAnswer(text="once upon a time", **USAGE))
        self.release = threading.Event()
        self.release.set()

    def respond(self, request):
        """Return the answer."""
        if self.server_format.wants_stream(request):
            return self._streamed(self._held(list(self.server_format.events(self.answer))))
        assert self.release.wait(60)
        return super().respond(request)

    def _held(self, events):
        for number, event in enumerate(events):
            if number == len(events) // 2:
                self.release.wait(60)
            yield event


@pytest.fixture(scope="module")
def server():
    server = HeldServer()
    yield server
    server.close()


@pytest.fixture(scope="module")
def own(server):
    options = config(server)
    options["gateway"] |= {"max_background": 3}
    with keyed(options) as own:
        yield own


@pytest.fixture(autouse=True)
def released(server):
    server.release.set()
    server.requests.clear()
    yield
    server.release.set()


def ended(own, name, status="completed"):
    """Wait for a response."""
    for _ in range(2_000):
        body = own.send(f"/v1/responses/{name}", method="GET").body
        if body["status"] == status:
            return body
        assert body["status"] in ("queued", "in_progress"), body
        threading.Event().wait(0.01)
    raise AssertionError(body)


def test_response_is_queued_run_once_billed_and_continued(own, server):
    before = own.usage.day
    server.release.clear()
    first = own.send("/v1/responses", BODY)
    assert (first.status, first.body["status"], first.body["output"]) == (200, "queued", [])
    name = first.body["id"]
    ended(own, name, "in_progress")
    more = {"model": "up/m", "input": "and?", "previous_response_id": name}
    early = own.send("/v1/responses", more)
    assert (early.status, early.body["error"]["code"]) == (409, "response_not_completed")
    server.release.set()
    body = ended(own, name)
    assert (read_response(body).text, body["background"], body["id"]) == ("once upon a time", True, name)
    assert (own.usage.day.requests - before.requests, len(server.requests)) == (1, 1)
    assert own.usage.day.spent_nusd - before.spent_nusd == round(COST * 1e9)
    assert own.send("/v1/responses", more).status == 200
    assert [each["content"] for each in server.requests[1].body["messages"]] == ["hi", "once upon a time", "and?"]
    other = own.add(name="eve")
    for path, method in ((f"/v1/responses/{name}", "GET"), (f"/v1/responses/{name}/cancel", "POST")):
        assert own.send(path, method=method, key=other).status == 404
    assert own.send(f"/v1/responses/{name}/cancel").body == body  # it is too late
    assert own.send(f"/v1/responses/{name}", method="DELETE").body["deleted"]
    assert own.send(f"/v1/responses/{name}", method="GET").status == 404
    assert own.send("/v1/responses", more).status == 404


def test_response_whose_endpoint_raises_fails_and_is_not_run_again(own, monkeypatch):
    runs = []

    async def send(*_, request_id, **__):
        runs.append(request_id)
        raise RuntimeError("a fault of an endpoint")

    monkeypatch.setattr(runner, "send_own", send)
    name = own.send("/v1/responses", BODY).body["id"]
    assert ended(own, name, "failed")["error"]["message"].startswith("the gateway failed to process the request")
    assert runs == [name]


def test_events_are_streamed_while_it_runs_and_resumed_after_any_of_them(own, server):
    live = own.send("/v1/responses", {**BODY, "stream": True})
    assert [event["type"] for event in live.events[:3]] == [
        "response.created",
        "response.queued",
        "response.in_progress",
    ]
    assert read_response_events(live.events).text == "once upon a time"
    path = f"/v1/responses/{live.events[0]['response']['id']}?stream=true"
    for after in (-1, 0, 1, 4, len(live.events) - 2):
        more = own.send(path + (f"&starting_after={after}" if after >= 0 else ""), method="GET")
        assert more.events == live.events[after + 1 :]
    assert own.send(f"{path}&starting_after=x", method="GET").body["error"]["param"] == "starting_after"
    whole = own.send("/v1/responses", BODY).body["id"]
    assert own.send(f"/v1/responses/{whole}?stream=true", method="GET").body["error"]["param"] == "stream"


def test_stream_of_a_lost_process_ends_with_the_whole_response(own):
    body, shown = json.dumps({**BODY, "stream": True}).encode(), json.dumps({"id": "resp_00"}).encode()
    sender = Sender(caller="ann", key_id=own.id, key_name="ann")
    lost = Queued(id="resp_00", sender=sender, body=body, shown=shown, created_s=2**40, is_stream=True)
    log = EventLog(own.store, lost.id, 60.0)
    log.feed(b'event: response.in_progress\ndata: {"type": "response.in_progress", "sequence_number": 2}\n\n')
    asyncio.run(log.flush())
    log.feed(b'event: response.in_progress\ndata: {"type": "response.in_progress", "sequence_number": 2}\n\n')
    log.feed(b'event: response.x\ndata: {"type": "response.x", "sequence_number": 3}\n\n')
    asyncio.run(log.flush())  # as after a write that was cancelled, but stored
    asyncio.run(BackgroundResponses(own.store, "ann", 60.0).add(lost, 9))
    ended(own, own.send("/v1/responses", BODY).body["id"])  # the process looks for both
    ended(own, lost.id)
    events = own.send("/v1/responses/resp_00?stream=true", method="GET").events
    kinds = ["response.created", "response.queued", "response.in_progress", "response.x", "response.completed"]
    assert [(event["sequence_number"], event["type"]) for event in events] == list(enumerate(kinds))
    assert read_response(events[-1]["response"]).text == "once upon a time"


def test_cancelled_response_stops_and_ends_its_stream(own, server):
    server.release.clear()
    name = own.send("/v1/responses", BODY).body["id"]
    ended(own, name, "in_progress")
    assert own.send(f"/v1/responses/{name}/cancel").body["status"] == "cancelled"
    server.release.set()
    assert ended(own, name, "cancelled")["output"] == []
    plain = own.send("/v1/responses", {"model": "up/m", "input": "hi"}).body["id"]
    refused = own.send(f"/v1/responses/{plain}/cancel")
    assert (refused.status, refused.body["error"]["param"]) == (400, "response_id")
    assert own.usage.under_way == 0


def test_invalid_or_excessive_requests_are_refused_at_once_and_failures_are_shown(own, server):
    for fields, status, param in (
        ({"store": False}, 400, "background"),
        ({"input": [{"type": "message", "role": "robot"}]}, 400, "input[0].role"),
    ):
        refused = own.send("/v1/responses", {**BODY, **fields})
        assert (refused.status, refused.body["error"]["param"]) == (status, param)
    server.release.clear()
    names = [own.send("/v1/responses", BODY).body["id"] for _ in range(3)]
    assert own.send("/v1/responses", BODY).body["error"]["code"] == "too_many_background_responses"
    for name in names:
        own.send(f"/v1/responses/{name}/cancel")
    server.release.set()
    for stream in (False, True):
        answer = own.send("/v1/responses", {**BODY, "model": "none/m", "stream": stream})
        name = answer.events[0]["response"]["id"] if stream else answer.body["id"]
        failed = ended(own, name, "failed")
        assert (failed["error"]["code"], failed["output"]) == ("model_not_found", [])
    assert (answer.events[-1]["type"], answer.events[-1]["response"]) == ("response.failed", failed)


def test_every_store_keeps_responses_and_conversations(store_url, server):
    config = {"providers": {"up": upstream(server)}, "gateway": {"store": store_url}}
    with running_gateway(config=config) as gateway:
        live = gateway.send("/v1/responses", {**BODY, "stream": True})
        assert read_response_events(live.events).text == "once upon a time"
        path = f"/v1/responses/{live.events[0]['response']['id']}"
        assert gateway.send(path, method="GET").body == live.events[-1]["response"]
        talk = gateway.send("/v1/conversations", {}).body["id"]
        for text in "ab":
            gateway.send("/v1/responses", {"model": "up/m", "input": text, "conversation": talk})
        items = gateway.send(f"/v1/conversations/{talk}/items?order=asc", method="GET").body["data"]
        assert [item["content"][0]["text"] for item in items[::2]] == ["a", "b"]
        for each in (path, f"/v1/conversations/{talk}"):
            statuses = [gateway.send(each, method=method).status for method in ("DELETE", "GET")]
            assert (each, statuses) == (each, [200, 404])
