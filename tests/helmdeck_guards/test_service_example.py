"""Tests of the moderation guard over a service on the loopback interface."""

import asyncio
import http.server
import json
import threading

import acme_guard
import pytest

from helmdeck_core import ChatRequest, EventSink, GuardReported, Message, Role, TextPart
from helmdeck_guards import GuardBlocked, GuardedDeck
from helmdeck_testing import Reply, make_deck, plugin_with, scripted_provider


class Service(http.server.BaseHTTPRequestHandler):
    """Finds insults, and the name Jane; fails for ``crash``, and never answers ``hang``."""

    asked = []
    released = threading.Event()

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.asked.append(body)
        text = "\n".join(body["texts"])
        if "hang" in text:
            self.released.wait(60)
        found = [{"kind": "insult"}] if "idiot" in text else []
        for number, each in enumerate(body["texts"]):
            if (at := each.find("Jane")) >= 0:
                found.append({"kind": "person", "start": at, "stop": at + 4, "text": number})
        self.send_response(500 if "crash" in text else 200)
        self.end_headers()
        self.wfile.write(json.dumps({"findings": found}).encode())

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def url():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/check"
    Service.released.set()
    server.shutdown()
    thread.join()
    server.server_close()


def run(url, text, answer="fine", streams=False, **table):
    """Send one request; return the answer, what the provider got, and the events."""
    provider, events = scripted_provider([Reply(answer)]), []
    tables = {"service": {"kind": "moderation", "options": {"url": url}, **table}}
    sink = plugin_with(helmdeck_event_sinks=[EventSink(name="kept", handle=events.append)])
    deck = make_deck(acme_guard, provider, sink, config={"guards": tables})
    request = ChatRequest(model="scripted/any", messages=(Message(Role.USER, (TextPart(text),)),))

    async def send():
        guarded = GuardedDeck(deck)
        try:
            if not streams:
                return (await guarded.acomplete(request)).text
            return [chunk async for chunk in guarded.astream(request)][-1].text
        finally:
            await guarded.aclose()
            await deck.aclose()

    answer = asyncio.run(send())
    outcomes = [(event.stage, event.outcome) for event in events if isinstance(event, GuardReported)]
    return answer, provider.requests[0].messages[0].text, outcomes


def test_service_blocks_requests_and_answers(url):
    for text, answer, streams in (("you idiot", "fine", False), ("hello", "you idiot", True)):
        with pytest.raises(GuardBlocked, match="found insult"):
            run(url, text, answer, streams)


def test_place_of_a_finding_is_redacted_and_restored(url):
    answer, sent, outcomes = run(url, "I am Jane", "Hello [PERSON_1]!", action="redact", when=["request"])
    assert (answer, sent) == ("Hello Jane!", "I am [PERSON_1]")
    assert outcomes == [("request", "redacted")]


def test_failing_service_blocks_or_passes_as_configured(url):
    with pytest.raises(GuardBlocked, match="failed, and blocks the request when it fails"):
        run(url, "crash")
    answer, _, outcomes = run(url, "hang", timeout_s=0.05, on_failure="pass", when=["request"])
    assert (answer, outcomes) == ("fine", [("request", "failed_open")])
