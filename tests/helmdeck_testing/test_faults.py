"""A call over a failing connection ends with its cause, at whatever stage, and leaves nothing open."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from helmdeck_core import CallFailed, ChatRequest, FailureClass, Message, Role, TextPart
from helmdeck_testing import ANTHROPIC, OLLAMA, OPENAI_CHAT, Fault, FaultKind, failing_server, faulty_proxy, make_deck

pytestmark = pytest.mark.usefixtures("transport", "loop_lag")

DEADLINE_S = 0.5

HEAD_ENDS = b"\r\n\r\n"
STAGES = {
    "connect": {"after": None},
    "headers": {"after": 20},
    "body": {"behind": HEAD_ENDS, "after": 0},
    "within the body": {"behind": HEAD_ENDS, "after": 40},
}
CAUSES = {
    FaultKind.RESET: FailureClass.PROVIDER_UNAVAILABLE,
    FaultKind.CUT: FailureClass.PROVIDER_UNAVAILABLE,
    FaultKind.STALL: FailureClass.LIKELY_TIMEOUT,
    FaultKind.DRIP: FailureClass.LIKELY_TIMEOUT,
}
WIRES = {"vllm": OPENAI_CHAT, "anthropic": ANTHROPIC, "ollama": OLLAMA}


def deck_at(base_url, name, deadline_s=30.0):
    settings = {"base_url": base_url, "api_key": "env:ANY_KEY"}
    return make_deck(config={"providers": {name: settings}, "recovery": {"max_attempts": 1, "deadline_s": deadline_s}})


def request(name, **fields):
    return ChatRequest(model=f"{name}/any", messages=(Message(Role.USER, (TextPart("say hello"),)),), **fields)


async def ask(deck, name, streams):
    if not streams:
        return await deck.acomplete(request(name))
    return [item async for item in deck.astream(request(name))][-1]


PLACES = [
    *(("vllm", stage, streams) for stage in STAGES for streams in (False, True)),
    ("anthropic", "within the body", True),
    ("ollama", "body", True),
]


async def outcome(server, name, fault, streams):
    """How a call ends; its connection is closed."""
    async with faulty_proxy(server.base_url, fault) as proxy:
        # A connection that ends does so by itself, however busy this machine is.
        waits = fault.harm in (FaultKind.STALL, FaultKind.DRIP)
        async with deck_at(proxy.base_url, name, DEADLINE_S if waits else 20.0) as deck:
            with pytest.raises(CallFailed) as caught:
                await ask(deck, name, streams)
        await until(lambda: proxy.open == 0)
    return caught.value.failure_class


async def until(holds):
    """Give the loop its turns until something holds."""
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110  # it is about what others do
            await asyncio.sleep(0)


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("ANY_KEY", "sk-0123456789")


@pytest.mark.parametrize("harm", CAUSES)
def test_a_broken_connection_is_a_failure_with_a_cause_at_every_stage_and_leaves_no_task(harm):
    async def run():
        calls = [outcome(servers[name], name, Fault(harm, **STAGES[stage]), streams) for name, stage, streams in PLACES]
        outcomes = await asyncio.gather(*calls)
        await until(lambda: asyncio.all_tasks() == {asyncio.current_task()})
        return outcomes

    text = "a text that is long enough to be truncated anywhere " * 5
    with contextlib.ExitStack() as stack:
        servers = {name: stack.enter_context(failing_server(wire, text=text)) for name, wire in WIRES.items()}
        outcomes = asyncio.run(run())
    assert dict(zip(PLACES, outcomes, strict=True)) == dict.fromkeys(PLACES, CAUSES[harm])


def test_a_proxy_without_faults_changes_nothing_and_forwards_each_chunk_at_once():
    async def run(server):
        async with faulty_proxy(server.base_url) as proxy, deck_at(proxy.base_url, "vllm") as deck:
            assert (await ask(deck, "vllm", False)).text == (await ask(deck, "vllm", True)).text == server.text
            assert proxy.open == 1, "the connection is kept"

    with failing_server(OPENAI_CHAT, text="hello") as server:
        asyncio.run(run(server))


def test_a_cancelled_call_closes_its_connection():
    async def run(server):
        fault = Fault(FaultKind.STALL, behind=HEAD_ENDS)
        async with faulty_proxy(server.base_url, fault) as proxy, deck_at(proxy.base_url, "vllm") as deck:
            call = asyncio.create_task(ask(deck, "vllm", True))
            await until(lambda: proxy.open == 1)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await until(lambda: proxy.open == 0)

    with failing_server(OPENAI_CHAT) as server:
        asyncio.run(run(server))
