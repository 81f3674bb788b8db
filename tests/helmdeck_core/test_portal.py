"""Waiting for coroutines: exits, forks, closings and calls from inside are reported, and no caller waits for ever."""

import asyncio
import os
import threading
import traceback

import pytest

from helmdeck_core import AuthFailed, Cancelled, Helmdeck, Pack, PackError, PluginError, hookimpl
from helmdeck_core.deck.portal import Portal
from helmdeck_testing import StubProvider

GOOD = '{"steps":[{"tool":"blog.draft","args":{"brief":"b"}}]}'
ASK = "draft a blog post"


async def value(result):
    return result


def test_a_result_and_an_exception_come_back():
    portal = Portal()

    async def fail():
        raise KeyError("x")

    assert portal.run(value(3)) == 3
    with pytest.raises(KeyError):
        portal.run(fail())
    portal.close()


def test_a_traceback_leads_from_the_caller_to_the_message_without_the_machine_between():
    with Helmdeck(model="openai/gpt-4.1-mini") as deck, pytest.raises(AuthFailed) as raised:
        deck.ask("hello")
    frames = [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)]
    assert frames[1:] == ["ask", "run"]


@pytest.mark.parametrize("stop", [SystemExit(3), KeyboardInterrupt()])
def test_an_exit_reaches_the_caller_and_the_next_call_works(stop):
    portal = Portal()

    async def leave():
        raise stop

    with pytest.raises(type(stop)):
        portal.run(leave())
    assert portal.run(value("still here")) == "still here"
    portal.close()


def test_closing_cancels_what_another_thread_waits_for():
    portal, started, ended = Portal(), threading.Event(), []

    async def never():
        started.set()
        await asyncio.Event().wait()

    def wait():
        with pytest.raises(Cancelled, match="closed"):
            portal.run(never())
        ended.append(True)

    thread = threading.Thread(target=wait)
    thread.start()
    assert started.wait(60)
    portal.close()
    thread.join(60)
    assert ended == [True]
    assert portal.run(value(1)) == 1, "a closed portal starts again"
    portal.close()


def test_many_threads_and_closings_leave_no_caller_waiting():
    portal, done = Portal(), []

    def call():
        for number in range(50):
            try:
                done.append(portal.run(value(number)))
            except Cancelled:
                done.append(None)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        portal.close()
    for thread in threads:
        thread.join(60)
    portal.close()
    assert len(done) == 200


def test_a_call_from_inside_says_what_to_do_instead_of_waiting_for_itself(answering):
    class Nested:
        @hookimpl
        def helmdeck_packs(self):
            async def run(context, value):
                return deck.plan(ASK).to_dict()

            return [Pack(name="acme.nested", version="1", description="Nested.", run=run)]

    deck, _ = answering(GOOD, beside=(Nested(),))
    with pytest.raises(PackError, match="RuntimeError: this would wait for itself"):
        deck.run("acme.nested", {})


def test_a_forked_child_still_works(answering):
    deck, _ = answering(GOOD)
    deck.plan(ASK, model="fake/x")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if deck.plan(ASK, model="fake/x").steps else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_pools_of_closed_loops_do_not_pile_up(answering):
    deck, _ = answering(GOOD)
    for _ in range(20):
        asyncio.run(deck.aplan(ASK, model="fake/x"))
    assert len(deck._engine.pool._open) <= 2


def test_an_exit_in_a_provider_is_a_fault_of_its_plugin(answering):
    deck, _ = answering(SystemExit(0))
    for _ in range(2):
        with pytest.raises(PluginError, match="'answering-1'.*SystemExit"):
            deck.plan(ASK, model="fake/x")


def test_a_provider_that_cannot_be_closed_is_named_and_the_others_are_closed(answering):
    deck, _ = answering(GOOD)
    closed = []

    class Stubborn(StubProvider):
        async def aclose(self):
            closed.append(True)
            raise OSError("socket gone")

    async def run():
        for name in ("fake", "openai"):
            await deck.aplan(ASK, model=f"{name}/x")
        pools = next(iter(deck._engine.pool._open.values()))
        pools["fake"] = pools["openai"] = Stubborn(GOOD)
        with pytest.raises(PluginError, match="provider '(fake|openai)' cannot be closed: OSError: socket gone"):
            await deck.aclose()

    asyncio.run(run())
    assert closed == [True, True]
