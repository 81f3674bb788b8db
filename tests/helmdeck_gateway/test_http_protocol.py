"""Writes and losses of a connection, as the protocol of the gateway's server sees them."""

import asyncio
import gc
import json
import weakref
from types import SimpleNamespace

import pytest
import uvicorn
from uvicorn.server import ServerState

from helmdeck_gateway import Gateway
from helmdeck_gateway.calls.stream_out import CONNECTION, ClientWatch, StreamOut
from helmdeck_gateway.http_server.http_protocol import LINGER_S, MAX_HEAD_BYTES, limited_protocol
from helmdeck_testing import Reply, make_deck, scripted_provider

REQUEST = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"


class Transport(asyncio.Transport):
    """Records writes."""

    def __init__(self):
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self.writes = []
        self.is_closed = False
        self.has_ended = False

    def write(self, data):
        assert not (self.is_closed or self.has_ended)
        self.writes.append(data)

    def is_closing(self):
        return self.is_closed

    def write_eof(self):
        self.has_ended = True

    def close(self):
        self.is_closed = True

    def abort(self):
        self.is_closed = True

    def resume_reading(self):
        pass

    def pause_reading(self):
        pass


def served(application, request=REQUEST):
    """Return the transport of a connection on which an application has served a request."""

    async def run():
        config = uvicorn.Config(application, log_config=None, lifespan="off", server_header=False, date_header=False)
        state = ServerState()
        protocol = limited_protocol(20.0)(config=config, server_state=state, app_state={})
        transport = Transport()
        protocol.connection_made(transport)
        protocol.data_received(request)
        await asyncio.gather(*state.tasks)
        protocol.connection_lost(None)
        return transport

    return asyncio.run(run())


class FullTransport(Transport):
    """Has a full buffer of a large response."""

    unread = 10_000_000

    def get_write_buffer_size(self):
        return self.unread


@pytest.mark.parametrize(
    ("rate", "is_disconnected"), [(100_000, False), (2_000, False), (500, True), (0, True)], ids=str
)
def test_client_is_disconnected_for_slow_reading_but_not_for_a_large_response(virtual_time, rate, is_disconnected):
    async def run():
        async def application(scope, receive, send):
            await send(start())
            await send(body(b"x"))

        config = uvicorn.Config(application, log_config=None, lifespan="off")
        state, transport = ServerState(), FullTransport()
        protocol = limited_protocol(20.0)(config=config, server_state=state, app_state={})
        protocol.connection_made(transport)
        protocol.pause_writing()
        protocol.data_received(REQUEST)
        for _ in range(50):
            await asyncio.sleep(1)
            transport.unread -= rate
        is_closed = transport.is_closed
        protocol.connection_lost(None)
        await asyncio.gather(*state.tasks)
        return is_closed

    assert asyncio.run(run()) is is_disconnected


def start(*headers):
    """Return the message that starts a response."""
    return {"type": "http.response.start", "status": 200, "headers": list(headers)}


def body(data, *, more=False):
    """Return the message with a part of a body."""
    return {"type": "http.response.body", "body": data, "more_body": more}


def test_whole_response_is_one_write():
    async def application(scope, receive, send):
        await send(start((b"content-length", b"2")))
        await send(body(b"ok"))

    (written,) = served(application).writes
    assert written.startswith(b"HTTP/1.1 200 ") and written.endswith(b"\r\n\r\nok")


def test_head_is_written_with_the_first_chunk_and_the_end_with_the_last_one():
    async def application(scope, receive, send):
        await send(start())
        await send(body(b"one", more=True))
        await send(body(b"two"))

    first, last = served(application).writes
    assert first.startswith(b"HTTP/1.1 200 ") and first.endswith(b"\r\n\r\n3\r\none\r\n")
    assert last == b"3\r\ntwo\r\n0\r\n\r\n"


def test_response_is_written_before_its_connection_is_closed():
    async def application(scope, receive, send):
        await send(start((b"content-length", b"2")))
        await send(body(b"ok"))

    transport = served(application, REQUEST.replace(b"host: x", b"host: x\r\nconnection: close"))
    assert transport.is_closed
    assert transport.writes[0].endswith(b"ok")


def test_application_that_fails_before_its_body_gets_an_error_status():
    async def application(scope, receive, send):
        await send(start())
        raise RuntimeError

    assert served(application).writes[0].startswith(b"HTTP/1.1 500 ")


async def ok(scope, receive, send):
    await send(start((b"content-length", b"2")))
    await send(body(b"ok"))


UPLOAD = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2000\r\n\r\n" + b"a" * 1_000


def test_connection_of_a_refused_upload_ends_at_once_and_drops_the_rest_for_a_short_time(virtual_time):
    async def run():
        application = uvicorn.Config(ok, log_config=None, lifespan="off")
        state, transport = ServerState(), Transport()
        protocol = limited_protocol(20.0)(config=application, server_state=state, app_state={})
        protocol.connection_made(transport)
        protocol.data_received(UPLOAD)
        await asyncio.gather(*state.tasks)
        assert b"\r\nconnection: close\r\n" in transport.writes[0]
        ends = [(transport.has_ended, transport.is_closed)]
        protocol.data_received(b"a" * 1_000 + REQUEST)
        for _ in range(2):
            await asyncio.sleep(LINGER_S - 0.1)
            ends.append((transport.has_ended, transport.is_closed))
        protocol.connection_lost(None)
        assert not state.tasks
        return ends, len(transport.writes)

    assert asyncio.run(run()) == ([(True, False), (True, False), (True, True)], 1)


def test_connection_of_a_complete_upload_is_kept():
    transport = served(ok, UPLOAD + b"a" * 1_000)
    assert b"connection: close" not in transport.writes[0]
    assert not transport.has_ended


FRAMINGS = b"transfer-encoding: chunked\r\ncontent-length: 5\r\n"
HEADERS = b"".join(b"x-%d: %s\r\n" % (number, b"a" * 100) for number in range(700))


@pytest.mark.parametrize(
    ("head", "status", "code"),
    [
        (b"POST / HTTP/1.1\r\nhost: x\r\n" + FRAMINGS, 400, "invalid_framing"),
        (b"POST /healthz HTTP/1.1\r\nhost: x\r\n" + FRAMINGS, 400, "invalid_framing"),
        (b"GET /" + b"a" * MAX_HEAD_BYTES + b" HTTP/1.1\r\nhost: x\r\n", 431, "head_too_large"),
        (b"GET /?" + b"a" * MAX_HEAD_BYTES + b" HTTP/1.1\r\nhost: x\r\n", 431, "head_too_large"),
        (b"GET / HTTP/1.1\r\nhost: x\r\n" + HEADERS, 431, "head_too_large"),
        (b"GET / HTTP/9.9\r\nhost: x\r\n", 505, "http_version"),
    ],
    ids=["two framings", "two framings of a probe", "long path", "long query", "many headers", "unknown version"],
)
def test_request_that_another_server_may_read_otherwise_is_refused_before_the_application(head, status, code):
    async def application(scope, receive, send):
        raise AssertionError

    transport = served(application, head + b"\r\n0\r\n\r\n" + REQUEST)
    (written,) = transport.writes
    found = int(written[9:12]), json.loads(written.partition(b"\r\n\r\n")[2])["error"]["code"]
    assert found in ((status, code), (400, "invalid_http")), "the second one is the parser's"
    assert b"\r\nconnection: close\r\n" in written
    assert transport.has_ended


@pytest.mark.parametrize(
    ("parts", "status"),
    [
        ([REQUEST[:-2] + b"x-long: ", b"a" * 500, b"a" * 500], b" 431 "),
        ([REQUEST[:-2] + b"x-long: ", b"a" * 500, b"\r\n\r\n"], b" 200 "),
        ([b"POST" + REQUEST[3:-2] + b"content-length: 2000\r\n\r\n", b"a" * 1_000, b"a" * 1_000], b" 200 "),
    ],
    ids=["long head", "head below the limit", "long body of a response that is complete"],
)
def test_head_above_its_limit_is_refused(parts, status):
    async def application(scope, receive, send):
        await send(start((b"content-length", b"2")))
        await send(body(b"ok"))

    async def run():
        config = uvicorn.Config(application, log_config=None, lifespan="off")
        state = ServerState()
        kind = type("Short", (limited_protocol(20.0),), {"head_bytes": 900})
        protocol, transport = kind(config=config, server_state=state, app_state={}), Transport()
        protocol.connection_made(transport)
        for part in parts:
            protocol.data_received(part)
            await asyncio.gather(*state.tasks)
        protocol.connection_lost(None)
        return transport

    transport = asyncio.run(run())
    assert status in transport.writes[0]
    assert len(transport.writes) == 1
    assert status == b" 200 " or transport.has_ended


class Connection:
    """A connection that may be lost."""

    def __init__(self, *, is_lost=False):
        self.is_lost = is_lost
        self.on_lost = None


@pytest.mark.parametrize("is_lost", [True, False], ids=["before the call", "during the call"])
def test_lost_connection_cancels_the_call(is_lost):
    async def run():
        connection = Connection(is_lost=is_lost)
        out = StreamOut(None, None)
        if not is_lost:
            asyncio.get_running_loop().call_soon(lambda: connection.on_lost())
        with pytest.raises(asyncio.CancelledError), ClientWatch({CONNECTION: connection}, None, out, None, 10):
            await asyncio.Event().wait()
        return out.is_disconnected, connection.on_lost

    assert asyncio.run(run()) == (True, None)


def test_watch_leaves_no_reference_cycle():
    async def run():
        out = StreamOut(None, None)
        with ClientWatch({CONNECTION: Connection()}, None, out, None, 10):
            pass
        return weakref.ref(out)

    gc.disable()
    try:
        assert asyncio.run(run())() is None
    finally:
        gc.enable()


def test_end_of_an_earlier_watch_leaves_the_next_one_in_place():
    async def run():
        connection = Connection()
        first, second = (ClientWatch({CONNECTION: connection}, None, StreamOut(None, None), None, 10) for _ in "12")
        first.__enter__()
        second.__enter__()
        first.__exit__()
        is_watched = connection.on_lost is not None
        second.__exit__()
        return is_watched, connection.on_lost

    assert asyncio.run(run()) == (True, None)


def test_first_chunk_of_a_stream_comes_before_the_rest_of_another_one():
    async def run():
        sent = []

        async def stream(number):
            body = {"model": "scripted/m", "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
            received = [{"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}]

            async def receive():
                return received.pop() if received else await asyncio.Event().wait()

            async def send(message):
                if message["type"] == "http.response.body":
                    sent.append((number, message["more_body"]))

            scope = {"type": "http", "method": "POST", "path": "/v1/chat/completions", "headers": []}
            await app(scope, receive, send)

        script = scripted_provider([Reply("One"), Reply("Two")])
        async with make_deck(script, model="scripted/m", config={"events": {"sinks": ["gateway"]}}) as deck:
            app = Gateway(deck).app
            await asyncio.gather(stream(1), stream(2))
        return sent

    sent = asyncio.run(run())
    assert sorted(sent[:2]) == [(1, True), (2, True)]
    assert sorted(sent[-2:]) == [(1, False), (2, False)]


class Events:
    """Writes events, and is the work of a call that has answered."""

    opening = SimpleNamespace(model="")
    content_type = b"text/event-stream"
    ping = b"ping "

    def start(self):
        return b"start "

    def shown_model(self):
        return "m"

    def response_headers(self):
        return {}


def test_keep_alive_that_opens_a_stream_leaves_its_start_before_the_first_text():
    async def run():
        sent = []

        async def send(message):
            await asyncio.sleep(0)  # as servers do that switch to another task
            sent.append(message.get("body", b""))

        out = StreamOut(send, Events())

        async def stream():
            await out.open(Events())
            await out.send(b"text ")

        await asyncio.gather(out.ping(Events()), stream())
        return b"".join(sent)

    assert asyncio.run(run()).startswith(b"start ")
