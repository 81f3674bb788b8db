"""The connections of an unclosed deck end with their event loop, without warnings."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import os
import subprocess
import sys
import threading

from helmdeck_core.deck.portal import Portal
from helmdeck_testing import completion
from tests.cli_support import environment

PLAN = '{"steps": [{"tool": "blog.draft", "args": {"brief": "tea"}}]}'
HEAD = """
import asyncio, gc, sys
from helmdeck_core import Helmdeck

def new_deck():
    overrides = {("providers", "vllm", "base_url"): sys.argv[1]}
    return Helmdeck(autoload=False, environ={}, overrides=overrides, model="vllm/fast")

async def ask(deck):
    print(len((await deck.aplan("draft a blog post")).steps))
"""
PROGRAM = """
deck = new_deck()  # two consecutive event loops
asyncio.run(ask(deck))
asyncio.run(ask(deck))
print(len(new_deck().plan("draft a blog post").steps))  # garbage-collected
gc.collect()
asyncio.run(ask(new_deck()))
other = new_deck()  # a synchronous call
print(len(other.plan("draft a blog post").steps))
"""


def test_unclosed_decks_cause_no_warning(chat_server):
    server = chat_server(lambda body: completion(PLAN))
    command = [sys.executable, "-c", HEAD + PROGRAM, server.base_url]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60)
    assert (done.stdout.split(), done.stderr) == (["1"] * 5, "")


async def open_generator(ended):
    async def generate():
        try:
            yield
        finally:
            ended.set()

    generator = generate()
    await anext(generator)
    return generator


def test_garbage_collected_portal_closes_its_async_generators():
    ended = threading.Event()
    portal = Portal()
    generator = portal.run(open_generator(ended))
    assert not ended.is_set()
    del portal
    gc.collect()
    assert ended.wait(60)
    del generator


def test_forked_child_does_not_wait_for_the_portal_thread_of_its_parent(monkeypatch):
    portal = Portal()
    portal.run(asyncio.sleep(0))
    gc.collect()  # portals of other tests are not part of this one
    waits = []
    monkeypatch.setattr(concurrent.futures.Future, "result", lambda *_: waits.append("result"))
    monkeypatch.setattr(threading.Thread, "join", lambda *_: waits.append("join"))
    child = os.fork()
    if child == 0:
        before = len(waits)  # threads of the parent may have waited
        del portal
        gc.collect()
        os._exit(len(waits) - before)
    monkeypatch.undo()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    portal.close()
