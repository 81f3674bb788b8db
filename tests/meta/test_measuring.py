"""The measuring tools of the tests: counted work separates linear from quadratic, and virtual time passes at once."""

from __future__ import annotations

import asyncio
import sys
import types

import pytest

from helmdeck_core import ChatRequest, Message, Role, TextPart
from helmdeck_testing import Reply, make_deck, scripted_provider
from tests.work_support import WorkCounter

MODULE = """
import re

WORD = re.compile("[a-z]+")
CLOSE = re.compile("end")

def words(text):
    return [match.group() for match in WORD.finditer(text)]

def search_the_rest_for_each_word(text):
    return [CLOSE.search(text, match.start()) for match in WORD.finditer(text)]

def compile_and_search(text):
    close = re.compile("end")
    return [close.search(text, start) for start in range(len(text) // 3)]

def compare_all(text):
    found = words(text)
    return [one.startswith(other) for one in found for other in found]
"""


@pytest.fixture
def counted(monkeypatch):
    """A module of the project's whose work is counted, and the counter."""
    module = types.ModuleType("helmdeck_core.measured")
    exec(MODULE, vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module, WorkCounter(monkeypatch)


def test_linear_work_is_accepted(counted):
    module, counter = counted
    counter.assert_linear(lambda count: module.words("ab " * count), 100)


@pytest.mark.parametrize("function", ["search_the_rest_for_each_word", "compile_and_search", "compare_all"])
def test_quadratic_work_is_refused(counted, function):
    module, counter = counted
    with pytest.raises(AssertionError, match="Work"):
        counter.assert_linear(lambda count: getattr(module, function)("ab " * count), 100)


def test_counts_are_the_same_in_every_run(counted):
    module, counter = counted
    assert len({counter.work(lambda: module.compare_all("ab " * 50)) for _ in range(3)}) == 1


def test_virtual_time_passes_at_once_in_every_loop(virtual_time):
    asyncio.run(asyncio.sleep(3_600))
    assert virtual_time.passed_s == pytest.approx(3_600)
    with make_deck(scripted_provider([Reply("hi", delay_s=100.0)], "a"), model="a/one") as deck:
        request = ChatRequest(model="a/one", messages=(Message(Role.USER, (TextPart("hi"),)),))
        assert deck.complete(request).latency_s == pytest.approx(100.0)
    assert virtual_time.passed_s == pytest.approx(3_700)
