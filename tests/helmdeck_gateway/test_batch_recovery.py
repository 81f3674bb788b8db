"""Batches and background responses of gateways that are killed: what is finished is kept, and what is not runs again."""

import asyncio
import json
import os
import re
import signal
import threading

import pytest

from helmdeck_gateway.accounts.changes import create_key
from helmdeck_gateway.stores import open_store
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer
from tests.helmdeck_gateway.batch_support import BatchClient, chat_lines
from tests.helmdeck_gateway.gateway_key_support import COST, USAGE, record
from tests.helmdeck_gateway.gateway_support import FormatServer, Running
from tests.helmdeck_gateway.test_workers import Serving

LINES = 40
ANSWERED = 12
"""Requests that the first gateway gets an answer to."""
HELD = 4
"""Requests that it has under way when it is killed."""


class HoldingServer(FormatServer):
    """Answers requests until it holds all that come, and answers again when it is released."""

    def __init__(self):
        super().__init__(OPENAI_CHAT, ScriptedAnswer(text="hello", **USAGE))
        self.release, self.holds, self.answered = threading.Event(), threading.Event(), 0
        self.late = threading.Event()
        self.held, self._lock = 0, threading.Lock()

    def respond(self, request):
        with self._lock:
            is_held = self.answered >= ANSWERED and not self.release.is_set()
            self.answered += not is_held
            self.held += is_held
            if self.held == HELD:
                self.holds.set()
            if self.held > HELD:
                self.late.set()
        if is_held:
            self.release.wait(60)
        return super().respond(request)


@pytest.fixture
def server():
    server = HoldingServer()
    yield server
    server.release.set()
    server.close()


def test_killed_gateway_loses_no_line_and_runs_no_finished_line_again(server, tmp_path):
    store_url = f"sqlite:{tmp_path / 'gateway.db'}"
    made = asyncio.run(with_key(store_url))
    file = tmp_path / "helmdeck.toml"
    file.write_text(
        f'[providers.up]\nkind = "openai-compatible"\nbase_url = "{server.base_url}"\n'
        '[budgets."up/"]\ninput_cost_usd_per_mtok = 1.0\noutput_cost_usd_per_mtok = 2.0\noutput_tokens = 1000\n'
        f"[gateway]\nstore = {json.dumps(store_url)}\nbatch_concurrency = {HELD}\nbatch_lease_s = 1.0\n"
    )

    def serving():
        return Serving("--config", str(file), "--no-traces", HELMDECK_DATA_DIR=str(tmp_path))

    def client_of(process):
        running = Running(None, re.search(r"http://\S+:\d+", process.line("serving"))[0])

        def send(path, body=None, *, headers=None, **options):
            return running.send(
                path, body, headers={"authorization": f"Bearer {made.secret}", **(headers or {})}, **options
            )

        return BatchClient(send)

    with serving() as first:
        client = client_of(first)
        path = f"/v1/batches/{client.create(chat_lines(LINES))['id']}"
        assert server.holds.wait(60)
        client.ended(path, lambda body: body["request_counts"]["completed"] == ANSWERED)
        queued = client.send("/v1/responses", {"model": "up/m", "input": "say #now", "background": True}).body["id"]
        client.ended(f"/v1/responses/{queued}", lambda body: body["status"] == "in_progress")
        assert server.late.wait(60)
        os.kill(first.process.pid, signal.SIGKILL)
        first.process.wait()
    server.release.set()
    with serving() as second:
        client = client_of(second)
        batch = client.ended(path)
        rows = client.rows(batch["output_file_id"])
        response = client.ended(f"/v1/responses/{queued}", lambda body: body["status"] == "completed")
        me = client.get("/v1/me").body
    assert batch["request_counts"] == {"total": LINES, "completed": LINES, "failed": 0}
    assert [row["custom_id"] for row in rows] == [f"r{number}" for number in range(LINES)]
    texts = [request.body["messages"][-1]["content"] for request in server.requests]
    assert response["output"][0]["content"][0]["text"] == "hello"
    assert texts.count("say #now") == 2  # it ran again, since its first answer was lost
    assert len(texts) == LINES + HELD + 2 and len(set(texts)) == LINES + 1
    # What the killed calls held counts as spent, so that the bill is never too low.
    today = me["nodes"][0]["today"]
    assert today["requests"] == LINES + HELD + 2
    assert today["spent_usd"] + today["held_usd"] >= (LINES + HELD + 2) * COST


async def with_key(url):
    """Create a key in a store."""
    store = open_store(url)
    try:
        return await create_key(store, record())
    finally:
        await store.aclose()
