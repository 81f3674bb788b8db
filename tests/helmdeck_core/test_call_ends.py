"""A call that its caller, deadline, loop or network ends has a cause and leaves nothing open."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import math
import os
import socket
import threading
import warnings

import pytest

from helmdeck_core import CallFailed, CallLimits, Cancelled, ConfigError, Helmdeck, LikelyTimeout, ProviderUnavailable
from helmdeck_core.config.types import Config, ProviderConfig, RecoveryConfig
from helmdeck_testing import OPENAI_CHAT, Fault, FaultKind, ScriptedAnswer, failing_server, faulty_proxy, make_deck
from helmdeck_testing.byte_server import ServedConnection
from tests.adapters_support import ADAPTERS, KEYS, PLUGINS, ask, request
from tests.helmdeck_providers.http_support import Server, Step, chunked, http, saying, tasks_left, until

pytestmark = pytest.mark.usefixtures("only_new_objects")

DEADLINE_S = 0.1
TEXT = "a text that is long enough to be truncated anywhere " * 5


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


def deck_at(url, adapter=ADAPTERS["chat"], **recovery):
    provider = {"kind": adapter.kind, "base_url": url, **adapter.settings}
    recovery = {"max_attempts": 1, "deadline_s": DEADLINE_S, **recovery}
    return make_deck(*PLUGINS, config={"providers": {"p": provider}, "recovery": recovery})


@contextlib.contextmanager
def no_warnings():
    """Look that nothing was left that should have been closed or awaited."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        yield
        gc.collect()
    assert [str(each.message) for each in warned] == []


@contextlib.contextmanager
def nothing_left():
    """Look that no more files are open afterwards, either."""
    gc.collect()
    files = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    with no_warnings():
        yield
    assert len(os.listdir("/proc/self/fd")) == files  # noqa: PTH208


def failure_of(act):
    """The failure of a coroutine that receives nothing; no task is left behind."""

    async def run():
        unhandled = []
        asyncio.get_running_loop().set_exception_handler(lambda _, told: unhandled.append(told))
        with pytest.raises(CallFailed) as caught:
            await act()
        await asyncio.sleep(0)
        assert tasks_left() == [] and unhandled == []
        return caught.value

    with nothing_left():
        return asyncio.run(run())


# -- before there is an answer ----------------------------------------------------------------------------------


@contextlib.contextmanager
def refusing():
    """A port without a listener."""
    with socket.socket() as plug:
        plug.bind(("127.0.0.1", 0))
        yield plug.getsockname()[1]


@contextlib.contextmanager
def never_accepting():
    """A port whose connections come about, and whose server looks at none."""
    with socket.socket() as plug:
        plug.bind(("127.0.0.1", 0))
        plug.listen(8)
        yield plug.getsockname()[1]


@contextlib.contextmanager
def full():
    """A port with a full backlog, so that the next connection receives nothing."""
    with socket.socket() as plug, contextlib.ExitStack() as stack:
        plug.bind(("127.0.0.1", 0))
        plug.listen(0)
        for _ in range(3):
            other = stack.enter_context(socket.socket())
            other.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                other.connect(plug.getsockname())
        yield plug.getsockname()[1]


def test_unreachable_server_fails_within_the_deadline():
    large = "hello" * 2_000_000
    table = [
        (refusing, "http", "hello", ProviderUnavailable),
        (refusing, "https", "hello", ProviderUnavailable),
        (full, "http", "hello", LikelyTimeout),
        (never_accepting, "http", "hello", LikelyTimeout),
        (never_accepting, "http", large, LikelyTimeout),
        (never_accepting, "https", "hello", LikelyTimeout),
    ]

    async def run():
        with contextlib.ExitStack() as stack:
            for streams in (False, True):
                for port, scheme, text, expected in table:
                    url = f"{scheme}://127.0.0.1:{stack.enter_context(port())}"
                    deadline_s = DEADLINE_S if expected is LikelyTimeout else 20.0
                    async with deck_at(url, deadline_s=deadline_s) as deck:
                        with pytest.raises(CallFailed) as caught:
                            await ask(deck, "p/any", streams, text=text)
                    assert type(caught.value) is expected, (port.__name__, scheme, streams)
                    await asyncio.sleep(0)
                    assert tasks_left() == []

    with nothing_left():
        asyncio.run(run())


@pytest.mark.parametrize(
    "payload",
    [
        b"garbage " * 20,
        b"\x15\x03\x01\x00\x02\x02\x28",
        b"\x16\x03\x03\x00\x05hello",
        b"\x16\x03\x03\xff\xff" + bytes(70_000),
        b"",
    ],
)
def test_failed_tls_handshake_is_provider_unavailable(payload):
    async def act():
        class Babbling(ServedConnection):
            def connection_made(self, transport):
                super().connection_made(transport)
                transport.close() if not payload else None

        async with Server(b"", greeting=payload) as server:
            server.protocol = Babbling
            async with deck_at(f"https://127.0.0.1:{server.port}", deadline_s=20) as deck:
                await ask(deck, "p/any", False)

    failure = failure_of(act)
    assert (type(failure), failure.sub_cause) == (ProviderUnavailable, "unreachable")


@pytest.mark.parametrize("ending", ["abort", "close"])
def test_server_that_disconnects_during_a_large_request_is_unavailable(ending):
    async def act():
        class Leaving(ServedConnection):
            def data_received(self, data):
                getattr(self.transport, ending)()

        async with Server(b"") as server:
            server.protocol = Leaving
            async with deck_at(f"http://127.0.0.1:{server.port}", deadline_s=10) as deck:
                await ask(deck, "p/any", False, text="hello" * 2_000_000)

    assert type(failure_of(act)) is ProviderUnavailable


# -- deadlines --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["whole", "streamed", "planned"])
def test_expired_deadline_ends_the_call_at_once(way):
    async def call(deck, limits):
        if way == "planned":
            await deck.aplan("draft a blog post", model="p/any", limits=limits)
        elif way == "whole":
            await deck.acomplete(request("p/any"), limits=limits)
        else:
            async for _ in deck.astream(request("p/any"), limits=limits):
                pass

    async def run():
        async with Server(saying(Step.STALL)) as server, deck_at(f"http://127.0.0.1:{server.port}") as deck:
            for deadline_s in (0, -0.0, -1, -math.inf, 5e-324, 1e-9, 1e-3):
                with pytest.raises(LikelyTimeout):
                    await call(deck, CallLimits(deadline_s=deadline_s))
                await asyncio.sleep(0)
                await until(lambda: len(server.gone) == len(server.connections))

    with nothing_left():
        asyncio.run(run())


@pytest.mark.parametrize("value", [math.nan, "1", True])
def test_limit_that_is_not_a_number_is_rejected(value):
    for name in ("deadline_s", "max_cost_usd"):
        with pytest.raises(ValueError, match=f"Limits.{name}: not a number, found {value!r}"):
            CallLimits(**{name: value})


@pytest.mark.parametrize("value", [math.nan, -1.0])
def test_invalid_time_in_a_configuration_object_is_a_mistake(value):
    recovery = RecoveryConfig(deadline_s=value, max_wait_s=value)
    with pytest.raises(ConfigError) as caught:
        Helmdeck(Config(providers={"openai": ProviderConfig(timeout_s=value)}, recovery=recovery))
    assert {mistake.where for mistake in caught.value.mistakes} == {
        "providers.openai.timeout_s",
        "recovery.deadline_s",
        "recovery.max_wait_s",
    }


# -- callers who go away ----------------------------------------------------------------------------------------


def piecewise(payload):
    """Send a byte string in chunks, one in each turn of the event loop."""

    def act(connection, start=0):
        connection.transport.write(payload[start : start + 40])
        if start + 40 < len(payload) and not connection.transport.is_closing():
            asyncio.get_running_loop().call_soon(act, connection, start + 40)

    return act


@pytest.mark.parametrize("name", ["chat", "bedrock"])
@pytest.mark.parametrize("streams", [False, True])
def test_call_can_be_cancelled_at_every_loop_iteration(name, streams):
    adapter, payload = ADAPTERS[name], ScriptedAnswer(text="a text of some pieces")
    body = (
        b"".join(adapter.server_format.events(payload))
        if streams
        else json.dumps(adapter.server_format.whole(payload)).encode()
    )
    kind = {"content_type": adapter.server_format.content_type if streams else "application/json"}
    ended = set()

    async def run():
        async with Server(piecewise(chunked(body, **kind))) as server:
            async with deck_at(f"http://127.0.0.1:{server.port}", adapter, deadline_s=30) as deck:
                turns = 0
                while "ChatResponse" not in ended and turns < 1_000:
                    call = asyncio.create_task(ask(deck, "p/any", streams))
                    for _ in range(turns):
                        await asyncio.sleep(0)
                    call.cancel()
                    ended.add(type((await asyncio.gather(call, return_exceptions=True))[0]).__name__)
                    await until(lambda: len(server.connections) - len(server.gone) <= 1)  # one may wait for the next
                    turns += 1
                assert (await ask(deck, "p/any", streams)).text == payload.text, "it still works"
            await until(lambda: len(server.gone) == len(server.connections))
        assert tasks_left() == []

    with nothing_left():
        asyncio.run(run())
    assert ended == {"CancelledError", "ChatResponse"}


# -- loops and threads --------------------------------------------------------------------------------------------


def test_unclosed_deck_keeps_no_provider_open_after_its_loop_ended():
    with failing_server(OPENAI_CHAT, text=TEXT) as server:
        deck = deck_at(server.base_url, deadline_s=30)
        for number in range(4):
            with no_warnings():
                asyncio.run(ask(deck, "p/any", bool(number % 2)))
            assert deck._engine.pool._open == deck._engine.pool._closers == {}
        assert server.connections == 4


def test_abandoned_stream_closes_its_connection_when_the_loop_ends():
    async def begin(deck):
        pieces = deck.astream(request("p/any"))
        await anext(pieces)
        return pieces

    with failing_server(OPENAI_CHAT, "slow_think") as server, no_warnings():
        left = asyncio.run(begin(deck_at(server.base_url, deadline_s=30)))
        with pytest.raises(StopAsyncIteration):
            asyncio.run(anext(left))
        del left
        assert server.dropped.wait(60)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("good", None),
        ("unavailable", ProviderUnavailable),
        ("cut_body", ProviderUnavailable),
        ("slow_think", LikelyTimeout),
    ],
)
def test_concurrent_threads_get_their_own_results(mode, expected):
    ends = []

    def call(deck, number):
        try:
            response = list(deck.stream(request("p/any")))[-1] if number % 2 else deck.complete(request("p/any"))
            ends.append(response.text == TEXT and None)
        except CallFailed as exc:
            ends.append(type(exc))

    deadline_s = 0.3 if expected is LikelyTimeout else 60.0
    with (
        failing_server(OPENAI_CHAT, mode, text=TEXT) as server,
        deck_at(server.base_url, deadline_s=deadline_s) as deck,
    ):
        threads = [threading.Thread(target=call, args=(deck, number)) for number in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert ends == [expected] * 24


def test_closing_a_deck_ends_running_calls_without_new_connections():
    ends = []

    def call(deck):
        try:
            deck.complete(request("p/any"))
        except CallFailed as exc:
            ends.append(type(exc))

    has_arrived = threading.Semaphore(0)
    with failing_server(OPENAI_CHAT, lambda request: has_arrived.release() or "slow_think") as server:
        deck = deck_at(server.base_url, deadline_s=60, max_attempts=5, backoff_s=0)
        threads = [threading.Thread(target=call, args=(deck,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(4):
            assert has_arrived.acquire(timeout=60)
        deck.close()
        for thread in threads:
            thread.join(60)
        assert ends == [Cancelled] * 4
        assert server.connections == 4


# -- many at once -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        Fault(FaultKind.RESET, behind=b"\r\n\r\n", after=40),
        Fault(FaultKind.CUT, after=None),
        Fault(FaultKind.STALL, behind=b"\r\n\r\n"),
        Fault(FaultKind.DRIP, after=20),
    ],
    ids=lambda fault: fault.harm.value,
)
def test_64_concurrent_calls_over_a_bad_network_end_without_leaks(fault):
    async def run(server):
        async def call(deck, number):
            with pytest.raises(CallFailed):
                await ask(deck, "p/any", bool(number % 2))

        async with faulty_proxy(server.base_url, fault) as proxy:
            async with deck_at(proxy.base_url, deadline_s=0.4, max_attempts=3, backoff_s=0.01) as deck:
                await asyncio.gather(*(call(deck, number) for number in range(64)))
            await until(lambda: proxy.open == 0)
        assert tasks_left() == []

    with failing_server(OPENAI_CHAT, text=TEXT) as server:
        asyncio.run(run(server))


def test_idle_connection_closed_by_the_server_does_not_fail_a_call():
    async def run():
        answer = json.dumps(OPENAI_CHAT.whole(ScriptedAnswer(text="hello"))).encode()
        server = Server(saying(http(answer), Step.KEEP))
        watched = asyncio.get_running_loop()._selector.get_map()
        async with server, deck_at(f"http://127.0.0.1:{server.port}", deadline_s=60) as deck:
            unconnected = len(watched)
            for number in range(1, 4):
                assert (await ask(deck, "p/any", False)).text == "hello"
                for connection in server.connections:
                    connection.transport.close()
                # Both sides have noticed: the loop watches the server's socket only.
                await until(lambda number=number: len(server.gone) == number and len(watched) == unconnected)

    with nothing_left():
        asyncio.run(run())
