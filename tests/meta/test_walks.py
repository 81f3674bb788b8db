"""The walks of ``docs/explanation.md``: each request passes the functions that its picture lists, in this order."""

import asyncio
import contextlib
import io
import json
import re
import sys
import threading
from pathlib import Path

import pytest

from helmdeck_core.cli import main
from helmdeck_gateway import Gateway
from helmdeck_testing import make_deck
from tests.helmdeck_gateway.gateway_support import AppRequest
from tests.helmdeck_runs.pipelines_support import CHAIN, deck_of

PAGE = Path(__file__).parents[2] / "docs" / "explanation.md"
SECTION = "## Four requests, step by step"
PLAN = {"steps": [{"order": 1, "tool": "blog.draft", "args": {"brief": "tides"}, "rationale": "fits"}]}
SCRIPTED = {"model": "scripted/m", "providers": {"scripted": {"options": {"replies": [json.dumps(PLAN)] * 2}}}}


class Passed:
    """The functions of the project in the order of their first calls, in all threads that start meanwhile."""

    def __init__(self):
        self.functions = []
        self._known = set()

    @contextlib.contextmanager
    def recorded(self):
        before = sys.getprofile()
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(before)
            threading.setprofile(None)

    def _note(self, frame, event, _):
        code = frame.f_code
        if event == "call" and code not in self._known:
            self._known.add(code)
            module = frame.f_globals.get("__name__", "")
            if module.startswith("helmdeck_"):
                self.functions.append(f"{module}.{code.co_qualname}")


def ask_from_the_shell(passed, tmp_path):
    (tmp_path / "helmdeck.toml").write_text(
        'model = "scripted/m"\n[providers.scripted.options]\nreplies = ["At ten."]\n'
    )
    with contextlib.chdir(tmp_path), passed.recorded():
        assert main(["ask", "When is high tide?"]) == 0


def plan_from_python(passed, _):
    async def plan():
        async with make_deck(config=SCRIPTED) as deck:
            with passed.recorded():
                assert (await deck.aplan("draft a blog post about tides")).steps

    asyncio.run(plan())


def streamed_chat_through_the_gateway(passed, _):
    body = {"model": "scripted/m", "stream": True, "messages": [{"role": "user", "content": "hello"}]}

    async def send():
        async with make_deck(config=SCRIPTED) as deck:
            gateway = Gateway(deck)
            with passed.recorded():
                sent = await AppRequest(gateway.app, "/v1/chat/completions", body).sent()
            assert sent.raw.endswith(b"data: [DONE]\n\n")

    asyncio.run(send())


def step_of_a_run(passed, _):
    async def run():
        async with deck_of({"chain": CHAIN}) as deck:
            with passed.recorded():
                assert (await deck.arun("chain", {"x": 1}))["outputs"]["text"] == "SUM: 5"

    asyncio.run(run())


REQUESTS = {
    "`ask` from the shell": ask_from_the_shell,
    "`plan` from Python": plan_from_python,
    "A streamed chat through the gateway": streamed_chat_through_the_gateway,
    "A step of a run": step_of_a_run,
}


def walks():
    """The functions of each picture by its heading."""
    section = PAGE.read_text(encoding="utf-8").partition(f"{SECTION}\n")[2].partition("\n## ")[0]
    parts = re.split(r"^### (.+)$", section, flags=re.MULTILINE)[1:]
    return {
        heading: re.findall(r"^ *(helmdeck_[\w.]+)", text, re.MULTILINE)
        for heading, text in zip(parts[::2], parts[1::2], strict=True)
    }


def test_every_walk_is_tried():
    assert list(walks()) == list(REQUESTS)
    assert all(len(functions) >= 8 for functions in walks().values())


@pytest.mark.parametrize("heading", list(REQUESTS))
def test_request_passes_the_functions_of_its_walk_in_this_order(heading, tmp_path, monkeypatch):
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    passed = Passed()
    REQUESTS[heading](passed, tmp_path)
    position = 0
    for function in walks()[heading]:
        assert function in passed.functions, f"{function} is not called"
        found = passed.functions.index(function)
        assert found >= position, f"{function} is called earlier than the lines above it"
        position = found
