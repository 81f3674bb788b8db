"""Two upstreams, one of which fails: every call is answered completely, soon, once, and at little cost."""

from __future__ import annotations

import asyncio

import pytest

from benchmarks.faults.cases import CASES, FIRST_KEY, SECOND_KEY
from benchmarks.faults.replies import IN_MID_STREAM
from benchmarks.faults.upstream import ANSWER, Upstream
from helmdeck_core import CallFailed, ChatRequest, Message, Role, TextPart
from helmdeck_testing import make_deck
from tests.unknown_host_support import unknown_host as unknown_host

LIMIT_S = 30.0
USED_AGAIN_S = 10.0


def deck_at(primary, fallback, *, is_native=False, keys=(), case=CASES["none"]):
    """A deck with default settings and one fallback."""
    first = "vllm" if is_native else "primary"
    providers = {
        first: {"kind": "vllm" if is_native else "openai", "base_url": case.base_url(primary.base_url)},
        "backup": {"kind": "openai", "base_url": fallback.base_url},
    }
    if keys:
        providers[first]["api_keys"] = [f"env:{key}" for key in keys]
        providers[first]["routing"] = "in-order"  # the one that fails is first
    chain = {"": ["backup/m"]} if case.fallback else {}
    return make_deck(config={"providers": providers, "fallback": chain}), f"{first}/m"


async def ask(deck, model, streams, size=0):
    """The response, and the text that a reader of the stream saw."""
    text = "When is the tide?" + " " * size
    request = ChatRequest(model=model, messages=(Message(Role.USER, (TextPart(text),)),))
    if not streams:
        response = await deck.acomplete(request)
        return response, response.text
    shown = []
    async for item in deck.astream(request):
        shown.append(item)
    return shown[-1], "".join(each.text for each in shown[:-1])


@pytest.mark.usefixtures("unknown_host")
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", CASES)
def test_call_is_answered_completely_in_time_without_repetition(virtual_time_with_sockets, name, streams, monkeypatch):
    case = CASES[name]
    keys = {"KEY_ONE": FIRST_KEY, "KEY_TWO": SECOND_KEY} if case.key_fault else {}
    for variable, key in keys.items():
        monkeypatch.setenv(variable, key)

    async def run():
        status = case.prefill_status or 200
        bad = {FIRST_KEY: case.key_fault} if case.key_fault else {}
        async with (
            Upstream(case.primary, prefill_status=status, key_faults=bad) as one,
            Upstream(case.fallback or ("good",)) as two,
        ):
            deck, model = deck_at(one, two, is_native=case.prefill_status is not None, keys=keys, case=case)
            async with deck:
                if not case.is_answered:
                    with pytest.raises(CallFailed):
                        await ask(deck, model, streams)
                else:
                    for _ in range(case.calls):
                        response, shown = await ask(deck, model, streams, case.size)
                        assert (response.text, shown, response.is_complete) == (ANSWER, ANSWER, True)
                    assert not case.is_home or not two.requests
                    assert one.first_pause_s >= case.least_s
                    assert not case.key_fault or (not two.requests and len(response.attempts) == 1)
                    if set(case.primary) & set(IN_MID_STREAM) - {"stalled after each chunk"}:
                        parts = response.continuation.parts
                        assert sum(parts) == len(ANSWER) and len(response.continuation.models) == len(parts) > 1
            assert len(one.requests) + len(two.requests) <= 1 + case.extra

    asyncio.run(run())
    assert virtual_time_with_sockets.passed_s <= LIMIT_S


@pytest.mark.parametrize("fault", ["503", "silent", "reset"])
def test_primary_is_used_again_soon_after_its_recovery(virtual_time_with_sockets, fault):
    clock = virtual_time_with_sockets

    async def run():
        async with Upstream([fault]) as one, Upstream() as two:
            deck, model = deck_at(one, two)
            async with deck:
                for _ in range(6):
                    assert (await ask(deck, model, True))[1] == ANSWER
                asked = len(one.requests)
                assert asked < 6 + (6 if fault == "reset" else 0), "its circuit opened"
                one.faults = ["good"]
                recovered_s = clock()
                while len(one.requests) == asked:
                    assert (await ask(deck, model, True))[1] == ANSWER
                    await asyncio.sleep(0.5)
                assert clock() - recovered_s <= USED_AGAIN_S
                assert (await ask(deck, model, True))[0].attempts[-1].model == model

    asyncio.run(run())
