"""Bodies that every endpoint reads: they end early, arrive too late, or are compressed."""

import asyncio
import contextlib
import gzip
import io

import pytest

from helmdeck_core import log
from helmdeck_gateway import Gateway, KeyRecord, Principal
from helmdeck_gateway.stores.memory import MemoryStore
from helmdeck_testing import make_deck
from tests.helmdeck_gateway.gateway_support import AppRequest

JSON = {"content-type": "application/json"}
FORM = {"content-type": "multipart/form-data; boundary=x"}
ENDPOINTS = {
    "/v1/chat/completions": JSON, "/v1/embeddings": JSON, "/v1/conversations": JSON, "/v1/batches": JSON,
    "/v1/messages/batches": JSON, "/v1/admin/keys": JSON, "/v1/files": FORM,
}  # fmt: skip
"""The headers of a request by its path."""


class Operator:
    """Accepts every request, as one of an operator."""

    async def authorise(self, _):
        return Principal(caller="ann", key=KeyRecord(name="ann", id="1", digest="", caller="ann", role="admin"))


class Sent(AppRequest):
    """A request whose body is that of a client."""

    def __init__(self, app, path, messages, **headers):
        super().__init__(app, path, headers={**ENDPOINTS[path], **headers})
        self._received = list(reversed(messages))


def body(data, *, more):
    return {"type": "http.request", "body": data, "more_body": more}


START = body(b"--x\r\n", more=True)
"""The start of a form, and of a body that is not read before it is complete."""


async def answered(path, *messages, **headers):
    """The response, the gateway, and what it logged."""
    lines = io.StringIO()
    async with make_deck() as deck:
        gateway = Gateway(deck, authoriser=Operator(), store=MemoryStore())
        with contextlib.redirect_stderr(lines):
            log.enable("WARNING")
        try:
            request = Sent(gateway.app, path, messages, **headers)
            await request.sent()
        finally:
            log.disable()
        return request, gateway, lines.getvalue()


@pytest.mark.parametrize("path", ENDPOINTS)
def test_client_that_leaves_before_its_request_is_complete_is_counted_and_not_logged(path):
    messages = START, {"type": "http.disconnect"}
    _, gateway, logged = asyncio.run(answered(path, *messages))
    assert (gateway.counters.disconnects, logged) == (1, "")


@pytest.mark.parametrize("path", ENDPOINTS)
def test_body_that_stops_is_refused_after_the_time_for_bodies(path, virtual_time):
    request, _, _ = asyncio.run(answered(path, START))
    assert (request.status, b"request_timeout" in request.raw) == (408, True)
    assert virtual_time.passed_s >= 60


@pytest.mark.parametrize("path", ENDPOINTS)
def test_compressed_body_is_refused_by_its_encoding(path):
    request, _, _ = asyncio.run(answered(path, body(gzip.compress(b"{}"), more=False), **{"content-encoding": "GZIP"}))
    assert request.status == 415
    assert b"compressed bodies are not accepted (content-encoding: 'GZIP')" in request.raw


def test_body_with_the_encoding_identity_is_read():
    headers = {"content-encoding": "identity"}
    request, _, _ = asyncio.run(answered("/v1/conversations", body(b"{}", more=False), **headers))
    assert request.status == 200
