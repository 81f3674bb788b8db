"""Growth of work, counted: function calls and characters searched, which are the same on every machine."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

PACKAGES = ("helmdeck_core", "helmdeck_providers", "helmdeck_provider_bedrock")


class Work(NamedTuple):
    """Work of one run.

    :ivar calls: calls of functions, of Python and of C.
    :ivar characters: characters that regular expressions searched. A failed ``match`` counts as none, so that this is the least.
    """

    calls: int
    characters: int


class WorkCounter:
    """Counts the work of the project's functions. What holds compiled patterns must be made while it is installed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._calls = 0
        self._characters = 0
        counting_re = _CountingRe(self)
        for name, module in list(sys.modules.items()):
            if not name.startswith(PACKAGES):
                continue
            for key, value in list(vars(module).items()):
                if isinstance(value, re.Pattern):
                    monkeypatch.setattr(module, key, _CountingPattern(value, self))
                elif value is re:
                    monkeypatch.setattr(module, key, counting_re)

    def work(self, act: Callable[[], object]) -> Work:
        """Run it and count."""
        self._calls = self._characters = 0
        outer = sys.getprofile()
        sys.setprofile(self._count_call)
        try:
            act()
        finally:
            sys.setprofile(outer)
        return Work(self._calls, self._characters)

    def assert_linear(self, act: Callable[[int], object], size: int, times: int = 4) -> None:
        """``act`` on an input that is ``times`` as long does at most about ``times`` the work.

        Quadratic work would be ``times`` squared; the margin of a half covers work that starts behind a threshold.
        """
        act(size)  # fills caches
        short, long = self.work(lambda: act(size)), self.work(lambda: act(size * times))
        assert short.calls > 0
        assert long.calls <= 1.5 * times * short.calls + 500, (short, long)
        assert long.characters <= 1.5 * times * max(short.characters, size), (short, long)

    def add_characters(self, count: int) -> None:
        """Add to the characters searched."""
        self._characters += max(0, count)

    def _count_call(self, frame: Any, event: str, argument: Any) -> None:
        self._calls += event in ("call", "c_call")


class _CountingRe:
    def __init__(self, counter: WorkCounter) -> None:
        self._counter = counter

    def __getattr__(self, name: str) -> Any:
        return getattr(re, name)

    def compile(self, *arguments: Any) -> _CountingPattern:
        return _CountingPattern(re.compile(*arguments), self._counter)


class _CountingPattern:
    def __init__(self, pattern: re.Pattern[str], counter: WorkCounter) -> None:
        self._pattern = pattern
        self._counter = counter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pattern, name)

    def search(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> re.Match[str] | None:
        match = self._pattern.search(text, pos, endpos)
        self._counter.add_characters((match.end() if match else min(endpos, len(text))) - pos)
        return match

    def match(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> re.Match[str] | None:
        match = self._pattern.match(text, pos, endpos)
        self._counter.add_characters(match.end() - pos if match else 0)
        return match

    def finditer(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> Iterator[re.Match[str]]:
        for match in self._pattern.finditer(text, pos, endpos):
            self._counter.add_characters(match.end() - pos)
            pos = match.end()
            yield match
        self._counter.add_characters(min(endpos, len(text)) - pos)

    def findall(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> list[Any]:
        self._counter.add_characters(min(endpos, len(text)) - pos)
        return self._pattern.findall(text, pos, endpos)

    def sub(self, replacement: Any, text: str, count: int = 0) -> str:
        self._counter.add_characters(len(text))
        return self._pattern.sub(replacement, text, count)


@pytest.fixture
def work_counter() -> Iterator[WorkCounter]:
    """Counts work until the test ends."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield WorkCounter(monkeypatch)
